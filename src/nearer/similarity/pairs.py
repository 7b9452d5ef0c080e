"""Pairs of objects by their features: how similar they are, and whether similar enough, by a threshold.

The threshold and the strategies to choose it are metric-learn's. A pair is similar if its distance is at most the
threshold, or its similarity at least.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted

from nearer.parameters import SHARE, is_number, join_or
from nearer.similarity.projection import available, if_distance


def is_pairs(X: Any) -> bool:
    """Whether X holds pairs of objects: a table of shape (n, 2, d), or a tuple of two tables."""
    if isinstance(X, tuple) and len(X) == 2 and hasattr(X[0], "shape"):
        return len(X[0].shape) == 2
    return bool(np.ndim(X) == 3) if isinstance(X, list | tuple) else getattr(X, "ndim", 0) == 3


if_threshold = available(
    lambda model: hasattr(model, "threshold_"),
    "there is no threshold yet: call calibrate_threshold or set_threshold, or fit ITML to pairs",
)


class PairClassifier:
    """The methods of a model of features for pairs; a subclass has maps, a metric and ``_table``."""

    threshold_: float

    if TYPE_CHECKING:  # of the class that inherits

        @property
        def _compare(self) -> Any: ...
        @property
        def _basis(self) -> np.ndarray: ...
        def _table(self, X: Any) -> Any: ...
        def _queries(self, table: Any) -> Any: ...
        def _items(self, table: Any) -> Any: ...

    def pair_score(self, pairs: Any) -> np.ndarray:
        """Return how similar the two objects of each pair are: their similarity, or minus their distance.

        Parameters
        ----------
        pairs : array of shape (n, 2, d), or tuple of two tables of shape (n, d)
            Features of the pairs; sparse features as a tuple of two tables.

        Returns
        -------
        array of shape (n,)
        """
        return self._compare.sign * self._pair_values(pairs)

    @if_distance
    def pair_distance(self, pairs: Any) -> np.ndarray:
        """Return the learned distance of the two objects of each pair.

        Parameters
        ----------
        pairs
            As for :meth:`pair_score`.
        """
        return self._pair_values(pairs)

    def _pair_values(self, pairs: Any) -> np.ndarray:
        _ = self._basis  # raises NotFittedError
        if not (isinstance(pairs, tuple) and len(pairs) == 2):
            pairs = np.asarray(pairs)
            if pairs.ndim != 3 or pairs.shape[1] != 2:
                raise ValueError(
                    f"pairs must have shape (n, 2, features), or be a tuple of two tables; got shape {pairs.shape}"
                )
            pairs = pairs[:, 0], pairs[:, 1]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # pairs cannot have any
            first, second = (self._table(part) for part in pairs)
        if first.shape[0] != second.shape[0]:
            raise ValueError(
                f"pairs must be two tables of as many rows; got {first.shape[0]} and {second.shape[0]} rows"
            )
        return self._compare.rows(self._queries(first), self._items(second))

    @if_threshold
    def predict(self, pairs: Any) -> np.ndarray:
        """Return 1 for each pair whose objects are similar by the threshold, else -1.

        There is a threshold after :meth:`calibrate_threshold`, :meth:`set_threshold` or a fit of `ITML` to pairs.

        Parameters
        ----------
        pairs
            As for :meth:`pair_score`.

        Returns
        -------
        array of 1 and -1

        Examples
        --------
        >>> from nearer.similarity import Euclidean
        >>> model = Euclidean().fit([[0.0], [1.0], [5.0]]).set_threshold(2.0)
        >>> model.predict([[[0.0], [1.0]], [[1.0], [5.0]]])
        array([ 1, -1])
        """
        return np.where(self.pair_score(pairs) >= self._compare.sign * self.threshold_, 1, -1)

    def set_threshold(self, threshold: float) -> Self:
        """Set the distance up to which, or the similarity from which, :meth:`predict` takes a pair as similar.

        Parameters
        ----------
        threshold : float
            In units of the model's distance or similarity.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        if not is_number(threshold):
            raise ValueError(f"threshold must be a number; got {threshold!r}")
        self.threshold_ = float(threshold)
        return self

    def calibrate_threshold(
        self, pairs: Any, y: Any, strategy: str = "accuracy", min_rate: float | None = None, beta: float = 1.0
    ) -> Self:
        """Choose the threshold of :meth:`predict` by pairs that are known to be similar or not.

        Parameters
        ----------
        pairs
            As for :meth:`pair_score`.
        y : array of shape (n,)
            1 for similar, -1 for dissimilar.
        strategy : {"accuracy", "f_beta", "max_tpr", "max_tnr"}, default="accuracy"
            What is to be largest: the share of pairs that are right, the F score, or the share of similar (tpr) or
            dissimilar (tnr) pairs that are right while the share of the others is at least ``min_rate``.
        min_rate : float, optional
            For "max_tpr" and "max_tnr": the least share of the others that is right.
        beta : float, default=1.0
            For "f_beta": how much more recall counts than precision.

        Returns
        -------
        self

        Examples
        --------
        >>> from nearer.similarity import Euclidean
        >>> model = Euclidean().fit([[0.0], [1.0], [5.0]])
        >>> pairs = [[[0.0], [1.0]], [[5.0], [7.0]], [[0.0], [5.0]], [[1.0], [5.0]]]
        >>> model.calibrate_threshold(pairs, [1, 1, -1, -1]).threshold_
        2.0
        """
        criterion = _criterion(strategy, min_rate, beta)
        scores, signs = self.pair_score(pairs), check_signs(y)
        if len(signs) != len(scores):
            raise ValueError(f"y must be 1 or -1 for each of the {len(scores)} pairs; got {len(signs)}")
        if len(np.unique(signs)) < 2:
            raise ValueError("a threshold is chosen by pairs of both kinds, and these are all of one")
        order = np.argsort(-scores, kind="stable")
        last = np.append(np.diff(scores[order]) != 0, True)  # of pairs with equal scores all are taken, or none
        similar = np.append(0, np.cumsum(signs[order] > 0)[last])
        taken = np.append(0, np.flatnonzero(last) + 1)
        n_dissimilar = int((signs < 0).sum())
        values = criterion(similar, n_dissimilar - (taken - similar))
        best = int(np.argmax(values))
        # If no pair is to be similar, the threshold is beyond the best of them.
        cut = scores[order[taken[best] - 1]] if best else np.nextafter(scores[order[0]], np.inf)
        self.threshold_ = float(self._compare.sign * cut)
        return self

    def _score_pairs(self, pairs: Any, y: Any, sample_weight: Any) -> float:
        return float(roc_auc_score(check_signs(y), self.pair_score(pairs), sample_weight=sample_weight))


