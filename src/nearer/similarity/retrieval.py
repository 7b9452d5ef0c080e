"""What every learned similarity of features does: compare tables of objects, judge triplets, find what is nearest.

Two kinds of model share it. A bilinear similarity is S(x, x') = xᵀMx', a Mahalanobis distance ‖L(x - x')‖. Both
turn the rows of a table into vectors, those that ask and those that are found (Mᵀx and x', or Lx and Lx'), and
compare one with the other. A search ranks by inner products; what it finds is then compared pair by pair.
"""

import warnings
from typing import Any

import numpy as np

from nearer.comparisons.random_state import as_generator
from nearer.comparisons.rows import blocks
from nearer.features.validation import validate_features
from nearer.similarity.inputs import match_triplets
from nearer.similarity.search import AT, SAMPLE, SearchIndex, check_k, settled, without_self
from nearer.similarity.triplets import ENTRIES


class ComparesFeatures:
    """The methods of a fitted model that has the six below."""

    _takes_sparse = False
    _alike = 1.0  # the sign of a value that grows with likeness
    _index_metric = "ip"  # how an index compares vectors

    @property
    def _basis(self) -> np.ndarray:
        """The matrix that all of this is made from; NotFittedError before there is one."""
        raise NotImplementedError

    def _asking(self, table: Any) -> np.ndarray:
        """Return a vector for each row, as one that asks."""
        raise NotImplementedError

    def _found(self, table: Any) -> Any:
        """Return a vector for each row, as one that is found."""
        raise NotImplementedError

    def _value(self, asking: Any, found: Any) -> np.ndarray:
        """Return the similarity, or distance, of each vector that asks and the found one in the same row."""
        raise NotImplementedError

    def _margin(self, asking: Any, near: Any, far: Any) -> np.ndarray:
        """Return how far the near vectors come before the far ones, row by row."""
        raise NotImplementedError

    def _ranking(self, asking: np.ndarray, found: Any) -> tuple[np.ndarray, Any]:
        """Return vectors whose inner products rank what is found."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self._takes_sparse
        tags.target_tags.required = True  # or comparisons
        return tags

    def _table(self, X: Any) -> Any:
        _ = self._basis
        return validate_features(self, X, sparse=self._takes_sparse)

    def _pair_values(self, pairs: Any) -> np.ndarray:
        """Return the similarity, or distance, of the two of each pair."""
        if not (isinstance(pairs, tuple) and len(pairs) == 2):
            pairs = np.asarray(pairs)
            if pairs.ndim != 3 or pairs.shape[1] != 2:
                raise ValueError(
                    f"pairs must have shape (n, 2, features), or be a tuple of two tables; got shape {pairs.shape}"
                )
            pairs = pairs[:, 0], pairs[:, 1]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # pairs cannot have any
            first, second = (self._table(part) for part in pairs)
        if first.shape[0] != second.shape[0]:
            raise ValueError(f"pairs are of {first.shape[0]} and {second.shape[0]} rows: as many are wanted")
        return self._value(self._asking(first), self._found(second))

    def _margins(self, X: Any, comparisons: Any) -> tuple[np.ndarray, Any]:
        """Return how far the model puts b before c in each row (a, b, c), and the comparisons."""
        table = self._table(X)
        given = match_triplets(X, comparisons)
        asking, found = self._asking(table), self._found(table)
        margins = np.empty(len(given))
        for block in blocks(len(given), max(1, ENTRIES // max(1, table.shape[1]))):
            a, b, c = given.rows[block].T
            margins[block] = self._margin(asking[a], found[b], found[c])
        return margins, given

    def predict_comparisons(self, X: Any, comparisons: Any) -> np.ndarray:
        """Return for each row (a, b, c) 1 where a is more like b than like c, else -1.

        Parameters
        ----------
        X : table of shape (n, d)
            Features of the objects.
        comparisons : Comparisons, array of shape (m, 3) or DataFrame
            Rows (a, b, c) of row numbers of X.

        Returns
        -------
        array of 1 and -1
        """
        margins, _ = self._margins(X, comparisons)
        return np.where(margins > 0.0, 1, -1)

    def score_comparisons(self, X: Any, comparisons: Any) -> float:
        """Return the share of comparisons, by weight, that the model satisfies; a tie does not count.

        Parameters
        ----------
        X, comparisons
            As for :meth:`predict_comparisons`.

        Returns
        -------
        float
        """
        margins, given = self._margins(X, comparisons)
        if len(given) == 0 or (given.weights is not None and not given.weights.any()):
            raise ValueError("there is nothing to score: no comparisons, or all weights are zero")
        return float(np.average(margins > 0.0, weights=given.weights))

    def neighbors(self, queries: Any, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects that are most like each query, best first.

        Parameters
        ----------
        queries : table of shape (m, d), or None
            Features of what is looked for; None takes every row of X and leaves it out of its own answer.
        X : table of shape (n, d), or SearchIndex
            Features of the objects to look among, or an index of them (:meth:`index`) for an approximate search.
        k : int, default=5
            How many to return for each.

        Returns
        -------
        numbers : array of shape (m, k)
            Row numbers of X; of equal ones the first.
        values : array of shape (m, k)
            Their similarities, or their distances where the model is one.

        Notes
        -----
        The search is exact, to the rounding of a single value, and goes block by block: the table of all
        similarities is never in memory.
        """
        if isinstance(X, SearchIndex):
            if queries is None:
                raise ValueError("an index answers queries: give their features")
            return self._found_by(X, self._asking(self._table(queries)), k)
        table = self._table(X)
        if queries is None:
            check_k(k, table.shape[0] - 1)
            return without_self(*self._nearest(self._asking(table), self._found(table), k + 1))
        check_k(k, table.shape[0])
        return self._nearest(self._asking(self._table(queries)), self._found(table), k)

    def _nearest(self, asking: np.ndarray, found: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest by an exact search, and their values."""

        def worth(queries: slice, numbers: np.ndarray) -> np.ndarray:
            return self._alike * self._values(asking[queries], found, numbers)

        numbers, values = settled(*self._ranking(asking, found), k, worth)
        return numbers, self._alike * values

    def _found_by(self, index: SearchIndex, asking: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return about the nearest; where the index finds fewer than k, exactly the nearest."""
        if index.metric != self._index_metric or not np.array_equal(index.basis, self._basis):
            raise ValueError("this index was made by another model, or before this one learned on: make it anew")
        numbers = index.nearest(asking, k)
        short = (numbers < 0).any(axis=1)
        if short.any():
            numbers[short] = self._nearest(asking[short], index.vectors, k)[0]
        numbers.sort(axis=1)
        values = self._values(asking, index.vectors, numbers)
        order = np.argsort(-self._alike * values, axis=1, kind="stable")
        return np.take_along_axis(numbers, order, axis=1), np.take_along_axis(values, order, axis=1)

    def _values(self, asking: np.ndarray, found: Any, numbers: np.ndarray) -> np.ndarray:
        """Return the value of each vector that asks and the objects numbered for it, pair by pair."""
        values = np.empty(numbers.size)
        flat, rows = numbers.ravel(), np.repeat(np.arange(numbers.shape[0]), numbers.shape[1])
        for block in blocks(numbers.size, max(1, ENTRIES // max(1, found.shape[1]))):
            values[block] = self._value(asking[rows[block]], found[flat[block]])
        return values.reshape(numbers.shape)

    def index(self, X: Any, *, random_state: Any = 0) -> SearchIndex:
        """Return an index of objects for an approximate search among very many.

        Parameters
        ----------
        X : table of shape (n, d)
            Features of the objects, dense.
        random_state : int, Generator, RandomState or None, default=0
            Draws the objects that ``recall_`` is measured with.

        Returns
        -------
        SearchIndex
            For :meth:`neighbors`, in place of X. Its ``recall_`` says which share of the true ten nearest it
            finds. Needs the package usearch (``pip install "nearer[search]"``).
        """
        table = self._table(X)
        made = SearchIndex(self._found(table), self._index_metric, self._basis)
        sample = self._asking(table[as_generator(random_state).permutation(len(made))[:SAMPLE]])
        k = min(AT, len(made))
        true = self._alike * self._nearest(sample, made.vectors, k)[1]
        found = self._alike * self._found_by(made, sample, k)[1]
        worst = true[:, -1:]  # an object as good as the last is one of the nearest, whichever of them it is
        made.recall_ = float(np.mean(found >= worst - 1e-9 * np.abs(worst)))
        return made
