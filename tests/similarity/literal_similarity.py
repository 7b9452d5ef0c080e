"""The algorithms of the similarities as their papers print them, in plain numpy: what the fast ones must equal."""

import numpy as np
from scipy.sparse import csr_array


def problem(d, n=40, n_objects=15, seed=0, sparse=False):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_objects, d)) / np.sqrt(d)
    if sparse:
        X[random.random(X.shape) < 0.7] = 0.0
    rows = np.array([random.choice(n_objects, 3, replace=False) for _ in range(n)], dtype=np.int32)
    return X, rows


def tables(X):
    return {"dense": X, "sparse": csr_array(X)}


def parts(X, row):
    """x and x⁺ - x⁻ of a triplet."""
    a, b, c = row
    return X[a], X[b] - X[c]


def sdca(X, rows, regularization, picks, shares=None):
    """Algorithm 1: the iterates Mᵗ and αᵗ, t = 0, 1, …, as lists; the weighted form has shares in place of 1/n."""
    n, d = len(rows), X.shape[1]
    shares = np.full(n, 1 / n) if shares is None else shares
    alpha, M = np.zeros(n), np.zeros((d, d))
    alphas, Ms = [alpha.copy()], [M.copy()]
    for i in picks:
        x, z = parts(X, rows[i])
        square = (x @ x) * (z @ z)
        gain = (1 - x @ M @ z - alpha[i] / 2) / (1 / 2 + shares[i] * square / regularization)
        step = max(gain, -alpha[i])
        alpha[i] += step
        M = M + shares[i] / regularization * step * np.outer(x, z)
        alphas.append(alpha.copy())
        Ms.append(M)
    return Ms, alphas


def scores(X, rows, M):
    return np.array([parts(X, row)[0] @ M @ parts(X, row)[1] for row in rows])


def primal(X, rows, M, regularization, shares=None):
    """P(M) of (4)."""
    loss = np.maximum(0, 1 - scores(X, rows, M)) ** 2
    return np.average(loss, weights=shares) + regularization / 2 * (M**2).sum()


def dual(X, rows, alpha, regularization, shares=None):
    """D(α) of (5), with ℓ*(-αX) = -α + α²/4."""
    M = matrix(X, rows, alpha, regularization, shares)
    return np.average(alpha - alpha**2 / 4, weights=shares) - regularization / 2 * (M**2).sum()


def matrix(X, rows, alpha, regularization, shares=None):
    """M(α) of (7)."""
    shares = np.full(len(rows), 1 / len(rows)) if shares is None else shares
    total = np.zeros((X.shape[1], X.shape[1]))
    for share, value, row in zip(shares, alpha, rows, strict=True):
        x, z = parts(X, row)
        total += share * value * np.outer(x, z)
    return total / regularization


def positive_part(M):
    """The nearest positive semidefinite matrix to a symmetric one."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def oasis(X, rows, W, caps, symmetric=False):
    """OASIS: a passive-aggressive step for each triplet, in order."""
    W = W.copy()
    for cap, row in zip(caps, rows, strict=True):
        x, z = parts(X, row)
        V = np.outer(x, z)
        if symmetric:
            V = (V + V.T) / 2
        loss = max(0, 1 - (W * V).sum())
        if loss > 0 and (V**2).sum() > 0:
            W = W + min(cap, loss / (V**2).sum()) * V
    return W


def itml(X, pairs, signs, gamma, close, far, passes):
    """Cyclic Bregman projections with slack (Davis et al. 2007, Algorithm 1)."""
    A = np.eye(X.shape[1])
    multipliers = np.zeros(len(pairs))
    targets = np.where(signs > 0, close, far).astype(float)
    for _ in range(passes):
        for t, (i, j) in enumerate(pairs):
            z, delta = X[i] - X[j], signs[t]
            p = z @ A @ z
            if p == 0:
                continue
            alpha = min(multipliers[t], delta * gamma / (gamma + 1) * (1 / p - 1 / targets[t]))
            beta = delta * alpha / (1 - delta * alpha * p)
            targets[t] = gamma * targets[t] / (gamma + delta * alpha * targets[t])
            multipliers[t] -= alpha
            A = A + beta * np.outer(A @ z, A @ z)
    return A, multipliers, targets


def lego_step(A, z, wanted, rate):
    """One step of LEGO, and the distance that it reaches."""
    y_hat = z @ A @ z
    half = rate * wanted * y_hat - 1
    reached = (half + np.sqrt(half**2 + 4 * rate * y_hat**2)) / (2 * rate * y_hat)
    change = rate * (reached - wanted)
    return A - change * np.outer(A @ z, A @ z) / (1 + change * y_hat), reached


def cocoa_shard(X, rows, shares, regularization, M, alpha, part, picks, sigma):
    """Local steps of CoCoA+ on the triplets of a part, from a common M = M(α): their dual variables, and ΔM.

    Dual variables that momentum made negative begin at 0, and the difference is a part of ΔM.
    """
    local, change = np.maximum(alpha[part], 0), np.zeros_like(M)
    for i, value, before in zip(part, local, alpha[part], strict=True):
        x, z = parts(X, rows[i])
        change += shares[i] / regularization * (value - before) * np.outer(x, z)
    for k in picks:
        i = part[k]
        x, z = parts(X, rows[i])
        gain = 1 - x @ (M + sigma * change) @ z - local[k] / 2
        step = max(gain / (1 / 2 + sigma * shares[i] * (x @ x) * (z @ z) / regularization), -local[k])
        local[k] += step
        change += shares[i] / regularization * step * np.outer(x, z)
    return local, change
