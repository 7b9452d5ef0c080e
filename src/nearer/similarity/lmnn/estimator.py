"""LMNN: large margin nearest neighbours, as a scikit-learn estimator.

``fit`` validates, sorts rows by class, chooses targets (:mod:`nearer.similarity.lmnn.targets`), states the problem
(:mod:`nearer.similarity.lmnn.problem`), lowers it (:mod:`nearer.similarity.lmnn.descent`) and sets what was
learned. The objective knows its own unit, the margin of 1. So rows are measured such that a row and its target are
1 apart in the mean, and the units of X make no difference.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from nearer.models import SavedModel
from nearer.parameters import check, is_count, is_number, unchanged_on_failure
from nearer.progress import progress
from nearer.similarity.comparer import FeatureComparer, fix_signs
from nearer.similarity.inputs import validate_labelled
from nearer.similarity.lmnn.descent import Watch, descend, step_covariance, unfolded
from nearer.similarity.lmnn.problem import LargeMargin
from nearer.similarity.lmnn.targets import target_neighbors
from nearer.similarity.row_space import varying_directions


class LMNN(FeatureComparer, SavedModel, BaseEstimator):
    """A distance for nearest neighbours: those of a row's class drawn near, others pushed a margin further off.

    Minimises ``regularization * Σ d(i, j) + (1 - regularization) * Σ [1 + d(i, j) - d(i, l)]₊`` over maps L, with
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
        Share of the pull, above 0 and below 1: 1 - μ of the paper.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-5
        The fit has converged when three iterations in a row lower the objective by no more than this share of it.
    callback : callable, optional
        Called with each record of ``history_`` and the ``components`` so far; True stops the fit.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        L. A column that is constant has weight 0.
    history_ : list of dict
        A record an iteration, the first of the start: iteration, loss (the objective), active (hinges that are not
        zero), seconds since the fit began.
    n_iter_ : int
        Iterations taken.
    converged_ : bool
        Whether the objective had settled before ``max_iter``.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    The objective is that of all triplets. Impostors are looked for among all rows, block by block, and what is
    found is kept as long as nobody else can have come within reach; memory grows with the rows, and by 200 MB at
    most for pairs. Nothing is random. Other units of X as a whole give the same distances; other units of single
    columns do not, since they change which rows are targets.

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

    _learned_arrays = ("components_", "feature_names_in_")
    _learned_values = ("history_", "n_iter_", "converged_", "n_features_in_")

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        n_components: int | None = None,
        regularization: float = 0.5,
        max_iter: int = 200,
        tol: float = 1e-5,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose

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
        begun = time.perf_counter()
        self._check_parameters()
        with unchanged_on_failure(self):
            table, labels = validate_labelled(self, X, y)
            d = table.shape[1]
            good = self.n_components is None or self.n_components <= d
            check(self, "n_components", good, f"at most {d}, the columns of X")
            classes, numbers = np.unique(labels, return_inverse=True)
            if len(classes) < 2:
                raise ValueError(f"y has 1 class, '{classes[0]}'; LMNN tells classes apart and needs two")
            order = np.argsort(numbers, kind="stable")
            rows, numbers = table[order] - table.mean(axis=0), numbers[order]
            varying = varying_directions(rows)
            rows = rows @ varying
            targets = target_neighbors(rows, numbers, min(self.n_neighbors, int(np.bincount(numbers).max()) - 1))
            steps = step_covariance(rows, targets)
            unit = float(np.sqrt(np.trace(steps)))  # of distance
            rows, steps = rows / unit, steps / unit**2
            watch = Watch(self.max_iter, self.tol, lambda L: L @ varying.T / unit, self.callback, begun=begun)
            n_components, share = min(self.n_components or d, rows.shape[1]), 1.0 - float(self.regularization)
            first = np.eye(rows.shape[1])
            if n_components < len(first):
                first = unfolded(rows, numbers, targets, share, n_components)
            problem = LargeMargin(rows, numbers, targets, share)
            with progress(self.max_iter, "iteration", self.verbose) as watch.bar:
                learned = descend(problem, first, steps, watch)
            self.components_ = fix_signs(watch.as_given(learned))
            self.history_ = watch.history
            self.n_iter_ = len(watch.history) - 1
            self.converged_ = watch.converged
        if not (watch.converged or watch.stopped):
            warnings.warn(
                f"the fit ended after {self.n_iter_} iterations, the last of which still lowered the objective to "
                f"{watch.history[-1]['loss']:.6g}: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        check(self, "n_neighbors", is_count(self.n_neighbors), "a positive integer")
        good = self.n_components is None or is_count(self.n_components)
        check(self, "n_components", good, "None or a positive integer")
        share = self.regularization
        check(self, "regularization", is_number(share) and 0 < share < 1, "a number above 0 and below 1")
        check(self, "max_iter", is_count(self.max_iter), "a positive integer")
        check(self, "tol", is_number(self.tol) and self.tol >= 0, "a number >= 0")
        check(self, "callback", self.callback is None or callable(self.callback), "None or a function of a record")
