"""The start of a map: small random points, unfolded in a few more dimensions and cut back by PCA.

From a small start the first steps unfold the map along its main axes. With dimensions to spare, points move
around each other instead of getting stuck, and the leading principal axes then make a good start in fewer.
"""

from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.embedding.problem import Problem
from nearer.embedding.solvers import SVRG
from nearer.losses import baseline_loss
from nearer.monitor import Judge, Monitor
from nearer.selection import subsample

SPREAD = 0.1  # standard deviation of a coordinate at the start: small compared with the margins of all losses
EXTRA_DIMENSIONS = 3
MAX_EPOCHS, TOL = 15, 5e-4
MAX_ROWS = 20_000  # or ten per coordinate: a rough map needs no more


def unfold(
    comparisons: Comparisons,
    loss: Any,
    ridge: float,
    n_components: int,
    *,
    dtype: str,
    n_jobs: int,
    random: np.random.Generator,
    monitor: Monitor,
    judge: Judge | None = None,
) -> np.ndarray:
    """Return points that unfolded in a few more dimensions, cut back to the number asked for."""
    n_wide = min(n_components + EXTRA_DIMENSIONS, comparisons.n_objects - 1)
    part = subsample(comparisons, max(MAX_ROWS, 10 * n_wide * comparisons.n_objects), random)
    start = random_points(part.n_objects, n_wide, dtype, random)
    with Problem(part, loss, ridge, n_jobs, random) as problem:
        short = monitor.child(MAX_EPOCHS, TOL * baseline_loss(loss), judge=judge)
        return project(SVRG().solve(problem, start, short).solution, n_components)


def random_points(n_objects: int, n_components: int, dtype: str, random: np.random.Generator) -> np.ndarray:
    """Return small normal points."""
    return (SPREAD * random.standard_normal((n_objects, n_components))).astype(dtype)


def project(points: np.ndarray, n_components: int) -> np.ndarray:
    """Return the points on their leading principal axes, centred."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return np.ascontiguousarray(centred @ axes[:n_components].T)


def centre(points: np.ndarray, mentioned: np.ndarray) -> np.ndarray:
    """Put the mean of the mentioned objects at the origin, and the other objects there too."""
    moved = points - points[mentioned].mean(axis=0, dtype=np.float64).astype(points.dtype)
    moved[~mentioned] = 0.0
    return moved
