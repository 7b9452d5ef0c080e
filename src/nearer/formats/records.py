"""From records, the cells of each line of a text or of a sheet, to tables: where the header is and what it says.

Lines that begin with ``#`` before the header are comments, and later ones too if they have another number of cells.
A header may itself be such a line, as numpy writes it, or stand below a title. The two lines that Qualtrics adds below
the header are left out. Columns may be given by their position, from 1, in a file without a header.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from nearer.comparisons.display import OBJECTS
from nearer.comparisons.layouts import Layout, Roles, check_roles, understand
from nearer.comparisons.objects import NUMBER, Column, bare_number
from nearer.formats.tables import Options, Table, UnreadableLineError, in_chunks, understand_headers

Record = tuple[int, list[str]]  # the line that it starts in, and its cells
Records = Callable[..., Iterator[Record]]  # reads a file anew, all records that are not blank; may show a bar
BLOCK = 20_000  # rows that are read before they become columns
LOOK_AHEAD = 10_000  # records that tell data from a header
COMMENT = "#"
TITLES = 10  # most records of a single cell, such as a title, above a header
QUALTRICS = '{"ImportId"'


@dataclass(frozen=True)
class Header:
    """The headers of a file, and how many records there are before its data."""

    cells: list[str]
    n_before: int


def tables_of_records(
    path: Path, ways: Sequence[Records], chunk_rows: int | None, options: Options
) -> Iterator[Table]:
    """Yield the answers as tables of at most `chunk_rows` rows; of the ways to read a file, the first that fits."""
    header, records = _find_header(path, ways, options.roles)
    rows = _rows(path, header, islice(records(options.verbose), header.n_before, None), options.drop)
    roles = None if options.roles is None else check_roles(options.roles, header.cells)
    known: dict[str, Any] = {"roles": roles, "n_objects": options.n_objects}
    if chunk_rows is None:
        columns, lines, n_bad = _join(header.cells, in_chunks(rows, BLOCK))
        if lines or n_bad:
            yield Table(path, columns, lines, n_bad=n_bad, **known)
        return
    for lines, values, n_bad in in_chunks(rows, chunk_rows):
        yield Table(path, _columns(header.cells, values), lines, n_bad=n_bad, **known)


def _join(
    headers: list[str], blocks: Iterator[tuple[list[int], list[list[str]], int]]
) -> tuple[dict[str, Column], Sequence[int], int]:
    """Return all rows of a file as columns, and their lines, with one string for all equal cells of a column."""
    columns: list[list[str]] = [[] for _ in headers]
    lines, n_bad = array("q"), 0
    equal: list[dict[str, str] | None] = [{} for _ in headers]
    for block_lines, values, n in blocks:
        lines.extend(block_lines)
        n_bad += n
        for place, cells in enumerate(zip(*values, strict=True)):
            seen = equal[place]
            columns[place].extend(cells if seen is None else map(seen.setdefault, cells, cells))
            if seen is not None and len(seen) > len(columns[place]) / 2:
                equal[place] = None  # most cells differ
    return dict(zip(headers, columns, strict=True)), lines, n_bad


def plain_tables_of_records(path: Path, ways: Sequence[Records], chunk_rows: int | None) -> Iterator[Table]:
    """Yield a file of any columns as tables; if the first line is all numbers, the headers are "0", "1", …"""
    firsts = [(next(records(), (0, []))[1], records) for records in ways]
    cells, records = next((first for first in firsts if len(first[0]) > 1), firsts[0])
    headers = [cell.strip() for cell in cells]
    while headers and not headers[-1]:
        headers.pop()
    if not headers:
        raise ValueError(f"{path} is empty")
    counted = [str(number) for number in range(len(headers))]
    is_data = all(NUMBER.fullmatch(cell) for cell in headers) and (headers != counted or len(headers) == 1)
    header = Header(counted if is_data else headers, 0 if is_data else 1)
    if "" in header.cells:
        where = header.cells.index("") + 1
        raise ValueError(f"{path}: column {where} has no header; name it, or leave it out if it only counts rows")
    _distinct(path, header.cells, set(header.cells))
    for lines, values, _ in in_chunks(_rows(path, header, islice(records(), header.n_before, None)), chunk_rows):
        yield Table(path, _columns(header.cells, values), lines)


def _columns(headers: list[str], values: list[list[str]]) -> dict[str, Column]:
    columns: dict[str, Column] = {name: [] for name in headers}
    return columns | dict(zip(headers, zip(*values, strict=True), strict=False))


def _rows(
    path: Path, header: Header, records: Iterator[Record], drop: bool = False
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the line and cells of each row; None for a row with the wrong number of cells, if these are dropped."""
    width = len(header.cells)
    for line, row in records:
        if len(row) != width:
            row = row if any(row[width:]) else row[:width]
            if row[0].startswith(COMMENT) and len(row) != width:
                continue
            if len(row) != width and not drop:
                raise UnreadableLineError(f"{path}, line {line} has {len(row)} cells where {width} are wanted")
        yield line, row if len(row) == width else None


