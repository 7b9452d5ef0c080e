"""Solves the convex programs: rounds of a projected gradient step, a run on the points, and a proof.

A projected gradient step (with the proximal map of the trace) converges from anywhere and finds the rank, but
slowly. Between two of them the same objective is lowered by L-BFGS over points X with XXᵀ = K, of the rank just
found: no eigenvalues, and curvature learned on the way. A run only ever lowers the objective, so the projected
steps keep their guarantee; they let the rank rise again where a run got stuck, and the certificate says when all
is done. (``benchmarks/convex.py`` has accelerated projected gradient alone beside it, which takes several times as
long.)
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from nearer.certificate import lower_bound, smallest_eigenpair
from nearer.kernel.cone import nearest_points
from nearer.kernel.convex import KernelProblem
from nearer.kernel.predict import kernel_distances

RUN_STEPS = 50  # of L-BFGS in a round
MEMORY = 10  # pairs of vectors that L-BFGS keeps, each as large as the points
HALVINGS = 60


@dataclass
class Watch:
    """Collects one record a round and decides when to stop.

    Attributes
    ----------
    max_iter : int
        Rounds at most.
    tol : float
        Converged when the gap, or the residual where there is no gap, is no more than this.
    callback : callable, optional
        Called with each record and the kernel in it; True stops.
    bar : object, optional
        A tqdm bar.
    begun : float
        When the fit began, as time.perf_counter tells it.
    """

    max_iter: int
    tol: float
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    bar: Any = None
    begun: float = field(default_factory=time.perf_counter)
    history: list[dict[str, Any]] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False
    _away: float = 0.0

    def go_on(self, kernel: np.ndarray, record: dict[str, Any]) -> bool:
        """Record a round that ended in this kernel; return whether there should be another."""
        now = time.perf_counter()
        record = {"iteration": len(self.history), **record, "seconds": now - self.begun - self._away}
        self.history.append(record)
        left = record.get("gap", record.get("residual", np.inf))
        self.converged = bool(left <= self.tol)
        if self.callback is not None and self.callback({**record, "kernel": kernel}):
            self.stopped = True
        if self.bar is not None:
            self.bar.set_postfix_str(f"loss {record['loss']:.4f}, {left:.1e} to go", refresh=False)
            self.bar.update(1)
        self._away += time.perf_counter() - now
        return not (self.stopped or self.converged or len(self.history) > self.max_iter)


@dataclass
class Solution:
    """What a solver found: points X with XXᵀ = kernel, and what proves how good it is.

    Attributes
    ----------
    points : array of shape (n_objects, rank)
        A factor of the kernel.
    kernel : array of shape (n_objects, n_objects)
        The kernel of lowest objective.
    objective : float
        Its objective.
    gap : float or None
        Upper bound of its excess over the optimum, where there is one.
    multipliers : array or None
        Of the hinge, one a row.
    """

    points: np.ndarray
    kernel: np.ndarray
    objective: float
    gap: float | None
    multipliers: np.ndarray | None = None


def solve(problem: KernelProblem, points: np.ndarray, watch: Watch) -> Solution:
    """Return the best kernel met before the watch said stop."""
    n, step_size, lower = problem.n_objects, 2.0 * problem.n_objects, 0.0
    best = Solution(points, points @ points.T, np.inf, None)
    while True:
        kernel = points @ points.T
        near, far = kernel_distances(kernel, problem.rows)
        losses, lines = problem.losses(near, far), problem.smooth.lines(near, far)
        objective = float(problem.share @ losses) + problem.ridge * float(np.trace(kernel))
        if not np.isfinite(objective) or not np.isfinite(lines.near_slope + lines.far_slope).all():
            raise ValueError(
                f"the loss {problem.loss!r} or its slope is not finite at the distances met on the way"
            )
        if objective < best.objective:
            best = Solution(points, kernel, objective, None)
        below = lines.height + lines.near_slope * near + lines.far_slope * far
        slack = float(problem.share @ (losses - below))
        problem.certifiable &= bool((losses >= 0.0).all())  # a negative loss has no proof
        here: float | None = None
        if problem.certifiable:
            smallest, _ = smallest_eigenpair(problem.gradient(lines.near_slope, lines.far_slope))
            bound = lower_bound(float(problem.share @ lines.height), smallest, problem.regularization, n)
            here, lower = objective - bound, max(lower, bound)
            best.gap = max(0.0, best.objective - lower)
        problem.smooth.recentre(near, far, slack, here)
        stepped, step_size, moved = projected_step(problem, points, kernel, 2.0 * step_size)
        left = {"residual": moved + slack} if best.gap is None else {"gap": best.gap}
        record = {"loss": best.objective, "step_size": step_size, "rank": best.points.shape[1], **left}
        if not watch.go_on(best.kernel, record):
            best.multipliers = problem.smooth.multipliers
            return best
        points = run(problem, stepped)


def projected_step(
    problem: KernelProblem, points: np.ndarray, kernel: np.ndarray, step_size: float
) -> tuple[np.ndarray, float, float]:
    """Take one step down the gradient and back onto the cone, halved until it lowers the objective as promised.

    Returns
    -------
    points : array
        Of the new kernel.
    step_size : float
        As taken.
    residual : float
        |new - old| / step_size times the larger of both: to first order, what the objective could still lose by
        changing the kernel by as much as it is large. 0 at a stationary point only.
    """
    value, gradient = problem.value_and_gradient(kernel)
    for _ in range(HALVINGS):
        new = nearest_points(kernel - step_size * gradient, step_size * problem.ridge, points.shape[1])
        move = new @ new.T - kernel
        square = float(np.vdot(move, move))
        promised = value + float(np.vdot(gradient, move)) + square / (2.0 * step_size)
        if problem.value(kernel + move) <= promised + 1e-13 * abs(value):
            size = max(float(np.linalg.norm(new.T @ new)), float(np.linalg.norm(kernel)))
            return new, step_size, np.sqrt(square) * size / step_size
        step_size *= 0.5
    return points, step_size, np.inf


def run(problem: KernelProblem, points: np.ndarray) -> np.ndarray:
    """Lower the objective over points of this many dimensions by some steps of L-BFGS."""
    if points.size == 0:
        return points

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        at = flat.reshape(points.shape)
        value, gradient = problem.value_and_gradient(at @ at.T)
        with np.errstate(invalid="ignore"):  # a slope that is not finite is told by the next round
            slope = 2.0 * (gradient @ at + problem.ridge * at)
        return value + problem.ridge * float(np.vdot(at, at)), slope.ravel()

    how = {"maxiter": RUN_STEPS, "maxcor": MEMORY, "ftol": 0.0, "gtol": 0.0}
    found = minimize(objective, points.ravel(), jac=True, method="L-BFGS-B", options=how).x
    return found.reshape(points.shape) if np.isfinite(found).all() else points
