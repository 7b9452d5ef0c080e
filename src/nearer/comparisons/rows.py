"""Rows of object indices: which are invalid, the error messages for them, and which rows an index selects.

Lists, arrays of any number type and text that spells numbers become one int32 array here, block by block, so that
ten million rows need no large temporaries. An array that is already int32 and C-contiguous is not copied.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

BLOCK = 1 << 17
LARGEST = int(np.iinfo(np.int32).max) - 1

Rows = NDArray[np.int32]
Mask = NDArray[np.bool_]


class BadRowError(ValueError):
    """An invalid row; `row` is its number and `problem` the rest of the sentence."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(f"row {row} {problem}")
        self.row = int(row)
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return BadRowError, (self.row, self.problem)


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield slices of at most `size` that cover ``range(n)``."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def flip_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return the opposite of each row: near and far are swapped."""
    return rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]


def compares_with_itself(rows: NDArray[Any]) -> Mask:
    """Return which rows compare an object, or a pair of objects, with itself."""
    if rows.shape[1] == 3:
        a, b, c = rows.T
        return np.asarray((a == b) | (a == c) | (b == c))
    i, j, l, k = rows.T  # noqa: E741  (the papers' letters)
    same_pair = ((i == l) & (j == k)) | ((i == k) & (j == l))
    return np.asarray((i == j) | (l == k) | same_pair)


def clean_rows(
    values: Any, *, n_objects: int | None = None, names: Sequence[str] | None = None, drop: bool = False
) -> tuple[Rows, int, Mask | None]:
    """Return read-only int32 rows, the number of objects, and with `drop` the mask of valid rows (None: all)."""
    values = _as_table(values)
    limit = LARGEST if n_objects is None else n_objects
    no_copy = values.dtype == np.int32 and values.flags.c_contiguous
    rows = values.view() if no_copy else np.empty(values.shape, dtype=np.int32)
    keep: Mask | None = None
    largest = -1
    for block in blocks(len(values)):
        part = _as_numbers(values[block], block.start, drop)
        with np.errstate(invalid="ignore"):
            good = (part >= 0) & (part < limit)
            if part.dtype.kind == "f":
                good &= part == np.floor(part)
        good_rows = good.all(axis=1) & ~compares_with_itself(part)
        if not good_rows.all():
            if not drop:
                first = int(np.argmin(good_rows))
                raise BadRowError(block.start + first, _describe_problem(part[first], n_objects, names))
            if keep is None:
                keep = np.ones(len(values), dtype=bool)
            keep[block] = good_rows
            part = np.where(good_rows[:, None], part, 0)
        if not no_copy:
            rows[block] = part
        if part.size:
            largest = max(largest, int(part.max()))
    if keep is not None:
        rows = rows[keep]
        largest = int(rows.max(initial=-1))
    rows.flags.writeable = False
    return rows, largest + 1 if n_objects is None else n_objects, keep


def drop_rows(rows: Rows, keep: Mask | None, bad: Mask) -> tuple[Rows, Mask | None]:
    """Drop further rows; `keep` and `bad` are masks over the rows before any was dropped."""
    if not bad.any():
        return rows, keep
    rows = rows[~bad] if keep is None else rows[~bad[keep]]
    rows.flags.writeable = False
    return rows, ~bad if keep is None else keep & ~bad


def _as_table(values: Any) -> NDArray[Any]:
    if issparse(values):
        raise TypeError(
            "rows must be a dense table of 3 or 4 columns of objects; got a sparse one: pass its toarray(), or the "
            "rows of the triplets that it holds"
        )
    try:
        values = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"rows must all have the same number of columns, 3 or 4: {error}") from None
    if values.ndim != 2 or values.shape[1] not in (3, 4):
        raise ValueError(
            "rows must be a table of 3 columns (a, b, c: a is nearer to b than to c) or 4 columns "
            f"(i, j, l, k: i and j are nearer than l and k); got an array of shape {values.shape}"
        )
    if values.dtype.kind not in "iufOUST":
        raise ValueError(f"rows must hold whole numbers; got an array of {values.dtype}")
    return values


def _as_numbers(block: NDArray[Any], start: int, drop: bool) -> NDArray[Any]:
    """Return text and Python objects as floats (integers up to 2**53 are exact), numbers unchanged."""
    if block.dtype.kind in "iuf":
        return block
    try:
        return np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full(block.shape, np.nan)
        for position, cell in np.ndenumerate(block.astype(object)):
            try:
                numbers[position] = float(cell)
            except (TypeError, ValueError):
                if not drop:
                    problem = f"holds {cell!r}, which is not the number of an object"
                    raise BadRowError(start + position[0], problem) from None
        return numbers


