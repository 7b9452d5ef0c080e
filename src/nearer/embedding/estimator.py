"""OrdinalEmbedding: points whose distances satisfy comparisons, as a scikit-learn estimator.

``fit`` validates, states the problem (:mod:`nearer.embedding.problem`), hands it to a solver
(:mod:`nearer.embedding.solvers`) under the eyes of a monitor, and sets what was learned.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from nearer.certificate import certify
from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import (
    as_comparisons,
    drop_zero_weights,
    match_objects,
    mentioned_objects,
    merge_objects,
)
from nearer.comparisons.random_state import child_generator
from nearer.embedding.escape import escaped
from nearer.embedding.init import centred, principal, random_points, subsample
from nearer.embedding.monitor import Monitor
from nearer.embedding.parameters import check_parameters
from nearer.embedding.predict import EmbeddingPredictor
from nearer.embedding.problem import Problem
from nearer.embedding.ridge import MIDDLE, chosen_ridge
from nearer.embedding.solvers import SVRG, as_solver
from nearer.losses import as_loss, baseline_loss
from nearer.metrics import triplet_error
from nearer.models import SavedModel
from nearer.parameters import n_threads
from nearer.progress import progress

EXTRA_DIMENSIONS = 3  # room to spare while the map unfolds
UNFOLDING_EPOCHS, UNFOLDING_TOL = 15, 5e-4
UNFOLDING_ROWS = 20_000  # or ten for each coordinate: a rough map needs no more
PASSES = 5  # over the answers of one partial_fit
REACH = 0.25  # how far the first answer of a partial_fit may move a newcomer


class OrdinalEmbedding(EmbeddingPredictor, SavedModel, BaseEstimator):
    """Points whose distances agree with answers to "is a nearer to b or to c?".

    Minimises the mean loss of the comparisons plus ``regularization * |X|² / n`` over points X of n objects.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    loss : {"tste", "ckl", "ste", "gnmds", "soe"} or object, default="tste"
        How badly a comparison is met: a name, a loss of :mod:`nearer.losses` with parameters, or your own object
        with ``value``, ``slopes`` and ``probability`` of two squared distances.
    solver : {"svrg-sbb", "svrg", "sgd", "batch", "lbfgs"} or object, default="svrg-sbb"
        How the objective is lowered: a name or a solver of :mod:`nearer.embedding` with parameters.
    regularization : "auto" or float, default="auto"
        Pull of all points to the middle. It keeps few answers about many objects from being learned by heart.
        "auto" takes the smallest of 0.0003, 0.001, 0.003, 0.01, 0.03 and 0.1 that predicts held-out answers as
        well as any, then learns from all answers; ``regularization_`` says which. 0 suits answers without errors.
        (More than 500,000 rows are judged by a sample, and the ridge is scaled to all. Fewer than five answers
        cannot be judged: 0.01.)
    max_epochs : int, default=300
        Passes over the comparisons at most.
    tol : float, default=2e-5
        The fit has converged when three epochs in a row lower the objective by no more than this share of the loss
        of a map that knows nothing (all objects at one place).
    early_stopping : bool, default=False
        Hold out some answers and return the points that were best on them.
    validation_fraction : float, default=0.1
        Share of the answers that early stopping holds out.
    n_init : int, default=1
        Starts; the one with the lowest objective is kept.
    escape : bool, default=False
        Try to leave the minimum that was found, along the eigenvector that :meth:`optimality_gap` rests on:
        through a dimension more and back. The map is kept if it ended lower. Takes two to ten times as long,
        within the same ``max_epochs``. A callback also sees the records of attempts that are then dropped.
    init : array of shape (n_objects, n_components), optional
        Where to start instead of at random points that unfold in a few more dimensions.
    dtype : {"float64", "float32"}, default="float64"
        Precision of points and arithmetic.
    n_jobs : int, optional
        Threads; -1 for all cores. The result is the same for the same number.
    random_state : int, RandomState or None, default=None
        Makes the fit repeatable.
    callback : callable, optional
        Called once an epoch with the record of ``history_`` and the current ``points``; returning True stops.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    embedding_ : array of shape (n_objects, n_components)
        The map, centred. Objects that no comparison mentions are at the origin.
    loss_ : object
        The loss as used, open parameters settled.
    regularization_ : float
        The ridge as used.
    names_ : tuple of str or None
        Names of the objects, where the comparisons had them.
    n_iter_ : int
        Epochs of the kept start.
    converged_ : bool
        Whether the objective had settled (or early stopping had decided) before ``max_epochs``.
    history_ : list of dict
        A record an epoch: epoch, loss, step_size, gradient_evaluations, seconds since the fit began and, with
        early stopping, held_out_loss and held_out_error. Finding start and ridge comes before the first record.
    n_features_in_ : int
        Columns of the comparisons: 3 or 4.

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

    _learned_arrays = ("embedding_", "energy_")

    _learned_values = ("loss_", "names_", "n_iter_", "converged_", "history_", "n_features_in_", "regularization_")

    def __init__(
        self,
        n_components: int = 2,
        loss: Any = "tste",
        solver: Any = "svrg-sbb",
        *,
        regularization: float | str = "auto",
        max_epochs: int = 300,
        tol: float = 2e-5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_init: int = 1,
        escape: bool = False,
        init: Any = None,
        dtype: str = "float64",
        n_jobs: int | None = None,
        random_state: Any = None,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.solver = solver
        self.regularization = regularization
        self.max_epochs = max_epochs
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_init = n_init
        self.escape = escape
        self.init = init
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        comparisons : Comparisons, ComparisonSource, array of shape (n, 3) or (n, 4), or DataFrame
            Rows (a, b, c) say d(a, b) < d(a, c); rows (i, j, l, k) say d(i, j) < d(l, k).
        y : array of bool or ±1, optional
            Then the rows are questions and y the answers: False or -1 turns a row around.
        sample_weight : array of shape (n,), optional
            Multiplies the comparisons' weights.

        Returns
        -------
        self
        """
        begun = time.perf_counter()
        given = drop_zero_weights(as_comparisons(comparisons, y, sample_weight))
        check_parameters(self, given.n_objects)
        if len(given) == 0:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        random = child_generator(self.random_state)
        loss, solver = as_loss(self.loss, self.n_components), as_solver(self.solver)
        train, held_out = given, None
        if self.early_stopping:
            train, kept_back = given.split(self.validation_fraction, random)
            if len(kept_back) == 0 or len(train) == 0:
                raise ValueError(f"{len(given)} comparisons are too few to hold some out for early stopping")
            held_out = _judge(kept_back, loss, random)
        fits, ridge = [], self.regularization
        for _ in range(self.n_init):
            ridge, start = self._start(train, loss, ridge, held_out, random)
            monitor = Monitor(
                self.max_epochs, self.tol * baseline_loss(loss), held_out, self.callback, begun=begun
            )
            with (
                Problem(train, loss, ridge, n_threads(self.n_jobs), random) as problem,
                progress(self.max_epochs, "epoch", self.verbose) as monitor.bar,
            ):
                points = solver.solve(problem, start, monitor)
                if self.escape:
                    solve = partial(solver.solve, problem)
                    points, monitor = escaped(problem, train, points, monitor, solve)
                fits.append((monitor.chosen(points), monitor))
            if monitor.stopped:
                break
        points, monitor = min(fits, key=lambda fitted: fitted[1].outcome)
        self.embedding_ = centred(points, mentioned_objects(train))
        self.loss_ = loss
        self.regularization_ = ridge
        self.names_ = given.names
        self.history_ = monitor.history
        self.n_iter_ = len(monitor.history) - 1
        self.converged_ = monitor.converged
        self.n_features_in_ = given.shape[1]
        self.energy_ = Problem(train, loss, 0.0, 1, random).energies(self.embedding_)
        if not (monitor.converged or monitor.stopped):
            warnings.warn(
                f"the fit ended after {self.n_iter_} epochs before the objective settled (tol={self.tol}): "
                f"raise max_epochs or tol, or take another step size",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        """Check what needs no data, for the command line, before a large file is read."""
        as_loss(self.loss, 2)
        as_solver(self.solver)

    def _start(
        self, train: Comparisons, loss: Any, ridge: Any, held_out: Any, random: np.random.Generator
    ) -> tuple[float, np.ndarray]:
        """Return the ridge to use, chosen where it is "auto", and points to start from."""
        auto = ridge == "auto"
        ridge = MIDDLE if auto else float(ridge)
        if self.init is None:
            start = self._unfolded(train, loss, ridge, held_out, random)
        else:
            start = np.array(self.init, dtype=self.dtype, order="C")
        return chosen_ridge(train, loss, start, n_threads(self.n_jobs), random) if auto else (ridge, start)

    def _unfolded(
        self, train: Comparisons, loss: Any, ridge: float, held_out: Any, random: np.random.Generator
    ) -> np.ndarray:
        """Return points that unfolded in a few more dimensions, cut back to those asked for."""
        roomy = min(self.n_components + EXTRA_DIMENSIONS, train.n_objects - 1)
        train = subsample(train, max(UNFOLDING_ROWS, 10 * roomy * train.n_objects), random)
        start = random_points(train.n_objects, roomy, self.dtype, random)
        monitor = Monitor(UNFOLDING_EPOCHS, UNFOLDING_TOL * baseline_loss(loss), held_out)
        with Problem(train, loss, ridge, n_threads(self.n_jobs), random) as problem:
            return principal(monitor.chosen(SVRG().solve(problem, start, monitor)), self.n_components)

    def partial_fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further answers, also about new objects, without the earlier ones.

        The first call fits; make it a few hundred answers, enough for a rough map. From then on each object moves
        the less the more it was pulled before (AdaGrad), so a few answers place a newcomer without upsetting the
        map. Objects are matched by name where there are names, by number otherwise.

        Parameters
        ----------
        comparisons, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        given = as_comparisons(comparisons, y, sample_weight)
        if not hasattr(self, "embedding_"):
            return self.fit(given)
        random = child_generator(self.random_state)
        given = drop_zero_weights(self._widened(given, random))
        if len(given):
            problem = Problem(given, self.loss_, 0.0, 1, random)
            self.embedding_ = problem.adagrad_run(self.embedding_, self.energy_, REACH, PASSES)
        return self

    def _widened(self, given: Comparisons, random: np.random.Generator) -> Comparisons:
        """Make room for objects not met before; return the comparisons in the numbers of the map."""
        rows, names, n_objects = merge_objects(given, self.names_, len(self.embedding_))
        new = n_objects - len(self.embedding_)
        if new:
            places = random_points(n_objects, self.n_components, str(self.embedding_.dtype), random)
            self.embedding_ = np.vstack([self.embedding_, places[-new:]])
            self.energy_ = np.concatenate([self.energy_, np.zeros(new)])
        self.names_ = names
        return Comparisons(rows, n_objects=n_objects, weights=given.weights)

    def optimality_gap(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return by how much at most a better map, of any number of dimensions, would lower the objective.

        Zero says that no map is better. For the losses "ste" and "gnmds" (or your own that says ``convex = True``)
        and a ridge above 0; see :func:`nearer.certificate.certify`, which this calls. A map of few dimensions is
        limited by them, so part of its gap is the price of being drawn on paper. A map fitted with early stopping
        has seen part of the answers only, and its gap on all of them counts that too.

        Parameters
        ----------
        comparisons, y, sample_weight
            What the map was fitted to, as for :meth:`fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self, "embedding_")
        given = drop_zero_weights(as_comparisons(comparisons, y, sample_weight))
        rows = match_objects(given, self.names_, len(self.embedding_))
        if rows.size and rows.max() == len(self.embedding_):
            raise ValueError(
                "these comparisons name objects that the map was not fitted to: it has no gap on them"
            )
        known = Comparisons(rows, n_objects=len(self.embedding_), weights=given.weights)
        return certify(self.embedding_, known, self.loss_, float(self.regularization_)).excess

    def fit_transform(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn the map and return it: a row an object, not a row a comparison."""
        return self.fit(comparisons, y, sample_weight).embedding_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def _loaded(self) -> None:
        """Settle what a model file does not hold, and refuse what does not fit together."""
        if not hasattr(self, "loss_"):
            self.loss_ = as_loss(self.loss, self.n_components)
        if self.embedding_.ndim != 2 or self.embedding_.shape[1] != self.n_components:
            raise ValueError(f"points of shape {self.embedding_.shape} in {self.n_components} dimensions")
        if self.energy_.shape != (len(self.embedding_),):
            raise ValueError(f"{len(self.embedding_)} points but energies of shape {self.energy_.shape}")
        if self.names_ is not None and len(self.names_) != len(self.embedding_):
            raise ValueError(f"{len(self.names_)} names of {len(self.embedding_)} points")


def _judge(held_out: Comparisons, loss: Any, random: np.random.Generator) -> Callable:
    """Return what early stopping watches: loss and error on answers held out."""
    problem = Problem(held_out, loss, 0.0, 1, random)

    def judged(points: np.ndarray) -> tuple[float, float]:
        return problem.value_and_gradient(points)[0], triplet_error(points, held_out)

    return judged
