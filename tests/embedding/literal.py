"""The algorithms of the SVRG-SBB paper, as literally as numpy allows: the references the fast ones must equal."""

import numpy as np


def pairs(row):
    """Near and far pair of a triplet (a, b, c) or a quadruplet (i, j, l, k)."""
    return (row[0], row[1]), (row[0], row[2]) if len(row) == 3 else (row[2], row[3])


def one_gradient(loss, row, X):
    """Gradient of one comparison's loss with respect to all points."""
    (i, j), (l, k) = pairs(row)  # noqa: E741
    near, far = np.sum((X[i] - X[j]) ** 2), np.sum((X[l] - X[k]) ** 2)
    near_slope, far_slope = loss.slopes(near, far)
    gradient = np.zeros_like(X)
    gradient[i] += 2 * near_slope * (X[i] - X[j])
    gradient[j] -= 2 * near_slope * (X[i] - X[j])
    gradient[l] += 2 * far_slope * (X[l] - X[k])
    gradient[k] -= 2 * far_slope * (X[l] - X[k])
    return gradient


def one_value(loss, row, X):
    (i, j), (l, k) = pairs(row)  # noqa: E741
    return loss.value(np.sum((X[i] - X[j]) ** 2), np.sum((X[l] - X[k]) ** 2))


def objective(loss, rows, weights, ridge, X):
    values = [one_value(loss, row, X) for row in rows]
    return np.average(values, weights=weights) + ridge / 2 * np.sum(X**2)


def full_gradient(loss, rows, weights, ridge, X):
    gradients = [one_gradient(loss, row, X) for row in rows]
    return np.average(gradients, axis=0, weights=weights) + ridge * X


def sbb_step(moved, turned, m, epsilon):
    """Formula (8)."""
    square = np.sum(moved**2)
    return square / (abs(np.sum(moved * turned)) + epsilon * square) / m


def svrg_sbb(loss, rows, weights, ridge, X, picks, first_step, epsilon):
    """Algorithm 1. ``picks[s][t]`` are the comparisons of inner step t of epoch s; the last iterate is returned.

    A comparison picked uniformly counts w_p N / sum(w), so that steps are right on average.
    """
    N, m = len(rows), len(picks[0])
    count = weights * N / np.sum(weights)
    step, snapshot, g = first_step, X, full_gradient(loss, rows, weights, ridge, X)
    for s in range(len(picks)):
        X = snapshot
        for t in range(m):
            v = np.zeros_like(X)
            batch = np.atleast_1d(picks[s][t])
            for p in batch:
                v += (
                    count[p]
                    * (one_gradient(loss, rows[p], X) - one_gradient(loss, rows[p], snapshot))
                    / len(batch)
                )
            v += ridge * (X - snapshot)
            X = X - step * (v + g)
        g_new = full_gradient(loss, rows, weights, ridge, X)
        step = sbb_step(X - snapshot, g_new - g, m, epsilon)
        snapshot, g = X, g_new
    return snapshot


def sgd(loss, rows, weights, ridge, X, picks, step, decay):
    count = weights * len(rows) / np.sum(weights)
    for s in range(len(picks)):
        for p in picks[s]:
            X = X - step / (1 + decay * s) * (count[p] * one_gradient(loss, rows[p], X) + ridge * X)
    return X


def toolbox_batch(loss, rows, weights, ridge, X, epochs):
    """The STE toolbox's rule: X - step * n * gradient; step times 1.01 after a decrease, else times 0.5."""
    step, before = 1.0, objective(loss, rows, weights, ridge, X)
    for _ in range(epochs):
        X = X - step * len(X) * full_gradient(loss, rows, weights, ridge, X)
        now = objective(loss, rows, weights, ridge, X)
        step, before = step * (1.01 if now < before else 0.5), now
    return X
