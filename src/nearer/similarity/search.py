"""What is nearest among many: exactly by blocks, or through an index that is quicker and may miss some.

The exact search ranks by inner product whatever the model. An index is of the model's own kind: inner products for
a bilinear similarity, as reducing them to Euclidean distances costs recall; and distances for a distance, as
writing them as inner products costs nearly all of it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from nearer.comparisons.rows import blocks
from nearer.parameters import is_count
from nearer.similarity.triplets import ENTRIES, row_products

GRAPH = {
    "connectivity": 32,
    "expansion_add": 256,
    "expansion_search": 128,
}  # twice usearch's own: recall before speed
SPARE = 8  # candidates beyond those wanted
SAMPLE, AT = 200, 10  # recall is measured with so many objects as queries, at so many nearest


def check_k(k: Any, most: int) -> None:
    """Raise a ValueError for a number of neighbours that cannot be."""
    if not is_count(k) or k > most:
        raise ValueError(f"k must be a whole number from 1 to {most}, the objects to look among; got {k!r}")


def best(asking: np.ndarray, objects: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each query the k objects of largest inner product, best first, and the products, to rounding.

    Parameters
    ----------
    asking : array of shape (m, d)
        Query forms.
    objects : array or csr_array of shape (n, d)
        Object forms.
    k : int
        How many, n at most.

    Returns
    -------
    numbers : array of shape (m, k)
        Row numbers of the objects.
    scores : array of shape (m, k)
        Their products.

    Examples
    --------
    >>> best(np.array([[1.0], [-1.0]]), np.array([[0.0], [2.0], [1.0]]), 2)[0]
    array([[1, 2],
           [0, 2]])
    """
    numbers, products = np.empty((len(asking), k), dtype=np.intp), np.empty((len(asking), k))
    for rows in blocks(len(asking), 512):
        held, scores = np.empty((rows.stop - rows.start, 0), dtype=np.intp), np.empty((rows.stop - rows.start, 0))
        for part in blocks(objects.shape[0], max(k, ENTRIES // 512)):
            found = objects[part] @ asking[rows].T if issparse(objects) else asking[rows] @ objects[part].T
            found = np.asarray(found.T if issparse(objects) else found)
            places = _first(found, min(k, found.shape[1]))
            held = np.hstack([held, places + part.start])
            scores = np.hstack([scores, np.take_along_axis(found, places, axis=1)])
            places = _first(scores, min(k, scores.shape[1]))
            held, scores = (np.take_along_axis(table, places, axis=1) for table in (held, scores))
        numbers[rows], products[rows] = held, scores
    return numbers, products


def settled(
    asking: np.ndarray, objects: Any, k: int, worth: Callable[[slice, np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each query the k objects that are worth most, of equal ones the first, and their worth.

    Inner products find the candidates, some more than k. Where rounding could have kept another out, and only
    there, all objects are asked that might be as good as the last.

    Parameters
    ----------
    asking, objects, k
        As for :func:`best`.
    worth : callable
        ``worth(queries, numbers)`` returns what objects are worth to a slice of the queries, pair by pair: an
        array of the shape of numbers, a row for each of the queries.

    Returns
    -------
    numbers : array of shape (m, k)
        Row numbers of the objects.
    worth : array of shape (m, k)
        What they are worth.
    """
    n = objects.shape[0]
    wide = min(n, k + SPARE)
    numbers, products = best(asking, objects, wide)
    numbers.sort(axis=1)
    values = worth(slice(None), numbers)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    numbers, values = (np.take_along_axis(table, order, axis=1) for table in (numbers, values))
    if wide < n:
        reach = np.sqrt(row_products(asking, asking) * row_products(objects, objects).max())
        doubt = 8.0 * (objects.shape[1] + 2) * np.finfo(np.float64).eps * reach
        for row in np.flatnonzero(products[:, -1] >= products[:, k - 1] - doubt):
            able = np.flatnonzero(objects @ asking[row] >= products[row, k - 1] - doubt[row])
            worths = worth(slice(row, row + 1), able[None])[0]
            order = np.argsort(-worths, kind="stable")[:k]
            numbers[row], values[row] = able[order], worths[order]
    return numbers, values


def _first(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the places of the k largest scores of each row, the largest first; of equal ones the leftmost."""
    if scores.shape[1] == k:
        return np.argsort(-scores, axis=1, kind="stable")
    places = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
    least = np.take_along_axis(scores, places, axis=1).min(axis=1)
    # Where more than k are as good as the k-th, the partition took any of them: take those to the left.
    for row in np.flatnonzero((scores >= least[:, None]).sum(axis=1) > k):
        able = np.flatnonzero(scores[row] >= least[row])
        places[row] = able[np.argsort(-scores[row, able], kind="stable")[:k]]
    places.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def without_self(numbers: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop from each row the number of the row itself, or where it is not among them the last."""
    own = numbers == np.arange(len(numbers))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = len(numbers), numbers.shape[1] - 1
    return numbers[~own].reshape(shape), values[~own].reshape(shape)


class SearchIndex:
    """Objects made ready for an approximate search; ``index`` of a similarity makes one.

    Parameters
    ----------
    vectors : array of shape (n, e)
        The objects, as the model's queries are compared with them.
    metric : {"ip", "l2sq"}
        How: by inner product, as a bilinear similarity ranks, or by Euclidean distance.
    basis : array
        The matrix of the model, which the index is of no use to any other than.

    Attributes
    ----------
    recall_ : float
        Share of the ten nearest that the index finds, measured with up to 200 of its objects as queries.
    """

    recall_: float

    def __init__(self, vectors: Any, metric: str, basis: np.ndarray) -> None:
        if issparse(vectors):
            raise ValueError("an approximate search needs dense features; neighbors(queries, X) takes sparse ones")
        try:
            from usearch.index import Index
        except ImportError:
            raise ImportError('an approximate search needs usearch: pip install "nearer[search]"') from None
        self.vectors, self.metric, self.basis = np.array(vectors), metric, basis
        # Single precision is for small numbers, and distances do not mind where the middle is.
        self._middle = vectors.mean(axis=0) if metric == "l2sq" else 0.0
        self._index = Index(ndim=vectors.shape[1], metric=metric, dtype="f32", **GRAPH)  # type: ignore[arg-type]
        self._index.add(np.arange(len(vectors)), (self.vectors - self._middle).astype(np.float32))

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"SearchIndex({len(self)} objects, recall at {min(AT, len(self))}: {self.recall_:.3f})"

    def nearest(self, asking: np.ndarray, k: int) -> np.ndarray:
        """Return about the k objects that are nearest to each vector that asks; -1 where it found fewer."""
        check_k(k, len(self))
        found = self._index.search((asking - self._middle).astype(np.float32), k)
        keys = np.asarray(found.keys, dtype=np.intp).reshape(
            len(asking), -1
        )  # of a single one they are flat, and all
        counts = np.asarray(getattr(found, "counts", keys.shape[1])).reshape(-1, 1)
        keys = np.pad(keys, ((0, 0), (0, k - keys.shape[1])))
        return np.where(np.arange(k) < counts, keys, -1)
