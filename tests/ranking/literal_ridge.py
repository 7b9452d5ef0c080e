"""The closed form of label scores in plain numpy: one label after another, with no decomposition shared."""

import numpy as np


def standardized(X, center=True):
    """Return the columns with mean 0 and variance 1, those with few entries shrunk."""
    mean = X.mean(axis=0) if center else np.zeros(X.shape[1])
    size = np.sqrt(((X - mean) ** 2).mean(axis=0))
    entries = (X != 0).sum(axis=0)
    return np.divide((X - mean) * np.sqrt(entries / (entries + 10)), size, out=np.zeros(X.shape), where=size > 0)


def scores(X, Y, power, ridge, center=True):
    """Return the scores of the rows of X after one Newton step from popularity, centered per row."""
    Z, n = standardized(X, center), len(X)
    shares = np.maximum(Y.sum(axis=0), 0.5) / n
    columns = []
    for label, share in enumerate(shares):
        y = Y[:, label] - (Y[:, label].mean() if center else 0.0)
        hessian = share**power * Z.T @ Z + ridge * n * shares.mean() ** power * np.eye(Z.shape[1])
        offset = share ** (1 - power) / (1 - power) if center else 0.0
        columns.append(Z @ np.linalg.solve(hessian, Z.T @ y) + offset)
    table = np.array(columns).T
    return table - table.mean(axis=1, keepdims=True)


def gap(scores, Y):
    """Return the mean score of true labels minus that of false ones."""
    return scores[Y == 1].mean() - scores[Y == 0].mean()


def of_rank(scores, rank):
    """Return the best approximation of a table of scores."""
    left, values, right = np.linalg.svd(scores, full_matrices=False)
    return left[:, :rank] * values[:rank] @ right[:rank]
