"""A scorer for scikit-learn's searches and cross-validation: mean average precision of a learned similarity.

A model needs ``similarity``, ``distance`` or ``transform``; a pipeline is recognized by ``steps``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from nearer.comparisons.rows import blocks
from nearer.metrics.ranks import as_scores, average_precision, encode_labels, evaluate, mean_over_queries

NARROW = 64  # columns up to which pairwise distances are as fast as products
BLOCK = 1 << 21  # scores per call of the model, which may process all objects each time


def retrieval_map_scorer(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the mean average precision of each row of X as a query against the other rows.

    Similarities of this library have it as ``score``. Use it as ``scoring`` for other models, as in
    ``cross_val_score(PCA(2), X, y, scoring=retrieval_map_scorer)``.

    Parameters
    ----------
    estimator : fitted estimator
        With ``similarity(A, B)`` (larger is more similar), else ``distance(A, B)``, else ``transform(X)``, whose
        rows are compared by Euclidean distance. Of a pipeline the last step is used, and the others transform X.
    X : array, CSR matrix or DataFrame, shape (n_objects, n_features)
        Scores are computed for blocks of queries; the table of all objects by all objects is never held.
    y : array-like, shape (n_objects,)
        Labels: an object is relevant to a query if it has the same.
    sample_weight : array-like, shape (n_objects,), optional
        Weights of the queries.

    Returns
    -------
    float
        As defined by :func:`nearer.metrics.mean_average_precision`.

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
        raise ValueError(f"y must have one label per row of X: X has shape {X.shape}, y has shape {labels.shape}")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights is not None and weights.shape != (n,):
        raise ValueError(f"sample_weight must have one number per row of X, {n}; got shape {weights.shape}")
    codes, _ = encode_labels(labels, labels)
    scores_of, values = _scores_of(estimator, X), np.empty(n)
    for block in blocks(n, max(1, BLOCK // max(1, n))):
        scores = as_scores(scores_of(block))
        queries = codes[block]
        if scores.shape != (len(queries), n):
            expected = f"for {len(queries)} queries and {n} objects"
            raise ValueError(f"{type(estimator).__name__} returned scores of shape {scores.shape} {expected}")

        def relevant(part: slice, queries: Any = queries) -> NDArray[np.bool_]:
            return queries[part, None] == codes

        values[block] = evaluate(scores, relevant, average_precision, n, skip_self=True, first=block.start)
    if weights is None:
        return mean_over_queries(values)
    counted = ~np.isnan(values)
    return float(np.average(values[counted], weights=weights[counted]))


def _last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline, or the best estimator of a search, and X transformed for it."""
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
    """Return a function from a block of rows of X, the queries, to their scores with all rows."""
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
        "the model must have similarity(A, B), distance(A, B) or transform(X); "
        f"{type(estimator).__name__} has none of them"
    )


def _by_distance(points: Any) -> Callable[[slice], NDArray[Any]]:
    """Return minus squared distances, up to a constant per query for sparse or wide points."""
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
