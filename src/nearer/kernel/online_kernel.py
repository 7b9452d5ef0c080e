"""OnlineKernel: a kernel that learns one answer at a time, as a scikit-learn estimator.

The estimator checks its input and keeps the learned attributes; the algorithm, ERKLE, is in
:mod:`nearer.kernel.erkle`.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer.blas import blas_threads_for
from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import as_comparisons, as_table, drop_zero_weights, merge_objects
from nearer.comparisons.random_state import child_generator
from nearer.iterative import IterativeEstimator
from nearer.kernel.erkle import CHUNK, ERKLE, AnswerStream, ErkleParameters
from nearer.kernel.predict import KernelPredictor, check_kernel, kernel_distances
from nearer.kernel.psd_kernel import EigenvalueBound
from nearer.kernel.state import ErkleState
from nearer.losses import as_loss
from nearer.models import SavedModel
from nearer.parameters import COUNT, NONE, check_parameters, either, is_count, parametrized

FEW = 16  # questions that are answered without a copy of the kernel
N_DIMENSIONS = 2  # for which a loss sets parameters that depend on them: a kernel has no number of its own


@parametrized
class OnlineKernel(ErkleParameters, KernelPredictor, IterativeEstimator, SavedModel, BaseEstimator):
    """A positive semidefinite kernel that is up to date after every answer.

    Starts at the identity, where all distances are equal, and changes as little as each answer requires. A step
    takes a fraction of a millisecond for a hundred objects and a few milliseconds for a thousand. The weight of an
    answer scales its step, but does not lengthen a passive-aggressive one. A model that was saved and loaded
    continues exactly as this one.

    Parameters
    ----------
    loss : {"gnmds", "ste", "ckl", "tste", "soe"} or object, default="gnmds"
        Its slope scales gradient steps, and it has the probability of an answer. Passive-aggressive steps use the
        probability only. (The default α of t-STE is 1.)
    learning_rate : "passive-aggressive", "1/t", "1/sqrt(t)" or float, default="passive-aggressive"
        The size of a step. Passive-aggressive: as large as needed for the answer to be met by the margin.
        Otherwise a number, which may fall with the count t of answers, times the slope of the loss.
    margin : float, default=1.0
        By how much the far squared distance has to exceed the near one after a passive-aggressive step.
    probability : float, optional
        In place of the margin: how probable the answer has to be, above one half. For the losses "gnmds" and
        "ste", whose probability is the logistic function of far - near.
    aggressiveness : float or None, default=0.7
        By how much one passive-aggressive step may lower near - far at most, in units of the margin (PA-I's cap on
        the step). It limits the effect of wrong answers: with 20 % of them wrong, 0.5 is better. None, as in the
        paper, sets no limit and suits answers without errors.
    steps_per_answer : int, default=1
        Steps per new answer: one for the answer itself, the others for earlier answers (experience replay). More
        steps use the answers better and take longer.
    replay : {"uniform", "fair"}, default="uniform"
        How earlier answers are drawn: at random, or of two at random the one that was drawn less often.
    shrinkage : float, default=0.0
        By how much all eigenvalues fall, to zero at most, per n answers about n objects: trace regularization,
        which favors few dimensions. With many small steps (``steps_per_answer=5, aggressiveness=0.1``), 0.05 is
        much better where objects differ in few dimensions, and worse where they differ in many.
    n_objects : int, optional
        The number of objects; an answer about any other is refused. By default objects are added as answers name
        them.
    random_state : int, RandomState or None, default=None
        Draws the answers to replay.
    max_seconds : float, optional
        End a call of ``fit`` or ``partial_fit`` after this time; the remaining answers are not learned.
    callback : callable, optional
        Called once per chunk of 50 answers with the record of ``history_`` and the current ``kernel``. Returning
        True ends the call; the remaining answers are not learned.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    kernel_ : array of shape (n_objects, n_objects)
        The kernel, a read-only copy that later answers do not change.
    loss_ : object
        The loss as used, with its parameters set.
    names_ : tuple of str or None
        Names of the objects, if the comparisons have them.
    n_samples_seen_ : int
        Comparisons learned from.
    n_updates_ : int
        Steps of positive size.
    n_projections_ : int
        Steps that needed an eigenproblem, to keep the kernel positive semidefinite.
    n_skipped_ : int
        Steps for which the bound of the smallest eigenvalue ruled that out.
    history_ : list of dict
        One record per chunk of the last call: iteration, loss (mean over its answers, each before it was learned;
        by how much the margin is missed for passive-aggressive steps), n_steps (``n_updates_`` so far), seconds.
    stop_reason_ : str
        Why the last call ended: "max_iter" (all answers were learned), "time", "callback" or "interrupted".
    n_features_in_ : int
        Columns of the first comparisons: 3 or 4.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import OnlineKernel, simulate
    >>> points = np.random.default_rng(0).normal(size=(20, 2))
    >>> answers = simulate.comparisons_from_points(points, 1500, random_state=0).rows
    >>> model = OnlineKernel(n_objects=20)
    >>> for answer in answers[:1000]:
    ...     model = model.partial_fit(answer)
    >>> bool(model.score(answers[1000:]) > 0.8)
    True
    >>> model.embed(2).shape
    (20, 2)
    """

    _state: ErkleState = field(init=False)
    _learned_arrays = ("kernel_",)
    _learned_values = (
        "loss_", "names_", "n_samples_seen_", "n_updates_", "n_projections_", "n_skipped_", "n_features_in_",
        "stream_",
    )  # fmt: skip
    _constraints: ClassVar = {**ErkleParameters._constraints, "n_objects": either(NONE, COUNT)}

    loss: Any = "gnmds"
    _: KW_ONLY
    n_objects: int | None = None
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    def _fit(self, comparisons: Comparisons) -> None:
        self._learn(comparisons, afresh=True, catch=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one further answer or several; nothing learned before is lost.

        Ctrl-C raises KeyboardInterrupt, so that it also ends a loop around this method; the answers learned until
        then are kept.

        Parameters
        ----------
        X
            As for :meth:`fit`, or one row by itself: ``partial_fit((17, 4, 23))`` or, by name,
            ``partial_fit(("Vienna", "Prague", "Rome"))``.
        y, sample_weight
            As for :meth:`fit`; a single one for a single row.

        Returns
        -------
        self
        """
        comparisons = drop_zero_weights(as_comparisons(*as_table(X, y, sample_weight)))
        check_parameters(self)
        # For few answers a handler of Ctrl-C would take a tenth of the time.
        self._learn(comparisons, not hasattr(self, "n_samples_seen_"), len(comparisons) > CHUNK or self.verbose)
        if self.stop_reason_ == "interrupted":
            raise KeyboardInterrupt
        return self

    def _learn(self, comparisons: Comparisons, afresh: bool, catch: bool) -> None:
        """Learn the answers in order, after all checks; with ``catch``, Ctrl-C ends the stream and does not raise."""
        solver, loss = self._solver(), as_loss(self.loss, N_DIMENSIONS)
        names, n_known = (comparisons.names, 0) if afresh else (self.names_, self._state.n_objects)
        rows, names, n_objects = merge_objects(comparisons, names, n_known)
        n_objects = self._check_objects(rows, names, n_objects, n_known)
        if afresh:
            identity = np.eye(n_objects, order="F")
            self._state = ErkleState(identity, EigenvalueBound(1.0), child_generator(self.random_state))
            self.n_features_in_ = comparisons.shape[1]
        self._state.grow(n_objects)
        self.loss_, self.names_ = loss, names
        stream = AnswerStream(rows, comparisons.weights, loss)
        monitor = self._monitor(max_iter=stream.n_chunks, view=lambda state: {"kernel": state.array})
        try:
            with blas_threads_for(n_objects), monitor if catch else nullcontext():
                result = solver.solve(stream, self._state, monitor)
        except KeyboardInterrupt:
            self.stop_reason_ = "interrupted"
            raise
        finally:  # what was learned until then counts
            self.n_samples_seen_, self.n_updates_ = self._state.n_seen, self._state.n_updates
            self.n_projections_, self.n_skipped_ = self._state.bound.n_projections, self._state.bound.n_skipped
        self._set_result(result)

    def _solver(self) -> ERKLE:
        return ERKLE(**{part.name: getattr(self, part.name) for part in fields(ErkleParameters)})

    def _check_combinations(self) -> None:
        self._solver().step_rule(as_loss(self.loss, N_DIMENSIONS))

    def _pair_distances(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        state = self._state
        if state.cached is not None or len(rows) > FEW:
            return super()._pair_distances(rows)
        places = np.arange(rows.shape[1])[None]  # of the objects of a row in its submatrix
        pairs = [kernel_distances(state.kernel.submatrix(row), places) for row in rows.tolist()]
        near, far = np.array(pairs)[:, :, 0].T
        return near, far

    @property
    def _n_known(self) -> int:
        check_is_fitted(self, "n_samples_seen_")
        return self._state.n_objects

    @property
    def kernel_(self) -> np.ndarray:
        """The kernel: a copy, made on first access after an answer."""
        if "_state" not in vars(self):
            raise AttributeError("this OnlineKernel is not fitted yet: call fit or partial_fit first")
        return self._state.array

    @kernel_.setter
    def kernel_(self, kernel: np.ndarray) -> None:
        self._read_kernel = kernel  # from a file; see _loaded

    def _check_objects(self, rows: np.ndarray, names: tuple[str, ...] | None, n_needed: int, n_known: int) -> int:
        """Return the number of objects from now on; ValueError for rows about others than ``n_objects``."""
        limit = self.n_objects
        if limit is None:
            return n_needed
        if limit < n_known:
            raise ValueError(f"n_objects={limit}, but the kernel already has {n_known} objects")
        if names is not None:
            if len(names) > limit:
                raise ValueError(
                    f"n_objects={limit}, but there are {len(names)} names; the first without a place is "
                    f"{names[limit]!r}: set_params(n_objects={len(names)}) adds places"
                )
            return len(names)
        if rows.size and int(rows.max()) >= limit:
            row = int(np.argmax((rows >= limit).any(axis=1)))
            raise ValueError(
                f"row {row} names object {rows[row].max()}, but there are only {limit} objects (0 to {limit - 1})"
                f": set_params(n_objects={int(rows.max()) + 1}) adds places"
            )
        return limit

    @property
    def stream_(self) -> dict[str, Any]:
        """What the next answer depends on beside the kernel, so that a loaded model continues exactly as this one."""
        return self._state.to_record()

    @stream_.setter
    def stream_(self, stream: dict[str, Any]) -> None:
        self._read_stream = stream

    def _loaded(self) -> None:
        """Restore the state from what a file held; ValueError for what is not a kernel."""
        names = ("n_samples_seen_", "n_updates_", "n_projections_", "n_skipped_")
        counts = [getattr(self, name) for name in names]
        for name, count in zip(names, counts, strict=True):
            if not (is_count(count) or count == 0):
                raise ValueError(f"{name} is a count; got {count!r}")
        smallest = check_kernel(self._read_kernel, self.names_)
        self._state = ErkleState.from_record(self._read_stream, self._read_kernel, smallest, counts)
        del self._read_stream, self._read_kernel
        self.loss_ = as_loss(self.loss, N_DIMENSIONS)
