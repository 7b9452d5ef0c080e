"""Solves the convex programs: rounds of a proximal gradient step, some steps of L-BFGS, and a certificate.

A projected gradient step, with the proximal map of the trace, converges from anywhere and finds the rank, but
slowly. Between two of them, L-BFGS lowers the same objective over points X with XXᵀ = K, of the rank just found:
it needs no eigenvalues and learns the curvature. It never raises the objective, so the proximal steps keep their
guarantee; they let the rank rise again where L-BFGS is stuck, and the certificate tells when to stop.
(``benchmarks/convex.py`` compares it with accelerated projected gradient, which takes several times as long.)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from nearer.kernel.convex import KernelProblem
from nearer.monitor import Monitor
from nearer.parameters import COUNT, parametrized
from nearer.psd import psd_points
from nearer.solver import Solver

HALVINGS = 60


@dataclass
class Solution:
    """The best kernel so far: points X with XXᵀ = kernel, and an upper bound of its excess over the optimum."""

    points: np.ndarray
    kernel: np.ndarray
    objective: float = np.inf
    gap: float | None = None
    multipliers: np.ndarray | None = None


@parametrized
class ProximalLBFGS(Solver):
    """Proximal gradient steps over kernels, between them ``n_inner`` steps of L-BFGS that store ``memory`` pairs."""

    needs: ClassVar = ("value", "value_and_gradient", "certify")
    _constraints: ClassVar = {"n_inner": COUNT, "memory": COUNT}

    _: KW_ONLY
    n_inner: int = 50
    memory: int = 10

    def _solve(self, problem: KernelProblem, start: np.ndarray, monitor: Monitor) -> Solution:
        points, step_size, lower = start, 2.0 * problem.n_objects, 0.0
        best = Solution(points, points @ points.T)
        while True:
            kernel = points @ points.T
            bounds = problem.certify(kernel)
            if bounds.objective < best.objective:
                best = Solution(points, kernel, bounds.objective)
            if bounds.lower is not None:
                lower = max(lower, bounds.lower)
                best.gap = max(0.0, best.objective - lower)
            points, step_size, residual = proximal_step(problem, points, kernel, 2.0 * step_size)
            residual, rank = residual + bounds.slack, best.points.shape[1]
            if not monitor.go_on(
                best, loss=best.objective, gap=best.gap, residual=residual, step_size=step_size, rank=rank
            ):
                best.multipliers = problem.smooth.multipliers
                return best
            points = self._lower(problem, points)

    def _lower(self, problem: KernelProblem, points: np.ndarray) -> np.ndarray:
        """Lower the objective over points of this many dimensions by L-BFGS."""
        if points.size == 0:
            return points

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            X = flat.reshape(points.shape)
            value, gradient = problem.value_and_gradient(X @ X.T)
            with np.errstate(invalid="ignore"):  # the next certificate reports a slope that is not finite
                slope = 2.0 * (gradient @ X + problem.ridge * X)
            return value + problem.ridge * float(np.vdot(X, X)), slope.ravel()

        options: Any = {"maxiter": self.n_inner, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
        flat = minimize(objective, points.ravel(), jac=True, method="L-BFGS-B", options=options).x
        return flat.reshape(points.shape) if np.isfinite(flat).all() else points


def proximal_step(
    problem: KernelProblem, points: np.ndarray, kernel: np.ndarray, step_size: float
) -> tuple[np.ndarray, float, float]:
    """Take a gradient step and the proximal map, halving the step size until the objective falls as predicted.

    Return the points of the new kernel, the step size, and a residual: |new - old| / step_size times the larger
    norm. To first order, this is how much the objective could still fall if the kernel changed by its own norm; it
    is 0 at a stationary point only.
    """
    value, gradient = problem.value_and_gradient(kernel)
    for _ in range(HALVINGS):
        new = psd_points(kernel - step_size * gradient, step_size * problem.ridge, points.shape[1])
        move = new @ new.T - kernel
        square = float(np.vdot(move, move))
        predicted = value + float(np.vdot(gradient, move)) + square / (2.0 * step_size)
        if problem.value(kernel + move) <= predicted + 1e-13 * abs(value):
            size = max(float(np.linalg.norm(new.T @ new)), float(np.linalg.norm(kernel)))
            return new, step_size, np.sqrt(square) * size / step_size
        step_size *= 0.5
    return points, step_size, np.inf
