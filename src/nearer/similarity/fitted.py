"""What every learned similarity of features does: compare tables of objects, judge triplets, find what is nearest.

Two kinds of model share it. A bilinear similarity is S(x, x') = xᵀMx'. A Mahalanobis distance is ‖L(x - x')‖. Both
are inner products of a query's form with an object's form: of Mᵀx with x', and of (Lx, 1) with (Lx', -½‖Lx'‖²).
Every ranking, exact or approximate, is made from these two forms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.randomness import generator
from nearer.comparisons.rows import blocks
from nearer.similarity.given import features, triplet_rows
from nearer.similarity.nearest import AT, SAMPLE, SearchIndex, best, check_k, without_self
from nearer.similarity.triplets import ENTRIES, row_products


class ComparesFeatures:
    """The methods of a fitted model that has the two forms below."""

    _takes_sparse = False

    def _forms(self, asking: Any, objects: Any) -> tuple[np.ndarray, Any]:
        """Return a vector for each row that asks and one for each object: inner products rank the objects."""
        raise NotImplementedError

    def _indexed(self, table: Any) -> tuple[Any, str]:
        """Return the vectors that an index holds, and how it compares them."""
        return table, "ip"

    def _asked_of_index(self, table: Any) -> np.ndarray:
        """Return the vectors that an index is asked with."""
        return self._forms(table, table)[0]

    def _pair_values(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarity, or distance, of each row of A and the same row of B."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self._takes_sparse
        tags.target_tags.required = True  # or comparisons
        return tags

    def _table(self, X: Any) -> Any:
        check_is_fitted(self)
        return features(self, X, sparse=self._takes_sparse)

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return how alike the two of each pair are: larger is more alike.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs; sparse features as a tuple of two tables.

        Returns
        -------
        array of shape (n,)
        """
        raise NotImplementedError

    def _both(self, pairs: Any) -> tuple[Any, Any]:
        if not (isinstance(pairs, tuple) and len(pairs) == 2):
            pairs = np.asarray(pairs)
            if pairs.ndim != 3 or pairs.shape[1] != 2:
                raise ValueError(
                    f"pairs must have shape (n, 2, features), or be a tuple of two tables; got shape {pairs.shape}"
                )
            pairs = pairs[:, 0], pairs[:, 1]
        first, second = (self._table(part) for part in pairs)
        if first.shape[0] != second.shape[0]:
            raise ValueError(f"pairs are of {first.shape[0]} and {second.shape[0]} rows: as many are wanted")
        return first, second

    def _margins(self, X: Any, comparisons: Any) -> tuple[np.ndarray, Any]:
        """Return how far the model puts b before c in each row (a, b, c), and the comparisons."""
        check_is_fitted(self)
        given = triplet_rows(X, comparisons)
        table = self._table(X)
        margins = np.empty(len(given))
        asking, found = self._forms(table, table)
        for block in blocks(len(given), max(1, ENTRIES // max(1, found.shape[1]))):
            a, b, c = given.rows[block].T
            margins[block] = row_products(asking[a], found[b] - found[c])
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
        The search is exact, block by block: the table of all similarities is never in memory.
        """
        check_is_fitted(self)
        if isinstance(X, SearchIndex):
            if queries is None:
                raise ValueError("an index answers queries: give their features")
            asking = self._table(queries)
            numbers = X.nearest(self._asked_of_index(asking), k)
            return numbers, self._found_values(asking, X.table, numbers)
        table = self._table(X)
        if queries is None:
            check_k(k, table.shape[0] - 1)
            asking = table
            numbers = without_self(best(*self._forms(table, table), k + 1))
        else:
            check_k(k, table.shape[0])
            asking = self._table(queries)
            numbers = best(*self._forms(asking, table), k)
        return numbers, self._found_values(asking, table, numbers)

    def _found_values(self, asking: Any, table: Any, numbers: np.ndarray) -> np.ndarray:
        """Return the values of what was found, computed pair by pair."""
        values = np.empty(numbers.shape)
        for place in range(numbers.shape[1]):
            for block in blocks(len(numbers), max(1, ENTRIES // max(1, table.shape[1]))):
                values[block, place] = self._pair_values(asking[block], table[numbers[block, place]])
        return values

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
        made = SearchIndex(table, *self._indexed(table))
        sample = table[generator(random_state).permutation(len(table))[:SAMPLE]]
        k = min(AT, len(table))
        true, found = (self.neighbors(sample, among, k)[0] for among in (table, made))
        made.recall_ = float(np.mean([np.isin(t, f).mean() for t, f in zip(true, found, strict=True)]))
        return made


class Mahalanobis(ComparesFeatures, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of a model that is a projection: ``components_``, L of shape (m, d)."""

    components_: np.ndarray

    @property
    def mahalanobis_matrix_(self) -> np.ndarray:
        """The matrix M = LᵀL of the distance √((x - x')ᵀM(x - x'))."""
        check_is_fitted(self, "components_")
        return self.components_.T @ self.components_

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return ``mahalanobis_matrix_``."""
        return self.mahalanobis_matrix_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _forms(self, asking: Any, objects: Any) -> tuple[np.ndarray, Any]:
        points = self._points(objects)
        middle = points.mean(axis=0)  # squares of small numbers lose fewer digits
        points, from_here = points - middle, self._points(asking) - middle
        queries = np.column_stack([from_here, np.ones(len(from_here))])
        return queries, np.column_stack([points, -0.5 * row_products(points, points)])

    def _indexed(self, table: Any) -> tuple[Any, str]:
        return self._points(table), "l2sq"

    def _asked_of_index(self, table: Any) -> np.ndarray:
        return self._points(table)

    def _points(self, table: Any) -> np.ndarray:
        return np.asarray(table @ self.components_.T)

    def _pair_values(self, A: Any, B: Any) -> np.ndarray:
        return np.linalg.norm(self._points(A) - self._points(B), axis=1)

    def transform(self, X: Any) -> np.ndarray:
        """Return points whose plain Euclidean distances are the learned ones.

        Parameters
        ----------
        X : table of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, n_components)
        """
        return self._points(self._table(X))

    def distance(self, A: Any, B: Any) -> np.ndarray:
        """Return the learned distance of every row of A and every row of B.

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features.

        Returns
        -------
        array of shape (n, m)
        """
        return cdist(self.transform(A), self.transform(B))

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Return the learned distance of the two of each pair.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs.

        Returns
        -------
        array of shape (n,)
        """
        return self._pair_values(*self._both(pairs))

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return minus the distance of the two of each pair: larger is more alike.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs.

        Returns
        -------
        array of shape (n,)
        """
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """Return the distance as a function of two vectors, as scikit-learn's ``metric=`` takes it.

        Returns
        -------
        callable
            ``metric(u, v, squared=False)``.
        """
        check_is_fitted(self, "components_")
        components = self.components_.copy()

        def metric(u: Any, v: Any, squared: bool = False) -> float:
            moved = components @ (np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64))
            square = float(moved @ moved)
            return square if squared else float(np.sqrt(square))

        return metric


def set_components(model: Any, components: np.ndarray) -> None:
    """Give a model its projection, each row with its largest entry positive, so that it is the same everywhere."""
    largest = components[np.arange(len(components)), np.argmax(np.abs(components), axis=1)]
    model.components_ = components * np.where(largest < 0, -1.0, 1.0)[:, None]
