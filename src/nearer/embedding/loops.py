"""The compiled loops of the embedding: sums over comparisons and the inner steps of the stochastic solvers.

Each is plain Python that :func:`nearer.jit.bind` compiles for a loss; ``value`` and ``slopes`` are the loss's.
Rows come as (a, b, c) or (i, j, l, k); ``first`` and ``second`` columns are the near pair, and the far pair is
(rows[:, 0], rows[:, 2]) or (rows[:, 2], rows[:, 3]). Weights are read as ``weights[p * weighted]``: one entry
and ``weighted = 0`` where all weigh the same. Indices are cast to unsigned so that no loop handles negative ones.
Distances and debts are written out in each loop: a helper that is handed arrays costs reference counting, which
made a step two to three times slower. Stochastic loops take their rows in the order of the steps: :func:`gather`
lays them out first, because a run of independent reads is many times faster than one at a time in the middle of
the arithmetic.
"""

# ruff: noqa: F821
from collections.abc import Callable
from typing import Any

import numpy as np

from nearer import jit

# Bound to the compiled methods of a loss when a loop is compiled.
value: Callable
slopes: Callable
prefetch: Callable = jit.prefetch

BLOCK = 256  # comparisons whose distances are at hand at once


def add_gradient(points: Any, rows: Any, weights: Any, weighted: int, gradient: Any) -> float:
    """Add the gradient of the weighted sum of losses to ``gradient`` and return that sum.

    Block by block: all distances, then all losses and slopes (no reads from afar, so that they become vector
    instructions), then all pulls.
    """
    number = points.dtype.type
    third = np.uintp(0 if rows.shape[1] == 3 else 2)
    fourth = np.uintp(2 if rows.shape[1] == 3 else 3)
    nears, fars, losses = np.empty(BLOCK, points.dtype), np.empty(BLOCK, points.dtype), np.empty(BLOCK)
    total = 0.0
    for start in range(0, rows.shape[0], BLOCK):
        size = min(BLOCK, rows.shape[0] - start)
        for q in range(size):
            i, j = np.uintp(rows[start + q, 0]), np.uintp(rows[start + q, 1])
            l, k = np.uintp(rows[start + q, third]), np.uintp(rows[start + q, fourth])  # noqa: E741
            near, far = number(0.0), number(0.0)
            for c in range(points.shape[1]):
                near_side, far_side = points[i, c] - points[j, c], points[l, c] - points[k, c]
                near += near_side * near_side
                far += far_side * far_side
            nears[q], fars[q] = near, far
        for q in range(size):
            near, far = nears[q], fars[q]
            losses[q] = value(near, far)
            near_slope, far_slope = slopes(near, far)
            nears[q], fars[q] = number(2.0 * near_slope), number(2.0 * far_slope)
        for q in range(size):
            i, j = np.uintp(rows[start + q, 0]), np.uintp(rows[start + q, 1])
            l, k = np.uintp(rows[start + q, third]), np.uintp(rows[start + q, fourth])  # noqa: E741
            weight = weights[(start + q) * weighted]
            total += weight * losses[q]
            near_pull, far_pull = number(weight * nears[q]), number(weight * fars[q])
            if i == l:  # a triplet: one write to the anchor, not two that wait for each other
                for c in range(points.shape[1]):
                    near_side = near_pull * (points[i, c] - points[j, c])
                    far_side = far_pull * (points[i, c] - points[k, c])
                    gradient[i, c] += near_side + far_side
                    gradient[j, c] -= near_side
                    gradient[k, c] -= far_side
            else:
                for c in range(points.shape[1]):
                    near_side = near_pull * (points[i, c] - points[j, c])
                    far_side = far_pull * (points[l, c] - points[k, c])
                    gradient[i, c] += near_side
                    gradient[j, c] -= near_side
                    gradient[l, c] += far_side
                    gradient[k, c] -= far_side
    return total


