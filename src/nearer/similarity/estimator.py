"""What similarities and distances share that learn from class labels or comparisons: ``fit``."""

from typing import Any, Self

from sklearn.base import BaseEstimator

from nearer.models import SavedModel
from nearer.parameters import check_parameters, unchanged_on_failure
from nearer.similarity.comparer import FeatureComparer


class SimilarityEstimator(FeatureComparer, SavedModel, BaseEstimator):
    """Base of estimators that learn from class labels or comparisons; a subclass defines ``_fit``."""

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn from class labels or comparisons.

        Parameters
        ----------
        X : array of shape (n, d)
            Features, one row per object; also a sparse matrix where the tags of the estimator say so.
        y : array of shape (n,), optional
            Class labels. Triplets (x, x⁺, x⁻) are drawn such that x and x⁺ have the same label and x⁻ has another.
            Rows with a negative label are unlabeled and left out, beside two classes that are not negative.
        comparisons : Comparisons, array of shape (m, 3) or DataFrame, optional
            Rows (a, b, c) of row numbers of X: a is more similar to b than to c. `LEGO` also takes rows (i, j, l, k):
            i and j are more similar than l and k. Then y is ignored.

        Returns
        -------
        self
        """
        return self._checked_fit(X, y, comparisons)

    def _checked_fit(self, X: Any, y: Any, comparisons: Any, **options: Any) -> Self:
        """Check the parameters and fit; a fit that fails leaves the estimator as it was."""
        check_parameters(self)
        with unchanged_on_failure(self):
            self._fit(X, y, comparisons, **options)
        return self

    def _fit(self, X: Any, y: Any, comparisons: Any) -> None:
        """Learn, and set the learned attributes."""
        raise NotImplementedError
