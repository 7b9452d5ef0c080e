"""Text with a header and one cell per column: csv and tsv, as spreadsheets and surveys write them.

A byte order mark, Windows line ends, blank lines, quoted cells and ``;`` or tab instead of the comma are all
accepted; blanks after a comma are ignored unless they are quoted. A file of answers needs no header if its first
line is three or four numbers.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.layouts import NUMBER, Column, understand
from nearer.formats.tables import OBJECTS, Table, columns_of, in_chunks, unknown_headers

Record = tuple[int, list[str]]  # the line that it starts in, and its cells


def tables(path: Path, chunk_rows: int | None = None, drop: bool = False) -> Iterator[Table]:
    """Yield the answers as tables of at most `chunk_rows` rows."""
    headers, delimiter = _header(path)
    records = _records(path, delimiter)
    if headers is None:
        headers = list(OBJECTS[len(next(_records(path, delimiter))[1])])
    else:
        next(records)
    yield from _tables(path, headers, records, chunk_rows, drop)


def plain_tables(path: Path, chunk_rows: int | None = None) -> Iterator[Table]:
    """Yield a file of any columns as tables; if the first line is all numbers, the headers are "0", "1", …"""
    firsts = {delimiter: next(_records(path, delimiter), (0, []))[1] for delimiter in _delimiters(path)}
    delimiter = next((each for each, cells in firsts.items() if len(cells) > 1), next(iter(firsts)))
    headers = [cell.strip() for cell in firsts[delimiter]]
    while headers and not headers[-1]:
        headers.pop()
    if not headers:
        raise ValueError(f"{path} is empty")
    records = _records(path, delimiter)
    counted = [str(number) for number in range(len(headers))]
    if all(NUMBER.fullmatch(cell) for cell in headers) and (headers != counted or len(headers) == 1):
        headers = counted
    else:
        next(records)
    if "" in headers:
        where = headers.index("") + 1
        raise ValueError(f"{path}: column {where} has no header; name it, or leave it out if it only counts rows")
    _check_distinct(path, headers)
    yield from _tables(path, headers, records, chunk_rows)


def _tables(
    path: Path, headers: list[str], records: Iterator[Record], chunk_rows: int | None, drop: bool = False
) -> Iterator[Table]:
    width = len(headers)

    def rows() -> Iterator[tuple[int, list[str] | None]]:
        for line, row in records:
            row = row if any(row[width:]) else row[:width]
            if len(row) != width and not drop:
                raise ValueError(f"{path}, line {line} has {len(row)} cells where {width} are wanted")
            yield line, row if len(row) == width else None

    for lines, values, n_bad in in_chunks(rows(), chunk_rows):
        columns: dict[str, Column] = {name: [] for name in headers}
        columns |= dict(zip(headers, zip(*values, strict=True), strict=False))
        yield Table(path, columns, lines, n_bad=n_bad)


def _decode(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise ValueError(f"{path}, line {number} is not UTF-8 text; save the file as UTF-8") from None


def _records(path: Path, delimiter: str) -> Iterator[Record]:
    """Yield each record that is not blank, with the line that it starts in."""
    reader = csv.reader(_decode(path), delimiter=delimiter, skipinitialspace=True)
    line = 1
    try:
        for row in reader:
            if row and (row[0].strip() or any(cell.strip() for cell in row)):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {line} cannot be read: {error}") from None


def _delimiters(path: Path) -> tuple[str, ...]:
    return ("\t", ",", ";") if path.suffix.lower() == ".tsv" else (",", ";", "\t")


def _check_distinct(path: Path, headers: list[str]) -> None:
    name, times = Counter(filter(None, headers)).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{path}: two columns are called {name!r}")


def _header(path: Path) -> tuple[list[str] | None, str]:
    """Return the headers (None if the first line is data) and the delimiter that makes sense of them."""
    shown: list[str] = []
    for delimiter in _delimiters(path):
        _, row = next(_records(path, delimiter), (0, []))
        if not row:
            raise ValueError(f"{path} is empty")
        row = [cell.strip() for cell in row]
        if understand(row) is not None:
            _check_distinct(path, row)
            return [name or f"column{number}" for number, name in enumerate(row, start=1)], delimiter
        if len(row) in OBJECTS and all(NUMBER.fullmatch(cell) for cell in row):
            return None, delimiter
        shown = max(shown, row, key=len)
    raise unknown_headers(path, shown)


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write a header and one line per row; names that would not come back the same are refused."""
    names, others = comparisons.names or (), ".jsonl, .npz and .parquet"
    for name in names:
        if not name or name != name.strip() or "\n" in name or "\r" in name or "\0" in name:
            raise ValueError(f"the name {name!r} cannot be kept in {suffix}; {others} keep it")
    used = [names[number] for number in np.unique(comparisons.rows)] if names else []
    if used and all(map(NUMBER.fullmatch, used)):
        problem = (
            f"names that are all numbers, such as {used[0]!r}, would be read from {suffix} as objects' numbers"
        )
        raise ValueError(f"{problem}; {others} keep them")
    for name in comparisons.extra:
        if not name or name != name.strip():
            raise ValueError(f"the column {name!r} cannot be kept in {suffix}; {others} keep it")
    columns = columns_of(comparisons, named=True)
    texts = [column for column in columns.values() if column.dtype.kind == "U"]
    # Reading ignores blanks after a comma unless they are quoted.
    quote_all = any(cell[:1] == " " or "\r" in cell for column in texts for cell in np.unique(column).tolist())
    with path.open("w", encoding="utf-8", newline="") as file:
        quoting = csv.QUOTE_NONNUMERIC if quote_all else csv.QUOTE_MINIMAL
        options: dict[str, Any] = {"delimiter": "\t" if suffix == ".tsv" else ",", "quoting": quoting}
        writer = csv.writer(file, lineterminator="\n", **options)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
