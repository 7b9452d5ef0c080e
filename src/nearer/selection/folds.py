"""Parts of the data to learn from and to judge by: whole answers, or objects of every class."""

import numpy as np

from nearer.comparisons import Comparisons

N_FOLDS = 5
FEW_ROWS = 50_000  # up to here every fold is held out once; of more rows one tenth is enough
FEW_OBJECTS = 2_000  # the same for objects with labels; of more one fifth is held out
MAX_HELD_OUT = 2_000  # objects: each is a query among the others


def answer_folds(comparisons: Comparisons, random: np.random.Generator) -> list[tuple[Comparisons, Comparisons]]:
    """Return training and held-out parts with whole answers in each: five folds of few rows, one of many.

    Fewer than five answers have no folds.
    """
    if len(comparisons) > FEW_ROWS:
        return [comparisons.split(0.1, random)]
    if comparisons.n_answers < N_FOLDS:
        return []
    fold = (random.permutation(comparisons.n_answers) % N_FOLDS)[comparisons.answers]
    return [(comparisons[fold != number], comparisons[fold == number]) for number in range(N_FOLDS)]


def subsample(comparisons: Comparisons, max_rows: int, random: np.random.Generator) -> Comparisons:
    """Return at most about so many rows, whole answers drawn at random; without a copy of the rest."""
    if len(comparisons) <= max_rows:
        return comparisons
    return comparisons[np.sort(random.choice(len(comparisons), max_rows, replace=False, shuffle=False))]


def class_folds(
    labels: np.ndarray, random: np.random.Generator, max_held_out: int = MAX_HELD_OUT
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and held-out objects, a fifth of every class: five folds of few objects, one of many.

    Each fold is a mask of the objects to learn from, and the numbers of at most so many held-out ones.
    """
    fold = np.empty(len(labels), dtype=np.intp)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        fold[members] = (random.permutation(len(members)) + random.integers(N_FOLDS)) % N_FOLDS
    n_folds = N_FOLDS if len(labels) <= FEW_OBJECTS else 1
    return [
        (fold != number, random.permutation(np.flatnonzero(fold == number))[:max_held_out])
        for number in range(n_folds)
    ]
