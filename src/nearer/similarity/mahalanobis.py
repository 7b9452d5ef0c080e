"""A distance ‖L(x - x')‖, learned: what every model that is a projection does, by metric-learn's names."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nearer.similarity.retrieval import ComparesFeatures
from nearer.similarity.triplets import row_products


class Mahalanobis(ComparesFeatures, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of a model that is a projection: ``components_``, L of shape (m, d)."""

    _alike = -1.0
    _index_metric = "l2sq"
    components_: np.ndarray

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "components_")
        return self.components_

    def _loaded(self) -> None:
        """Refuse what does not fit together."""
        d = getattr(self, "n_features_in_", None)
        if self._basis.ndim != 2 or self._basis.shape[1] != d:
            raise ValueError(f"the components of {d} features have shape {self._basis.shape}")

    @property
    def mahalanobis_matrix_(self) -> np.ndarray:
        """The matrix M = LᵀL of the distance √((x - x')ᵀM(x - x'))."""
        return self._basis.T @ self._basis

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return ``mahalanobis_matrix_``."""
        return self.mahalanobis_matrix_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _asking(self, table: Any) -> np.ndarray:
        return np.asarray(table @ self.components_.T)

    _found = _asking

    def _value(self, asking: Any, found: Any) -> np.ndarray:
        return np.linalg.norm(asking - found, axis=1)

    def _margin(self, asking: Any, near: Any, far: Any) -> np.ndarray:
        near, far = asking - near, asking - far
        return row_products(far, far) - row_products(near, near)

    def _ranking(self, asking: np.ndarray, found: Any) -> tuple[np.ndarray, Any]:
        middle = found.mean(axis=0)  # squares of small numbers lose fewer digits
        asking, found = asking - middle, found - middle
        queries = np.column_stack([asking, np.ones(len(asking))])
        return queries, np.column_stack([found, -0.5 * row_products(found, found)])

    def transform(self, X: Any) -> np.ndarray:
        """Return points whose plain Euclidean distances are the learned ones.

        Parameters
        ----------
        X : table of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, n_components)
        """
        return self._asking(self._table(X))

    def distance(self, A: Any, B: Any) -> np.ndarray:
        """Return the learned distance of every row of A and every row of B.

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features.

        Returns
        -------
        array of shape (n, m)
        """
        return cdist(self.transform(A), self.transform(B))

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Return the learned distance of the two of each pair.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs.

        Returns
        -------
        array of shape (n,)
        """
        return self._pair_values(pairs)

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return minus the distance of the two of each pair: larger is more alike.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs.

        Returns
        -------
        array of shape (n,)
        """
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """Return the distance as a function of two vectors, as scikit-learn's ``metric=`` takes it.

        Returns
        -------
        callable
            ``metric(u, v, squared=False)``.
        """
        components = self._basis.copy()

        def metric(u: Any, v: Any, squared: bool = False) -> float:
            moved = components @ (np.asarray(u, dtype=np.float64) - np.asarray(v, dtype=np.float64))
            square = float(moved @ moved)
            return square if squared else float(np.sqrt(square))

        return metric


def set_components(model: Any, components: np.ndarray) -> None:
    """Give a model its projection, each row with its largest entry positive, so that it is the same everywhere."""
    largest = components[np.arange(len(components)), np.argmax(np.abs(components), axis=1)]
    model.components_ = components * np.where(largest < 0, -1.0, 1.0)[:, None]
