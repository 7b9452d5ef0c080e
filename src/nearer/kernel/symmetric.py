"""A large symmetric matrix that changes by rank-one terms, a few at a time.

Adding a term costs a pass over n² numbers, mostly spent on moving them. So terms wait beside the matrix in a thin
block, where a product sees them, and are added many at once. Only the lower triangle is kept up to date: products
of the BLAS read no more, which halves the traffic.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import blas

WAITING = 64  # terms that wait at most
BLOCK = 128  # columns mirrored at a time


class UpdatedMatrix:
    """A symmetric matrix ``base + factors diag(weights) factorsᵀ``.

    Parameters
    ----------
    base : array of shape (n, n)
        Its lower triangle is read and changed in place when the array is in Fortran order.

    Examples
    --------
    >>> matrix = UpdatedMatrix(np.eye(2))
    >>> matrix.add(np.array([1.0, 1.0]), 0.5)
    >>> matrix.product(np.array([1.0, 0.0]))
    array([1.5, 0.5])
    """

    def __init__(self, base: np.ndarray) -> None:
        self._base = np.asfortranarray(base, dtype=np.float64)
        self._factors = np.empty((len(base), WAITING), order="F")
        self._weights = np.empty(WAITING)
        self._waiting = 0

    def __len__(self) -> int:
        return len(self._base)

    def grow(self, n: int, diagonal: float) -> None:
        """Add rows and columns that are zero but on the diagonal."""
        wider, factors = np.zeros((n, n), order="F"), np.empty((n, WAITING), order="F")
        known = self.settle()
        wider[: len(known), : len(known)] = known
        wider[np.arange(len(known), n), np.arange(len(known), n)] = diagonal
        self._base, self._factors = wider, factors

    def product(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector: one pass over the lower triangle."""
        result = blas.dsymv(1.0, self._base, vector, lower=1)
        if self._waiting:
            factors = self._factors[:, : self._waiting]
            result += factors @ (self._weights[: self._waiting] * (vector @ factors))
        return result

    def combination(self, objects: Sequence[int], numbers: np.ndarray) -> np.ndarray:
        """Return the product with a vector that has these numbers at these places and is zero elsewhere."""
        result = np.zeros(len(self._base))
        for i, number in zip(objects, numbers, strict=True):
            result[i:] += number * self._base[i:, i]
            result[:i] += number * self._base[i, :i]
        if self._waiting:
            factors = self._factors[:, : self._waiting]
            result += factors @ (self._weights[: self._waiting] * (numbers @ factors[objects]))
        return result

    def at(self, objects: list[int]) -> np.ndarray:
        """Return the small matrix of these rows and columns."""
        low, high = np.minimum.outer(objects, objects), np.maximum.outer(objects, objects)
        small = self._base[high, low]
        if self._waiting:
            factors = self._factors[objects, : self._waiting]
            small += (factors * self._weights[: self._waiting]) @ factors.T
        return small

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        factors = self._factors[:, : self._waiting]
        waiting = self._weights[: self._waiting] @ np.einsum("nw,nw->w", factors, factors)
        return float(self._base.trace() + waiting)

    def add(self, vector: np.ndarray, weight: float) -> None:
        """Add ``weight * vector vectorᵀ``."""
        if self._waiting == WAITING:
            self.settle()
        self._factors[:, self._waiting] = vector
        self._weights[self._waiting] = weight
        self._waiting += 1

    def add_at(self, objects: list[int], small: np.ndarray) -> None:
        """Add a small symmetric matrix at these rows and columns."""
        for i, one in enumerate(objects):
            for j, other in enumerate(objects[: i + 1]):
                self._base[max(one, other), min(one, other)] += small[i, j]

    def settle(self) -> np.ndarray:
        """Add what waits; return the base, of which the lower triangle counts."""
        if self._waiting:
            factors = self._factors[:, : self._waiting]
            weighted = factors * self._weights[: self._waiting]
            blas.dsyr2k(0.5, weighted, factors, beta=1.0, c=self._base, lower=1, overwrite_c=1)
            self._waiting = 0
        return self._base

    def full(self) -> np.ndarray:
        """Return a copy with both triangles."""
        return mirrored(self.settle().copy(order="F"))


def mirrored(matrix: np.ndarray) -> np.ndarray:
    """Copy the lower triangle onto the upper one, in place, a few columns at a time.

    Examples
    --------
    >>> mirrored(np.array([[1.0, 9.0], [2.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])
    """
    for start in range(0, len(matrix), BLOCK):
        stop = min(start + BLOCK, len(matrix))
        corner = matrix[start:stop, start:stop]
        upper = np.triu_indices(stop - start, 1)
        corner[upper] = corner.T[upper]
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
    return matrix
