"""ITML: the Mahalanobis distance nearest to a prior in LogDet divergence that keeps similar pairs close.

Davis et al. 2007: A minimizes D(A, A₀) = tr(AA₀⁻¹) - log det(AA₀⁻¹) - d subject to zᵀAz ≤ u for similar pairs and
≥ l for dissimilar ones, with slack. Bregman projections onto one constraint after another are rank-one changes
A ← A + β Az zᵀA that keep A positive definite. The step is that of the paper for any slack γ,
γ/(γ+1) (1/p - 1/ξ), which is the often quoted ½(1/p - γ/ξ) at γ = 1 only.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from nearer.blas import blas_threads_for
from nearer.comparisons.random_state import child_generator
from nearer.iterative import IterativeEstimator
from nearer.parameters import NONE, POSITIVE, Constraint, either, is_number, parametrized
from nearer.psd import fix_signs, psd_factor
from nearer.similarity.estimator import SimilarityEstimator
from nearer.similarity.logdet import PairPasses, PairProblem, squared_distance_sample, validate_pairs
from nearer.similarity.loops import itml_change
from nearer.similarity.pairs import is_pairs

CLOSE, FAR = 10, 90  # percentiles of all squared distances: the default bounds
SINGULAR = 10 * np.finfo(np.float64).eps  # times the size of a matrix: the largest round-off of eigenvalues


def _are_bounds(value: Any) -> bool:
    two = isinstance(value, list | tuple | np.ndarray) and len(value) == 2
    return two and all(is_number(bound) for bound in value) and 0 < value[0] <= value[1]


@parametrized
class ITML(IterativeEstimator, SimilarityEstimator):
    """Information-theoretic metric learning: similar pairs come close, others stay apart, little else changes.

    Parameters
    ----------
    gamma : float, default=0.1
        How much the constraints weigh against the prior: the larger, the harder they are.
    max_iter : int, default=1000
        Passes over the constraints at most.
    tol : float, default=1e-3
        The fit has converged when a pass changes the multipliers by no more than this share of their sum.
    n_constraints : int, optional
        How many pairs of each kind to draw from labels; by default 20 times the square of the number of classes,
        200,000 at most.
    prior : {"identity", "covariance"} or array of shape (d, d), default="identity"
        The distance to stay near to: Euclidean, that of features whitened by the covariance of the rows that are in
        pairs, or a positive definite matrix.
    bounds : tuple of two floats, optional
        Squared distances that similar pairs should be within and others beyond; by default the 10th and the 90th
        percentile of those between objects drawn at random, under the prior.
    random_state : int, Generator, RandomState or None
        Draws constraints and the pairs that the bounds are read from.
    max_seconds : float, optional
        End the fit after this time with the distance so far.
    callback : callable, optional
        Called with each record of ``history_``; returning True ends the fit.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        L of the distance ‖L(x - x')‖: d rows, or fewer if the prior has a smaller rank.
    mahalanobis_matrix_ : array of shape (d, d)
        LᵀL.
    bounds_ : tuple of two floats
        The bounds used.
    threshold_ : float
        The distance up to which :meth:`predict` takes a pair as similar; after a fit to pairs only.
    history_ : list of dict
        One record per pass: iteration, loss (the share of pairs that violated their bound when they were reached),
        residual (the relative change of the multipliers), n_steps (pairs so far), seconds.
    n_iter_ : int
        Passes taken.
    converged_ : bool
        Whether ``tol`` ended the fit.
    stop_reason_ : str
        Why the fit ended: "converged", "max_iter", "time", "callback" or "interrupted" (Ctrl-C, which keeps the
        distance so far).
    n_features_in_ : int
        Number of columns.

    References
    ----------
    Davis, Kulis, Jain, Sra, Dhillon, "Information-theoretic metric learning", 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nearer import ITML
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(ITML(random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    _learned_values = (
        "bounds_",
        "history_",
        "n_iter_",
        "converged_",
        "stop_reason_",
        "n_features_in_",
        "threshold_",
    )
    _constraints: ClassVar = {
        "gamma": POSITIVE,
        "bounds": either(NONE, Constraint(_are_bounds, "two numbers > 0, the smaller first")),
    }

    gamma: float = 0.1
    _: KW_ONLY
    max_iter: int = 1000
    tol: float = 1e-3
    n_constraints: int | None = None
    prior: Any = "identity"
    bounds: tuple[float, float] | None = None
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None, pairs: Any = None) -> Self:
        """Learn the distance.

        Parameters
        ----------
        X : array of shape (n, d), or (m, 2, d)
            Features, one row per object; or of the two objects of each pair, as in metric-learn.
        y : array of shape (n,), optional
            Class labels: pairs are drawn. With pairs, 1 or -1 for each of these: similar or not.
        comparisons : Comparisons, array of shape (m, 3) or (m, 4), or DataFrame, optional
            Rows (a, b, c) of row numbers of X: a and b are taken as similar, a and c as not; of (i, j, l, k), i and
            j are similar, l and k are not. Then y is ignored.
        pairs : array of shape (m, 2), optional
            Row numbers of X; y says which are similar. The threshold of :meth:`predict` is then calibrated on them.

        Returns
        -------
        self
        """
        if pairs is None and comparisons is None and is_pairs(X):
            X = np.stack(X, axis=1) if isinstance(X, tuple) and len(X) == 2 else np.asarray(X)
            if X.shape[1] != 2:
                raise ValueError(f"pairs of objects must have shape (n, 2, features); got shape {X.shape}")
            pairs, X = np.arange(2 * len(X)).reshape(-1, 2), X.reshape(-1, X.shape[2])
        return self._checked_fit(X, y, comparisons, pairs=pairs)

    def _fit(self, X: Any, y: Any, comparisons: Any, pairs: Any = None) -> None:
        random = child_generator(self.random_state)
        with self._monitor(self.tol) as monitor:
            table, signed = validate_pairs(self, X, y, comparisons, random, pairs=pairs)
            matrix, unit = prior_matrix(self.prior, table[np.unique(signed.rows)])
            table = table / unit
            bounds: Any = self.bounds
            with blas_threads_for(len(matrix)):
                if bounds is None:
                    squares = squared_distance_sample(table @ psd_factor(matrix).T, random)
                    bounds = np.percentile(squares, (CLOSE, FAR))
                close, far = (float(bound) for bound in bounds)
                problem = PairProblem(table, signed, (close, far), itml_change, self.gamma)
                result = PairPasses(settle=True).solve(problem, matrix, monitor)
                self.components_ = fix_signs(psd_factor(matrix) / unit)
        self.bounds_ = close, far
        if pairs is not None and np.ptp(signed.signs) > 0:
            first, second = (np.asarray(X)[signed.rows[:, side]] for side in (0, 1))
            self.calibrate_threshold((first, second), signed.signs)
        self._set_result(result, stacklevel=5)


def prior_matrix(prior: Any, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a new positive semidefinite matrix for a prior, and the units of the columns that it is in."""
    d = table.shape[1]
    if isinstance(prior, str):
        if prior == "identity":
            return np.eye(d), np.ones(d)
        if prior == "covariance":
            unit = table.std(axis=0)
            unit[unit == 0.0] = 1.0
            return np.linalg.pinv(np.atleast_2d(np.cov(table / unit, rowvar=False)), hermitian=True), unit
        raise ValueError(f"prior must be 'identity', 'covariance' or a matrix; got {prior!r}")
    matrix = np.array(prior, dtype=np.float64)
    if matrix.shape != (d, d):
        raise ValueError(f"a prior of {d} features is a matrix of shape {(d, d)}; got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise ValueError("a prior is a symmetric matrix of finite numbers; this one is not")
    eigenvalues = np.linalg.eigvalsh(matrix)
    lowest = float(eigenvalues[0])
    if lowest <= SINGULAR * d * abs(eigenvalues).max():  # an eigenvalue of 0 comes out positive or negative
        raise ValueError(f"a prior is positive definite; the smallest eigenvalue of this one is {lowest:.3g}")
    return matrix, np.ones(d)
