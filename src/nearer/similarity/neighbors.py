"""Nearest neighbors among many objects: exactly and block by block, or quickly through an index that misses some.

Query vectors and item vectors are compared by a metric, which is a few functions of vectors. The exact search ranks
by inner products whatever the metric. An index uses the metric itself: reducing inner products to Euclidean
distances costs recall, and writing distances as inner products costs nearly all of it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from nearer.comparisons.rows import blocks
from nearer.metrics.ranks import largest_columns
from nearer.parameters import check_count
from nearer.similarity.triplets import ENTRIES, row_products

# Twice the defaults of usearch: recall before speed.
GRAPH = {"connectivity": 32, "expansion_add": 256, "expansion_search": 128}
SPARE = 8  # candidates beyond k
N_SAMPLED, N_NEAREST = 200, 10  # queries and neighbors that recall is measured with


class Metric(NamedTuple):
    """A way to compare vectors: a sign, a name and functions of queries and items."""

    sign: float  # 1 if a larger value is more similar, -1 if a smaller one is
    index_name: str  # in an index for approximate search
    table: Callable[[Any, Any], np.ndarray]  # the value of every query and every item
    rows: Callable[[Any, Any], np.ndarray]  # the value of each query and the item in the same row
    margins: Callable[[Any, Any, Any], np.ndarray]  # of queries, near and far: above 0 if near is more similar
    ranking: Callable[[Any, Any], tuple[Any, Any]]  # vectors whose inner products rank the items


def _products(queries: Any, items: Any) -> np.ndarray:
    products = (items @ queries.T).T if issparse(items) else queries @ items.T
    return products.toarray() if issparse(products) else np.asarray(products)


def _distances(queries: Any, items: Any) -> np.ndarray:
    return np.linalg.norm(queries - items, axis=1)


def _distance_margins(queries: Any, near: Any, far: Any) -> np.ndarray:
    near, far = queries - near, queries - far
    return row_products(far, far) - row_products(near, near)


def _distance_ranking(queries: Any, items: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors with the products q·x - |x|²/2."""
    middle = items.mean(axis=0)  # squares of small numbers lose fewer digits
    queries, items = queries - middle, items - middle
    queries = np.column_stack([queries, np.ones(len(queries))])
    return queries, np.column_stack([items, -0.5 * row_products(items, items)])


METRICS = {
    "inner product": Metric(
        1.0, "ip", _products, row_products, lambda q, near, far: row_products(q, near - far), lambda q, x: (q, x)
    ),
    "euclidean": Metric(-1.0, "l2sq", cdist, _distances, _distance_margins, _distance_ranking),
}


