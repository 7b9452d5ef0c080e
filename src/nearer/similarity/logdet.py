"""Passes over pairs that keep a matrix positive definite: what ITML and LEGO share.

Both minimise a LogDet divergence plus a cost of one pair at a time. With the difference z of the pair that is a
rank-one change A ← A + β Az zᵀA; the two differ in β (:mod:`nearer.similarity.loops`).
"""

from collections.abc import Callable

import numpy as np

from nearer.jit import bind
from nearer.monitor import Monitor
from nearer.parameters import parametrized
from nearer.similarity import loops
from nearer.similarity.pairs import Pairs
from nearer.solver import Solver


class PairProblem:
    """Pairs of rows of X, the bounds of their squared distances, and the coefficient that a pair takes.

    ``bounds`` are for similar pairs and for dissimilar ones; ``change`` is ``itml_change`` or ``lego_change``, and
    ``strength`` its parameter: the slack γ, or the learning rate η.
    """

    def __init__(
        self, X: np.ndarray, pairs: Pairs, bounds: tuple[float, float], change: Callable, strength: float
    ) -> None:
        self.X, self.pairs = X, pairs
        self.bounds = np.where(pairs.signs > 0, *bounds)
        self.multipliers = np.zeros(len(pairs.rows))
        self._state = float(strength), self.multipliers, self.bounds.copy()
        self._workspace = np.empty((2, X.shape[1]))
        self._pass = bind(loops.pair_pass, pair_change=change)

    def __len__(self) -> int:
        return len(self.pairs.rows)

    def run_pass(self, matrix: np.ndarray) -> int:
        """Take a step for each pair in order, changing the matrix; return how many violated their bound."""
        return int(self._pass(self.X, *self.pairs, self.bounds, self._state, matrix, *self._workspace))


@parametrized
class PairPasses(Solver):
    """Passes over the pairs of a problem, in their order.

    Parameters
    ----------
    settle : bool, default=False
        Report how much a pass changed the multipliers, relative to their sum, as the residual.
    """

    needs = ("run_pass",)

    settle: bool = False

    def _solve(self, problem: PairProblem, matrix: np.ndarray, monitor: Monitor) -> tuple[np.ndarray, int]:
        """Return the matrix and how many steps changed it."""
        go_on, n_updates = True, 0
        while go_on:
            before = problem.multipliers.copy()
            violated = problem.run_pass(matrix)
            n_updates += violated
            n_passes, total = len(monitor.history) + 1, float((problem.multipliers + before).sum())
            residual = float(np.abs(problem.multipliers - before).sum()) / total if total > 0 else 0.0
            go_on = monitor.go_on(
                matrix,
                loss=violated / len(problem),
                residual=residual if self.settle else None,
                iteration=n_passes,
                n_steps=n_passes * len(problem),
            )
        return matrix, n_updates
