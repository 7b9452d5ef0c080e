"""What a step works with: a factor, the columns of a gradient, and room for what is small."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import issparse


class Factor(NamedTuple):
    """A tall matrix A = table · turn of full column rank, as the loops take it.

    Attributes
    ----------
    table : array of shape (n, k)
        Changed row by row.
    turn, unturn : arrays of shape (k, k)
        R, which takes up what changes all rows at once, and its inverse.
    inverse : array of shape (k, k)
        (AᵀA)⁻¹.
    """

    table: np.ndarray
    turn: np.ndarray
    unturn: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, A: np.ndarray) -> Self:
        """Return a factor of a copy of a matrix; ValueError where its columns do not have full rank."""
        k = A.shape[1]
        made = cls(np.array(A, dtype=np.float64, order="C"), np.eye(k), np.eye(k), np.empty((k, k)))
        made.renew()
        return made

    def fold(self) -> None:
        """Multiply the turn into the table, in place, and find the inverse anew."""
        self.table[:] = self.whole
        self.turn[:] = self.unturn[:] = np.eye(len(self.turn))
        self.renew()

    def renew(self) -> None:
        """Find (AᵀA)⁻¹ from the table alone."""
        with np.errstate(all="ignore"):  # what is not a number is told below
            gram = self.table.T @ self.table
            scale = 1.0 / np.sqrt(np.diagonal(gram))
            try:
                found = cho_solve(cho_factor(gram * scale * scale[:, None]), np.eye(len(gram)))
            except (np.linalg.LinAlgError, ValueError):
                found = np.full_like(gram, np.nan)
        if not np.isfinite(found).all():
            raise ValueError(
                f"a factor of shape {self.table.shape} has not the rank {len(gram)}: its columns depend on each "
                "other. A smaller rank or smaller steps help"
            )
        self.inverse[:] = found * scale * scale[:, None]

    @property
    def whole(self) -> np.ndarray:
        """The matrix A itself, a new array."""
        with np.errstate(all="ignore"):  # numbers beyond their range are found by whoever takes steps
            return self.table @ self.turn


class Columns(NamedTuple):
    """The columns of a gradient's factor, each by its entries that are not zero."""

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, G: Any) -> Self:
        """Return the columns of a gradient's factor."""
        if issparse(G):
            return cls(G.data, G.indices.astype(np.int32), G.indptr.astype(np.int64))
        n, r = G.shape
        columns = np.tile(np.arange(n, dtype=np.int32), r)
        return cls(np.ascontiguousarray(G.T).ravel(), columns, np.arange(r + 1, dtype=np.int64) * n)


class Room(NamedTuple):
    """Room for the small matrices of a step of r columns at rank k."""

    E: np.ndarray
    U: np.ndarray
    CV: np.ndarray
    VR: np.ndarray
    TVR: np.ndarray
    OTVR: np.ndarray
    change: np.ndarray
    W: np.ndarray
    B: np.ndarray
    S: np.ndarray
    middle: np.ndarray
    crossed: np.ndarray
    small: np.ndarray
    T: np.ndarray
    omega: np.ndarray
    theta: np.ndarray
    D: np.ndarray
    squares: np.ndarray
    by: np.ndarray
    vector: np.ndarray

    @classmethod
    def of(cls, r: int, k: int) -> Self:
        """Return room for gradients of r columns."""
        wide = [np.empty((r, k)) for _ in range(7)]
        middle = [np.empty((2 * r, 2 * r)) for _ in range(3)]
        small = [np.empty((r, r)) for _ in range(7)]
        return cls._make([*wide, np.empty((2 * r, k)), *middle, *small, np.empty(r), np.empty(k)])
