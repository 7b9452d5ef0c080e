"""What ITML and LEGO share: pairs of similar and dissimilar objects, and passes over them.

All input becomes pairs of row numbers with a sign: triplets are drawn from labels, and a triplet (a, b, c) is the
similar pair (a, b) and the dissimilar pair (a, c), a quadruplet (i, j, l, k) the pairs (i, j) and (l, k). Both
minimize a LogDet divergence plus a cost of one pair at a time. With the difference z of the pair that is a rank-one
change A ← A + β Az zᵀA, which keeps A positive definite; the two differ in β (:mod:`nearer.similarity.loops`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nearer.comparisons.random_state import RandomState, as_generator
from nearer.features.validation import check_range, validate_features
from nearer.jit import bind
from nearer.monitor import Monitor
from nearer.parameters import parametrized
from nearer.similarity import loops
from nearer.similarity.inputs import MAX_TRIPLETS, validate_input
from nearer.simulate import comparisons_from_labels
from nearer.solver import Solver

N_SAMPLED = 100_000  # pairs that distances are estimated from


class Pairs(NamedTuple):
    """Pairs of rows of a table, and 1 for similar or -1 for dissimilar."""

    rows: np.ndarray
    signs: np.ndarray


def validate_pairs(
    model: Any,
    X: Any,
    y: Any,
    comparisons: Any,
    random: np.random.Generator,
    *,
    pairs: Any = None,
    reset: bool = True,
) -> tuple[np.ndarray, Pairs]:
    """Return the dense table and the pairs that labels, comparisons or signed pairs amount to."""
    if pairs is not None:
        if comparisons is not None:
            raise ValueError(
                "pass labels y, comparisons, or pairs with their signs as y; got comparisons and pairs"
            )
        table = validate_features(model, X, reset=reset)
        check_range(table)
        return table, _signed_pairs(pairs, y, len(table))
    table, labels, triplets = validate_input(model, X, y, comparisons, reset=reset, quadruplets=True)
    check_range(table)
    if triplets is None:
        n = model.n_constraints or min(20 * len(np.unique(labels)) ** 2, MAX_TRIPLETS)
        triplets = comparisons_from_labels(labels, n, random)
    elif triplets.weights is not None and np.ptp(triplets.weights) > 0:
        raise ValueError(f"{type(model).__name__} takes comparisons of equal weight; these differ in weight")
    rows = triplets.as_quadruplets().rows
    both = np.stack([rows[:, :2], rows[:, 2:]], axis=1).reshape(-1, 2)
    return table, Pairs(np.ascontiguousarray(both), np.tile([1.0, -1.0], len(rows)))


def _signed_pairs(pairs: Any, y: Any, n: int) -> Pairs:
    rows, signs = np.asarray(pairs), np.asarray(y)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"pairs must be integers, two per row; got shape {rows.shape} of {rows.dtype}")
    if signs.shape != (len(rows),) or not np.isin(signs, (-1, 1)).all():
        got = f"{signs.size} values, among them {signs.ravel()[0]!r}" if signs.size else "none"
        raise ValueError(f"y must be 1 or -1 for each of the {len(rows)} pairs; got {got}")
    if len(rows) == 0:
        raise ValueError("there is nothing to learn from: no pairs")
    if rows.min() < 0 or rows.max() >= n:
        bad = int(np.flatnonzero(((rows < 0) | (rows >= n)).any(axis=1))[0])
        raise ValueError(f"pair {bad} is {rows[bad].tolist()}, but X has {n} rows, numbered from 0")
    return Pairs(np.ascontiguousarray(rows, dtype=np.int32), signs.astype(np.float64))


def squared_distance_sample(points: np.ndarray, random_state: RandomState) -> np.ndarray:
    """Return the squared distances above 0 of many pairs of rows drawn at random."""
    random = as_generator(random_state)
    a, b = random.integers(len(points), size=(2, min(N_SAMPLED, len(points) ** 2)))
    squares = np.square(points[a] - points[b]).sum(axis=1)
    squares = squares[squares > 0]
    if len(squares) == 0:
        raise ValueError("all rows of X are the same: there are no distances to learn from")
    return squares


class PairProblem:
    """Pairs of rows of X, the bounds of similar and dissimilar ones, and the coefficient that a pair takes.

    ``strength`` is the parameter of ``change``, `itml_change` or `lego_change`: the slack γ, or the learning rate η.
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
    """Passes over the pairs, in order; with ``settle`` the relative change of multipliers is the residual."""

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
