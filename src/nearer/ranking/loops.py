"""The compiled loops of label ranking: one row after another, by each of the solvers.

A row x of `Rows` has its true labels in `Labels`. A step has two halves: what is wrong with the scores of the
row, a vector v of few labels in ``room.columns`` and ``room.values`` and the loss
(:mod:`nearer.ranking.violations`); and then a step against v xᵀ, in each solver's own way.
"""

from typing import Any

from nearer.jit import noinline
from nearer.lowrank.loops import advance_one, strained, within_reach
from nearer.lowrank.vectors import collect, dot, gather, spread, square, times
from nearer.ranking.violations import drawn, drawn_of_matrix, missed, missed_of_matrix


def loreta(
    X: Any,
    Y: Any,
    order: Any,
    start: int,
    stop: int,
    limits: Any,
    rate: float,
    A: Any,
    B: Any,
    room: Any,
    losses: Any,
) -> int:
    """LORETA-1, Algorithm 4, W = ABᵀ, all labels scored; returns where it stopped: minus that for a fold."""
    for t in range(start, stop):
        i = order[t]
        n = X.starts[i + 1] - X.starts[i]
        gather(B, X.columns, X.places[i], X.values, X.starts[i], n, room.vector, room.right)
        times(A.turn, room.right, room.by)
        size, losses[t] = missed(A.table, room.by, Y, i, room.columns, room.values)
        if size > 0 and retracted(X, i, rate, A, B, room, size, limits):
            return -(t + 1)
    return stop


def loreta_warp(
    X: Any,
    Y: Any,
    order: Any,
    start: int,
    stop: int,
    limits: Any,
    rate: float,
    A: Any,
    B: Any,
    room: Any,
    losses: Any,
    draws: Any,
) -> int:
    """LORETA-1 with a violating pair of labels drawn for each row; see `loreta`."""
    for t in range(start, stop):
        i = order[t]
        n = X.starts[i + 1] - X.starts[i]
        gather(B, X.columns, X.places[i], X.values, X.starts[i], n, room.vector, room.right)
        times(A.turn, room.right, room.by)
        size, losses[t] = drawn(A.table, room.by, Y, i, t, draws, room.columns, room.values)
        if size > 0 and retracted(X, i, rate, A, B, room, size, limits):
            return -(t + 1)
    return stop


@noinline
def retracted(X: Any, i: int, rate: float, A: Any, B: Any, room: Any, size: int, limits: Any) -> bool:
    """Step along -rate · v xᵀ on the manifold, Bᵀx being in ``room.right``; whether a fold is asked for."""
    place, first, n = X.places[i], X.starts[i], X.starts[i + 1] - X.starts[i]
    gather(A, room.columns, 0, room.values, 0, size, room.vector, room.left)
    times(A.inverse, room.left, room.u)
    times(B.inverse, room.right, room.v)
    rate = within_reach(rate, abs(dot(room.u, room.v)))
    for j in range(room.left.size):  # the step belongs to the labels
        room.left[j] *= -rate
        room.u[j] *= -rate
    s = dot(room.u, room.v)
    long = rate * rate * square(room.values, 0, size)
    bound = advance_one(A, room.u, room.v, s, room.left, long, room.by, room.across, room.change)
    spread(A.table, room.columns, 0, room.values, 0, size, -rate, room.change)
    long = square(X.values, first, n)
    other = advance_one(B, room.v, room.u, s, room.right, long, room.by, room.across, room.change)
    spread(B.table, X.columns, place, X.values, first, n, 1.0, room.change)
    return strained(A, bound, limits) or strained(B, other, limits)


def pa(X: Any, Y: Any, order: Any, taken: int, cap: float, A: Any, B: Any, room: Any, losses: Any) -> None:
    """Passive-aggressive steps on A and B in turn, W = ABᵀ, all labels scored."""
    for t in range(order.size):
        i = order[t]
        n = X.starts[i + 1] - X.starts[i]
        collect(B, X.columns, X.places[i], X.values, X.starts[i], n, room.right)
        size, losses[t] = missed(A, room.right, Y, i, room.columns, room.values)
        if size > 0:
            passed(X, i, losses[t], (taken + t) % 2 == 0, cap, A, B, room, size)


def pa_warp(
    X: Any, Y: Any, order: Any, taken: int, cap: float, A: Any, B: Any, room: Any, losses: Any, draws: Any
) -> None:
    """Passive-aggressive steps with a violating pair of labels drawn for each row; see `pa`."""
    for t in range(order.size):
        i = order[t]
        n = X.starts[i + 1] - X.starts[i]
        collect(B, X.columns, X.places[i], X.values, X.starts[i], n, room.right)
        size, losses[t] = drawn(A, room.right, Y, i, t, draws, room.columns, room.values)
        if size > 0:
            passed(X, i, losses[t], (taken + t) % 2 == 0, cap, A, B, room, size)


