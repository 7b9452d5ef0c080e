"""How a fitted similarity or distance of low rank compares objects: by projections of queries and items."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, identity
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from nearer.similarity.estimator import SimilarityEstimator


class LowRankComparer(SimilarityEstimator):
    """The methods of a model that has ``components_``, B of xᵀAᵀBx', and ``query_components_``, A, if A ≠ B.

    It is a similarity, or the distance of the projected points, as ``kind_`` says, or ``loss`` before a fit.
    """

    _takes_sparse = True
    query_components_: np.ndarray
    mean_: np.ndarray | None
    scale_: np.ndarray | None
    kind_: str
    normalize_: bool
    rank_: int
    loss: Any
    normalize: bool | None

    @property
    def _kind(self) -> str:
        return "similarity" if self.loss is None else "distance"

    @property
    def _metric(self) -> str:  # type: ignore[override]
        return "inner product" if getattr(self, "kind_", self._kind) == "similarity" else "euclidean"

    @property
    def _projection(self) -> Any:
        if hasattr(self, "query_components_"):
            raise NotFittedError("this model was fitted with two projections (psd=False): see projections")
        if self._is_plain:
            return csr_array(identity(self.n_features_in_))
        return super()._projection

    @property
    def _is_plain(self) -> bool:
        """Whether the model is the plain cosine of the features."""
        return hasattr(self, "n_steps_") and not hasattr(self, "components_")

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "n_steps_")
        return np.empty((0, 0)) if self._is_plain else self.components_

    def _query_map(self, table: Any) -> Any:
        if self._is_plain:
            return table
        return np.asarray(self._centered(table) @ getattr(self, "query_components_", self.components_).T)

    def _item_map(self, table: Any) -> Any:
        return table if self._is_plain else np.asarray(self._centered(table) @ self.components_.T)

    def projections(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the projections of objects as queries and as items.

        Similarities are the inner products of one with the other. Both are the same if the model is symmetric.

        Parameters
        ----------
        X : table of shape (n, d)
            Features, one row per object.

        Returns
        -------
        queries : array of shape (n, rank)
            As queries.
        items : array of shape (n, rank)
            As items.
        """
        table = self._table(X)
        return self._queries(table), self._items(table)

    def _loaded(self) -> None:
        """Refuse attributes that do not fit together."""
        if self._is_plain and getattr(self, "rank_", 0) != self.n_features_in_:
            raise ValueError("there are no components_")
        shape = (self.n_features_in_, self.n_features_in_) if self._is_plain else self.components_.shape
        others = shape if self._is_plain else getattr(self, "query_components_", self.components_).shape
        if len(shape) != 2 or shape != others or shape[1] != self.n_features_in_:
            raise ValueError(f"components of {self.n_features_in_} features have shapes {shape} and {others}")
        if self.kind_ not in ("similarity", "distance"):
            raise ValueError(f"the model is said to be a {self.kind_!r}")
        if not hasattr(self, "normalize_"):  # a file of a version that had inner products only
            self.normalize_, self.mean_, self.rank_ = False, None, shape[0]
            if self.normalize is None:
                self.normalize = False
        scale = self.scale_ = getattr(self, "scale_", None)
        if scale is not None and scale.shape != (self.n_features_in_,):
            raise ValueError(f"scale_ of {self.n_features_in_} features has shape {scale.shape}")
        mean = getattr(self, "mean_", None)
        if mean is not None and mean.shape != shape[1:]:
            raise ValueError(f"mean_ of {self.n_features_in_} features has shape {mean.shape}")
        if self.rank_ != shape[0]:
            raise ValueError(f"rank_ is {self.rank_!r}, and there are {shape[0]} components")
        learned: Any = self
        steps, rate, history = learned.n_steps_, learned.learning_rate_, learned.history_
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
            raise ValueError(f"n_steps_ is {steps!r}")
        if self._is_plain:
            rate = 1.0 if rate is None else rate
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < np.inf:
            raise ValueError(f"learning_rate_ is {rate!r}")
        if not isinstance(history, list):
            raise ValueError(f"history_ is {history!r}, not a list")
