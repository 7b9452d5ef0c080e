"""What early stopping holds out: objects that are queries among each other, or answers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from nearer.comparisons import Comparisons
from nearer.metrics import average_precisions
from nearer.monitor import Judge
from nearer.similarity.low_rank.model import FactorModel
from nearer.similarity.neighbors import METRICS

MAX_HELD_OUT = 1_000  # objects that are ranked against each other at every record


@dataclass(frozen=True)
class HeldOut:
    """Objects that are ranked against each other, by number, and which of them are queries."""

    objects: np.ndarray
    is_query: np.ndarray

    def judge(self, rows: Any, labels: np.ndarray, metric: str, normalizes: bool) -> Judge:
        """Return a judge of models by these objects, whose rows of the table are given, with the labels of all."""
        classes, compare = labels[self.objects], METRICS[metric]

        def judge(model: Any) -> tuple[tuple[float, ...], dict[str, float]]:
            queries, items = _vectors(rows, model, normalizes)
            scores = compare.sign * compare.table(queries, items)
            return _score(float(np.nanmean(average_precisions(scores, classes)[self.is_query])))

        return judge


def hold_out_objects(
    table: Any,
    labels: np.ndarray,
    fraction: float,
    metric: str,
    random: np.random.Generator,
    normalizes: bool = False,
    by_classes: bool = False,
) -> tuple[np.ndarray, Judge]:
    """Return the rows of the objects to learn from, and a judge of models that ranks the others."""
    learned_from, held_out = split_objects(labels, fraction, random, by_classes)
    return learned_from, held_out.judge(table[held_out.objects], labels, metric, normalizes)


def split_objects(
    labels: np.ndarray, fraction: float, random: np.random.Generator, by_classes: bool = False
) -> tuple[np.ndarray, HeldOut]:
    """Return the numbers of the objects to learn from, and those held out, in order.

    A fraction of the objects of each class is held out, or a third of the classes with several objects. Of three to
    five classes that is one, which is looked for among held-out objects of the others.
    """
    out = np.zeros(len(labels), dtype=bool)
    known, sizes = np.unique(labels, return_counts=True)
    several = known[sizes > 1]
    new = (
        random.permutation(several)[: max(1, len(several) // 3)]
        if by_classes and len(several) > 2
        else several[:0]
    )
    out = np.isin(labels, new)
    if len(new) < 2:
        for label in np.setdiff1d(known, new):
            members = random.permutation(np.flatnonzero(labels == label))
            if len(members) >= 4:
                out[members[: max(2, round(fraction * len(members)))]] = True
    held_out = np.sort(random.permutation(np.flatnonzero(out))[:MAX_HELD_OUT])
    classes, sizes = np.unique(labels[held_out], return_counts=True)
    if len(classes) < 2 or not (sizes > 1).any():
        raise ValueError(
            f"early stopping holds out a fraction of {fraction:g} of each class of four objects or more; these are "
            f"{len(held_out)} objects of {len(classes)} classes, which cannot be ranked: give more objects"
        )
    is_query = np.isin(labels[held_out], new) if len(new) else np.ones(len(held_out), dtype=bool)
    return np.flatnonzero(~out), HeldOut(held_out, is_query)


def hold_out_comparisons(
    table: Any,
    comparisons: Comparisons,
    fraction: float,
    metric: str,
    random: np.random.Generator,
    normalizes: bool = False,
) -> tuple[Comparisons, Judge]:
    """Return the comparisons to learn from, and a judge of models by those of the other answers."""
    train, test = comparisons.split(fraction, random)
    a, b, c = test.rows.T

    def judge(model: FactorModel) -> tuple[tuple[float, ...], dict[str, float]]:
        queries, items = _vectors(table, model, normalizes)
        margins = METRICS[metric].margins(queries[a], items[b], items[c])
        return _score(float(np.average(margins > 0.0, weights=test.weights)))

    return train, judge


def _vectors(table: Any, model: FactorModel, normalizes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return queries and items as they are compared."""
    both = table @ model.factors[0], table @ model.factors[-1]
    return (normalize(both[0]), normalize(both[1])) if normalizes else both


def _score(score: float) -> tuple[tuple[float, ...], dict[str, float]]:
    return (-score,), {"held_out_score": score}
