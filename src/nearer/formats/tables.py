"""The step between a file and its content: a table of columns that knows the file and line of each row.

A `Table` becomes Comparisons, or, checked cell by cell, features, texts, labels and names. `columns_of` of
`nearer.comparisons.display` goes the other way, from Comparisons to the columns of a file.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons, fields, layouts
from nearer.comparisons.layouts import Layout, Roles
from nearer.comparisons.objects import Column, names_of_texts
from nearer.comparisons.rows import BadRowError
from nearer.formats.text import STDIN, open_binary, suffix_of

TEXT_FORMATS = (".csv", ".tsv", ".txt", ".jsonl", ".json")  # may end in .gz too
EXPORT = dict.fromkeys(
    (".xls", ".ods", ".numbers", ".sav", ".dta", ".rds", ".rdata", ".mat"), "; save or export the table as .csv"
)


class BadLineError(ValueError):
    """A line of a file that is no answer, and that ``bad_rows="drop"`` leaves out."""


class UnreadableLineError(BadLineError):
    """A line that cannot be read at all, as of a file that is cut off; ``bad_files="skip"`` leaves the file out."""


@dataclass(frozen=True)
class Options:
    """What the caller of a reader says about a file."""

    roles: Roles | None = None  # which column is which
    encoding: str | None = None
    n_objects: int | None = None
    drop: bool = False  # leave impossible rows out
    verbose: bool = False  # show a progress bar


@dataclass(frozen=True)
class Table:
    """Consecutive rows of one file, and what the file itself says about its objects."""

    path: Path
    columns: dict[str, Column]
    lines: Sequence[int] | None = None  # the line that each row starts in; None: rows are counted from 0
    names: tuple[str, ...] | None = None
    n_objects: int | None = None
    n_bad: int = 0  # rows dropped while reading, since they have too few cells
    first_row: int = 0
    roles: Roles | None = None  # which column is which, if the caller said so
    numbered: bool = False  # numbers are numbers of objects even if not all of 0, 1, … occur
    reading: str | None = None  # how the responses of the whole file are read

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def layout(self) -> Layout:
        """Return the layout that the headers stand for; ValueError if there is none."""
        return understand_headers(self.path, list(self.columns), self.roles, self.reading)

    def part(self, start: int, stop: int) -> "Table":
        """Return the rows from `start` up to `stop`."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        lines, n_bad = None if self.lines is None else self.lines[start:stop], 0 if start else self.n_bad
        return replace(self, columns=columns, lines=lines, n_bad=n_bad, first_row=self.first_row + start)

    def followed_by(self, other: "Table") -> "Table":
        """Return this table with the rows of `other` appended."""
        columns: dict[str, Column] = {}
        for name in dict.fromkeys([*self.columns, *other.columns]):
            one, two = (table.columns.get(name, [None] * len(table)) for table in (self, other))
            if isinstance(one, np.ndarray) and isinstance(two, np.ndarray) and one.dtype.kind == two.dtype.kind:
                columns[name] = np.concatenate([one, two])
            else:  # of different kinds: parsed later
                columns[name] = [*_as_list(one), *_as_list(two)]
        lines = None if self.lines is None or other.lines is None else [*self.lines, *other.lines]
        return replace(self, columns=columns, lines=lines, n_bad=self.n_bad + other.n_bad)

    def object_cells(self) -> set[str]:
        """Return the distinct texts that name an object."""
        return fields.object_texts(self.layout(), self.columns)

    def comparisons(
        self,
        bad_rows: str = "raise",
        names: Sequence[str] | None = None,
        n_objects: int | None = None,
        numbered: bool = False,
    ) -> Comparisons:
        """Return the comparisons of the table; an error names the file and line of a bad row."""
        columns, layout = self.columns, self.layout()
        numbered = numbered or self.numbered or (n_objects or self.n_objects) is not None
        if names is None:
            names = self.names
        elif self.names is None:  # numbers are names too
            columns = columns | {name: _as_list(columns[name]) for name in layout.objects}
        line: Any = None
        try:
            layout = fields.with_reading(layout, columns)
            arguments, line = fields.fields_of_columns(layout, columns, names, bad_rows == "drop", numbered)
            n_objects = None if arguments["names"] is not None else n_objects or self.n_objects
            made = Comparisons(**arguments, n_objects=n_objects, bad_rows=bad_rows)  # type: ignore[arg-type]
        except BadRowError as error:
            row = error.row if line is None else int(line[error.row])
            if row:  # each check goes through all rows before the next check: an earlier row may be bad too
                names = names or names_of_texts(self.object_cells(), numbered)
                earlier = replace(self.part(0, row), reading=layout.reading)
                earlier.comparisons(bad_rows, names, numbered=names is None)
            raise self.error(row, error.problem) from None
        except ValueError as error:
            if str(error).startswith(str(self.path)):
                raise
            raise ValueError(f"{self.path}: {error}") from None
        made._fill(n_dropped=made.n_dropped + self.n_bad)
        return made

    def error(self, row: int, problem: str) -> BadLineError:
        """Return the error that names a row by its place in the file."""
        where = f"row {self.first_row + row}" if self.lines is None else f"line {self.lines[row]}"
        return BadLineError(f"{self.path}, {where} {problem}")


