"""LEGO: a Mahalanobis distance learned online, pair by pair (Jain, Kulis, Dhillon, Grauman 2008).

A pair with difference z, at squared distance ŷ = zᵀAz and wanted at y, moves A to the minimum of the LogDet
divergence from where it was plus ½η(ŷ' - y)², in closed form: the distance becomes ȳ = [ηyŷ - 1 + √((ηyŷ - 1)² +
4ηŷ²)] / (2ηŷ) and A ← A - η(ȳ - y) Az zᵀA / (1 + η(ȳ - y)ŷ), positive definite whatever the step.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from nearer.blas import blas_threads_for
from nearer.comparisons.random_state import resumed_generator
from nearer.iterative import IterativeEstimator
from nearer.parameters import POSITIVE, parametrized
from nearer.psd import fix_signs, psd_factor
from nearer.similarity.estimator import SimilarityEstimator
from nearer.similarity.logdet import PairPasses, PairProblem, squared_distance_sample, validate_pairs
from nearer.similarity.loops import lego_change

CLOSE, FAR = 5, 95  # percentiles of all squared distances at the start: the bounds


@parametrized
class LEGO(IterativeEstimator, SimilarityEstimator):
    """LogDet exact gradient online: a distance that learns from one pair after another.

    It starts from Euclidean distance, scaled such that the mean squared distance is 1: the units of the features
    do not matter. A pair changes the distance where it violates its bound: similar and farther apart than the 5th
    percentile of all distances at the start, or dissimilar and closer than the 95th.

    Parameters
    ----------
    learning_rate : float, default=0.125
        η: how far a pair moves the distance.
    n_constraints : int, optional
        How many pairs of each kind to draw from labels; by default 20 times the square of the number of classes,
        200,000 at most.
    max_iter : int, default=1
        Passes of ``fit`` over the pairs, in their order.
    random_state : int, Generator, RandomState or None
        Draws pairs.
    max_seconds : float, optional
        End the fit after the pass in which this time is over.
    callback : callable, optional
        Called with each record of ``history_``, one per pass; returning True ends the fit.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (d, d)
        L of the distance ‖L(x - x')‖.
    mahalanobis_matrix_ : array of shape (d, d)
        LᵀL.
    bounds_ : tuple of two floats
        Squared distances that similar pairs should be within and others beyond.
    n_pairs_, n_updates_ : int
        Pairs seen, and those of them that changed the distance.
    history_ : list of dict
        One record per pass of the last call: iteration, loss (the share of pairs that violated their bound),
        n_steps (pairs so far), seconds.
    n_iter_ : int
        Passes of the last call.
    converged_ : bool
        Always False: an online learner has no tolerance to meet.
    stop_reason_ : str
        Why it ended: "max_iter", "time", "callback" or "interrupted" (Ctrl-C, which keeps the distance so far).
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
    >>> model = LEGO(random_state=0).partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    >>> model.transform(X).shape
    (150, 4)
    """

    _learned_values = (
        "bounds_", "n_pairs_", "n_updates_", "history_", "n_iter_", "converged_", "stop_reason_", "n_features_in_",
        "threshold_",
    )  # fmt: skip
    _constraints: ClassVar = {"learning_rate": POSITIVE}

    learning_rate: float = 0.125
    _: KW_ONLY
    n_constraints: int | None = None
    max_iter: int = 1
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def partial_fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Continue from further pairs, each once and in their order.

        The first call sets the scale and the bounds by the distances in its X.

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`: from labels, pairs are drawn among the rows of this X.

        Returns
        -------
        self
        """
        return self._checked_fit(X, y, comparisons, first=not hasattr(self, "components_"), max_iter=1)

    def _fit(self, X: Any, y: Any, comparisons: Any, first: bool = True, max_iter: int | None = None) -> None:
        n_pairs, n_updates = (0, 0) if first else (self.n_pairs_, self.n_updates_)
        random = resumed_generator(self.random_state, n_pairs)
        with self._monitor(max_iter=max_iter or self.max_iter) as monitor:
            table, signed = validate_pairs(self, X, y, comparisons, random, reset=first)
            if first:
                squares = squared_distance_sample(table, random)
                mean = squares.mean()
                matrix = np.eye(table.shape[1]) / mean
                close, far = (float(bound) for bound in np.percentile(squares / mean, (CLOSE, FAR)))
                self.bounds_ = close, far
            else:
                matrix = self.mahalanobis_matrix_
            with blas_threads_for(len(matrix)):
                problem = PairProblem(table, signed, self.bounds_, lego_change, self.learning_rate)
                result = PairPasses().solve(problem, matrix, monitor)
                self.components_ = fix_signs(psd_factor(matrix))
        self.n_updates_: int = n_updates + result.solution[1]
        self.n_pairs_: int = n_pairs + result.history[-1]["n_steps"]
        self._set_result(result, stacklevel=5)
