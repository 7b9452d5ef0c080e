"""Choosing settings by held-out data: candidates, folds, warm starts, and a rule that compares pairwise."""

from nearer.selection.folds import (
    DEFAULT_RIDGE,
    FOLD_SHARE,
    answer_folds,
    class_folds,
    select_ridge,
    subsample,
    thin,
)
from nearer.selection.race import race
from nearer.selection.report import plot, table
from nearer.selection.search import (
    Selection,
    Trial,
    as_good,
    best,
    clearly_worse,
    no_better_twice,
    previous_to_best,
    search,
    smallest_good,
)

__all__ = [
    "DEFAULT_RIDGE", "FOLD_SHARE", "Selection", "Trial", "answer_folds", "as_good", "best", "class_folds",
    "clearly_worse", "no_better_twice", "plot", "previous_to_best", "race", "search", "select_ridge",
    "smallest_good", "subsample", "table", "thin",
]  # fmt: skip
