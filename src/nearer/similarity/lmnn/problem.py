"""The objective of LMNN and its gradient (Weinberger & Saul, JMLR 2009, equation 13).

    (1 - μ) Σ d(i, j)  +  μ Σ [1 + d(i, j) - d(i, l)]₊,        d(i, j) = |L(x_i - x_j)|²,

the first sum over rows and their targets, the second over those and all rows l of other classes. Both are sums
over pairs, so the gradient is taken at the mapped points, where a pair costs two short vectors, and brought to L
by one product with X. Only hinges that are not zero cost anything beyond a distance.
"""

from functools import cache
from typing import Any

import numpy as np

from nearer.jit import bind
from nearer.similarity.lmnn import loops
from nearer.similarity.lmnn.impostors import MEMORY, Impostors


class LargeMargin:
    """Rows, classes and targets as a function of the map L.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows sorted by class, centred.
    labels : array of shape (n,)
        Class numbers in ascending order.
    targets : array of shape (n, k)
        Row numbers of targets, -1 for none.
    share : float
        μ, the share of the push.
    memory : int, default=MEMORY
        Bytes of candidate pairs to keep.

    Attributes
    ----------
    active : int
        Hinges that were not zero at the last map asked for.
    """

    def __init__(
        self, X: np.ndarray, labels: np.ndarray, targets: np.ndarray, share: float, memory: int = MEMORY
    ) -> None:
        self.X, self.targets, self.share = np.ascontiguousarray(X), targets, share
        lows, highs = np.searchsorted(labels, labels, "left"), np.searchsorted(labels, labels, "right")
        self.impostors = Impostors(self.X, lows, highs, memory)
        self.active = 0

    def value_and_gradient(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient at a map of shape (m, d)."""
        reaches, push, pull = _loops()
        points = np.ascontiguousarray(self.X @ L.T)
        reach, counts = np.empty(self.targets.shape), np.zeros(self.targets.shape)
        slopes = np.zeros_like(points)
        pulled = reaches(points, self.targets, reach)
        furthest = reach.max(axis=1)
        pushed = 0.0
        for found in self.impostors.within(L, points, furthest):
            pushed += push(points, reach, furthest, found.first, found.starts, found.others, slopes, counts)
        slopes *= self.share
        pull(points, self.targets, (1.0 - self.share) + self.share * counts, slopes)
        self.active = int(counts.sum())
        return (1.0 - self.share) * pulled + self.share * pushed, 2.0 * slopes.T @ self.X


@cache
def _loops() -> tuple[Any, Any, Any]:
    return bind(loops.reaches), bind(loops.push), bind(loops.pull)
