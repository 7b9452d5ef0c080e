"""LMNN: large margin nearest neighbors, as a scikit-learn estimator.

``fit`` checks its input, sorts rows by class, chooses targets, states the problem
(:mod:`nearer.similarity.lmnn.problem`), solves it (:mod:`nearer.similarity.lmnn.solver`) and sets what was
learned. The objective has its own unit, the margin of 1. So rows are scaled such that a row and its target are 1
apart on average, and the units of X make no difference.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from nearer.blas import blas_threads_for
from nearer.features.validation import check_range
from nearer.iterative import IterativeEstimator
from nearer.models import SavedModel
from nearer.parameters import COUNT, FRACTION, NONE, check_parameters, either, parametrized, unchanged_on_failure
from nearer.psd import fix_signs
from nearer.similarity.comparer import FeatureComparer
from nearer.similarity.inputs import check_n_components, validate_labelled
from nearer.similarity.lmnn.problem import LargeMargin, target_covariance, target_neighbors
from nearer.similarity.lmnn.solver import ScaledLBFGS, first_map
from nearer.similarity.row_space import varying_directions


@parametrized
class LMNN(FeatureComparer, IterativeEstimator, SavedModel, BaseEstimator):
    """Large margin nearest neighbors: a distance that pulls neighbors of a class near and pushes others away.

    Minimizes ``regularization * Σ d(i, j) + (1 - regularization) * Σ [1 + d(i, j) - d(i, l)]₊`` over maps L, with
    d(i, j) = ‖L(x_i - x_j)‖²: i any row, j its targets (the nearest of its class by plain distance), l any row of
    another class.

    Parameters
    ----------
    n_neighbors : int, default=3
        Targets of a row. A class with fewer other members uses all of them.
    n_components : int, optional
        Rows of L, d at most; by default d. Fewer where X has fewer independent columns. The fit with fewer than
        those starts from a rough one with all, cut back to its best components.
    regularization : float, default=0.5
        Share of the pull, between 0 and 1: 1 - μ of the paper.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-5
        The fit has converged when three iterations in a row lower the objective by no more than this share of it.
    max_seconds : float, optional
        End the fit after this time with the distance so far.
    callback : callable, optional
        Called with each record of ``history_`` and the ``components`` so far; returning True ends the fit.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        L. A column that is constant has weight 0.
    history_ : list of dict
        One record per iteration, the first of the start: iteration, loss (the objective), active (hinges that are
        not zero), seconds since the fit began.
    n_iter_ : int
        Iterations taken.
    converged_ : bool
        Whether the objective had settled before the fit had to end.
    stop_reason_ : str
        Why the fit ended: "converged", "max_iter", "time", "callback" or "interrupted" (Ctrl-C, which keeps the
        distance so far).
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    The objective is that of all triplets. Impostors are searched among all rows, block by block, and kept as long
    as no others can have come within reach; memory grows with the rows, and by at most 200 MB for pairs. Nothing
    is random. Other units of X as a whole give the same distances; other units of single columns do not, since
    they change which rows are targets.

    References
    ----------
    Weinberger and Saul, "Distance metric learning for large margin nearest neighbor classification", 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.preprocessing import minmax_scale
    >>> from nearer.similarity import LMNN
    >>> X, y = load_wine(return_X_y=True)
    >>> X = minmax_scale(X, (-1, 1))
    >>> model = LMNN().fit(X[::2], y[::2])
    >>> learned = KNeighborsClassifier(3).fit(model.transform(X[::2]), y[::2])
    >>> learned.score(model.transform(X[1::2]), y[1::2]) > 0.95
    True
    """

    _learned_values = ("history_", "n_iter_", "converged_", "stop_reason_", "n_features_in_", "threshold_")
    _constraints: ClassVar = {
        "n_neighbors": COUNT,
        "n_components": either(NONE, COUNT),
        "regularization": FRACTION,
    }

    n_neighbors: int = 3
    _: KW_ONLY
    n_components: int | None = None
    regularization: float = 0.5
    max_iter: int = 200
    tol: float = 1e-5
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the distance.

        Parameters
        ----------
        X : array of shape (n, d)
            Features, dense.
        y : array of shape (n,)
            Class labels.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self), self._monitor(self.tol, relative=True) as monitor:
            table, labels = validate_labelled(self, X, y)
            check_range(table)
            check_n_components(self, table)
            problem, directions, unit = self._problem(table, labels)
            monitor.view = lambda L: {"components": L @ directions.T / unit}
            n_components = min(self.n_components or table.shape[1], problem.X.shape[1])
            with blas_threads_for(len(table)):
                result = ScaledLBFGS().solve(problem, first_map(problem, n_components, monitor), monitor)
            self.components_ = fix_signs(result.solution @ directions.T / unit)
        self._set_result(result)
        return self

    def _problem(self, table: np.ndarray, labels: np.ndarray) -> tuple[LargeMargin, np.ndarray, float]:
        """Return the problem of the rows sorted by class, the directions they vary in, and their unit."""
        classes, numbers = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, '{classes[0]}'; LMNN tells classes apart and needs two")
        order = np.argsort(numbers, kind="stable")
        rows, numbers = table[order] - table.mean(axis=0), numbers[order]
        directions = varying_directions(rows)
        rows = rows @ directions
        targets = target_neighbors(rows, numbers, min(self.n_neighbors, int(np.bincount(numbers).max()) - 1))
        covariance = target_covariance(rows, targets)
        unit = float(np.sqrt(np.trace(covariance)))
        problem = LargeMargin(rows / unit, numbers, targets, 1.0 - float(self.regularization))
        problem.target_covariance = covariance / unit**2
        return problem, directions, unit
