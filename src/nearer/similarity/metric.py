"""How query vectors and item vectors are compared: by inner product, or by Euclidean distance.

A metric is a few functions of vectors. Another one is another entry of ``METRICS``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from nearer.similarity.triplets import row_products


class Metric(NamedTuple):
    """A way to compare vectors.

    Attributes
    ----------
    sign : float
        1 where a larger value is more similar, -1 where a smaller one is.
    index_name : str
        Its name in an index for approximate search.
    table : callable
        ``table(queries, items)`` returns the value of every query and every item.
    rows : callable
        ``rows(queries, items)`` returns the value of each query and the item in the same row.
    margins : callable
        ``margins(queries, near, far)`` is positive where the near item is more similar to the query, row by row.
    ranking : callable
        ``ranking(queries, items)`` returns vectors whose inner products rank the items of each query.
    """

    sign: float
    index_name: str
    table: Callable[[Any, Any], np.ndarray]
    rows: Callable[[Any, Any], np.ndarray]
    margins: Callable[[Any, Any, Any], np.ndarray]
    ranking: Callable[[Any, Any], tuple[Any, Any]]


def _products(queries: Any, items: Any) -> np.ndarray:
    return np.asarray((items @ queries.T).T if issparse(items) else queries @ items.T)


def _product_margins(queries: Any, near: Any, far: Any) -> np.ndarray:
    return row_products(queries, near - far)


def _as_they_are(queries: Any, items: Any) -> tuple[Any, Any]:
    return queries, items


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
    "inner product": Metric(1.0, "ip", _products, row_products, _product_margins, _as_they_are),
    "euclidean": Metric(-1.0, "l2sq", cdist, _distances, _distance_margins, _distance_ranking),
}