@noinline
def passed(X: Any, i: int, loss: float, of_labels: bool, cap: float, A: Any, B: Any, room: Any, size: int) -> None:
    """Change A with B fixed, or B with A fixed, by as little as removes the loss, and by the cap at most."""
    place, first, n = X.places[i], X.starts[i], X.starts[i + 1] - X.starts[i]
    if of_labels:
        square_of_all = square(room.values, 0, size) * dot(room.right, room.right)
        step = min(loss / square_of_all, cap) if square_of_all > 0.0 else 0.0
        spread(A, room.columns, 0, room.values, 0, size, -step, room.right)
    else:
        collect(A, room.columns, 0, room.values, 0, size, room.left)
        square_of_all = square(X.values, first, n) * dot(room.left, room.left)
        step = min(loss / square_of_all, cap) if square_of_all > 0.0 else 0.0
        spread(B, X.columns, place, X.values, first, n, -step, room.left)


def perceptron(X: Any, Y: Any, order: Any, rate: float, W: Any, room: Any, losses: Any) -> None:
    """Subgradient steps of a full matrix, features by labels, all labels scored."""
    for t in range(order.size):
        i = order[t]
        place, first, n = X.places[i], X.starts[i], X.starts[i + 1] - X.starts[i]
        for e in range(n):
            room.weights[e] = X.values[first + e]
        size, losses[t] = missed_of_matrix(W, X.columns, place, n, Y, i, room)
        for e in range(n):
            feature, step = X.columns[place + e], rate * X.values[first + e]
            for c in range(size):
                W[feature, room.columns[c]] -= step * room.values[c]


def perceptron_warp(X: Any, Y: Any, order: Any, rate: float, W: Any, room: Any, losses: Any, draws: Any) -> None:
    """Subgradient steps of a full matrix with a violating pair of labels drawn for each row; see `perceptron`."""
    for t in range(order.size):
        i = order[t]
        place, first, n = X.places[i], X.starts[i], X.starts[i + 1] - X.starts[i]
        for e in range(n):
            room.weights[e] = X.values[first + e]
        size, losses[t] = drawn_of_matrix(W, X.columns, place, n, Y, i, t, draws, room)
        for e in range(n):
            feature, step = X.columns[place + e], rate * X.values[first + e]
            for c in range(size):
                W[feature, room.columns[c]] -= step * room.values[c]


def group(
    X: Any, Y: Any, order: Any, rate: float, power: float, theta: Any, squares: Any, room: Any, losses: Any
) -> None:
    """Mirror descent with the mixed (2, 1) norm over features, all labels scored.

    W_j = (‖θ_j‖ / ‖θ‖₂ₛ)ˢ⁻² θ_j is never made: a row of x has weights in its place. ``squares`` are the ‖θ_j‖².
    """
    total = powers(squares, power)
    for t in range(order.size):
        i = order[t]
        place, n = X.places[i], X.starts[i + 1] - X.starts[i]
        weigh(X, i, squares, total, power, room.weights)
        size, losses[t] = missed_of_matrix(theta, X.columns, place, n, Y, i, room)
        if size > 0:
            total += mirrored(X, i, rate, power, theta, squares, room, size)


def group_warp(
    X: Any,
    Y: Any,
    order: Any,
    rate: float,
    power: float,
    theta: Any,
    squares: Any,
    room: Any,
    losses: Any,
    draws: Any,
) -> None:
    """Mirror descent with a violating pair of labels drawn for each row; see `group`."""
    total = powers(squares, power)
    for t in range(order.size):
        i = order[t]
        place, n = X.places[i], X.starts[i + 1] - X.starts[i]
        weigh(X, i, squares, total, power, room.weights)
        size, losses[t] = drawn_of_matrix(theta, X.columns, place, n, Y, i, t, draws, room)
        if size > 0:
            total += mirrored(X, i, rate, power, theta, squares, room, size)


def powers(squares: Any, power: float) -> float:
    """Return the sum of ‖θ_j‖ˢ."""
    total = 0.0
    for j in range(squares.size):
        total += squares[j] ** (0.5 * power)
    return total


def weigh(X: Any, i: int, squares: Any, total: float, power: float, weights: Any) -> None:
    """Put x_j (‖θ_j‖ / ‖θ‖)ˢ⁻² into ``weights``."""
    place, first, n = X.places[i], X.starts[i], X.starts[i + 1] - X.starts[i]
    shrink = total ** (-2.0 / power) if total > 0.0 else 0.0
    for e in range(n):
        share = squares[X.columns[place + e]] * shrink
        weights[e] = X.values[first + e] * share ** (0.5 * power - 1.0)


def mirrored(X: Any, i: int, rate: float, power: float, theta: Any, squares: Any, room: Any, size: int) -> float:
    """Step against v xᵀ in θ; return by how much the sum of ‖θ_j‖ˢ grew."""
    place, first, n = X.places[i], X.starts[i], X.starts[i + 1] - X.starts[i]
    grown = 0.0
    for e in range(n):
        feature, step = X.columns[place + e], rate * X.values[first + e]
        before = after = squares[feature]
        for c in range(size):
            old = theta[feature, room.columns[c]]
            new = old - step * room.values[c]
            theta[feature, room.columns[c]] = new
            after += (new - old) * (new + old)
        after = max(0.0, after)
        squares[feature] = after
        grown += after ** (0.5 * power) - before ** (0.5 * power)
    return grown