def check_suffix(path: Path, formats: Iterable[str], clause: str = "its name must end in") -> str:
    """Return the suffix of a path, in lower case; ValueError if it is none of the formats."""
    suffix = path.suffix.lower()
    if suffix not in formats:
        listed = ", ".join(formats)
        raise ValueError(f"cannot tell the format of {path}: {clause} {listed}" + EXPORT.get(suffix, ""))
    return suffix


def existing_file(path: str | os.PathLike[str], formats: Iterable[str], *clause: str) -> tuple[Path, str]:
    """Return the path of a file that exists, and its suffix, which is one of the formats; text may be compressed.

    ``-`` is standard input: JSON lines if it begins like them, otherwise delimited text.
    """
    path, formats = Path(path), tuple(formats)
    if str(path) == "-" and ".csv" in formats:
        with open_binary(STDIN) as file:
            start = file.read(100).lstrip()
        return STDIN, ".jsonl" if ".jsonl" in formats and start[:1] in (b"{", b"[") else ".csv"
    packed = suffix_of(path) in TEXT_FORMATS
    suffix = check_suffix(Path(path.stem) if packed and path.suffix.lower() == ".gz" else path, formats, *clause)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return path, suffix


def in_chunks(records: Iterable[tuple[int, Any]], size: int | None) -> Iterator[tuple[list[int], list[Any], int]]:
    """Yield lines and values of at most `size` records, and how many were left out as their value is None."""
    lines: list[int] = []
    values: list[Any] = []
    n_bad = 0
    for line, value in records:
        if value is None:
            n_bad += 1
            continue
        lines.append(line)
        values.append(value)
        if len(values) == size:
            yield lines, values, n_bad
            lines, values, n_bad = [], [], 0
    if values or n_bad:
        yield lines, values, n_bad


def _as_list(cells: Column) -> Sequence[Any]:
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


def understand_headers(
    path: Path, headers: Sequence[str], roles: Roles | None, reading: str | None = None
) -> Layout:
    """Return the layout of a table; ValueError if its headers, and what was said about them, make none."""
    try:
        roles = layouts.check_roles(roles or {}, headers)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    layout = layouts.understand(headers, roles)
    if layout is None:
        raise unknown_headers(path, headers, roles)
    return layout if reading is None else replace(layout, reading=reading)


