"""The solvers of a low-rank similarity in plain numpy, on dense matrices: what the compiled loops must equal.

Each takes a dense table X, rows (a, b, c, …), a step size a row and the factors to start from, and returns the
factors at the end and the loss that each triplet met. Where a row has more than one candidate for its third, the
one that is most like a is taken.
"""

import numpy as np

from lowrank.literal_loreta import loreta_1, loreta_1_psd, projected, retracted_psd


def chosen(X, row, likeness):
    """Return the features of a, b, and that candidate for c that is most like a."""
    a, b, *candidates = row
    c = candidates[np.argmax([likeness(X[a], X[candidate]) for candidate in candidates])]
    return X[a], X[b], X[c]


def hinge(W, X, row):
    """Return q, z = p₊ - p₋ and the loss [1 - qᵀWz]₊."""
    q, near, far = chosen(X, row, lambda x, y: x @ W @ y)
    return q, near - far, max(0.0, 1.0 - q @ W @ (near - far))


def directions(Y, X, row):
    """Return a - b and a - c, c the candidate nearest to a, and their squared lengths after the projection."""
    a, b, c = chosen(X, row, lambda x, y: -np.sum((Y.T @ (x - y)) ** 2))
    return a - b, a - c, np.sum((Y.T @ (a - b)) ** 2), np.sum((Y.T @ (a - c)) ** 2)


def within_reach(step, *terms):
    """Shorten a step such that the sizes of M = A†ξB†ᵀ, ξ a sum of terms, add up to one at most.

    Given are the terms of M for a step of one; the size of one is its largest eigenvalue, which may be complex.
    """
    size = sum(np.abs(np.linalg.eigvals(term)).max() for term in terms)
    return step if step * size <= 1 else 1 / size


def loreta(X, rows, steps, A, B):
    """Algorithm 4, W = ABᵀ."""
    A_pinv, B_pinv, losses = np.linalg.pinv(A), np.linalg.pinv(B), []
    for row, step in zip(rows, steps, strict=True):
        q, z, loss = hinge(A @ B.T, X, row)
        losses.append(loss)
        if loss > 0:
            step = within_reach(step, A_pinv @ np.outer(q, z) @ B_pinv.T)
            A, B, A_pinv, B_pinv = loreta_1(A, B, A_pinv, B_pinv, step * q, z)
    return (A, B), losses


def loreta_psd(X, rows, steps, Y):
    """Algorithm 5, W = YYᵀ."""
    Y_pinv, losses = np.linalg.pinv(Y), []
    for row, step in zip(rows, steps, strict=True):
        q, z, loss = hinge(Y @ Y.T, X, row)
        losses.append(loss)
        if loss > 0:
            gradient = np.outer(q, z)
            step = within_reach(step, Y_pinv @ (gradient + gradient.T) @ Y_pinv.T / 2)
            Y, Y_pinv = loreta_1_psd(Y, Y_pinv, step * q, z)
    return (Y,), losses


def loreta_distance(X, rows, steps, Y, loss):
    """The step of Theorem 6 along -η(∂near uuᵀ + ∂far vvᵀ), on the factor: Z = Y + (Y H Ω + P Θ)Hᵀ."""
    losses = []
    for row, step in zip(rows, steps, strict=True):
        u, v, near, far = directions(Y, X, row)
        losses.append(float(loss.value(near, far)))
        P, slopes = np.column_stack([u, v]), np.array(loss.slopes(near, far))
        H = np.linalg.pinv(Y) @ P
        N = H.T @ H
        size = np.abs(slopes) @ np.square(H).sum(axis=0)  # as in within_reach: of s hhᵀ the eigenvalue is s hᵀh
        D = -(step if step * size <= 1 else 1 / size) * np.diag(slopes)
        omega, theta = -D / 2 + 3 / 8 * D @ N @ D, D - D @ N @ D / 2
        Y = Y + (Y @ H @ omega + P @ theta) @ H.T
    return (Y,), losses


