"""How a fitted similarity or distance of low rank compares objects: by projections of queries and items."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from nearer.similarity.estimator import SimilarityEstimator


class LowRankComparer(SimilarityEstimator):
    """The methods of a model that has ``components_``, B of xᵀAᵀBx', and ``query_components_``, A, if A ≠ B.

    It is a similarity, or the distance of the projected points, as ``kind_`` says, or ``loss`` before a fit.
    """

    _takes_sparse = True
    query_components_: np.ndarray
    kind_: str
    loss: Any

    @property
    def _kind(self) -> str:
        return "similarity" if self.loss is None else "distance"

    @property
    def _metric(self) -> str:  # type: ignore[override]
        return "inner product" if getattr(self, "kind_", self._kind) == "similarity" else "euclidean"

    @property
    def _projection(self) -> np.ndarray:
        if hasattr(self, "query_components_"):
            raise NotFittedError("this model was fitted with two projections (psd=False): see projections")
        return super()._projection

    def _query_map(self, table: Any) -> np.ndarray:
        return np.asarray(table @ getattr(self, "query_components_", self.components_).T)

    def _item_map(self, table: Any) -> Any:
        return np.asarray(table @ self.components_.T)

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
        return self._query_map(table), self._item_map(table)

    def _loaded(self) -> None:
        """Refuse attributes that do not fit together."""
        shape = self.components_.shape
        others = getattr(self, "query_components_", self.components_).shape
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
            raise ValueError(f"history_ is {history!r}, not a list")
