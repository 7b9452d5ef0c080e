"""Steps along gradients of many columns, as a batch has them, by products of matrices.

The form is that of the loops, Z = A (I + UΩVᵀ) + G Θ Vᵀ. With about as many columns as the rank, the inverses of
I + UΩVᵀ and of ZᵀZ are better found outright, from matrices of k rows, than by updates of as many columns.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

FEWEST, SHARE = 4, 0.25  # columns from which on it pays, and how many there are beside the rank
LARGEST = 1e10  # of the entries of (I + UΩVᵀ)⁻¹


def pays(r: int, k: int) -> bool:
    """Whether a step along r columns is quicker by blocks.

    Examples
    --------
    >>> pays(1, 10), pays(10, 10), pays(10, 100)
    (False, True, False)
    """
    return r >= max(FEWEST, SHARE * k)


def general_step(A: Any, B: Any, left: Any, right: Any, squares: np.ndarray) -> float:
    """Take a step along G₁G₂ᵀ; returns what the loop of that name does.

    Parameters
    ----------
    A, B : Factor
        Changed.
    left, right : arrays or sparse arrays of shape (n, r) and (m, r)
        G₁ and G₂.
    squares : array of shape (2, r, r)
        G₁ᵀG₁ and G₂ᵀG₂.
    """
    E, F = _seen(A, left), _seen(B, right)
    a, b = A.inverse @ E, B.inverse @ F
    Q, one = b.T @ a, np.eye(a.shape[1])
    change = advanced(A, a, b, 0.375 * Q - 0.5 * one, one - 0.5 * Q, E, squares[0])
    other = advanced(B, b, a, 0.375 * Q.T - 0.5 * one, one - 0.5 * Q.T, F, squares[1])
    if change is None or other is None:
        return 0.0
    _spread(A.table, left, change)
    _spread(B.table, right, other)
    return max(_bound(A), _bound(B))


def psd_step(Y: Any, P: Any, D: np.ndarray, squares: np.ndarray) -> float:
    """Take a step along P D Pᵀ; returns what the loop of that name does."""
    E = _seen(Y, P)
    H = Y.inverse @ E
    twice = D @ (H.T @ H) @ D
    change = advanced(Y, H, H, 0.375 * twice - 0.5 * D, D - 0.5 * twice, E, squares)
    if change is None:
        return 0.0
    _spread(Y.table, P, change)
    return _bound(Y)


def advanced(
    factor: Any,
    U: np.ndarray,
    V: np.ndarray,
    omega: np.ndarray,
    theta: np.ndarray,
    E: np.ndarray,
    squares: np.ndarray,
) -> np.ndarray | None:
    """Change turn, unturn and inverse, and return by what the rows of the table change, times those of G.

    None where the turn would become singular; what was changed is then to be thrown away.
    """
    moved, added = np.eye(len(U)) + U @ omega @ V.T, theta @ V.T
    try:
        back, gram = np.linalg.inv(moved), np.linalg.inv(factor.inverse)
        crossed = moved.T @ E @ added
        gram = moved.T @ gram @ moved + crossed + crossed.T + added.T @ squares @ added
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        return None
    if not np.abs(back).max() < LARGEST:
        return None
    factor.inverse[:] = 0.5 * (inverse + inverse.T)
    factor.unturn[:] = back @ factor.unturn
    factor.turn[:] = factor.turn @ moved
    return np.asarray(added @ factor.unturn)


def _seen(factor: Any, G: Any) -> np.ndarray:
    """Return AᵀG."""
    return factor.turn.T @ np.asarray(G.T @ factor.table).T


def _spread(table: np.ndarray, G: Any, change: np.ndarray) -> None:
    if not issparse(G):
        table += G @ change
        return
    rows = csr_array(G)
    there = np.flatnonzero(np.diff(rows.indptr))
    table[there] += rows[there] @ change


def _bound(factor: Any) -> float:
    sizes = np.linalg.norm(factor.turn) * np.linalg.norm(factor.unturn)
    return float((sizes / len(factor.turn)) ** 2)
