"""The compiled loops of the similarities: one step after another, on a matrix that stays in place.

A triplet (a, b, c) is the rank-one matrix x zᵀ with x = X[a] and z = X[b] - X[c]: no step makes a matrix of its
own. Dense features of few columns go through `sdca_dense`, which changes the matrix for one triplet and reads off
the score of the next in one pass over it. Dense features of many columns go by blocks
(:mod:`nearer.similarity.triplets`), of which only the coefficients are found here. Of sparse rows only the entries
that are there are touched. ``duals`` are `nearer.similarity.sdca.Duals`;
``coefficient``, ``add_step`` and ``pair_change`` are bound to one of the functions below.
"""

# ruff: noqa: F821
from collections.abc import Callable
from typing import Any

# Bound when a loop is compiled.
coefficient: Callable
add_step: Callable
pair_change: Callable


def sdca_dense(
    X: Any, rows: Any, duals: Any, picks: Any, now: int, matrix: Any, score: float, z: Any, z_next: Any
) -> None:
    """Take a step of Algorithm 1 for each pick, the first with this score and z; ``z_next`` is space for another z."""
    d = X.shape[1]
    i = picks[0]
    a = rows[i, 0]
    for t in range(picks.size):
        change = ascend(duals, i, score, now + t + 1)
        i = picks[min(t + 1, picks.size - 1)]
        a_next, b, c = rows[i, 0], rows[i, 1], rows[i, 2]
        for k in range(d):
            z_next[k] = X[b, k] - X[c, k]
        score = 0.0
        if change == 0.0:  # soon the most frequent case: a satisfied triplet of α = 0
            for r in range(d):
                part = 0.0
                for k in range(d):
                    part += matrix[r, k] * z_next[k]
                score += X[a_next, r] * part
        else:
            for r in range(d):
                factor = change * X[a, r]
                part = 0.0
                for k in range(d):
                    entry = matrix[r, k] + factor * z[k]
                    matrix[r, k] = entry
                    part += entry * z_next[k]
                score += X[a_next, r] * part
        for k in range(d):
            z[k] = z_next[k]
        a = a_next


def scores_dense(left: Any, X: Any, rows: Any, scores: Any) -> None:
    """Fill in the inner product of ``left[a]`` with X[b] - X[c] for each row (a, b, c)."""
    d = X.shape[1]
    for t in range(len(rows)):
        a, b, c = rows[t, 0], rows[t, 1], rows[t, 2]
        score = 0.0
        for k in range(d):
            score += left[a, k] * (X[b, k] - X[c, k])
        scores[t] = score


def dense_block(scores: Any, products: Any, state: Any, picks: Any, now: int, changes: Any) -> float:
    """Find the coefficients of a block of steps from scores before it and inner products; return the sum of losses."""
    total = 0.0
    for t in range(picks.size):
        score = scores[t]
        for s in range(t):
            score += changes[s] * products[t, s]
        changes[t] = coefficient(state, picks[t], score, now + t + 1)
        total += max(0.0, 1.0 - score)
    return total


def sparse_steps(table: Any, rows: Any, state: Any, picks: Any, now: int, matrix: Any, workspace: Any) -> float:
    """Take a step for each pick, in order; return the sum of losses before each."""
    total = 0.0
    for t in range(picks.size):
        i = picks[t]
        size = _difference(table, rows[i, 1], rows[i, 2], workspace)
        score = _score(table, rows[i, 0], matrix, workspace, size)
        change = coefficient(state, i, score, now + t + 1)
        if change != 0.0:
            add_step(table, rows[i, 0], change, matrix, workspace, size)
        total += max(0.0, 1.0 - score)
    return total


def ascend(duals: Any, i: int, score: float, now: int) -> float:
    """Take the closed-form step of dual variable i of SDCA; return the coefficient of its triplet's matrix.

    ``sums`` adds up the old value times the steps that it stood, for the average.
    """
    old = duals.alpha[i]
    step = max((1.0 - score - 0.5 * old) / duals.curvature[i], -old)
    duals.sums[i] += old * (now - duals.changed_at[i])
    duals.changed_at[i] = now
    duals.alpha[i] = old + step
    return duals.weight[i] * step


def passive_aggressive(state: Any, i: int, score: float, now: int) -> float:
    """Return the coefficient of OASIS: the smallest that meets the margin, capped."""
    squares, caps = state
    return min(caps[i], max(0.0, 1.0 - score) / squares[i]) if squares[i] > 0.0 else 0.0


