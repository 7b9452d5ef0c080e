"""Distances in a fitted map, which answer questions, and the places of objects."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.coerce import object_indices
from nearer.comparisons.rows import squared_distances
from nearer.predict import ComparisonPredictor


class EmbeddingPredictor(ComparisonPredictor):
    """The methods of an estimator that has points ``embedding_``, a loss ``loss_`` and ``names_`` or None."""

    embedding_: np.ndarray

    @property
    def _n_known(self) -> int:
        check_is_fitted(self, "embedding_")
        return len(self.embedding_)

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
        n_known = self._n_known
        return self.embedding_[object_indices(objects, self.names_, n_known)]