def unknown_headers(path: Path, headers: Sequence[str], roles: Roles | None = None) -> ValueError:
    """Return the error for headers that are no layout of answers."""
    listed, known = ", ".join(map(repr, headers)), layouts.understood_headers()
    if roles:
        given = ", ".join(f"{role}={column}" for role, column in roles.items())
        return ValueError(f"{path}: with {given}, the columns {listed} are still none of these:\n{known}")
    if layouts.understand_questions(headers) is not None:  # as `nearer questions` writes them
        where = "add a column response, with the chosen one of each row, or say which it is: --columns response=…"
        return ValueError(f"{path}: the columns {listed} are questions without answers; {where}")
    say = "Say which is which: --columns anchor=…,near=…,far=… (columns={'anchor': …, …} in Python)."
    if {"trial_type", "stimulus", "response"} <= set(headers):
        say += " jsPsych records the choices only if the trial says save_trial_parameters: {choices: true}."
    return ValueError(f"{path}: cannot tell what the columns {listed} mean; understood are\n{known}\n{say}")


def check_columns(path: Path, columns: Sequence[str], headers: Sequence[str]) -> None:
    """Raise a ValueError that names the columns that the file does not have, and those that it has."""
    missing = [column for column in columns if column not in set(headers)]
    if missing:
        listed, has = (", ".join(map(repr, words[:5])) + ", …" * (len(words) > 5) for words in (missing, headers))
        word = "column" if len(missing) == 1 else "columns"
        raise ValueError(f"{path} has no {word} {listed}; it has {has}")


def is_empty(cell: Any) -> bool:
    """Whether a cell is None, NaN or blank."""
    return cell is None or (not cell.strip() if isinstance(cell, str) else cell != cell)


def filled_cells(table: Table, column: str) -> Iterator[tuple[int, Any]]:
    """Yield the row and cell of each row, text without surrounding blanks; an empty cell is an error."""
    for row, cell in enumerate(_as_list(table.columns[column])):
        if is_empty(cell):
            raise table.error(row, f"has an empty cell in column {column!r}")
        yield row, cell.strip() if isinstance(cell, str) else cell


def add_names(names: dict[str, None], table: Table, column: str) -> None:
    """Add the names in a column, in their order; a name that occurs twice is an error."""
    for row, cell in filled_cells(table, column):
        name = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
        if name in names:
            raise table.error(row, f"has the name {name!r} in column {column!r}, as a row before it has")
        names[name] = None


def parse_numbers(table: Table, columns: Sequence[str]) -> NDArray[np.float64]:
    """Return columns as an array; a cell that is not a finite number is an error."""
    if not columns:
        raise ValueError(f"{table.path} has no column of features: it has {', '.join(map(repr, table.columns))}")
    features = np.empty((len(table), len(columns)))
    for place, column in enumerate(columns):
        cells = table.columns[column]
        try:
            if isinstance(cells, np.ndarray) and cells.dtype.kind not in "biufU":
                raise TypeError(f"{cells.dtype} is not a type of numbers")
            features[:, place] = cells
            finite = bool(np.isfinite(features[:, place]).all())
        except (ValueError, TypeError):
            finite = False
        if not finite:
            row, cell = next((row, cell) for row, cell in enumerate(cells) if not _is_finite(cell))
            content = "an empty cell" if is_empty(cell) else f"{str(cell)[:40]!r}"
            advice = "name the column as the one of labels or of names, or as one to ignore"
            raise table.error(
                row, f"has {content} in column {column!r}, where a finite number is wanted; {advice}"
            )
    return features


def _is_finite(cell: Any) -> bool:
    try:
        return not isinstance(cell, np.datetime64 | np.timedelta64) and bool(np.isfinite(float(cell)))
    except (ValueError, TypeError):
        return False


def parse_texts(table: Table, column: str) -> NDArray[Any]:
    """Return a column as an array of str objects; a cell that is not text is an error."""
    for row, cell in enumerate(table.columns[column]):
        if not isinstance(cell, str):
            content = "no text" if cell is None else f"{str(cell)[:40]} and no text"
            raise table.error(row, f"has {content} in column {column!r}")
    return np.array([str(text) for text in table.columns[column]], dtype=object)  # not numpy's own strings
