"""The constrained problem (4) of the SDCA paper: the best positive semidefinite matrix, through a dual of its own.

Algorithm 1 does not keep M ⪰ 0, and projecting its result is wrong: it can be worse than M = 0. The
Lagrangian of the constrained problem gives M(α) = Π₊(½(V + Vᵀ)), V = Σ pᵢ αᵢ Xᵢ / λ, and the dual D(α) = Σ pᵢ (αᵢ
- αᵢ²/4) - λ/2 ‖M(α)‖² over α ≥ 0. It is smooth, with slopes pᵢ(1 - αᵢ/2 - sᵢ), so L-BFGS with bounds maximises it.
A projection is orthogonal to what it took away, so that λ‖M(α)‖² = Σ pᵢ αᵢ sᵢ holds as before, and the gap is the
same sum of squares.
"""

from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, minimize

from nearer.monitor import Monitor
from nearer.psd import project_psd
from nearer.similarity.problem import Problem, Solution
from nearer.solver import Solver


class ConstrainedDual(Solver):
    """The positive semidefinite matrix of the smallest objective, by L-BFGS over the dual variables."""

    needs = ("evaluate", "matrix")
    regularized: ClassVar = True
    default_max_iter: ClassVar = 1000

    def _solve(self, problem: Problem, start: np.ndarray | None, monitor: Monitor) -> Solution:
        """Maximise the dual from dual variables, or from 0; return the iterate of the smallest gap."""
        n, shares, ridge = len(problem.triplets), problem.triplets.shares, problem.regularization
        alpha = np.zeros(n) if start is None else start
        best = Solution(np.empty(0), np.inf)
        last = np.full(n, np.nan), np.empty(0), np.empty(0)

        def matrix_and_scores(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal last
            if not np.array_equal(last[0], alpha):
                matrix = project_psd(problem.matrix(alpha))
                last = alpha.copy(), matrix, problem.triplets.scores(matrix)
            return last[1:]

        def minus_dual(alpha: np.ndarray) -> tuple[float, np.ndarray]:
            matrix, scores = matrix_and_scores(alpha)
            dual = shares @ (alpha - 0.25 * alpha**2) - 0.5 * ridge * np.vdot(matrix, matrix)
            return -n * float(dual), -n * shares * (1.0 - 0.5 * alpha - scores)

        def go_on(alpha: np.ndarray) -> bool:
            nonlocal best
            matrix, scores = matrix_and_scores(alpha)
            record = problem.evaluate(matrix, alpha, scores)
            if best.gap is None or record["gap"] < best.gap:
                best = Solution(matrix, record["gap"], alpha.copy())
            return monitor.go_on(matrix, **record)

        def report(alpha: np.ndarray) -> None:
            if not go_on(alpha):
                raise StopIteration

        if go_on(alpha):
            options = {
                "maxiter": monitor.max_iter + 1,
                "maxfun": 10 * monitor.max_iter,
                "ftol": 0.0,
                "gtol": 0.0,
            }
            bounds = Bounds(np.zeros(n), np.inf)
            minimize(
                minus_dual, alpha, jac=True, method="L-BFGS-B", bounds=bounds, callback=report, options=options
            )
        return best
