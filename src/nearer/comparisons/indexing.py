"""Which rows an index means, when the rows of one answer must stay together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def whole_answers(answers: NDArray[np.int32], n_answers: int, index: NDArray[np.intp]) -> NDArray[np.intp]:
    """All rows of the answers whose first row is among `index`, in the order of `index`.

    `answers` are numbered in order of first appearance, as `Comparisons` keeps them.

    Examples
    --------
    >>> whole_answers(np.array([0, 0, 1, 1], dtype=np.int32), 2, np.array([2, 1]))
    array([2, 3])
    """
    first = np.empty(len(answers), dtype=bool)
    first[:1] = True
    np.greater(answers[1:], np.maximum.accumulate(answers)[:-1], out=first[1:])
    taken = answers[index[first[index]]]
    counts = np.bincount(answers, minlength=n_answers)
    ends = np.cumsum(counts)
    by_answer = np.argsort(answers, kind="stable")
    lengths = counts[taken]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return by_answer[np.repeat((ends - counts)[taken], lengths) + within]


def row_numbers(key: Any, n_rows: int) -> NDArray[np.intp]:
    """Row numbers from a slice, a mask or a list of numbers, checked.

    Examples
    --------
    >>> row_numbers([True, False, True], 3), row_numbers([-1], 3)
    (array([0, 2]), array([2]))
    """
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
        raise IndexError(f"rows are taken by a slice, a mask or a list of row numbers; got {key!r}")
    if index.min() < -n_rows or index.max() >= n_rows:
        raise IndexError(f"there are {n_rows} rows; got row numbers from {index.min()} to {index.max()}")
    return np.where(index < 0, index + n_rows, index).astype(np.intp)


def repeats(index: NDArray[np.intp], n_rows: int) -> bool:
    """Whether some row is taken more than once.

    Examples
    --------
    >>> repeats(np.array([0, 2, 0]), 3)
    True
    """
    seen = np.zeros(n_rows, dtype=bool)
    seen[index] = True
    return int(np.count_nonzero(seen)) < len(index)
