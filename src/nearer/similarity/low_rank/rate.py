"""A step size that suits the data: a ladder of them, each tried from the same start on a first slice of triplets.

The triplets of the slice are new to each run until it has learned from them, so the losses met on the way judge
it; those of the first half, which tell more of the start, are left out. A short slice favours long steps: taken is
the rung below the best one.
"""

from typing import Any

import numpy as np

from nearer.similarity.low_rank.solvers import Learner
from nearer.similarity.triplets import row_products

# In units of one over the mean squared size of a gradient, so that the units of the features do not matter.
LADDER = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SLICE = 5_000  # triplets


def found_rate(learner: Learner, table: Any, draws: Any, bilinear: bool) -> float:
    """Return the step size of the ladder below the one that met the smallest losses.

    Parameters
    ----------
    learner : Learner
        At its start, and left there.
    table : array or csr_array
        Features.
    draws : object
        ``draws.next(n)`` returns triplets and weights.
    bilinear : bool
        Whether gradients are those of a similarity, or of distances.
    """
    triplets, weights = draws.next(SLICE)
    size = _size(table, triplets[:, :3], bilinear)
    if size == 0:
        raise ValueError("the objects that are compared have the same features: nothing can be learned from them")
    unit = 1.0 / size
    met = []
    for rung in LADDER:
        try:
            losses = learner.copy().take(triplets, rung * unit * weights)
            met.append(float(losses[len(losses) // 2 :].mean()))
        except FloatingPointError:
            met.append(np.inf)
    return float(LADDER[max(0, int(np.argmin(met)) - 1)] * unit)


def _size(table: Any, triplets: np.ndarray, bilinear: bool) -> float:
    """Return the mean of ‖q‖²‖z‖², or of the squared size of a gradient of two distances of slope one."""
    a, b, c = (table[part] for part in triplets[:1000].T)
    if bilinear:
        return float(np.mean(squares(a) * squares(b - c)))
    return float(np.mean(squares(a - b) ** 2 + squares(a - c) ** 2))


def squares(part: Any) -> np.ndarray:
    """Return the squared lengths of the rows of a table."""
    return row_products(part, part)
