"""A way out of a bad minimum: along the direction over kernels in which the objective falls.

A map X is the kernel XXᵀ. Where the gradient of the objective over kernels has a negative eigenvalue, a small
coordinate along its eigenvector lowers the objective though no move within the map's own dimensions does; at the
optimum over all kernels there is none (:mod:`nearer.certificate`). So the map takes that coordinate as one more
dimension, moves on there, is cut back to its leading axes and settles again. It is kept if it ended lower,
and then tries once more.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from nearer.certificate import laplacian
from nearer.comparisons import Comparisons
from nearer.comparisons.rows import squared_distances
from nearer.embedding.init import project
from nearer.embedding.problem import Problem, normalized
from nearer.monitor import Monitor, Result

MAX_ATTEMPTS = 5
MAX_EPOCHS = 30  # in the additional dimension
LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01)  # of the new coordinate, in units of the map's mean one


def escape(
    problem: Problem, comparisons: Comparisons, solver: Any, result: Result, monitor: Monitor
) -> tuple[Result, Monitor]:
    """Return the lower minimum that was found and its monitor, or the arguments if none was found."""
    for _ in range(MAX_ATTEMPTS):
        points = result.solution
        wide = widen(problem, comparisons, points)
        n_left = monitor.max_iter - len(monitor.history)
        if wide is None or result.cut_short or n_left < 1:
            break
        wide = solver.solve(problem, wide, monitor.child(min(MAX_EPOCHS, n_left), monitor.tol)).solution
        attempt = monitor.resume()
        end = solver.solve(problem, project(wide, points.shape[1]), attempt)
        if attempt.outcome >= monitor.outcome:
            return replace(result, reason=end.reason) if end.cut_short else result, monitor
        result, monitor = end, attempt
    return result, monitor


def widen(problem: Problem, comparisons: Comparisons, points: np.ndarray) -> np.ndarray | None:
    """Return the points with one more coordinate, along the steepest way down; None where none leads down."""
    direction = steepest_direction(problem, comparisons, points)
    if direction is None:
        return None
    unit = np.sqrt(float(np.vdot(points, points)) / points.shape[1])
    tried = []
    for length in LENGTHS:
        wider = np.column_stack([points, (length * unit * direction).astype(points.dtype)])
        tried.append((problem.value(wider), wider))
    value, wider = min(tried, key=lambda pair: pair[0])
    return wider if value < problem.value(points) else None


def steepest_direction(problem: Problem, comparisons: Comparisons, points: np.ndarray) -> np.ndarray | None:
    """Return the eigenvector of the most negative eigenvalue of the gradient over kernels; None without one."""
    rows, n = comparisons.rows, len(points)
    near_slope, far_slope = problem.loss.slopes(*squared_distances(points.astype(np.float64), rows))
    share = np.broadcast_to(normalized(comparisons.weights), len(rows)) / len(rows)
    gradient = laplacian(rows, share * near_slope, share * far_slope, n)
    start = problem.random.standard_normal(n)
    try:
        values, vectors = eigsh(gradient, k=1, which="SA", v0=start, tol=1e-4, maxiter=50 * n)
    except ArpackNoConvergence:
        return None
    return vectors[:, 0] if values[0] + 0.5 * problem.ridge < 0.0 else None
