"""ComparisonKernel: the kernel that is best for all answers at once, as a scikit-learn estimator.

``fit`` validates, states the convex program (:mod:`nearer.kernel.convex`), solves it (:mod:`nearer.kernel.solver`)
and sets what was learned, with the proof of how good it is.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from nearer import folds
from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import as_comparisons, drop_zero_weights, mentioned_objects
from nearer.comparisons.random_state import child_generator
from nearer.kernel.convex import KernelProblem
from nearer.kernel.predict import KernelPredictor, check_kernel, kernel_distances
from nearer.kernel.solver import Solution, Watch, solve
from nearer.losses import as_loss, baseline_loss, loss_trait, losses_with
from nearer.models import SavedModel
from nearer.parameters import check, is_count, is_number
from nearer.progress import progress

# From the top, where ranks are low and rungs cheap. It is higher than a map's: a kernel has all the dimensions
# there are to learn answers by heart in.
LADDER = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
RUNG_ITER, RUNG_TOL = 4, 3e-3  # a rung is judged by its errors, which settle long before the objective


class ComparisonKernel(KernelPredictor, SavedModel, BaseEstimator):
    """The kernel that is best for all answers to "is a nearer to b or to c?", with a proof of it.

    Minimises the mean loss of the comparisons plus ``regularization * trace(K) / n`` over the positive
    semidefinite matrices K of n objects. That is the objective of :class:`nearer.OrdinalEmbedding` with K = XXᵀ
    for points X of as many dimensions as it takes; for GNMDS and STE it is convex, so there is one optimum and
    no start to choose.

    Parameters
    ----------
    loss : {"gnmds", "ste", "ckl"} or object, default="gnmds"
        How badly a comparison is met: a name, a loss of :mod:`nearer.losses` with parameters, or your own object
        with ``value``, ``slopes`` and ``probability`` of two squared distances. CKL is not convex: a stationary
        point is found. A loss of your own should be smooth; where it is convex (and never negative), say so by
        an attribute ``convex = True``, and the optimum is proved.
    regularization : "auto" or float, default="auto"
        Pull of all objects to the middle, which also keeps the rank low. "auto" walks down 1, 0.3, 0.1, 0.03,
        0.01, 0.003, 0.001 and 0.0003 until a step predicts held-out answers clearly worse, takes the smallest
        that predicts them as well as any, then learns from all answers; ``regularization_`` says which. (More
        than 500,000 rows are judged by a sample, and the ridge is scaled to all. Fewer than five answers cannot
        be judged: 0.01.) With 0 there need not be an optimum: answers without contradictions are met ever better
        by ever larger kernels.
    max_iter : int, default=1000
        Rounds at most: each is a projected gradient step, up to fifty steps of L-BFGS on points of its rank,
        and a proof.
    tol : float, default=1e-5
        The fit has converged when the gap is no more than this share of the loss of a kernel that knows nothing
        (all objects at one place). Without a gap (CKL, or a regularization of 0) the same is asked of the
        residual, the length of a projected gradient step over its step size, times the size of the kernel.
    random_state : int, RandomState or None, default=None
        Draws the folds of "auto"; nothing else is random.
    callback : callable, optional
        Called once a round with the record of ``history_`` and the best ``kernel`` so far; returning True stops
        the fit, which keeps that kernel.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    kernel_ : array of shape (n_objects, n_objects)
        The kernel: symmetric, positive semidefinite and, with a ridge, its rows summing to zero. Objects that no
        comparison mentions are at the origin.
    gap_ : float or None
        Upper bound of ``objective_`` minus that of the best kernel there is. None where nothing is proved: for
        a loss that is not convex, or a regularization of 0.
    objective_ : float
        The objective of ``kernel_``.
    loss_ : object
        The loss as used.
    regularization_ : float
        The ridge as used.
    names_ : tuple of str or None
        Names of the objects, where the comparisons had them.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether gap or residual fell below ``tol`` before ``max_iter``.
    history_ : list of dict
        A record a round: iteration, loss (the lowest objective so far), step_size of the projected step, rank,
        gap (or residual), and seconds since the fit began. Finding the ridge comes before the first record.
    n_features_in_ : int
        Columns of the comparisons: 3 or 4.

    Notes
    -----
    Memory and time grow with the square and the cube of the number of objects: suited to some thousand of them.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import ComparisonKernel
    >>> from nearer.simulate import comparisons_from_points
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> train, test = comparisons_from_points(points, 1500, random_state=0).split(random_state=0)
    >>> model = ComparisonKernel("ste", regularization=0.01).fit(train)
    >>> model.kernel_.shape, model.converged_, bool(model.gap_ < 1e-5)
    ((20, 20), True, True)
    >>> bool(model.score(test) > 0.9)
    True
    >>> model.embedding(2).shape
    (20, 2)
    """

    _learned_arrays = ("kernel_",)
    _learned_values = (
        "loss_", "names_", "n_iter_", "converged_", "gap_", "objective_", "history_", "n_features_in_",
        "regularization_",
    )  # fmt: skip

    def __init__(
        self,
        loss: Any = "gnmds",
        *,
        regularization: float | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the kernel.

        Parameters
        ----------
        comparisons : Comparisons, ComparisonSource, array of shape (n, 3) or (n, 4), or DataFrame
            Rows (a, b, c) say d(a, b) < d(a, c); rows (i, j, l, k) say d(i, j) < d(l, k).
        y : array of bool or ±1, optional
            Then the rows are questions and y the answers: False or -1 turns a row around.
        sample_weight : array of shape (n,), optional
            Multiplies the comparisons' weights.

        Returns
        -------
        self
        """
        begun = time.perf_counter()
        given = drop_zero_weights(as_comparisons(comparisons, y, sample_weight))
        self._check_parameters()
        if len(given) == 0:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        loss = _usable(self.loss, given.n_objects)
        start, ridge = starting_points(given), self.regularization
        if isinstance(ridge, str):
            ridge, start = chosen_ridge(given, loss, start, child_generator(self.random_state))
        watch = Watch(self.max_iter, self.tol * baseline_loss(loss), self.callback, begun=begun)
        with progress(self.max_iter, "round", self.verbose) as watch.bar:
            found = solve(KernelProblem(given, loss, float(ridge)), start, watch)
        self.kernel_ = 0.5 * (found.kernel + found.kernel.T)
        self.gap_ = found.gap
        self.objective_ = found.objective
        self.loss_ = loss
        self.regularization_ = float(ridge)
        self.names_ = given.names
        self.history_ = watch.history
        self.n_iter_ = len(watch.history) - 1
        self.converged_ = watch.converged
        self.n_features_in_ = given.shape[1]
        if not (watch.converged or watch.stopped):
            left = (
                f"a residual of {watch.history[-1]['residual']:.2g}"
                if found.gap is None
                else (f"an objective of {found.objective:.6g}, at most {found.gap:.2g} above the best")
            )
            warnings.warn(
                f"the fit ended after {self.n_iter_} rounds with {left}; tol={self.tol} asks for {watch.tol:.2g}: "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        ridge = self.regularization
        good = ridge == "auto" if isinstance(ridge, str) else is_number(ridge) and ridge >= 0
        check(self, "regularization", good, "'auto' or a number >= 0")
        check(self, "max_iter", is_count(self.max_iter), "a positive integer")
        check(self, "tol", is_number(self.tol) and self.tol >= 0, "a number >= 0")
        check(self, "callback", self.callback is None or callable(self.callback), "None or a function of a record")

    def _loaded(self) -> None:
        """Settle what a model file does not hold, and refuse what does not fit together."""
        if not hasattr(self, "loss_"):
            self.loss_ = _usable(self.loss, len(self.kernel_))
        check_kernel(self.kernel_, self.names_)


def _usable(loss: Any, n_objects: int) -> Any:
    """Return the loss object, unless a kernel cannot be learned with it."""
    usable = as_loss(loss, n_objects)
    if not loss_trait(usable, "kernel_form"):
        accepted = ", ".join(f'"{name}"' for name in losses_with("kernel_form")) + ", or an object of your own"
        raise ValueError(f"{loss!r} has no convex form over kernels: loss must be {accepted}")
    return usable


def starting_points(comparisons: Comparisons) -> np.ndarray:
    """Return points all equally far from each other, and not far; objects not asked about at the origin."""
    asked = mentioned_objects(comparisons).astype(np.float64)
    return (np.diag(asked) - np.outer(asked, asked) / asked.sum()) / np.sqrt(len(asked))


def chosen_ridge(
    comparisons: Comparisons, loss: Any, start: np.ndarray, random: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the ridge that the answers call for, and points of the kernel it led to."""

    def learn(train: Comparisons, ridge: float, begin: Solution) -> Solution:
        problem = KernelProblem(train, loss, ridge, begin.multipliers)
        return solve(problem, begin.points, Watch(RUNG_ITER, RUNG_TOL * baseline_loss(loss)))

    def distances(found: Solution, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return kernel_distances(found.kernel, rows)

    first = Solution(start, start @ start.T, np.inf, None)
    ridge, found = folds.chosen_ridge(comparisons, learn, distances, first, random, (LADDER,), give_up=True)
    return ridge, found.points
