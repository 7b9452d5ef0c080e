"""Limited-memory BFGS with the arithmetic of an iteration compiled: a fit of few comparisons takes half the time.

The line search is that of Lewis and Overton (2013): steps are lengthened or shortened until the objective falls and
its slope rises enough (weak Wolfe conditions), which also works at the kinks of a hinge.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nearer.jit import bind
from nearer.monitor import Monitor

DECREASE, CURVATURE = 1e-4, 0.9  # of the Wolfe conditions
TRIES = 25  # steps that are tried along a direction

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class LimitedMemory:
    """A point that iterations of L-BFGS move, with its value and gradient, and the last changes of both.

    Parameters
    ----------
    objective : callable
        Returns value and gradient of a point.
    start : array of shape (n, d)
        Where to start.
    memory : int
        Pairs of changes that are kept.
    """

    def __init__(self, objective: Objective, start: np.ndarray, memory: int) -> None:
        self.objective = objective
        self.points = start
        self.value, self.gradient = objective(start)
        self.n_evaluations = 1
        self._moved, self._turned = np.empty((2, memory, start.size), start.dtype)
        self._bends, self._count = np.empty(memory), 0
        self._find_direction, self._remember, self._inner = _compiled_loops()

    def step(self) -> bool:
        """Take an iteration; return False if no step leads down, and then stay."""
        memory = (self._moved, self._turned, self._bends)
        flat = self.gradient.ravel()
        direction = np.empty_like(flat)
        slope = self._find_direction(flat, direction, *memory, self._count)
        found = self._search(direction.reshape(self.points.shape), slope) if slope < 0.0 else None
        if found is None and self._count > 0:  # once more, along the gradient
            self._count = 0
            return self.step()
        if found is None:
            return False
        points, self.value, gradient = found
        self._count = self._remember(
            self.points.ravel(), flat, points.ravel(), gradient.ravel(), *memory, self._count
        )
        self.points, self.gradient = points, gradient
        return True

    def _search(self, direction: np.ndarray, slope: float) -> tuple[np.ndarray, float, np.ndarray] | None:
        """Return the end of a step along a direction, with its value and gradient."""
        size = 1.0 if self._count > 0 else min(1.0, 1.0 / float(np.sqrt(-slope)))
        shortest, longest = 0.0, np.inf
        for _ in range(TRIES):
            points = self.points + self.points.dtype.type(size) * direction
            value, gradient = self.objective(points)
            self.n_evaluations += 1
            if not value <= self.value + DECREASE * size * slope:
                longest = size
                excess = value - self.value - size * slope
                # To the minimum of the parabola through what is known, within limits.
                part = -0.5 * size * slope / excess if shortest == 0.0 and np.isfinite(excess) else 0.5
                size = shortest + min(max(part, 0.1), 0.5) * (size - shortest)
                continue
            end_slope = self._inner(direction.ravel(), gradient.ravel())
            if end_slope >= CURVATURE * slope:
                return points, value, gradient
            shortest = size
            longer = min(max(slope / (slope - end_slope), 2.0), 10.0) if slope < end_slope else 10.0
            size = longer * size if longest == np.inf else 0.5 * (shortest + longest)
        return (points, value, gradient) if value < self.value else None


@cache
def _compiled_loops() -> tuple[Callable, Callable, Callable]:
    """Return the loops of an iteration, which are bound once: a small fit takes less time than their hash."""
    return bind(find_direction), bind(remember), bind(inner)


def minimize(
    objective: Objective,
    start: np.ndarray,
    memory: int,
    monitor: Monitor,
    describe: Callable[[LimitedMemory], dict[str, Any]] = lambda state: {},
) -> np.ndarray:
    """Return the point at which the monitor ends L-BFGS, or from which no step leads down.

    ``describe(state)`` returns further entries of the record of an iteration.
    """
    state = LimitedMemory(objective, start, memory)
    while monitor.go_on(state.points, loss=state.value, **describe(state)):
        if not state.step():
            monitor.stop("converged")
            break
    return state.points


def inner(x: Any, y: Any) -> float:
    """Return the inner product."""
    total = 0.0
    for c in range(x.size):
        total += x[c] * y[c]
    return total


def find_direction(gradient: Any, direction: Any, moved: Any, turned: Any, bends: Any, count: int) -> float:
    """Fill in the direction of the next step, by the two loops of Nocedal (1980), and return the slope along it."""
    number = gradient.dtype.type
    memory = bends.size
    kept = min(count, memory)
    weights = np.zeros(memory)
    for c in range(gradient.size):
        direction[c] = -gradient[c]
    for back in range(kept):
        p = (count - 1 - back) % memory
        weights[p] = inner(moved[p], direction) / bends[p]
        weight = number(weights[p])
        for c in range(gradient.size):
            direction[c] -= weight * turned[p, c]
    if kept > 0:
        p = (count - 1) % memory
        scale = number(bends[p] / inner(turned[p], turned[p]))
        for c in range(gradient.size):
            direction[c] *= scale
    for back in range(kept - 1, -1, -1):
        p = (count - 1 - back) % memory
        weight = number(weights[p] - inner(turned[p], direction) / bends[p])
        for c in range(gradient.size):
            direction[c] += weight * moved[p, c]
    return inner(direction, gradient)


def remember(
    x: Any, gradient: Any, end: Any, end_gradient: Any, moved: Any, turned: Any, bends: Any, count: int
) -> int:
    """Add the changes of a step to the memory, if the objective curves up along it; return the new count."""
    bend = move_size = turn_size = 0.0
    for c in range(x.size):
        move, turn = end[c] - x[c], end_gradient[c] - gradient[c]
        bend += move * turn
        move_size += move * move
        turn_size += turn * turn
    if not bend > 1e-10 * np.sqrt(move_size * turn_size):
        return count
    p = count % bends.size
    for c in range(x.size):
        moved[p, c], turned[p, c] = end[c] - x[c], end_gradient[c] - gradient[c]
    bends[p] = bend
    return count + 1
