"""Where the names go in a picture: greedy, eight places around each point, near and a little farther off.

Crowded objects choose first, because the others have room anyway. Everything here is in pixels, with y
upwards.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The places around a point in order of liking: right, left, above, below, then the four corners.
_PLACES = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)], dtype=np.float64)
_LIKING = np.array([0.0, 1.0, 1.0, 1.5, 0.5, 0.5, 1.0, 1.0])


def place_labels(
    points: Array,
    sizes: Array,
    page: tuple[float, float],
    *,
    avoid: Array | None = None,
    gap: float = 6.0,
    keep_all: bool = True,
) -> list[Array | None]:
    """Lower left corners of the labels.

    Parameters
    ----------
    points : array of shape (n, 2)
        Where the dots are.
    sizes : array of shape (n, 2)
        Width and height of each label.
    page : (width, height)
        Labels stay on the page where they can.
    avoid : array of shape (m, 2), optional
        Further marks, better not covered.
    gap : float
        From the middle of a dot to its label.
    keep_all : bool
        Whether a label that fits nowhere is put where it hurts least; otherwise it is left out.

    Returns
    -------
    list of array of shape (2,) or None
        One an object; None where the label is left out.
    """
    n = len(points)
    corners: list[Array | None] = [None] * n
    taken = np.empty((0, 4))  # left, bottom, right, top of the labels placed so far
    dots = _squares(points, 0.6 * gap)
    marks = _squares(np.empty((0, 2)) if avoid is None else avoid, 0.6 * gap)
    liking = np.concatenate([_LIKING, _LIKING + 4])
    for i in _crowded_first(points, reach=float(np.median(sizes[:, 0])) if n else 0.0):
        options = _options(points[i], sizes[i], gap)
        boxes = np.column_stack([options, options + sizes[i]])
        others = np.delete(dots, i, axis=0)
        overlap = _overlap(boxes, taken) + _overlap(boxes, others) + _outside(boxes, page, sizes[i])
        cost = overlap + 0.5 * _overlap(boxes, marks) + liking * 1e-3 * sizes[i].prod()
        best = int(np.argmin(cost))
        if keep_all or overlap[best] == 0:
            corners[i] = options[best]
            taken = np.vstack([taken, boxes[best] + [-2, -1, 2, 1]])
    return corners


def spread(positions: Array, gap: float) -> Array:
    """Move positions on a line apart to at least `gap`, in the same order, as little as can be."""
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(positions))
    runs: list[tuple[float, int]] = []  # mean and length of runs that touch: pool adjacent violators
    for value in positions[order] - steps:
        mean, count = float(value), 1
        while runs and runs[-1][0] > mean:
            before, length = runs.pop()
            mean, count = (before * length + mean * count) / (length + count), length + count
        runs.append((mean, count))
    moved = np.empty(len(positions))
    moved[order] = np.repeat([mean for mean, _ in runs], [count for _, count in runs]) + steps
    return moved


def _squares(points: Array, half: float) -> Array:
    return np.column_stack([points - half, points + half])


def _crowded_first(points: Array, reach: float) -> NDArray[np.intp]:
    gaps = np.abs(points[:, None, :] - points[None, :, :])
    neighbours = np.sum((gaps[..., 0] < 1.5 * reach) & (gaps[..., 1] < 0.5 * reach), axis=1)
    return np.argsort(-neighbours, kind="stable")


def _options(point: Array, size: Array, gap: float) -> Array:
    """Lower left corners of the eight places near the point and the eight farther off."""
    corner = np.abs(_PLACES).sum(axis=1, keepdims=True) == 2
    near = np.where(corner, 0.6 * gap, gap)
    middles = [point + _PLACES * (distance * near + size / 2) for distance in (1.0, 2.6)]
    return np.concatenate(middles) - size / 2


def _overlap(boxes: Array, others: Array) -> Array:
    """Area that each box shares with the others, summed."""
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    others = others[(others[:, 2:] > low).all(axis=1) & (others[:, :2] < high).all(axis=1)]
    corner = np.maximum(boxes[:, None, :2], others[None, :, :2])
    shared = np.clip(np.minimum(boxes[:, None, 2:], others[None, :, 2:]) - corner, 0, None)
    return (shared[..., 0] * shared[..., 1]).sum(axis=1)


def _outside(boxes: Array, page: tuple[float, float], size: Array) -> Array:
    out = np.clip(-boxes[:, :2], 0, None) + np.clip(boxes[:, 2:] - np.array(page), 0, None)
    return (out * size[::-1]).sum(axis=1)
