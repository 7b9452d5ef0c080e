"""What a cosine of low rank starts from: whitened features or the features as they are, and their rank.

Candidates are the leading directions of the features, whitened with a shrinkage (:mod:`nearer.similarity.prior`), the
leading directions of the rows as they are, and all of these: the plain cosine. They are judged by held-out objects or
classes, before anything is learned from triplets. What is not clearly better than the plain cosine is not taken.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from nearer.monitor import Monitor
from nearer.selection import Trial, best
from nearer.similarity.prior import DEFAULT_SHRINKAGE, SHRINKAGES, Whitening
from nearer.similarity.triplets import WIDE
from nearer.similarity.validation import Fold, clearly_better, judges_classes, make_folds

RANKS = (30, 60, 120, 240)  # that "auto" tries, the first of them with every shrinkage
FEW_DIRECTIONS = 10  # "auto" tries these, or as many as span the means of the classes where these are more
SEARCH_SHARE = 0.3  # of the time limit, for the search
WIDE_FOLDS = 3  # folds of wide tables, where whitening takes long


class Start(NamedTuple):
    """Whitened features, or (None) the features as they are, and how many of their leading directions."""

    shrinkage: float | None
    rank: int


class FoldStarts:
    """The starts that the objects of a fold lead to."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.whitening = Whitening(fold.table, fold.labels)
        self._points: dict[float | None, np.ndarray] = {}

    def losses(self, start: Start) -> np.ndarray:
        """Return the losses of the held-out objects."""
        return self.fold.losses_of(normalize(self.points(start)))

    def points(self, start: Start) -> Any:
        """Return the held-out objects as a start compares them."""
        shrinkage, rank = start
        table, held_out = self.fold.table, self.fold.held_out
        if shrinkage is None and rank == table.shape[1]:
            return held_out
        if shrinkage is None:
            return held_out @ leading_directions(normalize(table), rank)
        if shrinkage not in self._points:
            mean, weights = self.whitening.map(shrinkage)
            weights = weights @ leading_axes(table @ weights if mean is None else (table - mean) @ weights)
            self._points[shrinkage] = np.asarray(
                held_out @ weights if mean is None else (held_out - mean) @ weights
            )
        return self._points[shrinkage][:, :rank]


def candidate_ranks(
    table: Any, labels: np.ndarray, rank: int | None, plain: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return ranks to try with whitened features, and with the features as they are; only ``rank``, if one is given.

    With ``plain``, the plain cosine of more features than the largest of `RANKS` is among the latter.
    """
    d, largest = table.shape[1], max(RANKS)
    if rank is not None:
        return (rank,), (rank,) if rank == d or not issparse(
            table
        ) else ()  # of sparse rows, a shrinkage of 1 is that
    first = min(RANKS[0], d)
    others = sorted({max(FEW_DIRECTIONS, len(np.unique(labels)) - 1), *RANKS, d} - {first})
    ranks = (first, *(other for other in others if other <= min(d, largest)))
    if plain or d <= largest:
        return ranks, (d,)
    return ranks, () if issparse(table) else (first,)


def choose_start(
    table: Any,
    labels: np.ndarray,
    ranks: Sequence[int],
    raw_ranks: Sequence[int],
    validation: str,
    random: np.random.Generator,
    monitor: Monitor,
) -> Start:
    """Return the start that is best for held-out data; the plain cosine where it is tried and nothing is clearly better.

    ``raw_ranks`` are tried with the features as they are. Of ``ranks`` the first is tried with every shrinkage, and the
    others with the best.
    """
    d = table.shape[1]
    first = [Start(None, rank) for rank in raw_ranks]
    first += [Start(shrinkage, ranks[0]) for shrinkage in SHRINKAGES if shrinkage is not None]
    folds = make_folds(table, labels, None, random, validation=validation)
    if not folds:
        return Start(DEFAULT_SHRINKAGE, ranks[0])
    by_classes = judges_classes(labels, validation)
    starts = [FoldStarts(fold) for fold in (folds if d < WIDE else folds[:WIDE_FOLDS])]
    classes = np.concatenate([fold.fold.query_classes for fold in starts]) if by_classes else None
    trials: list[Trial] = []
    with monitor.limited(SEARCH_SHARE), monitor.stage("choosing shrinkage", until=0.1) as report:

        def go_on(start: Start) -> bool:
            losses = np.concatenate([fold.losses(start) for fold in starts])
            trials.append(Trial(start._asdict(), losses, [None] * len(starts)))
            done = len(trials) / (len(first) + len(ranks) - 1)
            return report(done, error=trials[-1].error, **trials[-1].settings)

        if all(go_on(start) for start in first):
            whitened = [trial for trial in trials if trial.settings["shrinkage"] is not None]
            shrinkage = best(whitened).settings["shrinkage"]
            _ = all(go_on(Start(shrinkage, rank)) for rank in ranks[1:])
    least = best(trials)
    for trial in trials:
        if trial.settings == {"shrinkage": None, "rank": d} and not clearly_better(
            least.losses, trial.losses, classes
        ):
            least = trial
    return Start(**least.settings)


def leading_axes(rows: np.ndarray) -> np.ndarray:
    """Return the axes of rows, in falling order of their squares."""
    return np.linalg.eigh(rows.T @ rows)[1][:, ::-1]


def leading_directions(rows: Any, rank: int) -> np.ndarray:
    """Return the leading right singular vectors of rows, as columns."""
    return np.asarray(randomized_svd(rows, min(rank, *rows.shape), random_state=0)[2].T)
