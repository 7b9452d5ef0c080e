"""The arrays that compiled steps take: the rows of a table, a factor, and a workspace."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import issparse


class Rows(NamedTuple):
    """A table by its rows: row i has its values from ``starts[i]`` on, and its columns from ``places[i]`` on.

    Columns rise within a row. The rows of a dense table share one list of columns, so nothing is copied.
    """

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, table: Any) -> Self:
        """Return the rows of a C-contiguous array, or of a csr_array in canonical format."""
        n, d = table.shape
        if issparse(table):
            starts = table.indptr.astype(np.int64)
            return cls(table.data, table.indices.astype(np.int32, copy=False), starts, starts[:-1].copy())
        starts = np.arange(n + 1, dtype=np.int64) * d
        return cls(table.reshape(-1), np.arange(d, dtype=np.int32), starts, np.zeros(n, dtype=np.int64))

    @property
    def longest(self) -> int:
        """The number of entries of the longest row."""
        return int(np.diff(self.starts).max(initial=0))

    @property
    def mean_square(self) -> float:
        """The mean squared length of the rows, 1 if all are zero."""
        total = float(self.values @ self.values)
        return total / len(self.places) if total > 0 else 1.0


class Factor(NamedTuple):
    """A tall matrix A = table · R of full column rank: R changes all rows at once; R_inv is R⁻¹, C is (AᵀA)⁻¹.

    ``traces`` are the smallest and the largest trace of C since it was computed from the table.
    """

    table: np.ndarray
    R: np.ndarray
    R_inv: np.ndarray
    C: np.ndarray
    traces: np.ndarray

    @classmethod
    def of(cls, A: np.ndarray) -> Self:
        """Return a factor of a copy of a matrix; ValueError if its columns do not have full rank."""
        factor = cls.plain(A)
        factor.compute_C()
        return factor

    @classmethod
    def plain(cls, A: np.ndarray) -> Self:
        """Return a copy of a matrix as a factor without C, for steps that change the table alone."""
        k = A.shape[1]
        return cls(np.array(A, dtype=np.float64, order="C"), np.eye(k), np.eye(k), np.eye(k), np.ones(2))

    def replace(self, A: np.ndarray) -> None:
        """Become another matrix, in place."""
        self.table[:] = A
        self.R[:] = self.R_inv[:] = np.eye(len(self.R))
        self.compute_C()

    def compute_C(self) -> None:
        """Compute C from the table alone."""
        with np.errstate(all="ignore"):  # what is not finite raises below
            gram = self.table.T @ self.table
            scale = 1.0 / np.sqrt(np.diagonal(gram))
            # LAPACK itself: of small matrices, scipy's checks of the input take longer than the inverse.
            cholesky, failed = dpotrf(gram * scale * scale[:, None])
            inverse = dpotrs(cholesky, np.eye(len(gram)))[0]
        if failed or not np.isfinite(inverse).all():
            raise ValueError(
                f"a factor of shape {self.table.shape} does not have rank {len(gram)}: its columns depend on each "
                "other. Use a smaller rank or smaller steps"
            )
        self.C[:] = inverse * scale * scale[:, None]
        self.traces[:] = np.trace(self.C)

    @property
    def growth(self) -> float:
        """The larger of ‖R‖²/k and ‖R⁻¹‖²/k: how far R is from the identity."""
        return max(float(np.vdot(R, R)) for R in (self.R, self.R_inv)) / len(self.R)

    @property
    def matrix(self) -> np.ndarray:
        """The matrix A, a new array."""
        with np.errstate(all="ignore"):  # whoever takes steps checks for numbers that are not finite
            return self.table @ self.R


class Workspace(NamedTuple):
    """The entries of the two sparse vectors of a gradient, and the small arrays of a step along it at rank k.

    For label ranking also the weights of a row's entries, and the scores of all labels.
    """

    columns: np.ndarray
    values: np.ndarray
    E: np.ndarray
    U: np.ndarray
    D: np.ndarray
    change: np.ndarray
    vectors: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, k: int, entries: int, longest: int = 0, n_labels: int = 0) -> Self:
        """Return the workspace for vectors of that many entries together, and for the longest row."""
        shapes = (2, k), (2, k), (2, 2), (2, k), (4, k), longest, n_labels
        return cls(np.empty(entries, dtype=np.int32), np.empty(entries), *(np.empty(shape) for shape in shapes))
