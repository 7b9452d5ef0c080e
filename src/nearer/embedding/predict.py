"""What a fitted map says: distances, which answer questions, and where objects are."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.coerce import as_comparisons, match_objects, object_indices
from nearer.comparisons.rows import blocks, squared_distances
from nearer.predict import ComparisonPredictor

BLOCK = 1 << 18  # questions looked at together


class EmbeddingPredictor(ComparisonPredictor):
    """The methods of an estimator that has points ``embedding_``, a loss ``loss_`` and ``names_`` or None."""

    embedding_: np.ndarray

    def _distances(self, questions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of the near and far pairs; an object never met is at the origin."""
        check_is_fitted(self, "embedding_")
        asked = as_comparisons(questions)
        points = np.vstack([self.embedding_, np.zeros((1, self.embedding_.shape[1]))])
        rows = match_objects(asked, self.names_, len(self.embedding_))
        parts = [squared_distances(points, rows[block]) for block in blocks(len(rows), BLOCK)]
        near, far = zip(*parts, strict=True) if parts else ([np.empty(0)], [np.empty(0)])
        return np.concatenate(near), np.concatenate(far)

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
        check_is_fitted(self, "embedding_")
        return self.embedding_[object_indices(objects, self.names_, len(self.embedding_))]

    def _squared_from(self, numbers: np.ndarray) -> np.ndarray:
        points = self.embedding_.astype(np.float64, copy=False)
        return cdist(points[numbers], points, "sqeuclidean")

    @property
    def _n_objects_known(self) -> int:
        check_is_fitted(self, "embedding_")
        return len(self.embedding_)
