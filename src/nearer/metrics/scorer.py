"""A scorer for scikit-learn's searches and cross-validation: does a learned similarity retrieve the right objects?

It asks of a model no more than ``similarity``, ``distance`` or ``transform``; a pipeline is known by ``steps``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from nearer.comparisons.rows import blocks
from nearer.metrics.ranks import as_scores, averaged, label_numbers, mean, measured

NARROW = 64  # columns up to which distances pair by pair are as quick as products
BLOCK = 1 << 21  # scores asked for together: a model may have work to do for all objects each time


def retrieval_map_scorer(estimator: Any, X: Any, y: Any) -> float:
    """Mean average precision of each row of X as a query against the other rows.

    Goes wherever scikit-learn takes ``scoring``, as in ``cross_val_score(model, X, y,
    scoring=retrieval_map_scorer)``.

    Parameters
    ----------
    estimator : fitted estimator
        With ``similarity(A, B)`` (larger is more alike), else ``distance(A, B)``, else ``transform(X)``, after
        which objects are the more alike the smaller their Euclidean distance. Of a pipeline that is asked of the
        last step, after the others have transformed X.
    X : array, CSR matrix or DataFrame, shape (n_objects, n_features)
        Scores are asked for some queries at a time; there is never a table of all objects by all.
    y : array-like, shape (n_objects,)
        Labels: an object is relevant to a query when it has the same.

    Returns
    -------
    float
        As :func:`nearer.metrics.mean_average_precision` counts it.

    Examples
    --------
    >>> class Nearness:
    ...     def distance(self, A, B):
    ...         return abs(A - B.T)
    >>> retrieval_map_scorer(Nearness(), np.array([[0.0], [1.0], [5.0], [7.0]]), ["a", "a", "b", "b"])
    1.0
    """
    estimator, X = _last_step(estimator, X)
    X = X if hasattr(X, "iloc") else X.tocsr() if issparse(X) else np.asarray(X)
    n, labels = X.shape[0], np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label a row of X: X has shape {X.shape}, y has shape {labels.shape}")
    numbers, _ = label_numbers(labels, labels)
    scores_of, found = _scores_of(estimator, X), np.empty(n)
    for block in blocks(n, max(1, BLOCK // max(1, n))):
        scores = as_scores(scores_of(block))
        n_queries = block.stop - block.start
        if scores.shape != (n_queries, n):
            name = type(estimator).__name__
            raise ValueError(f"{name} gave scores of shape {scores.shape} for {n_queries} queries and {n} objects")
        found[block] = measured(scores, (numbers[block], numbers), averaged, n, itself=True, first=block.start)
    return mean(found)


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the model at the end of a pipeline, or that a search found best, and X as it gets there."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            if len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator.steps[-1][1]
        else:
            return estimator, X


def _scores_of(estimator: Any, X: Any) -> Callable[[slice], Any]:
    """Return a function from some rows of X, the queries, to their scores with all rows."""
    rows = X.iloc if hasattr(X, "iloc") else X
    if hasattr(estimator, "similarity"):
        return lambda queries: _dense(estimator.similarity(rows[queries], X))
    if hasattr(estimator, "distance"):
        return lambda queries: -_dense(estimator.distance(rows[queries], X))
    if hasattr(estimator, "transform"):
        return _by_distance(estimator.transform(X))
    if isinstance(estimator, str) and estimator == "passthrough":
        return _by_distance(X)
    raise TypeError(
        "a model with similarity(A, B), distance(A, B) or transform(X) is wanted; "
        f"{type(estimator).__name__} has none of them"
    )


def _by_distance(points: Any) -> Callable[[slice], NDArray[Any]]:
    """Minus squared distances; of sparse or wide points but for a query's own square, which alters no ranking."""
    if issparse(points):
        points = points.tocsr()
        squares = np.asarray(points.multiply(points).sum(axis=1)).ravel()
    else:
        points = np.asarray(points, dtype=np.float64)
        if points.shape[1] <= NARROW:
            return lambda queries: -cdist(points[queries], points, "sqeuclidean")
        points = points - points.mean(axis=0)  # small numbers: the difference below cancels less
        squares = np.einsum("nd,nd->n", points, points)
    return lambda queries: 2.0 * _dense(points[queries] @ points.T) - squares


def _dense(table: Any) -> NDArray[Any]:
    return table.toarray() if issparse(table) else np.asarray(table)
