"""A similarity or distance of low rank, learned: what its factors say of tables of objects."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from nearer.similarity.form import BilinearForm
from nearer.similarity.mahalanobis import Mahalanobis
from nearer.similarity.retrieval import ComparesFeatures


class LowRankForm(ComparesFeatures, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of a model that has ``components_``, B of xᵀAᵀBx', and ``asking_components_``, A, where A ≠ B.

    It is a similarity, or the distance of the projected points, as ``kind_`` says.
    """

    _takes_sparse = True
    components_: np.ndarray
    asking_components_: np.ndarray
    kind_: str
    n_features_in_: int

    @property
    def _kind(self) -> Any:
        """Whose ways of comparing projected points are used."""
        check_is_fitted(self, "components_")
        return BilinearForm if self.kind_ == "similarity" else Mahalanobis

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "components_")
        return self.components_

    @property
    def _alike(self) -> float:  # type: ignore[override]
        return float(self._kind._alike)

    @property
    def _index_metric(self) -> str:  # type: ignore[override]
        return str(self._kind._index_metric)

    def _asking(self, table: Any) -> np.ndarray:
        return np.asarray(table @ getattr(self, "asking_components_", self.components_).T)

    def _found(self, table: Any) -> Any:
        return np.asarray(table @ self.components_.T)

    def _value(self, asking: Any, found: Any) -> np.ndarray:
        return np.asarray(self._kind._value(self, asking, found))

    def _margin(self, asking: Any, near: Any, far: Any) -> np.ndarray:
        return np.asarray(self._kind._margin(self, asking, near, far))

    def _ranking(self, asking: np.ndarray, found: Any) -> tuple[np.ndarray, Any]:
        queries, objects = self._kind._ranking(self, asking, found)
        return queries, objects

    def similarity(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarity of every row of A with every row of B (``loss=None``).

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features; where the model is not symmetric, A are those that ask.

        Returns
        -------
        array of shape (n, m)
        """
        return np.asarray(self._asking(self._table(A)) @ self._found(self._table(B)).T)

    def distance(self, A: Any, B: Any) -> np.ndarray:
        """Return the learned distance of every row of A and every row of B (with a loss of distances).

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features.

        Returns
        -------
        array of shape (n, m)
        """
        return cdist(self._asking(self._table(A)), self._found(self._table(B)))

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return how alike the two of each pair are: their similarity, or minus their distance.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs; sparse features as a tuple of two tables.

        Returns
        -------
        array of shape (n,)
        """
        return self._alike * self._pair_values(pairs)

    def projections(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the two projections of objects: as ones that ask, and as ones that are found.

        Similarities are the inner products of one with the other. Both are the same where the model is symmetric.

        Parameters
        ----------
        X : table of shape (n, d)
            Features.

        Returns
        -------
        asking : array of shape (n, rank)
            As ones that ask.
        found : array of shape (n, rank)
            As ones that are found.
        """
        table = self._table(X)
        return self._asking(table), self._found(table)

    def transform(self, X: Any) -> np.ndarray:
        """Return points whose inner products are the similarities, or whose distances the learned ones.

        Parameters
        ----------
        X : table of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, rank)
        """
        table = self._table(X)
        if hasattr(self, "asking_components_"):
            raise NotFittedError("this model was fitted with two projections (psd=False): see projections")
        return self._found(table)

    def fit_transform(self, X: Any, y: Any = None, *, comparisons: Any = None) -> np.ndarray:
        """Learn the model and return the points of X.

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`.

        Returns
        -------
        array of shape (n, rank)
        """
        fit: Any = self.fit
        return np.asarray(fit(X, y, comparisons=comparisons).transform(X))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _loaded(self) -> None:
        """Refuse what does not fit together."""
        shape = self.components_.shape
        others = getattr(self, "asking_components_", self.components_).shape
        if len(shape) != 2 or shape != others or shape[1] != self.n_features_in_:
            raise ValueError(f"components of {self.n_features_in_} features have shapes {shape} and {others}")
        if self.kind_ not in ("similarity", "distance"):
            raise ValueError(f"the model is said to be a {self.kind_!r}")
        learned: Any = self
        steps, rate, history = learned.n_steps_, learned.learning_rate_, learned.history_
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
            raise ValueError(f"n_steps_ is {steps!r}")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < np.inf:
            raise ValueError(f"learning_rate_ is {rate!r}")
        if not isinstance(history, list):
            raise ValueError(f"history_ is {history!r}, and no list")
