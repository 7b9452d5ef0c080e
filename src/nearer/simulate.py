"""Comparisons simulated from known points or labels: for tests, benchmarks and planning of a survey.

A simulated person is a function of the two squared distances of a question: the probability of a *wrong* answer. A
question whose two distances are equal has no true answer and is never asked.
"""

import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import BLOCK, blocks, compares_with_itself, flip_rows, squared_distances

Noise = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def flip(fraction: float) -> Noise:
    """Return noise that makes an answer wrong with the same probability, `fraction`, for every question.

    Examples
    --------
    >>> flip(0.05)(np.array([1.0]), np.array([4.0]))
    array([0.05])
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must lie between 0 and 1; got {fraction!r}")
    return lambda near, far: np.full(near.shape, float(fraction))


def logistic(scale: float = 1.0) -> Noise:
    """Return noise with probability 1/(1 + exp((far - near)/scale)) of an error.

    With ``scale=1`` the answers follow the model of STE.

    Examples
    --------
    >>> logistic(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.047])
    """
    _check_positive(scale, "scale")
    return lambda near, far: 1 / (1 + np.exp(np.minimum((far - near) / scale, 700)))


def student(alpha: float = 1.0) -> Noise:
    """Return the noise of the model of t-STE: errors where the ratio of the distances is close to one.

    Examples
    --------
    >>> student(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.286])
    """
    _check_positive(alpha, "alpha")
    return lambda near, far: 1 / (1 + ((alpha + far) / (alpha + near)) ** ((alpha + 1) / 2))


def _check_positive(value: float, name: str) -> None:
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
        Number of answers; questions may occur more than once.
    quadruplets : bool
        Whether to compare two pairs of objects instead of the distances of two objects to a third.
    noise : callable, optional
        ``noise(near, far)`` returns the probability of a wrong answer; see `flip`, `logistic`, `student`.
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
        questions = random.integers(len(points), size=(min(BLOCK, 2 * (n - done) + 16), width), dtype=np.int32)
        answers = _true_answers(points, questions[~compares_with_itself(questions)])[: n - done]
        if noise is not None and len(answers):
            wrong = random.random(len(answers)) < noise(*squared_distances(points, answers))
            answers = np.where(wrong[:, None], flip_rows(answers), answers)
        rows[done : done + len(answers)] = answers
        done += len(answers)
        idle = 0 if len(answers) else idle + 1
        if idle == 100:
            raise ValueError("no question about these points has an answer: all their distances seem to be equal")
    return Comparisons(rows, n_objects=len(points))


def _as_points(X: ArrayLike) -> NDArray[np.float64]:
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or not np.isfinite(points).all():
        raise ValueError(f"X must be a table of finite numbers, one row per object; got shape {points.shape}")
    if len(points) < 3:
        raise ValueError(f"comparisons need at least 3 objects; got {len(points)}")
    return points


def _true_answers(points: NDArray[np.float64], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows, flipped where they are false, without ties."""
    near, far = squared_distances(points, rows)
    return np.where((near > far)[:, None], flip_rows(rows), rows)[near != far]


def all_triplets(X: ArrayLike) -> Comparisons:
    """Answer every question "is a nearer to b or to c?" about points once.

    n points have n(n-1)(n-2)/2 rows, fewer if distances are equal.

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
        parts += [_true_answers(points, rows[block]) for block in blocks(len(rows))]
    return Comparisons(np.concatenate(parts), n_objects=len(points))


def comparisons_from_labels(
    y: ArrayLike, n: int, random_state: RandomState = None, *, sampling: str = "instances"
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
    if (size == 1).any():
        single, n_single = ", ".join(map(str, classes[size == 1][:5])), (size == 1).sum()
        problem = f"{n_single} of {len(classes)} classes have one member only and are skipped as anchors: {single}"
        warnings.warn(problem, stacklevel=2)
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
