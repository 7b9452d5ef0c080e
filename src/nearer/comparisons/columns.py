"""The columns beside the rows: weights, subjects, answer ids, names and extra columns.

Each function returns a read-only array (or tuple) of the type that the rest of the library relies on, or raises a
ValueError that says what was passed and what is expected.
"""

import re
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.objects import MISSING, NUMBER, Column
from nearer.comparisons.rows import BadRowError

DECIMAL_COMMA = re.compile(r"[0-9]*,([0-9]{1,2}|[0-9]{4,})|0*,[0-9]+")
INTEGER = re.compile(r"[+-]?[0-9]+")
LONGEST = 40  # characters; longer text fits into no type of number
EXACT = 2**53  # every integer up to here is a float


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`."""
    view = array.view()
    view.flags.writeable = False
    return view


def clean_column(values: Any, name: str, n_rows: int) -> NDArray[Any]:
    """Return one value per row, as booleans, numbers or text; missing text is empty."""
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"{name} must have one value for each of the {n_rows} rows; got shape {column.shape}")
    if column.dtype.kind == "O":
        column = from_values(column.tolist())
    elif column.dtype.kind not in "biufU":
        column = column.astype(str)
    return freeze(column)


def from_values(cells: Sequence[Any]) -> NDArray[Any]:
    """Return booleans, integers, floats (None is NaN) or text, whichever keeps different values different."""
    kinds = {type(cell) for cell in cells}
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return np.array(cells, dtype=bool)
    whole = {kind for kind in kinds if issubclass(kind, int | np.integer) and kind is not bool}
    if kinds and kinds == whole and all(-(2**63) <= cell < 2**63 for cell in cells):
        return np.array(cells, dtype=np.int64)
    others = kinds - whole
    exact = all(abs(cell) <= EXACT for cell in cells if type(cell) in whole)
    if others and exact and all(issubclass(kind, float | np.floating | NoneType) for kind in others):
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    return np.array([_text(cell) for cell in cells], dtype=np.str_)


def _text(cell: Any) -> str:
    if isinstance(cell, list | tuple):
        return ";".join(map(str, cell))
    return "" if cell is None or cell != cell else str(cell)


def parse_cells(cells: Column) -> NDArray[Any]:
    """Return text cells as integers, floats (a missing one is NaN), booleans or text, whichever fits them all."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
        return cells
    texts = list(cells)
    if not all(type(cell) is str for cell in texts):
        return from_values(texts)
    distinct = set(texts)
    whole = [int(cell) for cell in distinct if len(cell) < LONGEST and INTEGER.fullmatch(cell)]
    # Integers that do not fit into 64 bits stay text, so that different long ids stay different.
    if len(whole) == len(distinct) and all(-(2**63) <= number < 2**63 for number in whole):
        return np.array([int(cell) for cell in texts], dtype=np.int64)
    if any(map(_is_float, distinct)) and all(cell in MISSING or _is_float(cell) for cell in distinct):
        return np.array([float("nan" if cell in MISSING else cell) for cell in texts], dtype=np.float64)
    if distinct <= {"true", "false", "True", "False"}:
        return np.array([cell.lower() == "true" for cell in texts], dtype=bool)
    return np.array(texts, dtype=np.str_)


def _is_float(text: str) -> bool:
    """Whether a text is a number that a float holds; long integers, such as ids, are not."""
    if INTEGER.fullmatch(text):
        return len(text) < LONGEST and abs(int(text)) <= EXACT
    return NUMBER.fullmatch(text) is not None


def clean_numbers(
    values: Any, name: str, n_rows: int, drop: bool = False, low: float = 0.0, high: float = np.inf
) -> NDArray[np.float64]:
    """Return finite numbers within bounds as float64; with `drop`, NaN in place of anything else."""
    try:
        column = np.asarray(values)
    except ValueError:  # lists of different lengths
        column = np.array(values, dtype=object)
    if column.shape != (n_rows,):
        raise ValueError(f"{name}s must have one value for each of the {n_rows} rows; got shape {column.shape}")
    cells = column if column.dtype.kind in "biuf" else [as_number(cell) for cell in column.tolist()]
    numbers = np.asarray(cells, dtype=np.float64)
    bad = ~(np.isfinite(numbers) & (numbers >= low) & (numbers <= high))
    if bad.any():
        if drop:
            return freeze(np.where(bad, np.nan, numbers))
        first = int(np.argmax(bad))
        cell = repr(column.tolist()[first]) if np.isnan(numbers[first]) else numbers[first]
        bounds = f"finite number of at least {low:g}" if high == np.inf else f"number from {low:g} to {high:g}"
        raise BadRowError(first, f"has {name} {cell}; a {name} is a {bounds}")
    return freeze(numbers)


def as_number(cell: Any) -> float:
    """Return a cell as a number, also with a decimal comma; NaN if it is none, or may have a comma for thousands."""
    if isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell.strip()):
        cell = cell.replace(",", ".")
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which cells are NaN or blank text."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind == "U":
        return np.asarray(np.char.strip(column) == "")
    return np.zeros(len(column), dtype=bool)


def clean_columns(fields: Mapping[str, Any], n_rows: int, drop: bool) -> dict[str, NDArray[Any]]:
    """Return those of weights, subjects and answer ids that are not None, with one value per row."""
    names = [name for name in ("subjects", "answers") if fields[name] is not None]
    columns = {name: clean_column(fields[name], name, n_rows) for name in names}
    if fields["weights"] is not None:
        columns["weights"] = clean_numbers(fields["weights"], "weight", n_rows, drop)
    return columns


def clean_answers(values: Any, n_rows: int) -> tuple[NDArray[np.int32] | None, int]:
    """Return answer ids as 0, 1, … by first appearance, or None if every row has its own; and their number."""
    column = clean_column(values, "answers", n_rows)
    missing = is_missing(column)
    if missing.any():
        raise BadRowError(int(np.argmax(missing)), "has no answer id")
    if n_rows == 0:
        return None, 0
    if (column[1:] >= column[:-1]).all():
        codes = np.zeros(n_rows, dtype=np.int32)
        np.cumsum(column[1:] != column[:-1], out=codes[1:])
    else:
        _, first, inverse = np.unique(column, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        codes = rank[inverse.reshape(-1)]
    n_answers = int(codes.max()) + 1
    return (None if n_answers == n_rows else freeze(codes)), n_answers


def clean_names(names: Sequence[str] | None, n_objects: int | None) -> tuple[tuple[str, ...] | None, int | None]:
    """Return distinct names, one per object, and the number of objects."""
    if n_objects is not None:
        if isinstance(n_objects, bool) or not isinstance(n_objects, int | np.integer) or n_objects < 0:
            raise ValueError(f"n_objects must be a whole number of at least 0; got {n_objects!r}")
        n_objects = int(n_objects)
    if names is None:
        return None, n_objects
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence with one name per object; got the text {names!r}")
    clean = tuple(str(name) for name in names)
    if n_objects is not None and len(clean) != n_objects:
        raise ValueError(f"{len(clean)} names were given for {n_objects} objects")
    if len(set(clean)) < len(clean):
        seen: set[str] = set()
        twice = next(name for name in clean if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {twice!r} is given to two objects; names must be distinct")
    return clean, len(clean)


def clean_extra(extra: Mapping[str, Any] | None, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return named columns with one value per row."""
    return {str(name): clean_column(values, f"extra[{name!r}]", n_rows) for name, values in (extra or {}).items()}
