"""Metrics of maps: the comparisons that they violate, and their fit to known points."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.rows import blocks, squared_distances

Floats = NDArray[np.float64]


def triplet_error(points: ArrayLike, comparisons: Any) -> float:
    """Return the fraction of comparisons, by weight, that points violate; a tie is a violation.

    Parameters
    ----------
    points : array-like, shape (n_objects, n_dims)
    comparisons : Comparisons, ComparisonSource, array-like or DataFrame
        Triplets or quadruplets; evaluated block by block.

    Examples
    --------
    >>> triplet_error([[0.0], [1.0], [3.0]], [[0, 1, 2], [0, 2, 1]])
    0.5
    """
    points = np.asarray(points)
    if points.ndim != 2:
        raise ValueError(f"points must be a table with one row per object; got shape {points.shape}")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise ValueError(f"points must be finite; row {row} holds NaN or infinity")
    is_source = isinstance(comparisons, ComparisonSource)
    chunks = comparisons.chunks() if is_source else [Comparisons.of(comparisons)]
    wrong, total = np.sum([_wrong_and_total(points, chunk) for chunk in chunks], axis=0)
    if not total > 0:
        raise ValueError("there is nothing to score: no comparisons, or none with a weight above 0")
    if not np.isfinite(total):
        raise ValueError("the sum of the weights overflows: divide them by the largest")
    return float(wrong / total)


def _wrong_and_total(points: NDArray[Any], comparisons: Comparisons) -> tuple[float, float]:
    rows, weights = comparisons.rows, comparisons.weights
    if comparisons.n_objects > len(points) and rows.max(initial=-1) >= len(points):
        raise ValueError(f"the comparisons name object {rows.max()}, but there are only {len(points)} points")
    wrong = 0.0
    for block in blocks(len(rows), 1 << 15):
        near, far = squared_distances(points, rows[block])
        bad = ~(near < far)
        wrong += float(np.count_nonzero(bad) if weights is None else weights[block][bad].sum())
    return wrong, float(len(rows) if weights is None else weights.sum())


class Alignment(NamedTuple):
    """Points fitted to reference points, in the units of the reference, and how well they fit.

    The disparity is the remaining squared error as a fraction of the reference's variance: 0 for the same shape,
    at most 1.
    """

    disparity: float
    aligned: Floats


def procrustes(points: ArrayLike, reference: ArrayLike) -> Alignment:
    """Fit points to reference points by translation, rotation, reflection and scale.

    Parameters
    ----------
    points, reference : array-like, shape (n, d) and (n, e)
        One row per object, in the same order. If d and e differ, the narrower is padded with zeros.

    Returns
    -------
    Alignment
        `disparity`, as in `scipy.spatial.procrustes`, and the `aligned` points.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> fit = procrustes(3 * square[:, ::-1] + 5, square)
    >>> round(fit.disparity, 12), np.allclose(fit.aligned, square)
    (0.0, True)
    """
    points, target = (np.asarray(table, dtype=np.float64) for table in (points, reference))
    if points.ndim != 2 or target.ndim != 2 or len(points) != len(target):
        shapes = f"{points.shape} and {target.shape}"
        raise ValueError(f"points and reference must have as many rows; got shapes {shapes}")
    if not (np.isfinite(points).all() and np.isfinite(target).all()):
        raise ValueError("points and reference must be finite")
    n_dims = target.shape[1]
    rotated, target, center, strength = superimpose(points, target)
    spread, target_spread = float((rotated**2).sum()), float((target**2).sum())
    if spread == 0 or target_spread == 0:
        raise ValueError("points and reference must each hold at least two different points")
    aligned = strength / spread * rotated + center
    disparity = 1 - strength / spread * (strength / target_spread)  # the product of both spreads may underflow
    return Alignment(float(np.clip(disparity, 0, 1)), aligned[:, :n_dims])


def superimpose(points: Floats, reference: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Rotate points onto a reference (Schönemann 1966); return both centered, the latter's center, and the strength."""
    n_dims = max(points.shape[1], reference.shape[1])
    points, reference = (np.pad(table, ((0, 0), (0, n_dims - table.shape[1]))) for table in (points, reference))
    center = reference.mean(axis=0)
    points, reference = points - points.mean(axis=0), reference - center
    left, strengths, right = np.linalg.svd(points.T @ reference)
    return points @ (left @ right), reference, center, float(strengths.sum())
