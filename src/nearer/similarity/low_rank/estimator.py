"""LowRankSimilarity: a similarity xᵀWx' with W of fixed rank, learned triplet by triplet, as an estimator.

``fit`` checks its input, finds a start and selects a step size, and has a solver
(:mod:`nearer.similarity.low_rank.solvers`) learn from triplets, which are drawn from labels as they are needed or
those of the comparisons.
"""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import child_generator, resumed_generator
from nearer.features.validation import check_scale
from nearer.losses import as_loss
from nearer.lowrank import Rows
from nearer.lowrank.estimator import LEARNED_VALUES, StreamEstimator, documented
from nearer.monitor import Judge, Monitor
from nearer.parameters import BOOL, NONE, Constraint, either, one_of, parametrized
from nearer.similarity.inputs import default_n_triplets, validate_input
from nearer.similarity.low_rank.held_out import hold_out_comparisons, hold_out_objects
from nearer.similarity.low_rank.init import INITS, initial_factors, is_init
from nearer.similarity.low_rank.model import FactorModel
from nearer.similarity.low_rank.predict import LowRankComparer
from nearer.similarity.low_rank.sampling import ComparisonSampler, LabelSampler
from nearer.similarity.low_rank.solvers import SOLVERS, TripletStream, select_rate

STEPS_PER_OBJECT, PASSES = 20, 3
MIN_STEPS, MAX_STEPS = 20_000, 1_000_000


