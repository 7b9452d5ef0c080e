"""Stochastic dual coordinate ascent for a relative similarity: Algorithm 1 of the paper, and its three outputs."""

from typing import ClassVar

import numpy as np

from nearer.jit import bind
from nearer.monitor import Monitor
from nearer.parameters import one_of
from nearer.similarity import loops
from nearer.similarity.blocks import BLOCK, add_products, step_blocks
from nearer.similarity.problem import Problem, Solution
from nearer.similarity.triplets import Triplets
from nearer.solver import Solver

FEW_COLUMNS = 80  # a matrix that small stays in the innermost cache, where single steps are fastest


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

    def __init__(self, output: str = "average") -> None:
        self.output = output

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


class Ascent:
    """The state of stochastic dual coordinate ascent.

    Parameters
    ----------
    triplets : Triplets
        The data.
    regularization : float
        λ of the objective.
    alpha : array, optional
        Dual variables to start from; 0 by default.

    Attributes
    ----------
    matrix : array of shape (d, d)
        M(α), which the steps change in place.
    alpha : array of shape (n,)
        The dual variables.
    n_steps : int
        Steps taken.
    """

    def __init__(self, triplets: Triplets, regularization: float, alpha: np.ndarray | None = None) -> None:
        self.triplets = triplets
        self.weight = triplets.shares / regularization  # M = Σ weightᵢ αᵢ Xᵢ
        self.curvature = 0.5 + self.weight * triplets.squares
        self.alpha = np.zeros(len(triplets)) if alpha is None else alpha.copy()
        d = triplets.n_features
        self.matrix = np.zeros((d, d)) if alpha is None else triplets.matrix(self.weight * alpha)
        self.n_steps = 0
        self.begin_average()

    def begin_average(self) -> None:
        """Forget the iterates so far: the average is of those from here on."""
        self._first = self.n_steps
        self._sums = np.zeros(len(self.triplets))
        self._changed_at = np.full(len(self.triplets), self.n_steps, dtype=np.int64)

    def average(self) -> np.ndarray:
        """Return the mean of the dual variables since the average was begun.

        Each step changes one of them, so it is enough to add up, at a change, how long the old value stood.
        """
        taken = self.n_steps - self._first
        if taken == 0:
            return self.alpha.copy()
        return (self._sums + self.alpha * (self.n_steps - self._changed_at)) / taken

    def ascend(self, picks: np.ndarray) -> None:
        """Take a step for each of the picked triplets, in order."""
        if len(picks) == 0:
            return
        triplets = self.triplets
        duals = (self.alpha, self._sums, self._changed_at)
        fixed = (self.weight, self.curvature)
        if triplets.sparse:
            loop = bind(loops.sdca_sparse)
            loop(
                triplets.table, triplets.rows, *fixed, picks, self.n_steps, *duals, self.matrix, triplets.workspace
            )
        elif triplets.n_features < FEW_COLUMNS:
            workspace = np.empty((2, triplets.n_features))
            loop = bind(loops.sdca_dense)
            loop(triplets.X, triplets.rows, *fixed, picks, self.n_steps, *duals, self.matrix, *workspace)
        else:
            changes, loop = np.empty(BLOCK), bind(loops.sdca_block)
            for block, x, z, scores, products in step_blocks(triplets, self.matrix, picks):
                loop(scores, products, *fixed, picks[block], self.n_steps + block.start, *duals, changes)
                add_products(self.matrix, x, z, changes[: len(x)])
        self.n_steps += len(picks)