def _describe_problem(row: NDArray[Any], n_objects: int | None, names: Sequence[str] | None) -> str:
    """Return what is wrong with a row, as the end of a sentence that starts with its number."""
    for value in row.tolist():
        if value != value:
            return "holds NaN, which is not the number of an object"
        if value in (np.inf, -np.inf) or value != int(value):
            return f"holds {value}, which is not a whole number"
        if value < 0:
            return f"names object {int(value)}; objects are numbered from 0"
        if n_objects is not None and value >= n_objects:
            return f"names object {int(value)}, but there are only {n_objects} objects (0 to {n_objects - 1})"
        if value >= LARGEST:
            return f"names object {int(value)}, which does not fit into 32 bits"

    def name(value: Any) -> str:
        return f"object {int(value)}" if names is None else repr(names[int(value)])

    if len(row) == 3:
        if row[1] == row[2]:
            return f"has {name(row[1])} both as the nearer and as the farther one"
        return f"compares {name(row[0])} with itself"
    if row[0] == row[1] or row[2] == row[3]:
        return f"compares {name(row[0] if row[0] == row[1] else row[2])} with itself"
    return f"compares the pair of {name(row[0])} and {name(row[1])} with itself"


def question_codes(rows: Rows, n_objects: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the index of the question that each row answers, and which of its two answers the row gives."""

    def code(x: Rows, y: Rows) -> NDArray[np.int64]:  # of a pair; the order within it does not matter
        return np.minimum(x, y).astype(np.int64) * n_objects + np.maximum(x, y)

    near = code(rows[:, 0], rows[:, 1])
    far = code(rows[:, 0 if rows.shape[1] == 3 else 2], rows[:, -1])
    side = near < far
    if n_objects < 50_000:  # then a pair's code is below 2**31.2 and two of them fit into 63 bits
        keys = np.minimum(near, far) * (n_objects * n_objects) + np.maximum(near, far)
    else:
        _, pairs = np.unique(np.concatenate([near, far]), return_inverse=True)
        near, far = pairs[: len(rows)], pairs[len(rows) :]
        keys = np.minimum(near, far) * (2 * len(rows) + 1) + np.maximum(near, far)
    _, questions = np.unique(keys, return_inverse=True)
    return questions.reshape(-1), side


def count_repeats(questions: NDArray[np.int64], side: Mask) -> tuple[int, int]:
    """Return how many rows repeat an earlier row and how many are contradicted; takes `question_codes`."""
    codes = np.sort(2 * questions + side)
    new = codes[1:] != codes[:-1]
    return int(np.count_nonzero(~new)), int(np.count_nonzero(new & (codes[1:] // 2 == codes[:-1] // 2)))


def squared_distances(points: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the squared distance of the near pair and of the far pair of each row."""
    second = 0 if rows.shape[1] == 3 else 2
    near = points[rows[:, 0]] - points[rows[:, 1]]
    far = points[rows[:, second]] - points[rows[:, -1]]
    return np.einsum("nd,nd->n", near, near), np.einsum("nd,nd->n", far, far)


def select_rows(key: Any, n_rows: int, answers: Rows | None, n_answers: int) -> tuple[NDArray[np.intp], bool]:
    """Return the rows that a slice, mask or list of indices selects, by whole answers, and whether any repeats."""
    index = _row_indices(key, n_rows)
    if answers is not None:
        index = _whole_answers(answers, n_answers, index)
    seen = np.zeros(n_rows, dtype=bool)
    seen[index] = True
    return index, int(np.count_nonzero(seen)) < len(index)


def _whole_answers(answers: NDArray[np.int32], n_answers: int, index: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return all rows of the answers whose first row is in `index`, in the order of `index`."""
    first = np.empty(len(answers), dtype=bool)  # answers are numbered in order of first appearance
    first[:1] = True
    np.greater(answers[1:], np.maximum.accumulate(answers)[:-1], out=first[1:])
    selected = answers[index[first[index]]]
    counts = np.bincount(answers, minlength=n_answers)
    ends = np.cumsum(counts)
    by_answer = np.argsort(answers, kind="stable")
    lengths = counts[selected]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return by_answer[np.repeat((ends - counts)[selected], lengths) + within]


def _row_indices(key: Any, n_rows: int) -> NDArray[np.intp]:
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
