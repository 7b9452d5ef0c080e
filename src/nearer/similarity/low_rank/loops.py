"""The compiled loops of low-rank similarities: one triplet after another.

A triplet (a, b, c) has the query q = X[a] and the direction z = X[b] - X[c]; its score qᵀWz should be at least
one. Where it has more than three columns, those from the third on are candidates for c, and the one most similar
to a is taken. The features are `Rows`, so dense and sparse ones look alike. A problem is these and the triplets.
`take_steps` is bound to the function that finds the gradient of a triplet, and to the step of a solver:
gradients are P D Pᵀ, P = [g₁ g₂], with Aᵀg₁ and Bᵀg₂ in ``work.E`` and D in ``work.D``. With one factor, A and B are
the same.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.jit import noinline
from nearer.lowrank.vectors import add_outer, dot, project_table, row, subtract_rows, times

if TYPE_CHECKING:  # bound by `bind`
    find_gradient: Any = None
    take_step: Any = None
    project: Any = None
    value: Any = None
    slopes: Any = None


def hinge_gradient(X: Any, triplet: Any, A: Any, B: Any, work: Any) -> Any:
    """Return q, z, the loss [1 - qᵀWz]₊ and whether there is any; its gradient in W is -½(qzᵀ + zqᵀ), or -qzᵀ."""
    E, D = work.E, work.D
    p, x = row(X, triplet[0])
    project(A, p, x, work.vectors[0], E[0])
    c = most_similar(X, triplet, B, E[0], work) if triplet.size > 3 else triplet[2]
    size = subtract_rows(X, triplet[1], c, work.columns, work.values)
    q, y = work.columns[:size], work.values[:size]
    project(B, q, y, work.vectors[0], E[1])
    loss = max(0.0, 1.0 - dot(E[0], E[1]))
    D[0, 0] = D[1, 1] = 0.0
    D[0, 1] = D[1, 0] = 0.5
    return (p, x, q, y), loss, loss != 0.0


def distance_gradient(X: Any, triplet: Any, Y: Any, B: Any, work: Any) -> Any:
    """Return u = X[a] - X[b], v = X[a] - X[c], and the loss of the squared distances ‖Yᵀu‖² and ‖Yᵀv‖²."""
    E, D, half = work.E, work.D, work.values.size // 2
    a = triplet[0]
    c = nearest(X, triplet, Y, work) if triplet.size > 3 else triplet[2]
    n = subtract_rows(X, a, triplet[1], work.columns[:half], work.values[:half])
    m = subtract_rows(X, a, c, work.columns[half:], work.values[half:])
    p, x, q, y = work.columns[:n], work.values[:n], work.columns[half : half + m], work.values[half : half + m]
    project(Y, p, x, work.vectors[0], E[0])
    project(Y, q, y, work.vectors[0], E[1])
    near, far = dot(E[0], E[0]), dot(E[1], E[1])
    by_near, by_far = slopes(near, far)
    D[0, 0], D[1, 1] = -by_near, -by_far
    D[0, 1] = D[1, 0] = 0.0
    return (p, x, q, y), value(near, far), by_near != 0.0 or by_far != 0.0


def take_steps(problem: Any, steps: Any, span: Any, limits: Any, factors: Any, work: Any, losses: Any) -> int:
    """Take a step along each triplet of a problem (X, triplets); see `nearer.lowrank.factors.run_steps`."""
    X, triplets = problem
    for t in range(span[0], span[1]):
        gradient, losses[t], active = find_gradient(X, triplets[t], factors[0], factors[-1], work)
        if active and take_step(factors, gradient, losses[t], steps[t], span[2] + t, limits, work):
            return -(t + 1)
    return int(span[1])


@noinline
def most_similar(X: Any, triplet: Any, B: Any, query: Any, work: Any) -> int:
    """Return the candidate for c that scores highest with a query, given Aᵀq."""
    best, highest = triplet[2], -np.inf
    turned, item = work.vectors[1], work.vectors[2]
    times(B.R, query, turned)
    for place in range(2, triplet.size):
        columns, values = row(X, triplet[place])
        project_table(B, columns, values, item, item)
        score = dot(turned, item)
        if score > highest:
            best, highest = triplet[place], score
    return best


@noinline
def nearest(X: Any, triplet: Any, Y: Any, work: Any) -> int:
    """Return the candidate for c at the smallest distance from a."""
    best, smallest = triplet[2], np.inf
    query, item, difference = work.vectors[0], work.vectors[1], work.vectors[2]
    columns, values = row(X, triplet[0])
    project_table(Y, columns, values, query, query)
    for place in range(2, triplet.size):
        columns, values = row(X, triplet[place])
        project_table(Y, columns, values, item, item)
        for j in range(query.size):
            difference[j] = 0.0
        for i in range(query.size):
            for j in range(query.size):
                difference[j] += Y.R[i, j] * (item[i] - query[i])
        distance = dot(difference, difference)
        if distance < smallest:
            best, smallest = triplet[place], distance
    return best


def gradient_step(
    factors: Any, gradient: Any, loss: float, step: float, number: int, limits: Any, work: Any
) -> bool:
    """Gradient descent on the factors, both from where they were: A += 2η g₁(D Eᵀ)₁, B += 2η g₂(D Eᵀ)₂."""
    E, D, change = work.E, work.D, work.change
    p, x, q, y = gradient
    for j in range(E.shape[1]):
        change[0, j] = 2.0 * (D[0, 0] * E[0, j] + D[0, 1] * E[1, j])
        change[1, j] = 2.0 * (D[1, 0] * E[0, j] + D[1, 1] * E[1, j])
    add_outer(factors[0].table, p, x, step, change[0])
    add_outer(factors[-1].table, q, y, step, change[1])
    return False


def inner_steps(X: Any, triplets: Any, caps: Any, factors: Any, M: Any, work: Any, losses: Any) -> None:
    """Take steps of OASIS of the small matrix M of AMBᵀ with the factors fixed: the inner steps of Algorithm 6."""
    A, B, E, query = factors[0], factors[-1], work.E, work.U[0]
    k = M.shape[0]
    for t in range(triplets.shape[0]):
        p, x = row(X, triplets[t, 0])
        project(A, p, x, work.vectors[0], E[0])
        for j in range(k):
            query[j] = 0.0
        for i in range(k):
            for j in range(k):
                query[j] += E[0, i] * M[i, j]
        c = most_similar(X, triplets[t], B, query, work) if triplets.shape[1] > 3 else triplets[t, 2]
        size = subtract_rows(X, triplets[t, 1], c, work.columns, work.values)
        project(B, work.columns[:size], work.values[:size], work.vectors[0], E[1])
        losses[t] = max(0.0, 1.0 - dot(query, E[1]))
        square = dot(E[0], E[0]) * dot(E[1], E[1])
        if losses[t] > 0.0 and square > 0.0:
            step = min(losses[t] / square, caps[t])
            for i in range(k):
                for j in range(k):
                    M[i, j] += step * E[0, i] * E[1, j]
