"""Stochastic dual coordinate ascent for a relative similarity: Algorithm 1 of the paper, and its three outputs.

`DualLBFGS` maximizes the same dual over all variables at once. An iteration takes two products with the table, one row
per object, while an epoch of steps changes M once per triplet. On wide tables with many triplets per object L-BFGS
converges in a third of the time, and in a fifth if it starts from the dual variables of the compressed table.

Algorithm 1 does not keep M ⪰ 0, and projecting its result is wrong: it can be worse than M = 0. The Lagrangian of the
constrained problem (4) gives M(α) = Π₊(½(V + Vᵀ)), V = Σ pᵢ αᵢ Xᵢ / λ, and the dual D(α) = Σ pᵢ (αᵢ - αᵢ²/4) - λ/2
‖M(α)‖² over α ≥ 0. It is smooth, with slopes pᵢ(1 - αᵢ/2 - sᵢ), so L-BFGS with bounds maximizes it. A projection is
orthogonal to what it took away, so that λ‖M(α)‖² = Σ pᵢ αᵢ sᵢ holds as before, and the gap is the same sum of squares.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from nearer.jit import bind
from nearer.monitor import Monitor
from nearer.parameters import one_of, parametrized
from nearer.psd import project_psd
from nearer.similarity import loops
from nearer.similarity.problem import Problem, Solution
from nearer.similarity.triplets import WIDE, Triplets, take_steps
from nearer.solver import Solver

MIN_PER_OBJECT = 6  # triplets per object from which an epoch takes longer than several iterations of L-BFGS
MAX_COLUMNS = 8_192  # L-BFGS needs memory for four matrices M
START_EPOCHS, START_TOL = 30, 1e-2  # of the compressed problem; its optimum is only near that of the full one
FEW_COLUMNS = 80  # a matrix that small stays in the innermost cache, where single steps are fastest


@parametrized
class SDCA(Solver):
    """Stochastic dual coordinate ascent: each step maximizes the dual along the variable of one triplet.

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
            ascent.matrix, n_steps=ascent.n_steps, **problem.evaluate(ascent.matrix, ascent.alpha)
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
    """The state of SDCA: ``alpha``, 0 by default, ``matrix``, M(α) by default, and ``n_steps`` taken."""

    def __init__(
        self,
        triplets: Triplets,
        regularization: float,
        alpha: np.ndarray | None = None,
        matrix: np.ndarray | None = None,
    ) -> None:
        self.triplets = triplets
        self.weight = triplets.shares / regularization
        self.curvature = 0.5 + self.weight * triplets.squares
        self.alpha = np.zeros(len(triplets)) if alpha is None else alpha.copy()
        d = triplets.n_features
        if matrix is not None:
            self.matrix = matrix.copy()
        else:
            self.matrix = np.zeros((d, d)) if alpha is None else triplets.matrix(self.weight * alpha)
        self.n_steps = 0
        self.begin_average()

    def begin_average(self) -> None:
        """Forget the iterates so far: the average is of those from here on."""
        self._first, n = self.n_steps, len(self.triplets)
        changed_at = np.full(n, self.n_steps, dtype=np.int64)
        self._duals = Duals(self.weight, self.curvature, self.alpha, np.zeros(n), changed_at)

    def average(self) -> np.ndarray:
        """Return the mean of the dual variables since the average was begun, from how long each value stood."""
        taken = self.n_steps - self._first
        if taken == 0:
            return self.alpha.copy()
        return (self._duals.sums + self.alpha * (self.n_steps - self._duals.changed_at)) / taken

    def ascend(self, picks: np.ndarray) -> None:
        """Take a step for each of the picked triplets, in order."""
        triplets = self.triplets
        if len(picks) == 0:
            return
        if triplets.sparse or triplets.n_features >= FEW_COLUMNS:
            take_steps(triplets, self.matrix, picks, loops.ascend, self._duals, self.n_steps)
        else:
            x, z = (part[0] for part in triplets.gather(picks[:1]))
            first, rows = (float(x @ self.matrix @ z), z, np.empty_like(z)), (triplets.X, triplets.rows)
            bind(loops.sdca_dense)(*rows, self._duals, picks, self.n_steps, self.matrix, *first)
        self.n_steps += len(picks)


class DualLBFGS(Solver):
    """The matrix of the smallest objective, with or without M ⪰ 0, by L-BFGS over the dual variables."""

    needs = ("evaluate", "matrix")
    regularized: ClassVar = True
    default_max_iter: ClassVar = 1000

    def _solve(self, problem: Problem, start: np.ndarray | None, monitor: Monitor) -> Solution:
        """Maximize the dual from dual variables; return the iterate of the smallest gap."""
        n, shares, ridge = len(problem.triplets), problem.triplets.shares, problem.regularization
        alpha = _compressed_start(problem, monitor) if start is None else start
        best = Solution(np.empty(0), np.inf)
        last = np.full(n, np.nan), np.empty(0), np.empty(0)

        def matrix_and_scores(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal last
            if not np.array_equal(last[0], alpha):
                matrix = problem.matrix(alpha)
                matrix = project_psd(matrix) if problem.psd else matrix
                last = alpha.copy(), matrix, problem.triplets.scores(matrix)
            return last[1:]

        def minus_dual(alpha: np.ndarray) -> tuple[float, np.ndarray]:
            matrix, scores = matrix_and_scores(alpha)
            dual = shares @ (alpha - 0.25 * alpha**2) - 0.5 * ridge * np.vdot(matrix, matrix)
            return -n * float(dual), -n * shares * (1.0 - 0.5 * alpha - scores)

        def report(alpha: np.ndarray) -> None:
            nonlocal best
            matrix, scores = matrix_and_scores(alpha)
            record = problem.evaluate(matrix, alpha, scores)
            if best.gap is None or record["gap"] < best.gap:
                best = Solution(matrix, record["gap"], alpha.copy())
            if not monitor.go_on(matrix, **record):
                raise StopIteration

        limits = {"maxiter": monitor.max_iter + 1, "maxfun": 10 * monitor.max_iter, "ftol": 0.0, "gtol": 0.0}
        how: dict[str, Any] = {"method": "L-BFGS-B", "bounds": Bounds(np.zeros(n), np.inf), "options": limits}
        with suppress(StopIteration):
            report(alpha)
            minimize(minus_dual, alpha, jac=True, callback=report, **how)
        return best


def _compressed_start(problem: Problem, monitor: Monitor) -> np.ndarray:
    """Return the dual variables of the compressed problem, or 0 if the table is not wide or M ⪰ 0 is required."""
    if problem.psd or problem.triplets.compressed is problem.triplets:
        return np.zeros(len(problem.triplets))
    child = monitor.child(START_EPOCHS, START_TOL)
    return SDCA("last").solve(replace(problem, triplets=problem.triplets.compressed), None, child).solution.alpha


def prefers_lbfgs(triplets: Triplets) -> bool:
    """Whether L-BFGS over all dual variables converges in less time than steps."""
    wide = not triplets.sparse and WIDE <= triplets.n_features <= MAX_COLUMNS
    return wide and len(triplets) >= MIN_PER_OBJECT * len(triplets.X)
