"""The convex programs over kernels, written down row by row: the reference that the fast code has to equal."""

import numpy as np


def pairs(row):
    """Near and far pair of a triplet (a, b, c) or a quadruplet (i, j, l, k)."""
    return (row[0], row[1]), (row[0], row[2]) if len(row) == 3 else (row[2], row[3])


def squared(K, i, j):
    return K[i, i] + K[j, j] - 2 * K[i, j]


def objective(loss, rows, weights, ridge, K):
    values = [loss.value(*(squared(K, *pair) for pair in pairs(row))) for row in rows]
    return np.average(values, weights=weights) + ridge * np.trace(K) / len(K)


def gradient(loss, rows, weights, ridge, K):
    """The symmetric matrix of derivatives, ridge included."""
    n, total = len(K), np.zeros_like(K)
    for row, weight in zip(rows, weights, strict=True):
        slopes = loss.slopes(*(squared(K, *pair) for pair in pairs(row)))
        for (i, j), slope in zip(pairs(row), slopes, strict=True):
            apart = np.eye(n)[i] - np.eye(n)[j]
            total += weight * slope * np.outer(apart, apart)
    return total / np.sum(weights) + ridge * np.eye(n) / n


def projection(matrix):
    """The nearest positive semidefinite matrix: negative eigenvalues become zero."""
    values, vectors = np.linalg.eigh(matrix)
    return sum(max(value, 0) * np.outer(vector, vector) for value, vector in zip(values, vectors.T, strict=True))


class Softplus:
    """STE by another name, as a user would write it."""

    convex = True

    def value(self, near, far):
        return np.logaddexp(0, near - far)

    def slopes(self, near, far):
        slope = 1 / (1 + np.exp(far - near))
        return slope, -slope

    def probability(self, near, far):
        return 1 / (1 + np.exp(near - far))
