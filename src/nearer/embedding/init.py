"""Where a map starts: small random points, found in a few more dimensions than asked for and cut back by PCA.

From a small start the first steps unfold the map along its main axes. In a space with room to spare points walk
around each other instead of getting stuck, and the leading principal axes then make a good start in fewer.
"""

import numpy as np

from nearer.folds import subsample

__all__ = ["centred", "principal", "random_points", "subsample"]

SPREAD = 0.1  # standard deviation of a coordinate at the start: small against the margins of all losses


def random_points(n_objects: int, n_components: int, dtype: str, random: np.random.Generator) -> np.ndarray:
    """Return small normal points."""
    return (SPREAD * random.standard_normal((n_objects, n_components))).astype(dtype)


def principal(points: np.ndarray, n_components: int) -> np.ndarray:
    """Return the points on their leading principal axes, centred."""
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return np.ascontiguousarray(centred @ axes[:n_components].T)


def centred(points: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Put the mean of the objects asked about at the origin, and the others there, where they claim least."""
    moved = points - points[asked].mean(axis=0, dtype=np.float64).astype(points.dtype)
    moved[~asked] = 0.0
    return moved
