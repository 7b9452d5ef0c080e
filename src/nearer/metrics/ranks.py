"""Where relevant objects stand in the rankings of queries: all that precision, recall and average precision need.

Each query ranks all objects by its scores. Objects of equal score stand in no order, so they enter the ranking
together, as one *group*, and where only the first k places count, a group that the k-th place divides counts by
expectation over all its orders. The measures are sums over the relevant objects of one table, `Standing`. It is
made block by block of queries, so that only a few tens of megabytes are needed beside the scores, whatever the
number of queries.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.rows import blocks

BLOCK = 1 << 18  # scores ranked together: about 12 MB of temporaries, 35 where every object is relevant

Floats = NDArray[np.float64]
Numbers = NDArray[np.integer[Any]]


class Standing(NamedTuple):
    """Where the relevant objects of some queries stand; each array but the last has one entry a relevant object.

    Attributes
    ----------
    query : array of int
        Whose ranking it is in.
    before, through : array of int
        Places up to its group of equal scores, without and with the group.
    relevant_before, relevant_through : array of int
        How many of those places hold relevant objects.
    n_relevant : array of int, shape (n_queries,)
        Relevant objects of each query.
    """

    query: Numbers
    before: Numbers
    through: Numbers
    relevant_before: Numbers
    relevant_through: Numbers
    n_relevant: Numbers

    def share_within(self, k: int) -> Floats:
        """Chance of each relevant object to be among the first k, its group being in random order."""
        return np.clip((k - self.before) / (self.through - self.before), 0.0, 1.0)

    def sums(self, values: Floats) -> Floats:
        """Sum of the values of each query's relevant objects."""
        return np.bincount(self.query, values, minlength=len(self.n_relevant)).astype(np.float64, copy=False)


def standings(scores: NDArray[Any], relevant: NDArray[np.bool_]) -> Standing:
    """Rank the objects of each query by its scores, and say where those that are relevant stand.

    Parameters
    ----------
    scores, relevant : array, shape (n_queries, n_objects)

    Examples
    --------
    >>> found = standings(np.array([[0.9, 0.7, 0.7]]), np.array([[True, False, True]]))
    >>> found.before.tolist(), found.through.tolist()
    ([0, 1], [1, 3])
    >>> found.relevant_before.tolist(), found.relevant_through.tolist()
    ([0, 1], [1, 2])
    """
    n_queries, n_objects = scores.shape
    order = np.argsort(scores, axis=1)[:, ::-1]
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.ones(scores.shape, dtype=bool)  # of its group
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=last[:, :-1])
    # From here on places are counted through all queries, one ranking after the other.
    groups = np.concatenate([[0], np.flatnonzero(last) + 1])
    places = np.flatnonzero(np.take_along_axis(relevant, order, axis=1))
    group = np.searchsorted(groups, places, side="right")
    before, through = groups[group - 1], groups[group]
    relevant_before, relevant_through = np.searchsorted(places, before), np.searchsorted(places, through)
    firsts = n_objects * np.arange(n_queries + 1)
    found = np.searchsorted(places, firsts)
    n_relevant = np.diff(found)
    query = np.repeat(np.arange(n_queries), n_relevant)
    return Standing(
        query,
        before - firsts[query],
        through - firsts[query],
        relevant_before - found[query],
        relevant_through - found[query],
        n_relevant,
    )


Measure = Callable[[Standing, int], Floats]  # of each query, by its first k places; NaN where nothing is relevant


def averaged(standing: Standing, k: int) -> Floats:
    """Return the average precision of each query."""
    share = standing.share_within(k)
    entering = share * (standing.relevant_through - standing.relevant_before)
    precision_there = (standing.relevant_before + entering) / np.minimum(standing.through, k)
    return standing.sums(share * precision_there) / np.minimum(standing.n_relevant, k)


def precision(standing: Standing, k: int) -> Floats:
    """Return the precision at k of each query."""
    return np.where(standing.n_relevant > 0, standing.sums(standing.share_within(k)) / k, np.nan)


def recall(standing: Standing, k: int) -> Floats:
    """Return the recall at k of each query."""
    return standing.sums(standing.share_within(k)) / standing.n_relevant


def measured(
    scores: NDArray[Any], labels: tuple[Numbers, Numbers], measure: Measure, k: int, itself: bool, first: int = 0
) -> Floats:
    """Return a measure of each query by its first k places.

    Parameters
    ----------
    scores : array, shape (n_queries, n_objects)
    labels : pair of arrays of int
        Of the queries and of the objects.
    measure : function
        One of `averaged`, `precision` and `recall`.
    k : int
        Places that count.
    itself : bool
        Whether a query is an object too, and left out of its ranking.
    first : int, default=0
        Then, which object the first query is; the others follow it.

    Returns
    -------
    array, shape (n_queries,)
        NaN where nothing is relevant.
    """
    of_queries, of_objects = labels
    n_queries, n_objects = scores.shape
    found = np.empty(n_queries)
    for block in blocks(n_queries, max(1, BLOCK // max(1, n_objects))):
        part, numbers = scores[block], np.arange(first + block.start, first + block.stop)
        if part.dtype.kind == "f" and np.isnan(part).any():
            row, column = np.argwhere(np.isnan(part))[0]
            raise ValueError(f"the score of query {numbers[row]} and object {column} is NaN")
        relevant = of_queries[block, None] == of_objects
        if itself:
            others = np.arange(n_objects) != numbers[:, None]
            part, relevant = (table[others].reshape(len(part), n_objects - 1) for table in (part, relevant))
        with np.errstate(invalid="ignore"):  # 0 / 0 where nothing is relevant
            found[block] = measure(standings(part, relevant), k)
    return found


def mean(values: Floats) -> float:
    """Return the mean over the queries for which anything is relevant."""
    counted = values[~np.isnan(values)]
    if len(counted) == 0:
        raise ValueError(f"nothing is relevant: none of the {len(values)} queries shares its label with an object")
    return float(counted.mean())


def as_scores(scores: Any) -> NDArray[Any]:
    """Return scores as an array that can be sorted."""
    scores = np.asarray(scores)
    return scores if scores.dtype.kind in "biuf" else scores.astype(np.float64)


def label_numbers(of_queries: NDArray[Any], of_objects: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Return small whole numbers for labels: equal ones for equal labels.

    Parameters
    ----------
    of_queries, of_objects : array
        Numbers or text.

    Examples
    --------
    >>> label_numbers(np.array(["b", "a"]), np.array(["a", "c"]))
    (array([1, 0]), array([0, 2]))
    """
    texts = {labels.dtype.kind in "UST" for labels in (of_queries, of_objects) if labels.dtype.kind != "O"}
    if len(texts) > 1:
        raise ValueError(
            f"the labels of queries are {of_queries.dtype} and those of objects {of_objects.dtype}: "
            "no two of them would be equal"
        )
    together = np.concatenate([of_queries, of_objects])
    if (together != together).any():
        raise ValueError("labels must not be NaN")
    _, numbers = np.unique(together, return_inverse=True)
    return numbers[: len(of_queries)], numbers[len(of_queries) :]