@documented
@parametrized
class LowRankSimilarity(LowRankComparer, StreamEstimator):
    """A similarity xᵀWx', or a distance, of low rank, learned online from triplets: LORETA.

    W is kept as factors of ``rank`` columns, so 50,000 features take no more than that many rows, and a step costs
    what the entries of its three objects cost, times the rank. It learns from class labels, or from comparisons:
    "a is more like b than like c".

    Parameters
    ----------
    rank : int, default=30
        Columns of the factors; at most the number of features.
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
    init : {"svd", "identity", "zero", "gaussian"} or array, default="svd"
        Where to start: the leading directions of the features; the first ``rank`` features, for features sorted by
        what they tell, as `nearer.InformationGain` does; the first gradients, added up and cut to the rank; normal
        random numbers; or factors of shape (d, rank), two of them for ``psd=False``.
    negatives : {"hard", "random"}, default="hard"
        How x⁻ is drawn from labels: of ten objects of other classes the one most similar to the anchor, or any. Hard
        ones teach more if classes can be told apart; if they overlap widely, random ones may be better.
    sampling : {"instances", "classes"}, default="instances"
        Whether anchors are drawn evenly over objects or over classes.
    learning_rate : "auto" or float, default="auto"
        The step size. "auto" tries several on a first slice of triplets and takes the next smaller one to the one
        with the smallest losses; ``learning_rate_`` and ``selection_`` say which. For "pa" it is the cap on a step.
    n_steps : int, optional
        Triplets to learn from: by default twenty per object, or three passes over comparisons, 20,000 at least and
        a million at most.
    early_stopping : bool, default=False
        Hold out a share of the objects of each class, or of the answers, and keep the factors that were best for
        them: by mean average precision, or by the share satisfied. The fit ends when five evaluations of twenty in a
        row were not better.
    validation_fraction : float, default=0.1
        The share held out.
    random_state : int, Generator, RandomState or None
        Draws triplets and the start.

    Attributes
    ----------
    components_ : array of shape (rank, d)
        The projection; of items if there are two.
    query_components_ : array of shape (rank, d)
        The projection of queries, with ``psd=False``.
    kind_ : str
        "similarity" or "distance".
    learning_rate_ : float
        The step size as used.
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

    _learned_arrays = ("components_", "query_components_", "feature_names_in_")
    _learned_values = ("kind_", *LEARNED_VALUES)
    _solvers: ClassVar = SOLVERS
    _constraints: ClassVar = {
        "psd": either(NONE, BOOL),
        "init": Constraint(is_init, f"one of {', '.join(map(repr, INITS))}, or factors"),
        "negatives": one_of("hard", "random"),
    }

    rank: int = 30
    _: KW_ONLY
    loss: Any = None
    psd: bool | None = None
    init: Any = "svd"
    negatives: str = "hard"
    sampling: str = "instances"

    @property
    def _psd(self) -> bool:
        return not self._solver.general if self.psd is None else bool(self.psd)

    def _fit(self, X: Any, y: Any, comparisons: Any) -> None:
        random = child_generator(self.random_state)
        table, labels, comparisons = self._validate(X, y, comparisons, reset=True)
        sampler, n_steps, judge = self._sampler(table, labels, comparisons, random)
        n_steps = self.n_steps or int(np.clip(n_steps, MIN_STEPS, MAX_STEPS))
        with self._stream_monitor(n_steps, judge) as monitor:
            model = self._start(table, sampler, random, monitor)
            self._learn(model, TripletStream(sampler, self.learning_rate_, n_steps), monitor, history=[])

    def _sampler(
        self, table: Any, labels: np.ndarray | None, comparisons: Comparisons | None, random: np.random.Generator
    ) -> tuple[Any, int, Judge | None]:
        """Return what triplets come from, the default number of steps, and with early stopping a judge."""
        judge, fraction = None, self.validation_fraction
        if labels is not None:
            objects = np.arange(len(labels))
            if self.early_stopping:
                objects, judge = hold_out_objects(table, labels, fraction, self._metric, random)
            sampler = LabelSampler(labels[objects], objects, self.sampling, self.negatives == "hard", random)
            return sampler, STEPS_PER_OBJECT * len(objects), judge
        assert comparisons is not None  # exactly one of both
        if self.early_stopping:
            comparisons, judge = hold_out_comparisons(table, comparisons, fraction, self._metric, random)
        return ComparisonSampler(comparisons, random), PASSES * len(comparisons), judge

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
            first = not hasattr(self, "components_")
            random = resumed_generator(self.random_state, 0 if first else self.n_steps_)
            table, labels, comparisons = self._validate(X, y, comparisons, reset=first)
            if labels is not None:
                objects = np.arange(len(labels))
                sampler: Any = LabelSampler(labels, objects, self.sampling, self.negatives == "hard", random)
                n_steps = self.n_steps or default_n_triplets(len(labels), at_least=1)
            elif comparisons is not None:
                sampler, n_steps = ComparisonSampler(comparisons, None), len(comparisons)
            n_taken, history = (0, []) if first else (self.n_steps_, self.history_)
            selected = getattr(self, "selection_", None)
            with self._stream_monitor(n_steps) as monitor:
                if first:
                    model = self._start(table, sampler, random, monitor)
                    if comparisons is not None:
                        sampler = ComparisonSampler(comparisons, None)  # from the first one again
                else:
                    model, self.selection_ = self._resume(table), selected
                stream = TripletStream(sampler, self.learning_rate_, n_steps, n_taken)
                self._learn(model, stream, monitor, history)
        return self

    def _validate(
        self, X: Any, y: Any, comparisons: Any, reset: bool
    ) -> tuple[Any, np.ndarray | None, Comparisons | None]:
        """Return the table, and class numbers or comparisons; with ``reset`` a new model begins."""
        table, labels, comparisons = validate_input(self, X, y, comparisons, sparse=True, reset=reset)
        labels = None if labels is None else np.unique(labels, return_inverse=True)[1]
        check_scale(table)
        if self.rank > table.shape[1]:
            raise ValueError(
                f"a rank of {self.rank} is more than X has features: at most n_features={table.shape[1]} is wanted"
            )
        if reset:
            self.kind_ = self._kind
        return table, labels, comparisons

    def _stream_monitor(self, n_steps: int, judge: Judge | None = None) -> Monitor:
        n_chunks = TripletStream(None, 0.0, n_steps).n_chunks
        return self._monitor(max_iter=n_chunks, judge=judge, snapshot=lambda model: model.factors)

    def _start(self, table: Any, sampler: Any, random: np.random.Generator, monitor: Monitor) -> FactorModel:
        """Return a model at its start, and select its step size."""
        triplets, _ = sampler.next(2 * self.rank)
        factors = initial_factors(self.init, table, triplets, self.rank, self._psd, random)
        model = self._solver.start(self._loss, factors, Rows.of(table))
        bilinear = self.loss is None
        self.learning_rate_ = self._select_rate(lambda: select_rate(model, table, sampler, bilinear, monitor))
        return model

    @property
    def _loss(self) -> Any:
        return None if self.loss is None else as_loss(self.loss, self.rank)

    def _resume(self, table: Any) -> FactorModel:
        """Return the model that was learned, to continue from; ValueError if the parameters now ask for another."""
        names = [name for name in ("query_components_", "components_") if hasattr(self, name)]
        factors = tuple(getattr(self, name).T for name in names)
        expected = (table.shape[1], self.rank), 1 if self._psd else 2, self._kind
        if (factors[0].shape, len(factors), self.kind_) != expected:
            raise ValueError(
                f"this model is a {self.kind_} with {len(factors)} factors of shape {factors[0].shape}; its "
                f"parameters now ask for a {expected[2]} with {expected[1]} of shape {expected[0]}: call fit"
            )
        model = self._solver.start(self._loss, factors, Rows.of(table))
        model.n_taken = self.n_steps_
        self.learning_rate_ = self._resumed_rate()
        return model

    def _learn(self, model: FactorModel, stream: TripletStream, monitor: Monitor, history: list[Any]) -> None:
        """Solve, and set the learned attributes, records after those of earlier calls."""
        try:
            result = self._solver.solve(stream, model, monitor)
        except FloatingPointError as error:
            raise ValueError(
                f"the fit diverged with a learning_rate of {self.learning_rate_:.3g}: give a smaller one ({error})"
            ) from error
        factors = model.factors if monitor.best is None else result.solution
        if hasattr(self, "query_components_"):
            del self.query_components_
        if len(factors) == 2:
            self.query_components_ = factors[0].T
        self.components_ = factors[-1].T
        self._set_result(result)
        self.history_, self.n_steps_ = [*history, *result.history], stream.n_taken

    def _check_combinations(self) -> None:
        if self._solver.general and self._psd:
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
