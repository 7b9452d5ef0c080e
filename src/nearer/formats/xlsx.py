"""Excel workbooks, through openpyxl: the first sheet that has answers, as a table of text. They are read, not written.

Needs the extra ``nearer[excel]``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from nearer.formats.records import Record, Records, plain_tables_of_records, tables_of_records
from nearer.formats.tables import Options, Table


def tables(path: Path, chunk_rows: int | None = None, options: Options | None = None) -> Iterator[Table]:
    """Yield the answers as tables of at most `chunk_rows` rows."""
    yield from tables_of_records(path, _sheets(path), chunk_rows, options or Options())


def plain_tables(path: Path, chunk_rows: int | None = None) -> Iterator[Table]:
    """Yield a sheet of any columns as tables; if the first line is all numbers, the headers are "0", "1", …"""
    yield from plain_tables_of_records(path, _sheets(path), chunk_rows)


def _sheets(path: Path) -> list[Records]:
    """Return the ways to read a workbook, one per sheet."""
    with _workbook(path) as book:
        n_sheets = len(book.worksheets)
    if not n_sheets:
        raise ValueError(f"{path} is empty: it has no sheets")
    return [partial(_records, path, number) for number in range(n_sheets)]


def _records(path: Path, sheet: int, verbose: bool = False) -> Iterator[Record]:
    """Yield each row of a sheet that is not blank, with its number."""
    with _workbook(path) as book:
        for number, row in enumerate(book.worksheets[sheet].iter_rows(values_only=True), start=1):
            cells = [_text(cell) for cell in row]
            if any(cell.strip() for cell in cells):
                yield number, cells


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError('Excel files need openpyxl: pip install "nearer[excel]"') from None
    try:
        with path.open("rb") as file:  # openpyxl leaves a file open that it opened itself
            yield load_workbook(file, read_only=True, data_only=True)
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # of a damaged file openpyxl may raise anything
        raise ValueError(f"{path} cannot be read as an Excel workbook: {error}") from None


def _text(cell: Any) -> str:
    """Return a cell as text, as csv would have it."""
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
