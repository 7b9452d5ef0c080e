"""One JSON object per line, with the headers of `nearer.comparisons.layouts`, or a list of three or four objects.

An optional first line says what is known of the objects (how many, their names and order):
``{"nearer": 1, "n_objects": 60, "names": [...]}``. The format keeps everything. A ``.json`` file is one list of such
objects, which are counted as lines.

A file has one layout and is read as a table. In a stream each line is parsed by itself: `parse_answer`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from nearer.comparisons import Comparisons, fields, layouts
from nearer.comparisons.columns import from_values
from nearer.comparisons.display import OBJECTS, columns_of
from nearer.comparisons.layouts import Layout
from nearer.comparisons.objects import Column
from nearer.comparisons.rows import BadRowError
from nearer.formats.tables import BadLineError, Options, Table, UnreadableLineError, in_chunks, understand_headers
from nearer.formats.text import find_encoding, read_lines, suffix_of

VERSION = 1
LOOK_AHEAD = 1000  # records whose fields tell the layout if those of the first do not
NEITHER = "is neither a JSON object nor a list of three or four objects"
NO_OBJECT = "is no JSON object"


def tables(path: Path, chunk_rows: int | None = None, options: Options | None = None) -> Iterator[Table]:
    """Yield the answers as tables of at most `chunk_rows` rows."""
    options = options or Options()
    about: dict[str, Any] = {}
    headers: list[str] = []

    def records() -> Iterator[tuple[int, dict[str, Any] | None]]:
        nonlocal about, headers
        layout: Layout | None = None
        line = 0
        for line, value in _values_of_file(path, options.encoding, options.verbose):
            if layout is None and not about and is_about(value):
                try:
                    about = about_objects(value)
                except ValueError as error:
                    raise ValueError(f"{path}, line {line} {error}") from None
                continue
            record = _record(value)
            if layout is None and record is not None:
                headers, layout = _headers(path, record, options)
            problem = _problem(value, record, layout)
            if problem is not None and not options.drop:
                kind = UnreadableLineError if record is None else BadLineError
                raise kind(f"{path}, line {line} {problem}")
            yield line, record if problem is None else None
        if line == 0:
            raise ValueError(f"{path} is empty")

    for lines, values, n_bad in in_chunks(records(), chunk_rows):
        if not headers:
            raise ValueError(f"{path} has no line that says anything")
        names = dict.fromkeys([*headers, *(name for record in values for name in record)])
        columns = {name: _column([record.get(name) for record in values]) for name in names}
        if options.n_objects is not None:
            about = about | {"n_objects": options.n_objects}
        yield Table(path, columns, lines, n_bad=n_bad, roles=options.roles, **about)


def _headers(path: Path, record: dict[str, Any], options: Options) -> tuple[list[str], Layout]:
    """Return the fields of the first record and their layout, or those of the first records together."""
    try:
        return list(record), understand_headers(path, list(record), options.roles)
    except ValueError:  # of an experiment, the first record may be an instruction
        values = islice(_values_of_file(path, options.encoding), LOOK_AHEAD)
        headers = list(dict.fromkeys(name for _, value in values if isinstance(value, dict) for name in value))
        if set(headers) <= set(record):
            raise
        return headers, understand_headers(path, headers, options.roles)


def plain_tables(path: Path, chunk_rows: int | None = None) -> Iterator[Table]:
    """Yield a file of any fields as tables, one object per line; a field that a line lacks is None."""
    values = _values_of_file(path)
    while lines := list(islice(values, chunk_rows)):
        for line, value in lines:
            if not isinstance(value, dict):
                raise ValueError(f"{path}, line {line} {value if isinstance(value, ValueError) else NO_OBJECT}")
        headers = dict.fromkeys(name for _, record in lines for name in record)
        columns: dict[str, Column] = {name: [record.get(name) for _, record in lines] for name in headers}
        yield Table(path, columns, [line for line, _ in lines])


def _values_of_file(path: Path, encoding: str | None = None, verbose: bool = False) -> Iterator[tuple[int, Any]]:
    lines = read_lines(path, find_encoding(path, encoding), verbose)
    if suffix_of(path) != ".json":
        return parse_lines(lines)
    try:
        values = json.loads("".join(lines))
    except (ValueError, RecursionError) as error:
        hint = "; if it holds one answer per line, rename it to end in .jsonl" * ("Extra data" in str(error))
        raise ValueError(f"{path} is not JSON: {error}{hint}") from None
    if not isinstance(values, list):
        raise ValueError(f"{path} must hold a list of answers")
    return iter(enumerate(values, start=1))


def parse_lines(lines: Iterable[str | bytes]) -> Iterator[tuple[int, Any]]:
    """Yield the number, from 1, and value of each line that is not blank; if it is not JSON, an error as its value."""
    for number, raw in enumerate(lines, start=1):
        value: Any
        try:
            text = raw if isinstance(raw, str) else raw.decode("utf-8-sig" if number == 1 else "utf-8")
            if not text.strip():
                continue
            value = json.loads(text)
        except UnicodeDecodeError:
            value = UnicodeError("is not UTF-8 text")
        except (ValueError, RecursionError) as error:
            value = ValueError(f"is not JSON: {error}")
        yield number, value


def is_about(value: Any) -> bool:
    """Whether the value of a first line describes the objects and is no answer."""
    return isinstance(value, dict) and "nearer" in value


def about_objects(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``names`` and ``n_objects`` of a first line about the objects, None for what it lacks."""
    if value["nearer"] != VERSION:
        raise ValueError(f"is of version {value['nearer']!r}; this version of nearer reads version {VERSION}")
    names, n_objects = value.get("names"), value.get("n_objects")
    if not isinstance(names, list | None):
        raise ValueError(f"has names that are no list: {names!r}")
    if not isinstance(n_objects, int | None):
        raise ValueError(f"has n_objects={n_objects!r}, which is no number of objects")
    return {"names": None if names is None else tuple(map(str, names)), "n_objects": n_objects}


