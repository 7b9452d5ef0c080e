"""What is wrong with the scores of a row: the first half of every step of label ranking, as the loops call it.

A step against v xᵀ lowers the loss of a row x. With all labels scored, v is -1 at each true label that is not
ahead of the highest false one by a margin of one, and their number at that false label. With WARP (Weston,
Bengio and Usunier 2011) it is one true label and one false one that violates the margin, found by drawing,
times a weight. v is put into room for its labels and for its values.

Draws are a function of the seed and the number of the step alone, so that a stream in chunks draws as one in
one go.
"""

from typing import Any

import numpy as np

from nearer.jit import noinline

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
A30, A27, A31, A33 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(33)


def mixed(state: Any) -> Any:
    """Return 64 bits that look random, of a number (splitmix64)."""
    state = (state ^ (state >> A30)) * FIRST
    state = (state ^ (state >> A27)) * SECOND
    return state ^ (state >> A31)


def below(state: Any, n: int) -> int:
    """Return a whole number from 0 to n - 1, of a number that counts up by GOLDEN."""
    return int(((mixed(state) >> A33) * np.uint64(n)) >> A31)


@noinline
def missed(table: Any, z: Any, Y: Any, i: int, columns: Any, values: Any) -> tuple[int, float]:
    """Score all labels, rows of the table times z, in one pass; put v into place; return its size and the loss."""
    first, n, e = Y.starts[i], Y.starts[i + 1] - Y.starts[i], 0
    worst, highest = -1, -np.inf
    for label in range(table.shape[0]):
        score = 0.0
        for j in range(z.size):
            score += table[label, j] * z[j]
        if e < n and Y.labels[first + e] == label:
            values[e] = score
            e += 1
        elif score > highest:
            worst, highest = label, score
    return violations(Y, i, worst, highest, columns, values)


@noinline
def missed_of_matrix(W: Any, features: Any, place: int, size: int, Y: Any, i: int, room: Any) -> tuple[int, float]:
    """Score all labels by rows of a matrix, features by labels, times ``room.weights``; see `missed`."""
    scores = room.scores
    for label in range(scores.size):
        scores[label] = 0.0
    for a in range(size):
        feature, weight = features[place + a], room.weights[a]
        for label in range(scores.size):
            scores[label] += weight * W[feature, label]
    first, n, e = Y.starts[i], Y.starts[i + 1] - Y.starts[i], 0
    worst, highest = -1, -np.inf
    for label in range(scores.size):
        if e < n and Y.labels[first + e] == label:
            room.values[e] = scores[label]
            e += 1
        elif scores[label] > highest:
            worst, highest = label, scores[label]
    return violations(Y, i, worst, highest, room.columns, room.values)


@noinline
def violations(Y: Any, i: int, worst: int, highest: float, columns: Any, values: Any) -> tuple[int, float]:
    """Put v into the place of the true labels' scores; return how many entries it has, none without loss."""
    first, n, size, loss = Y.starts[i], Y.starts[i + 1] - Y.starts[i], 0, 0.0
    for e in range(n):
        short = highest - values[e] + 1.0
        if not short <= 0.0:  # what is no number must not pass for satisfied
            loss += short
            columns[size], values[size] = Y.labels[first + e], -1.0
            size += 1
    if size > 0:
        columns[size], values[size] = max(worst, 0), float(size)
        size += 1
    return size, loss


@noinline
def drawn(table: Any, z: Any, Y: Any, i: int, t: int, draws: Any, columns: Any, values: Any) -> tuple[int, float]:
    """Draw a true label, then false ones until one violates the margin; put v into place (WARP).

    Only those labels are scored. Returns the size of v, 2 or 0, and the weighted loss.
    """
    first, n, L = Y.starts[i], Y.starts[i + 1] - Y.starts[i], table.shape[0]
    state = mixed(draws.seed + np.uint64(draws.taken + t) * GOLDEN)
    true = Y.labels[first + below(state, n)]
    own = 0.0
    for j in range(z.size):
        own += table[true, j] * z[j]
    for count in range(1, min(L - n, draws.most) + 1):
        state, false = another(state, Y, first, n, L)
        score = 0.0
        for j in range(z.size):
            score += table[false, j] * z[j]
        if not score - own + 1.0 <= 0.0:
            return pair(true, false, score - own + 1.0, count, L - n, draws.harmonic, columns, values)
    return 0, 0.0


@noinline
def drawn_of_matrix(
    W: Any, features: Any, place: int, size: int, Y: Any, i: int, t: int, draws: Any, room: Any
) -> tuple[int, float]:
    """Draw a violating pair by a matrix, features by labels; see `drawn`."""
    first, n, L = Y.starts[i], Y.starts[i + 1] - Y.starts[i], W.shape[1]
    state = mixed(draws.seed + np.uint64(draws.taken + t) * GOLDEN)
    true = Y.labels[first + below(state, n)]
    own = 0.0
    for a in range(size):
        own += room.weights[a] * W[features[place + a], true]
    for count in range(1, min(L - n, draws.most) + 1):
        state, false = another(state, Y, first, n, L)
        score = 0.0
        for a in range(size):
            score += room.weights[a] * W[features[place + a], false]
        if not score - own + 1.0 <= 0.0:
            return pair(true, false, score - own + 1.0, count, L - n, draws.harmonic, room.columns, room.values)
    return 0, 0.0


@noinline
def another(state: Any, Y: Any, first: int, n: int, L: int) -> Any:
    """Draw a false label; return the state after it, and the label."""
    while True:
        state += GOLDEN
        label = below(state, L)
        low, high = first, first + n  # true labels rise: is it one of them?
        while low < high:
            middle = (low + high) // 2
            if Y.labels[middle] < label:
                low = middle + 1
            else:
                high = middle
        if low == first + n or Y.labels[low] != label:
            return state, label


@noinline
def pair(
    true: int, false: int, short: float, count: int, n_false: int, harmonic: Any, columns: Any, values: Any
) -> tuple[int, float]:
    """Put a pair that took so many draws into place, with the weight of the rank that this suggests."""
    weight = harmonic[n_false // count] / harmonic[n_false]
    columns[0], values[0] = true, -weight
    columns[1], values[1] = false, weight
    return 2, weight * short
