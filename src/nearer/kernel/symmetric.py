"""A large symmetric matrix that changes by rank-one terms, a few at a time.

Adding a term costs a pass over n² numbers, bound by memory traffic. So terms are collected in a thin block, which
products take into account, and added many at once. Only the lower triangle is kept up to date: symmetric products
of the BLAS read no more, which halves the traffic.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import blas

MAX_PENDING = 64  # terms that are added at once
BLOCK = 128  # columns mirrored at a time


class UpdatedMatrix:
    """A symmetric matrix ``base + factors diag(weights) factorsᵀ``; changes a base in Fortran order in place."""

    def __init__(self, base: np.ndarray) -> None:
        self._base = np.asfortranarray(base, dtype=np.float64)
        self._factors = np.empty((len(base), MAX_PENDING), order="F")
        self._weights = np.empty(MAX_PENDING)
        self._n_pending = 0

    def __len__(self) -> int:
        return len(self._base)

    @property
    def _pending(self) -> tuple[np.ndarray, np.ndarray]:
        return self._factors[:, : self._n_pending], self._weights[: self._n_pending]

    def grow(self, n: int, diagonal: float) -> None:
        """Add rows and columns that are zero but for the diagonal."""
        wider, factors = np.zeros((n, n), order="F"), np.empty((n, MAX_PENDING), order="F")
        old = self.flush()
        wider[: len(old), : len(old)] = old
        wider[np.arange(len(old), n), np.arange(len(old), n)] = diagonal
        self._base, self._factors = wider, factors

    def product(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with a vector: one pass over the lower triangle."""
        result = blas.dsymv(1.0, self._base, vector, lower=1)
        if self._n_pending:
            factors, weights = self._pending
            result += factors @ (weights * (vector @ factors))
        return result

    def sparse_product(self, objects: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return the product with a vector that has these values at these objects and zeros elsewhere."""
        result = np.zeros(len(self._base))
        for i, value in zip(objects, values, strict=True):
            result[i:] += value * self._base[i:, i]
            result[:i] += value * self._base[i, :i]
        if self._n_pending:
            factors, weights = self._pending
            result += factors @ (weights * (values @ factors[objects]))
        return result

    def submatrix(self, objects: list[int]) -> np.ndarray:
        """Return the entries of some rows and columns."""
        columns = np.array(objects)
        rows = columns[:, None]
        small = self._base[np.maximum(rows, columns), np.minimum(rows, columns)]
        if self._n_pending:
            factors, weights = self._factors[objects, : self._n_pending], self._weights[: self._n_pending]
            small += (factors * weights) @ factors.T
        return small

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        factors, weights = self._pending
        return float(self._base.trace() + weights @ np.einsum("nw,nw->w", factors, factors))

    def add_rank_one(self, vector: np.ndarray, weight: float) -> None:
        """Add ``weight * vector vectorᵀ``."""
        if self._n_pending == MAX_PENDING:
            self.flush()
        self._factors[:, self._n_pending] = vector
        self._weights[self._n_pending] = weight
        self._n_pending += 1

    def add_submatrix(self, objects: list[int], small: np.ndarray) -> None:
        """Add a small symmetric matrix at some rows and columns."""
        for i, one in enumerate(objects):
            for j, other in enumerate(objects[: i + 1]):
                self._base[max(one, other), min(one, other)] += small[i, j]

    def flush(self) -> np.ndarray:
        """Add the pending terms; return the base, of which only the lower triangle counts."""
        if self._n_pending:
            factors, weights = self._pending
            blas.dsyr2k(0.5, factors * weights, factors, beta=1.0, c=self._base, lower=1, overwrite_c=1)
            self._n_pending = 0
        return self._base

    def to_array(self) -> np.ndarray:
        """Return a copy with both triangles."""
        return mirror_lower(self.flush().copy(order="F"))


def mirror_lower(matrix: np.ndarray) -> np.ndarray:
    """Copy the lower triangle onto the upper one, in place, block by block."""
    for start in range(0, len(matrix), BLOCK):
        stop = min(start + BLOCK, len(matrix))
        corner = matrix[start:stop, start:stop]
        upper = np.triu_indices(stop - start, 1)
        corner[upper] = corner.T[upper]
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
    return matrix
