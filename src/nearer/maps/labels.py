"""Placement of names in a picture: greedy, over eight positions around each point at two distances.

Crowded objects are placed first. All coordinates are in pixels, with y upwards.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Positions around a point and their cost: right, left, above, below, then the four corners.
_POSITIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)], dtype=np.float64)
_COSTS = np.array([0.0, 1.0, 1.0, 1.5, 0.5, 0.5, 1.0, 1.0])


def place_labels(
    points: Array,
    sizes: Array,
    page: tuple[float, float],
    *,
    avoid: Array | None = None,
    gap: float = 6.0,
    keep_all: bool = True,
) -> list[Array | None]:
    """Return the lower left corner of each label, None for those left out (with `keep_all` none).

    Labels keep a distance of `gap` from their points and should stay on the `page` and off the points in `avoid`.
    """
    n = len(points)
    corners: list[Array | None] = [None] * n
    placed = np.empty((0, 4))  # left, bottom, right, top of the labels placed so far
    dots = _squares(points, 0.6 * gap)
    marks = _squares(np.empty((0, 2)) if avoid is None else avoid, 0.6 * gap)
    costs = np.concatenate([_COSTS, _COSTS + 4])
    for i in _crowded_first(points, reach=float(np.median(sizes[:, 0])) if n else 0.0):
        options = _options(points[i], sizes[i], gap)
        boxes = np.column_stack([options, options + sizes[i]])
        others = np.delete(dots, i, axis=0)
        overlap = _overlap(boxes, placed) + _overlap(boxes, others) + _outside(boxes, page, sizes[i])
        cost = overlap + 0.5 * _overlap(boxes, marks) + costs * 1e-3 * sizes[i].prod()
        best = int(np.argmin(cost))
        if keep_all or overlap[best] == 0:
            corners[i] = options[best]
            placed = np.vstack([placed, boxes[best] + [-2, -1, 2, 1]])
    return corners


def spread(positions: Array, gap: float) -> Array:
    """Move positions on a line apart to at least `gap`, in the same order, by the smallest squared distance."""
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
    neighbors = np.sum((gaps[..., 0] < 1.5 * reach) & (gaps[..., 1] < 0.5 * reach), axis=1)
    return np.argsort(-neighbors, kind="stable")


def _options(point: Array, size: Array, gap: float) -> Array:
    """Return the lower left corners of the eight positions near the point and the eight farther away."""
    corner = np.abs(_POSITIONS).sum(axis=1, keepdims=True) == 2
    near = np.where(corner, 0.6 * gap, gap)
    middles = [point + _POSITIONS * (distance * near + size / 2) for distance in (1.0, 2.6)]
    return np.concatenate(middles) - size / 2


def _overlap(boxes: Array, others: Array) -> Array:
    """Return the total area that each box shares with the others."""
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    others = others[(others[:, 2:] > low).all(axis=1) & (others[:, :2] < high).all(axis=1)]
    corner = np.maximum(boxes[:, None, :2], others[None, :, :2])
    shared = np.clip(np.minimum(boxes[:, None, 2:], others[None, :, 2:]) - corner, 0, None)
    return (shared[..., 0] * shared[..., 1]).sum(axis=1)


def _outside(boxes: Array, page: tuple[float, float], size: Array) -> Array:
    out = np.clip(-boxes[:, :2], 0, None) + np.clip(boxes[:, 2:] - np.array(page), 0, None)
    return (out * size[::-1]).sum(axis=1)
