"""What "auto" means for a map: loss, ridge and number of dimensions, chosen by held-out answers.

Every fold has a start of its own, which has not seen the answers that it is judged by. A candidate is judged by its
errors and by the log loss of a logistic model of the distances, which is less noisy where answers are few.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.rows import squared_distances
from nearer.embedding.engines import Engine
from nearer.embedding.init import rescale
from nearer.embedding.problem import Problem
from nearer.embedding.solvers import LBFGS
from nearer.losses import as_loss, baseline_loss
from nearer.metrics import procrustes
from nearer.monitor import Monitor
from nearer.selection import FOLD_SHARE, Selection, Trial, answer_folds, as_good, best, race

RIDGES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
TRIAL_ITER, TRIAL_TOL = 150, 2e-5  # nearly to the end: a fit that is cut short overfits less than the final one
MIN_ROWS, ROWS_PER_OBJECT, ROWS_PER_COORDINATE = 5_000, 60, 6  # enough rows to learn from in a fold
MANY_ROWS = 25_000  # one fold is enough: a fifth of them
FEW_ROWS, FEW_PER_OBJECT = 5_000, 15  # below these a fold learns from nine tenths: less would choose other ridges
MANY_FOLDS = 10
COLLAPSED = 1e-100  # range of the coordinates of a map whose points are at one place
MOST_AVERAGED = 16  # maps of near ties
NEAR = 1.0  # paired standard errors
MIN_ANSWERS = 100  # held-out answers, or groups, of which there are enough to be the units of standard errors
MAX_SLOPE = 50.0  # of a logistic model of margins: more certainty than people or few answers allow
SETTINGS = ("n_components", "loss", "regularization")
DEFAULTS: dict[str, Any] = {"n_components": 2, "loss": "tste", "regularization": 0.01}  # where nothing is judged


class Fold:
    """Answers to learn from, answers to judge by, and points to start from that know only the former."""

    def __init__(self, train: Comparisons, held_out: Comparisons, points: np.ndarray, engine: Engine) -> None:
        self.train, self.held_out, self.points, self.engine = train, held_out, points, engine
        self.weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
        self.problems: dict[str, Problem] = {}

    def fit(
        self, loss: Any, ridge: float, start: np.ndarray | None, random: np.random.Generator, monitor: Monitor
    ) -> np.ndarray:
        """Return the points that a loss and a ridge lead to, from a start or the fold's own."""
        key = repr(loss)
        if key not in self.problems:  # compiled loops are found once per loss
            self.problems[key] = self.engine(self.train, loss, 0.0, 1, random)
        problem = self.problems[key]
        problem.set_regularization(ridge)
        points = rescale(self.points, self.train, loss, ridge) if start is None else start
        return LBFGS().solve(problem, points, monitor.child(TRIAL_ITER, TRIAL_TOL * baseline_loss(loss))).solution

    def judge(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each held-out answer the sum of error and log loss, and the error."""
        near, far = squared_distances(points, self.held_out.rows)
        errors = ~(near < far) * self.weights
        losses = errors + calibrated_log_loss(np.sqrt(far) - np.sqrt(near), self.weights) * self.weights
        return self._by_answer(losses), self._by_answer(errors)

    def _by_answer(self, values: np.ndarray) -> np.ndarray:
        """Return one value per answer, with the same mean: rows of an answer depend on each other."""
        n = self.held_out.n_answers
        if n == len(values) or n < MIN_ANSWERS:
            return values
        return np.bincount(self.held_out.answers, values, n) * (n / len(values))


def select_settings(
    comparisons: Comparisons,
    losses: Sequence[Any],
    ridges: Sequence[float] | None,
    n_components: int | None,
    start: Callable[[Comparisons, int], np.ndarray],
    random: np.random.Generator,
    monitor: Monitor,
    *,
    n_jobs: int,
    engine: Engine,
    n_rows: int,
) -> Selection:
    """Return what was tried, and the best of it.

    Parameters
    ----------
    comparisons : Comparisons
        The answers, or a sample of them.
    losses : sequence
        Losses to try.
    ridges : sequence of float or None
        Ridges to try; None: `RIDGES`.
    n_components : int or None
        Number of dimensions; None: the smallest that is not worse than the best by more than one standard error.
    start : callable
        ``start(part, n_components)`` returns points to start from, learned from this part only.
    random : numpy.random.Generator
        Draws the folds.
    monitor : Monitor
        Of the whole fit.
    n_jobs : int
        Threads.
    engine : callable
        Makes problems of parts of the answers.
    n_rows : int
        Number of all comparisons, which the ridge is for.
    """
    n = comparisons.n_objects
    enough = _enough_rows(n, n_components)
    if len(comparisons) > MANY_ROWS:
        enough = min(enough, int(FOLD_SHARE * len(comparisons)) - 1)
    if comparisons.weights is not None:
        weights = comparisons.weights / comparisons.weights.max()  # the mean of huge ones would overflow
        comparisons = Comparisons(comparisons, weights=weights / weights.mean())
    few = n_components is not None and len(comparisons) < max(FEW_ROWS, FEW_PER_OBJECT * n)
    folds = answer_folds(comparisons, random, enough, *([MANY_FOLDS] if few else []))
    if not folds:
        return Selection([], None)
    # The ridge acts like a fixed number of extra answers: on few of many answers its share is larger.
    share = len(folds[0][0]) / (FOLD_SHARE * n_rows)
    share = share if share < 0.95 else 1.0
    ridges = [ridge * share for ridge in RIDGES] if ridges is None else ridges

    def run(n_components: int, until: float) -> Selection:
        def fit(fold: Fold, settings: dict[str, Any], points: np.ndarray | None, monitor: Monitor) -> np.ndarray:
            return fold.fit(
                as_loss(settings["loss"], n_components),
                settings["regularization"] / share,
                points,
                random,
                monitor,
            )

        ladders = [
            [{"n_components": n_components, "loss": loss, "regularization": ridge} for ridge in ridges]
            for loss in losses
        ]
        built: list[Fold] = []

        def parts() -> Iterator[Fold]:
            for train, held_out in folds:
                built.append(Fold(train, held_out, start(train, n_components), engine))
                yield built[-1]

        what = f"loss and ridge in {n_components} dimension{'s' * (n_components > 1)}"
        selection = race(
            ladders, parts(), fit, Fold.judge, monitor, what=what, n_folds=len(folds), until=until, n_jobs=n_jobs
        )
        return with_near_ties(selection, built) if few else selection

    if n_components is None:
        return _fewest_dimensions(run, n - 1, monitor)
    # The fit after the race takes about twice as many iterations as a trial, of about a fifth as many candidates.
    n_trials = 2 * len(losses) * (len(ridges) if len(ridges) < 3 else 6) * share
    return run(n_components, n_trials / (n_trials + 3.0))


def _enough_rows(n_objects: int, n_components: int | None) -> int:
    """Return how many comparisons are enough to learn from in a fold."""
    return max(MIN_ROWS, ROWS_PER_OBJECT * n_objects, ROWS_PER_COORDINATE * n_objects * (n_components or 1))


def rows_for_choice(data: Comparisons | ComparisonSource, n_components: int | None) -> int:
    """Return how many comparisons settings and starts need at most: enough to learn from, and held-out ones."""
    return int(1.5 * max(_enough_rows(data.n_objects, n_components), MANY_ROWS))


def with_near_ties(selection: Selection, folds: Sequence[Fold]) -> Selection:
    """Return the selection with the candidates to average with the chosen one, where that predicts better.

    Few answers cannot tell good candidates apart, and the mean of their maps errs less than the one that happens to be
    chosen. It is judged on the held-out answers like any candidate: maps that differ too much have a poor mean.
    """
    chosen = selection.chosen
    assert chosen is not None
    n = len(chosen.solutions)
    near = [
        t
        for t in selection.trials
        if t is not chosen and len(t.solutions) == n and as_good(t, chosen, errors=NEAR)
    ]
    near = sorted(near, key=lambda trial: float(trial.losses.mean()))[: MOST_AVERAGED - 1]
    if not near:
        return selection
    means = [mean_map([trial.solutions[number] for trial in (chosen, *near)]) for number in range(n)]
    losses = np.concatenate([fold.judge(points)[0] for fold, points in zip(folds, means, strict=False)])
    return replace(selection, averaged=near) if losses.mean() < chosen.losses.mean() else selection


def mean_map(maps: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of maps brought to the position, size and orientation of the first.

    Maps that a ridge has pulled to one place have no orientation and are left out; if the first is one, it is the mean.
    """
    first, *others = maps
    if np.ptp(first) < COLLAPSED:
        return first
    aligned = [first, *(procrustes(points, first).aligned for points in others if np.ptp(points) >= COLLAPSED)]
    return np.mean(aligned, axis=0).astype(maps[0].dtype)


def _fewest_dimensions(run: Callable[[int, float], Selection], most: int, monitor: Monitor) -> Selection:
    """Add dimensions until two more in a row do not help; return the fewest that are as good as the best."""
    trials: list[Trial] = []
    winners: list[Trial] = []
    chosen: list[Trial] = []  # the same, compared by their errors: the log loss favors more dimensions
    for n_components in range(1, most + 1):
        selection = run(n_components, 0.95 * (1.0 - 0.7**n_components))  # it is not known how many there will be
        if monitor.stopped and chosen:
            break
        assert selection.chosen is not None
        trials += selection.trials
        winners.append(selection.chosen)
        chosen.append(replace(selection.chosen, losses=selection.chosen.unit_errors))
        if best(chosen) in chosen[:-2] or monitor.stopped:
            break
    fewest = next(number for number, trial in enumerate(chosen) if as_good(trial, best(chosen), errors=1.0))
    return Selection(trials, winners[fewest])


def calibrated_log_loss(margins: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log(1 + exp(-a margin)) per row, with the a > 0 of the lowest mean.

    That says how far the order of two distances can be relied on, whatever their scale.
    """
    unit = float(np.sqrt(np.mean(np.square(margins)))) or 1.0
    x, slope = margins / unit, 1.0
    for _ in range(10):  # Newton's method on a convex function of a
        wrong = expit(-slope * x)
        gradient, curvature = -np.dot(weights, wrong * x), np.dot(weights, wrong * (1.0 - wrong) * x * x)
        if curvature <= 0.0:
            break
        before, slope = slope, float(np.clip(slope - gradient / curvature, 0.1 * slope, MAX_SLOPE))
        if abs(slope - before) < 1e-2 * before:
            break
    return np.logaddexp(0.0, -slope * x)
