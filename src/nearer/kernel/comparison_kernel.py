"""ComparisonKernel: the best kernel for all answers at once, as a scikit-learn estimator.

``fit`` checks its input, states the convex program (:mod:`nearer.kernel.convex`), solves it under a monitor
(:mod:`nearer.kernel.solver`), and sets the learned attributes.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from nearer.blas import blas_threads_for
from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import mentioned_objects
from nearer.comparisons.random_state import child_generator
from nearer.iterative import IterativeEstimator
from nearer.kernel.convex import KernelProblem
from nearer.kernel.predict import KernelPredictor, check_kernel, kernel_distances
from nearer.kernel.solver import ProximalLBFGS, Solution
from nearer.losses import as_loss, baseline_loss, loss_trait, losses_with
from nearer.models import SavedModel
from nearer.monitor import Monitor
from nearer.parameters import parametrized
from nearer.selection import clearly_worse, select_ridge

# From the largest, where ranks are low and fits cheap. They are larger than a map's, since a kernel overfits more.
RIDGES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
TRIAL_ROUNDS, TRIAL_TOL = 4, 3e-3  # a ridge is judged by its errors, which settle before the objective


@parametrized
class ComparisonKernel(KernelPredictor, IterativeEstimator, SavedModel, BaseEstimator):
    """The best kernel for all answers to "is a nearer to b or to c?", with a certificate.

    Minimizes the mean loss of the comparisons plus ``regularization * trace(K) / n`` over the positive
    semidefinite matrices K of n objects. That is the objective of :class:`nearer.OrdinalEmbedding` with K = XXᵀ
    for points X of any number of dimensions. For GNMDS and STE it is convex, so the result does not depend on a
    start.

    Parameters
    ----------
    loss : {"gnmds", "ste", "ckl"} or object, default="gnmds"
        Loss of a comparison: a name, a loss of :mod:`nearer.losses` with parameters, or your own object
        with ``value``, ``slopes`` and ``probability`` of two squared distances. CKL is not convex: a stationary
        point is found. A loss of your own should be smooth; if it is convex and never negative, declare it by an
        attribute ``convex = True``, and the optimum is certified.
    regularization : "auto" or float, default="auto"
        Strength of the ridge, which pulls all objects to the origin and keeps the rank low. "auto" tries 1, 0.3,
        0.1, 0.03, 0.01, 0.003, 0.001 and 0.0003 until held-out answers are predicted clearly worse, takes the
        smallest that predicts them as well as any, then learns from all answers; ``regularization_`` and
        ``selection_`` say which. (More than 500,000 rows are judged by a sample, and the ridge is scaled to all.
        Fewer than five answers cannot be judged: 0.01.) With 0 an optimum need not exist: the loss of answers
        without contradictions falls as the kernel grows.
    max_iter : int, default=1000
        Rounds at most: each is a certificate, a proximal gradient step, and up to 50 steps of L-BFGS over points.
    tol : float, default=1e-5
        The fit has converged when the gap is at most this share of the loss with all objects at one place. Without
        a gap (CKL, or a regularization of 0) the residual has to be: the length of a proximal gradient step over
        its step size, times the norm of the kernel.
    random_state : int, RandomState or None, default=None
        Draws the folds of "auto"; nothing else is random.
    max_seconds : float, optional
        End the fit after this time with the best kernel so far.
    callback : callable, optional
        Called once per round with the record of ``history_`` and the best ``kernel`` so far, and before that,
        while the ridge is chosen, once per trial; ``stage`` says which. Returning True ends the fit.
    verbose : bool, default=False
        Show progress bars.

    Attributes
    ----------
    kernel_ : array of shape (n_objects, n_objects)
        The kernel: symmetric, positive semidefinite and, with a ridge, centered: its rows sum to zero. Objects that
        no comparison mentions are at the origin.
    loss_ : object
        The loss as used.
    objective_ : float
        The objective of ``kernel_``.
    names_ : tuple of str or None
        Names of the objects, if the comparisons had them.
    gap_ : float or None
        Upper bound of ``objective_`` minus the optimum. None if nothing is certified: for a loss that is not
        convex, or a regularization of 0.
    regularization_ : float
        The ridge as used.
    selection_ : list of dict or None
        One record per ridge that "auto" tried: regularization, error (the share of held-out answers that it
        got wrong), standard_error, difference to the chosen one, and whether it was chosen. None if there was
        nothing to choose.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether gap or residual fell below ``tol``.
    stop_reason_ : str
        Why the fit ended: "converged", "max_iter", "time", "callback" or "interrupted" (Ctrl-C, which keeps the
        best kernel so far).
    history_ : list of dict
        One record per round: iteration, loss (the lowest objective so far), step_size of the proximal step, rank,
        gap (or residual), and seconds since the fit began. The ridge is chosen before the first record.
    n_features_in_ : int
        Columns of the comparisons: 3 or 4.

    Notes
    -----
    Memory grows with the square of the number of objects and time with the cube: suited to a few thousand.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import ComparisonKernel, simulate
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> train, test = simulate.comparisons_from_points(points, 1500, random_state=0).split(random_state=0)
    >>> model = ComparisonKernel("ste", regularization=0.01).fit(train)
    >>> model.kernel_.shape, model.converged_, bool(model.gap_ < 1e-5)
    ((20, 20), True, True)
    >>> bool(model.score(test) > 0.9)
    True
    >>> model.embed(2).shape
    (20, 2)
    """

    _learned_arrays = ("kernel_",)
    _learned_values = (
        "loss_", "names_", "n_iter_", "converged_", "stop_reason_", "gap_", "objective_", "history_",
        "n_features_in_", "regularization_", "selection_",
    )  # fmt: skip

    loss: Any = "gnmds"
    _: KW_ONLY
    regularization: float | str = "auto"
    max_iter: int = 1000
    tol: float = 1e-5
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def _fit(self, comparisons: Comparisons) -> None:
        loss = _kernel_loss(self.loss, comparisons.n_objects)
        unit = baseline_loss(loss)
        with (
            blas_threads_for(comparisons.n_objects),
            self._monitor(self.tol * unit, view=lambda best: {"kernel": best.kernel}) as monitor,
        ):
            ridge, start = self._start(comparisons, loss, monitor)
            result = ProximalLBFGS().solve(KernelProblem(comparisons, loss, ridge), start, monitor)
        best = result.solution
        self.kernel_ = 0.5 * (best.kernel + best.kernel.T)
        self.gap_, self.objective_ = best.gap, best.objective
        self.loss_, self.regularization_, self.names_ = loss, ridge, comparisons.names
        self.n_features_in_ = comparisons.shape[1]
        self._set_result(result, stacklevel=4, unit=unit)

    def _check_combinations(self) -> None:
        _kernel_loss(self.loss, 2)

    def _start(self, comparisons: Comparisons, loss: Any, monitor: Monitor) -> tuple[float, np.ndarray]:
        """Return the ridge, chosen where it is "auto", and points to start from."""
        points = equidistant_points(comparisons)
        if self.regularization != "auto":
            return float(self.regularization), points

        def fit(part: Comparisons, ridge: float, start: Solution, monitor: Monitor) -> Solution:
            problem = KernelProblem(part, loss, ridge, start.multipliers)
            short = monitor.child(TRIAL_ROUNDS, TRIAL_TOL * baseline_loss(loss))
            return ProximalLBFGS().solve(problem, start.points, short).solution

        ridge, solution, selection = select_ridge(
            comparisons, RIDGES, fit, lambda solution, rows: kernel_distances(solution.kernel, rows),
            Solution(points, points @ points.T), child_generator(self.random_state), monitor, give_up=clearly_worse,
        )  # fmt: skip
        self.selection_ = selection.records()
        return ridge, solution.points

    def _loaded(self) -> None:
        """Set what a model file does not hold, and refuse what does not fit together."""
        if not hasattr(self, "loss_"):
            self.loss_ = _kernel_loss(self.loss, len(self.kernel_))
        check_kernel(self.kernel_, self.names_)


def _kernel_loss(loss: Any, n_objects: int) -> Any:
    """Return the loss object; ValueError if a kernel cannot be learned with it."""
    usable = as_loss(loss, n_objects)
    if not loss_trait(usable, "kernel_form"):
        accepted = ", ".join(f'"{name}"' for name in losses_with("kernel_form")) + ", or an object of your own"
        raise ValueError(f"{loss!r} has no convex form over kernels: loss must be {accepted}")
    return usable


def equidistant_points(comparisons: Comparisons) -> np.ndarray:
    """Return points with equal, small distances; objects that no comparison mentions are at the origin."""
    mentioned = mentioned_objects(comparisons).astype(np.float64)
    return (np.diag(mentioned) - np.outer(mentioned, mentioned) / mentioned.sum()) / np.sqrt(len(mentioned))
