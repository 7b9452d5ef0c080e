"""What every model of answers does once it has learned: answer questions, say how sure it is, and be scored.

A model brings two things: squared distances of the two pairs of each question, and a loss that knows the
probability of an answer given those.
"""

from typing import Any

import numpy as np

from nearer.comparisons.given import as_comparisons


class AnswersQuestions:
    """The methods of an estimator that has a loss ``loss_`` and ``_distances(questions)``."""

    loss_: Any

    def _distances(self, questions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of the near and of the far pair of each question."""
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
