"""OnlineKernel: a kernel that learns one answer at a time, as a scikit-learn estimator.

ERKLE of Heim, Berger, Seversky and Hauskrecht (2015). The estimator validates and keeps the learned attributes;
the algorithm is in :mod:`nearer.kernel.erkle`.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import as_comparisons, drop_zero_weights, match_objects, merge_objects
from nearer.comparisons.random_state import child_generator
from nearer.kernel.erkle import Erkle, Rules
from nearer.kernel.predict import KernelPredictor, check_kernel, kernel_distances
from nearer.kernel.psd_kernel import Skipping
from nearer.kernel.replay_buffer import Remembered
from nearer.kernel.step_size import PASSIVE_AGGRESSIVE, check_steps, length_of_step
from nearer.losses import as_loss
from nearer.models import SavedModel
from nearer.parameters import check, is_count, is_number
from nearer.progress import progress

FEW = 16  # questions answered one by one
FLAT = 2  # dimensions for which a loss settles what depends on them: a kernel has no number of its own


class OnlineKernel(KernelPredictor, SavedModel, BaseEstimator):
    """A positive semidefinite kernel that is up to date after every answer.

    Starts at the identity, which holds no opinion, and moves as little as each answer asks for. A step takes a
    fraction of a millisecond at a hundred objects and a few milliseconds at a thousand.

    Parameters
    ----------
    loss : {"gnmds", "ste", "ckl", "tste", "soe"} or object, default="gnmds"
        Says how far a step of fixed length goes for an answer (not at all for one that is met well), and the
        probability of an answer. Passive-aggressive steps use its probability only. (t-STE's α is 1 unless given.)
    step : "passive-aggressive", "1/t", "1/sqrt(t)" or float, default="passive-aggressive"
        How long steps are. Passive-aggressive: just as long as the answer needs to be met by the margin. A number,
        or one that falls with the count t of answers: times the slope of the loss.
    margin : float, default=1.0
        By how much the far squared distance has to exceed the near one after a passive-aggressive step.
    probability : float, optional
        In place of the margin: how probable the answer has to be, above one half. For the losses "gnmds" and
        "ste", whose probability is the logistic function of far - near.
    aggressiveness : float or None, default=0.7
        By how much of the margin one passive-aggressive step may move near - far at most (PA-I's cap on the step).
        It keeps wrong answers from being believed at once: with 20 % of them wrong, 0.5 is better. None, the
        paper's way, sets no limit and suits answers without errors.
    passes : int, default=1
        Steps for each new answer: one for the answer itself, the others for answers seen before. More use the
        answers better and take longer.
    replay : {"uniform", "fair"}, default="uniform"
        Which earlier answers are gone over: any at random, or of two at random the one that was drawn less often.
    shrinkage : float, default=0.0
        By how much all eigenvalues fall, to zero at most, for as many answers as there are objects: trace
        regularisation, which leads to few dimensions. With small steps taken often (``passes=5,
        aggressiveness=0.1``), 0.05 is a good deal better where objects differ in few ways, and worse where they
        differ in many.
    n_objects : int, optional
        Objects there are. An answer about any other is refused. By default objects are added as answers name them.
    random_state : int, RandomState or None, default=None
        Draws the answers that are gone over again.
    verbose : bool, default=False
        Show a progress bar over the answers of a call.

    Attributes
    ----------
    kernel_ : array of shape (n_objects, n_objects)
        The kernel, read-only; a copy that later answers leave as it is.
    loss_ : object
        The loss as used, open parameters settled.
    names_ : tuple of str or None
        Names of the objects, where the comparisons have them.
    n_seen_ : int
        Comparisons learned from.
    n_updates_ : int
        Steps of a positive length.
    n_projections_ : int
        Steps that needed an eigenproblem, to see whether the kernel was still positive semidefinite and mend it.
    n_skipped_ : int
        Steps for which the bound on the smallest eigenvalue ruled that out.
    n_features_in_ : int
        Columns of the first comparisons: 3 or 4.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import OnlineKernel
    >>> from nearer.simulate import comparisons_from_points
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> answers = comparisons_from_points(points, 1500, random_state=0).rows
    >>> model = OnlineKernel(n_objects=20)
    >>> for answer in answers[:1000]:
    ...     model = model.partial_fit(answer)
    >>> bool(model.score(answers[1000:]) > 0.8)
    True
    >>> model.embed(2).shape
    (20, 2)
    """

    _erkle: Erkle
    _learned_arrays = ("kernel_",)
    _learned_values = (
        "loss_",
        "names_",
        "n_seen_",
        "n_updates_",
        "n_projections_",
        "n_skipped_",
        "n_features_in_",
        "stream_",
    )

    def __init__(
        self,
        loss: Any = "gnmds",
        *,
        step: str | float = PASSIVE_AGGRESSIVE,
        margin: float = 1.0,
        probability: float | None = None,
        aggressiveness: float | None = 0.7,
        passes: int = 1,
        replay: str = "uniform",
        shrinkage: float = 0.0,
        n_objects: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.step = step
        self.margin = margin
        self.probability = probability
        self.aggressiveness = aggressiveness
        self.passes = passes
        self.replay = replay
        self.shrinkage = shrinkage
        self.n_objects = n_objects
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget what was learned, and learn from all answers in the order given.

        Parameters
        ----------
        comparisons : Comparisons, ComparisonSource, array of shape (n, 3) or (n, 4), or DataFrame
            Rows (a, b, c) say d(a, b) < d(a, c); rows (i, j, l, k) say d(i, j) < d(l, k).
        y : array of bool or ±1, optional
            Then the rows are questions and y the answers: False or -1 turns a row around.
        sample_weight : array of shape (n,), optional
            Multiplies the comparisons' weights. A weight shortens or lengthens a step, but lengthens none that is
            passive-aggressive.

        Returns
        -------
        self
        """
        given = drop_zero_weights(as_comparisons(comparisons, y, sample_weight))
        if len(given) == 0:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        return self._learn(given, afresh=True)

    def partial_fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one further answer or several; nothing learned before is lost.

        Parameters
        ----------
        comparisons
            As for :meth:`fit`, or one row by itself: ``partial_fit((17, 4, 23))`` or, by name,
            ``partial_fit(("Vienna", "Prague", "Rome"))``.
        y, sample_weight
            As for :meth:`fit`; a single one for a single row.

        Returns
        -------
        self
        """
        if not isinstance(comparisons, Comparisons | ComparisonSource) and np.ndim(comparisons) == 1:
            comparisons = one_answer(comparisons)
            y = None if y is None else np.atleast_1d(y)
            sample_weight = None if sample_weight is None else np.atleast_1d(sample_weight)
        given = drop_zero_weights(as_comparisons(comparisons, y, sample_weight))
        return self._learn(given, afresh=not hasattr(self, "n_seen_"))

    def _learn(self, given: Comparisons, afresh: bool) -> Self:
        """Take the steps; everything that can be refused is refused before the first."""
        self._check_parameters()
        names, n_known = (given.names, 0) if afresh else (self.names_, self._erkle.n_objects)
        rows, names, n_objects = merge_objects(given, names, n_known)
        n_objects = self._n_objects(rows, names, n_objects, n_known)
        loss = as_loss(self.loss, FLAT)
        rules = Rules(length_of_step(self, loss), self.passes, self.replay == "fair", self.shrinkage)
        if afresh:
            identity = np.eye(n_objects, order="F")
            self._erkle = Erkle(identity, Skipping(bound=1.0), child_generator(self.random_state))
            self.n_features_in_ = given.shape[1]
        self._erkle.grow(n_objects)
        self.loss_, self.names_ = loss, names
        if rows.shape[1] == 3:
            rows = rows[:, [0, 1, 0, 2]]
        weights = np.ones(len(rows)) if given.weights is None else given.weights
        try:
            with progress(len(rows), "answer", self.verbose) as bar:
                for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
                    self._erkle.see(row, weight, rules)
                    if bar is not None:
                        bar.update(1)
        finally:  # what was learned up to an interruption counts
            self._note()
        return self

    def _distances(self, questions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances; those of a few questions without a copy of the kernel."""
        check_is_fitted(self, "n_seen_")
        asked = as_comparisons(questions)
        n_known = self._erkle.n_objects
        rows = match_objects(asked, self.names_, n_known)
        if self._erkle.is_copied or len(rows) > FEW or (rows.size and int(rows.max()) == n_known):
            return super()._distances(asked)
        small = [self._erkle.stepped.at(row) for row in rows.tolist()]
        places = np.arange(rows.shape[1])[None]
        pairs = [kernel_distances(one, places) for one in small]
        return np.array([float(near[0]) for near, _ in pairs]), np.array([float(far[0]) for _, far in pairs])

    @property
    def kernel_(self) -> np.ndarray:
        """The kernel: a copy, made when it is asked for after an answer."""
        if "_erkle" not in vars(self):
            raise AttributeError("this OnlineKernel has learned nothing yet: call partial_fit first")
        return self._erkle.now

    @kernel_.setter
    def kernel_(self, kernel: np.ndarray) -> None:
        self._read_kernel = kernel  # from a file; see _loaded

    def _note(self) -> None:
        """Set the learned attributes to what the algorithm has come to."""
        erkle = self._erkle
        self.n_seen_ = erkle.n_seen
        self.n_updates_ = erkle.n_updates
        self.n_projections_ = erkle.skipping.n_projections
        self.n_skipped_ = erkle.skipping.n_skipped

    def _check_parameters(self) -> None:
        check_steps(self)
        check(self, "passes", is_count(self.passes), "a positive integer")
        check(self, "replay", self.replay in ("uniform", "fair"), "'uniform' or 'fair'")
        check(self, "shrinkage", is_number(self.shrinkage) and self.shrinkage >= 0, "a number >= 0")
        check(self, "n_objects", self.n_objects is None or is_count(self.n_objects), "None or a positive integer")

    def _n_objects(self, rows: np.ndarray, names: tuple[str, ...] | None, needed: int, known: int) -> int:
        """Return how many objects there are from now on; refuse rows about others."""
        if self.n_objects is None:
            return needed
        if self.n_objects < known:
            raise ValueError(f"n_objects={self.n_objects}, but the kernel already has {known} objects")
        if names is not None:
            if len(names) > self.n_objects:
                raise ValueError(
                    f"n_objects={self.n_objects}, but there are {len(names)} names; the first without a place is "
                    f"{names[self.n_objects]!r}: set_params(n_objects={len(names)}) makes room"
                )
            return len(names)
        strange = (rows >= self.n_objects).any(axis=1)
        if strange.any():
            row = int(np.argmax(strange))
            raise ValueError(
                f"row {row} names object {rows[row].max()}, but there are only {self.n_objects} objects (0 to "
                f"{self.n_objects - 1}): set_params(n_objects={int(rows.max()) + 1}) makes room"
            )
        return self.n_objects

    def save(self, path: Any) -> None:
        """Write the model to one file, for `nearer.load_model`; a loaded one goes on exactly as this one does.

        Parameters
        ----------
        path : path
            Any name; the documentation uses the suffix ``.nearer``. A file that is there is replaced in one step.
        """
        if hasattr(self, "_erkle"):
            self._erkle.settle()
        super().save(path)

    @property
    def stream_(self) -> dict[str, Any]:
        """What the next answer depends on beside the kernel; a model file keeps it."""
        erkle = self._erkle
        return {
            "rows": erkle.remembered.rows,
            "weights": erkle.remembered.weights,
            "draws": erkle.remembered.draws,
            "bound": erkle.skipping.bound,
            "shift": getattr(erkle.stepped, "shift", 0.0),
            "unpaid": erkle.unpaid,
            "random": erkle.random.bit_generator.state,
        }

    @stream_.setter
    def stream_(self, stream: dict[str, Any]) -> None:
        self._read_stream = stream

    def _loaded(self) -> None:
        """Make the algorithm go on from what a file held; refuse a kernel that is none."""
        stream, kernel = self._read_stream, self._read_kernel
        lowest = check_kernel(kernel, self.names_)
        for name in ("n_seen_", "n_updates_", "n_projections_", "n_skipped_"):
            if not (is_count(getattr(self, name)) or getattr(self, name) == 0):
                raise ValueError(f"{name} is a count; got {getattr(self, name)!r}")
        bound, shift = float(stream["bound"]), float(stream["shift"])
        if not (np.isfinite(bound) and np.isfinite(shift) and shift >= 0):
            raise ValueError(f"bound and shift are numbers; got {bound} and {shift}")
        self._erkle = Erkle(
            np.array(kernel, order="F"),
            Skipping(min(bound, lowest), self.n_projections_, self.n_skipped_),
            random_in_state(stream["random"]),
            remembered_of(stream, len(kernel)),
            self.n_seen_,
            self.n_updates_,
            int(stream["unpaid"]),
            shift,
        )
        del self._read_stream, self._read_kernel
        self._note()
        self.loss_ = as_loss(self.loss, FLAT)


def one_answer(objects: Any) -> Any:
    """Return one answer, given by its objects alone, as a table of one row; objects may be named.

    Examples
    --------
    >>> one_answer(("Vienna", "Prague", "Rome"))
    Comparisons(1 triplets, 3 objects)
    """
    row = np.asarray(objects)
    if row.dtype.kind != "U" or len(row) not in (3, 4):
        return row[None]
    names = list(dict.fromkeys(row.tolist()))
    return Comparisons([[names.index(name) for name in row.tolist()]], names=names)


def remembered_of(stream: dict[str, Any], n_objects: int) -> Remembered:
    """Return the answers that a file remembers; ValueError where they are none."""
    rows, weights, draws = stream["rows"], np.asarray(stream["weights"], float), np.asarray(stream["draws"])
    if rows.shape != (len(weights), 4) or rows.dtype.kind not in "iu" or draws.shape != weights.shape:
        raise ValueError(f"remembered answers of shape {rows.shape} with {len(weights)} weights")
    if not (weights >= 0).all():
        raise ValueError("remembered answers have weights of 0 at least")
    checked = Comparisons(rows, n_objects=n_objects).rows if len(rows) else rows
    return Remembered(checked.astype(np.int32), weights, draws.astype(np.int64))


def random_in_state(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator that goes on where another was.

    Examples
    --------
    >>> one = np.random.default_rng(0)
    >>> other = random_in_state(one.bit_generator.state)
    >>> one.random() == other.random()
    True
    """
    known = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    if state.get("bit_generator") not in known:
        raise ValueError(f"random numbers come from {', '.join(known)}, not from {state.get('bit_generator')!r}")
    bits = getattr(np.random, state["bit_generator"])(0)
    bits.state = state
    return np.random.Generator(bits)
