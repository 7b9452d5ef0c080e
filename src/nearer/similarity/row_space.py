"""How a table varies: the directions in which it does, and its variation within groups of rows.

Nothing can be learned about directions in which a table does not vary, and their weight is 0.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array


def varying_directions(X: np.ndarray) -> np.ndarray:
    """Return orthonormal columns that span the rows of a centered X; the identity where all directions vary."""
    n, d = X.shape
    spread = np.ptp(X, axis=0)
    columns = np.flatnonzero(spread > 0.0)
    if len(columns) == 0:
        raise ValueError(f"all {n} rows of X are the same: there is nothing to learn")
    # A column in small units is not one that depends on others: the rank is that of columns of equal spread.
    scaled = X[:, columns] / spread[columns]
    wide = len(columns) >= n
    values, vectors = eigh(scaled @ scaled.T if wide else scaled.T @ scaled)
    positive = values > max(n, d) * np.finfo(np.float64).eps * values[-1]
    if positive.sum() == d:
        return np.eye(d)
    spanning = (scaled.T @ vectors[:, positive] if wide else vectors[:, positive]) * spread[columns, None]
    directions = np.zeros((d, spanning.shape[1]))
    directions[columns] = np.linalg.qr(spanning)[0]
    return directions


def group_means(rows: np.ndarray, numbers: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the mean, by weight, of the rows of each group; groups are numbered from 0."""
    shares = np.ones(len(rows)) if weights is None else weights
    sizes = np.bincount(numbers, shares)
    member = csr_array((shares, numbers, np.arange(len(rows) + 1)), (len(rows), len(sizes)))
    return (member.T @ rows) / np.where(sizes > 0.0, sizes, 1.0)[:, None]


def center_groups(rows: np.ndarray, numbers: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return rows minus the mean, by weight, of their group; groups are numbered from 0."""
    return rows - group_means(rows, numbers, weights)[numbers]


def second_moments(rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the mean, by weight, of the products of columns."""
    return rows.T @ rows / len(rows) if weights is None else (rows.T * (weights / weights.sum())) @ rows
