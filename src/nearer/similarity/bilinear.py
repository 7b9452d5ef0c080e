"""BilinearSimilarity: S(x, x') = xᵀMx', learned from triplets of features, as a scikit-learn estimator.

``fit`` validates, draws triplets from labels where it was given labels, chooses λ where it is left to it, calls
the solver (:mod:`nearer.similarity.sdca`, :mod:`nearer.similarity.cone`, :mod:`nearer.similarity.oasis`) and sets
what was learned.
"""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import child_generator, resumed_generator
from nearer.features.validation import check_scale, validate_features
from nearer.models import SavedModel
from nearer.parameters import check, is_count, is_number, unchanged_on_failure
from nearer.progress import progress
from nearer.similarity.comparer import FeatureComparer, fix_signs
from nearer.similarity.cone import constrained, factor_of, projected
from nearer.similarity.inputs import (
    FEWEST_TRIPLETS,
    default_n_triplets,
    needs_labels,
    validate_labelled,
    validate_triplets,
)
from nearer.similarity.oasis import oasis
from nearer.similarity.sdca import Found, Watch, sdca
from nearer.similarity.triplets import Triplets
from nearer.similarity.validation import chosen_regularization
from nearer.simulate import comparisons_from_labels

EPOCHS = {"sdca": 1000, "oasis": 10}
MOST_FEATURES = 32_768  # a matrix of that side takes 8.6 GB


def _is_online(model: Any) -> bool:
    if model.solver != "oasis":
        raise AttributeError('only solver="oasis" learns on from earlier triplets, with partial_fit')
    return True


