"""The fit of a map: settings are chosen where they are "auto", starts are found, and the solver lowers the objective.

These are the steps of `OrdinalEmbedding.fit`, and of the fits that `partial_fit` makes from time to time: the estimator
has the parameters and gets the learned attributes. Settings and starts come from comparisons in memory, which are a
sample where all of them do not fit there; the final fit is to all of them.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.blas import blas_threads_for
from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import drop_zero_weights
from nearer.embedding.checkpoint import Checkpoint
from nearer.embedding.engines import engine_of, memory_engine, sample_for
from nearer.embedding.escape import escape
from nearer.embedding.init import center, random_points, rescale, spread_apart, unfold
from nearer.embedding.problem import Problem
from nearer.embedding.settings import DEFAULTS, SETTINGS, mean_map, rows_for_choice, select_settings
from nearer.embedding.solvers import LBFGS, SOLVERS
from nearer.losses import LOSSES, as_loss, baseline_loss
from nearer.metrics import triplet_error
from nearer.monitor import Judge, Monitor, Result
from nearer.parameters import is_auto, n_threads
from nearer.selection import without_averaged
from nearer.solver import as_solver

FEW_ROWS = 2_000  # up to here threads wait for the interpreter longer than they save
SHORT = 30  # iterations after which the maps of the folds are compared
SEARCH_SHARE = 0.8  # of max_seconds at most, so that time is left for the fit


def fit_map(
    model: Any,
    train: Comparisons | ComparisonSource,
    random: np.random.Generator,
    settings: dict[str, Any] | None = None,
    points: np.ndarray | None = None,
    held_out: Comparisons | None = None,
    ties: Sequence[dict[str, Any]] = (),
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Fit points to answers: with other settings than the parameters, and also from these points, if given.

    ``ties`` are settings about as good as those given, to average with. A fit goes on from where its checkpoint is.
    """
    engine = engine_of(train, model.device)  # before the choice of settings, which may take long
    with blas_threads_for(1), model._monitor() as monitor:
        fit = MapFit(model, train, random, monitor)
        starts: list[np.ndarray] = []
        is_averaged = False
        saved = None if checkpoint is None else checkpoint.load(model)
        if saved is not None:
            settings, starts = saved[0], [saved[1]]
        if settings is None:
            settings, starts, ties = fit.choose()
            if monitor.stopped:
                checkpoint = None  # a choice that was cut short is not to be kept
        loss, ridge = as_loss(settings["loss"], settings["n_components"]), float(settings["regularization"])
        if held_out is not None:
            monitor.judge = fit.judge_of(held_out, loss)
        monitor.saddle = baseline_loss(loss)
        monitor.tol = model.tol * baseline_loss(loss)
        if points is not None and points.shape[1] != settings["n_components"]:
            points = None
        with (
            nullcontext() if checkpoint is None else checkpoint.keeping(settings, monitor),
            engine(train, loss, ridge, threads_of(model, train), random) as problem,
        ):
            result = fit.solve_from_starts(problem, starts, points, settings["n_components"])
            if ties and held_out is None and not result.cut_short:
                points = average_ties(model, result.solution, ties, fit.sample, random, monitor, model.max_iter)
                if monitor.stopped:
                    result = replace(result, reason=str(monitor.reason), converged=False)
                else:
                    result, is_averaged = replace(result, solution=points), True
            if checkpoint is not None:
                checkpoint.close(result)
            model.embedding_ = center(result.solution, problem.mentioned())
            model.energy_ = problem.energies(model.embedding_)
        if model.selection_ and not is_averaged:
            model.selection_ = without_averaged(model.selection_)
    model.loss_, model.regularization_ = loss, ridge
    return result


def threads_of(model: Any, train: Comparisons | ComparisonSource) -> int:
    """Return how many threads a fit to these comparisons uses."""
    return n_threads(model.n_jobs) if len(train) > FEW_ROWS else 1


