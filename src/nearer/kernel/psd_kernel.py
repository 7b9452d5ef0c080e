"""A kernel that takes ERKLE's steps and stays positive semidefinite: Algorithm 1 of the paper.

A step adds ω(p pᵀ - u uᵀ) to K, so at most one eigenvalue μ becomes negative (Theorem 4.1), and adding |μ| v vᵀ
for its eigenvector v gives the nearest positive semidefinite matrix. By Weyl's inequality a lower bound λ̂ of the
eigenvalues falls by ω per step; while it is not negative, no projection is needed. Small kernels leave the
eigenproblem to LAPACK; for many objects see :mod:`nearer.kernel.large`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from nearer.kernel.steps import Direction
from nearer.kernel.symmetric import mirror_lower


@dataclass
class EigenvalueBound:
    """The lower bound λ̂ of the smallest eigenvalue; counts eigenproblems solved and skipped."""

    value: float
    n_projections: int = 0
    n_skipped: int = 0

    def lower(self, by: float) -> bool:
        """Lower the bound by a step's eigenvalue; return whether no projection is needed."""
        self.value -= by
        if self.value >= 0.0:
            self.n_skipped += 1
            return True
        self.n_projections += 1
        return False


class SmallKernel:
    """The algorithm as printed, with the smallest eigenpair by LAPACK; copies the positive semidefinite matrix."""

    shift = 0.0  # of an inverse that only large kernels need

    def __init__(self, matrix: np.ndarray, bound: EigenvalueBound) -> None:
        self.bound = bound
        self._matrix = np.array(matrix, dtype=np.float64, order="F")

    def submatrix(self, objects: list[int]) -> np.ndarray:
        """Return the entries of some rows and columns."""
        return self._matrix[objects][:, objects]

    def step(self, objects: list[int], direction: Direction, step_size: float) -> None:
        """Take a step and project."""
        omega = direction.eigenvalue * step_size
        matrix = self._matrix.copy()  # an interruption leaves the old kernel in place
        matrix[np.ix_(objects, objects)] += omega * (direction.up_up - direction.down_down)
        if not self.bound.lower(omega):
            smallest, vector = smallest_eigenpair(matrix)
            if smallest < 0.0:
                matrix -= smallest * np.outer(vector, vector)
            self.bound.value = max(0.0, smallest)
        self._matrix = matrix

    def grow(self, n_objects: int) -> None:
        """Add objects, each a row and a column of the identity."""
        wider = np.eye(n_objects, order="F")
        wider[: len(self._matrix), : len(self._matrix)] = self._matrix
        self._matrix = wider

    def to_array(self) -> np.ndarray:
        """Return a copy of the kernel."""
        return mirror_lower(self._matrix.copy())

    def reset(self) -> None:
        """Do nothing: all state is in the matrix."""


def smallest_eigenpair(matrix: np.ndarray) -> tuple[float, np.ndarray]:
    """Return what scipy.linalg.eigh does, without its preparations: a seventh of the time for 100 objects."""
    n_work, n_integers, _ = lapack.dsyevr_lwork(len(matrix), lower=1)
    values, vectors, _, _, failed = lapack.dsyevr(
        matrix, range="I", il=1, iu=1, lower=1, lwork=int(n_work), liwork=int(n_integers)
    )
    if failed:
        raise np.linalg.LinAlgError(f"LAPACK found no smallest eigenvalue (dsyevr returned {failed})")
    return float(values[0]), vectors[:, 0]
