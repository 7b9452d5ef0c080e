"""The start of a map: small random points, unfolded in a few more dimensions and cut back by PCA.

From a small start the first steps unfold the map along its main axes. With dimensions to spare, points move
around each other instead of getting stuck, and the leading principal axes then make a good start in fewer. The map
is that of t-STE, whatever the loss: up to its scale it is a good start for all of them, and on people's answers a
better one than that of SOE.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from nearer.comparisons import Comparisons
from nearer.comparisons.rows import squared_distances
from nearer.embedding.engines import Engine
from nearer.embedding.solvers import LBFGS
from nearer.losses import as_loss, baseline_loss
from nearer.monitor import Monitor
from nearer.selection import thin

SPREAD = 0.1  # standard deviation of a coordinate at the start: small compared with the margins of all losses
LEAST_SPREAD = 3e-3  # distance of the farthest point from the mean, along an axis
EXTRA_DIMENSIONS = 3
RIDGE = 0.003
MAX_ITER, TOL = 30, 5e-4
MAX_ROWS = 20_000  # or three per coordinate: a rough map needs no more
SCALE_ROWS = 2_000  # rows that the scale is fitted to
SCALES = (0.01, 100.0)


def unfold(
    comparisons: Comparisons,
    n_components: int,
    *,
    dtype: str,
    n_jobs: int,
    random: np.random.Generator,
    monitor: Monitor,
    engine: Engine,
) -> np.ndarray:
    """Return points that unfolded in a few more dimensions, cut back to ``n_components``."""
    n_wide = min(n_components + EXTRA_DIMENSIONS, comparisons.n_objects - 1)
    part = thin(comparisons, max(MAX_ROWS, 3 * n_wide * comparisons.n_objects), random)
    start = random_points(part.n_objects, n_wide, dtype, random)
    loss = as_loss("tste", n_components)
    with engine(part, loss, RIDGE, n_jobs, random) as problem:
        short = monitor.child(MAX_ITER, TOL * baseline_loss(loss))
        return project(LBFGS().solve(problem, start, short).solution, n_components)


def rescale(points: np.ndarray, comparisons: Comparisons, loss: Any, ridge: float) -> np.ndarray:
    """Return the points with the scale that suits a loss and a ridge, found on some of the comparisons."""
    step = max(1, len(comparisons) // SCALE_ROWS)
    rows = comparisons.rows[::step]
    weights = None if comparisons.weights is None else comparisons.weights[::step] / comparisons.weights.max()
    weights = None if weights is None or not weights.any() else weights
    near, far = squared_distances(points, rows)
    size = float(np.vdot(points, points)) / len(points)

    def objective(log_scale: float) -> float:
        square = np.exp(2.0 * log_scale)
        return float(np.average(loss.value(square * near, square * far), weights=weights)) + ridge * square * size

    with np.errstate(over="ignore"):
        found = minimize_scalar(objective, bounds=np.log(SCALES), method="bounded", options={"xatol": 0.05})
    return points * points.dtype.type(np.exp(found.x))


def spread_apart(points: np.ndarray) -> np.ndarray:
    """Return points that are not nearly at one place, scaled up if need be.

    At one place every loss has a saddle point. Close to it the objective changes by less than its tolerance, or even
    than rounding, which would be taken for convergence.
    """
    distances = points - points.mean(axis=0)
    largest = float(np.abs(distances).max())
    return points * (LEAST_SPREAD / largest) if 0.0 < largest < LEAST_SPREAD else points


def random_points(n_objects: int, n_components: int, dtype: str, random: np.random.Generator) -> np.ndarray:
    """Return small normal points."""
    return (SPREAD * random.standard_normal((n_objects, n_components))).astype(dtype)


def project(points: np.ndarray, n_components: int) -> np.ndarray:
    """Return the points on their leading principal axes, centered."""
    centered = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    return np.ascontiguousarray(centered @ axes[:n_components].T)


def center(points: np.ndarray, mentioned: np.ndarray) -> np.ndarray:
    """Put the mean of the mentioned objects at the origin, and the other objects there too."""
    moved = points - points[mentioned].mean(axis=0, dtype=np.float64).astype(points.dtype)
    moved[~mentioned] = 0.0
    return moved