class MapFit:
    """One fit: the estimator's parameters, the comparisons, the random generator and the monitor.

    Attributes
    ----------
    sample : Comparisons
        All comparisons, or as many as settings and starts need.
    engine : callable
        Makes problems of comparisons in memory.
    """

    def __init__(
        self, model: Any, train: Comparisons | ComparisonSource, random: np.random.Generator, monitor: Monitor
    ) -> None:
        self.model, self.train, self.random, self.monitor = model, train, random, monitor
        self.engine = memory_engine(model.device)
        n_components = None if is_auto(model.n_components) else int(model.n_components)
        self.sample = drop_zero_weights(sample_for(train, rows_for_choice(train, n_components), random))
        if not len(self.sample):
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")

    def choose(self) -> tuple[dict[str, Any], list[np.ndarray], list[dict[str, Any]]]:
        """Return the settings, chosen where they are "auto", and if there was a choice points to start from and ties."""
        model = self.model
        settings = {name: getattr(model, name) for name in SETTINGS}
        auto = [name for name in SETTINGS if is_auto(settings[name])]
        if not auto:
            return settings, [], []
        with self.monitor.limited(SEARCH_SHARE):
            selection = select_settings(
                self.sample,
                list(LOSSES) if "loss" in auto else [model.loss],
                None if "regularization" in auto else [float(model.regularization)],
                None if "n_components" in auto else int(model.n_components),
                lambda part, n_components: self.find_start(part, n_components, 1),
                self.random,
                self.monitor,
                n_jobs=threads_of(model, self.sample),
                engine=self.engine,
                n_rows=len(self.train),
            )
        model.selection_ = selection.records()
        if selection.chosen is None:
            return settings | {name: DEFAULTS[name] for name in auto}, [], []
        return selection.chosen.settings, selection.chosen.solutions, [t.settings for t in selection.averaged]

    def solve_from_starts(
        self, problem: Problem, starts: list[np.ndarray], points: np.ndarray | None, n_components: int
    ) -> Result:
        """Solve the problem from the best of the starts or new ones, and from the map so far; return the best."""
        model, monitor = self.model, self.monitor
        solver, results = as_solver(model.solver, SOLVERS), []
        pull = 0.5 * problem.ridge * problem.n_objects
        monitor.view = lambda points: {"points": problem.to_numpy(points)}
        monitor.snapshot = lambda points: np.copy(problem.to_numpy(points))
        for number in range(model.n_init + (points is not None)):
            if number == model.n_init and points is not None:
                start = rescale(points, self.sample, problem.loss, pull)
            elif starts and number == 0:
                start = most_promising(starts, problem, monitor)
            else:
                start = self.find_start(self.sample, n_components, threads_of(model, self.sample))
                start = start if model.init is not None else rescale(start, self.sample, problem.loss, pull)
            attempt = monitor.restart()
            result = solver.solve(problem, start, attempt)
            if model.escape:
                result, attempt = escape(problem, self.sample, solver, result, attempt)
            results.append((attempt.outcome, result))
            if result.cut_short:
                break
        return min(results, key=lambda pair: pair[0])[1]

    def find_start(self, part: Comparisons, n_components: int, n_jobs: int) -> np.ndarray:
        """Return points to start from: those of ``init``, or some that unfold."""
        model = self.model
        if model.init is not None and len(model.init) == part.n_objects:  # fewer if partial_fit has added objects
            return spread_apart(np.array(model.init, dtype=np.float64, order="C")).astype(model.dtype)
        if n_components >= part.n_objects:  # few answers of a stream: more objects will follow
            return random_points(part.n_objects, n_components, model.dtype, self.random)
        return unfold(
            part,
            n_components,
            dtype=model.dtype,
            n_jobs=n_jobs,
            random=self.random,
            monitor=self.monitor,
            engine=self.engine,
        )

    def judge_of(self, held_out: Comparisons, loss: Any) -> Judge:
        """Return a judge of points by their errors, and then their loss, on held-out answers."""
        problem = self.engine(held_out, loss, 0.0, 1, self.random)

        def judge(state: Any) -> tuple[tuple[float, ...], dict[str, float]]:
            points = problem.to_numpy(state)
            value, error = problem.value(points), triplet_error(points, held_out)
            return (error, value), {"held_out_loss": value, "held_out_error": error}

        return judge


def average_ties(
    model: Any,
    points: np.ndarray,
    ties: Sequence[dict[str, Any]],
    train: Comparisons,
    random: np.random.Generator,
    monitor: Monitor,
    max_iter: int,
) -> np.ndarray:
    """Return the mean of a map and of those that settings about as good lead to from there; the map if interrupted."""
    maps = [points]
    for settings in ties:
        if monitor.stopped:
            return points
        loss, ridge = as_loss(settings["loss"], settings["n_components"]), float(settings["regularization"])
        with memory_engine(model.device)(train, loss, ridge, 1, random) as problem:
            start = rescale(points, train, loss, 0.5 * problem.ridge * problem.n_objects)
            child = monitor.child(max_iter, model.tol * baseline_loss(loss))
            maps.append(LBFGS().solve(problem, start, child).solution)
    return points if monitor.stopped else mean_map(maps)


def most_promising(starts: list[np.ndarray], problem: Problem, monitor: Monitor) -> np.ndarray:
    """Return the start whose objective is lowest after a few iterations."""
    if len(starts) == 1:
        return starts[0]

    def promise(start: np.ndarray) -> float:
        return LBFGS().solve(problem, start, monitor.child(SHORT)).history[-1]["loss"]

    return min(starts, key=promise)
