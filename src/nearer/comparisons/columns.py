"""The columns beside the rows: weights, subjects, answer ids, names and whatever else was recorded.

Each function takes what a user gave and returns a read-only array (or tuple) of the one type that the rest
of the library relies on, or raises a ValueError that says what was given and what is wanted.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.rows import BadRowError


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of `array`.

    Examples
    --------
    >>> frozen(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def clean_column(values: Any, what: str, n_rows: int) -> NDArray[Any]:
    """One value a row, as booleans, numbers or text; missing text is empty.

    Examples
    --------
    >>> clean_column(["ann", None], "subjects", 2)
    array(['ann', ''], dtype='<U3')
    """
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"{what} must have one value for each of the {n_rows} rows; got shape {column.shape}")
    if column.dtype.kind == "O":
        column = _from_objects(column.tolist())
    elif column.dtype.kind not in "biufU":
        column = column.astype(str)
    return frozen(column)


def _from_objects(cells: list[Any]) -> NDArray[Any]:
    kinds = {type(cell) for cell in cells}
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return np.array(cells, dtype=bool)
    if kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
        return np.array(cells)
    if kinds and all(issubclass(kind, int | float | np.number) for kind in kinds):
        return np.array(cells, dtype=np.float64)
    return np.array(["" if cell is None or cell != cell else str(cell) for cell in cells], dtype=np.str_)


def clean_weights(values: Any, n_rows: int) -> NDArray[np.float64]:
    """Finite weights of at least 0, as float64.

    Examples
    --------
    >>> clean_weights([1, 2], 2)
    array([1., 2.])
    """
    try:
        weights = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("weights must be numbers") from None
    if weights.shape != (n_rows,):
        raise ValueError(f"weights must have one value for each of the {n_rows} rows; got shape {weights.shape}")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise BadRowError(first, f"has weight {weights[first]}; a weight is a finite number of at least 0")
    return frozen(weights)


def clean_answers(values: Any, n_rows: int) -> tuple[NDArray[np.int32] | None, int]:
    """Ids of answers numbered 0, 1, … in order of first appearance, and how many there are.

    Returns None in place of the ids where every row is an answer of its own.

    Examples
    --------
    >>> clean_answers(["p", "p", "q"], 3)
    (array([0, 0, 1], dtype=int32), 2)
    >>> clean_answers([7, 8, 9], 3)
    (None, 3)
    """
    column = clean_column(values, "answers", n_rows)
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise BadRowError(int(np.argmax(np.isnan(column))), "has no answer id (NaN)")
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
    return (None if n_answers == n_rows else frozen(codes)), n_answers


def clean_names(names: Sequence[str] | None, n_objects: int | None) -> tuple[tuple[str, ...] | None, int | None]:
    """Distinct names, one an object, and the number of objects that they and `n_objects` agree on.

    Examples
    --------
    >>> clean_names(["Rome", "Oslo"], None)
    (('Rome', 'Oslo'), 2)
    """
    if n_objects is not None:
        if isinstance(n_objects, bool) or not isinstance(n_objects, int | np.integer) or n_objects < 0:
            raise ValueError(f"n_objects must be a whole number of at least 0; got {n_objects!r}")
        n_objects = int(n_objects)
    if names is None:
        return None, n_objects
    if isinstance(names, str):
        raise ValueError(f"names must be a sequence with one name an object; got the text {names!r}")
    clean = tuple(str(name) for name in names)
    if n_objects is not None and len(clean) != n_objects:
        raise ValueError(f"{len(clean)} names were given for {n_objects} objects")
    if len(set(clean)) < len(clean):
        seen: set[str] = set()
        twice = next(name for name in clean if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {twice!r} is given to two objects; names must be distinct")
    return clean, len(clean)


def clean_extra(extra: Mapping[str, Any] | None, n_rows: int) -> Mapping[str, NDArray[Any]]:
    """Named columns of one value a row, read-only.

    Examples
    --------
    >>> clean_extra({"seconds": [0.5, 2.0]}, 2)["seconds"]
    array([0.5, 2. ])
    """
    columns = {
        str(name): clean_column(values, f"extra[{name!r}]", n_rows) for name, values in (extra or {}).items()
    }
    return MappingProxyType(columns)
