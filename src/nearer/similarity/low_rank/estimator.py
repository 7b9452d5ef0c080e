"""LowRankSimilarity: a similarity xᵀWx' with W of fixed rank, learned triplet by triplet, as an estimator.

``fit`` checks its input, finds a start and selects a step size, and has a solver
(:mod:`nearer.similarity.low_rank.solvers`) learn from triplets, which are drawn from labels as they are needed or
those of the comparisons.
"""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize

from nearer.cluster import is_dask_collection
from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import child_generator, resumed_generator
from nearer.features.validation import check_scale
from nearer.iterative import DivergedError
from nearer.losses import as_loss
from nearer.lowrank import Rows
from nearer.lowrank.estimator import LEARNED_VALUES, StreamEstimator, documented
from nearer.monitor import Judge, Monitor
from nearer.parameters import AUTO, BOOL, COUNT, NONE, Constraint, either, one_of, parametrized
from nearer.selection import FEW_CLASSES
from nearer.similarity.inputs import default_n_triplets, validate_input
from nearer.similarity.low_rank.averaging import fit_on_cluster
from nearer.similarity.low_rank.held_out import hold_out_comparisons, hold_out_objects
from nearer.similarity.low_rank.init import INITS, initial_factors, is_init, start_factor
from nearer.similarity.low_rank.model import FactorModel
from nearer.similarity.low_rank.predict import LowRankComparer
from nearer.similarity.low_rank.sampling import ComparisonSampler, LabelSampler
from nearer.similarity.low_rank.solvers import SOLVERS, TRIAL_TRIPLETS, TripletStream, select_rate
from nearer.similarity.low_rank.start import RANKS, Start, candidate_ranks, choose_start
from nearer.similarity.prior import DEFAULT_SHRINKAGE
from nearer.similarity.validation import VALIDATION, judges_classes
from nearer.simulate.labels import warn_of_single_members

STEPS_PER_OBJECT, PASSES = 20, 3
MIN_STEPS, MAX_STEPS = 20_000, 1_000_000
FEW_STEPS = 100  # per object of a small table are enough for a cosine, which has a good start
CONSTANT = 1e-12  # standard deviation of a constant column, relative to its mean
ENOUGH_MEMBERS = 10  # of a class, of which some are held out