def check_signs(y: Any) -> np.ndarray:
    """Return 1 and -1, one per pair."""
    signs = np.asarray(y)
    if signs.ndim != 1 or not np.isin(signs, (-1, 1)).all():
        raise ValueError("y must be 1 or -1 for each pair, similar or not")
    return signs


def _criterion(strategy: str, min_rate: float | None, beta: float) -> Callable[..., np.ndarray]:
    """Return a function of the counts of true positives and true negatives, to be maximized."""
    strategies = ("accuracy", "f_beta", "max_tpr", "max_tnr")
    if strategy not in strategies:
        raise ValueError(f"strategy must be {join_or(map(repr, strategies))}; got {strategy!r}")
    if strategy.startswith("max") and not SHARE.test(min_rate):
        raise ValueError(f"strategy={strategy!r} needs min_rate, {SHARE.wanted}; got {min_rate!r}")
    if not (is_number(beta) and beta >= 0):
        raise ValueError(f"beta must be a number >= 0; got {beta!r}")

    def value(positives: np.ndarray, negatives: np.ndarray) -> np.ndarray:
        if strategy == "accuracy":
            return positives + negatives
        if strategy == "f_beta":
            # (1 + β²) TP / ((1 + β²) TP + β² FN + FP)
            missed, wrong = positives[-1] - positives, negatives[0] - negatives
            total = (1.0 + beta**2) * positives
            return total / np.maximum(total + beta**2 * missed + wrong, 1e-300)
        rates = positives / positives[-1], negatives / negatives[0]
        wanted, other = rates if strategy == "max_tpr" else rates[::-1]
        return np.where(other >= min_rate, wanted, -1.0)

    return value
