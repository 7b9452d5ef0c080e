"""Triplets drawn from class labels."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import RandomState, as_generator


def comparisons_from_labels(
    y: ArrayLike,
    n: int,
    random_state: RandomState = None,
    *,
    sampling: str = "instances",
    sample_weight: ArrayLike | None = None,
) -> Comparisons:
    """Draw `n` triplets (a, b, c) such that a and b have the same label and c another.

    Parameters
    ----------
    y : array-like, shape (n_objects,)
    n : int
        Number of triplets; a triplet may occur more than once.
    random_state : int, Generator, RandomState or None
    sampling : {"instances", "classes"}
        Whether all objects, or all labels, are equally likely for a, and for c among the other labels. With
        "classes" a small class is drawn as often as a large one. A label of a single object is never that of a,
        with a warning; it may be that of c.
    sample_weight : array-like, shape (n_objects,), optional
        Positive numbers, in proportion to which objects are drawn as a, b and c: an object of weight 2 occurs as
        often as two objects would. With "classes" that holds among the objects of a class.

    Examples
    --------
    >>> comparisons_from_labels(["cat", "cat", "dog", "dog"], 2, random_state=0).rows[:, 0].shape
    (2,)
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or n < 0:
        raise ValueError(f"y must be one label per object and n at least 0; got shape {labels.shape} and n={n}")
    if sampling not in ("instances", "classes"):
        raise ValueError(f"sampling must be 'instances' or 'classes'; got {sampling!r}")
    random = as_generator(random_state)
    classes, label, size = np.unique(labels, return_inverse=True, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"no triplet can be drawn from a single class: all {len(labels)} labels are the same")
    if not (size > 1).any():
        raise ValueError("no triplet can be drawn: every label occurs only once")
    warn_of_single_members(labels)
    if sample_weight is not None:
        rows = _draw_by_weight(label, np.asarray(sample_weight, dtype=np.float64), n, random, sampling)
        return Comparisons(rows.astype(np.int32), n_objects=len(labels))
    members = np.argsort(label, kind="stable")  # the objects, class by class
    start = np.cumsum(size) - size
    if sampling == "instances":
        a = random.choice(np.flatnonzero(size[label] > 1), n)
        own = label[a]
        c = random.integers(len(labels) - size[own])
        c = members[c + size[own] * (c >= start[own])]  # skip the anchor's class
    else:
        own = random.choice(np.flatnonzero(size > 1), n)
        a = members[start[own] + random.integers(size[own])]
        other = random.integers(len(classes) - 1, size=n)
        other += other >= own
        c = members[start[other] + random.integers(size[other])]
    place = np.empty(len(labels), dtype=np.intp)
    place[members] = np.arange(len(labels))
    b = start[own] + random.integers(size[own] - 1)
    b = members[b + (b >= place[a])]  # skip the anchor
    return Comparisons(np.column_stack([a, b, c]).astype(np.int32), n_objects=len(labels))


def warn_of_single_members(labels: NDArray[Any], stacklevel: int = 2) -> None:
    """Warn of labels that occur once, where others occur more often: nothing is like such an object."""
    classes, size = np.unique(labels, return_counts=True)
    if (size == 1).any() and (size > 1).any():
        single, n_single = ", ".join(map(str, classes[size == 1][:5])), (size == 1).sum()
        problem = f"{n_single} of {len(classes)} classes have one member only and are skipped as anchors: {single}"
        warnings.warn(problem, stacklevel=stacklevel + 1)


def _draw_by_weight(
    label: NDArray[np.intp], weights: NDArray[np.float64], n: int, random: np.random.Generator, sampling: str
) -> NDArray[np.intp]:
    """Draw triplets with objects in proportion to their weights; the labels are numbered from 0."""
    if weights.shape != label.shape or not (weights > 0).all() or not np.isfinite(weights).all():
        raise ValueError(f"sample_weight must be {len(label)} positive numbers, one per object")
    members = np.argsort(label, kind="stable")  # the objects, class by class
    place = np.empty(len(label), dtype=np.intp)
    place[members] = np.arange(len(label))
    size = np.bincount(label)
    first = np.cumsum(size) - size
    ends = np.cumsum(weights[members] / weights.sum())  # members[i] has the interval from ends[i - 1] to ends[i]
    starts = np.append(0.0, ends)
    low, high = starts[first], starts[first + size]  # of each class
    width, last = high - low, first + size - 1
    several = (size > 1) * (width if sampling == "instances" else 1.0)
    own = random.choice(len(size), n, p=several / several.sum())

    def find(points: NDArray[np.float64], numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the places of points of the line, within classes of these numbers, also where they are rounded."""
        return np.clip(np.searchsorted(ends, points, side="right"), first[numbers], last[numbers])

    a = find(low[own] + random.random(n) * width[own], own)
    # b: a point of the class's interval without that of the anchor, from which rounding must not lead to the anchor.
    anchor = ends[a] - starts[a]
    b = low[own] + random.random(n) * (width[own] - anchor)
    b = find(np.where(b < starts[a], b, b + anchor), own)
    b = np.where(b == a, np.where(a > first[own], a - 1, a + 1), b)
    if sampling == "instances":  # another class: a point of the line without the interval of the anchor's
        point = random.random(n) * (ends[-1] - width[own])
        point = np.where(point < low[own], point, point + width[own])
        other = np.minimum(np.searchsorted(high, point, side="right"), len(size) - 1)
        other = np.where(other == own, np.where(own > 0, own - 1, 1), other)
    else:
        other = random.integers(len(size) - 1, size=n)
        other += other >= own
    c = find(low[other] + random.random(n) * width[other], other)
    return np.column_stack([members[a], members[b], members[c]])
