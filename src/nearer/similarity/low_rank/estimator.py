"""LowRankSimilarity: a similarity xᵀWx' with W of fixed rank, learned triplet by triplet, as an estimator.

``fit`` validates, finds a start and a step size where they are left to it, and runs a solver
(:mod:`nearer.similarity.low_rank.solvers`) over triplets that are drawn from labels as they are needed, or given.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import child_generator, resumed_generator
from nearer.features.validation import check_scale, validate_features
from nearer.losses import as_loss
from nearer.lowrank import Course, Rows
from nearer.models import SavedModel
from nearer.parameters import check, is_count, is_number, unchanged_on_failure
from nearer.progress import progress
from nearer.similarity.inputs import (
    default_n_triplets,
    needs_labels,
    validate_labelled,
    validate_triplets,
)
from nearer.similarity.low_rank.form import LowRankForm
from nearer.similarity.low_rank.held_out import held_out_comparisons, held_out_objects
from nearer.similarity.low_rank.init import check_start, first_factors
from nearer.similarity.low_rank.rate import found_rate
from nearer.similarity.low_rank.sampling import FromComparisons, FromLabels
from nearer.similarity.low_rank.solvers import GENERAL_ONLY, SOLVERS, Learner

STEPS_AN_OBJECT, PASSES = 20, 3
FEWEST_STEPS, MOST_STEPS = 20_000, 1_000_000


class LowRankSimilarity(LowRankForm, SavedModel, BaseEstimator):
    """A similarity xᵀWx', or a distance, of low rank, learned online from triplets: LORETA.

    W is kept as factors of ``rank`` columns, so 50,000 features take no more than that many rows, and a step costs
    what the entries of its three objects cost, times the rank. It learns from class labels, or from comparisons:
    "a is more like b than like c".

    Parameters
    ----------
    rank : int, default=30
        Columns of the factors; at most the number of features.
    solver : {"loreta", "gd", "pa", "loreta-identify"}, default="loreta"
        "loreta" takes gradient steps along the manifold of matrices of that rank. "gd" steps along the gradients
        of the factors: for ``psd=False`` that is unstable. "pa" takes passive-aggressive steps of one factor and
        then the other. "loreta-identify" (the paper's Algorithm 6) takes, after each step of LORETA, as many steps
        of OASIS as the rank in a small matrix between the factors, and multiplies that in. When few directions
        explain most triplets, that matrix grows along these only, round after round, and the factors collapse to
        them: it learns less than LORETA, as the paper saw, and here the steps of LORETA are as cheap.
    loss : None, str or object, default=None
        None: the hinge [1 - S(a, b) + S(a, c)]₊ of a similarity S. A loss of :mod:`nearer.losses`, by name or as
        an object: the model is then a distance ‖Y(x - x')‖, for "loreta" and "gd".
    psd : bool, optional
        Keep W positive semidefinite, W = YYᵀ. None: yes for "loreta" and "gd", no for the others.
    init : {"svd", "identity", "zero", "gaussian"} or array, default="svd"
        Where to start: the leading directions of the features; the first ``rank`` features, for features sorted by
        what they tell, as `nearer.InformationGain` does; the first gradients, added up and cut to the rank; normal
        random numbers; or factors of shape (d, rank), two of them for ``psd=False``.
    sampling : {"hard", "random"}, default="hard"
        How x⁻ is drawn from labels: of ten objects of other classes the one most like the anchor, or any. Hard
        ones teach more where classes can be told apart; where these overlap widely, random ones may be better.
    learning_rate : "auto" or float, default="auto"
        The step size. "auto" tries a ladder of them on a first slice of triplets and takes the next smaller one to
        that which met the smallest losses; ``learning_rate_`` says which. For "pa" it is the cap on a step.
    n_steps : int, optional
        Triplets to learn from: by default twenty an object, or three passes over comparisons, 20,000 at least and
        a million at most.
    drawing : {"instances", "classes"}, default="instances"
        Whether anchors are drawn evenly over objects or over classes.
    early_stopping : bool, default=False
        Hold out a share of the objects of each class, or of the answers, and keep the factors that were best for
        them: by mean average precision, or by the share satisfied. The fit ends when five looks of twenty in a row
        were no better.
    validation_fraction : float, default=0.1
        The share held out.
    random_state : int, Generator, RandomState or None
        Draws triplets and the start.
    callback : callable, optional
        Called with each record of ``history_``; True stops the fit.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    components_ : array of shape (rank, d)
        The projection; of objects that are found where there are two.
    asking_components_ : array of shape (rank, d)
        The projection of objects that ask, with ``psd=False``.
    kind_ : str
        "similarity" or "distance".
    learning_rate_ : float
        The step size as used.
    history_ : list of dict
        A record every so many steps: steps, loss (the mean met since the last record), score (of what was held
        out, with early stopping), seconds.
    n_steps_ : int
        Triplets learned from so far.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    Steps are those of the paper's Algorithms 4 and 5 to rounding, whether rows are sparse or dense. A similarity
    compares directions and lengths, not positions: rows of unit length suit it, such as those of tf-idf. The step
    size does not change along the way.

    References
    ----------
    Shalit, Weinshall, Chechik, "Online learning in the embedded manifold of low-rank matrices", 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> from nearer import LowRankSimilarity
    >>> X, y = load_digits(return_X_y=True)
    >>> X = normalize(X)
    >>> model = LowRankSimilarity(rank=10, random_state=0).fit(X[:1000], y[:1000])
    >>> model.transform(X[1000:]).shape
    (797, 10)
    >>> similarities, indices = model.neighbors(X[1000:], X[:1000], k=1)
    >>> bool((y[indices[:, 0]] == y[1000:]).mean() > 0.9)
    True
    """

    _learned_arrays = ("components_", "asking_components_", "feature_names_in_")
    _learned_values = ("kind_", "learning_rate_", "history_", "n_steps_", "n_features_in_")
    learning_rate_: float
    n_steps_: int

    def __init__(
        self,
        rank: int = 30,
        solver: str = "loreta",
        *,
        loss: Any = None,
        psd: bool | None = None,
        init: Any = "svd",
        sampling: str = "hard",
        learning_rate: float | str = "auto",
        n_steps: int | None = None,
        drawing: str = "instances",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.solver = solver
        self.loss = loss
        self.psd = psd
        self.init = init
        self.sampling = sampling
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.drawing = drawing
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    @property
    def _psd(self) -> bool:
        return self.solver not in GENERAL_ONLY if self.psd is None else bool(self.psd)

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn the similarity.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features, one row an object.
        y : array of shape (n,), optional
            Class labels: triplets are drawn such that x and x⁺ share theirs and x⁻ has another.
        comparisons : Comparisons, array of shape (m, 3) or DataFrame, optional
            Rows (a, b, c) of row numbers of X: a is more like b than like c. Exactly one of y and comparisons.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            random = child_generator(self.random_state)
            table, labels, given = self._given(X, y, comparisons, reset=True)
            objects, judge = np.arange(table.shape[0]), None
            if self.early_stopping and labels is not None:
                objects, judge = held_out_objects(table, labels, self.validation_fraction, random)
            elif self.early_stopping and given is not None:
                given, judge = held_out_comparisons(table, given, self.validation_fraction, random)
            n = FEWEST_STEPS
            if labels is not None:
                draws: Any = FromLabels(labels[objects], objects, self.drawing, self.sampling == "hard", random)
                n = STEPS_AN_OBJECT * len(objects)
            elif given is not None:
                draws = FromComparisons(given, random)
                n = PASSES * len(given)
            n_steps = self.n_steps or int(np.clip(n, FEWEST_STEPS, MOST_STEPS))
            learner = self._begun(table, draws, n_steps, random)
            course = Course(n_steps, self.callback)
            if judge is not None:
                course.judge, course.keep = lambda: judge(learner.factors, self.kind_), lambda: learner.factors
            self._learn(learner, draws, course, before=[])
        return self

    def partial_fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn on from further objects: comparisons once each and in their order, or triplets drawn from labels.

        The first call finds the start and the step size by its X, so that should not be too small. None are held
        out, whatever ``early_stopping`` says. Each call finds the inverses of the factors anew: give batches.

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`: from labels, triplets are drawn among the rows of this X, twenty an object.

        Returns
        -------
        self
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            first = not hasattr(self, "components_")
            random = resumed_generator(self.random_state, 0 if first else self.n_steps_)
            table, labels, given = self._given(X, y, comparisons, reset=first)
            if labels is not None:
                draws: Any = FromLabels(
                    labels, np.arange(len(labels)), self.drawing, self.sampling == "hard", random
                )
                n_steps = self.n_steps or default_n_triplets(len(labels), at_least=1)
            elif given is not None:
                draws, n_steps = FromComparisons(given, None), len(given)
            if first:
                learner = self._begun(table, draws, n_steps, random)
                if given is not None:
                    draws = FromComparisons(given, None)  # from the first again
            else:
                learner = self._learner(self._factors_so_far(table.shape[1]), table)
                learner.steps = self.n_steps_
                if not isinstance(self.learning_rate, str):
                    self.learning_rate_ = float(self.learning_rate)
            course = Course(learner.steps + n_steps, self.callback, taken=learner.steps)
            self._learn(learner, draws, course, [] if first else self.history_)
        return self

    def _given(
        self, X: Any, y: Any, comparisons: Any, reset: bool
    ) -> tuple[Any, np.ndarray | None, Comparisons | None]:
        """Return the table, and class numbers or comparisons."""
        labels, given = None, None
        if needs_labels(self, y, comparisons=comparisons):
            table, labels = validate_labelled(self, X, y, sparse=True, reset=reset)
            labels = np.unique(labels, return_inverse=True)[1]
        else:
            table = validate_features(self, X, sparse=True, reset=reset)
            given = validate_triplets(X, comparisons)
        check_scale(table)
        if self.rank > table.shape[1]:
            raise ValueError(
                f"a rank of {self.rank} is more than X has features: at most n_features={table.shape[1]} is wanted"
            )
        return table, labels, given

    def _begun(self, table: Any, draws: Any, n_steps: int, random: np.random.Generator) -> Learner:
        """Return a learner at its start, after its step size was found."""
        self.kind_ = "similarity" if self.loss is None else "distance"
        triplets, _ = draws.next(2 * self.rank)
        learner = self._learner(first_factors(self.init, table, triplets, self.rank, self._psd, random), table)
        self.learning_rate_ = (
            found_rate(learner, table, draws, self.loss is None)
            if isinstance(self.learning_rate, str)
            else float(self.learning_rate)
        )
        return learner

    def _learner(self, start: tuple[np.ndarray, ...], table: Any) -> Learner:
        loss = None if self.loss is None else as_loss(self.loss, self.rank)
        return Learner(self.solver, loss, start, Rows.of(table))

    def _factors_so_far(self, d: int) -> tuple[np.ndarray, ...]:
        """Return the factors to learn on from; ValueError where the parameters now ask for others."""
        factors = tuple(
            getattr(self, name).T for name in ("asking_components_", "components_") if hasattr(self, name)
        )
        wanted = (d, self.rank), 1 if self._psd else 2, "similarity" if self.loss is None else "distance"
        if (factors[0].shape, len(factors), self.kind_) != wanted:
            raise ValueError(
                f"this model is a {self.kind_} with {len(factors)} factors of shape {factors[0].shape}; its "
                f"parameters now ask for a {wanted[2]} with {wanted[1]} of shape {wanted[0]}: fit it anew"
            )
        return factors

    def _learn(self, learner: Learner, draws: Any, course: Course, before: list[dict[str, Any]]) -> None:
        """Run the learner over its course, and set what was learned, records behind those from before."""
        chunk, left, over = course.chunk, course.n_steps - learner.steps, False
        try:
            with progress(-(-left // chunk), "looks", self.verbose) as course.bar:
                while not over:
                    triplets, weights = draws.next(min(chunk, course.n_steps - learner.steps))
                    losses = learner.take(triplets, self.learning_rate_ * weights)
                    over = course.over(learner.steps, float(losses.mean()))
            learner.settle()
        except FloatingPointError as error:
            raise ValueError(
                f"the fit diverged with a learning_rate of {self.learning_rate_:.3g}: give a smaller one ({error})"
            ) from error
        factors = learner.factors if course.best is None else course.best
        if hasattr(self, "asking_components_"):
            del self.asking_components_
        if len(factors) == 2:
            self.asking_components_ = factors[0].T
        self.components_ = factors[-1].T
        self.history_ = [*before, *course.history]
        self.n_steps_ = learner.steps

    def _check_parameters(self) -> None:
        check(self, "rank", is_count(self.rank), "a positive integer")
        check(self, "solver", self.solver in SOLVERS, f"one of {', '.join(map(repr, SOLVERS))}")
        check(self, "psd", self.psd is None or isinstance(self.psd, bool | np.bool_), "None, True or False")
        check_start(self)
        check(self, "sampling", self.sampling in ("hard", "random"), "'hard' or 'random'")
        rate = self.learning_rate
        good = rate == "auto" if isinstance(rate, str) else is_number(rate) and rate > 0
        check(self, "learning_rate", good, "'auto' or a number > 0")
        check(self, "n_steps", self.n_steps is None or is_count(self.n_steps), "None or a positive integer")
        check(self, "drawing", self.drawing in ("instances", "classes"), "'instances' or 'classes'")
        check(self, "early_stopping", isinstance(self.early_stopping, bool | np.bool_), "True or False")
        share = self.validation_fraction
        check(self, "validation_fraction", is_number(share) and 0 < share < 1, "a number between 0 and 1")
        check(self, "callback", self.callback is None or callable(self.callback), "None or a function of a record")
        if self.solver in GENERAL_ONLY and self._psd:
            raise ValueError(f"solver={self.solver!r} learns two factors: psd=True is for 'loreta' and 'gd'")
        if self.loss is not None:
            as_loss(self.loss, self.rank)
            if not self._psd:
                raise ValueError(
                    "a loss of distances needs psd=True and the solver 'loreta' or 'gd'; "
                    f"got solver={self.solver!r} and psd={self.psd!r}"
                )

    @property
    def _is_projection(self) -> bool:  # type: ignore[override]
        return self._psd
