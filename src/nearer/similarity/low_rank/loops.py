"""The compiled loops of low-rank similarities: one triplet after another, by each of the solvers.

A triplet (a, b, c) has the anchor q = X[a] and the direction z = X[b] - X[c]; its score qᵀWz shall be at least
one. Where it has more than three columns, those from the third on are candidates for c, and the one that is most
like a is taken. The features come as `Rows`, in which dense rows and sparse ones look alike; z is merged into room
for it. A loop fills in the losses and returns where it stopped: minus that, and maybe earlier than asked for,
where a factor is to be folded.
"""

from typing import Any

import numpy as np

from nearer.jit import noinline
from nearer.lowrank.loops import advance, advance_one, psd_coefficients, strained, within_reach
from nearer.lowrank.vectors import collect, difference, dot, gather, product, spread, square, times


def loreta(
    X: Any, triplets: Any, steps: Any, start: int, stop: int, limits: Any, A: Any, B: Any, room: Any, losses: Any
) -> int:
    """LORETA-1, Algorithm 4: W = ABᵀ."""
    for t in range(start, stop):
        place, first, n, m, losses[t] = met(X, triplets[t], A, B, room)
        if losses[t] == 0.0:
            continue
        times(A.inverse, room.left, room.u)
        times(B.inverse, room.right, room.v)
        step = within_reach(steps[t], abs(dot(room.u, room.v)))
        for j in range(room.left.size):  # the step belongs to the anchor
            room.left[j] *= step
            room.u[j] *= step
        s = dot(room.u, room.v)
        long = step * step * square(X.values, first, n)
        bound = advance_one(A, room.u, room.v, s, room.left, long, room.by, room.across, room.change)
        spread(A.table, X.columns, place, X.values, first, n, step, room.change)
        long = square(room.values, 0, m)
        other = advance_one(B, room.v, room.u, s, room.right, long, room.by, room.across, room.change)
        spread(B.table, room.columns, 0, room.values, 0, m, 1.0, room.change)
        if strained(A, bound, limits) or strained(B, other, limits):
            return -(t + 1)
    return stop


def loreta_psd(
    X: Any,
    triplets: Any,
    steps: Any,
    start: int,
    stop: int,
    limits: Any,
    Y: Any,
    room: Any,
    two: Any,
    losses: Any,
) -> int:
    """LORETA-1-PSD, Algorithm 5: W = YYᵀ, along ½(qzᵀ + zqᵀ)."""
    E = two.E
    for t in range(start, stop):
        a = triplets[t, 0]
        place, first, n = X.places[a], X.starts[a], X.starts[a + 1] - X.starts[a]
        gather(Y, X.columns, place, X.values, first, n, room.vector, E[0])
        m = direction(X, triplets[t, 1], negative(X, triplets[t], Y, E[0], room.by, room.u), room)
        gather(Y, room.columns, 0, room.values, 0, m, room.vector, E[1])
        losses[t] = max(0.0, 1.0 - dot(E[0], E[1]))
        if losses[t] == 0.0:
            continue
        times(Y.inverse, E[0], two.U[0])
        times(Y.inverse, E[1], two.U[1])
        long = np.sqrt(dot(two.U[0], two.U[0]) * dot(two.U[1], two.U[1]))
        two.D[0, 0] = two.D[1, 1] = 0.0
        two.D[0, 1] = two.D[1, 0] = 0.5 * within_reach(steps[t], 0.5 * (abs(dot(two.U[0], two.U[1])) + long))
        two.squares[0, 0], two.squares[1, 1] = square(X.values, first, n), square(room.values, 0, m)
        two.squares[0, 1] = product(X.columns, X.values, place, first, n, room.columns, room.values, 0, 0, m)
        two.squares[1, 0] = two.squares[0, 1]
        bound = psd_advance(Y, two)
        spread(Y.table, X.columns, place, X.values, first, n, 1.0, two.change[0])
        spread(Y.table, room.columns, 0, room.values, 0, m, 1.0, two.change[1])
        if strained(Y, bound, limits):
            return -(t + 1)
    return stop


