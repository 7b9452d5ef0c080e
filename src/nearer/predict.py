"""What models of answers share: the arguments of ``fit``, predictions, a score and nearest objects.

A model learns from checked comparisons. It provides squared distances, of the pairs of some rows and from some
objects to all, and a loss with the probability of an answer; models of points get the distances here too.
"""

from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import as_comparisons, drop_zero_weights, match_objects, object_indices
from nearer.comparisons.rows import blocks, squared_distances
from nearer.parameters import check_count, check_parameters, unchanged_on_failure

BLOCK = 1 << 18  # questions per block


class ComparisonPredictor:
    """The methods of an estimator with a loss ``loss_``, ``names_`` or None, and the private methods below."""

    _fitted_attribute: str  # has one row per object
    loss_: Any
    names_: tuple[str, ...] | None

    def fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from answers.

        Parameters
        ----------
        comparisons : Comparisons, ComparisonSource, array of shape (n, 3) or (n, 4), or DataFrame
            Rows (a, b, c) say d(a, b) < d(a, c); rows (i, j, l, k) say d(i, j) < d(l, k).
        y : array of bool or ±1, optional
            Then the rows are questions and y the answers: False or -1 turns a row around.
        sample_weight : array of shape (n,), optional
            Multiplies the comparisons' weights.
        groups : "subjects" or array of shape (n,), optional
            What is held out to choose settings, or to stop early, are whole groups: with "subjects" the answers of
            people that the fit has not seen.

        Returns
        -------
        self
        """
        comparisons = as_comparisons(comparisons, y, sample_weight)
        if groups is not None:
            comparisons = comparisons.group(groups)
            if comparisons.n_answers < 2:
                raise ValueError("groups are held out as a whole, so there must be at least two; there is one")
        comparisons = drop_zero_weights(comparisons)
        check_parameters(self)
        if len(comparisons) == 0:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        with unchanged_on_failure(self):
            self._fit(comparisons)
        return self

    def _fit(self, comparisons: Comparisons) -> None:
        """Learn from comparisons, of which there are some, with weights above 0; parameters are checked."""
        raise NotImplementedError

    @property
    def _n_known(self) -> int:
        """How many objects the model has; raises NotFittedError before ``fit``."""
        check_is_fitted(self, self._fitted_attribute)
        return len(getattr(self, self._fitted_attribute))

    def _pair_distances(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of near and far pairs; object ``_n_known`` is an unknown one, at the origin."""
        raise NotImplementedError

    def _distances_from(self, objects: np.ndarray) -> np.ndarray:
        """Return squared distances to all objects, one row per given object."""
        raise NotImplementedError

    def _distances(self, questions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of the near and far pair of each question, computed block by block."""
        n_known = self._n_known
        rows = match_objects(as_comparisons(questions), self.names_, n_known)
        parts = [self._pair_distances(rows[block]) for block in blocks(len(rows), BLOCK)]
        near, far = np.concatenate(parts, axis=1) if parts else np.empty((2, 0))
        return near, far

    @property
    def classes_(self) -> np.ndarray:
        """The answers that can be predicted: -1 (the far pair is nearer) and 1."""
        return np.array([-1, 1])

    def predict(self, questions: Any) -> np.ndarray:
        """Return 1 where the model puts the first pair of a row nearer together, else -1.

        Parameters
        ----------
        questions : Comparisons, array or DataFrame
            Rows (a, b, c): is a nearer to b (1) than to c (-1)?

        Returns
        -------
        array of 1 and -1
        """
        near, far = self._distances(questions)
        return np.where(near < far, 1, -1)

    def predict_proba(self, questions: Any) -> np.ndarray:
        """Return the probability of either answer by the model of the loss; columns as in ``classes_``.

        Parameters
        ----------
        questions : Comparisons, array or DataFrame
            As for :meth:`predict`.

        Returns
        -------
        array of shape (n, 2)
        """
        near, far = self._distances(questions)
        probability = self.loss_.probability(near, far)
        return np.column_stack([1.0 - probability, probability])

    def score(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of comparisons, by weight, that the model satisfies; a tie does not count.

        Parameters
        ----------
        comparisons, y, sample_weight
            As for :meth:`fit`.
        """
        comparisons = as_comparisons(comparisons, y, sample_weight)
        if len(comparisons) == 0 or (comparisons.weights is not None and not comparisons.weights.any()):
            raise ValueError("there is nothing to score: no comparisons, or all weights are zero")
        return float(np.average(self.predict(comparisons) == 1, weights=comparisons.weights))

    def neighbors(self, objects: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest other objects of some objects, nearest first.

        Parameters
        ----------
        objects : sequence of int or str
            Numbers or names of objects of the model.
        k : int, default=5
            How many neighbors to return per object.

        Returns
        -------
        distances : array of shape (len(objects), k)
            Distances to the neighbors.
        indices : array of shape (len(objects), k)
            Numbers of the neighbors; ``names_`` has their names.
        """
        n = self._n_known
        check_count("k", k, n - 1, ", the other objects")
        queries = object_indices(objects, self.names_, n)
        squared = self._distances_from(queries)
        squared[np.arange(len(queries)), queries] = np.inf
        indices = np.argsort(squared, axis=1, kind="stable")[:, :k]
        return np.sqrt(np.take_along_axis(squared, indices, axis=1)), indices


class EmbeddingPredictor(ComparisonPredictor):
    """The methods of an estimator that has points ``embedding_``, a loss ``loss_`` and ``names_`` or None."""

    _fitted_attribute = "embedding_"
    embedding_: np.ndarray

    def _pair_distances(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        origin = np.zeros((1, self.embedding_.shape[1]))
        return squared_distances(np.vstack([self.embedding_, origin]), rows)

    def _distances_from(self, objects: np.ndarray) -> np.ndarray:
        points = self.embedding_.astype(np.float64, copy=False)
        return cdist(points[objects], points, "sqeuclidean")

    def transform(self, objects: Any) -> np.ndarray:
        """Return the points of objects, given by name or number.

        Parameters
        ----------
        objects : sequence of int or str
            Objects of the map.

        Returns
        -------
        array of shape (len(objects), n_components)
        """
        n_known = self._n_known  # raises NotFittedError before anything else is missed
        return self.embedding_[object_indices(objects, self.names_, n_known)]
