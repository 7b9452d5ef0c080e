"""How much ridge the answers call for: ``regularization="auto"``.

A ladder of ridges is walked down and up from its middle, each rung warm-started from the last, and judged by its
errors on held-out answers. Few answers make a noisy judge, so all of them take their turn at being held out (five
folds); of many a tenth is enough. The lowest rung whose errors can hardly be told from the fewest is taken, and
its points are the start of the fit proper.
"""

from typing import Any, NamedTuple

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.rows import squared_distances
from nearer.embedding.monitor import Monitor
from nearer.embedding.problem import Problem
from nearer.embedding.solvers import SVRG
from nearer.embedding.start import sampled
from nearer.losses import ignorance

MIDDLE, DOWN, UP = 0.01, (0.003, 0.001, 0.0003), (0.03, 0.1)
RUNG_EPOCHS, RUNG_TOL = 50, 1.5e-4
FEW_ROWS = 50_000  # up to here all folds are fitted
MOST_ROWS = 500_000  # a larger set is judged by a sample of its answers


def chosen_ridge(
    comparisons: Comparisons, loss: Any, start: np.ndarray, n_jobs: int, random: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the ridge that the answers call for and the points it led to."""
    judged = sampled(comparisons, MOST_ROWS, random)
    folds = _folds(judged, random)
    if not folds:
        return MIDDLE, start

    def rung(ridge: float, starts: list[np.ndarray]) -> Rung:
        ends, wrong = [], []
        for (train, held_out), points in zip(folds, starts, strict=True):
            with Problem(train, loss, ridge, n_jobs, random) as problem:
                ends.append(SVRG().solve(problem, points, Monitor(RUNG_EPOCHS, RUNG_TOL * ignorance(loss))))
            near, far = squared_distances(ends[-1], held_out.rows)
            wrong.append(~(near < far) * (1.0 if held_out.weights is None else held_out.weights))
        return Rung(ridge, ends, np.concatenate(wrong))

    rungs = [rung(MIDDLE, [start] * len(folds))]
    for ladder in (DOWN, UP):
        last = rungs[0]
        for ridge in ladder:
            last = rung(ridge, last.points)
            rungs.append(last)
    taken = lowest_good(rungs)
    # A ridge is a belief about the points, worth some number of answers: its share falls as answers grow.
    return taken.ridge * (len(judged) / len(comparisons)), taken.points[0]


class Rung(NamedTuple):
    """A ridge, the points it led to in each fold, and the weight of each held-out comparison they got wrong."""

    ridge: float
    points: list[np.ndarray]
    wrong: np.ndarray


def lowest_good(rungs: list[Rung]) -> Rung:
    """Return the smallest ridge whose errors exceed the fewest by no more than half a paired standard error."""
    best = min(rungs, key=lambda rung: rung.wrong.sum())

    def is_good(rung: Rung) -> bool:
        more = rung.wrong - best.wrong
        return more.sum() <= 0.5 * np.sqrt(np.square(more).sum())

    return min(filter(is_good, rungs), key=lambda rung: rung.ridge)


def _folds(comparisons: Comparisons, random: np.random.Generator) -> list[tuple[Comparisons, Comparisons]]:
    """Return training and held-out parts, whole answers in each: five folds of few rows, one of many."""
    if len(comparisons) > FEW_ROWS:
        return [comparisons.split(0.1, random)]
    if comparisons.n_answers < 5:
        return []
    fold = (random.permutation(comparisons.n_answers) % 5)[comparisons.answers]
    return [(comparisons[fold != number], comparisons[fold == number]) for number in range(5)]
