"""How good a map is: the comparisons that it gets wrong, and its fit to points that are known."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.rows import blocks, squared_distances


def triplet_error(points: ArrayLike, comparisons: Any) -> float:
    """Share of comparisons, by weight, that points do not satisfy; a tie is not satisfied.

    Parameters
    ----------
    points : array-like, shape (n_objects, n_dims)
    comparisons : Comparisons, ComparisonSource, array-like or DataFrame
        Triplets or quadruplets; looked at block by block.

    Examples
    --------
    >>> triplet_error([[0.0], [1.0], [3.0]], [[0, 1, 2], [0, 2, 1]])
    0.5
    """
    points = np.asarray(points)
    if points.ndim != 2:
        raise ValueError(f"points must be a table with one row an object; got shape {points.shape}")
    if isinstance(comparisons, ComparisonSource):
        parts = [_wrong_and_total(points, chunk) for chunk in comparisons.chunks()]
    else:
        parts = [_wrong_and_total(points, Comparisons.of(comparisons))]
    wrong, total = (sum(column) for column in zip(*parts, strict=True))
    if not total > 0:
        raise ValueError("there is nothing to score: no comparisons, or none with a weight above 0")
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
    """Points laid over reference points as well as moving, turning, mirroring and scaling can.

    Attributes
    ----------
    disparity : float
        What remains: squared error as a share of the reference's spread, from 0 (the same shape) to 1.
    aligned : array, shape (n, d)
        The points, in the units of the reference.
    """

    disparity: float
    aligned: NDArray[np.float64]


def procrustes(points: ArrayLike, reference: ArrayLike) -> Alignment:
    """Fit points to reference points by translation, rotation, reflection and scale.

    Parameters
    ----------
    points, reference : array-like, shape (n, d) and (n, e)
        One row an object, in the same order. Where d and e differ, the narrower is filled up with zeros.

    Returns
    -------
    Alignment
        `disparity`, as `scipy.spatial.procrustes` counts it, and the `aligned` points.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    >>> fit = procrustes(3 * square[:, ::-1] + 5, square)
    >>> round(fit.disparity, 12), np.allclose(fit.aligned, square)
    (0.0, True)
    """
    given, wanted = (np.asarray(table, dtype=np.float64) for table in (points, reference))
    if given.ndim != 2 or wanted.ndim != 2 or len(given) != len(wanted):
        raise ValueError(
            f"points and reference must have as many rows; got shapes {given.shape} and {wanted.shape}"
        )
    if not (np.isfinite(given).all() and np.isfinite(wanted).all()):
        raise ValueError("points and reference must be finite")
    dims = max(given.shape[1], wanted.shape[1])
    given, wanted = (np.pad(table, ((0, 0), (0, dims - table.shape[1]))) for table in (given, wanted))
    centre = wanted.mean(axis=0)
    given, wanted = given - given.mean(axis=0), wanted - centre
    spread, wanted_spread = float((given**2).sum()), float((wanted**2).sum())
    if spread == 0 or wanted_spread == 0:
        raise ValueError("points and reference must each hold at least two different points")
    left, stretch, right = np.linalg.svd(given.T @ wanted)
    scale = stretch.sum() / spread
    aligned = scale * given @ (left @ right) + centre
    disparity = 1 - stretch.sum() ** 2 / (spread * wanted_spread)
    return Alignment(float(np.clip(disparity, 0, 1)), aligned[:, : np.asarray(reference).shape[1]])
