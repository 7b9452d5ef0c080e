"""How strong a ridge answers call for: ``regularization="auto"`` of maps and kernels.

Few answers make a noisy judge, so the smallest ridge whose held-out errors can hardly be told from the fewest is
taken. What is learned, points or a kernel, is the learner's business.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.monitor import Monitor
from nearer.selection.folds import answer_folds, subsample
from nearer.selection.search import Selection, Trial, search, smallest_good

DEFAULT = 0.01  # where nothing can be judged
MAX_ROWS = 500_000  # a larger set is judged by a sample of its answers

Distances = Callable[[Any, np.ndarray], tuple[np.ndarray, np.ndarray]]


def select_ridge(
    comparisons: Comparisons,
    paths: Sequence[Sequence[float]],
    fit: Callable[[Comparisons, float, Any, Monitor], Any],
    distances: Distances,
    start: Any,
    random: np.random.Generator,
    monitor: Monitor,
    give_up: Callable[[list[Trial]], bool] | None = None,
) -> tuple[float, Any, Selection]:
    """Return the ridge that the answers call for, a solution to start from, and what was tried.

    Parameters
    ----------
    comparisons : Comparisons
        The answers.
    paths : sequence of sequences of float
        Ridges in the order of trying.
    fit : callable
        ``fit(train, ridge, start, monitor)`` returns what is learned from a part of the answers.
    distances : callable
        ``distances(solution, rows)`` returns squared distances of the near and far pairs.
    start : object
        Where the first ridge starts in every fold.
    random : numpy.random.Generator
        Draws the folds.
    monitor : Monitor
        Of the whole fit.
    give_up : callable, optional
        As for :func:`~nearer.selection.search`.
    """
    part = subsample(comparisons, MAX_ROWS, random)
    folds = answer_folds(part, random)
    scale = 1.0 if part.weights is None else float(part.weights.max())
    mean = 1.0 if part.weights is None else float(np.mean(part.weights / scale))

    def judge(fold: tuple[Comparisons, Comparisons], solution: Any) -> np.ndarray:
        held_out = fold[1]
        near, far = distances(solution, held_out.rows)
        return ~(near < far) * (1.0 if held_out.weights is None else held_out.weights / scale / mean)

    def fit_fold(fold: tuple[Comparisons, Comparisons], ridge: float, start: Any, monitor: Monitor) -> Any:
        return fit(fold[0], ridge, start, monitor)

    if not folds:
        return DEFAULT, start, Selection("regularization", [], None)
    selection = search(
        "regularization", paths, folds, fit_fold, judge, monitor, start=start, rule=smallest_good, give_up=give_up
    )
    assert selection.chosen is not None  # there are folds
    # A ridge is a belief about the points, worth some number of answers: its share falls as answers grow.
    return selection.chosen.value * (len(part) / len(comparisons)), selection.chosen.solutions[0], selection