def scores_sparse(table: Any, rows: Any, matrix: Any, workspace: Any, scores: Any) -> None:
    """Fill in the score xᵀMz of each row."""
    for t in range(len(rows)):
        size = _difference(table, rows[t, 1], rows[t, 2], workspace)
        scores[t] = _score(table, rows[t, 0], matrix, workspace, size)


def matrix_sparse(table: Any, rows: Any, coefficients: Any, matrix: Any, workspace: Any) -> None:
    """Add the rows' rank-one matrices, each times its coefficient."""
    for t in range(len(rows)):
        if coefficients[t] != 0.0:
            size = _difference(table, rows[t, 1], rows[t, 2], workspace)
            add_general(table, rows[t, 0], coefficients[t], matrix, workspace, size)


def _difference(table: Any, b: int, c: int, workspace: Any) -> int:
    """Write X[b] - X[c] into the workspace, shared columns twice, and return the number of entries.

    Merging them, as `nearer.lowrank.vectors.subtract_rows` does, makes steps on rows of ten entries a fifth slower,
    and on texts, whose rows share many columns, a fifth faster.
    """
    data, indices, indptr = table
    columns, values = workspace
    size = 0
    for p in range(indptr[b], indptr[b + 1]):
        columns[size] = indices[p]
        values[size] = data[p]
        size += 1
    for p in range(indptr[c], indptr[c + 1]):
        columns[size] = indices[p]
        values[size] = -data[p]
        size += 1
    return size


def _score(table: Any, a: int, matrix: Any, workspace: Any, size: int) -> float:
    """Return X[a]ᵀ matrix z for the z in the workspace."""
    data, indices, indptr = table
    columns, values = workspace
    score = 0.0
    for p in range(indptr[a], indptr[a + 1]):
        r = indices[p]
        part = 0.0
        for k in range(size):
            part += matrix[r, columns[k]] * values[k]
        score += data[p] * part
    return score


def add_general(table: Any, a: int, change: float, matrix: Any, workspace: Any, size: int) -> None:
    """Add change X[a] zᵀ to the matrix for the z in the workspace."""
    data, indices, indptr = table
    columns, values = workspace
    for p in range(indptr[a], indptr[a + 1]):
        r = indices[p]
        factor = change * data[p]
        for k in range(size):
            matrix[r, columns[k]] += factor * values[k]


def add_symmetric(table: Any, a: int, change: float, matrix: Any, workspace: Any, size: int) -> None:
    """Add half of change (X[a] zᵀ + z X[a]ᵀ) to the matrix for the z in the workspace."""
    add_general(table, a, 0.5 * change, matrix, workspace, size)
    add_general(table, a, 0.5 * change, matrix.T, workspace, size)


def pair_pass(X: Any, pairs: Any, signs: Any, bounds: Any, state: Any, matrix: Any, z: Any, moved: Any) -> int:
    """Take a step for each pair; return how many violated their bound. ``z``, ``moved``: space for a row each."""
    d = X.shape[1]
    violated = 0
    for t in range(len(pairs)):
        i, j, sign = pairs[t, 0], pairs[t, 1], signs[t]
        square = 0.0
        for k in range(d):
            z[k] = X[i, k] - X[j, k]
        for r in range(d):
            part = 0.0
            for k in range(d):
                part += matrix[r, k] * z[k]
            moved[r] = part
            square += part * z[r]
        if square <= 0.0:  # two objects of the same features: nothing to learn
            continue
        violated += sign * (square - bounds[t]) > 0.0
        change = pair_change(t, sign, square, bounds[t], state)
        if change == 0.0:
            continue
        for r in range(d):
            factor = change * moved[r]
            for k in range(d):
                matrix[r, k] += factor * moved[k]
    return violated


def itml_change(t: int, sign: float, square: float, bound: float, state: Any) -> float:
    """Project onto the constraint of a pair (Davis et al. 2007)."""
    slack, multipliers, slack_bounds = state
    wanted = sign * slack / (slack + 1.0) * (1.0 / square - 1.0 / slack_bounds[t])
    step = min(multipliers[t], wanted)
    multipliers[t] -= step
    slack_bounds[t] = slack * slack_bounds[t] / (slack + sign * step * slack_bounds[t])
    return sign * step / (1.0 - sign * step * square)


def lego_change(t: int, sign: float, square: float, bound: float, state: Any) -> float:
    """Step towards the bound of a pair that violates it (Jain et al. 2008)."""
    if sign * (square - bound) <= 0.0:
        return 0.0
    rate = state[0]
    half = rate * bound * square - 1.0
    reached = (half + (half * half + 4.0 * rate * square * square) ** 0.5) / (2.0 * rate * square)
    change = rate * (reached - bound)
    return -change / (1.0 + change * square)
