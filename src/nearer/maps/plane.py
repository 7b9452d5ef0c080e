"""The two-dimensional view of learned points in any number of dimensions.

Comparisons determine a map only up to reflection, rotation, translation and (mostly) scale. `align` fits it to a
reference, such as true geography or last week's map, by orthogonal Procrustes; `orient` rotates a map without one.
The picture and the HTML page draw the same `Plane`, with a line of text that says what it leaves out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.metrics.maps import superimpose

Points = NDArray[np.float64]
Title = str | None
Words = Iterable[object] | None
Places = ArrayLike | None
Weights = ArrayLike | None
Labels = Literal["auto", "all", "none"]

# Colors that most kinds of color vision tell apart, on white and on near-black.
PALETTE = (
    "#3b7dd8", "#e07b28", "#2f9e6e", "#c9518f", "#8a6fd1",
    "#b8960c", "#22a3b8", "#d1504a", "#7a8a2e", "#8d7466",
)  # fmt: skip


def as_points(points: ArrayLike, name: str = "points") -> Points:
    """Return points as a new float array of shape (n, dims), validated."""
    array = np.array(points, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name}: expected one row per object, shape (n, dims); got shape {np.shape(points)}")
    if len(array) == 0:
        raise ValueError(f"{name}: there are none")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise ValueError(f"{name}: row {bad[0]} is {array[bad[0]].tolist()}; expected finite numbers")
    return array


def align(points: ArrayLike, reference: ArrayLike, *, scale: bool = True) -> Points:
    """Reflect, rotate, scale and move points onto a reference.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points.
    reference : array of shape (n, dims)
        Points of the same objects to align to. The narrower of the two is padded with zeros.
    scale : bool, default True
        Whether to scale the points.

    Returns
    -------
    array of shape (n, dims)
        The moved points, whose sum of squared distances to the reference is smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.maps import align
    >>> square = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    >>> mirrored = 3 * square[:, ::-1] + 7
    >>> bool(np.allclose(align(mirrored, square), square))
    True
    """
    moved, target = as_points(points), as_points(reference, "reference")
    if len(moved) != len(target):
        raise ValueError(f"reference: {len(target)} rows for {len(moved)} points; expected one per point")
    rotated, _, center, strength = superimpose(moved, target)
    size = float(np.sum(rotated**2))
    return (strength / size if scale and size > 0 else 1.0) * rotated + center


def orient(points: ArrayLike) -> Points:
    """Rotate points onto their principal axes, with signs that do not depend on their orientation.

    The axis of largest variance comes first. The object farthest out along an axis is on its positive side, so the
    same map looks the same after any rotation or reflection.

    Parameters
    ----------
    points : array of shape (n, dims)
        The learned points.

    Returns
    -------
    array of shape (n, dims)
        The same points, centered and rotated; distances between them are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.maps import orient
    >>> line = np.array([[0, 0], [0, -1], [0, -5]])
    >>> (orient(line).round(6) + 0.0).tolist()
    [[-2.0, 0.0], [-1.0, 0.0], [3.0, 0.0]]
    """
    centered = as_points(points)
    centered -= centered.mean(axis=0)
    rotated = centered @ np.linalg.svd(centered.T @ centered)[0]
    reach = np.abs(rotated)
    # The first of the farthest, up to rounding, so that a symmetric map does not flip by chance.
    farthest = np.argmax(reach >= reach.max(axis=0) * (1 - 1e-9), axis=0)
    signs = np.sign(rotated[farthest, np.arange(rotated.shape[1])])
    return rotated * np.where(signs == 0, 1.0, signs)


@dataclass(frozen=True)
class Plane:
    """The content of a two-dimensional map: every array has one row per object."""

    points: Points
    names: list[str]
    groups: list[str] | None
    reference: Points | None
    weights: Points | None
    nearest: NDArray[np.intp] | None
    subtitle: str
    is_line: bool

    @property
    def group_order(self) -> list[str]:
        """The distinct groups: numbers in increasing order, then words in alphabetical order."""
        return sorted(set(self.groups or []), key=_by_size_then_alphabet)

    @property
    def all_points(self) -> Points:
        """The points and the reference, if there is one."""
        return self.points if self.reference is None else np.concatenate([self.points, self.reference])

    @property
    def scale(self) -> Points:
        """The radius of each dot, relative to that of an object of mean weight; areas show the weights."""
        if self.weights is None or not self.weights.any():
            return np.ones(len(self.points))
        return np.clip(np.sqrt(self.weights / self.weights.mean()), 0.6, 2.2)


def check_labels(labels: str) -> None:
    """Raise a ValueError if this is no way to label a map."""
    if labels not in get_args(Labels):
        raise ValueError(f"labels must be 'auto', 'all' or 'none'; got {labels!r}")


def to_plane(
    points: ArrayLike,
    names: Words = None,
    *,
    groups: Words = None,
    reference: Places = None,
    weights: Weights = None,
) -> Plane:
    """Return the plane of points of one, two or more dimensions."""
    learned = as_points(points)
    n, dims = learned.shape
    target = None if reference is None else _flatten(reference)
    rotated = orient(learned) if target is None else align(learned, target)
    return Plane(
        points=np.pad(rotated[:, :2], [(0, 0), (0, max(0, 2 - rotated.shape[1]))]),
        names=[str(i) for i in range(n)] if names is None else _as_words(names, n, "names"),
        groups=None if groups is None else _as_words(groups, n, "groups"),
        reference=target,
        weights=None if weights is None else _as_weights(weights, n),
        nearest=_nearest(learned, 5) if dims > 2 else None,
        subtitle=_subtitle(rotated, dims, target is not None),
        is_line=dims == 1 and target is None,
    )


def _by_size_then_alphabet(word: str) -> tuple[float, str]:
    try:
        number = float(word)
    except ValueError:
        return np.inf, word
    return (number, word) if np.isfinite(number) else (np.inf, word)


def _flatten(reference: ArrayLike) -> Points:
    """Return the reference in two dimensions: unchanged if it has at most two, else its principal axes."""
    points = as_points(reference, "reference")
    if points.shape[1] > 2:
        points = orient(points)[:, :2]
    return np.pad(points, [(0, 0), (0, 2 - points.shape[1])])


def _as_words(values: Iterable[object], n: int, name: str) -> list[str]:
    words = [str(value) for value in values]
    if len(words) != n:
        raise ValueError(f"{name}: {len(words)} for {n} points; expected one per point")
    return words


def _as_weights(weights: ArrayLike, n: int) -> Points:
    array = np.array(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ValueError(f"weights: shape {array.shape} for {n} points; expected one number per point")
    bad = np.flatnonzero(~((array >= 0) & (array < np.inf)))
    if len(bad):
        raise ValueError(f"weights: number {bad[0]} is {array[bad[0]]}; expected finite numbers of at least 0")
    return array


def _nearest(learned: Points, k: int) -> NDArray[np.intp]:
    """Return the k nearest other objects of each in all dimensions (the plane alone would mislead)."""
    from scipy.spatial import cKDTree  # imported only for maps of more than two dimensions

    n = len(learned)
    k = min(k, n - 1)
    neighbors = cKDTree(learned).query(learned, k=k + 1)[1].reshape(n, k + 1)
    # An object is not always its own first neighbor: several may have the same position.
    others = neighbors != np.arange(n)[:, None]
    others[others.all(axis=1), -1] = False
    return neighbors[others].reshape(n, k)


def _subtitle(rotated: Points, dims: int, has_reference: bool) -> str:
    n = len(rotated)
    text = f"{n:,} object{'s' if n != 1 else ''}"
    if dims <= 2:
        return text
    spread = np.sum((rotated - rotated.mean(axis=0)) ** 2, axis=0)
    share = spread[:2].sum() / spread.sum() if spread.sum() > 0 else 1.0
    axes = "the plane nearest to the reference" if has_reference else "the first two principal axes"
    return f"{text} · {axes} of {dims} dimensions ({share:.0%} of the spread)"
