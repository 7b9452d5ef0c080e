"""Euclidean: the plain distance of the features, the baseline of every learned one."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from nearer.features.validation import validate_features
from nearer.models import SavedModel
from nearer.parameters import unchanged_on_failure
from nearer.similarity.comparer import FeatureComparer


class Euclidean(FeatureComparer, SavedModel, BaseEstimator):
    """The plain Euclidean distance, with the calls of a learned one.

    It learns nothing. Use it in place of a learned distance to see what learning is worth.

    Attributes
    ----------
    components_ : array of shape (d, d)
        The identity.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.similarity import Euclidean
    >>> Euclidean().fit([[0.0, 0.0], [3.0, 4.0]]).distance([[0.0, 0.0]], [[3.0, 4.0]])
    array([[5.]])
    """

    _learned_values = ("n_features_in_",)

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Check the features and set the identity.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y, comparisons
            Ignored.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self.components_ = np.eye(validate_features(self, X, reset=True).shape[1])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
