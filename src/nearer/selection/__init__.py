"""Choosing settings by held-out data: candidates, folds, warm starts, and a rule that compares pairwise.

And judging the result: the accuracy on held-out answers, with an interval; models beside simple alternatives.
"""

from nearer.selection.compare import Split, compare_on, name_models
from nearer.selection.cross_validation import held_out
from nearer.selection.estimate import HeldOut, LearningCurve
from nearer.selection.folds import (
    DEFAULT_RIDGE,
    FEW_CLASSES,
    FOLD_SHARE,
    answer_folds,
    class_folds,
    sample_of,
    select_ridge,
    subsample,
    thin,
    unseen_class_folds,
)
from nearer.selection.intervals import Ceiling, noise_ceiling
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
    without_averaged,
)

__all__ = [
    "DEFAULT_RIDGE", "FEW_CLASSES", "FOLD_SHARE", "Ceiling", "HeldOut", "LearningCurve", "Selection", "Split",
    "Trial", "answer_folds", "as_good", "best", "class_folds", "clearly_worse", "compare_on", "held_out",
    "name_models", "no_better_twice", "noise_ceiling", "plot", "previous_to_best", "race", "sample_of", "search",
    "select_ridge", "smallest_good", "subsample", "table", "thin", "unseen_class_folds", "without_averaged",
]  # fmt: skip
