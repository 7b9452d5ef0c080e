"""What a fit holds out to know when to stop: objects as queries among each other, or answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from nearer.comparisons import Comparisons
from nearer.metrics import mean_average_precision

MOST_HELD_OUT = 1_000  # objects that are ranked against each other at every look

Judge = Callable[[tuple[np.ndarray, ...], str], float]


def held_out_objects(
    table: Any, labels: np.ndarray, share: float, random: np.random.Generator
) -> tuple[np.ndarray, Judge]:
    """Return the numbers of the objects to learn from, and a judge of factors that ranks the others.

    Parameters
    ----------
    table : array or csr_array
        Features.
    labels : array of int
        Class numbers.
    share : float
        Of the objects of each class that are held out; at least two are, where there are four.
    random : numpy.random.Generator
        Draws them.
    """
    out = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        members = random.permutation(np.flatnonzero(labels == label))
        if len(members) >= 4:
            out[members[: max(2, round(share * len(members)))]] = True
    asked = random.permutation(np.flatnonzero(out))[:MOST_HELD_OUT]
    classes, sizes = np.unique(labels[asked], return_counts=True)
    if len(classes) < 2 or not (sizes > 1).any():
        raise ValueError(
            f"early stopping holds out a share of {share:g} of each class of four objects or more; these are "
            f"{len(asked)} objects of {len(classes)} classes, which cannot be ranked: give more objects"
        )
    objects, wanted = table[asked], labels[asked]

    def judge(factors: tuple[np.ndarray, ...], kind: str) -> float:
        asking, found = objects @ factors[0], objects @ factors[-1]
        scores = asking @ found.T if kind == "similarity" else -cdist(asking, found, "sqeuclidean")
        return mean_average_precision(scores, wanted)

    return np.flatnonzero(~out), judge


def held_out_comparisons(
    table: Any, given: Comparisons, share: float, random: np.random.Generator
) -> tuple[Comparisons, Judge]:
    """Return the comparisons to learn from, and a judge of factors by those of the other answers."""
    train, test = given.split(share, random)
    a, b, c = test.rows.T

    def judge(factors: tuple[np.ndarray, ...], kind: str) -> float:
        asking, found = table @ factors[0], table @ factors[-1]
        if kind == "similarity":
            margins = np.einsum("ij,ij->i", asking[a], found[b] - found[c])
        else:
            near, far = asking[a] - found[b], asking[a] - found[c]
            margins = np.einsum("ij,ij->i", far, far) - np.einsum("ij,ij->i", near, near)
        return float(np.average(margins > 0.0, weights=test.weights))

    return train, judge
