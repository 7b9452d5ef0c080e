"""How much ridge the answers call for: ``regularization="auto"``.

A ladder of ridges is walked down and up from its middle, each rung warm-started from the last, and the one with
the fewest errors on held-out answers is taken. Few answers make a noisy judge, so all of them take their turn at
being held out (five folds); of many a tenth is enough. The best rung's points are the start of the fit proper.
"""

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from nearer.comparisons import Comparisons
from nearer.embedding.monitor import Monitor
from nearer.embedding.problem import Problem
from nearer.embedding.solvers import SVRG
from nearer.embedding.start import sampled
from nearer.losses import ignorance
from nearer.metrics import triplet_error

MIDDLE, DOWN, UP = 0.01, (0.003, 0.001), (0.03, 0.1)
RUNG_EPOCHS, RUNG_TOL = 50, 1.5e-4
FEW_ROWS = 50_000  # up to here all folds are fitted
MOST_ROWS = 500_000  # a larger set is judged by a sample of its answers


def chosen_ridge(
    comparisons: Comparisons, loss: Any, start: np.ndarray, n_jobs: int, random: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the ridge with the fewest held-out errors and the points it led to."""
    judged = sampled(comparisons, MOST_ROWS, random)
    folds = _folds(judged, random)
    if not folds:
        return MIDDLE, start

    def rung(ridge: float, starts: list[np.ndarray]) -> tuple[float, float, list[np.ndarray]]:
        ends, errors = [], []
        for (train, held_out), points in zip(folds, starts, strict=True):
            with Problem(train, loss, ridge, n_jobs, random) as problem:
                ends.append(SVRG().solve(problem, points, Monitor(RUNG_EPOCHS, RUNG_TOL * ignorance(loss))))
            errors.append(triplet_error(ends[-1], held_out))
        return float(np.mean(errors)), ridge, ends

    middle = rung(MIDDLE, [start] * len(folds))
    rungs = [middle]
    for ladder in (DOWN, UP):
        last = middle
        for ridge in ladder:
            last = rung(ridge, last[2])
            rungs.append(last)
    best = min(rungs, key=lambda tried: tried[0])
    # A ridge is a belief about the points, worth some number of answers: its share falls as answers grow.
    return best[1] * len(judged) / len(comparisons), best[2][0]


def _folds(comparisons: Comparisons, random: np.random.Generator) -> list[tuple[Comparisons, Comparisons]]:
    """Return training and held-out parts, whole answers in each: five folds of few rows, one of many."""
    if len(comparisons) > FEW_ROWS:
        return [comparisons.split(0.1, random)]
    if comparisons.n_answers < 5:
        return []
    folds = KFold(5, shuffle=True, random_state=int(random.integers(2**31))).split(comparisons)
    parts = [(comparisons[train], comparisons[held_out]) for train, held_out in folds]
    return [(train, held_out) for train, held_out in parts if len(train) and len(held_out)]
