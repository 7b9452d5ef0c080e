"""LabelRanker: label scores of features, W x with a W of low rank, as a scikit-learn estimator.

``fit`` validates, finds a step size where that is left to it (:mod:`nearer.ranking.training`), starts a learner
(:mod:`nearer.ranking.init`, :mod:`nearer.ranking.learners`), trains it and sets what was learned.
"""

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from nearer.comparisons.random_state import child_generator
from nearer.features.validation import check_scale, validate_features
from nearer.lowrank import Course
from nearer.models import SavedModel
from nearer.parameters import unchanged_on_failure
from nearer.progress import progress
from nearer.ranking.init import MOST_ROWS, constant_of, started, unit
from nearer.ranking.learners import LEARNERS, Learner
from nearer.ranking.parameters import FACTORED, check_factors, check_parameters
from nearer.ranking.predict import RankingPredictor
from nearer.ranking.state import LEARNED, check_goes_on, check_kept, keep, resumed
from nearer.ranking.targets import Lessons, Target, target, with_constant
from nearer.ranking.training import chosen_rate, enough_steps, judged, split, trained


class LabelRanker(RankingPredictor, SavedModel, BaseEstimator):
    """Ranks thousands of labels by their scores W x, a matrix W of low rank that learns row by row.

    A row x with true labels Y should score each of them above every false label by a margin of one. W = ABᵀ, A
    over labels and B over features, so that memory is ``rank`` numbers a label and a feature: B projects the
    features, and A holds a linear classifier of the projection for each label.

    Parameters
    ----------
    rank : int or None, default=50
        Rank of W for "loreta" and "pa": as many as labels, and as features, at most. The matrices of the other
        solvers are of full rank; they do not look at it, and None is for them alone.
    solver : {"loreta", "pa", "perceptron", "group-perceptron", "popularity"}, default="loreta"
        "loreta" takes gradient steps along the manifold of matrices of that rank; "pa" passive-aggressive steps
        on A and B in turn. "perceptron" takes subgradient steps of a full matrix, "group-perceptron" does so by
        mirror descent with the mixed (2, 1) norm, which prefers few features. "popularity" scores a label by
        how many rows have it: the yardstick.
    init : {"zero", "identity", "gaussian"} or pair of arrays, default="zero"
        Where "loreta" and "pa" start. "zero": the best approximation, of that rank, of the sum of the first
        ``2 * rank`` subgradients; where that is of lower rank it is filled up with small random directions.
        "identity": ones on the first ``rank`` places of the diagonal. "gaussian": independent normal factors,
        scaled (the paper does not) such that scores are of size one. Or A and B to start from.
    sampling : {"warp", "all"}, default="warp"
        What a row is learned from. "all" scores every label: the loss is the sum, over true labels, of what
        they lack to be ahead of the highest false one by the margin. "warp" draws one true label, and false
        ones until one violates the margin, and learns from that pair: the fewer draws it took, the more it
        weighs. A step then scores few labels, however many there are.
    learning_rate : "auto" or float, default="auto"
        Step size, constant throughout; for "pa" the largest step, its C. "auto" tries a ladder of them on some
        of the rows, judged by others; ``learning_rate_`` says which was taken.
    n_steps : int, optional
        Rows to learn from in ``fit``, one a step. By default 20 passes, with "warp" more where rows have many
        labels so that each is drawn about six times, within bounds of 10,000 steps and 1,000,000, but one pass
        at least.
    fit_intercept : bool, default=True
        Whether there is a constant feature. Its value is ``constant_``, so that it weighs as much as the others
        whatever their scale: with ``learning_rate="auto"``, X and 100 X are ranked alike.
    early_stopping : bool, default=False
        Hold some rows out, look at how well they are ranked twenty times a fit, keep the best, and stop when five
        looks in a row brought nothing better.
    validation_fraction : float, default=0.1
        Share of the rows to hold out then, 5,000 of them at most.
    random_state : int, Generator, RandomState or None
        Draws starts, orders of rows, and labels.
    callback : callable, optional
        Called with each record of ``history_``; True stops the fit.
    verbose : bool, default=False
        Show progress bars: of the choice of a step size, and of the fit.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Names of the labels, or their numbers; or the classes.
    label_factors_ : array of shape (n_labels, rank)
        A, for "loreta" and "pa".
    feature_factors_ : array of shape (n_features, rank)
        B, but for its row of the constant feature, which is ``intercept_factors_``.
    constant_ : float
        Value of the constant feature: the root mean square of the entries that are not zero, of ``fit`` or of the
        first ``partial_fit``.
    coef_ : array of shape (n_labels, n_features)
        W, for the perceptrons.
    theta_ : array
        The matrix before the mirror, features by labels, for "group-perceptron".
    intercept_ : array of shape (n_labels,)
        Scores of a row of zeros: A times ``intercept_factors_`` times ``constant_``; for "popularity" the counts.
    label_counts_ : array of shape (n_labels,)
        How many rows had each label.
    n_labels_ : int
        Labels that ``predict`` gives a row: the mean number of those that had any, rounded.
    learning_rate_ : float or None
        Step size as used.
    history_ : list of dict
        Records, twenty of a fit and one of each ``partial_fit``: steps, loss (in the mean over steps since the
        last record), score (mean average precision) where rows are held out, seconds.
    n_steps_ : int
        Steps taken.
    n_rows_ : int
        Rows that had labels.
    n_skipped_ : int
        Rows that nothing could be learned from: those without labels, and those that have all of them.
    n_features_in_ : int
        Number of columns.

    Notes
    -----
    A step costs the entries of x times the rank, some tens of times the rank squared, and with
    ``sampling="all"`` one pass over A. A step of LORETA is that of the paper to rounding; but where W is about
    to lose its rank, singular values below a tenth of a step's length are raised to that.

    With all labels scored, a row with d violated labels pushes the highest false one down d times as far as it
    pulls each of them up. That is restless: on corel5k and delicious it ranked no better than popularity, and
    pairs that are drawn ranked much better. Hence the default. The weight of a pair of "warp" is 1 + 1/2 + … +
    1/⌊false labels / draws⌋, divided by what it is after a single draw, so that learning rates mean about
    the same for both. At most 1,000 labels are drawn.

    References
    ----------
    Shalit, Weinshall, Chechik, "Online learning in the embedded manifold of low-rank matrices" (LORETA), 2012;
    Weston, Bengio, Usunier, "WSABIE: scaling up to large vocabulary image annotation" (WARP), 2011;
    Kakade, Shalev-Shwartz, Tewari, "Regularization techniques for learning with matrices" (group norms), 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from nearer import LabelRanker
    >>> X, Y = make_multilabel_classification(500, n_features=30, n_classes=12, random_state=0)
    >>> model = LabelRanker(rank=5, random_state=0).fit(X[:400], Y[:400])
    >>> labels, scores = model.top_k(X[400:], 3)
    >>> labels.shape
    (100, 3)
    >>> popular = LabelRanker(solver="popularity").fit(X[:400], Y[:400])
    >>> bool(model.score(X[400:], Y[400:]) > popular.score(X[400:], Y[400:]) + 0.1)
    True
    """

    _learned_arrays = ("label_counts_", "classes_", *LEARNED, "feature_names_in_")
    _learned_values = (
        "learning_rate_",
        "constant_",
        "history_",
        "n_steps_",
        "n_rows_",
        "n_skipped_",
        "n_labels_",
        "n_features_in_",
        "target_form_",
        "target_dtype_",
    )
    learning_rate_: Any
    constant_: float
    n_steps_: int
    n_rows_: int
    n_skipped_: int
    n_features_in_: int
    intercept_factors_: np.ndarray
    theta_: np.ndarray

    def __init__(
        self,
        rank: int | None = 50,
        solver: str = "loreta",
        *,
        init: Any = "zero",
        sampling: str = "warp",
        learning_rate: float | str = "auto",
        n_steps: int | None = None,
        fit_intercept: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.solver = solver
        self.init = init
        self.sampling = sampling
        self.learning_rate = learning_rate
        self.n_steps = n_steps
        self.fit_intercept = fit_intercept
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, Y: Any, labels: Any = None) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features.
        Y : indicator matrix of shape (n, n_labels), or array of shape (n,)
            Which labels are true of each row: an array or sparse matrix of 0 and 1, or a DataFrame of them whose
            columns name the labels; or one class a row. Rows without labels are passed over and counted.
        labels : array-like of shape (n_labels,), optional
            Names of the columns of Y; where Y is one class a row, all classes there are, if not all are in Y.
            :meth:`partial_fit` has the same under the name that it has in all of scikit-learn, ``classes``.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            table = validate_features(self, X, sparse=True, reset=True, min_samples=1)
            check_scale(table)
            found = target(self, Y, labels, table.shape[0])
            self._begin(found)
            lessons = self._lessons(table, found)
            if self.solver != "popularity":
                self._fit(lessons, child_generator(self.random_state))
            self._warn_of_unseen()
        return self

    def partial_fit(self, X: Any, Y: Any, classes: Any = None) -> Self:
        """Learn on from further rows, each once and in their order; neither are any held out.

        The first call finds the start, the step size and the value of the constant feature by its rows: let it
        have some hundreds. With the same rows in the same order, and the first call alike, it does not matter how
        they are cut. But give batches rather than single rows, as each call finds the factors' inverses anew.

        Parameters
        ----------
        X, Y
            As for :meth:`fit`: as many features and labels each time.
        classes : array-like of shape (n_labels,), optional
            All classes there are, wanted in the first call where Y is one class a row; where Y is an indicator
            matrix, the names of its columns. :meth:`fit` calls the same ``labels``. Later calls do not look at it.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            first = not hasattr(self, "label_counts_")
            table = validate_features(self, X, sparse=True, reset=first, min_samples=1)
            check_scale(table)
            if first:
                found = target(self, Y, classes, table.shape[0], whole=False)
                self._begin(found)
            else:
                check_goes_on(self)
                found = self._target(Y, table.shape[0])
            lessons = self._lessons(table, found, first=first)
            if self.solver != "popularity":
                self._learn_on(lessons, child_generator(self.random_state), first)
        return self

    def _begin(self, found: Target) -> None:
        """Forget what was learned, and take up what the labels are."""
        for name in LEARNED:
            if hasattr(self, name):
                delattr(self, name)
        self.classes_, self.target_form_, self.target_dtype_ = found.classes, found.form, found.dtype
        self.label_counts_ = np.zeros(len(found.classes), dtype=np.int64)
        self.n_rows_ = self.n_skipped_ = self.n_steps_ = 0
        self.history_: list[dict[str, Any]] = []
        self.learning_rate_ = None
        if self.solver in FACTORED:
            check_factors(self, len(found.classes), self.n_features_in_ + bool(self.fit_intercept))

    def _lessons(self, table: Any, found: Target, first: bool = True) -> Lessons:
        """Count labels, and return the rows that something can be learned from."""
        counts = np.diff(found.indicator.indptr)
        teaching = np.flatnonzero((counts > 0) & (counts < len(self.classes_)))
        if first and len(teaching) == 0:
            empty, n, every = int((counts == 0).sum()), len(counts), f"all {len(self.classes_)} labels"
            some = f"of {n} rows {empty} have no label and the others {every}"
            why = {0: f"each of the {n} rows has {every}", n: f"none of the {n} rows has a label"}.get(empty, some)
            raise ValueError(f"there is nothing to learn from: {why}")
        self.n_skipped_ += len(counts) - len(teaching)
        self.n_rows_ += int((counts > 0).sum())
        # New arrays and no sums in place: a fit that fails leaves those that were there before as they were.
        self.label_counts_ = self.label_counts_ + np.bincount(
            found.indicator.indices, minlength=len(self.classes_)
        )
        self.n_labels_ = max(1, round(self.label_counts_.sum() / max(1, self.n_rows_)))
        if self.solver == "popularity":
            self.n_steps_ += len(teaching)
            self.intercept_ = self.label_counts_.astype(np.float64)
        indicator = found.indicator
        if len(teaching) < len(counts):
            table, indicator = table[teaching], indicator[teaching]
        if first:
            self.constant_ = constant_of(table)
        return Lessons(with_constant(table, self.constant_) if self.fit_intercept else table, indicator)

    def _fit(self, lessons: Lessons, random: np.random.Generator) -> None:
        seed = int(random.integers(2**63))
        held_out = None
        if self.early_stopping:
            lessons, held_out = split(lessons, self.validation_fraction, random)
        n_steps = enough_steps(lessons, self.sampling == "warp") if self.n_steps is None else int(self.n_steps)
        rate = self._rate(lessons, n_steps, seed, random)
        order = random.permutation(len(lessons))
        learner = started(self, lessons.some(order[:MOST_ROWS]), rate, seed)
        judge = None if held_out is None else lambda: judged(learner, held_out)
        course = Course(n_steps, self.callback, judge, learner.parts)
        with progress(-(-n_steps // course.chunk), "looks", self.verbose) as course.bar:
            self.n_steps_ = trained(learner, lessons, rate, course, random)
        if course.best is not None:
            learner = LEARNERS[self.solver](*course.best, warp=learner.warp, seed=seed)
        self.history_ = course.history
        keep(self, learner, rate)

    def _learn_on(self, lessons: Lessons, random: np.random.Generator, first: bool) -> None:
        seed = int(random.integers(2**63))
        if first:
            rate = self._rate(lessons, len(lessons), seed, random)
            learner = started(self, lessons, rate, seed)
        else:
            learner = resumed(self, seed)
            rate = self.learning_rate_ if isinstance(self.learning_rate, str) else float(self.learning_rate)
        if len(lessons) == 0:
            return
        order = np.arange(len(lessons))
        losses = learner.take(lessons.rows, lessons.labels, order, self.n_steps_, rate)
        self.n_steps_ += len(order)
        course = Course(self.n_steps_, self.callback)
        course.over(self.n_steps_, float(losses.mean()))
        self.history_ = [*self.history_, *course.history]
        keep(self, learner, rate)

    def _rate(self, lessons: Lessons, n_steps: int, seed: int, random: np.random.Generator) -> float:
        if not isinstance(self.learning_rate, str):
            return float(self.learning_rate)

        def make(some: Lessons, rate: float) -> Learner:
            return started(self, some, rate, seed)

        return chosen_rate(make, lessons, unit(self.solver, lessons), n_steps, random, self.verbose)

    def _warn_of_unseen(self) -> None:
        missing = int((self.label_counts_ == 0).sum())
        if missing:
            warnings.warn(
                f"{missing} of {len(self.label_counts_)} labels are true of no row: nothing can be learned of "
                "them, and they are ranked last",
                UserWarning,
                stacklevel=3,
            )

    def _loaded(self) -> None:
        check_kept(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = self.solver == "popularity"
        return tags
