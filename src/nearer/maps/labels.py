"""Which names a map shows, and where: the rules of pictures and of HTML pages.

`label_order` ranks the objects: heavy and isolated ones first, spread over the map at every scale. `place_labels`
then goes through them and takes, of sixteen positions around a dot, one where the name

- stays on the page and touches no other name,
- is clearly nearer to its own dot than to any other dot, and
- is not near the reference of another object, if there is such a position.

If there is none, another name that has a choice makes room. A name without a position is left out, or with
``keep_all`` placed where it does least harm. ``labels.js`` has the
same rules for pages, which place their names anew at every zoom; the tests hold it to this file. Coordinates are in
pixels, y downwards; a box is left, top, right, bottom.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Around a dot, best first: horizontally from left (-1) to right (1), vertically from above (-1) to below (1).
POSITIONS = np.array([
    (1, 0), (-1, 0), (1, -1), (1, 1), (0, -1), (0, 1), (-1, -1), (-1, 1),
    (0.5, -1), (0.5, 1), (-0.5, -1), (-0.5, 1), (1, -0.5), (1, 0.5), (-1, -0.5), (-1, 0.5),
])  # fmt: skip
GAP = 2.5  # from the edge of a dot to its name
CLEARER = 1.3  # another dot is farther from a name than its own dot by this factor at least
ASIDE = (
    0.6  # by which the horizontal way to another dot is shortened: what stands in line with a name is read with it
)
BESIDE, FARTHER = 3.0, (1.0, 2.6, 5.0)  # between names of one line; gaps that `keep_all` tries
SEARCHED = 200  # names that others make room for, or that `keep_all` searches a place for: then a map is full
LEVELS = 10  # of cells for the order: the smallest is a thousandth of the map


def label_order(points: Array, weights: Array | None = None) -> NDArray[np.intp]:
    """Return the objects in the order in which they should be named.

    The map is divided into 1, 4, 16, … cells. Of every cell the heaviest object is named before the others, and
    among equal weights the one whose nearest other object is farthest: so any number of first objects is spread.
    """
    from scipy.spatial import cKDTree

    n = len(points)
    isolation = cKDTree(points).query(points, k=2)[0][:, 1] if n > 1 else np.zeros(n)
    # Two nearest to each other are equally isolated: their places decide, not the order of the objects.
    best_first = np.lexsort((*points.T, -isolation, np.zeros(n) if weights is None else -weights))
    low = points.min(axis=0)
    unit = (points - low)[best_first] / (float(np.ptp(points, axis=0).max()) or 1.0)
    level = np.full(n, LEVELS)
    for depth in reversed(range(LEVELS)):
        side = 2**depth
        cells = np.minimum((unit * side).astype(np.int64), side - 1)
        level[np.unique(cells[:, 0] * side + cells[:, 1], return_index=True)[1]] = depth
    return best_first[np.argsort(level, kind="stable")]


def place_labels(
    points: Array,
    sizes: Array,
    radii: Array,
    order: Sequence[int] | NDArray[np.intp],
    page: Sequence[float],
    *,
    obstacles: Array | Sequence[Sequence[float]] = (),
    rings: Array | None = None,
    most: int | None = None,
    keep_all: bool = False,
    pixel: float = 1.0,
) -> dict[int, Array]:
    """Return the box of each name that has a place, by object, in the order of placement.

    `sizes` are widths and heights of the names, `radii` those of the dots; `page` and `obstacles` are boxes, `rings`
    the places of the reference. At most `most` names are placed. Gaps are in units of `pixel`.
    """
    fixed = np.array(obstacles, dtype=np.float64).reshape(-1, 4)
    # The obstacles, then the box of each object's name, or NaN, which overlaps with nothing.
    taken = np.vstack([fixed, np.full((len(points), 4), np.nan)])
    names = taken[len(fixed) :]
    boxes: dict[int, Array] = {}
    beside = np.array([-BESIDE, 0, BESIDE, 0]) * pixel

    def find(i: int) -> Array | None:
        options = _options(points[i], sizes[i], radii[i], pixel)
        free = _is_clear(options, i, points, radii, page, pixel) & (_overlap(options, taken) == 0)
        harm = _count_rings(options[free], i, points, rings, pixel)
        return options[free][np.argmin(harm)] if free.any() else None

    def put(i: int, box: Array) -> None:
        boxes[i], names[i] = box, box + beside

    def make_room(i: int) -> None:
        """Place a name where one other name stands, if that has another position."""
        options = _options(points[i], sizes[i], radii[i], pixel)
        clear = _is_clear(options, i, points, radii, page, pixel) & (_overlap(options, fixed) == 0)
        for box in options[clear]:
            (hit,) = np.nonzero([_overlap(box[None], name[None])[0] > 0 for name in names[list(boxes)]])
            if len(hit) > 1:
                continue
            if len(hit) == 0:  # a name that moved has left the space
                return put(i, box)
            other = list(boxes)[hit[0]]
            before, names[other], names[i] = names[other].copy(), np.nan, box + beside
            moved = find(other)
            if moved is not None:
                put(other, moved)
                return put(i, box)
            names[other], names[i] = before, np.nan
        return None

    left_over = []
    for i in map(int, order):
        if most is not None and len(boxes) >= most:
            break
        place = find(i)
        if place is None:
            left_over.append(i)
        else:
            put(i, place)
    for i in left_over[:SEARCHED]:
        if most is None or len(boxes) < most:
            make_room(i)
    left_over = [i for i in left_over if i not in boxes]
    for rank, i in enumerate(left_over if keep_all else []):
        if rank >= SEARCHED:
            boxes[i] = _options(points[i], sizes[i], radii[i], pixel)[0]
            continue
        options = np.concatenate([_options(points[i], sizes[i], radii[i], pixel * far) for far in FARTHER])
        boxes[i] = names[i] = options[np.argmin(_harm(options, i, points, radii, page, taken, sizes[i]))]
    return boxes


def box_distances(boxes: Array, points: Array, aside: float = 1.0) -> Array:
    """Return the distance of each box (rows) from each point (columns), 0 inside; `aside` scales the x axis."""
    outside = np.clip(np.maximum(boxes[:, None, :2] - points, points - boxes[:, None, 2:]), 0, None)
    return np.hypot(aside * outside[..., 0], outside[..., 1])


def choose_apart(positions: Array, gap: float, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return positions on a line that are at least `gap` apart, earlier ones of the order before later ones."""
    chosen: list[int] = []
    for i in order:
        if np.all(np.abs(positions[chosen] - positions[i]) >= gap):
            chosen.append(int(i))
    return np.array(chosen, dtype=np.intp)


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


