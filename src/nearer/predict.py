"""What every model of answers does once it has learned: answer questions, be scored, and name the nearest objects.

A model brings squared distances, of the two pairs of each question and from an object to all others, and a loss
that knows the probability of an answer.
"""

from typing import Any

import numpy as np

from nearer.comparisons.coerce import as_comparisons, object_indices
from nearer.parameters import is_count


class ComparisonPredictor:
    """The methods of an estimator that has a loss ``loss_``, ``names_`` or None, and the distances below."""

    loss_: Any
    names_: tuple[str, ...] | None

    def _distances(self, questions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of the near and of the far pair of each question."""
        raise NotImplementedError

    def _squared_from(self, numbers: np.ndarray) -> np.ndarray:
        """Return squared distances from some objects, a row each, to all."""
        raise NotImplementedError

    @property
    def _n_objects_known(self) -> int:
        """How many objects the model knows; NotFittedError where it knows nothing."""
        raise NotImplementedError

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
        """Return the share of comparisons, by weight, that the model satisfies; a tie does not count.

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

    def neighbors(self, objects: Any, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest other objects of each of some objects, nearest first.

        Parameters
        ----------
        objects : sequence of int or str
            Numbers or names of objects of the model.
        k : int, default=5
            How many to return for each.

        Returns
        -------
        numbers : array of shape (len(objects), k)
            Which objects are nearest; ``names_`` has their names.
        distances : array of shape (len(objects), k)
            How far they are.
        """
        n = self._n_objects_known
        if not is_count(k) or k >= n:
            raise ValueError(f"k must be a whole number from 1 to {n - 1}, the other objects; got {k!r}")
        wanted = object_indices(objects, self.names_, n)
        squared = self._squared_from(wanted)
        squared[np.arange(len(wanted)), wanted] = np.inf
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        return order, np.sqrt(np.take_along_axis(squared, order, axis=1))
