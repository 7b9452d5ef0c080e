"""Parts of the data to learn from and to judge by: whole answers, or objects of every class."""

import numpy as np

from nearer.comparisons import Comparisons

N_FOLDS = 5
FEW_ROWS = 50_000  # up to here every fold is held out once; of more rows one tenth is enough


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