def _options(point: Array, size: Array, radius: float, pixel: float) -> Array:
    """Return the boxes around a dot; at the corners the name comes closer, as only its corner is near."""
    corner = np.abs(POSITIONS).sum(axis=1, keepdims=True) == 2
    gap = (radius + GAP * pixel) * np.where(corner, 0.6, 1.0)
    low = point - size / 2 + POSITIONS * (size / 2 + gap)
    return np.column_stack([low, low + size])


def _is_clear(
    boxes: Array, i: int, points: Array, radii: Array, page: Sequence[float], pixel: float
) -> NDArray[np.bool_]:
    """Return which boxes are on the page and nearer to the dot of i than to any other."""
    inside = (boxes[:, :2] >= page[:2]).all(axis=1) & (boxes[:, 2:] <= page[2:]).all(axis=1)
    own = box_distances(boxes, points[[i]])[:, 0]
    others = _near(boxes, points, reach=max(CLEARER * own.max(), radii.max() + pixel) / ASIDE)
    # Objects in exactly the same place have one dot: a name beside it is none the less right.
    others = others[(points[others] != points[i]).any(axis=1)]
    wanted = np.maximum(CLEARER * own[:, None], radii[others] + pixel)
    clear = (box_distances(boxes, points[others], ASIDE) >= wanted).all(axis=1)
    return inside & clear


def _near(boxes: Array, points: Array, reach: float) -> NDArray[np.intp]:
    """Return the points that may be within `reach` of one of the boxes."""
    low, high = boxes[:, :2].min(axis=0) - reach, boxes[:, 2:].max(axis=0) + reach
    return np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))


def _count_rings(boxes: Array, i: int, points: Array, rings: Array | None, pixel: float) -> Array:
    """Return how many rings of the reference each box covers, or could be taken to belong to."""
    if rings is None:
        return np.zeros(len(boxes))
    own = box_distances(boxes, points[[i]])
    distance = box_distances(boxes, rings)
    wanted = np.broadcast_to(np.maximum(own, 4.5 * pixel), distance.shape).copy()
    wanted[:, i] = 4.5 * pixel  # near its own ring a name may be
    return (distance < wanted).sum(axis=1)


def _harm(
    boxes: Array, i: int, points: Array, radii: Array, page: Sequence[float], taken: Array, size: Array
) -> Array:
    """Return, in area, what a name covers and leaves; a dot that is nearer than its own counts as a character."""
    own = box_distances(boxes, points[[i]])
    others = _near(boxes, points, reach=max(float(own.max()), float(radii.max())))
    others = others[others != i]
    misleading = (box_distances(boxes, points[others]) < np.maximum(own, radii[others])).sum(axis=1)
    out = np.clip(np.array(page[:2]) - boxes[:, :2], 0, None) + np.clip(boxes[:, 2:] - np.array(page[2:]), 0, None)
    return _overlap(boxes, taken) + misleading * size[1] ** 2 + 10 * out.sum(axis=1) * size[1] + own[:, 0]


def _overlap(boxes: Array, others: Array) -> Array:
    """Return the total area that each box shares with the others."""
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    others = others[(others[:, 2:] > low).all(axis=1) & (others[:, :2] < high).all(axis=1)]
    corner = np.maximum(boxes[:, None, :2], others[None, :, :2])
    shared = np.clip(np.minimum(boxes[:, None, 2:], others[None, :, 2:]) - corner, 0, None)
    return (shared[..., 0] * shared[..., 1]).sum(axis=1)
