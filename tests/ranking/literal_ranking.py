"""Label ranking in plain numpy: every solver, one row after another, as the papers have it."""

import numpy as np
from scipy.sparse import csr_array

from lowrank.literal_loreta import loreta_1

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def below(state, n):
    return ((mixed(state) >> 33) * n) >> 31


def ranking_loss(scores, true):
    """Return what the true labels lack to exceed every false one by a margin of one, summed."""
    highest = max(score for label, score in enumerate(scores) if label not in true)
    return sum(max(0.0, highest + 1 - scores[label]) for label in true)


def all_labels(scores, true, **_):
    """Return the loss of all labels and v of its subgradient v xᵀ, by differences: the loss is piecewise linear."""
    loss, steps = ranking_loss(scores, true), 1e-6 * np.eye(len(scores))
    ahead = np.array([ranking_loss(scores + step, true) - loss for step in steps]) / 1e-6
    behind = np.array([loss - ranking_loss(scores - step, true) for step in steps]) / 1e-6
    if np.abs(ahead - behind).max() > 1e-3:  # labels that score alike: there is more than one subgradient
        return loss, first_of_ties(scores, true)
    return loss, ahead.round()


def first_of_ties(scores, true):
    """Return v of the subgradient in which the first of the highest false labels counts."""
    pairs = [
        (y, min(np.setdiff1d(range(len(scores)), true), key=lambda label: (-scores[label], label))) for y in true
    ]
    unit = np.eye(len(scores))
    return sum((unit[o] - unit[y] for y, o in pairs if scores[o] + 1 > scores[y]), np.zeros(len(scores)))


def printed_labels(scores, true, **_):
    """Return the loss of all labels and minus the column of G as printed: ȳ once, however many labels it violates."""
    loss, v = all_labels(scores, true)
    return loss, np.sign(v)


def warp(scores, true, step, seed, most=1000):
    """Return the weighted loss of a pair that was drawn, and v of its subgradient v xᵀ."""
    L = len(scores)
    state = mixed((seed + step * GOLDEN) & MASK)
    y = true[below(state, len(true))]
    for draws in range(1, min(L - len(true), most) + 1):
        while True:
            state = (state + GOLDEN) & MASK
            other = below(state, L)
            if other not in true:
                break
        if scores[other] - scores[y] + 1 > 0:
            rank = (L - len(true)) // draws
            weight = sum(1 / i for i in range(1, rank + 1)) / sum(1 / i for i in range(1, L - len(true) + 1))
            v = np.zeros(L)
            v[y], v[other] = -weight, weight
            return weight * (scores[other] - scores[y] + 1), v
    return 0.0, np.zeros(L)


LOSSES = {False: all_labels, True: warp, "printed": printed_labels}


def loreta(X, Y, A, B, rate, loss, seed=0):
    losses, A_pinv, B_pinv = [], np.linalg.pinv(A), np.linalg.pinv(B)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        value, v = loss(A @ (B.T @ x), np.flatnonzero(y), step=t, seed=seed)
        losses.append(value)
        if value > 0:
            A, B, A_pinv, B_pinv = loreta_1(A, B, A_pinv, B_pinv, -rate * v, x)
    return A @ B.T, losses


def pa(X, Y, A, B, cap, loss, seed=0):
    A, B, losses = A.copy(), B.copy(), []
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        value, v = loss(A @ (B.T @ x), np.flatnonzero(y), step=t, seed=seed)
        losses.append(value)
        if value > 0 and t % 2 == 0:
            step = min(value / (v @ v * (B.T @ x) @ (B.T @ x)), cap)
            A -= step * np.outer(v, B.T @ x)
        elif value > 0:
            step = min(value / (x @ x * (A.T @ v) @ (A.T @ v)), cap)
            B -= step * np.outer(x, A.T @ v)
    return A @ B.T, losses


def perceptron(X, Y, rate, loss, seed=0):
    W, losses = np.zeros((Y.shape[1], X.shape[1])), []
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        value, v = loss(W @ x, np.flatnonzero(y), step=t, seed=seed)
        W -= rate * np.outer(v, x)
        losses.append(value)
    return W, losses


def group_perceptron(X, Y, rate, loss, seed=0):
    s = max(2.0, np.log(X.shape[1]))
    theta, losses = np.zeros((Y.shape[1], X.shape[1])), []

    def mirrored():
        norms = np.linalg.norm(theta, axis=0)
        whole = (norms**s).sum() ** (1 / s)
        return theta * norms ** (s - 2) * whole ** (2 - s) if whole else theta

    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        value, v = loss(mirrored() @ x, np.flatnonzero(y), step=t, seed=seed)
        theta = theta - rate * np.outer(v, x)
        losses.append(value)
    return mirrored(), losses


def problem(n=300, d=12, L=15, seed=0, sparse=False):
    """Return features and an indicator matrix: labels that depend on the features, with noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    if sparse:
        X[:, 1:] *= random.random((n, d - 1)) < 0.4
    scores = X @ random.normal(size=(d, 4)) @ random.normal(size=(4, L)) + random.normal(size=(n, L))
    Y = (scores > np.sort(scores, axis=1)[:, [-1 - int(random.integers(1, 4))]]).astype(int)
    return X, Y


def untidy(X):
    """Return the table as a csr_array out of order, each entry in two halves, with explicit zeros."""
    indices, data, indptr = [], [], [0]
    for row in X:
        columns, empty = np.flatnonzero(row)[::-1], np.flatnonzero(row == 0)[::2]
        indices += [columns, empty, columns]
        data += [row[columns] / 2, row[empty], row[columns] / 2]
        indptr.append(indptr[-1] + 2 * len(columns) + len(empty))
    table = csr_array((np.concatenate(data), np.concatenate(indices), indptr), shape=X.shape)
    assert not table.has_canonical_format
    return table
