"""Comparisons made from known points or labels: for tests, benchmarks and rehearsals of a survey.

A simulated person is a small function of the two squared distances of a question: the probability of an
answer that is *not* the true one. A question whose two distances are equal has no true answer and is never
asked.
"""

import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons import Comparisons
from nearer.comparisons.answers import turned
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import BLOCK, blocks, impossible, squared_distances

Noise = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def flip(p: float) -> Noise:
    """Someone who answers wrongly with probability `p`, whatever the question.

    Examples
    --------
    >>> flip(0.05)(np.array([1.0]), np.array([4.0]))
    array([0.05])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie between 0 and 1; got {p!r}")
    return lambda near, far: np.full(near.shape, float(p))


def logistic(scale: float = 1.0) -> Noise:
    """Someone who errs where squared distances are close, with probability 1/(1 + exp((far - near)/scale)).

    With ``scale=1`` the answers follow the model of STE.

    Examples
    --------
    >>> logistic(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.047])
    """
    _positive(scale, "scale")
    return lambda near, far: 1 / (1 + np.exp(np.minimum((far - near) / scale, 700)))


def student(alpha: float = 1.0) -> Noise:
    """Someone who errs where the ratio of the distances is close to one, as in the model of t-STE.

    Examples
    --------
    >>> student(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.286])
    """
    _positive(alpha, "alpha")
    return lambda near, far: 1 / (1 + ((alpha + far) / (alpha + near)) ** ((alpha + 1) / 2))


def _positive(value: float, name: str) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be above 0; got {value!r}")


def comparisons_from_points(
    X: ArrayLike,
    n: int,
    *,
    quadruplets: bool = False,
    noise: Noise | None = None,
    random_state: RandomState = None,
) -> Comparisons:
    """Ask `n` random questions about points.

    Parameters
    ----------
    X : array-like, shape (n_objects, n_dims)
    n : int
        Number of answers; questions may repeat.
    quadruplets : bool
        Compare two pairs of objects instead of two objects with a third.
    noise : callable, optional
        ``noise(near, far)`` gives the probability of a wrong answer, such as `flip`, `logistic`, `student`.
    random_state : int, Generator, RandomState or None

    Examples
    --------
    >>> comparisons_from_points([[0.0], [1.0], [3.0]], 100, noise=flip(0.1), random_state=0)
    Comparisons(100 triplets, 3 objects)
    """
    points = _as_points(X)
    if n < 0:
        raise ValueError(f"n must be at least 0; got {n}")
    random = as_generator(random_state)
    width = 4 if quadruplets else 3
    rows = np.empty((n, width), dtype=np.int32)
    done, idle = 0, 0
    while done < n:
        asked = random.integers(len(points), size=(min(BLOCK, 2 * (n - done) + 16), width), dtype=np.int32)
        answered = _true_rows(points, asked[~impossible(asked)])[: n - done]
        if noise is not None and len(answered):
            wrong = random.random(len(answered)) < noise(*squared_distances(points, answered))
            answered = np.where(wrong[:, None], turned(answered), answered)
        rows[done : done + len(answered)] = answered
        done += len(answered)
        idle = 0 if len(answered) else idle + 1
        if idle == 100:
            raise ValueError("no question about these points has an answer: all their distances seem to be equal")
    return Comparisons(rows, n_objects=len(points))


def _as_points(X: ArrayLike) -> NDArray[np.float64]:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or not np.isfinite(points).all():
        raise ValueError(f"X must be a table of finite numbers, one row an object; got shape {points.shape}")
    if len(points) < 3:
        raise ValueError(f"comparisons need at least 3 objects; got {len(points)}")
    return points


def _true_rows(points: NDArray[np.float64], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows, turned where needed so that they are true; ties are left out."""
    near, far = squared_distances(points, rows)
    return np.where((near > far)[:, None], turned(rows), rows)[near != far]


def all_triplets(X: ArrayLike) -> Comparisons:
    """Answer every question of the kind "is a nearer to b or to c?" about points, once.

    n points give n(n-1)(n-2)/2 rows, fewer where distances are equal.

    Examples
    --------
    >>> all_triplets([[0.0], [1.0], [3.0]]).rows.tolist()
    [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    """
    points = _as_points(X)
    pairs = np.array(list(combinations(range(len(points) - 1), 2)), dtype=np.int32)
    parts = []
    for anchor in range(len(points)):
        others = pairs + (pairs >= anchor)  # skip the anchor
        rows = np.column_stack([np.full(len(pairs), anchor), others]).astype(np.int32)
        parts += [_true_rows(points, rows[block]) for block in blocks(len(rows))]
    return Comparisons(np.concatenate(parts), n_objects=len(points))


def comparisons_from_labels(
    y: ArrayLike, n: int, random_state: RandomState = None, *, drawing: str = "instances"
) -> Comparisons:
    """Draw `n` triplets (a, b, c) such that a and b have the same label and c another.

    Parameters
    ----------
    y : array-like, shape (n_objects,)
    n : int
        Number of triplets; they may repeat.
    random_state : int, Generator, RandomState or None
    drawing : {"instances", "classes"}
        Whether every object is as likely as every other to be a, and to be c among the objects of other labels,
        or every label: then a small class is heard as often as a large one. A label that only one object has is
        never that of a, with a warning; it may be that of c.

    Examples
    --------
    >>> comparisons_from_labels(["cat", "cat", "dog", "dog"], 2, random_state=0).rows[:, 0].shape
    (2,)
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or n < 0:
        raise ValueError(f"y must be one label an object and n at least 0; got shape {labels.shape} and n={n}")
    if drawing not in ("instances", "classes"):
        raise ValueError(f"drawing must be 'instances' or 'classes'; got {drawing!r}")
    random = as_generator(random_state)
    found, label, size = np.unique(labels, return_inverse=True, return_counts=True)
    if len(found) < 2:
        raise ValueError(f"no triplet can be drawn from a single class: all {len(labels)} labels are the same")
    if not (size > 1).any():
        raise ValueError("no triplet can be drawn: every label occurs only once")
    if (size == 1).any():
        lonely = ", ".join(str(name) for name in found[size == 1][:5])
        warnings.warn(
            f"{(size == 1).sum()} of {len(found)} classes have one member only and are skipped as anchors: "
            f"{lonely}",
            stacklevel=2,
        )
    members = np.argsort(label, kind="stable")  # the objects, class by class
    start = np.cumsum(size) - size
    if drawing == "instances":
        a = random.choice(np.flatnonzero(size[label] > 1), n)
        own = label[a]
        c = random.integers(len(labels) - size[own])
        c = members[c + size[own] * (c >= start[own])]  # skip the anchor's class
    else:
        own = random.choice(np.flatnonzero(size > 1), n)
        a = members[start[own] + random.integers(size[own])]
        other = random.integers(len(found) - 1, size=n)
        other += other >= own
        c = members[start[other] + random.integers(size[other])]
    place = np.empty(len(labels), dtype=np.intp)
    place[members] = np.arange(len(labels))
    b = start[own] + random.integers(size[own] - 1)
    b = members[b + (b >= place[a])]  # skip the anchor
    return Comparisons(np.column_stack([a, b, c]).astype(np.int32), n_objects=len(labels))
