"""A bilinear form xᵀMx', learned: what a fitted matrix says of tables of objects."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from nearer.similarity.retrieval import ComparesFeatures
from nearer.similarity.triplets import row_products


class BilinearForm(ComparesFeatures, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of a model that has ``matrix_``, M, and ``components_``, L with LᵀL = M, where M allows."""

    _takes_sparse = True
    matrix_: np.ndarray
    components_: np.ndarray
    n_features_in_: int

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "matrix_")
        return self.matrix_

    def _asking(self, table: Any) -> np.ndarray:
        return np.asarray(table @ self.matrix_)

    def _found(self, table: Any) -> Any:
        return table

    def _value(self, asking: Any, found: Any) -> np.ndarray:
        return row_products(asking, found)

    def _margin(self, asking: Any, near: Any, far: Any) -> np.ndarray:
        return row_products(asking, near - far)

    def _ranking(self, asking: np.ndarray, found: Any) -> tuple[np.ndarray, Any]:
        return asking, found

    def similarity(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarity of every row of A with every row of B.

        Parameters
        ----------
        A, B : tables of shape (n, d) and (m, d)
            Features; where the matrix is not symmetric, A are those that ask.

        Returns
        -------
        array of shape (n, m)
        """
        asking, found = self._asking(self._table(A)), self._table(B)
        return np.asarray(found @ asking.T).T

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return the similarity of the two of each pair.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs; sparse features as a tuple of two tables.

        Returns
        -------
        array of shape (n,)
        """
        return self._pair_values(pairs)

    def transform(self, X: Any) -> np.ndarray:
        """Return points whose inner products are the similarities (``psd=True``).

        Parameters
        ----------
        X : table of shape (n, d)
            Features.

        Returns
        -------
        array of shape (n, n_components)
        """
        table = self._table(X)
        if not hasattr(self, "components_"):
            raise NotFittedError("this similarity was fitted with psd=False and is no projection: fit it again")
        return np.asarray(table @ self.components_.T)

    def fit_transform(self, X: Any, y: Any = None, *, comparisons: Any = None) -> np.ndarray:
        """Learn the similarity and return the points of X (``psd=True``).

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`.

        Returns
        -------
        array of shape (n, n_components)
        """
        return self.fit(X, y, comparisons=comparisons).transform(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _loaded(self) -> None:
        """Refuse what does not fit together."""
        d = self.n_features_in_
        if self.matrix_.shape != (d, d):
            raise ValueError(f"the matrix of {d} features has shape {self.matrix_.shape}")
        for name in ("components_", "running_matrix_"):
            array = getattr(self, name, None)
            if array is not None and (array.ndim != 2 or array.shape[1] != d):
                raise ValueError(f"{name} of {d} features has shape {array.shape}")
