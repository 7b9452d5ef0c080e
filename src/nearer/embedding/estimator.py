"""OrdinalEmbedding: points whose distances satisfy comparisons, as a scikit-learn estimator.

``fit`` checks its input, states the problem (:mod:`nearer.embedding.problem`), has a solver
(:mod:`nearer.embedding.solvers`) solve it under a monitor, and sets the learned attributes.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from nearer.certificate import certify
from nearer.comparisons import Comparisons, coerce
from nearer.comparisons.random_state import child_generator
from nearer.comparisons.rows import squared_distances
from nearer.embedding.escape import escape
from nearer.embedding.init import centre, random_points, unfold
from nearer.embedding.problem import Problem
from nearer.embedding.solvers import SOLVERS, SVRG
from nearer.iterative import IterativeEstimator
from nearer.losses import as_loss, baseline_loss
from nearer.metrics import triplet_error
from nearer.models import SavedModel
from nearer.monitor import Judge, Monitor, Result
from nearer.parameters import BOOL, Constraint, n_threads, parametrized
from nearer.predict import EmbeddingPredictor
from nearer.selection import DEFAULT_RIDGE, select_ridge
from nearer.solver import as_solver

PATHS = ((0.01, 0.003, 0.001, 0.0003), (0.01, 0.03, 0.1))  # ridges to try, from the middle
TRIAL_EPOCHS, TRIAL_TOL = 50, 1.5e-4  # a ridge is judged by its errors, which settle before the objective
PASSES = 5  # over the answers of one partial_fit
FIRST_STEP = 0.25  # how far the first answer of a partial_fit may move a new object


@parametrized
class OrdinalEmbedding(EmbeddingPredictor, IterativeEstimator, SavedModel, BaseEstimator):
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
        Strength of the ridge, which pulls all points to the origin and keeps few answers about many objects from
        being overfitted. "auto" takes the smallest of 0.0003, 0.001, 0.003, 0.01, 0.03 and 0.1 that predicts
        held-out answers as well as any, then learns from all answers; ``regularization_`` and ``selection_`` say
        which. 0 suits answers without errors. (More than 500,000 rows are judged by a sample, and the ridge is
        scaled to all. Fewer than five answers cannot be judged: 0.01.)
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
    dtype : {"float64", "float32"}, default="float64"
        Precision of points and arithmetic.
    n_jobs : int, optional
        Threads; -1 for all cores. The result is the same for the same number.
    random_state : int, RandomState or None, default=None
        Makes the fit repeatable.
    max_seconds : float, optional
        End the fit after this time with the best map so far.
    callback : callable, optional
        Called once per epoch with the record of ``history_`` and the current ``points``, and before that, while
        the ridge is chosen, once per trial; ``stage`` says which. Returning True ends the fit.
    verbose : bool, default=False
        Show progress bars.

    Attributes
    ----------
    embedding_ : array of shape (n_objects, n_components)
        The map, centred. Objects that no comparison mentions are at the origin.
    loss_ : object
        The loss as used, with its parameters set.
    regularization_ : float
        The ridge as used.
    selection_ : list of dict or None
        One record per ridge that "auto" tried: regularization, loss (the share of held-out answers that it got
        wrong), standard_error, and whether it was chosen. None where there was nothing to choose.
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
        with early stopping, held_out_loss and held_out_error. Start and ridge are found before the first record.
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

    n_components: int = 2
    loss: Any = "tste"
    solver: Any = "svrg-sbb"
    _: KW_ONLY
    regularization: float | str = "auto"
    max_iter: int = 300
    tol: float = 2e-5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_init: int = 1
    escape: bool = False
    init: Any = None
    dtype: str = "float64"
    n_jobs: int | None = None
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    _learned_arrays = ("embedding_", "energy_")

    _learned_values = (
        "loss_", "names_", "n_iter_", "converged_", "stop_reason_", "history_", "n_features_in_",
        "regularization_", "selection_",
    )  # fmt: skip
    _constraints: ClassVar = {
        "escape": BOOL,
        "dtype": Constraint(
            lambda value: value in ("float32", "float64", np.float32, np.float64), "'float32' or 'float64'"
        ),
    }

    def _fit(self, comparisons: Comparisons) -> None:
        self._check_sizes(comparisons.n_objects)
        random = child_generator(self.random_state)
        loss = as_loss(self.loss, self.n_components)
        train, judge = self._hold_out(comparisons, loss, random)
        tol = self.tol * baseline_loss(loss)
        watch = {"saddle": baseline_loss(loss), "judge": judge, "view": lambda points: {"points": points}}
        with self._monitor(tol, **watch) as monitor:
            ridge, result = self._best_start(train, loss, random, monitor)
        self.embedding_ = centre(result.solution, coerce.mentioned_objects(train))
        self.loss_, self.regularization_, self.names_ = loss, ridge, comparisons.names
        self.n_features_in_ = comparisons.shape[1]
        self.energy_ = Problem(train, loss, 0.0, 1, random).energies(self.embedding_)
        self._set_result(result, stacklevel=4)

    def _check_combinations(self) -> None:
        as_loss(self.loss, self.n_components)
        as_solver(self.solver, SOLVERS)

    def _check_sizes(self, n: int) -> None:
        """Check parameters against the number of objects."""
        if self.n_components >= n:
            raise ValueError(
                f"n_components={self.n_components} dimensions are too many for {n} objects: "
                f"at most {n - 1} make sense"
            )
        if self.init is not None:
            start = np.asarray(self.init)
            if start.shape != (n, self.n_components) or start.dtype.kind not in "fiu":
                raise ValueError(
                    f"init must be numbers of shape ({n}, {self.n_components}), one row per object; "
                    f"got shape {start.shape} of {start.dtype}"
                )
            if not np.isfinite(start).all():
                raise ValueError("init must be finite; it holds NaN or infinity")

    def _hold_out(
        self, comparisons: Comparisons, loss: Any, random: np.random.Generator
    ) -> tuple[Comparisons, Judge | None]:
        """Return the answers to learn from, and with early stopping a judge of points by the others."""
        if not self.early_stopping:
            return comparisons, None
        train, held_out = comparisons.split(self.validation_fraction, random)
        if len(held_out) == 0 or len(train) == 0:
            raise ValueError(f"{len(comparisons)} comparisons are too few to hold some out for early stopping")
        problem = Problem(held_out, loss, 0.0, 1, random)

        def judge(points: np.ndarray) -> tuple[tuple[float, ...], dict[str, float]]:
            value, error = problem.value_and_gradient(points)[0], triplet_error(points, held_out)
            return (error, value), {"held_out_loss": value, "held_out_error": error}

        return train, judge

    def _best_start(
        self, train: Comparisons, loss: Any, random: np.random.Generator, monitor: Monitor
    ) -> tuple[float, Result]:
        """Solve the problem from ``n_init`` starts; return the ridge and the best result."""
        solver, results, ridge = as_solver(self.solver, SOLVERS), [], self.regularization
        for _ in range(self.n_init):
            ridge, start = self._start(train, loss, ridge, random, monitor)
            attempt = monitor.restart()
            with Problem(train, loss, ridge, n_threads(self.n_jobs), random) as problem:
                result = solver.solve(problem, start, attempt)
                if self.escape:
                    result, attempt = escape(problem, train, solver, result, attempt)
            results.append((attempt.outcome, result))
            if result.cut_short:
                break
        return float(ridge), min(results, key=lambda pair: pair[0])[1]

    def _start(
        self, train: Comparisons, loss: Any, ridge: Any, random: np.random.Generator, monitor: Monitor
    ) -> tuple[float, np.ndarray]:
        """Return the ridge, chosen where it is "auto", and points to start from."""
        auto, n_jobs = ridge == "auto", n_threads(self.n_jobs)
        ridge = DEFAULT_RIDGE if auto else float(ridge)
        if self.init is None:
            start = unfold(
                train, loss, ridge, self.n_components,
                dtype=self.dtype, n_jobs=n_jobs, random=random, monitor=monitor, judge=monitor.judge,
            )  # fmt: skip
        else:
            start = np.array(self.init, dtype=self.dtype, order="C")
        if not auto:
            return ridge, start

        def fit(part: Comparisons, ridge: float, points: np.ndarray, monitor: Monitor) -> np.ndarray:
            with Problem(part, loss, ridge, n_jobs, random) as problem:
                short = monitor.child(TRIAL_EPOCHS, TRIAL_TOL * baseline_loss(loss))
                return SVRG().solve(problem, points, short).solution

        ridge, start, selection = select_ridge(train, PATHS, fit, squared_distances, start, random, monitor)
        self.selection_ = selection.records()
        return ridge, start

    def partial_fit(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further answers, also about new objects, without the earlier ones.

        The first call fits; give it a few hundred answers, enough for a rough map. From then on an object that
        was moved much before moves less (AdaGrad), so that a few answers place a new object and leave the map as
        it is. Objects are matched by name where there are names, by number otherwise.

        Parameters
        ----------
        comparisons, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        comparisons = coerce.as_comparisons(comparisons, y, sample_weight)
        if not hasattr(self, "embedding_"):
            return self.fit(comparisons)
        random = child_generator(self.random_state)
        comparisons = coerce.drop_zero_weights(self._add_objects(comparisons, random))
        if len(comparisons):
            problem = Problem(comparisons, self.loss_, 0.0, 1, random)
            self.embedding_ = problem.adagrad_run(self.embedding_, self.energy_, FIRST_STEP, PASSES)
        return self

    def _add_objects(self, comparisons: Comparisons, random: np.random.Generator) -> Comparisons:
        """Add points for new objects; return the comparisons in the numbers of the map."""
        rows, names, n_objects = coerce.merge_objects(comparisons, self.names_, len(self.embedding_))
        new = n_objects - len(self.embedding_)
        if new:
            places = random_points(n_objects, self.n_components, str(self.embedding_.dtype), random)
            self.embedding_ = np.vstack([self.embedding_, places[-new:]])
            self.energy_ = np.concatenate([self.energy_, np.zeros(new)])
        self.names_ = names
        return Comparisons(rows, n_objects=n_objects, weights=comparisons.weights)

    def optimality_gap(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return by how much at most a better map, of any number of dimensions, would lower the objective.

        Zero says that no map is better. For the losses "ste" and "gnmds" (or your own that says ``convex = True``)
        and a ridge above 0; see :func:`nearer.certificate.certify`, which this calls. A map of few dimensions is
        limited by them, so part of its gap is the price of few dimensions. A map fitted with early stopping has
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

    def fit_transform(self, comparisons: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn the map and return it: one row per object, not per comparison."""
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
