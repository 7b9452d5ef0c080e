"""Which labels of a row violate the margin: the first half of every step of label ranking, as the loops call it.

The loss of a row x falls along v xᵀ. With all labels scored, v is 1 at each true label that does not exceed the
highest false one by a margin of one, and at that false label minus their number; or minus one, as printed in the LORETA
paper, along which the loss falls as well. With WARP (Weston, Bengio and
Usunier 2011) it is one true label and one false one that violates the margin, found by drawing, times a weight.
Labels and values of v are put into the workspace.

Labels are scored with a factor (`BY_FACTOR`) or with a matrix (`BY_MATRIX`), whose functions are bound to the
names ``score_label``, ``fill_scores`` and ``read_score``. ``weight_of_false`` is `count_violated` or `count_once`.

Draws are a function of the seed and the number of the step alone, so that a stream in chunks draws as one in one
go.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.jit import noinline

if TYPE_CHECKING:  # bound by `bind`
    weight_of_false: Any = None
    score_label: Any = None
    fill_scores: Any = None
    read_score: Any = None

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
A30, A27, A31, A33 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(33)


def mix(state: Any) -> Any:
    """Return 64 bits that look random, of a number (splitmix64)."""
    state = (state ^ (state >> A30)) * FIRST
    state = (state ^ (state >> A27)) * SECOND
    return state ^ (state >> A31)


def below(state: Any, n: int) -> int:
    """Return an integer from 0 to n - 1, of a number that counts up by GOLDEN."""
    return int(((mix(state) >> A33) * np.uint64(n)) >> A31)


def score_by_factor(table: Any, columns: Any, weights: Any, scores: Any, label: int) -> float:
    """Return the score of a label: its row of the table times the weights."""
    score = 0.0
    for j in range(weights.size):
        score += table[label, j] * weights[j]
    return score


def fill_nothing(table: Any, columns: Any, weights: Any, scores: Any) -> None:
    """Leave the scores to `score_by_factor`: that is faster than a pass that stores them."""


def score_by_matrix(table: Any, columns: Any, weights: Any, scores: Any, label: int) -> float:
    """Return the score of a label: its column of the matrix, in the rows of the features, times the weights."""
    score = 0.0
    for e in range(columns.size):
        score += weights[e] * table[columns[e], label]
    return score


def fill_by_matrix(table: Any, columns: Any, weights: Any, scores: Any) -> None:
    """Compute the scores of all labels row by row of the matrix, as they lie in memory."""
    for label in range(scores.size):
        scores[label] = 0.0
    for e in range(columns.size):
        feature, weight = columns[e], weights[e]
        for label in range(scores.size):
            scores[label] += weight * table[feature, label]


def read_filled(table: Any, columns: Any, weights: Any, scores: Any, label: int) -> float:
    """Return a score that `fill_by_matrix` computed."""
    return float(scores[label])


# What labels are scored with: rows of a table of labels by k, or columns of a matrix of features by labels.
BY_FACTOR = {"score_label": score_by_factor, "fill_scores": fill_nothing, "read_score": score_by_factor}
BY_MATRIX = {"score_label": score_by_matrix, "fill_scores": fill_by_matrix, "read_score": read_filled}


def count_violated(n_violated: int) -> float:
    """Return the weight of the highest false label in the subgradient: the number of labels that it violates."""
    return float(n_violated)


def count_once(n_violated: int) -> float:
    """Return the weight of the highest false label in the printed G: one."""
    return 1.0


@noinline
def find_violations(
    table: Any, columns: Any, weights: Any, Y: Any, i: int, t: int, draws: Any, work: Any
) -> tuple[int, float]:
    """Score all labels of row i; return how many entries v has, none without loss, and the loss."""
    scores, first, n, e = work.scores, Y.starts[i], Y.starts[i + 1] - Y.starts[i], 0
    fill_scores(table, columns, weights, scores)
    worst, highest = 0, -np.inf
    for label in range(scores.size):
        score = read_score(table, columns, weights, scores, label)
        if e < n and Y.labels[first + e] == label:
            work.values[e] = score
            e += 1
        elif score > highest:
            worst, highest = label, score
    size, loss = 0, 0.0
    for e in range(n):
        short = highest - work.values[e] + 1.0
        if not short <= 0.0:  # a score that is not finite is a violation, too
            loss += short
            work.columns[size], work.values[size] = Y.labels[first + e], 1.0
            size += 1
    if size > 0:
        work.columns[size], work.values[size] = worst, -weight_of_false(size)
        size += 1
    return size, loss


@noinline
def draw_violation(
    table: Any, columns: Any, weights: Any, Y: Any, i: int, t: int, draws: Any, work: Any
) -> tuple[int, float]:
    """Draw a true label, then false ones until one violates the margin (WARP); see `find_violations`.

    Only those labels are scored. The fewer draws it took, the higher a false label must rank, and the more the
    pair weighs.
    """
    first, n, L = Y.starts[i], Y.starts[i + 1] - Y.starts[i], work.scores.size
    state = mix(draws.seed + np.uint64(draws.before + t) * GOLDEN)
    true = Y.labels[first + below(state, n)]
    own = score_label(table, columns, weights, work.scores, true)
    for count in range(1, min(L - n, draws.most) + 1):
        state, false = draw_false_label(state, Y, first, n, L)
        short = score_label(table, columns, weights, work.scores, false) - own + 1.0
        if not short <= 0.0:
            weight = draws.harmonic[(L - n) // count] / draws.harmonic[L - n]
            work.columns[0], work.values[0] = true, weight
            work.columns[1], work.values[1] = false, -weight
            return 2, weight * short
    return 0, 0.0


def draw_false_label(state: Any, Y: Any, first: int, n: int, L: int) -> Any:
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