def loreta_distance(
    X: Any,
    triplets: Any,
    steps: Any,
    start: int,
    stop: int,
    limits: Any,
    Y: Any,
    room: Any,
    two: Any,
    losses: Any,
) -> int:
    """LORETA of a loss of two squared distances ‖Yᵀ(a - b)‖² and ‖Yᵀ(a - c)‖²: along -(∂near uuᵀ + ∂far vvᵀ)."""
    E, half = two.E, room.values.size // 2
    for t in range(start, stop):
        n, m = two_directions(X, triplets[t], Y, room)
        gather(Y, room.columns, 0, room.values, 0, n, room.vector, E[0])
        gather(Y, room.columns, half, room.values, half, m, room.vector, E[1])
        near, far = dot(E[0], E[0]), dot(E[1], E[1])
        losses[t] = value(near, far)  # type: ignore[name-defined]  # noqa: F821  # bound to the loss
        by_near, by_far = slopes(near, far)  # type: ignore[name-defined]  # noqa: F821
        if by_near == 0.0 and by_far == 0.0:
            continue
        times(Y.inverse, E[0], two.U[0])
        times(Y.inverse, E[1], two.U[1])
        long = abs(by_near) * dot(two.U[0], two.U[0]) + abs(by_far) * dot(two.U[1], two.U[1])
        step = within_reach(steps[t], long)
        two.D[0, 1] = two.D[1, 0] = 0.0
        two.D[0, 0], two.D[1, 1] = -step * by_near, -step * by_far
        two.squares[0, 0], two.squares[1, 1] = square(room.values, 0, n), square(room.values, half, m)
        two.squares[0, 1] = product(room.columns, room.values, 0, 0, n, room.columns, room.values, half, half, m)
        two.squares[1, 0] = two.squares[0, 1]
        bound = psd_advance(Y, two)
        spread(Y.table, room.columns, 0, room.values, 0, n, 1.0, two.change[0])
        spread(Y.table, room.columns, half, room.values, half, m, 1.0, two.change[1])
        if strained(Y, bound, limits):
            return -(t + 1)
    return stop


def gd(
    X: Any, triplets: Any, steps: Any, start: int, stop: int, limits: Any, A: Any, B: Any, room: Any, losses: Any
) -> int:
    """Gradient descent on both factors: A += η q (Bᵀz)ᵀ and B += η z (Aᵀq)ᵀ, both from where they were.

    With one factor as both, that is Y += η (qzᵀ + zqᵀ) Y: Riemannian descent in the flat metric.
    """
    for t in range(start, stop):
        place, first, n, m, losses[t] = met(X, triplets[t], A, B, room)
        if losses[t] > 0.0:
            spread(A.table, X.columns, place, X.values, first, n, steps[t], room.right)
            spread(B.table, room.columns, 0, room.values, 0, m, steps[t], room.left)
    return stop


def gd_distance(
    X: Any,
    triplets: Any,
    steps: Any,
    start: int,
    stop: int,
    limits: Any,
    Y: Any,
    room: Any,
    two: Any,
    losses: Any,
) -> int:
    """Gradient descent on the factor for a loss of two squared distances."""
    half = room.values.size // 2
    for t in range(start, stop):
        n, m = two_directions(X, triplets[t], Y, room)
        collect(Y.table, room.columns, 0, room.values, 0, n, room.left)
        collect(Y.table, room.columns, half, room.values, half, m, room.right)
        near, far = dot(room.left, room.left), dot(room.right, room.right)
        losses[t] = value(near, far)  # type: ignore[name-defined]  # noqa: F821
        by_near, by_far = slopes(near, far)  # type: ignore[name-defined]  # noqa: F821
        spread(Y.table, room.columns, 0, room.values, 0, n, -2.0 * steps[t] * by_near, room.left)
        spread(Y.table, room.columns, half, room.values, half, m, -2.0 * steps[t] * by_far, room.right)
    return stop


def pa(
    X: Any, triplets: Any, caps: Any, start: int, stop: int, before: int, A: Any, B: Any, room: Any, losses: Any
) -> int:
    """Passive-aggressive steps, on A with B fixed for one triplet and on B with A fixed for the next.

    ``before`` is how many triplets were taken in earlier runs.
    """
    for t in range(start, stop):
        place, first, n, m, losses[t] = met(X, triplets[t], A, B, room)
        if losses[t] == 0.0:
            continue
        if (before + t) % 2 == 0:
            long = square(X.values, first, n) * dot(room.right, room.right)
            step = min(losses[t] / long, caps[t]) if long > 0.0 else 0.0
            spread(A.table, X.columns, place, X.values, first, n, step, room.right)
        else:
            long = square(room.values, 0, m) * dot(room.left, room.left)
            step = min(losses[t] / long, caps[t]) if long > 0.0 else 0.0
            spread(B.table, room.columns, 0, room.values, 0, m, step, room.left)
    return stop


