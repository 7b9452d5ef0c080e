"""What a fitted label ranker does: score labels, return the best labels per row, and evaluate them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.rows import blocks
from nearer.features.validation import check_weights, validate_features
from nearer.metrics.label_ranking import label_average_precisions
from nearer.metrics.ranks import largest_columns
from nearer.parameters import check_count
from nearer.ranking.solvers import ENTRIES
from nearer.ranking.targets import Target, read_target


class RankingPredictor(ClassifierMixin):
    """Ranks labels by their scores; all but `decision_function` by blocks of rows."""

    classes_: np.ndarray
    label_counts_: np.ndarray
    target_form_: str
    target_dtype_: str
    n_predicted_: int
    intercept_: np.ndarray
    label_factors_: np.ndarray
    feature_factors_: np.ndarray
    coef_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of every label for each row: larger is more likely.

        A label that no row had in training stands one below the lowest of the others.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, n_labels)
            Scores; if Y was one of two classes per row, the second's minus the first's, of shape (n,).
        """
        check_is_fitted(self)
        table = validate_features(self, X, sparse=True)
        scores = np.empty((table.shape[0], len(self.classes_)))
        for block, part in self._score_blocks(table):
            scores[block] = part
        if self.target_form_ == "classes" and len(self.classes_) == 2:
            return scores[:, 1] - scores[:, 0]
        return scores

    def predict(self, X: Any) -> Any:
        """Return the highest-ranked labels of each row, ``n_predicted_`` of them, or its highest-ranked class.

        Parameters
        ----------
        X
            As for :meth:`decision_function`.

        Returns
        -------
        array or csr_array of shape (n, n_labels), or array of shape (n,)
            An indicator matrix where Y was one in training, sparse where that was; otherwise one class per row.
        """
        check_is_fitted(self)
        if self.target_form_ == "classes":
            return self.top_k(X, 1)[0][:, 0]
        numbers, _ = self._top(X, self.n_predicted_)
        shape = len(numbers), len(self.classes_)
        if self.target_form_ == "sparse":
            numbers = np.sort(numbers, axis=1)
            ones = np.ones(numbers.size, dtype=self.target_dtype_)
            return csr_array((ones, numbers.ravel(), np.arange(len(numbers) + 1) * self.n_predicted_), shape=shape)
        indicator = np.zeros(shape, dtype=self.target_dtype_)
        np.put_along_axis(indicator, numbers, 1, axis=1)
        return indicator

    def top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k highest-ranked labels of each row, best first.

        Parameters
        ----------
        X
            As for :meth:`decision_function`.
        k : int
            How many.

        Returns
        -------
        labels : array of shape (n, k)
            Their names where there are any, their numbers otherwise; of equal ones the first comes first.
        scores : array of shape (n, k)
            Their scores.
        """
        check_is_fitted(self)
        check_count("k", k, len(self.classes_), ", the labels")
        numbers, scores = self._top(X, k)
        return self.classes_[numbers], scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean average precision of the rankings; of classes, the share of rows that are right.

        Parameters
        ----------
        X
            As for :meth:`decision_function`.
        y : indicator matrix of shape (n, n_labels), or array of shape (n,)
            What is true, written as in training. Rows without labels do not count.
        sample_weight : array of shape (n,), optional
            How much each row counts: numbers that are not negative.

        Returns
        -------
        float
            For an indicator matrix :func:`nearer.metrics.label_ranking_map`, averaged over rows with labels;
            for one class per row the accuracy, as of any classifier.
        """
        check_is_fitted(self)
        table = validate_features(self, X, sparse=True)
        weights = None if sample_weight is None else check_weights(sample_weight, table.shape[0])
        if self.target_form_ == "classes":
            return float(super().score(X, y, weights))
        true = self._target(y, table.shape[0]).indicator
        parts = [label_average_precisions(scores, true[block]) for block, scores in self._score_blocks(table)]
        precisions = np.concatenate(parts)
        counted = ~np.isnan(precisions)
        if not counted.any():
            raise ValueError(f"none of the {len(precisions)} rows of Y has a label: there is nothing to rank")
        if weights is not None and not weights[counted].any():
            raise ValueError("sample_weight is 0 for every row that has a label: there is nothing to rank")
        return float(np.average(precisions[counted], weights=None if weights is None else weights[counted]))

    def _score_blocks(self, table: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of rows and their scores, as many as fit into memory."""
        for block in blocks(table.shape[0], max(1, ENTRIES // len(self.classes_))):
            yield block, self._scores(table[block])

    def _top(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the k best labels of each row, and their scores."""
        table = validate_features(self, X, sparse=True)
        numbers, values = np.empty((table.shape[0], k), dtype=np.intp), np.empty((table.shape[0], k))
        for block, scores in self._score_blocks(table):
            numbers[block] = largest_columns(scores, k)
            values[block] = np.take_along_axis(scores, numbers[block], axis=1)
        return numbers, values

    def _scores(self, table: Any) -> np.ndarray:
        """Return the scores of all labels for some rows."""
        if hasattr(self, "label_factors_"):
            scores = np.asarray(table @ self.feature_factors_) @ self.label_factors_.T + self.intercept_
        elif hasattr(self, "coef_"):
            scores = np.asarray(table @ self.coef_.T) + self.intercept_
        else:
            return np.tile(self.intercept_, (table.shape[0], 1))
        seen = self.label_counts_ > 0
        if not seen.all():
            scores[:, ~seen] = scores[:, seen].min(axis=1, keepdims=True) - 1.0
        return scores

    def _target(self, Y: Any, n_rows: int) -> Target:
        """Return the content of a further Y; ValueError where it is not written as the first was."""
        one_each = self.target_form_ == "classes"
        target = read_target(self, Y, self.classes_ if one_each else None, n_rows)
        if (target.form == "classes") != one_each:
            forms = f"an indicator matrix of {len(self.classes_)} labels", "one class per row"
            raise ValueError(f"Y was {forms[one_each]} at first; got {forms[not one_each].split(' of ')[0]}")
        if target.indicator.shape[1] != len(self.classes_):
            raise ValueError(
                f"Y has {target.indicator.shape[1]} columns, but had {len(self.classes_)} labels at first"
            )
        if target.named and (target.classes != self.classes_).any():
            place = int(np.flatnonzero(target.classes != self.classes_)[0])
            raise ValueError(
                f"column {place} of Y is called {str(target.classes[place])!r}, but label {place} was "
                f"{str(self.classes_[place])!r} at first"
            )
        return target
