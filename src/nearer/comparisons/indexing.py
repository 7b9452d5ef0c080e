"""The rows that an index selects, where the rows of one answer must stay together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole_answers(answers: NDArray[np.int32], n_answers: int, index: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return all rows of the answers whose first row is in `index`, in the order of `index`.

    `answers` are numbered in order of first appearance, as in `Comparisons`.
    """
    first = np.empty(len(answers), dtype=bool)
    first[:1] = True
    np.greater(answers[1:], np.maximum.accumulate(answers)[:-1], out=first[1:])
    selected = answers[index[first[index]]]
    counts = np.bincount(answers, minlength=n_answers)
    ends = np.cumsum(counts)
    by_answer = np.argsort(answers, kind="stable")
    lengths = counts[selected]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return by_answer[np.repeat((ends - counts)[selected], lengths) + within]


def row_indices(key: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the row indices of a slice, a mask or a list of indices, validated."""
    if isinstance(key, slice):
        return np.arange(n_rows)[key]
    index = np.asarray(key)
    if index.dtype == bool:
        if index.shape != (n_rows,):
            raise IndexError(f"a mask must have one value for each of the {n_rows} rows; got shape {index.shape}")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.empty(0, dtype=np.intp)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise IndexError(f"rows are selected by a slice, a mask or a list of row numbers; got {key!r}")
    if index.min() < -n_rows or index.max() >= n_rows:
        raise IndexError(f"there are {n_rows} rows; got row numbers from {index.min()} to {index.max()}")
    return np.where(index < 0, index + n_rows, index).astype(np.intp)


def has_repeats(index: NDArray[np.intp], n_rows: int) -> bool:
    """Return whether a row is selected more than once."""
    seen = np.zeros(n_rows, dtype=bool)
    seen[index] = True
    return int(np.count_nonzero(seen)) < len(index)
