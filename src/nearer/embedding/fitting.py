"""The fit of a map: settings are chosen where they are "auto", starts are found, and the solver lowers the objective.

These are the steps of `OrdinalEmbedding.fit`, and of the fits that `partial_fit` makes from time to time: the estimator
has the parameters and gets the learned attributes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.blas import blas_threads_for
from nearer.comparisons import Comparisons, coerce
from nearer.embedding.escape import escape
from nearer.embedding.init import center, random_points, rescale, spread_apart, unfold
from nearer.embedding.problem import Problem
from nearer.embedding.settings import DEFAULTS, SETTINGS, mean_map, select_settings
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
    train: Comparisons,
    random: np.random.Generator,
    settings: dict[str, Any] | None = None,
    points: np.ndarray | None = None,
    held_out: Comparisons | None = None,
    ties: Sequence[dict[str, Any]] = (),
) -> Result:
    """Fit points to answers: with other settings than the parameters, and also from these points, if given.

    ``ties`` are settings about as good as those given, to average with.
    """
    with blas_threads_for(1), model._monitor(view=lambda points: {"points": points}) as monitor:
        starts: list[np.ndarray] = []
        is_averaged = False
        if settings is None:
            settings, starts, ties = choose(model, train, random, monitor)
        loss, ridge = as_loss(settings["loss"], settings["n_components"]), float(settings["regularization"])
        if held_out is not None:
            monitor.judge = judge_of(held_out, loss, random)
        monitor.saddle = baseline_loss(loss)
        monitor.tol = model.tol * baseline_loss(loss)
        if points is not None and points.shape[1] != settings["n_components"]:
            points = None
        with Problem(train, loss, ridge, threads_of(model, train), random) as problem:
            result = solve_from_starts(model, problem, train, starts, points, settings["n_components"], monitor)
        if ties and held_out is None and not result.cut_short:
            points = average_ties(model, result.solution, ties, train, random, monitor, model.max_iter)
            if monitor.stopped:
                result = replace(result, reason=str(monitor.reason), converged=False)
            else:
                result, is_averaged = replace(result, solution=points), True
        if model.selection_ and not is_averaged:
            model.selection_ = without_averaged(model.selection_)
    model.embedding_ = center(result.solution, coerce.mentioned_objects(train))
    model.loss_, model.regularization_ = loss, ridge
    model.energy_ = Problem(train, loss, 0.0, 1, random).energies(model.embedding_)
    return result


def threads_of(model: Any, train: Comparisons) -> int:
    """Return how many threads a fit to these comparisons uses."""
    return n_threads(model.n_jobs) if len(train) > FEW_ROWS else 1


def choose(
    model: Any, train: Comparisons, random: np.random.Generator, monitor: Monitor
) -> tuple[dict[str, Any], list[np.ndarray], list[dict[str, Any]]]:
    """Return the settings, chosen where they are "auto", and if there was a choice points to start from and ties."""
    settings = {name: getattr(model, name) for name in SETTINGS}
    auto = [name for name in SETTINGS if is_auto(settings[name])]
    if not auto:
        return settings, [], []
    with monitor.limited(SEARCH_SHARE):
        selection = select_settings(
            train,
            list(LOSSES) if "loss" in auto else [model.loss],
            None if "regularization" in auto else [float(model.regularization)],
            None if "n_components" in auto else int(model.n_components),
            lambda part, n_components: find_start(model, part, n_components, random, monitor, 1),
            random,
            monitor,
            threads_of(model, train),
        )
    model.selection_ = selection.records()
    if selection.chosen is None:
        return settings | {name: DEFAULTS[name] for name in auto}, [], []
    return selection.chosen.settings, selection.chosen.solutions, [t.settings for t in selection.averaged]


def solve_from_starts(
    model: Any,
    problem: Problem,
    train: Comparisons,
    starts: list[np.ndarray],
    points: np.ndarray | None,
    n_components: int,
    monitor: Monitor,
) -> Result:
    """Solve the problem from the best of the starts or new ones, and from the map so far; return the best."""
    solver, results = as_solver(model.solver, SOLVERS), []
    pull = 0.5 * problem.ridge * problem.n_objects
    for number in range(model.n_init + (points is not None)):
        if number == model.n_init and points is not None:
            start = rescale(points, train, problem.loss, pull)
        elif starts and number == 0:
            start = most_promising(starts, problem, monitor)
        else:
            start = find_start(model, train, n_components, problem.random, monitor, problem.n_jobs)
            start = start if model.init is not None else rescale(start, train, problem.loss, pull)
        attempt = monitor.restart()
        result = solver.solve(problem, start, attempt)
        if model.escape:
            result, attempt = escape(problem, train, solver, result, attempt)
        results.append((attempt.outcome, result))
        if result.cut_short:
            break
    return min(results, key=lambda pair: pair[0])[1]


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
        with Problem(train, loss, ridge, 1, random) as problem:
            start = rescale(points, train, loss, 0.5 * problem.ridge * problem.n_objects)
            child = monitor.child(max_iter, model.tol * baseline_loss(loss))
            maps.append(LBFGS().solve(problem, start, child).solution)
    return points if monitor.stopped else mean_map(maps)


def find_start(
    model: Any, part: Comparisons, n_components: int, random: np.random.Generator, monitor: Monitor, n_jobs: int
) -> np.ndarray:
    """Return points to start from: those of ``init``, or some that unfold."""
    if model.init is not None and len(model.init) == part.n_objects:  # fewer if partial_fit has added objects
        return spread_apart(np.array(model.init, dtype=np.float64, order="C")).astype(model.dtype)
    if n_components >= part.n_objects:  # few answers of a stream: more objects will follow
        return random_points(part.n_objects, n_components, model.dtype, random)
    return unfold(part, n_components, dtype=model.dtype, n_jobs=n_jobs, random=random, monitor=monitor)


def most_promising(starts: list[np.ndarray], problem: Problem, monitor: Monitor) -> np.ndarray:
    """Return the start whose objective is lowest after a few iterations."""
    if len(starts) == 1:
        return starts[0]

    def promise(start: np.ndarray) -> float:
        return LBFGS().solve(problem, start, monitor.child(SHORT)).history[-1]["loss"]

    return min(starts, key=promise)


def judge_of(held_out: Comparisons, loss: Any, random: np.random.Generator) -> Judge:
    """Return a judge of points by their errors, and then their loss, on held-out answers."""
    problem = Problem(held_out, loss, 0.0, 1, random)

    def judge(points: np.ndarray) -> tuple[tuple[float, ...], dict[str, float]]:
        value, error = problem.value_and_gradient(points)[0], triplet_error(points, held_out)
        return (error, value), {"held_out_loss": value, "held_out_error": error}

    return judge