def gather(rows: Any, weights: Any, weighted: int, picks: Any, picked_rows: Any, picked_weights: Any) -> None:
    """Lay out the picked rows and their weights in the order of the picks."""
    for t in range(picks.size):
        p = np.uintp(picks[t])
        for c in range(rows.shape[1]):
            picked_rows[t, c] = rows[p, c]
        picked_weights[t * weighted] = weights[p * weighted]


def svrg_steps(
    state: Any,
    touched: Any,
    rows: Any,
    weights: Any,
    weighted: int,
    start: int,
    step_size: float,
    powers: Any,
    sums: Any,
    ahead: int,
) -> None:
    """Take one step of SVRG for each row (Algorithm 1, line 9), the dense term applied lazily.

    ``state[r]`` holds the object's point, its snapshot and its part of the full gradient side by side, and
    ``touched[r]`` the step up to which the point is up to date. A point left alone for s steps is owed
    x <- rho^s x - step_size (1 + rho + ... + rho^(s-1)) g, where rho = 1 - step_size * ridge. The power and the
    sum are read from two short tables: s = high * 2^12 + low. Where the state is larger than the caches, the
    objects of the step ``ahead`` of the current one are fetched early; 0 does without.
    """
    number = state.dtype.type
    third = np.uintp(0 if rows.shape[1] == 3 else 2)
    fourth = np.uintp(2 if rows.shape[1] == 3 else 3)
    width = state.shape[2]
    rescale = 1.0 / powers[0, 1]
    for p in range(rows.shape[0]):
        if ahead > 0 and p + ahead < rows.shape[0]:
            for c in range(rows.shape[1]):
                prefetch(touched, rows[p + ahead, c])
                prefetch(state, rows[p + ahead, c])
        now = start + p
        i, j = np.uintp(rows[p, 0]), np.uintp(rows[p, 1])
        l, k = np.uintp(rows[p, third]), np.uintp(rows[p, fourth])  # noqa: E741
        for r in (i, j, l, k):
            owed = now - touched[r]
            if owed > 0:
                low, high = np.uintp(owed & 4095), np.uintp(owed >> 12)
                kept = number(powers[0, low] * powers[1, high])
                pull = number(step_size * (sums[0, low] + powers[0, low] * sums[1, high]))
                for c in range(width):
                    state[r, 0, c] = kept * state[r, 0, c] - pull * state[r, 2, c]
                touched[r] = now
        near, far, near_then, far_then = number(0.0), number(0.0), number(0.0), number(0.0)
        for c in range(width):
            near_side, far_side = state[i, 0, c] - state[j, 0, c], state[l, 0, c] - state[k, 0, c]
            near += near_side * near_side
            far += far_side * far_side
            near_side, far_side = state[i, 1, c] - state[j, 1, c], state[l, 1, c] - state[k, 1, c]
            near_then += near_side * near_side
            far_then += far_side * far_side
        near_slope, far_slope = slopes(near, far)
        near_slope_then, far_slope_then = slopes(near_then, far_then)
        scale = 2.0 * step_size * weights[p * weighted] * rescale
        near_pull, far_pull = number(scale * near_slope), number(scale * far_slope)
        near_pull_then, far_pull_then = number(scale * near_slope_then), number(scale * far_slope_then)
        if i == l:
            for c in range(width):
                near_side = near_pull * (state[i, 0, c] - state[j, 0, c])
                near_side -= near_pull_then * (state[i, 1, c] - state[j, 1, c])
                far_side = far_pull * (state[i, 0, c] - state[k, 0, c])
                far_side -= far_pull_then * (state[i, 1, c] - state[k, 1, c])
                state[i, 0, c] -= near_side + far_side
                state[j, 0, c] += near_side
                state[k, 0, c] += far_side
        else:
            for c in range(width):
                near_side = near_pull * (state[i, 0, c] - state[j, 0, c])
                near_side -= near_pull_then * (state[i, 1, c] - state[j, 1, c])
                far_side = far_pull * (state[l, 0, c] - state[k, 0, c])
                far_side -= far_pull_then * (state[l, 1, c] - state[k, 1, c])
                state[i, 0, c] -= near_side
                state[j, 0, c] += near_side
                state[l, 0, c] -= far_side
                state[k, 0, c] += far_side


