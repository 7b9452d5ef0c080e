"""A kernel that takes ERKLE's steps and stays positive semidefinite: Algorithm 1 of the paper.

A step adds ω(p pᵀ - u uᵀ) to K, with p and u of three or four objects, so at most one eigenvalue μ becomes
negative (Theorem 4.1), and adding |μ| v vᵀ for its eigenvector v gives the nearest positive semidefinite matrix.
Weyl's inequality tells when that cannot be needed: a lower bound λ̂ of the eigenvalues falls by ω a step. Small
kernels leave the eigenproblem to LAPACK; those of many objects have a file of their own,
:mod:`nearer.kernel.large`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import eigh

from nearer.kernel.directions import Direction
from nearer.kernel.symmetric import mirrored


class Stepped(Protocol):
    """What a kernel that takes steps does."""

    def at(self, objects: list[int]) -> np.ndarray:
        """Return the small matrix of these rows and columns."""

    def step(self, objects: list[int], direction: Direction, length: float) -> None:
        """Take a step of that length and project."""

    def grow(self, n_objects: int) -> None:
        """Add objects that are each their own: a row and a column of the identity."""

    def full(self) -> np.ndarray:
        """Return a copy of the kernel."""

    def settle(self) -> None:
        """Come to the state of a kernel that was just made from ``full()``."""


@dataclass
class Skipping:
    """The bound λ̂ that skips projections, with its counts.

    Attributes
    ----------
    bound : float
        λ̂, a lower bound of the smallest eigenvalue.
    n_projections, n_skipped : int
        Eigenproblems solved so far, and steps for which the bound ruled out that one was needed.
    """

    bound: float
    n_projections: int = 0
    n_skipped: int = 0

    def may_skip(self, fall: float) -> bool:
        """Lower the bound by Weyl's inequality; return whether the step surely leaves the kernel semidefinite."""
        self.bound -= fall
        if self.bound >= 0.0:
            self.n_skipped += 1
            return True
        self.n_projections += 1
        return False


class SmallKernel:
    """The algorithm as printed, the smallest eigenpair by LAPACK.

    Parameters
    ----------
    kernel : array of shape (n, n)
        A positive semidefinite matrix; it is copied.
    skipping : Skipping
        With a lower bound of its eigenvalues.
    """

    def __init__(self, kernel: np.ndarray, skipping: Skipping) -> None:
        self.skipping = skipping
        self._matrix = np.array(kernel, dtype=np.float64, order="F")

    def at(self, objects: list[int]) -> np.ndarray:
        """Return the small matrix of these rows and columns."""
        return self._matrix[np.ix_(objects, objects)]

    def step(self, objects: list[int], direction: Direction, length: float) -> None:
        """Take a step of that length and project."""
        fall = direction.spread * length
        matrix = self._matrix.copy()  # an interruption leaves the old kernel in place
        matrix[np.ix_(objects, objects)] += fall * direction.turn
        if not self.skipping.may_skip(fall):
            values, vectors = eigh(matrix, subset_by_index=[0, 0], check_finite=False)
            lowest = float(values[0])
            if lowest < 0.0:
                matrix -= lowest * np.outer(vectors[:, 0], vectors[:, 0])
            self.skipping.bound = max(0.0, lowest)
        self._matrix = matrix

    def grow(self, n_objects: int) -> None:
        """Add objects that are each their own: a row and a column of the identity."""
        wider = np.eye(n_objects, order="F")
        wider[: len(self._matrix), : len(self._matrix)] = self._matrix
        self._matrix = wider

    def full(self) -> np.ndarray:
        """Return a copy of the kernel."""
        return mirrored(self._matrix.copy())

    def settle(self) -> None:
        """Nothing waits here."""
