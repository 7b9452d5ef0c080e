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

Objective = Callable[[Any], tuple[float, Any]]


class Changes:
    """The last changes of points and gradients as numpy arrays, and the direction that they lead to.

    Points on another device have a class of their own with the same methods.

    Parameters
    ----------
    points : array
        Of the shape and type of all points.
    memory : int
        Pairs of changes that are kept.
    """

    def __init__(self, points: np.ndarray, memory: int) -> None:
        self._moved, self._turned = np.empty((2, memory, points.size), points.dtype)
        self._bends, self._count = np.empty(memory), 0
        self._find_direction, self._remember, self._inner = _compiled_loops()

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        """Forget all changes."""
        self._count = 0

    def direction(self, gradient: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the direction of the next step and the slope along it."""
        direction = np.empty(gradient.shape, gradient.dtype)
        memory = (self._moved, self._turned, self._bends)
        return direction, self._find_direction(gradient.ravel(), direction.ravel(), *memory, self._count)

    def remember(
        self, points: np.ndarray, gradient: np.ndarray, end: np.ndarray, end_gradient: np.ndarray
    ) -> None:
        """Add the changes of a step, if the objective curves up along it."""
        step = points.ravel(), gradient.ravel(), end.ravel(), end_gradient.ravel()
        self._count = self._remember(*step, self._moved, self._turned, self._bends, self._count)

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the inner product."""
        return self._inner(x.ravel(), y.ravel())


class LimitedMemory:
    """A point that iterations of L-BFGS move, with its value and gradient, and the last changes of both.

    Parameters
    ----------
    objective : callable
        Returns value and gradient of a point.
    start : array of shape (n, d)
        Where to start.
    changes : Changes
        The memory, still empty.
    """

    def __init__(self, objective: Objective, start: Any, changes: Any) -> None:
        self.objective = objective
        self.points = start
        self.value, self.gradient = objective(start)
        self.n_evaluations = 1
        self.changes = changes

    def step(self) -> bool:
        """Take an iteration; return False if no step leads down, and then stay."""
        direction, slope = self.changes.direction(self.gradient)
        found = self._search(direction, slope) if slope < 0.0 else None
        if found is None and len(self.changes) > 0:  # once more, along the gradient
            self.changes.clear()
            return self.step()
        if found is None:
            return False
        points, self.value, gradient = found
        self.changes.remember(self.points, self.gradient, points, gradient)
        self.points, self.gradient = points, gradient
        return True

    def _search(self, direction: Any, slope: float) -> tuple[Any, float, Any] | None:
        """Return the end of a step along a direction, with its value and gradient."""
        size = 1.0 if len(self.changes) > 0 else min(1.0, 1.0 / float(np.sqrt(-slope)))
        shortest, longest = 0.0, np.inf
        for _ in range(TRIES):
            points = self.points + float(size) * direction
            value, gradient = self.objective(points)
            self.n_evaluations += 1
            if not value <= self.value + DECREASE * size * slope:
                longest = size
                excess = value - self.value - size * slope
                # To the minimum of the parabola through what is known, within limits.
                part = -0.5 * size * slope / excess if shortest == 0.0 and np.isfinite(excess) else 0.5
                size = shortest + min(max(part, 0.1), 0.5) * (size - shortest)
                continue
            end_slope = self.changes.inner(direction, gradient)
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
    start: Any,
    memory: int,
    monitor: Monitor,
    describe: Callable[[LimitedMemory], dict[str, Any]] = lambda state: {},
    changes: Callable[[Any, int], Any] = Changes,
) -> Any:
    """Return the point at which the monitor ends L-BFGS, or from which no step leads down.

    ``describe(state)`` returns further entries of the record of an iteration. Points are arrays of any library for
    which ``changes(start, memory)`` makes a `Changes`.
    """
    state = LimitedMemory(objective, start, changes(start, memory))
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
