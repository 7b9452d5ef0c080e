"""BilinearSimilarity: S(x, x') = xᵀMx', learned from triplets of features, as a scikit-learn estimator.

``fit`` checks its input, draws triplets from labels, chooses λ (:mod:`nearer.similarity.regularization`), has a
solver (:mod:`~nearer.similarity.sdca`, :mod:`~nearer.similarity.oasis`) solve the problem under a monitor, and sets the
learned attributes.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nearer.blas import blas_threads_for
from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import resumed_generator
from nearer.features.validation import check_scale
from nearer.iterative import IterativeEstimator
from nearer.monitor import Monitor, Result
from nearer.parameters import AUTO, BOOL, COUNT, NONE, POSITIVE, either, parametrized
from nearer.psd import fix_signs, psd_factor
from nearer.similarity.estimator import SimilarityEstimator
from nearer.similarity.inputs import MIN_TRIPLETS, default_n_triplets, validate_input
from nearer.similarity.oasis import OASIS
from nearer.similarity.problem import Problem, Solution
from nearer.similarity.projection import available
from nearer.similarity.regularization import select_regularization
from nearer.similarity.sdca import SDCA, DualLBFGS, prefers_lbfgs
from nearer.similarity.triplets import Triplets
from nearer.simulate import comparisons_from_labels
from nearer.solver import as_solver, solver_of

SOLVERS: dict[str, Any] = {"sdca": SDCA, "oasis": OASIS}
MAX_FEATURES = 32_768  # a matrix of that side takes 8.6 GB


if_online = available(
    lambda model: isinstance(as_solver(model.solver, SOLVERS), OASIS),
    "only OASIS continues from earlier triplets, with partial_fit",
)


@parametrized
class BilinearSimilarity(IterativeEstimator, SimilarityEstimator):
    """A similarity of features, S(x, x') = xᵀMx', learned from "x is more similar to x⁺ than to x⁻".

    Minimizes the mean of (1 - S(x, x⁺) + S(x, x⁻))₊² over triplets plus ``regularization / 2 * ‖M‖²`` by
    stochastic dual coordinate ascent, which bounds its distance from the optimum; or learns online, triplet by
    triplet, as OASIS. The similarity need not be symmetric. It compares directions and lengths, not positions:
    scale the features so that zero means something, for instance to [-1, 1] or to rows of unit length.

    Parameters
    ----------
    solver : {"sdca", "oasis"} or object, default="sdca"
        SDCA minimizes the objective above. OASIS takes passive-aggressive steps from M = I. A name, or a solver of
        :mod:`nearer.similarity` with parameters: ``SDCA(output="last")``, ``OASIS(aggressiveness=0.01)``.
        On dense tables of at least 400 columns with at least six triplets per object, "sdca" without ``max_iter``
        maximizes the same dual by L-BFGS, which reaches the same gap in less time; ``SDCA()`` always takes steps.
    regularization : "auto" or float, default="auto"
        λ of SDCA. "auto" tries values from large to small on held-out data: a fifth of the objects of each class
        judged by mean average precision, or a fifth of the comparisons by the share satisfied. ``selection_`` says
        what was tried, ``regularization_`` what was used. Of many comparisons only some are tried, and λ is then
        multiplied by their share of all. For the search, dense tables of at least 400 columns are projected onto
        their 256 leading axes.
    n_triplets : int, optional
        How many triplets to draw from labels. By default twenty per object, at least 10,000 and at most 200,000.
    sampling : {"instances", "classes"}, default="instances"
        Whether triplets are drawn evenly over objects or over classes; see
        :func:`nearer.simulate.comparisons_from_labels`.
    max_iter : int, optional
        Epochs (passes over the triplets) at most: by default 1000 of SDCA, which draws n at random in each (or
        1000 iterations where it uses L-BFGS), and 10 of OASIS, which takes them in their order.
    tol : float, default=1e-3
        SDCA has converged when the duality gap is no more than this; the objective of M = 0 is 1.
    psd : bool, default=False
        Keep M positive semidefinite. Instead of SDCA, L-BFGS then solves the constrained problem through its own dual;
        OASIS projects every d steps, 64 at least. The model is then a projection as well, with ``transform``.
    random_state : int, Generator, RandomState or None
        Draws triplets and steps.
    max_seconds : float, optional
        End the fit after this time with what was learned so far.
    callback : callable, optional
        Called with each record of ``history_``, and once per trial while λ is chosen; ``stage`` says which.
        Returning True ends the fit.
    verbose : bool, default=False
        Show progress bars: of the choice of λ, and of the fit.

    Attributes
    ----------
    matrix_ : array of shape (d, d)
        The matrix M.
    components_ : array of shape (n_components, d)
        L with LᵀL = M, with ``psd=True``.
    regularization_ : float or None
        λ as used; None for OASIS.
    selection_ : list of dict or None
        One record per λ that "auto" tried: regularization, error (one minus the mean average precision, or the
        share not satisfied) with its standard_error over queries or comparisons, the difference to the chosen
        one's with its own standard error (difference_error), n_folds, and whether it was chosen.
    gap_ : float or None
        The objective of ``matrix_`` is at most this above the smallest possible one; None for OASIS.
    history_ : list of dict
        One record per epoch: iteration, loss, gap, dual, n_steps, seconds. The loss is the objective, and the
        first record is of the start; of OASIS it is the mean hinge loss before each step, without a gap.
    n_iter_ : int
        Epochs taken.
    n_steps_ : int
        Steps of OASIS so far.
    running_matrix_ : array of shape (d, d)
        Of OASIS with ``psd=True``: the matrix between projections, from which ``partial_fit`` goes on;
        ``matrix_`` is its projection.
    converged_ : bool
        Whether the gap ended the fit.
    stop_reason_ : str
        Why the fit ended: "converged", "max_iter", "time", "callback" or "interrupted" (Ctrl-C, which keeps what
        was learned so far).
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    A step on sparse rows costs the number of entries of x times that of x⁺ and x⁻; M itself is dense.

    References
    ----------
    Wu et al., "Learning relative similarity by stochastic dual coordinate ascent", 2014;
    Chechik et al., "Large scale online learning of image similarity through ranking" (OASIS), 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import minmax_scale
    >>> from nearer import BilinearSimilarity
    >>> wine = load_wine()
    >>> X, y = minmax_scale(wine.data, (-1, 1)), wine.target
    >>> model = BilinearSimilarity(random_state=0).fit(X, y)
    >>> similarities, indices = model.neighbors(X[:1], X, k=5)
    >>> y[indices].tolist()
    [[0, 0, 0, 0, 0]]
    >>> bool(model.gap_ < 1e-3)
    True
    """

    _learned_arrays = ("matrix_", "components_", "running_matrix_", "feature_names_in_")
    _learned_values = (
        "regularization_", "selection_", "gap_", "history_", "n_iter_", "n_steps_", "converged_", "stop_reason_",
        "n_features_in_",
    )  # fmt: skip
    _constraints: ClassVar = {
        "solver": solver_of(SOLVERS),
        "regularization": either(AUTO, POSITIVE),
        "max_iter": either(NONE, COUNT),
        "psd": BOOL,
    }
    _takes_sparse = True
    _metric = "inner product"

    solver: Any = "sdca"
    _: KW_ONLY
    regularization: float | str = "auto"
    n_triplets: int | None = None
    sampling: str = "instances"
    max_iter: int | None = None
    tol: float = 1e-3
    psd: bool = False
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def _fit(
        self, X: Any, y: Any, comparisons: Any, start: Solution | None = None, max_iter: int | None = None
    ) -> None:
        solver = self._solver()
        regularized = getattr(solver, "regularized", True)
        max_iter = max_iter or self.max_iter or getattr(solver, "default_max_iter", SDCA.default_max_iter)
        random = resumed_generator(self.random_state, 0 if start is None else start.n_steps)
        table, labels, triplets = self._inputs(X, y, comparisons, random, reset=start is None)
        problem = Problem(Triplets(table, triplets.rows, triplets.weights), 1.0, bool(self.psd), random)
        tol = self.tol if regularized else None
        with self._monitor(tol, max_iter=max_iter) as monitor, blas_threads_for(table.shape[1]):
            first: Any = start
            if regularized:
                problem, first = self._regularize(problem, triplets, labels, solver, monitor)
                if self.solver == "sdca" and self.max_iter is None and prefers_lbfgs(problem.triplets):
                    solver, monitor.tol = (
                        DualLBFGS(),
                        self.tol / 3.0,
                    )  # where the last epoch of SDCA ends on average
            result = solver.solve(problem, first, monitor)
        self._set_solution(result, problem.regularization if regularized else None)
        self._set_result(result, "raise max_iter, tol or regularization", stacklevel=5, warn=regularized)

    @if_online
    def partial_fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Continue from further triplets, each once and in their order (OASIS).

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`: from labels, triplets are drawn among the rows of this X, twenty per object by
            default.

        Returns
        -------
        self
        """
        start = None
        if hasattr(self, "matrix_"):  # also where another solver learned it
            n_steps, running = getattr(self, "n_steps_", 0), getattr(self, "running_matrix_", None)
            start = Solution(self.matrix_, n_steps=n_steps, running_matrix=running)
        return self._checked_fit(X, y, comparisons, start=start, max_iter=1)

    def _solver(self) -> Any:
        solver = as_solver(self.solver, SOLVERS)
        return DualLBFGS() if self.psd and isinstance(solver, SDCA) else solver

    def _inputs(
        self, X: Any, y: Any, comparisons: Any, random: np.random.Generator, reset: bool
    ) -> tuple[Any, np.ndarray | None, Comparisons]:
        """Return the table, labels where the model learns from them, and triplets: those given, or drawn ones."""
        table, labels, triplets = validate_input(self, X, y, comparisons, sparse=True, reset=reset)
        if triplets is None:
            n = self.n_triplets or default_n_triplets(len(labels), at_least=MIN_TRIPLETS if reset else 1)
            triplets = comparisons_from_labels(labels, n, random, sampling=self.sampling)
        d = table.shape[1]
        if d > MAX_FEATURES:
            raise ValueError(
                f"a similarity of {d:,} features is a matrix of {d**2 * 8e-9:.0f} GB; at most {MAX_FEATURES:,} "
                "features are possible: select some first"
            )
        check_scale(table)
        return table, labels, triplets

    def _regularize(
        self, problem: Problem, triplets: Comparisons, labels: np.ndarray | None, solver: Any, monitor: Monitor
    ) -> tuple[Problem, np.ndarray | None]:
        """Return the problem with its λ, chosen where it is "auto"; and a start where that was cut short."""
        ridge, start = self.regularization, None
        if isinstance(ridge, str):
            trial = SDCA(output="last") if isinstance(solver, SDCA) else solver
            ridge, start, selection = select_regularization(problem, triplets, labels, trial, monitor)
            self.selection_ = selection.records()
        return replace(problem, regularization=float(ridge)), start if monitor.stopped else None

    def _set_solution(self, result: Result, ridge: float | None) -> None:
        """Set what a solver learned, and remove what another may have left."""
        solution: Solution = result.solution
        for name in ("components_", "running_matrix_", "n_steps_"):
            self.__dict__.pop(name, None)
        self.matrix_, self.gap_, self.regularization_ = solution.matrix, solution.gap, ridge
        if self.psd:
            self.components_ = fix_signs(psd_factor(solution.matrix))
        if ridge is None:
            self.n_steps_ = solution.n_steps
        if solution.running_matrix is not None:
            self.running_matrix_ = solution.running_matrix

    @property
    def _is_projection(self) -> bool:  # type: ignore[override]
        return bool(self.psd)

    @property
    def _projection(self) -> np.ndarray:
        check_is_fitted(self, "components_", msg="this similarity was fitted with psd=False: fit it again")
        return self.components_

    def _query_map(self, table: Any) -> np.ndarray:
        return np.asarray(table @ self.matrix_)

    def _item_map(self, table: Any) -> Any:
        return table

    def _loaded(self) -> None:
        super()._loaded()
        if len(self.matrix_) != self.n_features_in_:
            raise ValueError(f"matrix_ of {self.n_features_in_} features has shape {self.matrix_.shape}")
