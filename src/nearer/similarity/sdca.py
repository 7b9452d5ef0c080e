"""Stochastic dual coordinate ascent for a relative similarity: Algorithm 1 of the paper, and its three outputs."""

from typing import ClassVar, NamedTuple

import numpy as np

from nearer.jit import bind
from nearer.monitor import Monitor
from nearer.parameters import one_of, parametrized
from nearer.similarity import loops
from nearer.similarity.blocks import BLOCK, add_products, step_blocks
from nearer.similarity.problem import Problem, Solution
from nearer.similarity.triplets import Triplets
from nearer.solver import Solver

FEW_COLUMNS = 80  # a matrix that small stays in the innermost cache, where single steps are fastest


@parametrized
class SDCA(Solver):
    """Stochastic dual coordinate ascent: each step maximises the dual along the variable of one triplet.

    An epoch draws as many triplets as there are, uniformly. The fit converges when the duality gap is no more than
    ``tol``.

    Parameters
    ----------
    output : {"average", "last", "random"}, default="average"
        Which iterate to return: the mean over the second half of the steps, the last, or one of the second half.
        When the gap ends the fit, it is the last in any case: the one with that gap.

    References
    ----------
    Wu et al., "Learning relative similarity by stochastic dual coordinate ascent", 2014.

    Examples
    --------
    >>> from nearer.similarity import SDCA
    >>> SDCA(output="last")
    SDCA(output='last')
    """

    needs = ("evaluate", "matrix")
    regularized: ClassVar = True  # whether λ is used
    default_max_iter: ClassVar = 1000
    _constraints: ClassVar = {"output": one_of("average", "last", "random")}

    output: str = "average"

    def _solve(self, problem: Problem, start: np.ndarray | None, monitor: Monitor) -> Solution:
        """Ascend from dual variables, or from 0."""
        n, random = len(problem.triplets), problem.random
        ascent = Ascent(problem.triplets, problem.regularization, start)
        last = monitor.max_iter * n
        half = last // 2
        chosen = half + 1 + int(random.integers(last - half))  # the step whose iterate "random" returns
        sample = None
        while monitor.go_on(
            ascent.matrix, **problem.evaluate(ascent.matrix, ascent.alpha), n_steps=ascent.n_steps
        ):
            end = ascent.n_steps + n
            for stop in sorted({half, chosen, end}):
                if not ascent.n_steps < stop <= end:
                    continue
                ascent.ascend(random.integers(n, size=stop - ascent.n_steps, dtype=np.int32))
                if stop == half:
                    ascent.begin_average()
                if stop == chosen:
                    sample = ascent.alpha.copy()
        if self.output == "average" and not monitor.converged and ascent.n_steps > half:
            alpha = ascent.average()
        elif self.output == "random" and not monitor.converged and sample is not None:
            alpha = sample
        else:
            return Solution(ascent.matrix, monitor.history[-1]["gap"], ascent.alpha)
        matrix = problem.matrix(alpha)
        return Solution(matrix, problem.evaluate(matrix, alpha)["gap"], alpha)


class Duals(NamedTuple):
    """The dual variables as the loops take them: M = Σ weightᵢ αᵢ Xᵢ, with what their average needs."""

    weight: np.ndarray
    curvature: np.ndarray
    alpha: np.ndarray
    sums: np.ndarray
    changed_at: np.ndarray


class Ascent:
    """The state of stochastic dual coordinate ascent: ``alpha``, ``matrix`` = M(α), and ``n_steps`` taken.

    Starts from dual variables, or from 0.
    """

    def __init__(self, triplets: Triplets, regularization: float, alpha: np.ndarray | None = None) -> None:
        self.triplets = triplets
        self.weight = triplets.shares / regularization
        self.curvature = 0.5 + self.weight * triplets.squares
        self.alpha = np.zeros(len(triplets)) if alpha is None else alpha.copy()
        d = triplets.n_features
        self.matrix = np.zeros((d, d)) if alpha is None else triplets.matrix(self.weight * alpha)
        self.n_steps = 0
        self.begin_average()

    def begin_average(self) -> None:
        """Forget the iterates so far: the average is of those from here on."""
        self._first, n = self.n_steps, len(self.triplets)
        changed_at = np.full(n, self.n_steps, dtype=np.int64)
        self._duals = Duals(self.weight, self.curvature, self.alpha, np.zeros(n), changed_at)

    def average(self) -> np.ndarray:
        """Return the mean of the dual variables since the average was begun.

        Each step changes one of them, so it is enough to add up, at a change, how long the old value stood.
        """
        taken = self.n_steps - self._first
        if taken == 0:
            return self.alpha.copy()
        return (self._duals.sums + self.alpha * (self.n_steps - self._duals.changed_at)) / taken

    def ascend(self, picks: np.ndarray) -> None:
        """Take a step for each of the picked triplets, in order."""
        triplets = self.triplets
        if len(picks) == 0:
            return
        if triplets.sparse:
            loop, rows = bind(loops.sdca_sparse), (triplets.table, triplets.rows)
            loop(*rows, self._duals, picks, self.n_steps, self.matrix, triplets.workspace)
        elif triplets.n_features < FEW_COLUMNS:
            loop, workspace = bind(loops.sdca_dense), np.empty((2, triplets.n_features))
            loop(triplets.X, triplets.rows, self._duals, picks, self.n_steps, self.matrix, *workspace)
        else:
            loop, changes = bind(loops.sdca_block), np.empty(BLOCK)
            for block, x, z, scores, products in step_blocks(triplets, self.matrix, picks):
                loop(scores, products, self._duals, picks[block], self.n_steps + block.start, changes)
                add_products(self.matrix, x, z, changes[: len(x)])
        self.n_steps += len(picks)
