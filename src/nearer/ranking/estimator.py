"""LabelRanker: label scores of features, W x with a W of low rank, as a scikit-learn estimator.

``fit`` checks its input, starts a model (by default in closed form, :mod:`nearer.ranking.settings`, otherwise
:mod:`nearer.ranking.init`), selects a step size, has a solver train the model under a monitor, and sets the learned
attributes.
"""

import warnings
from dataclasses import KW_ONLY, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from nearer.comparisons.random_state import child_generator
from nearer.features.validation import check_scale, check_weights, validate_features
from nearer.lowrank.estimator import LEARNED_VALUES, StreamEstimator, documented
from nearer.monitor import Monitor, Result
from nearer.parameters import AUTO, BOOL, COUNT, NONE, Constraint, either, one_of, parametrized
from nearer.ranking.init import INITS, MAX_ROWS, check_factors, constant_value, start_model
from nearer.ranking.models import RankingModel
from nearer.ranking.predict import RankingPredictor
from nearer.ranking.settings import MAX_PASSES, start_from_ridge
from nearer.ranking.solvers import SOLVERS, RowStream, default_n_steps, hold_out, select_rate
from nearer.ranking.state import LEARNED, check_attributes, check_resumable, resume, store
from nearer.ranking.targets import Target, TrainingSet, read_target, with_constant
from nearer.solver import N_CHUNKS


def _is_init(value: Any) -> bool:
    return value in INITS if isinstance(value, str) else isinstance(value, tuple | list) and len(value) == 2


