"""Between a file and Comparisons: a table of columns that knows where its rows stood in the file."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.layouts import (
    RANKING_SEPARATOR,
    Column,
    Layout,
    fields_of_columns,
    understand,
    understood_headers,
)
from nearer.comparisons.rows import BadRowError

OBJECTS = {3: ("anchor", "near", "far"), 4: ("i", "j", "l", "k")}


@dataclass(frozen=True)
class Table:
    """A run of rows of one file.

    Attributes
    ----------
    path : Path
    columns : dict of header to cells
    lines : sequence of int, or None
        The line of the file that each row stands in; None where rows are counted from 0.
    names, n_objects : optional
        What the file itself says about its objects.
    n_bad : int
        Rows that were left out already, being too short to say anything.
    """

    path: Path
    columns: dict[str, Column]
    lines: Sequence[int] | None = None
    names: tuple[str, ...] | None = None
    n_objects: int | None = None
    n_bad: int = 0
    first_row: int = field(default=0)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def layout(self) -> Layout:
        """The layout that the headers spell; ValueError when they spell none."""
        layout = understand(list(self.columns))
        if layout is None:
            raise headers_say_nothing(self.path, list(self.columns))
        return layout

    def part(self, start: int, stop: int) -> "Table":
        """The rows from `start` up to `stop`."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        lines = None if self.lines is None else self.lines[start:stop]
        return replace(self, columns=columns, lines=lines, n_bad=0, first_row=self.first_row + start)

    def followed_by(self, other: "Table") -> "Table":
        """Put `other` after this one."""
        columns: dict[str, Column] = {
            name: [*column, *other.columns[name]]
            if not isinstance(column, np.ndarray)
            else np.concatenate([column, other.columns[name]])
            for name, column in self.columns.items()
        }
        lines = None if self.lines is None or other.lines is None else [*self.lines, *other.lines]
        return replace(self, columns=columns, lines=lines, n_bad=self.n_bad + other.n_bad)

    def object_cells(self) -> set[str]:
        """The distinct texts that name an object; empty where objects are numbered by a column of numbers."""
        layout = self.layout()
        cells: set[str] = set()
        for name in layout.objects:
            column = self.columns[name]
            if not (isinstance(column, np.ndarray) and column.dtype.kind in "iuf"):
                cells.update(str(cell) for cell in column if cell is not None)
        if layout.kind == "ranking" and len(layout.objects) == 2:
            anchors = {str(cell) for cell in self.columns[layout.objects[0]]}
            lists = {str(cell) for cell in self.columns[layout.objects[1]]}
            cells = anchors.union(*(text.split(RANKING_SEPARATOR) for text in lists))
        return {cell.strip() for cell in cells} - {""}

    def comparisons(self, bad_rows: str = "raise", names: Sequence[str] | None = None) -> Comparisons:
        """What the table says; a bad row is named by its file and line."""
        names = self.names if names is None else names
        line: Any = None
        try:
            fields, line = fields_of_columns(self.layout(), self.columns, names, drop=bad_rows == "drop")
            n_objects = None if fields["names"] is not None else self.n_objects
            made = Comparisons(**fields, n_objects=n_objects, bad_rows=bad_rows)  # type: ignore[arg-type]
        except BadRowError as error:
            row = error.row if line is None else int(line[error.row])
            raise self.error(row, error.problem) from None
        except ValueError as error:
            if str(error).startswith(str(self.path)):
                raise
            raise ValueError(f"{self.path}: {error}") from None
        object.__setattr__(made, "n_dropped", made.n_dropped + self.n_bad)
        return made

    def error(self, row: int, problem: str) -> ValueError:
        """The error that names a row by its place in the file."""
        where = f"row {self.first_row + row}" if self.lines is None else f"line {self.lines[row]}"
        return ValueError(f"{self.path}, {where} {problem}")


def headers_say_nothing(path: Path, headers: Sequence[str]) -> ValueError:
    """The error for headers that no layout understands."""
    given = ", ".join(map(repr, headers))
    return ValueError(f"{path}: cannot tell what the columns {given} mean; understood are\n{understood_headers()}")


def columns_of(comparisons: Comparisons, named: bool) -> dict[str, Any]:
    """Columns to write: the objects (by name if `named`), then what else there is.

    Extra columns whose headers would be read as something else are refused.
    """
    headers = OBJECTS[comparisons.shape[1]]
    columns: dict[str, Any] = {}
    for header, numbers in zip(headers, comparisons.rows.T, strict=True):
        columns[header] = np.array(comparisons.names)[numbers] if named and comparisons.names else numbers
    if comparisons.weights is not None:
        columns["weight"] = comparisons.weights
    if comparisons.subjects is not None:
        columns["subject"] = comparisons.subjects
    if comparisons.n_answers < len(comparisons):
        columns["answer"] = comparisons.answers
    for name, column in comparisons.extra.items():
        layout = understand([*columns, name])
        if name in columns or layout is None or layout.objects != headers or name not in layout.others:
            raise ValueError(
                f"an extra column cannot be called {name!r} in a table: the name means something else"
            )
        columns[name] = column
    return columns
