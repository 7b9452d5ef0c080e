"""How strong the regularization should be: ``regularization="auto"`` of a bilinear similarity.

With labels, a fifth of the objects of each class is held out and judged by mean average precision: each as a query
against the others. With comparisons, some answers are held out and judged by the share satisfied. Candidates go
from large to small, each started from the dual variables of the last. Wide dense tables are compressed first: the time
of a step is proportional to d², and the best λ hardly depends on the axes of little variation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from nearer.comparisons import Comparisons
from nearer.metrics import average_precisions
from nearer.monitor import Monitor
from nearer.selection import (
    FOLD_SHARE,
    Selection,
    answer_folds,
    best,
    class_folds,
    no_better_twice,
    search,
    subsample,
)
from nearer.similarity.problem import Problem
from nearer.similarity.triplets import Triplets

# In units of the mean squared norm of a triplet's matrix, so that the units of the features do not matter.
CANDIDATES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
DEFAULT = 1e-4  # where nothing can be judged
MIN_JUDGED, WORK = 10_000, 2e9  # wide tables are judged by as many triplets as this many entries of M allow
TRIAL_EPOCHS, TRIAL_TOL = 30, 1e-2  # a candidate is judged by ranks, which settle long before the objective


class Fold(NamedTuple):
    """Triplets to learn from, their row numbers among all, and the losses of a matrix per held-out unit."""

    triplets: Triplets
    which: np.ndarray
    losses: Callable[[np.ndarray], np.ndarray]


class Trained(NamedTuple):
    """Dual variables of a fold, and the losses of their matrix, which may be large and is not kept."""

    alpha: np.ndarray
    losses: np.ndarray


def select_regularization(
    problem: Problem, comparisons: Comparisons, labels: np.ndarray | None, solver: Any, monitor: Monitor
) -> tuple[float, np.ndarray | None, Selection]:
    """Return the λ that predicts held-out data best, dual variables to start from, and what was tried."""
    table, random = problem.triplets.compressed.X, problem.random
    numbered = Comparisons(comparisons, extra={"row": np.arange(len(comparisons))})
    part = subsample(numbered, _max_judged(table), random)
    whole = Triplets(problem.triplets.X, part.rows, part.weights)
    unit = float(whole.shares @ whole.squares)
    nothing = Selection([], None)
    if unit == 0:
        return 1.0, None, nothing  # every triplet compares an object with two of equal features
    folds = _folds_of_answers(table, part, random) if labels is None else _folds(table, labels, part, random)
    if not folds:
        return DEFAULT * unit, None, nothing

    def fit(fold: Fold, ridge: float, start: Trained | None, monitor: Monitor) -> Trained:
        trial = Problem(fold.triplets, ridge, problem.psd, random)
        child = monitor.child(TRIAL_EPOCHS, TRIAL_TOL)
        solution = solver.solve(trial, None if start is None else start.alpha, child).solution
        return Trained(solution.alpha, fold.losses(solution.matrix))

    candidates = [candidate * unit for candidate in CANDIDATES]
    rules: dict[str, Any] = {"rule": best, "give_up": no_better_twice}
    selection = search(
        "regularization", candidates, folds, fit, lambda fold, trained: trained.losses, monitor, **rules
    )
    assert selection.chosen is not None  # there are folds
    alpha = np.zeros(len(problem.triplets))
    alpha[folds[0].which] = selection.chosen.solutions[0].alpha
    # λ acts like a fixed number of extra answers, so its share falls as answers grow. Triplets drawn from labels are
    # not independent: more of them say little more about the same objects.
    n_judged = len(part) if len(folds) > 1 else len(folds[0].triplets) / FOLD_SHARE
    share = n_judged / len(comparisons) if labels is None else 1.0
    return selection.chosen.value * share, alpha, selection


def _max_judged(table: Any) -> int:
    """Return how many triplets to judge by: a step touches every entry of M that its rows reach."""
    n, d = table.shape
    touched = 2.0 * (table.nnz / n) ** 2 if issparse(table) else float(d) ** 2
    return max(MIN_JUDGED, int(WORK / max(1.0, touched)))


def _folds(table: Any, labels: np.ndarray, part: Comparisons, random: np.random.Generator) -> list[Fold]:
    """Return triplets among some objects, and the average precision of each of the others among these."""

    def losses(objects: Any, classes: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        precisions = average_precisions(np.asarray(objects @ (objects @ matrix).T).T, classes)
        return 1.0 - precisions[~np.isnan(precisions)]

    folds = []
    for inside, held_out in class_folds(labels, random):
        chosen, classes = inside[part.rows].all(axis=1), labels[held_out]
        if chosen.any() and 1 < len(np.unique(classes)) < len(
            classes
        ):  # some query has objects of its class and others
            judge = partial(losses, table[held_out], classes)
            folds.append(Fold(Triplets(table, part.rows[chosen]), part.extra["row"][chosen], judge))
    return folds


def _folds_of_answers(table: Any, part: Comparisons, random: np.random.Generator) -> list[Fold]:
    """Return some of the comparisons, and the losses on the others: their weights where they are not satisfied."""

    def losses(held_out: Triplets, matrix: np.ndarray) -> np.ndarray:
        return len(held_out) * held_out.shares * ~(held_out.scores(matrix) > 0.0)

    return [
        Fold(
            Triplets(table, train.rows, train.weights),
            train.extra["row"],
            partial(losses, Triplets(table, test.rows, test.weights)),
        )
        for train, test in answer_folds(part, random)
    ]