@documented
@parametrized
class LowRankSimilarity(LowRankComparer, StreamEstimator):
    """A similarity xᵀWx', or a distance, of low rank, learned online from triplets: LORETA.

    W is kept as factors of ``rank`` columns, so 50,000 features take no more than that many rows, and a step costs
    what the entries of its three objects cost, times the rank. It learns from class labels, or from comparisons:
    "a is more like b than like c".

    Parameters
    ----------
    rank : "auto" or int, default="auto"
        Columns of the factors; at most the number of features. "auto": of 10 to 240, what predicts held-out data
        best at the start that ``init="auto"`` chooses; with other starts 30, or all features where there are fewer.
    solver : {"loreta", "gd", "pa", "loreta-identify"} or object, default="loreta"
        "loreta" takes gradient steps along the manifold of matrices of that rank. "gd" steps along the gradients
        of the factors: for ``psd=False`` that is unstable. "pa" takes passive-aggressive steps of one factor and
        then the other. "loreta-identify" (the paper's Algorithm 6) takes, after each step of LORETA, as many steps
        of OASIS as the rank in a small matrix between the factors, and multiplies that in. When few directions
        explain most triplets, that matrix grows along these only, round after round, and the factors collapse to
        them: it learns less than LORETA, as the paper saw, and here the steps of LORETA are as cheap. Or a solver
        object of :mod:`nearer.similarity`.
    loss : None, str or object, default=None
        None: the hinge [1 - S(a, b) + S(a, c)]₊ of a similarity S. A loss of :mod:`nearer.losses`, by name or as
        an object: the model is then a distance ‖Y(x - x')‖, for "loreta" and "gd".
    psd : bool, optional
        Keep W positive semidefinite, W = YYᵀ. None: yes for "loreta" and "gd", no for the others.
    normalize : bool, optional
        Whether the similarity is the cosine of the projections, from -1 to 1; dense features are then standardized,
        unless the start is the features as they are. By default yes for a similarity with ``psd``, and no for the
        others.
    init : {"auto", "whitened", "svd", "identity", "zero", "gaussian"} or array, default="auto"
        Where to start. "whitened": the leading directions of the features, whitened by their covariance within
        classes, which is shrunken as far as predicts held-out objects best. "auto": for a cosine learned from labels
        that, or the features as they are if whitening is not clearly better, by more than a standard error; else
        "svd": the leading directions of the features. "identity": the first ``rank`` features, for
        features sorted by what they tell, as `nearer.InformationGain` does. "zero": the first gradients, added up
        and cut to the rank. "gaussian": normal random numbers. Or factors of shape (d, rank), two of them for
        ``psd=False``.
    validation : {"auto", "objects", "classes"}, default="auto"
        What the start and early stopping are judged by: held-out objects of the same classes, or a third of the
        classes, where the similarity is for classes that are not in y; see `BilinearSimilarity`. If no start is
        clearly better for such classes than the plain cosine, no steps are taken.
    negatives : {"hard", "random"}, default="hard"
        How x⁻ is drawn from labels: of ten objects of other classes the one most similar to the anchor, or any. Hard
        ones teach more if classes can be told apart; if they overlap widely, random ones may be better.
    sampling : {"instances", "classes"}, default="instances"
        Whether anchors are drawn evenly over objects or over classes.
    learning_rate : "auto" or float, default="auto"
        The step size. "auto" tries several on a first slice of triplets and takes the next smaller one to the one
        with the smallest losses; ``learning_rate_`` and ``selection_`` say which. For "pa" it is the cap on a step.
    n_steps : int, optional
        Triplets to learn from: by default twenty per object, or three passes over comparisons, 20,000 at least
        (of a cosine learned from fewer than 200 objects: a hundred per object) and a million at most; fewer where
        "auto" takes a rank above 30, so that they take the same time.
    early_stopping : "auto" or bool, default="auto"
        Hold out a share of the objects of each class, or of the answers, and keep the factors that were best for
        them, the start included: by mean average precision, or by the share satisfied. The fit ends when five
        evaluations of twenty in a row were not better. "auto": yes for a cosine learned from labels, if two classes
        have ten objects at least.
    validation_fraction : float, default=0.1
        The share held out.
    random_state : int, Generator, RandomState or None
        Draws triplets and the start.

    Attributes
    ----------
    components_ : array of shape (rank, d)
        The projection; of items if there are two. A model with ``rank="auto"`` that is the plain cosine has none.
    query_components_ : array of shape (rank, d)
        The projection of queries, with ``psd=False``.
    rank_ : int
        The rank as used.
    kind_ : str
        "similarity" or "distance".
    normalize_ : bool
        Whether the similarity is the cosine.
    mean_, scale_ : array of shape (d,) or None
        What is subtracted from the features, and what they are then divided by; None: they stay as they are.
    learning_rate_ : float or None
        The step size as used; None for the plain cosine, from which no steps are taken.
    selection_ : list of dict or None
        One record per step size that "auto" tried: learning_rate, error, standard_error, and whether it was chosen.
    history_ : list of dict
        Records, twenty per fit: iteration, n_steps, loss (mean since the last record), held_out_score (with early
        stopping), seconds.

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
    >>> from nearer import LowRankSimilarity
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.preprocessing import normalize
    >>> X, y = load_digits(return_X_y=True)
    >>> train, test = normalize(X[:1000]), normalize(X[1000:])
    >>> model = LowRankSimilarity(rank=10, random_state=0).fit(train, y[:1000])
    >>> model.transform(test).shape
    (797, 10)
    >>> similarities, indices = model.neighbors(test, train, k=1)
    >>> bool((y[indices[:, 0]] == y[1000:]).mean() > 0.9)
    True
    """

    _learned_arrays = ("mean_", "components_", "query_components_", "scale_", "feature_names_in_")
    _learned_values = ("kind_", "normalize_", "rank_", "threshold_", *LEARNED_VALUES)
    _solvers: ClassVar = SOLVERS
    _constraints: ClassVar = {
        "rank": either(AUTO, COUNT),
        "psd": either(NONE, BOOL),
        "normalize": either(NONE, BOOL),
        "early_stopping": either(AUTO, BOOL),
        "validation": VALIDATION,
        "init": Constraint(is_init, f"one of {', '.join(map(repr, INITS))}, or factors"),
        "negatives": one_of("hard", "random"),
    }

    rank: int | str = "auto"
    _: KW_ONLY
    loss: Any = None
    psd: bool | None = None
    normalize: bool | None = None
    init: Any = "auto"
    early_stopping: Any = "auto"
    validation: str = "auto"
    negatives: str = "hard"
    sampling: str = "instances"

    @property
    def _psd(self) -> bool:
        return not self._solver.general if self.psd is None else bool(self.psd)

    def fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Learn from class labels or comparisons.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Features, one row per object. With labels also a Dask array or DataFrame: the workers of the active
            `dask.distributed.Client` then learn, each thread from a random shard of the rows, and the products of
            their factors are averaged in each of four rounds, of which each has a record of ``history_``. Start,
            standardization and step size are those of the first shard; early stopping keeps the best of start and
            rounds. ``n_steps`` is for all shards and rounds together; by default each takes twenty steps per object.
        y : array of shape (n,), optional
            Class labels. Triplets (x, x⁺, x⁻) are drawn such that x and x⁺ have the same label and x⁻ has another.
            Rows with a negative label are unlabeled and left out, beside two classes that are not negative.
        comparisons : Comparisons, array of shape (m, 3) or DataFrame, optional
            Rows (a, b, c) of row numbers of X, in memory: a is more similar to b than to c. Then y is ignored.

        Returns
        -------
        self
        """
        return self._checked_fit(X, y, comparisons)

    def _fit(self, X: Any, y: Any, comparisons: Any) -> None:
        if is_dask_collection(X) or (comparisons is None and is_dask_collection(y)):
            fit_on_cluster(self, X, y, comparisons)
            return
        random = child_generator(self.random_state)
        table, labels, comparisons = self._validate(X, y, comparisons, reset=True)
        with self._stream_monitor() as monitor:
            start = self._choose_start(table, labels, random, monitor, plain=self.early_stopping is not False)
            if start == (None, table.shape[1]) and self._learns_nothing(labels):
                self._set_plain_cosine(monitor)
                return
            table = self._prepared(table)
            sampler, n_steps, monitor.judge = self._sampler(table, labels, comparisons, random)
            n_steps = self.n_steps or self._default_n_steps(n_steps, table.shape[0])
            stream = TripletStream(sampler, 0.0, n_steps)
            monitor.max_iter = stream.n_chunks
            model = self._start(start, table, sampler, random, monitor)
            stream.learning_rate = self.learning_rate_
            learned = self._learn(model, stream, monitor, history=[])
            if not learned and start is not None:  # the start, once more, from what was held out too
                self._set_factors(self._start_factors(start, table, labels, random))

    def _learns_nothing(self, labels: np.ndarray | None) -> bool:
        """Whether no steps are taken from the plain cosine: of many features, or where new classes prefer it."""
        assert labels is not None
        if not isinstance(self.rank, str) or self.early_stopping is False:
            return False
        return self.rank_ > max(RANKS) or judges_classes(labels, self.validation)

    @property
    def _share(self) -> float:
        """Of the steps of a rank of 30, as many as take the same time."""
        return min(1.0, RANKS[0] / self.rank_) if isinstance(self.rank, str) else 1.0

    def _default_n_steps(self, n_steps: int, n_objects: int) -> int:
        """Return the number of steps, fewer the larger the rank is, as each of them takes longer."""
        at_least = min(MIN_STEPS, FEW_STEPS * n_objects) if self.normalize_ else MIN_STEPS
        return max(1, int(self._share * np.clip(n_steps, at_least, MAX_STEPS)))

    @property
    def _scales_features(self) -> bool:  # type: ignore[override]
        return self._normalizes

    @property
    def _normalizes(self) -> bool:
        return self.loss is None and self._psd if self.normalize is None else bool(self.normalize)

    def _sampler(
        self, table: Any, labels: np.ndarray | None, comparisons: Comparisons | None, random: np.random.Generator
    ) -> tuple[Any, int, Judge | None]:
        """Return what triplets come from, the default number of steps, and with early stopping a judge."""
        judge, fraction = None, self.validation_fraction
        if labels is not None:
            objects = np.arange(len(labels))
            if self._stops_early(labels):
                objects, judge = hold_out_objects(
                    table, labels, fraction, self._metric, random, self.normalize_, self._holds_out_classes(labels)
                )
            return self._label_sampler(labels[objects], random, objects), STEPS_PER_OBJECT * len(objects), judge
        assert comparisons is not None  # exactly one of both
        if self.early_stopping is True:
            comparisons, judge = hold_out_comparisons(
                table, comparisons, fraction, self._metric, random, self.normalize_
            )
        return ComparisonSampler(comparisons, random), PASSES * len(comparisons), judge

    def _stops_early(self, labels: np.ndarray) -> bool:
        """Whether objects are held out: by default for a cosine, of two classes of ten objects at least."""
        if isinstance(self.early_stopping, str):
            return self.normalize_ and int((np.bincount(labels) >= ENOUGH_MEMBERS).sum()) > 1
        return bool(self.early_stopping)

    def _holds_out_classes(self, labels: np.ndarray) -> bool:
        """Whether early stopping holds out classes: where asked for, or where they are many and small."""
        enough = self.validation == "classes" or labels.max() + 1 >= FEW_CLASSES
        return enough and judges_classes(labels, self.validation)

    def partial_fit(self, X: Any, y: Any = None, *, comparisons: Any = None) -> Self:
        """Continue from further objects: comparisons once each and in their order, or triplets drawn from labels.

        The first call finds the start and the step size from its X, which should not be too small. Nothing is held
        out, also with ``early_stopping``. Each call computes the inverses of the factors: give batches.

        Parameters
        ----------
        X, y, comparisons
            As for :meth:`fit`: from labels, triplets are drawn among the rows of this X, twenty per object.

        Returns
        -------
        self
        """
        with self._learning():
            first = not hasattr(self, "n_steps_")
            random = resumed_generator(self.random_state, 0 if first else self.n_steps_)
            table, labels, comparisons = self._validate(X, y, comparisons, reset=first)
            if labels is not None:
                sampler: Any = self._label_sampler(labels, random)
                n_steps = self.n_steps or default_n_triplets(len(labels), at_least=1)
            elif comparisons is not None:
                sampler, n_steps = ComparisonSampler(comparisons, None), len(comparisons)
            n_taken, history = (0, []) if first else (self.n_steps_, self.history_)
            selected = getattr(self, "selection_", None)
            with self._stream_monitor(n_steps) as monitor:
                if first:
                    table, model = self._first_model(table, labels, sampler, random, monitor)
                    if comparisons is not None:
                        sampler = ComparisonSampler(comparisons, None)  # from the first one again
                else:
                    table = self._prepared(table)
                    model, self.selection_ = self._resume(table), selected
                stream = TripletStream(sampler, self.learning_rate_, n_steps, n_taken)
                self._learn(model, stream, monitor, history)
        return self

    def _validate(
        self, X: Any, y: Any, comparisons: Any, reset: bool
    ) -> tuple[Any, np.ndarray | None, Comparisons | None]:
        """Return the table, and class numbers or comparisons; with ``reset`` a new model begins."""
        table, labels, comparisons = validate_input(self, X, y, comparisons, sparse=True, reset=reset)
        if labels is not None:
            warn_of_single_members(labels, stacklevel=5)  # where fit is called
            labels = np.unique(labels, return_inverse=True)[1]
        check_scale(table)
        self._check_rank(table.shape[1])
        if reset:
            self._begin(table.shape[1])
        return table, labels, comparisons

    def _check_rank(self, n_features: int) -> None:
        if not isinstance(self.rank, str) and self.rank > n_features:
            raise ValueError(
                f"a rank of {self.rank} is more than X has features: at most n_features={n_features} is wanted"
            )

    def _begin(self, n_features: int) -> None:
        """Forget what was learned."""
        self.kind_, self.normalize_ = self._kind, self._normalizes
        self.rank_ = min(RANKS[0], n_features) if isinstance(self.rank, str) else int(self.rank)
        self.mean_ = self.scale_ = None

    def _label_sampler(
        self, labels: np.ndarray, random: np.random.Generator, objects: np.ndarray | None = None
    ) -> LabelSampler:
        """Return what draws triplets of objects, by default of all rows, from their labels."""
        objects = np.arange(len(labels)) if objects is None else objects
        return LabelSampler(labels, objects, self.sampling, self.negatives == "hard", random)

    def _first_model(
        self, table: Any, labels: np.ndarray | None, sampler: Any, random: np.random.Generator, monitor: Monitor
    ) -> tuple[Any, FactorModel]:
        """Return the rows to learn from and a model at its start; standardization and step size are set."""
        start = self._choose_start(table, labels, random, monitor, plain=False)
        table = self._prepared(table)
        return table, self._start(start, table, sampler, random, monitor)

    def _choose_start(
        self, table: Any, labels: np.ndarray | None, random: np.random.Generator, monitor: Monitor, plain: bool
    ) -> Start | None:
        """Choose the start, its rank, and whether to standardize; None: another start of ``initial_factors``.

        With ``plain`` the plain cosine of many features is a candidate, from which nothing more is learned.
        """
        start, init = None, self.init if isinstance(self.init, str) else "given"
        if init == "whitened" or (init == "auto" and self.normalize_ and labels is not None):
            start = Start(DEFAULT_SHRINKAGE, self.rank_)
            if labels is not None:
                rank = None if isinstance(self.rank, str) else self.rank_
                ranks, raw_ranks = candidate_ranks(table, labels, rank, plain)
                raw_ranks = raw_ranks if init == "auto" else ()
                start = choose_start(table, labels, ranks, raw_ranks, self.validation, random, monitor)
            self.rank_ = start.rank
        if self.normalize_ and not issparse(table) and (start is None or start.shrinkage is not None):
            self.mean_, self.scale_ = table.mean(axis=0), table.std(axis=0)
            self.scale_[self.scale_ <= CONSTANT * np.abs(self.mean_)] = 1.0
        return start

    def _prepared(self, table: Any) -> Any:
        """Return the rows to learn from: standardized, or of unit length where a cosine has the features as they are."""
        return normalize(table) if self.normalize_ and self.mean_ is None else self._centered(table)

    def _stream_monitor(self, n_steps: int = 1) -> Monitor:
        n_chunks = TripletStream(None, 0.0, n_steps).n_chunks
        return self._monitor(max_iter=n_chunks, snapshot=lambda model: model.factors)

    def _start(
        self, start: Start | None, table: Any, sampler: Any, random: np.random.Generator, monitor: Monitor
    ) -> FactorModel:
        """Return a model at its start, and select its step size."""
        triplets, _ = sampler.next(2 * self.rank_)
        if start is None:
            init = "svd" if isinstance(self.init, str) and self.init == "auto" else self.init
            factors = initial_factors(init, table, triplets, self.rank_, self._psd, random)
        else:
            labels = getattr(sampler, "labels", None)
            factors = self._start_factors(
                start, table if labels is None else table[sampler.objects], labels, random
            )
        model = self._solver.start(self._loss, factors, Rows.of(table))
        bilinear = self.loss is None
        n_trials = int(self._share * TRIAL_TRIPLETS)
        self.learning_rate_ = self._select_rate(
            lambda: select_rate(model, table, sampler, bilinear, monitor, n_trials)
        )
        return model

    def _start_factors(
        self, start: Start, table: Any, labels: np.ndarray | None, random: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        factor = start_factor(start, table, labels, random)
        return (factor,) if self._psd else (factor, factor.copy())

    @property
    def _loss(self) -> Any:
        return None if self.loss is None else as_loss(self.loss, getattr(self, "rank_", RANKS[0]))

    def _resume(self, table: Any) -> FactorModel:
        """Return the model that was learned, to continue from; ValueError if the parameters now ask for another."""
        if not hasattr(self, "components_"):
            raise ValueError(
                "this model is the plain cosine of the features, from which no steps are taken: call fit, with a rank"
            )
        names = [name for name in ("query_components_", "components_") if hasattr(self, name)]
        factors = tuple(getattr(self, name).T for name in names)
        rank = self.rank_ if isinstance(self.rank, str) else self.rank
        expected = (table.shape[1], rank), 1 if self._psd else 2, self._kind
        if (factors[0].shape, len(factors), self.kind_) != expected:
            raise ValueError(
                f"this model is a {self.kind_} with {len(factors)} factors of shape {factors[0].shape}; its "
                f"parameters now ask for a {expected[2]} with {expected[1]} of shape {expected[0]}: call fit"
            )
        if self.normalize_ != self._normalizes:
            raise ValueError(
                f"this model was fitted with normalize={self.normalize_}; its parameters now ask for "
                f"normalize={self._normalizes}: call fit"
            )
        model = self._solver.start(self._loss, factors, Rows.of(table))
        model.n_taken = self.n_steps_
        self.learning_rate_ = self._resumed_rate()
        return model

    def _learn(self, model: FactorModel, stream: TripletStream, monitor: Monitor, history: list[Any]) -> bool:
        """Solve, and set the learned attributes, records after those of earlier calls.

        Returns
        -------
        bool
            Whether steps were kept: with a judge, the start competes too.
        """
        start = None
        if monitor.judge is not None:
            start = monitor.best = (monitor.judge(model)[0], monitor.snapshot(model))
        try:
            result = self._solver.solve(stream, model, monitor)
        except FloatingPointError as error:
            raise DivergedError(
                f"the fit diverged with a learning_rate of {self.learning_rate_:.3g}: give a smaller one ({error})"
            ) from error
        self._set_factors(model.factors if monitor.best is None else result.solution)
        self._set_result(result)
        self.history_, self.n_steps_ = [*history, *result.history], stream.n_taken
        return start is None or monitor.best is not start

    def _set_factors(self, factors: tuple[np.ndarray, ...]) -> None:
        for name in ("query_components_", "components_"):
            self.__dict__.pop(name, None)
        if len(factors) == 2:
            self.query_components_ = factors[0].T
        if factors:
            self.components_ = factors[-1].T

    def _set_plain_cosine(self, monitor: Monitor) -> None:
        """Set the learned attributes of a model without components, which compares the features as they are."""
        self._set_factors(())
        if not monitor.stopped:
            monitor.stop("converged")
        self._set_result(monitor.result(None))
        self.n_steps_, self.learning_rate_ = 0, None

    def _check_combinations(self) -> None:
        if self._solver.general and self._psd:
            raise ValueError(f"solver={self.solver!r} learns two factors: psd=True is for 'loreta' and 'gd'")
        if self.loss is not None:
            as_loss(self.loss, getattr(self, "rank_", RANKS[0]))
            if not self._psd:
                raise ValueError(
                    "a loss of distances needs psd=True and the solver 'loreta' or 'gd'; "
                    f"got solver={self.solver!r} and psd={self.psd!r}"
                )
            if self.normalize:
                raise ValueError(
                    f"normalize=True makes a similarity a cosine; loss={self.loss!r} learns a distance"
                )

    @property
    def _is_projection(self) -> bool:  # type: ignore[override]
        return self._psd
