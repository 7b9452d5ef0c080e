"""A step size that suits the data: a ladder of them, each tried from the same start on a first slice of triplets.

The triplets of the slice are new to each run until it has learned from them, so the losses met on the way judge
it; those of the first half, which tell more of the start, are left out. A short slice favours long steps: taken is
the rung below the best one.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from nearer.similarity.low_rank.solvers import Learner

# In units of one over the mean squared size of a gradient, so that the units of the features do not matter.
LADDER = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SLICE = 5_000  # triplets at most


def found_rate(learner: Learner, table: Any, draws: Any, n_steps: int, bilinear: bool) -> float:
    """Return the step size of the ladder that met the smallest losses.

    Parameters
    ----------
    learner : Learner
        At its start, and left there.
    table : array or csr_array
        Features.
    draws : object
        ``draws.next(n)`` returns triplets and weights.
    n_steps : int
        How many the fit will take.
    bilinear : bool
        Whether gradients are those of a similarity, or of distances.
    """
    triplets, weights = draws.next(min(SLICE, n_steps))
    unit = 1.0 / max(_size(table, triplets[:, :3], bilinear), np.finfo(float).tiny)
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
        return float(np.mean(_squares(a) * _squares(b - c)))
    return float(np.mean(_squares(a - b) ** 2 + _squares(a - c) ** 2))


def _squares(part: Any) -> np.ndarray:
    if issparse(part):
        return np.asarray(part.multiply(part).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", part, part)
