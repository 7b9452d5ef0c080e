"""Euclidean: the plain distance of the features, the baseline of every learned one."""

from typing import Any

import numpy as np

from nearer.features.validation import validate_features
from nearer.similarity.estimator import SimilarityEstimator


class Euclidean(SimilarityEstimator):
    """The plain Euclidean distance, with the calls of a learned one.

    It learns nothing: ``fit`` only checks the features. Use it in place of a learned distance to see what learning is
    worth.

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

    _learned_values = ("n_features_in_", "threshold_")

    def _fit(self, X: Any, y: Any, comparisons: Any) -> None:
        self.components_ = np.eye(validate_features(self, X, reset=True).shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
