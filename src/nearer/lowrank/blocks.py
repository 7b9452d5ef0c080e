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


def general_step(A: Any, B: Any, left: Any, right: Any) -> float:
    """Take a step along G₁G₂ᵀ; returns what the loop of that name does.

    Parameters
    ----------
    A, B : Factor
        Changed.
    left, right : arrays or sparse arrays of shape (n, r) and (m, r)
        G₁ and G₂.
    """
    E, F = _seen(A, left), _seen(B, right)
    a, b = A.inverse @ E, B.inverse @ F
    Q, one = b.T @ a, np.eye(a.shape[1])
    change = advanced(A, a, b, 0.375 * Q - 0.5 * one, one - 0.5 * Q, E, left)
    other = advanced(B, b, a, 0.375 * Q.T - 0.5 * one, one - 0.5 * Q.T, F, right)
    if change is None or other is None:
        return 0.0
    _spread(A, change)
    _spread(B, other)
    return max(_condition(A), _condition(B))


def psd_step(Y: Any, P: Any, D: np.ndarray) -> float:
    """Take a step along P D Pᵀ; returns what the loop of that name does."""
    E = _seen(Y, P)
    H = Y.inverse @ E
    twice = D @ (H.T @ H) @ D
    change = advanced(Y, H, H, 0.375 * twice - 0.5 * D, D - 0.5 * twice, E, P)
    if change is None:
        return 0.0
    _spread(Y, change)
    return _condition(Y)


def advanced(
    factor: Any, U: np.ndarray, V: np.ndarray, omega: np.ndarray, theta: np.ndarray, E: np.ndarray, G: Any
) -> tuple[Any, np.ndarray] | None:
    """Change turn, unturn and inverse, and return which rows of A change, and G Θ Vᵀ in these.

    None where the turn would become singular; what was changed is then to be thrown away.
    """
    moved, added = np.eye(len(U)) + U @ omega @ V.T, theta @ V.T
    rows, grown = _rows_of(G, added)
    try:
        back, gram = np.linalg.inv(moved), np.linalg.inv(factor.inverse)
        crossed = moved.T @ E @ added
        inverse = np.linalg.inv(moved.T @ gram @ moved + crossed + crossed.T + grown.T @ grown)
    except np.linalg.LinAlgError:
        return None
    if not np.abs(back).max() < LARGEST:
        return None
    factor.inverse[:] = 0.5 * (inverse + inverse.T)
    factor.unturn[:] = back @ factor.unturn
    factor.turn[:] = factor.turn @ moved
    return rows, grown


def _seen(factor: Any, G: Any) -> np.ndarray:
    """Return AᵀG."""
    return factor.turn.T @ np.asarray(G.T @ factor.table).T


def _rows_of(G: Any, added: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the rows in which G has entries, and there its product with a matrix."""
    if not issparse(G):
        return slice(None), G @ added
    table = csr_array(G)
    there = np.flatnonzero(np.diff(table.indptr))
    return there, np.asarray(table[there] @ added)


def _spread(factor: Any, change: tuple[Any, np.ndarray]) -> None:
    rows, grown = change
    factor.table[rows] += grown @ factor.unturn


def _condition(factor: Any) -> float:
    sizes = np.linalg.norm(factor.turn) * np.linalg.norm(factor.unturn)
    return float((sizes / len(factor.turn)) ** 2)
