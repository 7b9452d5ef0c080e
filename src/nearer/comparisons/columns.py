"""The columns beside the rows: weights, subjects, answer ids, names and extra columns.

Each function returns a read-only array (or tuple) of the type that the rest of the library relies on, or raises a
ValueError that says what was passed and what is expected.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.rows import BadRowError

EXACT = 2**53  # every integer up to here is a float


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`."""
    view = array.view()
    view.flags.writeable = False
    return view


def clean_column(values: Any, name: str, n_rows: int) -> NDArray[Any]:
    """Return one value per row, as booleans, numbers or text; missing text is empty.

    Examples
    --------
    >>> clean_column(["ann", None], "subjects", 2)
    array(['ann', ''], dtype='<U3')
    """
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"{name} must have one value for each of the {n_rows} rows; got shape {column.shape}")
    if column.dtype.kind == "O":
        column = from_values(column.tolist())
    elif column.dtype.kind not in "biufU":
        column = column.astype(str)
    return freeze(column)


def from_values(cells: Sequence[Any]) -> NDArray[Any]:
    """Return booleans, integers, floats (None is NaN) or text, whichever keeps different values different.

    Integers that fit neither 64 bits nor, among floats, a float become text.

    Examples
    --------
    >>> from_values([1, None]), from_values([2**70])
    (array([ 1., nan]), array(['1180591620717411303424'], dtype='<U22'))
    >>> from_values(["ann", None, ["x", "y"]])
    array(['ann', '', 'x;y'], dtype='<U3')
    """
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


def clean_weights(values: Any, n_rows: int, drop: bool = False) -> NDArray[np.float64]:
    """Return finite weights of at least 0 as float64; with `drop`, NaN in place of anything else.

    Examples
    --------
    >>> clean_weights(["1", "heavy", "-2"], 3, drop=True)
    array([ 1., nan, nan])
    """
    try:
        weights = np.asarray(values)
    except ValueError:  # lists of different lengths
        weights = np.array(values, dtype=object)
    if weights.shape != (n_rows,):
        raise ValueError(f"weights must have one value for each of the {n_rows} rows; got shape {weights.shape}")
    cells = weights if weights.dtype.kind in "biuf" else [_number(cell) for cell in weights.tolist()]
    numbers = np.asarray(cells, dtype=np.float64)
    bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if bad.any():
        if drop:
            return freeze(np.where(bad, np.nan, numbers))
        first = int(np.argmax(bad))
        weight = repr(weights.tolist()[first]) if np.isnan(numbers[first]) else numbers[first]
        raise BadRowError(first, f"has weight {weight}; a weight is a finite number of at least 0")
    return freeze(numbers)


def _number(cell: Any) -> float:
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
    columns: dict[str, NDArray[Any]] = {}
    if fields["weights"] is not None:
        columns["weights"] = clean_weights(fields["weights"], n_rows, drop)
    for name in ("subjects", "answers"):
        if fields[name] is not None:
            columns[name] = clean_column(fields[name], name, n_rows)
    return columns


def clean_answers(values: Any, n_rows: int) -> tuple[NDArray[np.int32] | None, int]:
    """Return answer ids as 0, 1, … in order of first appearance, and their number.

    The ids are None if every row is an answer of its own.

    Examples
    --------
    >>> clean_answers(["p", "p", "q"], 3)
    (array([0, 0, 1], dtype=int32), 2)
    """
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