def parse_answer(
    value: Any, names: Sequence[str] | None = None, n_objects: int | None = None, named: bool = False
) -> tuple[Comparisons, Any]:
    """Return the comparisons in the value of one line, whatever other lines hold, and its answer id or None.

    `names` are the only names that are accepted, if a first line lists them. With `named`, text that looks like a
    number is a name too (JSON numbers stay numbers).
    """
    record = _record(value)
    layout = None if record is None else layouts.understand(list(record))
    problem = _problem(value, record, layout)
    if problem is not None:
        raise BadRowError(0, problem)
    assert record is not None
    if layout is None:
        listed, known = ", ".join(map(repr, record)) or "no fields", layouts.understood_headers()
        raise BadRowError(0, f"has {listed}, which says nothing; understood are\n{known}")
    its_id = record.get(layout.optional.get("answers", ""))
    optional = {what: name for what, name in layout.optional.items() if what == "weights"}
    layout = replace(layout, optional=optional, others=())
    given = layout.objects if layout.response is None else (*layout.objects, layout.response)
    columns = {name: _column([record.get(name)]) for name in given}
    columns |= {name: [record[name]] for name in layout.optional.values()}
    if named and names is None:
        cells = [cell for name in layout.objects for cell in _as_list(record.get(name))]
        if not all(isinstance(cell, int | float) for cell in cells):
            names = sorted(fields.object_texts(layout, columns))
    arguments, _ = fields.fields_of_columns(layout, columns, names)
    return Comparisons(**arguments, n_objects=n_objects if arguments["names"] is None else None), its_id


def _record(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list) and len(value) in OBJECTS:
        return dict(zip(OBJECTS[len(value)], value, strict=True))
    return value if isinstance(value, dict) else None


def _problem(value: Any, record: dict[str, Any] | None, layout: Layout | None) -> str | None:
    """Return what is wrong with a line for its layout, as the end of a sentence; None if nothing is."""
    if record is None:
        return str(value) if isinstance(value, ValueError) else NEITHER
    wanted: tuple[str, ...] = () if layout is None else layout.objects
    if layout is not None and layout.response is not None:
        wanted = (*wanted, layout.response)
    missing = [name for name in wanted if record.get(name) is None]
    if missing and "rank2" not in {name.lower() for name in wanted}:
        return f"has no {missing[0]!r}"
    return None


def _as_list(cell: Any) -> list[Any]:
    return cell if isinstance(cell, list) else [cell]


def _column(cells: list[Any]) -> Any:
    """Return cells as an array, numbers as numbers, so that text that looks like a number stays text."""
    kinds = {type(cell) for cell in cells}
    mixed = kinds & {list, dict} or (str in kinds and len(kinds) > 1)
    return cells if mixed else from_values(cells)


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write what is known of the objects, then one line per row."""
    columns = columns_of(comparisons, named=True)
    about = {"nearer": VERSION, "n_objects": comparisons.n_objects, "names": comparisons.names}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps({key: value for key, value in about.items() if value is not None}) + "\n")
        for cells in zip(*(column.tolist() for column in columns.values()), strict=True):
            record = dict(zip(columns, cells, strict=True))
            file.write(json.dumps({key: None if v != v else v for key, v in record.items()}) + "\n")
