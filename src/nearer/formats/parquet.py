"""Parquet, through pyarrow: typed columns with the headers of `nearer.comparisons.layouts`. Keeps everything.

Objects are written by name if they have names, as a dictionary column; their number and order are in the file's
metadata under ``nearer``. Needs the extra ``nearer[parquet]``.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.display import OBJECTS, columns_of
from nearer.formats.tables import Options, Table

LONG = 1000  # characters
Range = tuple[int, int | None]  # the first row group and the one after the last; None: the end of the file
BUFFER = 1 << 20  # bytes read at once: without a buffer, a row group is read as a whole


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError('parquet files need pyarrow: pip install "nearer[parquet]"') from None
    return pyarrow


def read_columns(path: Path) -> dict[str, Any]:
    """Return the columns of a file that has no comparisons, as arrays, long texts as lists."""
    arrow = _pyarrow()
    try:
        table = arrow.parquet.read_table(path)
    except arrow.ArrowInvalid as error:
        raise ValueError(f"{path} cannot be read as a parquet file: {error}") from None
    return {name: _column(table.column(name).combine_chunks()) for name in table.column_names}


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns that are no comparisons."""
    arrow = _pyarrow()
    arrow.parquet.write_table(arrow.table({name: list(column) for name, column in columns.items()}), path)


def split(path: Path, part_rows: int) -> list[tuple[Range, int]]:
    """Return ranges of row groups, of about so many rows each, and their numbers of rows; the last is open."""
    arrow = _pyarrow()
    with _damaged(path), arrow.parquet.ParquetFile(path) as file:
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
    ranges: list[tuple[Range, int]] = []
    first, n_rows = 0, 0
    for number, size in enumerate(sizes):
        if n_rows and n_rows + size > part_rows:
            ranges.append(((first, number), n_rows))
            first, n_rows = number, 0
        n_rows += size
    return [*ranges, ((first, None), n_rows)]


def tables(
    path: Path,
    chunk_rows: int | None = None,
    options: Options | None = None,
    bounds: Range | None = None,
) -> Iterator[Table]:
    """Yield a file, or a range of its row groups, as tables of at most `chunk_rows` rows."""
    arrow = _pyarrow()
    with _damaged(path):
        yield from _tables(arrow, path, chunk_rows, options or Options(), bounds)


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # of a damaged file pyarrow may raise anything
        raise ValueError(f"{path} cannot be read as a parquet file: {error}") from None


def _tables(
    arrow: Any, path: Path, chunk_rows: int | None, options: Options, bounds: Range | None
) -> Iterator[Table]:
    with arrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) as file:
        about = json.loads((file.schema_arrow.metadata or {}).get(b"nearer", b"{}"))
        names = about.get("names")
        n_objects = about.get("n_objects") if options.n_objects is None else options.n_objects
        known: dict[str, Any] = {
            "names": None if names is None else tuple(names),
            "n_objects": n_objects,
            "roles": options.roles,
        }
        start, end = bounds or (0, None)
        groups = range(file.num_row_groups)[start:end]
        first = sum(file.metadata.row_group(number).num_rows for number in range(groups.start))
        size = chunk_rows or max(file.metadata.num_rows, 1)
        for batch in file.iter_batches(batch_size=size, row_groups=groups):
            columns = {name: _column(batch.column(name)) for name in batch.schema.names}
            yield Table(path, columns, first_row=first, **known)
            first += batch.num_rows


def _column(array: Any) -> Any:
    if hasattr(array, "dictionary_decode"):
        array = array.dictionary_decode()
    column = array.to_numpy(zero_copy_only=False)
    if column.dtype.kind == "O":
        cells = array.to_pylist()
        # An array of text is as wide as its longest cell: long texts are kept in a list.
        short = all(type(cell) is str and len(cell) <= LONG for cell in cells)
        return np.array(cells, dtype=np.str_) if short else cells
    return column


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write the columns, and in the metadata what is known of the objects."""
    arrow = _pyarrow()
    names = comparisons.names
    columns = {name: arrow.array(column) for name, column in columns_of(comparisons, named=False).items()}
    if names is not None:
        texts = arrow.array(list(names), type=arrow.string())
        for header in OBJECTS[comparisons.shape[1]]:
            columns[header] = arrow.DictionaryArray.from_arrays(columns[header], texts)
    about = {"n_objects": comparisons.n_objects, "names": names}
    table = arrow.table(columns).replace_schema_metadata({"nearer": json.dumps(about)})
    arrow.parquet.write_table(table, path)
