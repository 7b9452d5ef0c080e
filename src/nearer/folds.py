"""How much ridge the answers call for: a ladder of ridges, judged by held-out answers.

The ladder is walked from one rung to the next, each warm-started from the last, and judged by its errors on
held-out answers. Few answers make a noisy judge, so all of them take their turn at being held out (five folds); of
many a tenth is enough. The lowest rung whose errors can hardly be told from the fewest is taken. What is learned,
points or a kernel, is the learner's business.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nearer.comparisons import Comparisons

MIDDLE = 0.01  # where nothing can be judged
FROM_THE_MIDDLE = ((MIDDLE, 0.003, 0.001, 0.0003), (MIDDLE, 0.03, 0.1))
FEW_ROWS = 50_000  # up to here all folds are fitted
MOST_ROWS = 500_000  # a larger set is judged by a sample of its answers

Learn = Callable[[Comparisons, float, Any], Any]
Distances = Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Rung(NamedTuple):
    """A ridge, what it led to in each fold, and the weight of each held-out comparison that got wrong."""

    ridge: float
    ends: list[Any]
    wrong: np.ndarray


def chosen_ridge(
    comparisons: Comparisons,
    learn: Learn,
    distances: Distances,
    start: Any,
    random: np.random.Generator,
    walks: tuple[tuple[float, ...], ...] = FROM_THE_MIDDLE,
    give_up: bool = False,
) -> tuple[float, Any]:
    """Return the ridge that the answers call for and what it led to in the first fold.

    Parameters
    ----------
    comparisons : Comparisons
        The answers.
    learn : callable
        ``learn(train, ridge, start)`` returns what is learned from a part of the answers.
    distances : callable
        ``distances(learned, rows)`` returns squared distances of the near and far pairs.
    start : object
        Where the first rung starts in every fold.
    random : numpy.random.Generator
        Draws the folds.
    walks : tuple of tuples of float
        Ridges in the order of walking. All walks begin at the same one.
    give_up : bool, default=False
        End a walk at a rung that is clearly worse than another, by two paired standard errors.

    Returns
    -------
    ridge : float
        Fewer than five answers cannot be judged: the ladder's middle.
    learned : object
        A start for the fit proper.
    """
    judged = subsample(comparisons, MOST_ROWS, random)
    folds = _folds(judged, random)
    if not folds:
        return MIDDLE, start

    def rung(ridge: float, starts: list[Any]) -> Rung:
        ends, wrong = [], []
        for (train, held_out), begin in zip(folds, starts, strict=True):
            ends.append(learn(train, ridge, begin))
            near, far = distances(ends[-1], held_out.rows)
            wrong.append(~(near < far) * (1.0 if held_out.weights is None else held_out.weights))
        return Rung(ridge, ends, np.concatenate(wrong))

    rungs = [rung(walks[0][0], [start] * len(folds))]
    for walk in walks:
        last = rungs[0]
        for ridge in walk[1:]:
            last = rung(ridge, last.ends)
            rungs.append(last)
            if give_up and not as_good(last, fewest_errors(rungs), errors=2.0):
                break
    taken = lowest_good(rungs)
    # A ridge is a belief about the points, worth some number of answers: its share falls as answers grow.
    return taken.ridge * (len(judged) / len(comparisons)), taken.ends[0]


def lowest_good(rungs: list[Rung]) -> Rung:
    """Return the smallest ridge whose errors exceed the fewest by no more than half a paired standard error."""
    best = fewest_errors(rungs)
    return min((rung for rung in rungs if as_good(rung, best, errors=0.5)), key=lambda rung: rung.ridge)


def fewest_errors(rungs: list[Rung]) -> Rung:
    """Return the rung that got the least wrong."""
    return min(rungs, key=lambda rung: rung.wrong.sum())


def as_good(rung: Rung, best: Rung, errors: float) -> bool:
    """Whether a rung got no more wrong than the best but for so many paired standard errors."""
    more = rung.wrong - best.wrong
    return bool(more.sum() <= errors * np.sqrt(np.square(more).sum()))


def subsample(comparisons: Comparisons, most_rows: int, random: np.random.Generator) -> Comparisons:
    """Return at most about so many rows, whole answers drawn at random; without a copy of the rest."""
    if len(comparisons) <= most_rows:
        return comparisons
    return comparisons[np.sort(random.choice(len(comparisons), most_rows, replace=False, shuffle=False))]


def _folds(comparisons: Comparisons, random: np.random.Generator) -> list[tuple[Comparisons, Comparisons]]:
    """Return training and held-out parts, whole answers in each: five folds of few rows, one of many."""
    if len(comparisons) > FEW_ROWS:
        return [comparisons.split(0.1, random)]
    if comparisons.n_answers < 5:
        return []
    fold = (random.permutation(comparisons.n_answers) % 5)[comparisons.answers]
    return [(comparisons[fold != number], comparisons[fold == number]) for number in range(5)]
