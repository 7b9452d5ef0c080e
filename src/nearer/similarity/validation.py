"""How much regularisation the data call for: a ladder of λ, judged by what was held out.

With labels, a fifth of the objects of each class is held out and judged by mean average precision: each as a query
against the others. With comparisons, a fifth of the answers is held out and judged by the share satisfied. Small
data make a noisy judge, so there all fifths take their turn. λ is walked down from large to small, each rung
started from the dual variables of the last; the walk ends when two rungs in a row were no better than the best.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from nearer.comparisons import Comparisons
from nearer.folds import subsample
from nearer.metrics import mean_average_precision
from nearer.progress import progress
from nearer.similarity.sdca import Found, Watch
from nearer.similarity.triplets import Triplets

# In units of the mean squared norm of a triplet's matrix, so that the units of the features do not matter.
LADDER = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
MIDDLE = 1e-4  # where nothing can be judged
FOLDS = 5
FEW = 2_000  # objects, or 50,000 comparisons: up to here every fold takes its turn
MOST_HELD_OUT = 2_000  # objects: each is a query among the others
FEWEST_JUDGED, WORK = 10_000, 2e10  # wide tables are judged by as many triplets as this many entries of M allow
RUNG_EPOCHS, RUNG_TOL = 30, 1e-2  # a rung is judged by ranks, which settle long before the objective

Solve = Callable[..., Found]
Judge = Callable[[np.ndarray], float]


def chosen_regularization(
    table: Any,
    labels: np.ndarray | None,
    given: Comparisons,
    solve: Solve,
    random: np.random.Generator,
    verbose: bool = False,
) -> float:
    """Return the λ that predicts what was held out best.

    Parameters
    ----------
    table : array or csr_array
        Features.
    labels : array or None
        Class labels, where triplets were drawn from them.
    given : Comparisons
        The triplets.
    solve : callable
        ``solve(triplets, regularization, output, watch, start)`` returns what it found.
    random : numpy.random.Generator
        Draws the folds.
    verbose : bool, default=False
        Show a progress bar over the ladder.

    Returns
    -------
    float
    """
    given = subsample(given, _affordable(table), random)
    whole = Triplets(table, given.rows, given.weights)
    unit = float(whole.shares @ whole.squares)
    if unit == 0:
        return 1.0  # every triplet compares an object with two of the same features: nothing can be learned
    folds = list(
        _of_comparisons(table, given, random) if labels is None else _of_objects(table, labels, given, random)
    )
    if not folds:
        return MIDDLE * unit
    starts: list[Any] = [None] * len(folds)
    judged: list[float] = []
    with progress(len(LADDER), "regularizations", verbose) as bar:
        for rung in LADDER:
            goodness = []
            for number, (triplets, judge) in enumerate(folds):
                found = solve(triplets, rung * unit, "last", Watch(RUNG_EPOCHS, RUNG_TOL), starts[number])
                starts[number] = found.alpha
                goodness.append(judge(found.matrix))
            judged.append(float(np.mean(goodness)))
            if bar is not None:
                bar.update(1)
            if len(judged) > 2 and max(judged[-2:]) <= max(judged[:-2]):
                break
    return LADDER[int(np.argmax(judged))] * unit


def _affordable(table: Any) -> int:
    """Return how many triplets to judge by: a step touches every entry of M that its rows reach."""
    n, d = table.shape
    touched = 2.0 * (table.nnz / n) ** 2 if issparse(table) else float(d) ** 2
    return max(FEWEST_JUDGED, int(WORK / max(1.0, touched)))


def _of_objects(
    table: Any, labels: np.ndarray, given: Comparisons, random: np.random.Generator
) -> Iterator[tuple[Triplets, Judge]]:
    """Yield triplets among some objects, and a judge that ranks the others."""
    fold = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        fold[members] = (random.permutation(len(members)) + random.integers(FOLDS)) % FOLDS
    for number in range(FOLDS if len(labels) <= FEW else 1):
        held_out = random.permutation(np.flatnonzero(fold == number))[:MOST_HELD_OUT]
        rows = given.rows[(fold[given.rows] != number).all(axis=1)]
        asked = labels[held_out]
        if len(rows) == 0 or len(np.unique(asked)) in (0, 1, len(asked)):
            continue  # nothing to learn from, or no query with something both like and unlike it
        yield Triplets(table, rows), _ranking(table[held_out], asked)


def _ranking(objects: Any, labels: np.ndarray) -> Judge:
    return lambda matrix: mean_average_precision(np.asarray(objects @ (objects @ matrix).T).T, labels)


def _of_comparisons(
    table: Any, given: Comparisons, random: np.random.Generator
) -> Iterator[tuple[Triplets, Judge]]:
    """Yield some of the comparisons, and a judge that counts how many of the others are satisfied."""
    if given.n_answers < FOLDS:
        return
    fold = (random.permutation(given.n_answers) % FOLDS)[given.answers]
    for number in range(FOLDS if len(given) <= 25 * FEW else 1):
        train, test = given[fold != number], given[fold == number]
        if any(part.weights is not None and not part.weights.any() for part in (train, test)):
            continue
        yield Triplets(table, train.rows, train.weights), _satisfied(Triplets(table, test.rows, test.weights))


def _satisfied(held_out: Triplets) -> Judge:
    return lambda matrix: float(held_out.shares @ (held_out.scores(matrix) > 0.0))
