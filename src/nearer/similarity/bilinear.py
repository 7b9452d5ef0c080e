"""BilinearSimilarity: S(x, x') = xᵀMx', learned from triplets of features, as a scikit-learn estimator.

``fit`` checks its input, draws triplets from labels, chooses λ (:mod:`nearer.similarity.regularization`), has a
solver (:mod:`~nearer.similarity.sdca`, :mod:`~nearer.similarity.oasis`) solve the problem under a monitor, and sets the
learned attributes.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, identity
from sklearn.utils.validation import check_is_fitted

from nearer.blas import blas_threads_for
from nearer.cluster import Cluster
from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import as_comparisons
from nearer.comparisons.random_state import resumed_generator
from nearer.features.validation import check_scale, positive_weights
from nearer.iterative import IterativeEstimator
from nearer.monitor import Monitor, Result
from nearer.parameters import AUTO, BOOL, COUNT, INFINITE, NONE, POSITIVE, SHARE, either, one_of, parametrized
from nearer.psd import fix_signs, psd_factor
from nearer.similarity.cluster import ClusterProblem, choose_regularization, read_data, uses_cluster
from nearer.similarity.cocoa import CoCoA
from nearer.similarity.estimator import SimilarityEstimator
from nearer.similarity.inputs import MIN_TRIPLETS, default_n_triplets, validate_input, weights_of_labelled
from nearer.similarity.oasis import OASIS
from nearer.similarity.prior import (
    DEFAULT_REGULARIZATION,
    DEFAULT_SHRINKAGE,
    Map,
    Refinement,
    fitted_map,
    positive_factor,
    select_settings,
)
from nearer.similarity.problem import Problem, Solution
from nearer.similarity.projection import available
from nearer.similarity.regularization import select_regularization
from nearer.similarity.sdca import SDCA, DualLBFGS, prefers_lbfgs
from nearer.similarity.triplets import AXES, Triplets
from nearer.similarity.validation import VALIDATION, make_folds
from nearer.simulate import comparisons_from_labels
from nearer.solver import as_solver, solver_of

SOLVERS: dict[str, Any] = {"sdca": SDCA, "oasis": OASIS}  # and CoCoA, as an object
COSINE_ITER = 200  # of L-BFGS
SEARCH_SHARE = 0.6  # of max_seconds
MAX_MATRIX = 4_096  # features up to which a learned map is given as a matrix too
MAX_FEATURES = 32_768  # a matrix of that side takes 8.6 GB


if_online = available(
    lambda model: not model._is_cosine and isinstance(as_solver(model.solver, SOLVERS), OASIS),
    "only OASIS continues from earlier triplets, with partial_fit",
)


@parametrized
class BilinearSimilarity(IterativeEstimator, SimilarityEstimator):
    """A similarity of features, S(x, x') = xᵀMx', learned from "x is more similar to x⁺ than to x⁻".

    By default it is the cosine of a learned linear map of the features. Without learning anything it is the cosine of
    the features, as they are or whitened by their covariance within classes, whichever predicts held-out data best;
    from there M is learned from triplets, as far as that predicts held-out data better. Dense features need no scaling.

    With "sdca" it is the similarity of the paper, which need not be symmetric: the mean of (1 - S(x, x⁺) +
    S(x, x⁻))₊² over triplets plus ``regularization / 2 * ‖M‖²`` is minimized by stochastic dual coordinate ascent,
    which bounds the distance from the optimum. With "oasis" it learns online, triplet by triplet. Both compare
    directions and lengths, not positions: scale the features so that zero means something, for instance to [-1, 1].

    Parameters
    ----------
    solver : {"lbfgs", "sdca", "oasis"} or object, default="lbfgs"
        "lbfgs" learns the default described above. SDCA minimizes the paper's objective. OASIS takes
        passive-aggressive steps from M = I. A name, or a solver of
        :mod:`nearer.similarity` with parameters: ``SDCA(output="last")``, ``OASIS(aggressiveness=0.01)``,
        ``CoCoA(n_shards=8)``.
        On dense tables of at least 400 columns with at least six triplets per object, "sdca" without ``max_iter``
        maximizes the same dual by L-BFGS, which reaches the same gap in less time; ``SDCA()`` always takes steps.
        With Dask collections as input, "sdca" learns on the cluster of the active client; so does ``CoCoA()`` from
        data in memory.
    regularization : "auto" or float, default="auto"
        λ: of "lbfgs" the pull to the whitened cosine (infinite: nothing is learned from triplets), of SDCA that of
        M to 0. "auto" chooses by held-out data: objects judged by mean average precision, or a fifth of the
        comparisons by the share satisfied. ``selection_`` says what was tried, ``regularization_`` what was used.
        Of many comparisons SDCA tries only some, and λ is then multiplied by their share of all; dense tables of at
        least 400 columns are projected onto their 256 leading axes for the search, and by "lbfgs" also for the fit.
    shrinkage : "auto", float or None, default="auto"
        Of "lbfgs": how far the covariance is shrunken towards a multiple of the identity before it whitens, from 0
        to 1. None leaves the features as they are and learns nothing: the plain cosine. "auto" chooses by held-out
        data among these.
    discriminant : "auto" or bool, default="auto"
        Of "lbfgs", with labels: whether whitened features are projected onto the span of the class means, as in
        linear discriminant analysis. "auto" chooses together with the shrinkage; where that is given, or fewer than
        six classes are judged by held-out classes, no.
    validation : {"auto", "objects", "classes"}, default="auto"
        What "auto" settings of "lbfgs" are judged by: held-out objects of the same classes, or held-out classes,
        where the similarity is for classes that are not in y. "auto": objects, unless classes have fewer than five
        objects on average.
    normalize : bool, optional
        Whether the similarity is the cosine in the learned space, from -1 to 1, of the positive part of M where
        that has negative eigenvalues. By default yes for "lbfgs", and no for the others, as in the papers.
    n_triplets : int, optional
        How many triplets to draw from labels. By default twenty per object, at least 10,000 and at most 200,000.
    sampling : {"instances", "classes"}, default="instances"
        Whether triplets are drawn evenly over objects or over classes; see
        :func:`nearer.simulate.comparisons_from_labels`.
    max_iter : int, optional
        Iterations of "lbfgs" at most, by default 200; or epochs (passes over the triplets): by default 1000 of SDCA,
        which draws n at random in each (or 1000 iterations where it uses L-BFGS), and 10 of OASIS, which takes them
        in their order.
    tol : float, default=1e-3
        The fit has converged when ``gap_`` is no more than this; the objective of SDCA at M = 0 is 1.
    psd : bool, default=False
        Keep M positive semidefinite; with "lbfgs" it always is. Instead of SDCA, L-BFGS then solves the constrained
        problem through its own dual; OASIS projects every d steps, 64 at least. The model is then a projection as
        well, with ``transform``.
    random_state : int, Generator, RandomState or None
        Draws triplets, held-out data and steps.
    max_seconds : float, optional
        End the fit after this time with what was learned so far.
    callback : callable, optional
        Called with each record of ``history_``, and once per trial while settings are chosen; ``stage`` says which.
        Returning True ends the fit.
    verbose : bool, default=False
        Show progress bars: of the choice of λ, and of the fit.

    Attributes
    ----------
    matrix_ : array of shape (d, d)
        The matrix M; not there where "lbfgs" learned from more than 4,096 features.
    components_ : array of shape (n_components, d)
        L with LᵀL = M, with "lbfgs" (unless the features stay as they are) and with ``psd=True``.
    mean_ : array of shape (d,) or None
        What is subtracted from the features: with "lbfgs", of dense tables.
    normalize_ : bool
        Whether the similarity is the cosine.
    shrinkage_ : float or None
        The shrinkage as used by "lbfgs"; None: the features stay as they are.
    discriminant_ : bool
        Whether "lbfgs" projected onto the span of the class means.
    regularization_ : float or None
        λ as used; None for OASIS.
    selection_ : list of dict or None
        One record per setting that "auto" tried: shrinkage and discriminant ("lbfgs"), regularization, error (one
        minus the mean average precision, or the share not satisfied) with its standard_error over queries or
        comparisons, the difference to the chosen one's with its own standard error (difference_error), n_folds, and
        whether it was chosen.
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
    >>> from nearer import BilinearSimilarity
    >>> X, y = load_wine(return_X_y=True)
    >>> model = BilinearSimilarity(random_state=0).fit(X, y)
    >>> similarities, indices = model.neighbors(X[:1], X, k=5)
    >>> y[indices].tolist()
    [[0, 0, 0, 0, 0]]
    >>> bool(model.gap_ < 1e-3)
    True
    """

    _learned_arrays = ("mean_", "matrix_", "components_", "running_matrix_", "feature_names_in_")
    _learned_values = (
        "regularization_", "shrinkage_", "discriminant_", "normalize_", "selection_", "gap_", "history_", "n_iter_",
        "n_steps_", "converged_", "stop_reason_", "n_features_in_", "threshold_",
    )  # fmt: skip
    _constraints: ClassVar = {
        "solver": either(one_of("lbfgs"), solver_of(SOLVERS)),
        "regularization": either(AUTO, POSITIVE, INFINITE),
        "max_iter": either(NONE, COUNT),
        "psd": BOOL,
        "shrinkage": either(AUTO, NONE, SHARE),
        "discriminant": either(AUTO, BOOL),
        "validation": VALIDATION,
        "normalize": either(NONE, BOOL),
    }
    _takes_sparse = True
    _metric = "inner product"

    solver: Any = "lbfgs"
    _: KW_ONLY
    regularization: float | str = "auto"
    shrinkage: float | str | None = "auto"
    discriminant: bool | str = "auto"
    validation: str = "auto"
    normalize: bool | None = None
    n_triplets: int | None = None
    sampling: str = "instances"
    max_iter: int | None = None
    tol: float = 1e-3
    psd: bool = False
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def _check_combinations(self) -> None:
        if not self._is_cosine:
            if self.regularization == np.inf:
                raise ValueError("an infinite regularization is for solver='lbfgs': others would learn nothing")
        elif self.shrinkage is None and self.regularization not in ("auto", np.inf):
            raise ValueError(
                "shrinkage=None leaves the features as they are, and learns nothing: regularization must be 'auto' "
                f"or infinity; got {self.regularization!r}"
            )

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None, sample_weight: Any = None) -> Self:
        """Learn from class labels or comparisons.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features, one row per object. With "sdca" also a Dask array or DataFrame, and y and comparisons as well:
            the workers of the active `dask.distributed.Client` then take the steps, each for a shard of the triplets,
            with features where they are. Comparisons as a source of `nearer.scan` are learned there, too, if there is
            a client. The gap is that of all triplets, and the last matrix is returned.
        y : array of shape (n,), optional
            Class labels. Triplets (x, x⁺, x⁻) are drawn such that x and x⁺ have the same label and x⁻ has another.
        comparisons : Comparisons, array of shape (m, 3) or (m, 4), or DataFrame, optional
            Rows (a, b, c) of row numbers of X: a is more similar to b than to c; with "lbfgs" also rows (i, j, l, k):
            i and j are more similar than l and k. Then y is ignored.
        sample_weight : array, optional
            With labels, weights of the rows of X: objects are drawn for triplets in proportion to them, none of
            weight 0, and "lbfgs" whitens and judges by them. An integer is, on average, as many rows of X, except
            that an object is not compared with itself. With comparisons, their weights.

        Returns
        -------
        self
        """
        return self._checked_fit(X, y, comparisons, sample_weight=sample_weight)

    def _fit(
        self,
        X: Any,
        y: Any,
        comparisons: Any,
        sample_weight: Any = None,
        start: Solution | None = None,
        max_iter: int | None = None,
    ) -> None:
        if start is None and uses_cluster(self.solver, X, y, comparisons, sample_weight):
            self._fit_on_cluster(X, y, comparisons, sample_weight)
            return
        if comparisons is not None and sample_weight is not None:
            comparisons, sample_weight = as_comparisons(comparisons, sample_weight=sample_weight), None
        if self._is_cosine:
            self._fit_cosine(X, y, comparisons, sample_weight)
            return
        solver = self._solver()
        regularized = getattr(solver, "regularized", True)
        max_iter = max_iter or self.max_iter or getattr(solver, "default_max_iter", SDCA.default_max_iter)
        random = resumed_generator(self.random_state, 0 if start is None else start.n_steps)
        table, labels, triplets, _ = self._inputs(X, y, comparisons, sample_weight, random, reset=start is None)
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

    def _fit_on_cluster(self, X: Any, y: Any, comparisons: Any, sample_weight: Any) -> None:
        """Learn by CoCoA on the workers of a Dask cluster: see :mod:`nearer.similarity.cluster`."""
        solver = CoCoA() if self.solver == "sdca" else self.solver
        if not isinstance(solver, CoCoA) or self.psd:
            raise ValueError(
                "from Dask collections BilinearSimilarity learns with solver='sdca' or CoCoA(n_shards=…) and "
                f"psd=False; got solver={self.solver!r} and psd={self.psd!r}. Or load the data: X.compute()"
            )
        cluster, random = Cluster(), resumed_generator(self.random_state, 0)
        with self._monitor(self.tol, max_iter=self.max_iter or CoCoA.default_max_iter) as monitor:
            data = read_data(self, cluster, X, y, comparisons, sample_weight, random)
            ridge, alpha = self.regularization, None
            if isinstance(ridge, str):
                with monitor.limited(SEARCH_SHARE):
                    ridge, alpha, self.selection_ = choose_regularization(data, random, monitor)
            problem = ClusterProblem(data, float(ridge), solver.n_shards, random)
            result = solver.solve(problem, alpha if monitor.stopped else None, monitor)
        self._set_solution(result, problem.regularization)
        self._set_result(result, "raise max_iter, tol or regularization", stacklevel=5)

    @property
    def _scales_features(self) -> bool:  # type: ignore[override]
        return self._is_cosine

    @property
    def _is_cosine(self) -> bool:
        return isinstance(self.solver, str) and self.solver == "lbfgs"

    def _fit_cosine(self, X: Any, y: Any, comparisons: Any, sample_weight: Any) -> None:
        """Learn a map from the cosine of the features: see :mod:`nearer.similarity.prior`."""
        random = resumed_generator(self.random_state, 0)
        table, labels, triplets, weights = self._inputs(X, y, comparisons, sample_weight, random, reset=True)
        with (
            self._monitor(self.tol, max_iter=self.max_iter or COSINE_ITER) as monitor,
            blas_threads_for(min(table.shape[1], AXES)),
        ):
            with monitor.limited(SEARCH_SHARE):
                shrinkage, discriminant, ridge = self._select_cosine(
                    table, labels, triplets, weights, random, monitor
                )
            found = fitted_map(table, labels, weights, shrinkage, discriminant)
            if np.isinf(ridge):
                matrix = None
                if not monitor.stopped:
                    monitor.stop("converged")
                monitor.go_on(None, iteration=1, loss=0.0, gap=0.0)
            else:
                matrix = Refinement(found.apply(table), triplets).fit(ridge, None, monitor)
            result = monitor.result(matrix)
        self._set_map(found, matrix, table.shape[1])
        self.shrinkage_, self.discriminant_ = shrinkage, discriminant
        self.regularization_: float | None = ridge
        self.gap_ = result.history[-1]["gap"]
        self.normalize_ = self.normalize is not False
        self._set_result(result, "raise max_iter, tol or regularization", stacklevel=6)

    def _select_cosine(
        self,
        table: Any,
        labels: np.ndarray | None,
        triplets: Comparisons,
        weights: np.ndarray | None,
        random: np.random.Generator,
        monitor: Monitor,
    ) -> tuple[float | None, bool, float]:
        """Return shrinkage, whether to project, and λ, chosen where they are "auto"."""
        if self.shrinkage is None:
            return None, False, np.inf
        discriminant = (
            None if isinstance(self.discriminant, str) else bool(self.discriminant) and labels is not None
        )
        if not isinstance(self.shrinkage, str):
            discriminant = bool(discriminant)
        shrinkage = None if isinstance(self.shrinkage, str) else float(self.shrinkage)
        ridge = None if isinstance(self.regularization, str) else float(self.regularization)
        if shrinkage is not None and ridge is not None:
            return shrinkage, bool(discriminant), ridge
        folds = make_folds(
            table, labels, triplets, random,
            validation=self.validation, n_triplets=self.n_triplets, sampling=self.sampling, weights=weights,
        )  # fmt: skip
        if not folds:
            default = np.inf if self.validation == "classes" else DEFAULT_REGULARIZATION
            shrinkage = DEFAULT_SHRINKAGE if shrinkage is None else shrinkage
            return shrinkage, bool(discriminant), default if ridge is None else ridge
        selection = select_settings(folds, shrinkage, discriminant, ridge, monitor)
        assert selection.chosen is not None
        self.selection_ = selection.records()
        settings = selection.chosen.settings
        ridge = settings["regularization"] if ridge is None else ridge
        return settings["shrinkage"], settings["discriminant"], ridge

    def _set_map(self, found: Map, matrix: np.ndarray | None, n_features: int) -> None:
        """Set the learned map, and remove what another solver may have left."""
        for name in ("matrix_", "components_", "running_matrix_", "n_steps_"):
            self.__dict__.pop(name, None)
        self.mean_ = found.mean
        if found.weights is not None:
            weights = found.weights if matrix is None else found.weights @ positive_factor(matrix)
            self.components_ = fix_signs(np.ascontiguousarray(weights.T))
        if n_features <= MAX_MATRIX:
            components = getattr(self, "components_", None)
            self.matrix_ = np.eye(n_features) if components is None else components.T @ components

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
        if hasattr(self, "shrinkage_"):
            raise ValueError(
                "this model is a cosine that 'lbfgs' learned, which OASIS cannot continue from: call fit"
            )
        if hasattr(self, "matrix_"):  # also where another solver learned it
            n_steps, running = getattr(self, "n_steps_", 0), getattr(self, "running_matrix_", None)
            start = Solution(self.matrix_, n_steps=n_steps, running_matrix=running)
        return self._checked_fit(X, y, comparisons, start=start, max_iter=1)

    def _solver(self) -> Any:
        solver = as_solver(self.solver, SOLVERS)
        return DualLBFGS() if self.psd and isinstance(solver, SDCA) else solver

    def _inputs(
        self, X: Any, y: Any, comparisons: Any, sample_weight: Any, random: np.random.Generator, reset: bool
    ) -> tuple[Any, np.ndarray | None, Comparisons, np.ndarray | None]:
        """Return the table, labels where the model learns from them, triplets, given or drawn, and weights of rows."""
        table, labels, triplets = validate_input(
            self, X, y, comparisons, sparse=True, reset=reset, quadruplets=self._is_cosine
        )
        weights = None
        if triplets is None:
            if sample_weight is not None:
                counted, weights = positive_weights(weights_of_labelled(sample_weight, y), len(labels))
                table, labels = table[counted], labels[counted]
            n = self.n_triplets or default_n_triplets(len(labels), at_least=MIN_TRIPLETS if reset else 1)
            triplets = comparisons_from_labels(labels, n, random, sampling=self.sampling, sample_weight=weights)
        d = table.shape[1]
        if d > MAX_FEATURES and not self._is_cosine:
            raise ValueError(
                f"a similarity of {d:,} features is a matrix of {d**2 * 8e-9:.0f} GB; at most {MAX_FEATURES:,} "
                "features are possible: select some first"
            )
        check_scale(table)
        return table, labels, triplets, weights

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
        for name in ("components_", "running_matrix_", "n_steps_", "shrinkage_"):
            self.__dict__.pop(name, None)
        self.mean_, self.normalize_ = None, bool(self.normalize)
        self.matrix_, self.gap_ = solution.matrix, solution.gap
        self.regularization_ = ridge
        if self.psd or self.normalize_:  # of the positive part
            self.components_ = fix_signs(psd_factor(solution.matrix))
        if ridge is None:
            self.n_steps_ = solution.n_steps
        if solution.running_matrix is not None:
            self.running_matrix_ = solution.running_matrix

    @property
    def _is_projection(self) -> bool:  # type: ignore[override]
        return bool(self.psd or self.normalize or self._is_cosine)

    @property
    def _projection(self) -> Any:
        check_is_fitted(self, "regularization_")
        if not hasattr(self, "components_") and hasattr(self, "shrinkage_"):
            return csr_array(identity(self.n_features_in_))  # the features as they are
        check_is_fitted(self, "components_", msg="this similarity was fitted with psd=False: fit it again")
        return self.components_

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "regularization_")
        names = ("components_", "matrix_") if hasattr(self, "shrinkage_") else ("matrix_",)
        return next((getattr(self, name) for name in names if hasattr(self, name)), np.empty((0, 0)))

    def _query_map(self, table: Any) -> Any:
        if getattr(self, "normalize_", False) or hasattr(self, "shrinkage_"):
            return self._centered(table) if not hasattr(self, "components_") else super()._query_map(table)
        return np.asarray(table @ self.matrix_)

    def _item_map(self, table: Any) -> Any:
        if getattr(self, "normalize_", False) or hasattr(self, "shrinkage_"):
            return self._query_map(table)
        return table

    def _loaded(self) -> None:
        mean, self.mean_ = getattr(self, "mean_", None), None
        super()._loaded()
        self.mean_ = mean
        if mean is not None and mean.shape != (self.n_features_in_,):
            raise ValueError(f"mean_ of {self.n_features_in_} features has shape {mean.shape}")
        if not hasattr(self, "matrix_") and not hasattr(self, "shrinkage_"):
            raise ValueError("there is no matrix_")
        if hasattr(self, "matrix_") and len(self.matrix_) != self.n_features_in_:
            raise ValueError(f"matrix_ of {self.n_features_in_} features has shape {self.matrix_.shape}")
