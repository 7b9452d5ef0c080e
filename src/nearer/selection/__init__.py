"""Choosing settings by held-out data: candidates, folds, warm starts, and a rule that compares pairwise."""

from nearer.selection.folds import FEW_ROWS, answer_folds, class_folds, subsample
from nearer.selection.ridge import select_ridge
from nearer.selection.search import (
    Selection,
    Trial,
    best,
    clearly_worse,
    no_better_twice,
    previous_to_best,
    search,
    smallest_good,
)

__all__ = [
    "FEW_ROWS",
    "Selection",
    "Trial",
    "answer_folds",
    "best",
    "class_folds",
    "clearly_worse",
    "no_better_twice",
    "previous_to_best",
    "search",
    "select_ridge",
    "smallest_good",
    "subsample",
]  # fmt: skip