def largest_products(queries: Any, items: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest inner products of each query with the items, to rounding, and their row numbers."""
    n_queries = queries.shape[0]
    products, indices = np.empty((n_queries, k)), np.empty((n_queries, k), dtype=np.intp)
    for rows in blocks(n_queries, 512):
        n = rows.stop - rows.start
        best, best_indices = np.empty((n, 0)), np.empty((n, 0), dtype=np.intp)
        for part in blocks(items.shape[0], max(k, ENTRIES // 512)):
            scores = _products(queries[rows], items[part])
            places = largest_columns(scores, min(k, scores.shape[1]))
            best = np.hstack([best, np.take_along_axis(scores, places, axis=1)])
            best_indices = np.hstack([best_indices, places + part.start])
            places = largest_columns(best, min(k, best.shape[1]))
            best, best_indices = (np.take_along_axis(table, places, axis=1) for table in (best, best_indices))
        products[rows], indices[rows] = best, best_indices
    return products, indices


def search(metric: Metric, queries: Any, items: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of the k most similar items of each query, and their row numbers, of equal ones the first.

    Inner products find more candidates than k. Where rounding could have excluded another item, and only there,
    all items are compared that might be as good as the last.
    """
    left, right = metric.ranking(queries, items)
    n = right.shape[0]
    wide = min(n, k + SPARE)
    products, indices = largest_products(left, right, wide)
    values, indices = sort_by_value(metric, queries, items, indices)
    values, indices = values[:, :k].copy(), indices[:, :k].copy()
    if wide < n:
        reach = np.sqrt(row_products(left, left) * row_products(right, right).max())
        doubt = 8.0 * (right.shape[1] + 2) * np.finfo(np.float64).eps * reach
        for row in np.flatnonzero(products[:, -1] >= products[:, k - 1] - doubt):
            able = np.flatnonzero(_products(left[row : row + 1], right)[0] >= products[row, k - 1] - doubt[row])
            better, which = sort_by_value(metric, queries[row : row + 1], items, able[None])
            values[row], indices[row] = better[0, :k], which[0, :k]
    return values, indices


def sort_by_value(metric: Metric, queries: Any, items: Any, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the value of each query and each of its items (a row of ``indices``), the most similar first."""
    indices = np.sort(indices, axis=1)
    flat_values = np.empty(indices.size)
    flat, rows = indices.ravel(), np.repeat(np.arange(indices.shape[0]), indices.shape[1])
    for block in blocks(indices.size, max(1, ENTRIES // max(1, items.shape[1]))):
        flat_values[block] = metric.rows(queries[rows[block]], items[flat[block]])
    values = flat_values.reshape(indices.shape)
    order = np.argsort(-metric.sign * values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(indices, order, axis=1)


def without_self(values: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop from each row the number of the row itself, or the last entry where that is not among them."""
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = len(indices), indices.shape[1] - 1
    return values[~own].reshape(shape), indices[~own].reshape(shape)


class SearchIndex:
    """An index of objects for approximate search; made by the method ``index`` of a similarity.

    Parameters
    ----------
    vectors : array of shape (n, e)
        The item vectors.
    metric : Metric
        How queries are compared with them.
    basis : array
        The matrix of the model; the index is of use to this model only.

    Attributes
    ----------
    recall_ : float
        Share of the ten nearest objects that the index finds, measured with up to 200 of its objects as queries.
    """

    recall_: float

    def __init__(self, vectors: Any, metric: Metric, basis: np.ndarray) -> None:
        if issparse(vectors):
            raise ValueError("an approximate search needs dense features; neighbors(queries, X) takes sparse ones")
        try:
            from usearch.index import Index
        except ImportError:
            raise ImportError('an approximate search needs usearch: pip install "nearer[search]"') from None
        self.vectors, self.metric, self.basis = np.array(vectors), metric, basis
        # Single precision is for small numbers, and distances do not change with the origin.
        self._origin = vectors.mean(axis=0) if metric.index_name == "l2sq" else 0.0
        self._index = Index(ndim=vectors.shape[1], metric=metric.index_name, dtype="f32", **GRAPH)  # type: ignore[arg-type]
        self._index.add(np.arange(len(vectors)), (self.vectors - self._origin).astype(np.float32))

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} objects, recall at {min(N_NEAREST, len(self))}: {self.recall_:.3f})"

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return values and row numbers of about the k most similar objects of each query vector.

        Parameters
        ----------
        queries : array of shape (m, e)
            Query vectors.
        k : int
            Number of neighbors. Where the index finds fewer, the search is exact.

        Returns
        -------
        values : array of shape (m, k)
            As :func:`search` returns them.
        indices : array of shape (m, k)
            Row numbers.
        """
        check_count("k", k, len(self), ", the objects to search")
        matches = self._index.search((queries - self._origin).astype(np.float32), k)
        keys = np.asarray(matches.keys, dtype=np.intp).reshape(len(queries), -1)  # of a single query they are flat
        counts = np.asarray(getattr(matches, "counts", keys.shape[1])).reshape(-1, 1)
        indices = np.where(np.arange(k) < counts, np.pad(keys, ((0, 0), (0, k - keys.shape[1]))), -1)
        short = (indices < 0).any(axis=1)
        if short.any():
            indices[short] = search(self.metric, queries[short], self.vectors, k)[1]
        return sort_by_value(self.metric, queries, self.vectors, indices)

    def measure_recall(self, queries: np.ndarray) -> None:
        """Set ``recall_`` by comparing the search with an exact one."""
        k = min(N_NEAREST, len(self))
        exact = self.metric.sign * search(self.metric, queries, self.vectors, k)[0]
        approximate = self.metric.sign * self.search(queries, k)[0]
        worst = exact[:, -1:]  # any object as good as the last is one of the nearest
        self.recall_ = float(np.mean(approximate >= worst - 1e-9 * np.abs(worst)))
