"""LEGO: a Mahalanobis distance learned online, pair by pair (Jain, Kulis, Dhillon, Grauman 2008).

A pair with difference z, at squared distance ŷ = zᵀAz and wanted at y, moves A to the minimum of the LogDet
divergence from where it was plus ½η(ŷ' - y)², in closed form: the distance becomes ȳ = [ηyŷ - 1 + √((ηyŷ - 1)² +
4ηŷ²)] / (2ηŷ) and A ← A - η(ȳ - y) Az zᵀA / (1 + η(ȳ - y)ŷ), positive definite whatever the step.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from nearer.comparisons.random_state import resumed_generator
from nearer.jit import bind
from nearer.models import SavedModel
from nearer.parameters import check, is_count, is_number, unchanged_on_failure
from nearer.psd import psd_factor
from nearer.similarity import loops
from nearer.similarity.comparer import FeatureComparer, fix_signs
from nearer.similarity.pairs import squared_distance_sample, validate_pairs

CLOSE, FAR = 5, 95  # percentiles of all squared distances at the start: where pairs are wanted


class LEGO(FeatureComparer, SavedModel, BaseEstimator):
    """LogDet exact gradient online: a distance that learns from one pair after another.

    It starts from Euclidean distance, scaled such that the mean squared distance is 1: the units of the features
    do not matter. A pair is learned from where it violates its wish: alike and farther apart than the 5th
    percentile of all distances at the start, or not alike and closer than the 95th.

    Parameters
    ----------
    learning_rate : float, default=0.125
        η: how far a pair moves the distance.
    n_constraints : int, optional
        How many pairs of each kind to draw from labels; by default 20 times the square of the number of classes,
        200,000 at most.
    max_epochs : int, default=1
        Passes of ``fit`` over the pairs, in their order.
    random_state : int, Generator, RandomState or None
        Draws pairs.

    Attributes
    ----------
    components_ : array of shape (d, d)
        L of the distance ‖L(x - x')‖.
    mahalanobis_matrix_ : array of shape (d, d)
        LᵀL.
    bounds_ : tuple of two floats
        Squared distances that alike pairs shall be within and others beyond.
    n_pairs_, n_updates_ : int
        Pairs looked at, and those of them that were learned from.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    Jain, Kulis, Dhillon, Grauman, "Online metric learning and fast similarity search", 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nearer import LEGO
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LEGO(random_state=0).fit(X, y)
    >>> model.transform(X).shape
    (150, 4)
    """

    _learned_arrays = ("components_", "feature_names_in_")
    _learned_values = ("bounds_", "n_pairs_", "n_updates_", "n_features_in_")
    bounds_: tuple[float, float]
    n_pairs_: int
    n_updates_: int

    def __init__(
        self,
        learning_rate: float = 0.125,
        *,
        n_constraints: int | None = None,
        max_epochs: int = 1,
        random_state: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.n_constraints = n_constraints
        self.max_epochs = max_epochs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn the distance.

        Parameters
        ----------
        X : array of shape (n, d)
            Features, one row an object.
        y : array of shape (n,), optional
            Class labels: pairs are drawn.
        comparisons : Comparisons, array of shape (m, 3) or DataFrame, optional
            Rows (a, b, c) of row numbers of X: a and b are taken as alike, a and c as not. Then y is
            ignored.

        Returns
        -------
        self
        """
        return self._learn(X, y, comparisons, first=True, passes=self.max_epochs)

    def partial_fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn on from further pairs, each once and in their order.

        The first call sets the scale and the bounds by the distances in its X.

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`: from labels, pairs are drawn among the rows of this X.

        Returns
        -------
        self
        """
        return self._learn(X, y, comparisons, first=not hasattr(self, "components_"), passes=1)

    def _learn(self, X: Any, y: Any, comparisons: Any, *, first: bool, passes: int) -> Self:
        self._check_parameters()
        with unchanged_on_failure(self):
            random = resumed_generator(self.random_state, 0 if first else self.n_pairs_)
            table, given = validate_pairs(self, X, y, comparisons, random, reset=first)
            if first:
                squares = squared_distance_sample(table, random)
                mean = squares.mean()
                matrix = np.eye(table.shape[1]) / mean
                close, far = (float(bound) for bound in np.percentile(squares / mean, (CLOSE, FAR)))
            else:
                matrix, (close, far) = self.mahalanobis_matrix_, self.bounds_
            updates = 0
            workspace = np.empty((2, table.shape[1]))
            for _ in range(passes):
                loop = bind(loops.lego_pass)
                updates += int(loop(table, *given, float(self.learning_rate), close, far, matrix, *workspace))
            self.bounds_ = (close, far)
            self.n_updates_ = updates + (0 if first else self.n_updates_)
            self.n_pairs_ = len(given.rows) * passes + (0 if first else self.n_pairs_)
            self.components_ = fix_signs(psd_factor(matrix))
        return self

    def _check_parameters(self) -> None:
        check(self, "learning_rate", is_number(self.learning_rate) and self.learning_rate > 0, "a number > 0")
        good = self.n_constraints is None or is_count(self.n_constraints)
        check(self, "n_constraints", good, "None or a positive integer")
        check(self, "max_epochs", is_count(self.max_epochs), "a positive integer")