class BilinearSimilarity(FeatureComparer, SavedModel, BaseEstimator):
    """A similarity of features, S(x, x') = xᵀMx', learned from "x is more like x⁺ than like x⁻".

    Minimises the mean of (1 - S(x, x⁺) + S(x, x⁻))₊² over triplets plus ``regularization / 2 * ‖M‖²`` by
    stochastic dual coordinate ascent, which knows how far from the optimum it can be at most; or learns in one go,
    triplet by triplet, as OASIS. The similarity need not be symmetric, and it compares directions and lengths, not
    positions: scale the features so that zero means something, for instance to [-1, 1] or to rows of unit length.

    Parameters
    ----------
    solver : {"sdca", "oasis"}, default="sdca"
        SDCA minimises the objective above. OASIS takes passive-aggressive steps from M = I.
    regularization : "auto" or float, default="auto"
        λ of SDCA. "auto" tries a ladder from large to small on held-out data: a fifth of the objects of each class
        judged by mean average precision, or a fifth of the comparisons by the share satisfied; ``regularization_``
        says which was taken. That comes before the first epoch, and takes most of the time.
    aggressiveness : float, default=0.1
        The largest coefficient of a step of OASIS, its C.
    n_triplets : int, optional
        How many triplets to draw from labels. By default twenty an object, 10,000 at least and 200,000 at most.
    drawing : {"instances", "classes"}, default="instances"
        Whether triplets are drawn evenly over objects or over classes; see
        :func:`nearer.simulate.comparisons_from_labels`.
    max_epochs : int, optional
        Passes over the triplets at most: by default 1000 of SDCA, which draws n at random in each (with
        ``psd=True`` it takes iterations of L-BFGS instead), and 10 of OASIS, which takes them in their order.
    tol : float, default=1e-3
        SDCA has converged when the duality gap is no more than this; the objective of M = 0 is 1.
    output : {"average", "last", "random"}, default="average"
        Which iterate of SDCA to take: the mean over the second half of the steps, the last, or one of them. When
        the gap ends the fit, it is the last in any case: the one with that gap.
    symmetric : bool, default=False
        Keep M symmetric (OASIS).
    psd : bool, default=False
        Keep M positive semidefinite. SDCA then solves the constrained problem through its own dual; OASIS projects
        as it goes. The model is then a projection as well, with ``transform``.
    random_state : int, Generator, RandomState or None
        Draws triplets and steps.
    callback : callable, optional
        Called with each record of ``history_``; True stops the fit.
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
    gap_ : float or None
        The objective of ``matrix_`` is at most this above the smallest possible one; None for OASIS.
    history_ : list of dict
        A record an epoch: epoch, loss, gap, dual, seconds. The loss is the objective, and there is a record of the
        start; of OASIS it is the mean hinge loss met on the way, and gap is None.
    n_iter_ : int
        Epochs taken.
    n_steps_ : int
        Steps of OASIS so far.
    running_matrix_ : array of shape (d, d)
        Of OASIS with ``psd=True``: what learns on, between projections; ``matrix_`` is its projection.
    converged_ : bool
        Whether the gap ended the fit.
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
    >>> X, y = load_wine(return_X_y=True)
    >>> X = minmax_scale(X, (-1, 1))
    >>> model = BilinearSimilarity(random_state=0).fit(X, y)
    >>> similarities, indices = model.neighbors(X[:1], X, k=5)
    >>> y[indices].tolist()
    [[0, 0, 0, 0, 0]]
    >>> bool(model.gap_ < 1e-3)
    True
    """

    _learned_arrays = ("matrix_", "components_", "running_matrix_", "feature_names_in_")
    _learned_values = (
        "regularization_",
        "gap_",
        "history_",
        "n_iter_",
        "n_steps_",
        "converged_",
        "n_features_in_",
    )
    _takes_sparse = True
    _metric = "inner product"
    matrix_: np.ndarray
    n_steps_: int
    running_matrix_: np.ndarray
    regularization_: float | None
    gap_: float | None

    def __init__(
        self,
        solver: str = "sdca",
        *,
        regularization: float | str = "auto",
        aggressiveness: float = 0.1,
        n_triplets: int | None = None,
        drawing: str = "instances",
        max_epochs: int | None = None,
        tol: float = 1e-3,
        output: str = "average",
        symmetric: bool = False,
        psd: bool = False,
        random_state: Any = None,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.solver = solver
        self.regularization = regularization
        self.aggressiveness = aggressiveness
        self.n_triplets = n_triplets
        self.drawing = drawing
        self.max_epochs = max_epochs
        self.tol = tol
        self.output = output
        self.symmetric = symmetric
        self.psd = psd
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn the similarity.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features, one row an object.
        y : array of shape (n,), optional
            Class labels: triplets are drawn such that x and x⁺ share theirs and x⁻ has another.
        comparisons : Comparisons, array of shape (m, 3) or DataFrame, optional
            Rows (a, b, c) of row numbers of X: a is more similar to b than to c. Then y is ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            random = child_generator(self.random_state)
            table, labels, given = self._given(X, y, comparisons, random, reset=True)
            epochs = EPOCHS[self.solver] if self.max_epochs is None else self.max_epochs
            watch = Watch(epochs, self.tol, self.callback)
            if self.solver == "oasis":
                with progress(epochs, "epoch", self.verbose) as watch.bar:
                    self._oasis(np.eye(table.shape[1]), 0, table, given, watch)
            else:
                self._sdca(table, labels, given, watch, random)
        if self.solver == "sdca" and not (watch.converged or watch.stopped):
            warnings.warn(
                f"the fit ended after {self.n_iter_} epochs with a duality gap of {watch.history[-1]['gap']:.2g}; "
                f"tol asks for {self.tol:.2g}: raise max_epochs, tol or regularization",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    @available_if(_is_online)
    def partial_fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn on from further triplets, each once and in their order (OASIS).

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`: from labels, triplets are drawn among the rows of this X, twenty an object by
            default.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            first = not hasattr(self, "matrix_")
            taken = getattr(self, "n_steps_", 0)
            table, _, given = self._given(
                X, y, comparisons, resumed_generator(self.random_state, taken), reset=first
            )
            # A model that another solver fitted is learned on from as it is.
            start = np.eye(table.shape[1]) if first else getattr(self, "running_matrix_", self.matrix_).copy()
            if self.symmetric or self.psd:
                start = 0.5 * (start + start.T)
            self._oasis(start, taken, table, given, Watch(1, self.tol, self.callback))
        return self

    def _given(
        self, X: Any, y: Any, comparisons: Any, random: np.random.Generator, reset: bool
    ) -> tuple[Any, np.ndarray | None, Comparisons]:
        """Return the table, labels where there are some, and comparisons, drawn where there are not."""
        labels = None
        if needs_labels(self, y, comparisons=comparisons):
            table, labels = validate_labelled(self, X, y, sparse=True, reset=reset)
            n = self.n_triplets or default_n_triplets(len(labels), fewest=FEWEST_TRIPLETS if reset else 1)
            given = comparisons_from_labels(labels, n, random, sampling=self.drawing)
        else:
            table = validate_features(self, X, sparse=True, reset=reset)
            given = validate_triplets(X, comparisons)
        if table.shape[1] > MOST_FEATURES:
            raise ValueError(
                f"a similarity of {table.shape[1]:,} features is a matrix of {table.shape[1] ** 2 * 8e-9:.0f} GB; "
                f"at most {MOST_FEATURES:,} are taken: choose the most telling ones first"
            )
        check_scale(table)
        return table, labels, given

    def _sdca(
        self, table: Any, labels: np.ndarray | None, given: Comparisons, watch: Watch, random: np.random.Generator
    ) -> None:
        """Choose λ where it is left to us, and solve."""

        def solve(triplets: Triplets, ridge: float, output: str, watch: Watch, start: Any = None) -> Found:
            if self.psd:
                return constrained(triplets, ridge, watch, start)
            return sdca(triplets, ridge, output, watch, random, start)

        ridge = self.regularization
        if isinstance(ridge, str):
            ridge = chosen_regularization(table, labels, given, solve, random, self.verbose)
        with progress(watch.max_epochs, "epoch", self.verbose) as watch.bar:
            found = solve(Triplets(table, given.rows, given.weights), float(ridge), self.output, watch)
        self._learned(found.matrix, watch)
        self.regularization_, self.gap_ = float(ridge), found.gap

    def _oasis(self, matrix: np.ndarray, taken: int, table: Any, given: Comparisons, watch: Watch) -> None:
        """Pass over the triplets, from a matrix on that had so many steps."""
        triplets = Triplets(table, given.rows, given.weights)
        symmetric = self.symmetric or self.psd
        steps = oasis(triplets, matrix, self.aggressiveness, watch, symmetric=symmetric, psd=self.psd, taken=taken)
        self._learned(projected(matrix) if self.psd else matrix, watch)
        if self.psd:
            self.running_matrix_ = matrix
        self.n_steps_ = taken + steps
        self.regularization_ = self.gap_ = None

    def _learned(self, matrix: np.ndarray, watch: Watch) -> None:
        for name in ("components_", "running_matrix_", "n_steps_"):
            if hasattr(self, name):
                delattr(self, name)
        self.matrix_ = matrix
        if self.psd:
            self.components_ = fix_signs(factor_of(matrix))
        self.history_ = watch.history
        self.n_iter_ = watch.history[-1]["epoch"]
        self.converged_ = watch.converged

    def _check_parameters(self) -> None:
        check(self, "solver", self.solver in EPOCHS, "'sdca' or 'oasis'")
        ridge = self.regularization
        good = ridge == "auto" if isinstance(ridge, str) else is_number(ridge) and ridge > 0
        check(self, "regularization", good, "'auto' or a number > 0")
        check(self, "aggressiveness", is_number(self.aggressiveness) and self.aggressiveness > 0, "a number > 0")
        check(
            self, "n_triplets", self.n_triplets is None or is_count(self.n_triplets), "None or a positive integer"
        )
        check(self, "drawing", self.drawing in ("instances", "classes"), "'instances' or 'classes'")
        check(
            self, "max_epochs", self.max_epochs is None or is_count(self.max_epochs), "None or a positive integer"
        )
        check(self, "tol", is_number(self.tol) and self.tol >= 0, "a number >= 0")
        check(self, "output", self.output in ("average", "last", "random"), "'average', 'last' or 'random'")
        check(self, "psd", isinstance(self.psd, bool | np.bool_), "True or False")
        check(self, "symmetric", isinstance(self.symmetric, bool | np.bool_), "True or False")
        check(self, "callback", self.callback is None or callable(self.callback), "None or a function of a record")
        if self.symmetric and self.solver == "sdca":
            raise ValueError(
                "symmetric=True is for solver='oasis'; with 'sdca', psd=True keeps the matrix symmetric"
            )

    @property
    def _is_projection(self) -> bool:  # type: ignore[override]
        return bool(self.psd)

    @property
    def _basis(self) -> np.ndarray:
        check_is_fitted(self, "matrix_")
        return self.matrix_

    @property
    def _projection(self) -> np.ndarray:
        check_is_fitted(self, "components_", msg="this similarity was fitted with psd=False: fit it again")
        return self.components_

    def _query_map(self, table: Any) -> np.ndarray:
        return np.asarray(table @ self.matrix_)

    def _item_map(self, table: Any) -> Any:
        return table

    def _loaded(self) -> None:
        """Refuse what does not fit together."""
        d = self.n_features_in_
        if self.matrix_.shape != (d, d):
            raise ValueError(f"the matrix of {d} features has shape {self.matrix_.shape}")
        for name in ("components_", "running_matrix_"):
            array = getattr(self, name, None)
            if array is not None and (array.ndim != 2 or array.shape[1] != d):
                raise ValueError(f"{name} of {d} features has shape {array.shape}")
