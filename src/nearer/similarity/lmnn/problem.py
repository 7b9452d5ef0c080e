"""The objective of LMNN and its gradient (Weinberger & Saul, JMLR 2009, equation 13).

    (1 - μ) Σ d(i, j)  +  μ Σ [1 + d(i, j) - d(i, l)]₊,        d(i, j) = |L(x_i - x_j)|²,

the first sum over rows and their targets, the second over those and all rows l of other classes. Both are sums
over pairs, so the gradient is taken at the mapped points, where a pair costs two short vectors, and brought to L
by one product with X. Only hinges that are not zero cost anything beyond a distance. Targets, the nearest rows of the
same class, are chosen before anything is learned.
"""

import warnings
from functools import cached_property

import numpy as np
from sklearn.neighbors import NearestNeighbors

from nearer.jit import bind
from nearer.similarity.lmnn import loops
from nearer.similarity.lmnn.impostors import MEMORY, Impostors


class LargeMargin:
    """The objective of rows, sorted by class and centered, and their targets (-1: none) as a function of the map L."""

    def __init__(
        self, X: np.ndarray, labels: np.ndarray, targets: np.ndarray, push_share: float, memory: int = MEMORY
    ) -> None:
        self.X, self.labels, self.targets = np.ascontiguousarray(X), labels, targets
        self.push_share = push_share  # μ
        lows, highs = np.searchsorted(labels, labels, "left"), np.searchsorted(labels, labels, "right")
        self.impostors = Impostors(self.X, lows, highs, memory)
        self.n_active = 0  # hinges above 0 at the last map
        self._reaches, self._push, self._pull = bind(loops.reaches), bind(loops.push), bind(loops.pull)

    @cached_property
    def target_covariance(self) -> np.ndarray:
        """The mean of (x - x')(x - x')ᵀ over rows and their targets."""
        return target_covariance(self.X, self.targets)

    def value_and_gradient(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient at a map of shape (m, d)."""
        points = np.ascontiguousarray(self.X @ L.T)
        reach, counts = np.empty(self.targets.shape), np.zeros(self.targets.shape)
        slopes = np.zeros_like(points)
        pulled = self._reaches(points, self.targets, reach)
        furthest = reach.max(axis=1)
        pushed = 0.0
        for near in self.impostors.within(L, points, furthest):
            pushed += self._push(points, reach, furthest, near.first, near.starts, near.others, slopes, counts)
        slopes *= self.push_share
        self._pull(points, self.targets, (1.0 - self.push_share) + self.push_share * counts, slopes)
        self.n_active = int(counts.sum())
        return (1.0 - self.push_share) * pulled + self.push_share * pushed, 2.0 * slopes.T @ self.X


def target_covariance(X: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the mean of (x - x')(x - x')ᵀ over rows and their targets; where all are equal, over all pairs."""
    total, count = np.zeros((X.shape[1], X.shape[1])), 0
    for column in targets.T:
        rows = np.flatnonzero(column >= 0)
        differences = X[rows] - X[column[rows]]
        total += differences.T @ differences
        count += len(rows)
    return total / count if total.any() else 2.0 * X.T @ X / len(X)


def target_neighbors(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the row numbers of the k nearest rows of the same class, -1 if there are fewer; rows sorted by class."""
    sizes = np.bincount(labels)
    targets = np.full((len(X), k), -1, dtype=np.intp)
    for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        few = min(k, int(size) - 1)
        if few > 0:
            nearest = NearestNeighbors(n_neighbors=few).fit(X[first : first + size])
            targets[first : first + size, :few] = first + nearest.kneighbors(return_distance=False)
    alone = int((sizes == 1).sum())
    if alone == len(sizes):
        raise ValueError(f"each of the {alone} classes has one member; LMNN pulls members of a class together")
    if alone:
        warnings.warn(
            f"{alone} of {len(sizes)} classes have one member, which has no target but still pushes others away",
            stacklevel=4,
        )
    return targets