def within(X: Any, triplets: Any, caps: Any, A: Any, B: Any, M: Any, room: Any, losses: Any) -> None:
    """Steps of OASIS of the small matrix M of AMBᵀ, the factors standing still: the inner steps of Algorithm 6."""
    k = M.shape[0]
    for t in range(triplets.shape[0]):
        a = triplets[t, 0]
        place, first, n = X.places[a], X.starts[a], X.starts[a + 1] - X.starts[a]
        gather(A, X.columns, place, X.values, first, n, room.vector, room.left)
        for j in range(k):
            room.v[j] = 0.0
        for i in range(k):
            for j in range(k):
                room.v[j] += room.left[i] * M[i, j]
        m = direction(X, triplets[t, 1], negative(X, triplets[t], B, room.v, room.by, room.u), room)
        gather(B, room.columns, 0, room.values, 0, m, room.vector, room.right)
        losses[t] = max(0.0, 1.0 - dot(room.v, room.right))
        long = dot(room.left, room.left) * dot(room.right, room.right)
        if losses[t] > 0.0 and long > 0.0:
            step = min(losses[t] / long, caps[t])
            for i in range(k):
                for j in range(k):
                    M[i, j] += step * room.left[i] * room.right[j]


def psd_advance(Y: Any, two: Any) -> float:
    """Take a step along P D Pᵀ but for the table, as `advance` does; E, U, D and the squares are in the room."""
    psd_coefficients(two.U, two.D, two, two.omega, two.theta)
    return advance(Y, two.U, two.U, two.omega, two.theta, two.E, two.squares, two, two.change)


def met(X: Any, triplet: Any, A: Any, B: Any, room: Any) -> tuple[int, int, int, int, float]:
    """Put Aᵀq, z and Bᵀz of a triplet into the room; return where q begins, the entries of both, and the loss."""
    a = triplet[0]
    place, first, n = X.places[a], X.starts[a], X.starts[a + 1] - X.starts[a]
    gather(A, X.columns, place, X.values, first, n, room.vector, room.left)
    m = direction(X, triplet[1], negative(X, triplet, B, room.left, room.by, room.u), room)
    gather(B, room.columns, 0, room.values, 0, m, room.vector, room.right)
    return place, first, n, m, max(0.0, 1.0 - dot(room.left, room.right))


def direction(X: Any, b: int, c: int, room: Any) -> int:
    """Merge X[b] - X[c] into the room; return how many entries it has."""
    return merged(X, b, c, room.columns, room.values)


def two_directions(X: Any, triplet: Any, Y: Any, room: Any) -> tuple[int, int]:
    """Merge X[a] - X[b] into the first half of the room and X[a] - X[c] into the second; return their entries."""
    half = room.values.size // 2
    c = nearest(X, triplet, Y, room) if triplet.size > 3 else triplet[2]
    n = merged(X, triplet[0], triplet[1], room.columns[:half], room.values[:half])
    m = merged(X, triplet[0], c, room.columns[half:], room.values[half:])
    return n, m


def merged(X: Any, b: int, c: int, columns: Any, values: Any) -> int:
    """Merge X[b] - X[c] into columns and values; return how many entries it has."""
    first, second = X.starts[b], X.starts[c]
    n, m = X.starts[b + 1] - first, X.starts[c + 1] - second
    return difference(X.columns, X.values, X.places[b], first, n, X.places[c], second, m, columns, values)


@noinline
def negative(X: Any, triplet: Any, B: Any, asking: Any, turned: Any, found: Any) -> int:
    """Return the candidate for c that scores highest with an anchor whose Aᵀq is given."""
    best = triplet[2]
    if triplet.size > 3:
        highest = 0.0
        for i in range(asking.size):
            turned[i] = dot(B.turn[i], asking)
        for c in range(2, triplet.size):
            row = triplet[c]
            first = X.starts[row]
            collect(B.table, X.columns, X.places[row], X.values, first, X.starts[row + 1] - first, found)
            score = dot(turned, found)
            if c == 2 or score > highest:
                best, highest = row, score
    return best


@noinline
def nearest(X: Any, triplet: Any, Y: Any, room: Any) -> int:
    """Return the candidate for c that is at the smallest distance from a."""
    best, smallest, row = triplet[2], np.inf, triplet[0]
    first = X.starts[row]
    collect(Y.table, X.columns, X.places[row], X.values, first, X.starts[row + 1] - first, room.left)
    for c in range(2, triplet.size):
        row = triplet[c]
        first = X.starts[row]
        collect(Y.table, X.columns, X.places[row], X.values, first, X.starts[row + 1] - first, room.right)
        for j in range(room.left.size):
            room.right[j] -= room.left[j]
            room.by[j] = 0.0
        for i in range(room.left.size):
            for j in range(room.left.size):
                room.by[j] += Y.turn[i, j] * room.right[i]
        distance = dot(room.by, room.by)
        if distance < smallest:
            best, smallest = row, distance
    return best
