"""Between a file and Comparisons: a table of columns that knows where its rows stood in the file."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.layouts import (
    ARGUMENTS,
    NUMBER,
    OPTIONAL,
    Column,
    Layout,
    fields_of_columns,
    object_texts,
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
        return replace(
            self, columns=columns, lines=lines, n_bad=0 if start else self.n_bad, first_row=self.first_row + start
        )

    def followed_by(self, other: "Table") -> "Table":
        """Put `other` after this one."""
        names = dict.fromkeys([*self.columns, *other.columns])
        columns = {name: _joined(self._cells(name), other._cells(name)) for name in names}
        lines = None if self.lines is None or other.lines is None else [*self.lines, *other.lines]
        return replace(self, columns=columns, lines=lines, n_bad=self.n_bad + other.n_bad)

    def _cells(self, name: str) -> Column:
        return self.columns[name] if name in self.columns else [None] * len(self)

    def object_cells(self, numbers: bool = False) -> set[str]:
        """The distinct texts that name an object; see `object_texts`."""
        return object_texts(self.layout(), self.columns, numbers)

    def _names(self) -> list[str] | None:
        texts = self.object_cells()
        return None if all(NUMBER.fullmatch(text) for text in texts) else sorted(texts)

    def comparisons(self, bad_rows: str = "raise", names: Sequence[str] | None = None) -> Comparisons:
        """What the table says; a bad row is named by its file and line.

        With `names` that are not its own, numbers too are taken for names.
        """
        columns = self.columns
        if names is None:
            names = self.names
        elif self.names is None:
            columns = columns | {name: _listed(columns[name]) for name in self.layout().objects}
        line: Any = None
        try:
            fields, line = fields_of_columns(self.layout(), columns, names, drop=bad_rows == "drop")
            n_objects = None if fields["names"] is not None else self.n_objects
            made = Comparisons(**fields, n_objects=n_objects, bad_rows=bad_rows)  # type: ignore[arg-type]
        except BadRowError as error:
            row = error.row if line is None else int(line[error.row])
            if row:  # one check goes through all rows before the next does: look for an earlier bad row
                self.part(0, row).comparisons(bad_rows, names or self._names())
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


def _joined(one: Column, two: Column) -> Column:
    """The cells of both; as a list, whose type is found later, where they are of different kinds."""
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray) and one.dtype.kind == two.dtype.kind:
        return np.concatenate([one, two])
    return [*_listed(one), *_listed(two)]


def _listed(cells: Column) -> Sequence[Any]:
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


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
        extras = () if layout is None else (*layout.others, *(OPTIONAL.keys() - ARGUMENTS))
        if name in columns or layout is None or layout.objects != headers or name not in extras:
            raise ValueError(
                f"an extra column cannot be called {name!r} in a table: the name means something else"
            )
        columns[name] = column
    return columns
