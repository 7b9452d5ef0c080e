"""Rows of a table of features as the loops take them: dense or sparse, they look alike."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import issparse


class Rows(NamedTuple):
    """A table by its rows: row i has its values from ``starts[i]`` on, and its columns from ``places[i]`` on.

    Columns rise within a row. The rows of a dense table share one list of columns, so nothing of it is copied.

    Attributes
    ----------
    values : array of float64
        One row after the other.
    columns : array of int32
        Where the values stand.
    starts : array of int64, shape (n + 1,)
        Where rows begin among the values.
    places : array of int64, shape (n,)
        Where the columns of rows begin.
    """

    values: np.ndarray
    columns: np.ndarray
    starts: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, table: Any) -> Self:
        """Return the rows of a C-contiguous array, or of a csr_array in canonical format.

        Examples
        --------
        >>> Rows.of(np.array([[1.0, 2.0], [3.0, 4.0]])).places
        array([0, 0])
        """
        n, d = table.shape
        if issparse(table):
            starts = table.indptr.astype(np.int64)
            return cls(table.data, table.indices.astype(np.int32, copy=False), starts, starts[:-1].copy())
        starts = np.arange(n + 1, dtype=np.int64) * d
        return cls(table.reshape(-1), np.arange(d, dtype=np.int32), starts, np.zeros(n, dtype=np.int64))

    @property
    def longest(self) -> int:
        """How many entries the longest row has."""
        return int(np.diff(self.starts).max(initial=0))


class StepRoom(NamedTuple):
    """Room for a step along a row and the difference of two others (``columns``, ``values``); else k numbers."""

    columns: np.ndarray
    values: np.ndarray
    vector: np.ndarray
    left: np.ndarray
    right: np.ndarray
    u: np.ndarray
    v: np.ndarray
    by: np.ndarray
    across: np.ndarray
    change: np.ndarray

    @classmethod
    def of(cls, entries: int, k: int) -> Self:
        """Return room for a direction of so many entries."""
        direction = np.empty(entries, dtype=np.int32), np.empty(entries)
        return cls._make([*direction, *(np.empty(k) for _ in range(8))])
