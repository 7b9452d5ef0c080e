"""Cells of a table that is no table of answers: what is in a column, and the labels and names beside it.

Files of features and files of texts share these, and say in the same words what is wrong and where.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons.layouts import Column
from nearer.formats.tables import Table

NAMES = "name"  # the column that holds names where none is asked for


def check_there(path: Path, wanted: Any, headers: Sequence[str]) -> None:
    """Raise a ValueError that names the columns that are wanted and not there, and those that are."""
    there = set(headers)
    missing = [column for column in wanted if column not in there]
    if missing:
        listed, has = (", ".join(map(repr, words[:5])) + ", …" * (len(words) > 5) for words in (missing, headers))
        word = "column" if len(missing) == 1 else "columns"
        raise ValueError(f"{path} has no {word} {listed}; it has {has}")


def is_empty(cell: Any) -> bool:
    """Whether a cell says nothing: it is None, NaN or blank."""
    return cell is None or (not cell.strip() if isinstance(cell, str) else cell != cell)


def filled(table: Table, column: str) -> Iterator[tuple[int, Any]]:
    """Yield each row with its cell, text without blanks around it; an empty cell is an error."""
    cells: Column = table.columns[column]
    for row, cell in enumerate(cells.tolist() if isinstance(cells, np.ndarray) else cells):
        if is_empty(cell):
            raise table.error(row, f"has an empty cell in column {column!r}")
        yield row, cell.strip() if isinstance(cell, str) else cell


def take_names(names: dict[str, None], table: Table, column: str) -> None:
    """Add the names of a table, in their order; one that is there already is an error."""
    for row, cell in filled(table, column):
        name = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
        if name in names:
            raise table.error(row, f"has the name {name!r} in column {column!r}, as a row before it has")
        names[name] = None
