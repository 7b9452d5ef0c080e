"""A way out of a bad minimum: along the direction over kernels in which the objective falls.

A map X is the kernel XXᵀ. Where the slope of the objective over kernels has a negative eigenvalue, a small
coordinate along its eigenvector lowers the objective though no move within the map's own dimensions does; at the
optimum over all kernels there is none (:mod:`nearer.certificate`). So the map takes that coordinate as one
dimension more, moves on there, is cut back to its leading axes and settles again. It is kept if it ended lower,
and then tries once more.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from nearer.certificate import laplacian
from nearer.comparisons import Comparisons
from nearer.comparisons.rows import squared_distances
from nearer.embedding.init import principal
from nearer.embedding.monitor import Monitor
from nearer.embedding.problem import Problem

ROUNDS = 5
EPOCHS = 30  # in the dimension more
LENGTHS = (1.0, 0.3, 0.1, 0.03, 0.01)  # of the new coordinate, in units of the map's mean one

Solve = Callable[[np.ndarray, Monitor], np.ndarray]


def escaped(
    problem: Problem, comparisons: Comparisons, points: np.ndarray, monitor: Monitor, solve: Solve
) -> tuple[np.ndarray, Monitor]:
    """Return the points that the way out led to, and what was seen on it; those given where it led nowhere.

    Parameters
    ----------
    problem : Problem
        The objective.
    comparisons : Comparisons
        What it is about.
    points : array of shape (n_objects, n_components)
        A minimum.
    monitor : Monitor
        What watched over the way to it.
    solve : callable
        Lowers the objective from some points, watched by a monitor.
    """
    dims = points.shape[1]
    for _ in range(ROUNDS):
        roomy = widened(problem, comparisons, points)
        left = monitor.max_epochs - len(monitor.history)
        if roomy is None or monitor.stopped or left < 1:
            break
        roomy = solve(roomy, Monitor(min(EPOCHS, left), monitor.tol))
        attempt = Monitor(
            monitor.max_epochs, monitor.tol, monitor.held_out, monitor.callback, monitor.bar, monitor.begun,
            history=list(monitor.history),
        )  # fmt: skip
        end = solve(principal(roomy, dims), attempt)
        if attempt.outcome >= monitor.outcome:
            monitor.stopped = attempt.stopped
            break
        points, monitor = end, attempt
    return points, monitor


def widened(problem: Problem, comparisons: Comparisons, points: np.ndarray) -> np.ndarray | None:
    """Return the points with one coordinate more, along the steepest way down; None where none leads down."""
    direction = steepest(problem, comparisons, points)
    if direction is None:
        return None
    unit = np.sqrt(float(np.vdot(points, points)) / points.shape[1])
    tried = []
    for length in LENGTHS:
        wider = np.column_stack([points, (length * unit * direction).astype(points.dtype)])
        tried.append((problem.value_and_gradient(wider)[0], wider))
    value, wider = min(tried, key=lambda pair: pair[0])
    return wider if value < problem.value_and_gradient(points)[0] else None


def steepest(problem: Problem, comparisons: Comparisons, points: np.ndarray) -> np.ndarray | None:
    """Return the eigenvector of the least eigenvalue of the slope over kernels; None if that is not negative."""
    rows, n = comparisons.rows, len(points)
    near_slope, far_slope = problem.loss.slopes(*squared_distances(points.astype(np.float64), rows))
    share = (problem.weights if problem.weighted else np.ones(len(rows))) / len(rows)
    slope = laplacian(rows, share * near_slope, share * far_slope, n)
    start = problem.random.standard_normal(n)
    try:
        values, vectors = eigsh(slope, k=1, which="SA", v0=start, tol=1e-4, maxiter=50 * n)
    except ArpackNoConvergence:
        return None
    return vectors[:, 0] if values[0] + 0.5 * problem.ridge < 0.0 else None
