"""From learned points in any number of dimensions to what a flat map shows.

The picture and the HTML page draw the same `Plane`: two coordinates an object, turned onto the reference or
the principal axes, with names, groups, and a line of text that is honest about what the plane leaves out.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.maps.align import Points, align, checked, orient

# Colours that stay apart for most kinds of colour vision and hold on white as on near-black; used in turn.
PALETTE = (
    "#3b7dd8",
    "#e07b28",
    "#2f9e6e",
    "#c9518f",
    "#8a6fd1",
    "#b8960c",
    "#22a3b8",
    "#d1504a",
    "#7a8a2e",
    "#8d7466",
)


@dataclass(frozen=True)
class Plane:
    """What a flat map shows: every array has one row an object."""

    points: Points
    names: list[str]
    groups: list[str] | None
    reference: Points | None
    nearest: NDArray[np.intp] | None
    subtitle: str
    is_line: bool

    @property
    def group_order(self) -> list[str]:
        """The groups, each once: numbers by size, then words by the alphabet."""
        return sorted(set(self.groups or []), key=_by_size_then_alphabet)


def plane(
    points: ArrayLike,
    names: Iterable[object] | None = None,
    *,
    groups: Iterable[object] | None = None,
    reference: ArrayLike | None = None,
) -> Plane:
    """Lay points of one, two or more dimensions on a plane."""
    learned = checked(points)
    n, dims = learned.shape
    ghosts = None if reference is None else _flat(reference)
    turned = orient(learned) if ghosts is None else align(learned, ghosts)
    flat = np.pad(turned[:, :2], [(0, 0), (0, max(0, 2 - turned.shape[1]))])
    return Plane(
        points=flat,
        names=[str(i) for i in range(n)] if names is None else _words(names, n, "names"),
        groups=None if groups is None else _words(groups, n, "groups"),
        reference=ghosts,
        nearest=_nearest(learned, 5) if dims > 2 else None,
        subtitle=_subtitle(turned, dims, ghosts is not None),
        is_line=dims == 1 and ghosts is None,
    )


def _by_size_then_alphabet(word: str) -> tuple[float, str]:
    try:
        number = float(word)
    except ValueError:
        return np.inf, word
    return (number, word) if np.isfinite(number) else (np.inf, word)


def _flat(reference: ArrayLike) -> Points:
    """The reference in two dimensions: as it lies where it has at most two, else its principal axes."""
    ghosts = checked(reference, "reference")
    if ghosts.shape[1] > 2:
        ghosts = orient(ghosts)[:, :2]
    return np.pad(ghosts, [(0, 0), (0, 2 - ghosts.shape[1])])


def _words(values: Iterable[object], n: int, what: str) -> list[str]:
    words = [str(value) for value in values]
    if len(words) != n:
        raise ValueError(f"{what}: {len(words)} for {n} points, wanted one for each")
    return words


def _nearest(learned: Points, k: int) -> NDArray[np.intp]:
    """The k nearest other objects of each, in all dimensions (the plane alone would mislead)."""
    from scipy.spatial import cKDTree  # only maps of more than two dimensions wait for scipy

    n = len(learned)
    k = min(k, n - 1)
    found = cKDTree(learned).query(learned, k=k + 1)[1].reshape(n, k + 1)
    # An object is not always its own first neighbour: several may lie on one spot.
    others = found != np.arange(n)[:, None]
    others[others.all(axis=1), -1] = False
    return found[others].reshape(n, k)


def _subtitle(turned: Points, dims: int, has_reference: bool) -> str:
    n = len(turned)
    text = f"{n:,} object{'s' if n != 1 else ''}"
    if dims <= 2:
        return text
    spread = np.sum((turned - turned.mean(axis=0)) ** 2, axis=0)
    share = spread[:2].sum() / spread.sum() if spread.sum() > 0 else 1.0
    axes = "the plane nearest to the reference" if has_reference else "the first two principal axes"
    return f"{text} · {axes} of {dims} dimensions ({share:.0%} of the spread)"
