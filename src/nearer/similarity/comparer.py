"""What every learned similarity or distance of features does: compare objects, judge triplets, find neighbors.

A model that ranks objects has a query map and an item map, from features to vectors, and a metric that compares
the one with the other. A bilinear similarity xᵀMx' maps queries to Mᵀx, leaves items as they are and takes inner
products; a Mahalanobis distance ‖L(x - x')‖ maps both to Lx and takes Euclidean distances.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.coerce import as_comparisons
from nearer.comparisons.random_state import as_generator
from nearer.comparisons.rows import blocks
from nearer.features.validation import validate_features
from nearer.metrics import retrieval_map_scorer
from nearer.parameters import check_count
from nearer.similarity.inputs import has_label, match_comparisons
from nearer.similarity.neighbors import METRICS, N_SAMPLED, Metric, SearchIndex, search, without_self
from nearer.similarity.pairs import PairClassifier, is_pairs
from nearer.similarity.projection import Projection, if_distance, if_projection, if_similarity
from nearer.similarity.triplets import ENTRIES


class FeatureComparer(PairClassifier, Projection, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """The methods of a model with a query map, an item map and a metric.

    By default both maps are the projection ``components_``, of shape (m, d), and the metric is Euclidean. A model
    overrides what is otherwise: ``_metric``, ``_query_map``, ``_item_map``, ``_basis``, and ``_is_projection``
    where it is none.
    """

    _takes_sparse = False
    _metric = "euclidean"  # or "inner product"
    _is_projection = True
    _scales_features = False  # whether the scale of the columns does not matter
    _learned_arrays: tuple[str, ...] = ("components_", "feature_names_in_")  # first the matrix of the maps
    n_features_in_: int

    # scikit-learn would wrap methods of this class and lose their conditions, hence auto_wrap_output_keys=None.
    transform = if_projection(Projection.transform)
    fit_transform = if_projection(TransformerMixin.fit_transform)
    get_feature_names_out = if_projection(ClassNamePrefixFeaturesOutMixin.get_feature_names_out)

    @property
    def _basis(self) -> np.ndarray:
        """The matrix that the maps are made from; NotFittedError before there is one."""
        check_is_fitted(self, self._learned_arrays[0])
        return np.asarray(getattr(self, self._learned_arrays[0]))

    def _query_map(self, table: Any) -> Any:
        """Return the query vector of each row of a table."""
        return np.asarray(self._centered(table) @ self.components_.T)

    def _item_map(self, table: Any) -> Any:
        """Return the item vector of each row of a table."""
        return self._query_map(table)

    def _centered(self, table: Any) -> Any:
        """Return the table minus the mean of what the model was fitted to, and scaled, where the model does that."""
        mean, scale = getattr(self, "mean_", None), getattr(self, "scale_", None)
        if mean is None:
            return table
        centered = (table.toarray() if issparse(table) else table) - mean
        return centered if scale is None else centered / scale

    def _queries(self, table: Any) -> Any:
        """Return query vectors as they are compared: of unit length where the model says so."""
        vectors = self._query_map(table)
        return normalize(vectors) if getattr(self, "normalize_", False) else vectors

    def _items(self, table: Any) -> Any:
        """Return item vectors as they are compared."""
        vectors = self._item_map(table)
        return normalize(vectors) if getattr(self, "normalize_", False) else vectors

    @property
    def _compare(self) -> Metric:
        return METRICS[self._metric]

    def _loaded(self) -> None:
        """Raise a ValueError if the arrays that were read do not fit the number of features."""
        d = getattr(self, "n_features_in_", None)
        for name in self._learned_arrays:
            array = getattr(self, name, None)
            if name != "feature_names_in_" and array is not None and (array.ndim != 2 or array.shape[1] != d):
                raise ValueError(f"{name} of {d} features has shape {array.shape}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.target_tags.required = True  # or comparisons
        if not self._is_projection:
            tags.transformer_tags = None
        return tags

    def _table(self, X: Any) -> Any:
        _ = self._basis
        return validate_features(self, X, sparse=self._takes_sparse)

    def _all_values(self, A: Any, B: Any) -> np.ndarray:
        return self._compare.table(self._queries(self._table(A)), self._items(self._table(B)))

    @if_similarity
    def similarity(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarity of every row of A and every row of B.

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features; where the similarity is not symmetric, A are the queries.

        Returns
        -------
        array of shape (n, m)
        """
        return self._all_values(A, B)

    @if_distance
    def distance(self, A: Any, B: Any) -> np.ndarray:
        """Return the learned distance of every row of A and every row of B; tables and result as for similarity.

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features.
        """
        return self._all_values(A, B)

    def predict_comparisons(self, X: Any, comparisons: Any) -> np.ndarray:
        """Return 1 for each row (a, b, c) where a is more similar to b than to c, else -1.

        Parameters
        ----------
        X : table of shape (n, d)
            Features of the objects.
        comparisons : Comparisons, array of shape (m, 3) or (m, 4), or DataFrame
            Rows (a, b, c) of row numbers of X; or (i, j, l, k): are i and j more similar than l and k?

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
        """
        margins, triplets = self._margins(X, comparisons)
        if len(triplets) == 0 or (triplets.weights is not None and not triplets.weights.any()):
            raise ValueError("there is nothing to score: no comparisons, or all weights are zero")
        return float(np.average(margins > 0.0, weights=triplets.weights))

    def score(self, X: Any, y: Any = None, *, comparisons: Any = None, sample_weight: Any = None) -> float:
        """Return how well the model ranks the rows of X: by labels, or by comparisons; or tells pairs apart.

        Parameters
        ----------
        X : table of shape (n, d), or pairs of shape (n, 2, d)
            Features. For pairs y is 1 or -1, similar or not, and the score is the area under the ROC curve.
        y : array of shape (n,), optional
            Class labels: the score is the mean average precision of each row as a query against the others. Rows
            with a negative label are left out, as in ``fit``.
        comparisons : Comparisons, array of shape (m, 3) or (m, 4), or DataFrame, optional
            As for :meth:`predict_comparisons`: the score is the share satisfied. Then y is ignored.
        sample_weight : array, optional
            Weights of the rows of X as queries, or of the comparisons.

        Returns
        -------
        float
        """
        if comparisons is not None:
            return self.score_comparisons(X, as_comparisons(comparisons, sample_weight=sample_weight))
        if is_pairs(X):
            return self._score_pairs(X, y, sample_weight)
        if y is None:
            raise ValueError("there is nothing to score by: score needs labels y, or comparisons")
        known = has_label(np.asarray(y))
        if not known.all():
            rows = np.flatnonzero(known)
            X = X.iloc[rows] if hasattr(X, "iloc") else (X if hasattr(X, "shape") else np.asarray(X))[rows]
            y, sample_weight = (None if part is None else np.asarray(part)[rows] for part in (y, sample_weight))
        return retrieval_map_scorer(self, X, y, sample_weight)

    def _margins(self, X: Any, comparisons: Any) -> tuple[np.ndarray, Any]:
        """Return how far the model puts the near pair before the far pair in each row, and the comparisons."""
        table = self._table(X)
        asked = match_comparisons(X, comparisons)
        queries, items, compare = self._queries(table), self._items(table), self._compare
        margins = np.empty(len(asked))
        for block in blocks(len(asked), max(1, ENTRIES // max(1, table.shape[1]))):
            i, j, *other, k = asked.rows[block].T
            if other:
                near, far = compare.rows(queries[i], items[j]), compare.rows(queries[other[0]], items[k])
                margins[block] = compare.sign * (near - far)
            else:
                margins[block] = compare.margins(queries[i], items[j], items[k])
        return margins, asked

    def neighbors(self, queries: Any, X: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects that are most similar to each query, the most similar first.

        Parameters
        ----------
        queries : table of shape (m, d), or None
            Features of the queries; None takes every row of X and leaves it out of its own neighbors.
        X : table of shape (n, d), or SearchIndex
            Features of the objects to search, or an index of them (:meth:`index`) for an approximate search.
        k : int, default=5
            Number of neighbors of each query.

        Returns
        -------
        values : array of shape (m, k)
            Similarities, or distances where the model is a distance.
        indices : array of shape (m, k)
            Row numbers of X; of equally similar objects the first.

        Notes
        -----
        The search is exact, to the rounding of a single value. It goes block by block: the table of all
        similarities is never in memory.
        """
        if isinstance(X, SearchIndex):
            if queries is None:
                raise ValueError("an index is searched with queries: pass their features")
            if X.metric != self._compare or not np.array_equal(X.basis, self._basis):
                raise ValueError(
                    "this index was made by another model, or before this one was fitted further: make a new index"
                )
            return X.search(self._queries(self._table(queries)), k)
        table = self._table(X)
        check_count("k", k, table.shape[0] - (queries is None), ", the objects to search")
        if queries is None:
            return without_self(*search(self._compare, self._queries(table), self._items(table), k + 1))
        return search(self._compare, self._queries(self._table(queries)), self._items(table), k)

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
            For :meth:`neighbors`, in place of X. Its ``recall_`` is the share of the true ten nearest objects
            that it finds. Needs the package usearch (``pip install "nearer[search]"``).
        """
        table = self._table(X)
        index = SearchIndex(self._items(table), self._compare, self._basis)
        sample = as_generator(random_state).permutation(len(index))[:N_SAMPLED]
        index.measure_recall(self._queries(table[sample]))
        return index
