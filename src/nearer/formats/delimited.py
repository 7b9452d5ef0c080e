"""Text with one cell per column: csv, tsv and txt, as spreadsheets, surveys and statistics programs write them.

A byte order mark, Windows line ends, blank lines, quoted cells, ``sep=;`` in the first line, comments, and ``;``, tab
or ``|`` instead of the comma are all accepted, in a .txt also blanks; blanks after a comma are ignored unless they are
quoted. A file of answers needs no header if its first line is three or four numbers.
"""

import csv
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.display import columns_of
from nearer.comparisons.objects import NUMBER, is_missing_text, names_of_texts
from nearer.formats.records import Record, Records, plain_tables_of_records, tables_of_records
from nearer.formats.tables import Options, Table
from nearer.formats.text import find_encoding, read_lines, suffix_of

SEPARATOR = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel's first line
DELIMITERS = {".tsv": "\t,;|", ".txt": "\t,;| "}


def tables(path: Path, chunk_rows: int | None = None, options: Options | None = None) -> Iterator[Table]:
    """Yield the answers as tables of at most `chunk_rows` rows."""
    options = options or Options()
    yield from tables_of_records(path, _ways(path, options), chunk_rows, options)


def plain_tables(path: Path, chunk_rows: int | None = None) -> Iterator[Table]:
    """Yield a file of any columns as tables; if the first line is all numbers, the headers are "0", "1", …"""
    yield from plain_tables_of_records(path, _ways(path, Options()), chunk_rows)


def _ways(path: Path, options: Options) -> list[Records]:
    """Return the ways to read a file, one per delimiter."""
    encoding = find_encoding(path, options.encoding)
    first = next(read_lines(path, encoding), "")
    declared = SEPARATOR.fullmatch(first)
    delimiters = declared.group(1) if declared else DELIMITERS.get(suffix_of(path), ",;\t|")
    return [partial(_records, path, delimiter, encoding, bool(declared)) for delimiter in delimiters]


def _records(
    path: Path, delimiter: str, encoding: str, skip_first: bool, verbose: bool = False
) -> Iterator[Record]:
    """Yield each record that is not blank, with the line that it starts in."""
    lines = read_lines(path, encoding, verbose)
    if skip_first:
        lines = chain(["\n"], (line for number, line in enumerate(lines) if number))
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    line = 1
    try:
        for row in reader:
            if row and (row[0].strip() or any(cell.strip() for cell in row)):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {line} cannot be read: {error}") from None


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write a header and one line per row; names that would not come back the same are refused."""
    names, others = comparisons.names or (), ".jsonl, .npz and .parquet"
    for name in names:
        if not name or name != name.strip() or "\n" in name or "\r" in name or "\0" in name:
            raise ValueError(f"the name {name!r} cannot be kept in {suffix}; {others} keep it")
        if is_missing_text(name):
            raise ValueError(f"the name {name!r} would be read from {suffix} as a missing value; {others} keep it")
    used = {names[number] for number in np.unique(comparisons.rows)} if names else set()
    if used and all(map(NUMBER.fullmatch, used)) and names_of_texts(used) != tuple(sorted(used, key=float)):
        problem = (
            f"names that are all numbers, such as {min(used)!r}, would be read from {suffix} as other objects"
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