@documented
@parametrized
class LabelRanker(RankingPredictor, StreamEstimator):
    """Rank thousands of labels by their scores W x, with a matrix W of low rank.

    A row x with true labels Y should score each of them above every false label by a margin of one. W = ABᵀ, A
    over labels and B over features, so that memory is ``rank`` numbers per label and per feature: B projects the
    features, and A holds a linear classifier of the projection for each label. By default W starts from a
    closed form that is better than ridge regression, and steps, one row at a time, follow only as far as they help.

    Parameters
    ----------
    rank : "auto", int or None, default="auto"
        Rank of W for "loreta" and "pa", at most the number of labels and of features. "auto": from
        ``init="ridge"`` the smallest of 25, 50, 100 and 200 that ranks held-out rows about as well as the full rank, and
        50 at most if steps follow; 50 from other starts; less where the table is small. The other solvers have
        matrices of full rank and ignore it; None is for them alone.
    solver : {"loreta", "pa", "perceptron", "group-perceptron", "popularity"} or object, default="loreta"
        "loreta" takes gradient steps along the manifold of matrices of that rank; "pa" passive-aggressive steps
        on A and B in turn. "perceptron" takes subgradient steps of a full matrix, "group-perceptron" does so by
        mirror descent with the mixed (2, 1) norm, which prefers few features. "popularity" scores a label by
        how many rows have it: the baseline. Or a solver object of :mod:`nearer.ranking`.
    init : {"ridge", "zero", "identity", "gaussian"} or pair of arrays, default="ridge"
        Where "loreta" and "pa" start. "ridge": one Newton step from label popularity in closed form, with
        power, penalty and rank selected by held-out rows (see Notes). The others are those of the paper.
        "zero": the best approximation, of that rank, of the sum of the first ``2 * rank`` subgradients; where that
        is of lower rank it is filled up with small random directions.
        "identity": ones on the first ``rank`` places of the diagonal. "gaussian": independent normal factors,
        scaled (the paper does not) such that scores are of size one. Or A and B to start from.
    negatives : {"warp", "all"}, default="warp"
        Which false labels a row is learned from. "all" scores every label: the loss is the sum, over true labels,
        of what they lack to exceed the highest false one by the margin. "warp" draws one true label, and false
        ones until one violates the margin, and learns from that pair: the fewer draws it took, the larger its
        weight. A step then scores few labels, however many there are.
    fit_intercept : bool, default=True
        Whether there is a constant feature. Its value is ``constant_``, so that it weighs as much as the others
        at any scale: with ``learning_rate="auto"``, X and 100 X give the same rankings.
    learning_rate : "auto" or float, default="auto"
        Step size, constant throughout; for "pa" the largest step, its C. "auto" tries several on some
        of the rows, judged by others; ``learning_rate_`` and ``selection_`` say which was taken.
    n_steps : int, optional
        Rows to learn from in ``fit``, one per step. By default from ``init="ridge"`` up to four passes, more if the
        table is small, or none: what ranks held-out rows best. From other starts 20 passes, with "warp" more if rows
        have many labels, so that each is drawn about six times; 10,000 to 1,000,000 steps, but one pass at least.
    early_stopping : bool, default=False
        Hold some rows out, evaluate their rankings twenty times per fit, keep the best model, and stop when five
        evaluations in a row were not better.
    validation_fraction : float, default=0.1
        Share of the rows to hold out then, 5,000 of them at most.
    random_state : int, Generator, RandomState or None
        Draws starts, orders of rows, and labels.

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
        Scores of a row of zeros: A times ``intercept_factors_`` times ``constant_``; for "popularity" the counts, by
        weight.
    label_counts_ : array of shape (n_labels,)
        How many rows had each label.
    n_predicted_ : int
        Labels per row that ``predict`` returns: the mean number of labels of rows that had any, rounded.
    learning_rate_ : float or None
        Step size as used.
    selection_ : list of dict or None
        One record per setting that was tried: learning_rate, error (1 minus the mean average precision of
        other rows), standard_error, and whether it was chosen. From ``init="ridge"`` also power, ridge (None:
        popularity alone, tried first), rank and n_steps; learning_rate is None if there were no steps.
    history_ : list of dict
        Records, twenty per fit and one per ``partial_fit``: iteration, n_steps, loss (mean over the steps since
        the last record), held_out_score (mean average precision) if rows are held out, seconds. Empty without steps.
    n_rows_ : int
        Rows that had labels.
    n_skipped_ : int
        Rows that teach nothing: those without labels, and those that have all labels.

    Notes
    -----
    ``init="ridge"`` standardizes features, and takes the first Newton step from label popularity in a generalized linear
    model of each label whose variance is a power γ of its mean, with a ridge penalty. If π is the share of
    rows with the label, its score is π^(1 - γ) / (1 - γ) + wᵀz, and w = (π^γ ZᵀZ + λI)⁻¹Zᵀ(y - π). Power 0
    is ridge regression, and 1 would be Poisson regression. In between, rare labels can be ranked high where features
    speak for them. A fifth of the rows, 2,000 at most, is held out to find power, penalty and rank; then all
    rows are used. Tables of more than 2,000 features are projected onto a block Krylov space of about 300
    dimensions, so that no matrix of features by features is made.

    A step costs the entries of x times the rank, some tens of times the rank squared, and with
    ``negatives="all"`` one pass over A. A step of LORETA is that of the paper to rounding; but where W is about
    to lose its rank, singular values below a tenth of a step's length are raised to that.

    With all labels scored, the exact subgradient of a row with d violated labels pushes the highest false one down
    d times as far as it pulls each of them up. On corel5k and delicious that ranked no better than popularity. The G
    that the LORETA paper prints pushes it down as far as it pulls one up, and ranks clearly better: it is that of
    ``solver=LORETA(subgradient="printed")``. Pairs that are drawn ("warp") rank better still, hence the default. Their
    weight is 1 + 1/2 + … + 1/⌊false labels / draws⌋, divided by what it is after a single draw, so that learning
    rates mean about the same for both. At most 1,000 labels are drawn.

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
    >>> model = LabelRanker(random_state=0).fit(X[:400], Y[:400])
    >>> labels, scores = model.top_k(X[400:], 3)
    >>> labels.shape
    (100, 3)
    >>> popular = LabelRanker(solver="popularity").fit(X[:400], Y[:400])
    >>> bool(model.score(X[400:], Y[400:]) > popular.score(X[400:], Y[400:]) + 0.1)
    True
    """

    _learned_arrays = ("label_counts_", "classes_", *LEARNED, "feature_names_in_")
    _learned_values = (
        *LEARNED_VALUES,
        "constant_", "n_rows_", "n_skipped_", "n_predicted_", "target_form_", "target_dtype_",
    )  # fmt: skip
    _solvers: ClassVar = SOLVERS
    _scales_features = True  # the closed form does
    _dask_advice = (
        "call partial_fit with one block after another, because averaged factors of shards rank worse than those of one "
        "process, or pass X.compute() if that fits"
    )
    _constraints: ClassVar = {
        "rank": either(AUTO, COUNT, NONE),
        "init": Constraint(_is_init, "'ridge', 'zero', 'identity', 'gaussian' or a pair of arrays"),
        "negatives": one_of("all", "warp"),
        "fit_intercept": BOOL,
    }
    constant_: float = field(init=False)
    n_rows_: int = field(init=False)
    n_skipped_: int = field(init=False)
    intercept_factors_: np.ndarray = field(init=False)
    theta_: np.ndarray = field(init=False)

    rank: int | str | None = "auto"
    _: KW_ONLY
    init: Any = "ridge"
    negatives: str = "warp"
    fit_intercept: bool = True

    def fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features.
        y : indicator matrix of shape (n, n_labels), or array of shape (n,)
            Which labels are true of each row: an array or sparse matrix of 0 and 1, or a DataFrame of them whose
            columns name the labels; or one class per row. Rows without labels are skipped and counted.
        classes : array-like of shape (n_labels,), optional
            Names of the columns of y; if y is one class per row, all classes, if not all of them are in y.
        sample_weight : array of shape (n,), optional
            How many rows each row stands for, so that their mean should be about 1: in the closed form an integer is
            as many rows, steps draw rows in proportion to their weights, and held-out rows count as much. Rows of
            weight 0 are left out.

        Returns
        -------
        self
        """
        with self._learning():
            table = self._validate(X, reset=True)
            target = read_target(self, y, classes, table.shape[0])
            weights = None
            if sample_weight is not None:
                weights = check_weights(sample_weight, table.shape[0])
                counted = np.flatnonzero(weights)
                if len(counted) == 0:
                    raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
                table, weights = table[counted], weights[counted]
                target = target._replace(indicator=target.indicator[counted])
            self._begin(target)
            train = self._training_set(table, target, weights=weights)
            if self._solver.stored_in:
                self._fit(train, child_generator(self.random_state))
            self._warn_of_unseen()
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Continue from further rows, each once and in their order; none are held out.

        The first call finds the start, the step size and the value of the constant feature by its rows: give it
        some hundreds. With the same rows in the same order, and the same first call, it does not matter how they
        are cut. But give batches rather than single rows, as each call computes the inverses of the factors.

        Parameters
        ----------
        X, y
            As for :meth:`fit`: as many features and labels each time.
        classes : array-like of shape (n_labels,), optional
            As for :meth:`fit`; required in the first call if y is one class per row. Later calls ignore it.

        Returns
        -------
        self
        """
        with self._learning():
            first = not hasattr(self, "label_counts_")
            table = self._validate(X, reset=first)
            if first:
                target = read_target(self, y, classes, table.shape[0], whole=False)
                self._begin(target)
            else:
                check_resumable(self, self._solver)
                target = self._target(y, table.shape[0])
            train = self._training_set(table, target, first=first)
            if self._solver.stored_in:
                self._continue(train, child_generator(self.random_state), first)
        return self

    def _check_combinations(self) -> None:
        if self._solver.factored and self.rank is None:
            raise ValueError(f"rank must be a positive integer for solver={self.solver!r}; got None")

    def _validate(self, X: Any, reset: bool) -> Any:
        table = validate_features(self, X, sparse=True, reset=reset, min_samples=1)
        check_scale(table)
        return table

    def _begin(self, target: Target) -> None:
        """Forget what was learned, and set what the labels are."""
        for name in LEARNED:
            if hasattr(self, name):
                delattr(self, name)
        self.classes_, self.target_form_, self.target_dtype_ = target.classes, target.form, target.dtype
        self.label_counts_ = np.zeros(len(target.classes), dtype=np.int64)
        self.n_rows_ = self.n_skipped_ = self.n_steps_ = 0
        self.learning_rate_ = self.selection_ = None
        self._set_result(Result(None, 0, True, "converged", []))  # of popularity, which takes no steps
        if self._solver.factored:
            check_factors(self, len(target.classes), self.n_features_in_ + bool(self.fit_intercept))

    def _training_set(
        self, table: Any, target: Target, first: bool = True, weights: np.ndarray | None = None
    ) -> TrainingSet:
        """Count labels, and return the rows that teach something."""
        counts = np.diff(target.indicator.indptr)
        teaching = np.flatnonzero((counts > 0) & (counts < len(self.classes_)))
        if first and len(teaching) == 0:
            empty, n, every = int((counts == 0).sum()), len(counts), f"all {len(self.classes_)} labels"
            some = f"of {n} rows {empty} have no label and the others {every}"
            why = {0: f"each of the {n} rows has {every}", n: f"none of the {n} rows has a label"}.get(empty, some)
            raise ValueError(f"there is nothing to learn from: {why}")
        self.n_skipped_ += len(counts) - len(teaching)
        self.n_rows_ += int((counts > 0).sum())
        # New arrays and no sums in place: a fit that fails leaves the old ones as they were.
        self.label_counts_ = self.label_counts_ + np.bincount(
            target.indicator.indices, minlength=len(self.classes_)
        )
        self.n_predicted_ = max(1, round(self.label_counts_.sum() / max(1, self.n_rows_)))
        indicator = target.indicator
        if weights is not None and (counts > 0).any():
            self.n_predicted_ = max(1, round(weights @ counts / (weights @ (counts > 0))))
        if not self._solver.stored_in:
            self.n_steps_ += len(teaching)
            counted = indicator.sum(axis=0) if weights is None else indicator.T @ weights
            self.intercept_ = counted if first else self.intercept_ + counted
        if len(teaching) < len(counts):
            table, indicator = table[teaching], indicator[teaching]
            weights = None if weights is None else weights[teaching]
        if first:
            self.constant_ = constant_value(table)
        table = with_constant(table, self.constant_) if self.fit_intercept else table
        return TrainingSet(table, indicator, weights)

    def _fit(self, train: TrainingSet, random: np.random.Generator) -> None:
        solver, seed, judge = self._solver, int(random.integers(2**63)), None
        if self.early_stopping:
            train, judge = hold_out(train, self.validation_fraction, random)
        with self._monitor(max_iter=N_CHUNKS, judge=judge, snapshot=lambda model: model.parts()) as monitor:
            model, rate, n_steps = self._start(train, random, seed, monitor)
            if n_steps:
                stream = RowStream(train, rate, n_steps, random)
                monitor.max_iter = stream.n_chunks
                result = solver.solve(stream, model, monitor)
            else:
                result = monitor.result(model)
        if self._starts_from_ridge and not (self.n_steps or self.early_stopping) and result.reason == "max_iter":
            # Held-out rows chose how many steps to take, none among them: more would not help.
            result = replace(result, converged=True, reason="converged")
        if monitor.best is not None:
            model = solver.model(*result.solution, warp=model.warp, seed=seed)
        self._set_result(result)
        self.n_steps_ = stream.n_taken if n_steps else 0
        store(self, solver, model, rate)

    def _start(
        self, train: TrainingSet, random: np.random.Generator, seed: int, monitor: Monitor
    ) -> tuple[RankingModel, float, int]:
        """Return the model to start from, the step size, and the number of steps."""
        solver, warp = self._solver, self.negatives == "warp"
        if self._starts_from_ridge:
            n_steps = self.n_steps or (MAX_PASSES * len(train) if self.early_stopping else None)
            return self._start_from_ridge(train, random, seed, monitor, n_steps)
        n_steps = self.n_steps or default_n_steps(train, warp)
        start = partial(start_model, self, solver, seed=seed)
        rate = self._select_rate(lambda: select_rate(solver, start, train, n_steps, random, monitor))
        order = random.permutation(len(train))
        return start(train.take(order[:MAX_ROWS]), rate), rate, n_steps

    def _start_from_ridge(
        self, train: TrainingSet, random: np.random.Generator, seed: int, monitor: Monitor, n_steps: int | None
    ) -> tuple[RankingModel, float, int]:
        model, settings, selection = start_from_ridge(self, self._solver, train, random, seed, monitor, n_steps)
        self.selection_ = selection.records()
        return model, float(settings.learning_rate or 0.0), settings.n_steps

    @property
    def _starts_from_ridge(self) -> bool:
        return self._solver.factored and isinstance(self.init, str) and self.init == "ridge"

    def _continue(self, train: TrainingSet, random: np.random.Generator, first: bool) -> None:
        if len(train) == 0:
            return
        solver, seed = self._solver, int(random.integers(2**63))
        before, selected = self.history_, getattr(self, "selection_", None)
        with self._monitor(max_iter=1) as monitor:
            if first and self._starts_from_ridge:
                model, rate, _ = self._start_from_ridge(train, random, seed, monitor, len(train))
            elif first:
                start = partial(start_model, self, solver, seed=seed)
                rate = self._select_rate(lambda: select_rate(solver, start, train, len(train), random, monitor))
                model = start(train, rate)
            else:
                model, rate = resume(self, solver, seed), self._resumed_rate()
            stream = RowStream(train, rate, len(train), None, n_taken=self.n_steps_)
            result = solver.solve(stream, model, monitor)
        self._set_result(result)
        self.n_steps_, self.history_ = stream.n_taken, [*before, *result.history]
        self.selection_ = self.selection_ if first else selected
        store(self, solver, model, rate)

    def _warn_of_unseen(self) -> None:
        missing = int((self.label_counts_ == 0).sum())
        if missing:
            warnings.warn(
                f"{missing} of {len(self.label_counts_)} labels are true of no row: nothing can be learned about "
                "them, and they are ranked last",
                UserWarning,
                stacklevel=3,
            )

    def _loaded(self) -> None:
        check_attributes(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.poor_score = not self._solver.stored_in
        return tags