def settle(state: Any, touched: Any, now: int, step_size: float, powers: Any, sums: Any, points: Any) -> None:
    """Write all points to ``points``, each brought up to date with the steps it is owed; the state stays."""
    for r in range(state.shape[0]):
        owed = now - touched[r]
        low, high = np.uintp(owed & 4095), np.uintp(owed >> 12)
        kept = powers[0, low] * powers[1, high]
        pull = step_size * (sums[0, low] + powers[0, low] * sums[1, high])
        for c in range(state.shape[2]):
            points[r, c] = kept * state[r, 0, c] - pull * state[r, 2, c]


def svrg_batch_steps(
    state: Any,
    touched: Any,
    rows: Any,
    weights: Any,
    weighted: int,
    batch_size: int,
    start: int,
    step_size: float,
    powers: Any,
    sums: Any,
) -> None:
    """Take one step of SVRG for each ``batch_size`` rows, along their mean; otherwise as :func:`svrg_steps`.

    An object may occur several times in a minibatch, so all pulls are taken before any is applied.
    """
    number = state.dtype.type
    third = np.uintp(0 if rows.shape[1] == 3 else 2)
    fourth = np.uintp(2 if rows.shape[1] == 3 else 3)
    width = state.shape[2]
    pulls = np.empty((batch_size, 2, width), state.dtype)
    rescale = 1.0 / (powers[0, 1] * batch_size)
    for t in range(rows.shape[0] // batch_size):
        for b in range(batch_size):
            p = t * batch_size + b
            i, j = np.uintp(rows[p, 0]), np.uintp(rows[p, 1])
            l, k = np.uintp(rows[p, third]), np.uintp(rows[p, fourth])  # noqa: E741
            for r in (i, j, l, k):
                owed = start + t - touched[r]
                if owed > 0:
                    low, high = np.uintp(owed & 4095), np.uintp(owed >> 12)
                    kept = number(powers[0, low] * powers[1, high])
                    pull = number(step_size * (sums[0, low] + powers[0, low] * sums[1, high]))
                    for c in range(width):
                        state[r, 0, c] = kept * state[r, 0, c] - pull * state[r, 2, c]
                    touched[r] = start + t
            near, far, near_then, far_then = number(0.0), number(0.0), number(0.0), number(0.0)
            for c in range(width):
                near_side, far_side = state[i, 0, c] - state[j, 0, c], state[l, 0, c] - state[k, 0, c]
                near += near_side * near_side
                far += far_side * far_side
                near_side, far_side = state[i, 1, c] - state[j, 1, c], state[l, 1, c] - state[k, 1, c]
                near_then += near_side * near_side
                far_then += far_side * far_side
            near_slope, far_slope = slopes(near, far)
            near_slope_then, far_slope_then = slopes(near_then, far_then)
            scale = 2.0 * step_size * weights[p * weighted] * rescale
            near_pull, far_pull = number(scale * near_slope), number(scale * far_slope)
            near_pull_then, far_pull_then = number(scale * near_slope_then), number(scale * far_slope_then)
            for c in range(width):
                near_side = near_pull * (state[i, 0, c] - state[j, 0, c])
                far_side = far_pull * (state[l, 0, c] - state[k, 0, c])
                pulls[b, 0, c] = near_side - near_pull_then * (state[i, 1, c] - state[j, 1, c])
                pulls[b, 1, c] = far_side - far_pull_then * (state[l, 1, c] - state[k, 1, c])
        for b in range(batch_size):
            p = t * batch_size + b
            i, j = np.uintp(rows[p, 0]), np.uintp(rows[p, 1])
            l, k = np.uintp(rows[p, third]), np.uintp(rows[p, fourth])  # noqa: E741
            for c in range(width):
                state[i, 0, c] -= pulls[b, 0, c]
                state[j, 0, c] += pulls[b, 0, c]
                state[l, 0, c] -= pulls[b, 1, c]
                state[k, 0, c] += pulls[b, 1, c]


def sgd_steps(
    points: Any, touched: Any, rows: Any, weights: Any, weighted: int, start: int, step_size: float, powers: Any
) -> None:
    """Take one plain stochastic gradient step for each row; the ridge shrinks a point when it is next needed."""
    number = points.dtype.type
    third = np.uintp(0 if rows.shape[1] == 3 else 2)
    fourth = np.uintp(2 if rows.shape[1] == 3 else 3)
    rescale = 1.0 / powers[0, 1]
    for p in range(rows.shape[0]):
        i, j = np.uintp(rows[p, 0]), np.uintp(rows[p, 1])
        l, k = np.uintp(rows[p, third]), np.uintp(rows[p, fourth])  # noqa: E741
        for r in (i, j, l, k):
            owed = start + p - touched[r]
            if owed > 0:
                kept = number(powers[0, np.uintp(owed & 4095)] * powers[1, np.uintp(owed >> 12)])
                for c in range(points.shape[1]):
                    points[r, c] *= kept
                touched[r] = start + p
        near, far = number(0.0), number(0.0)
        for c in range(points.shape[1]):
            near_side, far_side = points[i, c] - points[j, c], points[l, c] - points[k, c]
            near += near_side * near_side
            far += far_side * far_side
        near_slope, far_slope = slopes(near, far)
        scale = 2.0 * step_size * weights[p * weighted] * rescale
        near_pull, far_pull = number(scale * near_slope), number(scale * far_slope)
        for c in range(points.shape[1]):
            near_side = near_pull * (points[i, c] - points[j, c])
            far_side = far_pull * (points[l, c] - points[k, c])
            points[i, c] -= near_side
            points[j, c] += near_side
            points[l, c] -= far_side
            points[k, c] += far_side


def adagrad_steps(points: Any, energy: Any, rows: Any, weights: Any, weighted: int, step_size: float) -> None:
    """Take one step for each row, shorter for objects that were pulled much already (AdaGrad, one rate a point).

    ``energy[r]`` sums the squared pulls on a point so far. What was learned from many answers hardly moves, a
    newcomer moves freely: so answers can be learned as they come without keeping the earlier ones.
    """
    number = points.dtype.type
    third = np.uintp(0 if rows.shape[1] == 3 else 2)
    fourth = np.uintp(2 if rows.shape[1] == 3 else 3)
    for p in range(rows.shape[0]):
        i, j = np.uintp(rows[p, 0]), np.uintp(rows[p, 1])
        l, k = np.uintp(rows[p, third]), np.uintp(rows[p, fourth])  # noqa: E741
        near, far = number(0.0), number(0.0)
        for c in range(points.shape[1]):
            near_side, far_side = points[i, c] - points[j, c], points[l, c] - points[k, c]
            near += near_side * near_side
            far += far_side * far_side
        near_slope, far_slope = slopes(near, far)
        weight = 2.0 * weights[p * weighted]
        near_pull, far_pull = number(weight * near_slope), number(weight * far_slope)
        near_energy, far_energy = near_pull * near_pull * near, far_pull * far_pull * far
        energy[i] += near_energy
        energy[j] += near_energy
        energy[l] += far_energy
        energy[k] += far_energy
        # The tiny term: an object that was never pulled has no energy, and zero over zero is no rate.
        i_rate, j_rate = step_size / np.sqrt(energy[i] + 1e-300), step_size / np.sqrt(energy[j] + 1e-300)
        l_rate, k_rate = step_size / np.sqrt(energy[l] + 1e-300), step_size / np.sqrt(energy[k] + 1e-300)
        for c in range(points.shape[1]):
            near_side = near_pull * (points[i, c] - points[j, c])
            far_side = far_pull * (points[l, c] - points[k, c])
            points[i, c] -= number(i_rate) * near_side
            points[j, c] += number(j_rate) * near_side
            points[l, c] -= number(l_rate) * far_side
            points[k, c] += number(k_rate) * far_side
