"""One step of ERKLE: the direction in which an answer moves a kernel, and how far (section 4 of the paper).

For a triplet (a, b, c) the direction is -G of (4.10). G is not the exact gradient of near - far, which has ±1
where G has ±2, but a descent direction with consistent constants: its eigenvalues are 3, 0 and -3, and a step of
size γ lowers near - far by 10 γ. A quadruplet of four objects takes the exact gradient, with 2, 0, -2 and 8 γ.

A gradient step has γ = δ(t) f, where f is the slope of the loss: 1 - p for STE, 0 or 1 for GNMDS, and for any loss
the mean of its two slopes, ½(∂/∂near - ∂/∂far). A passive-aggressive step meets the margin exactly (4.18): γ =
(near - far + margin) / 10. A margin of log P - log(1 - P) stands for a probability P (4.20). The cap on a step, as
in PA-I, is future work in the paper.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

THIRD, HALF = 1.0 / 3.0, np.sqrt(0.5)


class Direction(NamedTuple):
    """A step of size γ adds ``eigenvalue * γ * (up upᵀ - down downᵀ)`` to the kernel at its objects."""

    near: tuple[int, int]  # positions among the objects
    far: tuple[int, int]
    up: np.ndarray  # of unit length
    down: np.ndarray
    eigenvalue: float
    descent: float  # times γ: how much the step lowers near - far
    up_up: np.ndarray  # up upᵀ
    down_down: np.ndarray


def _direction(
    far: tuple[int, int], up: list[float], down: list[float], scale: float, eigenvalue: float, descent: float
) -> Direction:
    p, u = np.array(up) * scale, np.array(down) * scale
    return Direction((0, 1), far, p, u, eigenvalue, descent, np.outer(p, p), np.outer(u, u))


TRIPLET = _direction((0, 2), [2.0, 1.0, -2.0], [2.0, -2.0, 1.0], THIRD, eigenvalue=3.0, descent=10.0)
QUADRUPLET = _direction((2, 3), [0.0, 0.0, 1.0, -1.0], [1.0, -1.0, 0.0, 0.0], HALF, eigenvalue=2.0, descent=8.0)


def direction_of(i: int, j: int, l: int, k: int) -> tuple[list[int], Direction]:  # noqa: E741
    """Return the objects of "d(i, j) < d(l, k)" and their direction; pairs that share an object are a triplet."""
    if l in (i, j):
        return [l, i + j - l, k], TRIPLET
    if k in (i, j):
        return [k, i + j - k, l], TRIPLET
    return [i, j, l, k], QUADRUPLET


class GradientStep(NamedTuple):
    """Steps of size δ(t) times the slope of a loss, times the weight of the answer."""

    of: Any
    rate: Callable[[int], float]

    def size(self, near: float, far: float, descent: float, weight: float, t: int) -> float:
        """Return γ for the answer at count t."""
        near_slope, far_slope = self.of.slopes(near, far)
        gamma = 0.5 * weight * self.rate(t) * float(near_slope - far_slope)
        if not math.isfinite(gamma):
            raise ValueError(f"the loss {self.of!r} has no finite slope at near={near:.4g}, far={far:.4g}")
        return gamma

    def mean_loss(self, distances: Sequence[tuple[float, float]]) -> float:
        """Return the mean loss of near and far distances."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return float(np.mean(self.of.value(*np.array(distances).T)))


class PassiveAggressiveStep(NamedTuple):
    """Steps that meet a margin exactly, but lower near - far by ``cap`` at most."""

    margin: float
    cap: float

    def size(self, near: float, far: float, descent: float, weight: float, t: int) -> float:
        """Return γ, which does not depend on the count t; not positive if the margin is met."""
        # A weight below one shortens a step; one above does not lengthen it, which would overshoot.
        return min(min(weight, 1.0) * (near - far + self.margin), self.cap) / descent

    def mean_loss(self, distances: Sequence[tuple[float, float]]) -> float:
        """Return by how much the margin is missed on average."""
        return sum(max(0.0, near - far + self.margin) for near, far in distances) / len(distances)


StepRule = GradientStep | PassiveAggressiveStep
