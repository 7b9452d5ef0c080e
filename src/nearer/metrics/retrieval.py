"""How well a similarity ranks objects: what shares the query's label should come first.

Precision and recall among the first k, and average precision; how they are counted where scores are equal is told
in :mod:`~nearer.metrics.ranks`.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.metrics.ranks import (
    Floats,
    Numbers,
    as_scores,
    averaged,
    label_numbers,
    mean,
    measured,
    precision,
    recall,
)


def average_precisions(
    scores: ArrayLike, y: ArrayLike, y_objects: ArrayLike | None = None, cutoff: int | None = None
) -> Floats:
    """Return the average precision of each query: 1 where all that is relevant comes first.

    Parameters
    ----------
    scores : array-like, shape (n_queries, n_objects)
        How alike query and object are: larger is more alike.
    y : array-like, shape (n_queries,)
        Labels of the queries. An object is relevant to a query when it has the same label.
    y_objects : array-like, shape (n_objects,), optional
        Labels of the objects. Without them the objects are the queries: scores must be square, and the query
        itself is left out of its ranking.
    cutoff : int, optional
        Look at the first so many places only.

    Returns
    -------
    array, shape (n_queries,)
        NaN where no object is relevant.

    Notes
    -----
    It is the mean, over the relevant objects, of the precision at their place. Objects of equal score enter at
    once: each has the precision at the end of its group. That is scikit-learn's ``average_precision_score``.

    With a cutoff K the sum runs over the relevant among the first K places and is divided by K or by the number of
    relevant objects, whichever is smaller. Of a group that the cutoff divides, as many relevant objects count as
    are expected in the places left, with the precision at place K that this expectation gives.

    Examples
    --------
    >>> average_precisions([[0.9, 0.7, 0.4], [0.9, 0.7, 0.7]], ["a", "b"], ["a", "b", "a"])
    array([0.83333333, 0.33333333])
    """
    scores, labels, n_objects = _checked(scores, y, y_objects)
    if cutoff is not None:
        _check_places("cutoff", cutoff, None)
    return measured(scores, labels, averaged, n_objects if cutoff is None else cutoff, y_objects is None)


def mean_average_precision(
    scores: ArrayLike, y: ArrayLike, y_objects: ArrayLike | None = None, cutoff: int | None = None
) -> float:
    """Mean over the queries of their average precision (mAP); queries with nothing relevant are left out.

    Parameters
    ----------
    scores, y, y_objects, cutoff
        As for :func:`average_precisions`, which also says how equal scores count.

    Examples
    --------
    >>> mean_average_precision([[0.0, 0.9, 0.4], [0.9, 0.0, 0.7], [0.4, 0.7, 0.0]], y=[0, 1, 0])
    0.5
    """
    return mean(average_precisions(scores, y, y_objects, cutoff))


def precision_at_k(scores: ArrayLike, y: ArrayLike, k: int, y_objects: ArrayLike | None = None) -> float:
    """Share of relevant objects among the first k, in the mean over queries for which anything is relevant.

    Parameters
    ----------
    scores, y
        As for :func:`average_precisions`.
    k : int
        Places that count, at most as many as there are objects. Where objects of equal score compete for the
        last of them, the expectation over their orders counts.
    y_objects
        As for :func:`average_precisions`.

    Examples
    --------
    >>> precision_at_k([[0.9, 0.7, 0.4]], ["a"], 2, y_objects=["a", "b", "a"])
    0.5
    >>> precision_at_k([[0.9, 0.7, 0.7]], ["a"], 2, y_objects=["a", "b", "a"])
    0.75
    """
    scores, labels, n_objects = _checked(scores, y, y_objects)
    _check_places("k", k, n_objects)
    return mean(measured(scores, labels, precision, k, y_objects is None))


def recall_at_k(scores: ArrayLike, y: ArrayLike, k: int, y_objects: ArrayLike | None = None) -> float:
    """Share of the relevant objects that are among the first k, in the mean over queries that have any.

    Parameters
    ----------
    scores, y, k, y_objects
        As for :func:`precision_at_k`.

    Examples
    --------
    >>> recall_at_k([[0.9, 0.7, 0.4]], ["a"], 2, y_objects=["a", "b", "a"])
    0.5
    """
    scores, labels, n_objects = _checked(scores, y, y_objects)
    _check_places("k", k, n_objects)
    return mean(measured(scores, labels, recall, k, y_objects is None))


def _checked(scores: Any, y: Any, y_objects: Any) -> tuple[NDArray[Any], tuple[Numbers, Numbers], int]:
    """Return scores as an array, labels of queries and objects as numbers, and how many objects are ranked."""
    scores = as_scores(scores)
    if scores.ndim != 2:
        raise ValueError(f"scores must be a table with one row a query; got shape {scores.shape}")
    if y_objects is None and scores.shape[0] != scores.shape[1]:
        raise ValueError(
            f"scores have shape {scores.shape}: without y_objects the queries are the objects, and scores must be "
            "square"
        )
    of_queries = np.asarray(y)
    of_objects = of_queries if y_objects is None else np.asarray(y_objects)
    wanted = (("y", of_queries, "a query", 0), ("y_objects", of_objects, "an object", 1))
    for name, given, one, axis in wanted:
        if given.shape != (scores.shape[axis],):
            raise ValueError(
                f"{name} must have one label {one}: scores have shape {scores.shape}, "
                f"{name} has shape {given.shape}"
            )
    return scores, label_numbers(of_queries, of_objects), scores.shape[1] - (y_objects is None)


def _check_places(name: str, k: Any, n_objects: int | None) -> None:
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not whole or k < 1 or (n_objects is not None and k > n_objects):
        wanted = (
            "a positive whole number"
            if n_objects is None
            else f"a whole number from 1 to {n_objects}, the objects ranked"
        )
        raise ValueError(f"{name} must be {wanted}; got {k!r}")
