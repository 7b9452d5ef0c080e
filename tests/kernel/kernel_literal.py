"""ERKLE as printed (Algorithms 1 and 2), in plain numpy: what the fast one has to equal."""

import numpy as np


def printed_g(n, a, b, c):
    """(4.10)"""
    g = np.zeros((n, n))
    g[a, b] = g[b, a] = -2
    g[a, c] = g[c, a] = 2
    g[b, b] = 1
    g[c, c] = -1
    return g


def distance(kernel, i, j):
    """(3.2)"""
    return kernel[i, i] + kernel[j, j] - 2 * kernel[i, j]


def project_one(kernel):
    """Algorithm 1; also returns the smallest eigenvalue."""
    values, vectors = np.linalg.eigh(kernel)
    if values[0] < 0:
        return kernel - values[0] * np.outer(vectors[:, 0], vectors[:, 0]), values[0]
    return kernel, values[0]


def project(kernel):
    """The nearest positive semidefinite matrix, by the whole spectrum."""
    values, vectors = np.linalg.eigh(kernel)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def passive_aggressive(margin=1.0):
    """(4.18): the product of δ and f."""
    return lambda near, far, t: max(0.0, near - far + margin) / 10


def ste(rate):
    """(4.12)"""
    return lambda near, far, t: rate(t) * (1 - np.exp(-near) / (np.exp(-near) + np.exp(-far)))


def gnmds(rate):
    """(4.13), with its inequality the right way round."""
    return lambda near, far, t: rate(t) * float(near + 1 > far)


class Counts:
    def __init__(self):
        self.updates = self.projections = self.skipped = self.needed = 0
        self.projections_unrenewed = 0  # by a bound that eigenvalues do not renew, as that of large kernels


def erkle(triplets, n, gamma, passes=1, draw=None):
    """Algorithm 2; ``draw(j)`` picks a triplet among the first j. Returns the kernel and the counts."""
    kernel, bound, unrenewed, counts = np.eye(n), 1.0, 1.0, Counts()

    def step(triplet, t):
        nonlocal kernel, bound, unrenewed
        a, b, c = triplet
        length = gamma(distance(kernel, a, b), distance(kernel, a, c), t)
        if length == 0:
            return
        kernel = kernel - length * printed_g(n, a, b, c)
        counts.updates += 1
        bound -= 3 * length
        unrenewed -= 3 * length
        if unrenewed < 0:
            unrenewed = 0.0
            counts.projections_unrenewed += 1
        if bound < 0:
            kernel, lowest = project_one(kernel)
            bound = max(0.0, lowest)
            counts.projections += 1
            counts.needed += lowest < 0
        else:
            counts.skipped += 1

    for j, triplet in enumerate(triplets, start=1):
        step(triplet, j)
        if j > 2 * passes:
            for k in range(1, passes):
                step(triplets[draw(j)], j + k)
    return kernel, counts
