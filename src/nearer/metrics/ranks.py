"""Ranks of relevant objects: all that precision, recall and average precision need.

Each query ranks all objects by its scores. Objects of equal score have no order: they enter the ranking together,
as one *group*, and if only the first k ranks count, a group that is cut at rank k counts by its expectation over
all orders. The metrics are sums over the relevant objects of one table, `RelevantRanks`. It is computed for blocks
of queries, so that it needs a few tens of megabytes beside the scores, whatever the number of queries.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.rows import blocks

BLOCK = 1 << 18  # scores ranked together: about 3 MB of temporaries, 23 if every object is relevant

Floats = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]
RelevantOf = Callable[[slice], NDArray[np.bool_]]  # which objects are relevant to a block of queries


class RelevantRanks(NamedTuple):
    """Ranks of the relevant objects of some queries; one entry per relevant object, except in the last array."""

    query: Integers
    before: Integers  # objects that are ranked before its group of equal scores
    through: Integers  # and up to the end of the group
    relevant_before: Integers  # the relevant ones of those
    relevant_through: Integers
    n_relevant: Integers  # of each query

    def chance_within(self, k: int) -> Floats:
        """Return the probability of each relevant object to be among the first k, with ties in random order."""
        return np.clip((k - self.before) / (self.through - self.before), 0.0, 1.0)

    def sum_by_query(self, values: Floats) -> Floats:
        """Return the sum of the values of each query's relevant objects."""
        return np.bincount(self.query, values, minlength=len(self.n_relevant)).astype(np.float64, copy=False)


def rank_relevant(
    scores: NDArray[Any], relevant: NDArray[np.bool_], own: NDArray[np.intp] | None = None
) -> RelevantRanks:
    """Rank the objects of each query by its scores, and return the ranks of the relevant ones.

    Only scores are sorted, not objects with them, which takes a third of the time; the ranks of a relevant object follow
    from its score by bisection. If queries are objects, ``own`` has the number of each, which is not ranked and must
    not be relevant.
    """
    n_queries, n_objects = scores.shape
    ranked = np.sort(scores, axis=1)
    query, columns = np.nonzero(relevant)
    values = scores[query, columns]
    n_relevant = np.bincount(query, minlength=n_queries)
    before, through, relevant_before, relevant_through = np.empty((4, len(query)), dtype=np.intp)
    stops = np.cumsum(n_relevant)
    for row, start, stop in zip(ranked, stops - n_relevant, stops, strict=True):
        part = slice(start, stop)
        values[part].sort()
        before[part] = n_objects - np.searchsorted(row, values[part], side="right")
        through[part] = n_objects - np.searchsorted(row, values[part], side="left")
        relevant_before[part] = stop - start - np.searchsorted(values[part], values[part], side="right")
        relevant_through[part] = stop - start - np.searchsorted(values[part], values[part], side="left")
    if own is not None:
        own_scores = scores[np.arange(n_queries), own][query]
        before -= own_scores > values
        through -= own_scores >= values
    return RelevantRanks(query, before, through, relevant_before, relevant_through, n_relevant)


Metric = Callable[[RelevantRanks, int], Floats]  # of each query, by its first k ranks; NaN if nothing is relevant


def average_precision(ranks: RelevantRanks, k: int) -> Floats:
    """Return the average precision of each query."""
    chance = ranks.chance_within(k)
    entering = chance * (ranks.relevant_through - ranks.relevant_before)
    precision_there = (ranks.relevant_before + entering) / np.minimum(ranks.through, k)
    return ranks.sum_by_query(chance * precision_there) / np.minimum(ranks.n_relevant, k)


def precision(ranks: RelevantRanks, k: int) -> Floats:
    """Return the precision at k of each query."""
    return np.where(ranks.n_relevant > 0, ranks.sum_by_query(ranks.chance_within(k)) / k, np.nan)


def recall(ranks: RelevantRanks, k: int) -> Floats:
    """Return the recall at k of each query."""
    return ranks.sum_by_query(ranks.chance_within(k)) / ranks.n_relevant


def evaluate(
    scores: NDArray[Any],
    relevant_of: RelevantOf,
    metric: Metric,
    k: int,
    *,
    skip_self: bool = False,
    first: int = 0,
    axes: tuple[str, str] = ("query", "object"),
) -> Floats:
    """Return a metric of each query by its first k ranks, NaN if nothing is relevant.

    With `skip_self` the queries are objects, from number `first` on, and are left out of their own rankings.
    """
    n_queries, n_objects = scores.shape
    values = np.empty(n_queries)
    for block in blocks(n_queries, max(1, BLOCK // max(1, n_objects))):
        part, relevant, index = scores[block], relevant_of(block), np.arange(n_queries)[block] + first
        if part.dtype.kind == "f" and np.isnan(part).any():
            row, column = np.argwhere(np.isnan(part))[0]
            raise ValueError(f"the score of {axes[0]} {index[row]} and {axes[1]} {column} is NaN")
        if skip_self:
            relevant[np.arange(len(part)), index] = False
        with np.errstate(invalid="ignore"):  # 0 / 0 if nothing is relevant
            values[block] = metric(rank_relevant(part, relevant, index if skip_self else None), k)
    return values


def largest_columns(scores: Floats, k: int) -> NDArray[np.intp]:
    """Return the columns of the k largest scores of each row, the largest first; of equal ones the leftmost."""
    if scores.shape[1] == k:
        return np.argsort(-scores, axis=1, kind="stable")
    places = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
    least = np.take_along_axis(scores, places, axis=1).min(axis=1)
    # Where more than k are as good as the k-th, the partition took any of them: take those to the left.
    for row in np.flatnonzero((scores >= least[:, None]).sum(axis=1) > k):
        able = np.flatnonzero(scores[row] >= least[row])
        places[row] = able[np.argsort(-scores[row, able], kind="stable")[:k]]
    places.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


def mean_over_queries(
    values: Floats, problem: str = "none of the {n} queries shares its label with an object"
) -> float:
    """Return the mean over the queries for which anything is relevant; `problem` says why there are none."""
    defined = values[~np.isnan(values)]
    if len(defined) == 0:
        raise ValueError(f"nothing is relevant: {problem.format(n=len(values))}")
    return float(defined.mean())


def as_scores(scores: Any) -> NDArray[Any]:
    """Return scores as an array that can be sorted."""
    scores = np.asarray(scores)
    return scores if scores.dtype.kind in "biuf" else scores.astype(np.float64)


def encode_labels(of_queries: NDArray[Any], of_objects: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return labels, numbers or text, as small integers that are equal for equal labels."""
    is_text = {labels.dtype.kind in "UST" for labels in (of_queries, of_objects) if labels.dtype.kind != "O"}
    if len(is_text) > 1:
        raise ValueError(
            f"the labels of queries are {of_queries.dtype} and those of objects {of_objects.dtype}: "
            "no two of them would be equal"
        )
    together = np.concatenate([of_queries, of_objects])
    if (together != together).any():
        raise ValueError("labels must not be NaN")
    _, codes = np.unique(together, return_inverse=True)
    return codes[: len(of_queries)], codes[len(of_queries) :]
