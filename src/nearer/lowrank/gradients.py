"""Steps along gradients of any number of columns, by products of matrices: Algorithms 3 and 5 of the paper.

The form is that of :mod:`nearer.lowrank.loops`, Z = A (I + UΩVᵀ) + G Θ Vᵀ, but columns are columns here. C follows
by an update of rank 2r, or by an inverse of k rows where that is cheaper.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, issparse

from nearer.lowrank.arrays import Factor, Rows

LARGEST = 1e10  # of the entries of (I + VᵀUΩ)⁻¹: beyond it, R is singular to rounding
DENSE_ENTRIES = 1 << 15  # up to here the rows of a sparse gradient are faster as an array


def as_gradient(G: Any, n: int) -> Any:
    """Return a gradient's factor as an array of shape (n, r), or a csc_array of it in canonical format."""
    if issparse(G):
        G = csc_array(G, dtype=np.float64, copy=not getattr(G, "has_canonical_format", False))
        G.sum_duplicates()
    else:
        G = np.asarray(G, dtype=np.float64)
        G = G[:, None] if G.ndim == 1 else G
    if G.ndim != 2 or G.shape[0] != n:
        raise ValueError(f"a gradient must have {n} rows; got shape {G.shape}")
    if not np.isfinite(G.data if issparse(G) else G).all():
        raise ValueError("a gradient must hold finite numbers")
    return G


def columns_of(G: Any) -> Rows:
    """Return the columns of a gradient's factor, as loops take them."""
    return Rows.of(G.T if issparse(G) else np.ascontiguousarray(G.T))


def project(factor: Factor, G: Any) -> tuple[Any, Any, np.ndarray]:
    """Return the rows in which G has entries, G in these rows, and E = AᵀG."""
    rows: Any = slice(None)
    if issparse(G):
        rows, places = np.unique(G.indices, return_inverse=True)
        G = csc_array((G.data, places, G.indptr), shape=(len(rows), G.shape[1]))
        if len(rows) * G.shape[1] <= DENSE_ENTRIES:
            G = G.toarray()
    return rows, G, factor.R.T @ np.asarray(G.T @ factor.table[rows]).T


class FactorStep(NamedTuple):
    """The step of one factor in the module's form; G are the rows of the gradient that have entries, and E = AᵀG."""

    factor: Factor
    rows: Any
    G: Any
    E: np.ndarray
    U: np.ndarray
    V: np.ndarray
    omega: np.ndarray
    theta: np.ndarray

    def update(self) -> tuple[np.ndarray, ...] | None:
        """Return what is to be added to the rows of the table, R and R_inv, and the new C; None if R is singular."""
        (_, R, R_inv, C, _), _, G, E, U, V, omega, theta = self
        r, k = E.shape[1], len(C)
        inner, added = omega @ V.T, theta @ V.T
        try:
            T = np.linalg.inv(np.eye(r) + V.T @ (U @ omega))
            if not np.abs(T).max() < LARGEST:
                return None
            of_inverse = -(U @ (omega @ T @ (V.T @ R_inv)))
            if 2 * r < k:  # ZᵀZ = AᵀA + P S Pᵀ
                P, S, both = np.concatenate([E, V], axis=1), np.zeros((2 * r, 2 * r)), omega + theta
                W = C @ P
                B = P.T @ W
                K, squares = B[:r, :r], (G.T @ G).toarray() if issparse(G) else G.T @ G
                S[:r, r:], S[r:, :r] = both, both.T
                S[r:, r:] = both.T @ K @ both + theta.T @ (squares - K) @ theta
                C = C - W @ np.linalg.solve(np.eye(2 * r) + S @ B, S @ W.T)
                change = G @ (added @ R_inv + added @ of_inverse)
            else:
                moved, grown = np.eye(k) + U @ inner, G @ added
                crossed = moved.T @ E @ added
                C = np.linalg.inv(moved.T @ np.linalg.inv(C) @ moved + crossed + crossed.T + grown.T @ grown)
                C = 0.5 * (C + C.T)
                change = grown @ (R_inv + of_inverse)
        except np.linalg.LinAlgError:
            return None
        return change, R @ U @ inner, of_inverse, C

    def apply(self, change: np.ndarray, of_R: np.ndarray, of_inverse: np.ndarray, C: np.ndarray) -> None:
        """Change the factor in place."""
        factor = self.factor
        factor.table[self.rows] += change
        factor.R[:] += of_R
        factor.R_inv[:] += of_inverse
        factor.C[:] = C

    def dense(self) -> np.ndarray:
        """Return the whole factor after the step."""
        A = self.factor.matrix
        Z = A + A @ self.U @ (self.omega @ self.V.T)
        Z[self.rows] += self.G @ (self.theta @ self.V.T)
        return Z
