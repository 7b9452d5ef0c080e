"""Retrieval metrics of a similarity: objects with the query's label should be ranked first.

Precision and recall at k, and average precision; :mod:`~nearer.metrics.ranks` describes how ties are counted.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.metrics import ranks
from nearer.metrics.ranks import Floats, Metric, mean_over_queries
from nearer.parameters import check_count, is_count


def average_precisions(
    scores: ArrayLike, y: ArrayLike, y_objects: ArrayLike | None = None, cutoff: int | None = None
) -> Floats:
    """Return the average precision of each query: 1 if all relevant objects come first.

    Parameters
    ----------
    scores : array-like, shape (n_queries, n_objects)
        Similarity of query and object: larger is more similar.
    y : array-like, shape (n_queries,)
        Labels of the queries. An object is relevant to a query if it has the same label.
    y_objects : array-like, shape (n_objects,), optional
        Labels of the objects. By default the objects are the queries: scores must be square, and each query is
        left out of its own ranking.
    cutoff : int, optional
        Number of ranks that count; by default all.

    Returns
    -------
    array, shape (n_queries,)
        NaN if no object is relevant.

    Notes
    -----
    It is the mean, over the relevant objects, of the precision at their rank. Objects of equal score have the
    precision at the end of their group. That is scikit-learn's ``average_precision_score``.

    With a cutoff K the sum runs over the relevant objects among the first K ranks and is divided by K or by the
    number of relevant objects, whichever is smaller. Of a group that is cut at K, the expected number of relevant
    objects within the first K counts, with the expected precision at rank K.

    Examples
    --------
    >>> average_precisions([[0.9, 0.7, 0.4], [0.9, 0.7, 0.7]], ["a", "b"], ["a", "b", "a"])
    array([0.83333333, 0.33333333])
    """
    if cutoff is not None and not is_count(cutoff):
        raise ValueError(f"cutoff must be a positive whole number; got {cutoff!r}")
    return _evaluate(scores, y, y_objects, ranks.average_precision, cutoff)


def mean_average_precision(
    scores: ArrayLike, y: ArrayLike, y_objects: ArrayLike | None = None, cutoff: int | None = None
) -> float:
    """Return the mean average precision (mAP) over the queries for which anything is relevant.

    Parameters
    ----------
    scores, y, y_objects, cutoff
        As for :func:`average_precisions`, which also describes ties.

    Examples
    --------
    >>> mean_average_precision([[0.0, 0.9, 0.4], [0.9, 0.0, 0.7], [0.4, 0.7, 0.0]], y=[0, 1, 0])
    0.5
    """
    return mean_over_queries(average_precisions(scores, y, y_objects, cutoff))


def precision_at_k(scores: ArrayLike, y: ArrayLike, k: int, y_objects: ArrayLike | None = None) -> float:
    """Return the mean fraction of relevant objects among the first k, over queries with relevant objects.

    Parameters
    ----------
    scores, y
        As for :func:`average_precisions`.
    k : int
        Ranks that count, at most the number of objects. Of objects of equal score at rank k, the expectation over
        their orders counts.
    y_objects
        As for :func:`average_precisions`.

    Examples
    --------
    >>> precision_at_k([[0.9, 0.7, 0.4]], ["a"], 2, y_objects=["a", "b", "a"])
    0.5
    >>> precision_at_k([[0.9, 0.7, 0.7]], ["a"], 2, y_objects=["a", "b", "a"])
    0.75
    """
    return mean_over_queries(_evaluate(scores, y, y_objects, ranks.precision, k, check_k=True))


def recall_at_k(scores: ArrayLike, y: ArrayLike, k: int, y_objects: ArrayLike | None = None) -> float:
    """Return the mean fraction of the relevant objects that are among the first k, over queries with any.

    Parameters
    ----------
    scores, y, k, y_objects
        As for :func:`precision_at_k`.

    Examples
    --------
    >>> recall_at_k([[0.9, 0.7, 0.4]], ["a"], 2, y_objects=["a", "b", "a"])
    0.5
    """
    return mean_over_queries(_evaluate(scores, y, y_objects, ranks.recall, k, check_k=True))


def _evaluate(scores: Any, y: Any, y_objects: Any, metric: Metric, k: int | None, check_k: bool = False) -> Floats:
    """Return a metric of each query by its first k ranks, after checking shapes and labels."""
    scores = ranks.as_scores(scores)
    if scores.ndim != 2:
        raise ValueError(f"scores must be a table with one row per query; got shape {scores.shape}")
    if y_objects is None and scores.shape[0] != scores.shape[1]:
        raise ValueError(
            f"scores have shape {scores.shape}: without y_objects the queries are the objects, and scores must be "
            "square"
        )
    of_queries = np.asarray(y)
    of_objects = of_queries if y_objects is None else np.asarray(y_objects)
    for axis, (name, labels, one) in enumerate([("y", of_queries, "query"), ("y_objects", of_objects, "object")]):
        if labels.shape != (scores.shape[axis],):
            raise ValueError(
                f"{name} must have one label per {one}: scores have shape {scores.shape}, "
                f"{name} has shape {labels.shape}"
            )
    of_queries, of_objects = ranks.encode_labels(of_queries, of_objects)
    n_ranked = scores.shape[1] - (y_objects is None)
    if check_k:
        check_count("k", k, n_ranked, ", the objects ranked")

    def relevant(block: slice) -> NDArray[np.bool_]:
        return of_queries[block, None] == of_objects

    return ranks.evaluate(scores, relevant, metric, n_ranked if k is None else k, skip_self=y_objects is None)
