"""Steps along gradients of many columns, as a batch has them, by products of matrices.

The form is that of the loops, Z = A (I + UΩVᵀ) + G Θ Vᵀ. With about as many columns as the rank it is faster to
invert I + UΩVᵀ and ZᵀZ, matrices of k rows, than to update their inverses by as many columns.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

MIN_COLUMNS, SHARE = 4, 0.25  # blocks are faster from so many columns on, and from this share of the rank
LARGEST = 1e10  # of the entries of (I + UΩVᵀ)⁻¹


def is_faster(r: int, k: int) -> bool:
    """Whether a step along r columns is faster by blocks.

    Examples
    --------
    >>> is_faster(1, 10), is_faster(10, 10), is_faster(10, 100)
    (False, True, False)
    """
    return r >= max(MIN_COLUMNS, SHARE * k)


def general_step(A: Any, B: Any, left: Any, right: Any) -> float:
    """Take a step along G₁G₂ᵀ, arrays or sparse arrays; return what the loop of that name does."""
    E, F = _project(A, left), _project(B, right)
    a, b = A.C @ E, B.C @ F
    Q, one = b.T @ a, np.eye(a.shape[1])
    change = _advance(A, a, b, 0.375 * Q - 0.5 * one, one - 0.5 * Q, E, left)
    other = _advance(B, b, a, 0.375 * Q.T - 0.5 * one, one - 0.5 * Q.T, F, right)
    if change is None or other is None:
        return 0.0
    return max(_finish(A, change), _finish(B, other))


def psd_step(Y: Any, P: Any, D: np.ndarray) -> float:
    """Take a step along P D Pᵀ; return what the loop of that name does."""
    E = _project(Y, P)
    H = Y.C @ E
    twice = D @ (H.T @ H) @ D
    change = _advance(Y, H, H, 0.375 * twice - 0.5 * D, D - 0.5 * twice, E, P)
    return 0.0 if change is None else _finish(Y, change)


def _advance(
    factor: Any, U: np.ndarray, V: np.ndarray, omega: np.ndarray, theta: np.ndarray, E: np.ndarray, G: Any
) -> tuple[Any, np.ndarray] | None:
    """Change R, R_inv and C, and return which rows of A change, and G Θ Vᵀ in these.

    None if R would become singular; what was changed is then to be discarded.
    """
    moved, added = np.eye(len(U)) + U @ omega @ V.T, theta @ V.T
    rows, grown = _multiply_rows(G, added)
    try:
        back, gram = np.linalg.inv(moved), np.linalg.inv(factor.C)
        crossed = moved.T @ E @ added
        inverse = np.linalg.inv(moved.T @ gram @ moved + crossed + crossed.T + grown.T @ grown)
    except np.linalg.LinAlgError:
        return None
    if not np.abs(back).max() < LARGEST:
        return None
    factor.C[:] = 0.5 * (inverse + inverse.T)
    factor.R_inv[:] = back @ factor.R_inv
    factor.R[:] = factor.R @ moved
    return rows, grown


def _project(factor: Any, G: Any) -> np.ndarray:
    """Return AᵀG."""
    return factor.R.T @ np.asarray(G.T @ factor.table).T


def _multiply_rows(G: Any, added: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the rows in which G has entries, and its product with a matrix there."""
    if not issparse(G):
        return slice(None), G @ added
    table = csr_array(G)
    rows = np.flatnonzero(np.diff(table.indptr))
    return rows, np.asarray(table[rows] @ added)


def _finish(factor: Any, change: tuple[Any, np.ndarray]) -> float:
    """Change the rows of the table; return the squared condition of R."""
    rows, grown = change
    factor.table[rows] += grown @ factor.R_inv
    return float((np.linalg.norm(factor.R) * np.linalg.norm(factor.R_inv) / len(factor.R)) ** 2)
