"""The default similarity of features in plain numpy, term by term: what the fast one must equal."""

import numpy as np


def whitened_rows(X, labels, shrinkage):
    """Rows centered, scaled, and whitened by the shrunken covariance within classes."""
    n, d = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    covariance = np.zeros((d, d))
    for i in range(n):
        same = Z if labels is None else Z[labels == labels[i]]
        off = Z[i] - same.mean(axis=0)
        covariance += np.outer(off, off) / n
    shrunken = (1 - shrinkage) * covariance + shrinkage * np.trace(covariance) / d * np.eye(d)
    values, vectors = np.linalg.eigh(shrunken)
    return Z @ (vectors / np.sqrt(values)) @ vectors.T


def whitened(X, labels, shrinkage):
    """The same, of unit length."""
    rows = whitened_rows(X, labels, shrinkage)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def discriminants(X, labels, shrinkage):
    """Rows whitened as above, before they are of unit length, projected onto the span of the class means."""
    rows = whitened_rows(X, labels, shrinkage)
    means = np.array([rows[labels == label].mean(axis=0) for label in np.unique(labels)])
    means -= rows.mean(axis=0)
    return rows @ np.linalg.pinv(means, rcond=1e-9) @ means


def objective(U, rows, shares, M, regularization):
    """Σ pᵢ (1 - ⟨I + M, Xᵢ⟩)₊² + λ/2 ‖M‖², and its gradient over symmetric matrices."""
    total, gradient = 0.5 * regularization * (M**2).sum(), regularization * M
    for (a, b, c), share in zip(rows, shares, strict=True):
        X = np.outer(U[a], U[b] - U[c])
        missing = max(0.0, 1.0 - ((np.eye(len(M)) + M) * X).sum())
        total += share * missing**2
        gradient = gradient - share * missing * (X + X.T)
    return total, gradient


def cosines(U):
    U = U / np.linalg.norm(U, axis=1, keepdims=True)
    return U @ U.T
