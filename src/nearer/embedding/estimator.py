"""OrdinalEmbedding: points whose distances satisfy comparisons, as a scikit-learn estimator.

``fit`` checks its input and has points fitted (:mod:`nearer.embedding.fitting`): settings are chosen, the problem
(:mod:`nearer.embedding.problem`) is stated, and a solver (:mod:`nearer.embedding.solvers`) solves it under a monitor.
"""

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer.certificate import certify
from nearer.comparisons import Comparisons, ComparisonSource, coerce
from nearer.comparisons.random_state import child_generator
from nearer.embedding.checkpoint import Checkpoint
from nearer.embedding.fitting import fit_map
from nearer.embedding.incremental import KeptAnswers, learn
from nearer.embedding.solvers import SOLVERS
from nearer.iterative import IterativeEstimator
from nearer.losses import LOSSES, as_loss
from nearer.models import SavedModel
from nearer.parameters import (
    AUTO,
    BOOL,
    COUNT,
    Constraint,
    check_parameters,
    either,
    is_auto,
    parametrized,
    unchanged_on_failure,
)
from nearer.predict import EmbeddingPredictor
from nearer.solver import as_solver

LARGEST = 1e9  # of the coordinates of a start


@parametrized
class OrdinalEmbedding(EmbeddingPredictor, IterativeEstimator, SavedModel, BaseEstimator):
    """Points whose distances agree with answers to "is a nearer to b or to c?".

    Minimizes the mean loss of the comparisons plus ``regularization * |X|² / n`` over points X of n objects. By
    default the loss and the regularization are those that predict held-out answers best.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Dimensions of the map. "auto" takes the fewest whose held-out error exceeds the best by at most one
        standard error of the difference.
    loss : "auto", {"tste", "ckl", "ste", "gnmds", "soe"} or object, default="auto"
        How badly a comparison is met: a name, a loss of :mod:`nearer.losses` with parameters, or your own object
        with ``value``, ``slopes`` and ``probability`` of two squared distances. "auto" takes the one of the five
        that predicts held-out answers best.
    solver : {"lbfgs", "svrg-sbb", "svrg", "sgd", "batch"} or object, default="lbfgs"
        How the objective is lowered: a name or a solver of :mod:`nearer.embedding` with parameters. (Settings are
        always chosen with L-BFGS, which was the fastest on all sets that were tried.)
    regularization : "auto" or float, default="auto"
        Strength of the ridge, which pulls all points to the origin and keeps few answers about many objects from
        being overfitted. "auto" takes the one between 0.00003 and 1 that predicts held-out answers best
        (scaled down where there are many more answers than it was judged by).
    max_iter : int, default=300
        Epochs (passes over the comparisons) at most.
    tol : float, default=2e-5
        The fit has converged when three epochs in a row lower the objective by no more than this share of the loss
        of a map that knows nothing (all objects at one place).
    early_stopping : bool, default=False
        Hold out some answers and return the points that were best on them.
    validation_fraction : float, default=0.1
        Share of the answers that early stopping holds out.
    n_init : int, default=1
        Number of starts; the one with the lowest objective is kept.
    escape : bool, default=False
        Try to leave the minimum that was found, along the eigenvector that :meth:`optimality_gap` rests on:
        through one more dimension and back. The map is kept if it ended lower. Takes two to ten times as long,
        within the same ``max_iter``. A callback also sees the records of attempts that are then dropped.
    init : array of shape (n_objects, n_components), optional
        Where to start instead of at random points that unfold in a few more dimensions.
    keep_answers : bool, default=True
        Whether :meth:`partial_fit` learns from all answers so far, which the model then holds (a reference to those
        of ``fit``), or from the new ones only.
    dtype : {"float64", "float32"}, default="float64"
        Precision of points and arithmetic.
    device : str, default="cpu"
        What computes: "cpu"; a GPU by its name in PyTorch, such as "cuda" or "cuda:1", which needs the extra
        ``nearer[gpu]``; or "auto", the GPU where there is one. Answers then stay on the GPU. Results are those of the
        processor up to rounding, which differs a little between runs on a GPU. float32 is three times as fast there.
    n_jobs : int, optional
        Threads; -1 for all cores. The choice of settings does not depend on it, and the map only by rounding.
    random_state : int, RandomState or None, default=None
        Makes the fit repeatable.
    checkpoint : path, optional
        A file for the points so far, with the chosen settings. It is written about once a minute and when the fit is
        cut short: by Ctrl-C, ``max_seconds``, a callback or an exception. ``fit`` with the same file, answers and
        parameters goes on from there, also after the process was killed, and does not choose settings again. A fit
        that ends by itself removes the file.
    max_seconds : float, optional
        End the fit after this time with the best map so far; at most 80 % of it is spent on choosing settings.
    callback : callable, optional
        Called once per epoch with the record of ``history_`` and the current ``points``, and before that, while
        settings are chosen, once per trial; ``stage`` says which. Returning True ends the fit.
    verbose : bool, default=False
        Show a progress bar of the whole fit, with the time that is left.

    Attributes
    ----------
    embedding_ : array of shape (n_objects, n_components)
        The map, centered. Objects that no comparison mentions are at the origin.
    loss_ : object
        The loss as used, with its parameters set.
    regularization_ : float
        The ridge as used.
    selection_ : list of dict or None
        One record per candidate that was tried: its n_components, loss and regularization, the ``criterion`` it was
        judged by (error plus log loss), its ``error`` (the share
        of held-out answers that it got wrong) and ``standard_error``, the mean ``difference`` of the errors to those
        of the chosen candidate on the same answers and its standard error, the number of folds, and whether it was
        chosen. Where few answers cannot tell good candidates apart and the mean of their maps predicts held-out answers
        better than the chosen one, ``embedding_`` is that mean, and ``averaged`` says of which; ``loss_`` and
        ``regularization_`` are those of the chosen one. Nothing is averaged with early stopping or
        ``n_components="auto"``.
        :func:`nearer.selection.table` and :func:`nearer.selection.plot` show it. None where there was
        nothing to choose, empty where answers were too few.
    names_ : tuple of str or None
        Names of the objects, where the comparisons had them.
    n_iter_ : int
        Epochs of the kept start.
    converged_ : bool
        Whether the objective had settled (or early stopping had decided) before the fit had to end.
    stop_reason_ : str
        Why the fit ended: "converged", "max_iter", "time", "callback", "interrupted" (Ctrl-C, which keeps the
        map so far) or "not finite".
    history_ : list of dict
        One record per epoch: iteration, loss, step_size, gradient_evaluations, seconds since the fit began and,
        with early stopping, held_out_loss and held_out_error. Settings are chosen before the first record.
    n_samples_seen_ : int
        Comparisons learned from, by ``fit`` and ``partial_fit``.
    n_features_in_ : int
        Columns of the comparisons: 3 or 4.

    Notes
    -----
    Settings are chosen by a race (:mod:`nearer.selection.race`) on five folds of the answers, ten of few, with a
    start of its own in every fold. If there are many more rows than a fold needs to learn from (60 per object, or 6
    per coordinate), a part of them is learned from, others are held out, and the ridge is scaled to all: it acts
    like a fixed number of extra answers. Of more than 25,000 rows a fifth is held out once. Candidates that are
    clearly worse are dropped. The chosen one has the lowest sum of error and log loss (of a logistic model of the
    two distances, which is less noisy than the error), averaged with its neighbors on the ladder of ridges. Fewer
    than five answers cannot be judged: they get "tste", 0.01 and 2 dimensions.

    Where a ``dask.distributed.Client`` is current, the workers of its cluster fit to a `ComparisonSource`, such as
    :func:`nearer.scan` returns, and to a Dask DataFrame: full gradients are sums over shards, one per thread of the
    workers, and "svrg-sbb", "svrg" and "sgd" take their steps in every shard and average the ends. Settings and starts
    are found by this process, from a sample. A worker that dies is replaced; without its scheduler the fit ends with a
    ConnectionError.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import OrdinalEmbedding
    >>> from nearer.simulate import comparisons_from_points
    >>> points = np.random.default_rng(0).normal(size=(30, 2))
    >>> answers = comparisons_from_points(points, 2000, random_state=0)
    >>> train, test = answers.split(test_size=0.2, random_state=0)
    >>> model = OrdinalEmbedding(n_components=2, random_state=0).fit(train)
    >>> model.embedding_.shape
    (30, 2)
    >>> bool(model.score(test) > 0.9)
    True
    """

    n_components: int | str = 2
    loss: Any = "auto"
    solver: Any = "lbfgs"
    _: KW_ONLY
    regularization: float | str = "auto"
    max_iter: int = 300
    tol: float = 2e-5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_init: int = 1
    escape: bool = False
    init: Any = None
    keep_answers: bool = True
    dtype: str = "float64"
    device: str = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    _learns_from_files = True
    _kept: KeptAnswers | None = field(init=False, default=None)
    _learned_arrays = ("embedding_", "energy_")
    _learned_values = (
        "loss_", "names_", "n_iter_", "converged_", "stop_reason_", "history_", "n_features_in_",
        "regularization_", "selection_", "n_samples_seen_", "stream_",
    )  # fmt: skip
    _constraints: ClassVar = {
        "n_components": either(AUTO, COUNT),
        "escape": BOOL,
        "keep_answers": BOOL,
        "device": Constraint(
            lambda value: isinstance(value, str) and value != "", "a device: 'cpu', 'cuda' or 'auto'"
        ),
        "checkpoint": Constraint(
            lambda value: value is None or isinstance(value, str | os.PathLike), "None or the path of a file"
        ),
        "dtype": Constraint(
            lambda value: value in ("float32", "float64", np.float32, np.float64), "'float32' or 'float64'"
        ),
    }

    def _fit(self, comparisons: Comparisons | ComparisonSource) -> None:
        n = comparisons.n_objects
        if not is_auto(self.n_components) and int(self.n_components) >= n:
            raise ValueError(
                f"n_components={self.n_components} dimensions are too many for {n} objects: "
                f"at most {n - 1} make sense"
            )
        self._check_init(n)
        random = child_generator(self.random_state)
        train, held_out = self._hold_out(comparisons, random)
        checkpoint = Checkpoint.of(self, comparisons)
        result = fit_map(self, train, random, held_out=held_out, checkpoint=checkpoint)
        self.names_, self.n_features_in_ = comparisons.names, comparisons.shape[1]
        self.n_samples_seen_ = len(comparisons)
        self._kept = None
        if self.keep_answers and isinstance(comparisons, Comparisons):
            self._kept = KeptAnswers.of_fit(comparisons)
        self._set_result(result, stacklevel=4)

    def _check_combinations(self) -> None:
        if isinstance(self.loss, str) and self.loss not in ("auto", *LOSSES):
            known = ", ".join(map(repr, ("auto", *sorted(LOSSES))))
            raise ValueError(f"unknown loss {self.loss!r}; the known ones are {known}")
        if not is_auto(self.loss):
            as_loss(self.loss, 2)
        if is_auto(self.n_components) and self.init is not None:
            raise ValueError("init has a number of columns: n_components must say it, and cannot be 'auto'")
        as_solver(self.solver, SOLVERS)

    def _check_init(self, n: int) -> None:
        """Check the points to start from against the number of objects."""
        if self.init is None:
            return
        start = np.asarray(self.init)
        if start.shape != (n, self.n_components) or start.dtype.kind not in "fiu":
            raise ValueError(
                f"init must be numbers of shape ({n}, {self.n_components}), one row per object; "
                f"got shape {start.shape} of {start.dtype}"
            )
        if not np.isfinite(start).all():
            raise ValueError("init must be finite; it holds NaN or infinity")
        if (start == start[0]).all():
            raise ValueError("init has all points at one place, where every direction is alike: give other points")
        if np.abs(start).max() > LARGEST:
            raise ValueError(
                f"init has coordinates as large as {np.abs(start).max():.3g}, at which no loss can be lowered: scale "
                "them to about one"
            )

    def _hold_out(
        self, comparisons: Comparisons | ComparisonSource, random: np.random.Generator
    ) -> tuple[Comparisons | ComparisonSource, Comparisons | None]:
        """Return the answers to learn from, and with early stopping those to judge by."""
        if not self.early_stopping:
            return comparisons, None
        if isinstance(comparisons, ComparisonSource):
            raise ValueError(
                "early_stopping is for answers in memory, and these are read in parts, from files or by a cluster: a "
                "ridge prevents overfitting, and max_iter and tol end the fit"
            )
        train, held_out = comparisons.split(self.validation_fraction, random)
        if len(held_out) == 0 or len(train) == 0:
            raise ValueError(f"{len(comparisons)} comparisons are too few to hold some out for early stopping")
        return train, held_out

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further answers, one or many, also about new objects.

        By default the map stays about as good as one fitted to all answers so far, those of ``fit`` included: the
        model keeps them. New answers move the objects that they mention; when the answers have grown by two
        percent, all of them refine the map, and when they have doubled, settings that are "auto" are chosen again
        and the map is fitted anew (``history_``, ``selection_`` and the like are of that fit). So most calls take
        a fraction of a millisecond and a few take longer, about a millisecond per answer in all. Below 600
        comparisons, loss and ridge are not chosen: t-STE, with a ridge worth 30 comparisons.

        With ``keep_answers=False``, and where a model file does not hold the answers (that of a plain ``fit``), new
        answers only move the objects that they mention: an object that was moved much before moves less
        (AdaGrad). That takes no memory, but the map falls behind; give the first call a few hundred answers.

        Objects are matched by name where there are names, by number otherwise. Early stopping is for ``fit`` only.
        Ctrl-C raises KeyboardInterrupt.

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
        if isinstance(X, ComparisonSource) and X.is_large:
            raise ValueError(
                f"partial_fit learns from answers in memory, and {len(X):,} rows are in files: fit learns from these, "
                "and partial_fit with keep_answers=False from each of source.chunks()"
            )
        comparisons = coerce.as_comparisons(*coerce.as_table(X, y, sample_weight))
        check_parameters(self)
        with unchanged_on_failure(self):
            is_interrupted = learn(self, comparisons)
        if is_interrupted:  # what was learned until then is kept
            raise KeyboardInterrupt
        return self

    def optimality_gap(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return by how much at most a better map, of any number of dimensions, would lower the objective.

        Zero says that no map is better. For the losses "ste" and "gnmds" (or your own that says ``convex = True``)
        and a ridge above 0; see :func:`nearer.certificate.certify`, which this calls. A map of few dimensions is
        limited by them, so part of its gap is the price of few dimensions. A map that is the mean of several (see
        ``selection_``) is not the minimum of one objective, which its gap includes. A map fitted with early stopping has
        seen part of the answers only, and its gap on all of them includes that.

        Parameters
        ----------
        comparisons, y, sample_weight
            What the map was fitted to, as for :meth:`fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self, "embedding_")
        comparisons = coerce.drop_zero_weights(coerce.as_comparisons(comparisons, y, sample_weight))
        rows = coerce.match_objects(comparisons, self.names_, len(self.embedding_))
        if rows.size and rows.max() == len(self.embedding_):
            raise ValueError("comparisons name objects that the map was not fitted to: it has no gap on them")
        known = Comparisons(rows, n_objects=len(self.embedding_), weights=comparisons.weights)
        return certify(self.embedding_, known, self.loss_, float(self.regularization_)).excess

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the answers of ``fit``, as model files do: they are the user's, and may be many."""
        state = super().__getstate__()
        return state if self._kept is None or self._kept.has_grown else {**state, "_kept": None}

    def _loaded(self) -> None:
        """Settle what a model file does not hold, and refuse what does not fit together."""
        if not hasattr(self, "loss_"):
            self.loss_ = as_loss(self.loss, self.embedding_.shape[1])
        if self.embedding_.ndim != 2 or self.n_components not in ("auto", self.embedding_.shape[1]):
            raise ValueError(f"points of shape {self.embedding_.shape} in {self.n_components} dimensions")
        if self.energy_.shape != (len(self.embedding_),):
            raise ValueError(f"{len(self.embedding_)} points but energies of shape {self.energy_.shape}")
        if self.names_ is not None and len(self.names_) != len(self.embedding_):
            raise ValueError(f"{len(self.names_)} names of {len(self.embedding_)} points")
        self._kept = None
        if hasattr(self, "_read_stream"):
            self._kept = KeptAnswers.from_record(self._read_stream, len(self.embedding_))
            del self._read_stream

    @property
    def stream_(self) -> dict[str, Any]:
        """The answers that ``partial_fit`` keeps, for the model file; one without any if it was not used."""
        kept = getattr(self, "_kept", None)
        if kept is None or not kept.has_grown:
            raise AttributeError("partial_fit has kept no answers")
        return kept.to_record()

    @stream_.setter
    def stream_(self, stream: dict[str, Any]) -> None:
        self._read_stream = stream
