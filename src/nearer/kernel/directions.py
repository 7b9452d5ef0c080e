"""The direction in which one answer pushes a kernel: two opposite rank-one matrices of three or four objects.

For a triplet (a, b, c) this is -G of (4.10) in the ERKLE paper. G is not the exact gradient of near - far, which
has ±1 where G has ±2, but a descent direction whose constants are consistent: eigenvalues 3, 0 and -3, and a step
of length γ lowers near - far by 10 γ. A quadruplet of four objects takes the exact gradient: eigenvalues 2, 0, -2
and 8 γ.
"""

from typing import NamedTuple

import numpy as np

THIRD, HALF = 1.0 / 3.0, np.sqrt(0.5)


class Direction(NamedTuple):
    """A step of length γ adds ``spread * γ * (up upᵀ - down downᵀ)`` to the kernel at these objects.

    Attributes
    ----------
    near, far : tuple of int
        The two pairs, as positions in ``objects``.
    up, down : array
        Unit eigenvectors of the step.
    spread : float
        Its eigenvalues are ±spread * γ.
    slope : float
        The step lowers near - far by slope * γ.
    """

    near: tuple[int, int]
    far: tuple[int, int]
    up: np.ndarray
    down: np.ndarray
    spread: float
    slope: float

    @property
    def turn(self) -> np.ndarray:
        """What a step adds to the kernel at its objects, in units of its largest eigenvalue."""
        return np.outer(self.up, self.up) - np.outer(self.down, self.down)


TRIPLET = Direction(
    near=(0, 1),
    far=(0, 2),
    up=np.array([2.0, 1.0, -2.0]) * THIRD,
    down=np.array([2.0, -2.0, 1.0]) * THIRD,
    spread=3.0,
    slope=10.0,
)
QUADRUPLET = Direction(
    near=(0, 1),
    far=(2, 3),
    up=np.array([0.0, 0.0, HALF, -HALF]),
    down=np.array([HALF, -HALF, 0.0, 0.0]),
    spread=2.0,
    slope=8.0,
)


def objects_of(i: int, j: int, l: int, k: int) -> tuple[list[int], Direction]:  # noqa: E741  (the papers' letters)
    """Return the objects of "d(i, j) < d(l, k)" and how it pushes them; pairs that share an object are a triplet.

    Examples
    --------
    >>> objects_of(4, 7, 9, 4)[0]
    [4, 7, 9]
    >>> objects_of(4, 7, 9, 5)[1].slope
    8.0
    """
    if l in (i, j):
        return [l, i + j - l, k], TRIPLET
    if k in (i, j):
        return [k, i + j - k, l], TRIPLET
    return [i, j, l, k], QUADRUPLET