def loreta_distance_matrix(X, rows, steps, Y, loss):
    """The same on W alone: the gradient is projected onto the tangent space, and the sum retracted (Theorem 6)."""
    k, losses = Y.shape[1], []
    for row, step in zip(rows, steps, strict=True):
        u, v, near, far = directions(Y, X, row)
        losses.append(float(loss.value(near, far)))
        by_near, by_far = loss.slopes(near, far)
        gradient = by_near * np.outer(u, u) + by_far * np.outer(v, v)
        W = retracted_psd(Y, -step * sum(projected(Y, Y, gradient)))
        values, vectors = np.linalg.eigh(W)
        Y = vectors[:, -k:] * np.sqrt(values[-k:])
    return Y @ Y.T, losses


def gd(X, rows, steps, A, B):
    """Gradient steps of A and of B, both from where they were."""
    losses = []
    for row, step in zip(rows, steps, strict=True):
        q, z, loss = hinge(A @ B.T, X, row)
        losses.append(loss)
        if loss > 0:
            gradient = -np.outer(q, z)  # of the loss, by W
            A, B = A - step * gradient @ B, B - step * gradient.T @ A
    return (A, B), losses


def gd_psd(X, rows, steps, Y):
    """Gradient steps of Y, W = YYᵀ."""
    losses = []
    for row, step in zip(rows, steps, strict=True):
        q, z, loss = hinge(Y @ Y.T, X, row)
        losses.append(loss)
        if loss > 0:
            gradient = -np.outer(q, z)
            Y = Y - step * (gradient + gradient.T) @ Y
    return (Y,), losses


def gd_distance(X, rows, steps, Y, loss):
    """Gradient steps of Y for a loss of two squared distances."""
    losses = []
    for row, step in zip(rows, steps, strict=True):
        u, v, near, far = directions(Y, X, row)
        losses.append(float(loss.value(near, far)))
        by_near, by_far = loss.slopes(near, far)
        gradient = by_near * np.outer(u, u) + by_far * np.outer(v, v)
        Y = Y - step * (gradient + gradient.T) @ Y
    return (Y,), losses


def pa(X, rows, caps, A, B):
    """The least change of one factor that meets the margin, capped: of A for one triplet, of B for the next."""
    losses = []
    for t, (row, cap) in enumerate(zip(rows, caps, strict=True)):
        q, z, loss = hinge(A @ B.T, X, row)
        losses.append(loss)
        change = np.outer(q, B.T @ z) if t % 2 == 0 else np.outer(z, A.T @ q)
        if loss > 0 and (change**2).sum() > 0:
            change *= min(cap, loss / (change**2).sum())
            A, B = (A + change, B) if t % 2 == 0 else (A, B + change)
    return (A, B), losses


def loreta_identify(X, rows, steps, A, B, floor, inner_steps=None, inner_cap=None):
    """Algorithm 6: a step of LORETA, then s steps of OASIS of M in AMBᵀ, and M is multiplied in.

    There are as many of these as the rank, unless given, with a cap of their own, if given.
    No singular value of M counts as less than ``floor`` times the largest.
    """
    k, losses = A.shape[1], []
    s = inner_steps or k
    for t in range(0, len(rows), 1 + s):
        (A, B), met = loreta(X, rows[t : t + 1], steps[t : t + 1], A, B)
        losses += met
        M = np.eye(k)
        for row, cap in zip(rows[t + 1 : t + 1 + s], steps[t + 1 : t + 1 + s], strict=True):
            cap = inner_cap or cap
            q, z, loss = hinge(A @ M @ B.T, X, row)
            losses.append(loss)
            V = np.outer(A.T @ q, B.T @ z)
            if loss > 0 and (V**2).sum() > 0:
                M = M + min(cap, loss / (V**2).sum()) * V
        left, values, right = np.linalg.svd(M)
        roots = np.sqrt(np.maximum(values, floor * values[0]))
        A, B = A @ left * roots, B @ right.T * roots
    return (A, B), losses
