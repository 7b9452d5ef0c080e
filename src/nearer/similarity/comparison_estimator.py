"""Cross-validation over comparisons: a meta-estimator whose samples are comparisons, not objects.

scikit-learn slices what it passes as X. A similarity's X are the objects, of which all comparisons speak, so the
table of features becomes a parameter and the comparisons take the place of X.
"""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons.coerce import as_comparisons
from nearer.parameters import parametrized


@parametrized
class ComparisonEstimator(MetaEstimatorMixin, BaseEstimator):
    """Fit a similarity of features to comparisons, such that cross-validation can slice these.

    ``fit`` and ``score`` take comparisons of the rows of a fixed table of features. A selection of `Comparisons`
    keeps whole answers together, so every fold has whole answers.

    Parameters
    ----------
    estimator : estimator
        With ``fit(X, comparisons=...)`` and ``score(X, comparisons=...)``: a similarity or distance of this
        library, or a pipeline that routes ``comparisons`` to one.
    X : array, sparse matrix or DataFrame of shape (n, d)
        Features of all objects. Clones share it.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from nearer import BilinearSimilarity
    >>> from nearer.similarity import ComparisonEstimator
    >>> from nearer.simulate import comparisons_from_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> answers = comparisons_from_labels(y, 300, random_state=0)
    >>> model = ComparisonEstimator(BilinearSimilarity(random_state=0), X)
    >>> search = GridSearchCV(model, {"estimator__regularization": [1.0, 10.0]}, cv=3).fit(answers)
    >>> bool(search.best_score_ > 0.6)
    True
    """

    # What scikit-learn calls X are the comparisons, and no metadata.
    __metadata_request__fit: ClassVar = {"comparisons": UNUSED}
    __metadata_request__predict: ClassVar = {"comparisons": UNUSED}
    __metadata_request__score: ClassVar = {"comparisons": UNUSED}

    estimator: Any
    X: Any

    def fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a clone of the estimator to comparisons.

        Parameters
        ----------
        comparisons : Comparisons, array of shape (m, 3) or DataFrame
            Rows (a, b, c) of row numbers of X: a is more similar to b than to c.
        y, sample_weight : array of shape (m,), optional
            Answers to the rows as questions, and weights, as for `nearer.OrdinalEmbedding`.

        Returns
        -------
        self
        """
        answers = as_comparisons(comparisons, y, sample_weight)
        self.estimator_ = clone(self.estimator).fit(self.X, comparisons=answers)
        return self

    def predict(self, comparisons: Any) -> np.ndarray:
        """Return 1 for each row (a, b, c) where a is more similar to b than to c, else -1.

        Parameters
        ----------
        comparisons
            As for :meth:`fit`.
        """
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_comparisons(self.X, comparisons))

    def score(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of comparisons, by weight, that the fitted estimator satisfies; input as for fit."""
        check_is_fitted(self, "estimator_")
        return float(self.estimator_.score(self.X, comparisons=as_comparisons(comparisons, y, sample_weight)))

    def __sklearn_clone__(self) -> Self:
        return type(self)(clone(self.estimator), self.X)  # without a copy of the features