def _find_header(path: Path, ways: Sequence[Records], roles: Roles | None) -> tuple[Header, Records]:
    """Return the header and the way to read the file that make sense of each other."""
    shown: tuple[list[str], Records] = ([], ways[0])
    for records in ways:
        for n_before, (_, row) in enumerate(records()):
            cells = [cell.strip() for cell in row]
            header = _header(path, cells, records, n_before, roles)
            if header is not None:
                return header, records
            if cells[0].startswith(COMMENT):
                continue
            shown = max(shown, (cells, records), key=lambda each: len(each[0]))
            if len(list(filter(None, cells))) > 1 or n_before == TITLES:
                break
    if not shown[0]:
        raise ValueError(f"{path} is empty")
    if roles is None and len(shown[0]) > 2 and _is_data(*shown):
        raise no_header(path, *shown)
    understand_headers(path, shown[0], roles)  # raises
    raise AssertionError


def _header(path: Path, cells: list[str], records: Records, n_before: int, roles: Roles | None) -> Header | None:
    """Return the header if a record is one, or if it is the first record of data that needs none."""
    positions = [str(place) for place in range(1, len(cells) + 1)]
    if roles is not None and all(str(column).isdecimal() for column in roles.values()):
        if not {str(column) for column in roles.values()} <= set(positions):
            return None
        return Header(positions, n_before + (not _is_data(cells, records)))
    for headers in (cells, [cells[0].lstrip(COMMENT + " "), *cells[1:]]):
        layout = _layout(headers, roles)
        if (
            layout is not None
            and roles is None
            and _may_be_objects(layout)
            and _is_data(list(layout.objects), records)
        ):
            return None
        if layout is not None:
            named = _distinct(path, headers, {*layout.objects, layout.response, *layout.optional.values()})
            following = [row for _, row in islice(records(), n_before + 1, n_before + 3)]
            if len(following) == 2 and any(cell.startswith(QUALTRICS) for cell in following[1]):
                return Header(named, n_before + 3)
            if following and all(
                len(row) == len(named) + 1 and row[0] == str(number)
                for number, row in enumerate(following, start=1)
            ):
                named = ["row", *named]  # R numbers rows in a column without a header
            return Header(named, n_before + 1)
    if roles is None and len(cells) in OBJECTS and all(NUMBER.fullmatch(cell) for cell in cells):
        last = {bare_number(row[-1].strip()) for _, row in islice(records(), n_before, LOOK_AHEAD)}
        if len(cells) == 3 or not last <= {"-1", "0", "1"}:  # which are responses rather than objects
            return Header(list(OBJECTS[len(cells)]), n_before)
    return None


def _layout(headers: list[str], roles: Roles | None) -> Layout | None:
    try:
        found = None if roles is None else check_roles(roles, headers)
    except ValueError:
        return None
    return understand(headers, found)


def _may_be_objects(layout: Layout) -> bool:
    """Whether headers are only letters, such as A, B and C, which may also be the objects of a first answer."""
    return layout.kind in ("triplets", "quadruplets") and all(len(header) == 1 for header in layout.objects)


def _is_data(cells: list[str], records: Records) -> bool:
    """Whether a first line looks like data: all its cells are numbers, or one of them occurs again."""
    following = [cell.strip() for _, row in islice(records(), 1, LOOK_AHEAD) for cell in row]
    words = {cell for cell in cells if cell and not NUMBER.fullmatch(cell)}
    return not words or not following or not words.isdisjoint(following)


def no_header(path: Path, cells: list[str], records: Records) -> ValueError:
    """Return the error for a file whose first line is data."""
    listed = ", ".join(map(repr, cells))
    roles = OBJECTS[3] if len(cells) == 3 else ("anchor", "choice1", "choice2", "response")
    rows = [row for _, row in islice(records(), LOOK_AHEAD)]
    if len(cells) > 3 and {row[0] for row in rows}.isdisjoint(cell for row in rows for cell in row[1:]):
        roles = ("subject", *OBJECTS[3])
    given = ",".join(f"{role}={place}" for place, role in enumerate(roles, start=1))
    python = ", ".join(f"{role!r}: {place}" for place, role in enumerate(roles, start=1))
    return ValueError(
        f"{path}: your first line, {listed}, looks like data, and a header is wanted. If its columns are "
        f"{', '.join(roles)}, this reads it:\n  nearer check {path} --columns {given}\n  "
        f'read("{path}", columns={{{python}}})'
    )


def _distinct(path: Path, headers: list[str], used: set[str | None]) -> list[str]:
    """Return headers with a number appended to those that are empty or repeated; ValueError if such a one is used."""
    named: list[str] = []
    for number, name in enumerate(headers, start=1):
        if name in named and name in used:
            raise ValueError(f"{path}: two columns are called {name!r}")
        named.append(f"{name or 'column'}{number}" if not name or name in named else name)
    return named
