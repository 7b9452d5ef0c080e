"""A projection of features, and the distance that it makes: transform, and metric-learn's names.

Which methods a model has depends on what it is, so the conditions are here too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted


def available(condition: Callable[[Any], bool], otherwise: str) -> Callable[[Any], Any]:
    """Return scikit-learn's ``available_if`` of a condition on the model, with the error of a model without it."""

    def check(model: Any) -> bool:
        if not condition(model):
            raise AttributeError(otherwise)
        return True

    return available_if(check)


if_projection = available(
    lambda model: model._is_projection,
    "a model with psd=False has two maps, of queries and of items: it is no projection",
)
if_similarity = available(
    lambda model: model._metric == "inner product", "this model is a distance: see distance and pair_distance"
)
if_distance = available(
    lambda model: model._metric == "euclidean", "this model is a similarity: see similarity and pair_score"
)


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """A model with a projection of features; scikit-learn wraps ``transform`` here, for ``set_output``."""

    components_: np.ndarray

    @property
    def _projection(self) -> Any:
        """The matrix of the projection; NotFittedError where there is none."""
        check_is_fitted(self, "components_")
        return self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self._projection.shape[0])

    def transform(self, X: Any) -> np.ndarray:
        """Return points whose inner products, or whose Euclidean distances, are the learned ones.

        Where the model normalizes, the points have unit length.

        Parameters
        ----------
        X : table of shape (n, d)
            Features, of objects that are known or new.

        Returns
        -------
        array of shape (n, n_components)
        """
        table = self._table(X)
        points = self._centered(table) @ self._projection.T
        points = points.toarray() if issparse(points) else np.asarray(points)
        return normalize(points) if getattr(self, "normalize_", False) else points

    @if_distance
    def get_metric(self) -> Callable[..., float]:
        """Return the distance as a function of two vectors, as scikit-learn's ``metric=`` takes it.

        Returns
        -------
        callable
            ``metric(u, v, squared=False)`` of vectors of shape (d,) or (1, d).
        """
        components, unit = self._projection.copy(), bool(getattr(self, "normalize_", False))
        mean = getattr(self, "mean_", None)
        mean = np.zeros(components.shape[1]) if mean is None else mean.copy()

        def metric(u: Any, v: Any, squared: bool = False) -> float:
            first, second = _as_vector(u, len(mean)), _as_vector(v, len(mean))
            if unit:
                points = normalize((np.stack([first, second]) - mean) @ components.T)
                moved = points[0] - points[1]
            else:
                moved = components @ (first - second)
            square = float(moved @ moved)
            return square if squared else float(np.sqrt(square))

        return metric

    @if_distance
    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return the matrix M = LᵀL of the distance √((x - x')ᵀM(x - x')), before points are normalized."""
        return self._projection.T @ self._projection

    @property
    def mahalanobis_matrix_(self) -> np.ndarray:
        """The matrix M = LᵀL of the distance √((x - x')ᵀM(x - x'))."""
        return self.get_mahalanobis_matrix()

    def _table(self, X: Any) -> Any:
        raise NotImplementedError

    def _centered(self, table: Any) -> Any:
        raise NotImplementedError


def _as_vector(values: Any, d: int) -> np.ndarray:
    """Return d numbers, given as (d,) or (1, d); a ValueError for any other shape, which would be broadcast."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape not in ((d,), (1, d)):
        raise ValueError(f"a vector must have shape ({d},), one number per feature; got shape {vector.shape}")
    return vector.reshape(d)
