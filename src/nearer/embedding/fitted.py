"""What a fitted map says: answers to questions, their probabilities, a score, and where objects are."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.rows import blocks, squared_distances
from nearer.embedding.given import as_comparisons, object_numbers, renumbered

BLOCK = 1 << 18  # questions looked at together


class FittedMap:
    """The methods of an estimator that has points ``embedding_``, a loss ``loss_`` and ``names_`` or None."""

    embedding_: np.ndarray
    loss_: Any
    names_: tuple[str, ...] | None

    def _distances(self, questions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of the near and far pairs; an object never met is at the origin."""
        check_is_fitted(self, "embedding_")
        asked = as_comparisons(questions)
        points = np.vstack([self.embedding_, np.zeros((1, self.embedding_.shape[1]))])
        rows = renumbered(asked, self.names_, len(self.embedding_))
        parts = [squared_distances(points, rows[block]) for block in blocks(len(rows), BLOCK)]
        near, far = zip(*parts, strict=True) if parts else ([np.empty(0)], [np.empty(0)])
        return np.concatenate(near), np.concatenate(far)

    @property
    def classes_(self) -> np.ndarray:
        """The answers that can be predicted: -1 (the far pair is nearer) and 1."""
        return np.array([-1, 1])

    def predict(self, questions: Any) -> np.ndarray:
        """Return 1 where the map puts the first pair of a row nearer together, else -1.

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
        """Return the probability of either answer by the loss's own model; columns as in ``classes_``.

        Parameters
        ----------
        questions : Comparisons, array or DataFrame
            As for :meth:`predict`.

        Returns
        -------
        array of shape (n, 2)
        """
        yes = self.loss_.probability(*self._distances(questions))
        return np.column_stack([1.0 - yes, yes])

    def score(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of comparisons, by weight, that the map satisfies; a tie does not count.

        Parameters
        ----------
        comparisons, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        float
        """
        given = as_comparisons(comparisons, y, sample_weight)
        if len(given) == 0 or (given.weights is not None and not given.weights.any()):
            raise ValueError("there is nothing to score: no comparisons, or all weights are zero")
        return float(np.average(self.predict(given) == 1, weights=given.weights))

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
        return self.embedding_[object_numbers(objects, self.names_, len(self.embedding_))]
