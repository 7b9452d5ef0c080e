"""From the cells of a table to numbers of objects.

In Python a number in a row is the number of an object. In a file it may also be a name: stimuli called 1001 to 1020
are twenty objects. So the numbers of a file are numbers of objects only if all of 0, 1, … up to the largest occur, or
if the file says how many objects there are; otherwise they are names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.rows import BadRowError

MOST_COMPARED = 20_000  # names that a mistyped one is compared with

Column = Sequence[Any] | NDArray[Any]
Names = tuple[str, ...] | None

NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE)
WHOLE = re.compile("0|[1-9][0-9]*")
WITH_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")
MISSING = frozenset(["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "Nan", "NULL", "null", "\\N"])


def unknown_object(name: str, names: Sequence[str] | None, n: int, owner: str = "the model") -> ValueError:
    """Return the error that there is no object of this name, with the names that were perhaps meant."""
    by_case = {known.casefold(): known for known in (names or ())[:MOST_COMPARED]}
    similar = [by_case[match] for match in get_close_matches(name.casefold(), by_case, n=3, cutoff=0.65)]
    if names is None:
        hint = f"its {n} objects are numbered 0 to {n - 1}"
    elif similar:
        hint = f"did you mean {' or '.join(similar)}?"
    else:
        hint = f"it has {n}, such as {', '.join(names[:3])}"
    return ValueError(f"{owner} has no object called {name!r}; {hint}")


def number_objects(
    columns: Sequence[Column], names: Sequence[str] | None, drop: bool = False, numbered: bool = True
) -> tuple[list[NDArray[Any]], Names]:
    """Return cells that hold names or numbers of objects as numbers, and the names if they hold names.

    With `numbered`, cells that are all numbers are numbers of objects; otherwise only if they are 0, 1, … .
    """
    if all(_is_numeric(column) for column in columns):
        arrays = [np.asarray(column) for column in columns]
        if names is not None or numbered or _is_dense(arrays):
            return arrays, None if names is None else tuple(names)
        return _number_distinct(arrays, drop)
    texts = [[cell_text(cell) for cell in column] for column in columns]
    distinct = set().union(*texts)
    number: Mapping[str, float]  # of each distinct cell; -1 or NaN: no object
    if names is None:
        names = names_of_texts(distinct, numbered)
    if names is None:
        number = {cell: float("nan" if is_missing_text(cell) else cell) for cell in distinct}
    else:
        names = tuple(names)
        index = {name: i for i, name in enumerate(names)}
        number = {cell: _find(cell, index) for cell in distinct}
    if not drop and any(value < 0 or value != value for value in number.values()):
        for row, cells in enumerate(zip(*texts, strict=True)):
            for cell in cells:
                _check(row, cell, number[cell], names)
    return [np.array([number[cell] for cell in text]) for text in texts], names


def number_names(
    values: Any, names: Sequence[str] | None = None, drop: bool = False, n_objects: int | None = None
) -> tuple[Any, Sequence[str] | None]:
    """Return a table with names of objects as numbers, and the names; any other table and its names unchanged.

    Text that spells numbers is names, as in a file, unless all of 0, 1, … occur or `n_objects` is known.
    """
    try:
        table = np.asarray(values)
    except ValueError:  # rows of different lengths, which have an error of their own
        return values, names
    if table.ndim == 0:  # such as a sparse matrix
        return values, names
    if table.dtype.kind == "S":
        table = np.char.decode(table)
    if table.dtype.kind not in "UOT" or table.ndim != 2:
        return table, names
    columns: list[list[Any]] = [column.tolist() for column in table.T]
    texts = {cell for column in columns for cell in column if isinstance(cell, str)}
    known = set(names or ())
    if all(text not in known and (NUMBER.fullmatch(text.strip()) or not text.strip()) for text in texts):
        if names is not None or n_objects is not None or not texts or names_of_texts(texts) is None:
            return table, names
        numbers, found = number_objects(columns, None, drop, numbered=False)
        return np.column_stack(numbers), found
    numbers, found = number_objects(columns, names, drop)
    return np.column_stack(numbers), found


def names_of_texts(texts: Iterable[str], numbered: bool = False) -> Names:
    """Return the names that texts hold, in order; None if they are all numbers of objects."""
    found = {text.strip() for text in texts if not is_missing_text(text)}
    if not all(NUMBER.fullmatch(text) for text in found):
        return tuple(sorted(found))
    values = {float(text) for text in found}
    if numbered or _are_dense(values):
        return None
    return tuple(sorted({bare_number(text) for text in found}, key=lambda text: (float(text), text)))


def numbers_of_names(names: Sequence[str]) -> NDArray[np.intp] | None:
    """Return names that are all whole numbers, without leading zeros, as numbers; None if some are not."""
    if not all(len(name) < 10 and WHOLE.fullmatch(name) for name in names):
        return None
    return np.array([int(name) for name in names], dtype=np.intp)


def bare_number(text: str) -> str:
    """Return a whole number without the fraction and the power that programs append: 3 for 3.0 and 3.0e+00."""
    if "." not in text or not WITH_POINT.fullmatch(text) or not float(text).is_integer():
        return text
    return str(int(float(text)))


def cell_text(cell: Any) -> str:
    """Return a cell as text; an empty text if it names no single object."""
    if type(cell) is str:
        return cell
    if cell is None or isinstance(cell, list | dict) or cell != cell:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def is_missing_text(text: str) -> bool:
    """Whether a text stands for a missing value, such as NA."""
    return text in MISSING or text.strip() in MISSING


def distinct_texts(columns: Sequence[Column]) -> set[str]:
    """Return the distinct texts of the cells of some columns."""
    return {
        cell_text(cell)
        for column in columns
        for cell in (np.unique(column).tolist() if _is_numeric(column) else column)
    }


def _find(cell: str, index: Mapping[str, int]) -> int:
    """Return the number of the object that a cell names, exactly or up to blanks and a fraction of 0; -1: none."""
    bare = cell.strip()
    return next((index[text] for text in (cell, bare, bare_number(bare)) if text in index), -1)


def _check(row: int, cell: str, number: float, names: Names | Sequence[str]) -> None:
    """Raise if a cell that should name an object does not."""
    if not cell.strip():
        raise BadRowError(row, "has an empty cell where an object is expected")
    if number >= 0 or (names is None and not is_missing_text(cell)):
        return
    if is_missing_text(cell):
        raise BadRowError(row, f"has {cell.strip()}, a missing value, where an object is expected")
    raise BadRowError(row, f"names {cell!r}, which is none of the {len(names or ())} objects")


def _is_numeric(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "iuf"


def _is_dense(arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether all of 0, 1, … up to the largest number occur; missing numbers do not count."""
    filled = [array[~np.isnan(array)] if array.dtype.kind == "f" else array for array in arrays]
    filled = [array for array in filled if array.size]
    if not filled:
        return True
    largest = max(float(array.max()) for array in filled)
    if min(array.min() for array in filled) < 0 or largest >= sum(array.size for array in filled):
        return False
    seen = np.zeros(int(largest) + 1, dtype=bool)
    for array in filled:
        whole = array.astype(np.intp)
        if array.dtype.kind == "f" and (whole != array).any():
            return False
        seen[whole] = True
    return bool(seen.all())


def _are_dense(values: set[float]) -> bool:
    return all(0 <= value < len(values) and value == int(value) for value in values)


def _number_distinct(arrays: Sequence[NDArray[Any]], drop: bool) -> tuple[list[NDArray[Any]], Names]:
    """Return arrays of numbers that are names as numbers of objects; a missing one is -1."""
    values, inverse = np.unique(np.concatenate(arrays), return_inverse=True)
    texts = [bare_number(cell_text(value)) for value in values.tolist()]
    n_names = len(texts) - texts.count("")  # missing numbers are the last of the sorted ones
    numbers = np.where(inverse < n_names, inverse, -1).reshape(len(arrays), -1)
    if not drop and n_names < len(texts):
        row = int(np.argmax((numbers < 0).any(axis=0)))
        raise BadRowError(row, "has an empty cell where an object is expected")
    return list(numbers), tuple(texts[:n_names])
