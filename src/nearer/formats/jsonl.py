"""One JSON object a line, under the headers of `nearer.comparisons.layouts`, or a list of three or four objects.

What Comparisons know of their objects (how many, their names and order) stands in a first line of its own:
``{"nearer": 1, "n_objects": 60, "names": [...]}``; files without it are read too. Keeps everything.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearer.comparisons import Comparisons
from nearer.comparisons.columns import from_values
from nearer.comparisons.layouts import Layout, understand
from nearer.formats.tables import OBJECTS, Table, columns_of, headers_say_nothing

VERSION = 1


def tables(path: Path, chunk_rows: int | None = None, drop: bool = False) -> Iterator[Table]:
    """Read a table at a time, of at most `chunk_rows` rows."""
    about: dict[str, Any] = {}
    headers: list[str] = []
    layout: Layout | None = None
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    n_bad = 0
    for line, value in _values(path, drop):
        if layout is None and not about and isinstance(value, dict) and "nearer" in value:
            about = _about(path, value)
            continue
        record = _record(value)
        if record is None:
            if not drop:
                raise ValueError(
                    f"{path}, line {line} is neither a JSON object nor a list of three or four objects"
                )
            n_bad += 1
            continue
        if layout is None:
            headers = list(record)
            layout = understand(headers)
            if layout is None:
                raise headers_say_nothing(path, headers)
        missing = [name for name in layout.objects if record.get(name) is None]
        if missing and "rank2" not in {name.lower() for name in layout.objects}:
            if not drop:
                raise ValueError(f"{path}, line {line} has no {missing[0]!r}")
            n_bad += 1
            continue
        records.append(record)
        lines.append(line)
        if len(records) == chunk_rows:
            yield _table(path, records, lines, headers, about, n_bad)
            records, lines, n_bad = [], [], 0
    if n_bad and layout is None:
        raise ValueError(f"{path} has no line that says anything")
    if records or n_bad:
        yield _table(path, records, lines, headers, about, n_bad)


def _values(path: Path, drop: bool) -> Iterator[tuple[int, Any]]:
    """Each line's number and value; with `drop`, None for what is no JSON."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, json.loads(text)
            except UnicodeDecodeError:
                raise ValueError(f"{path}, line {number} is not UTF-8 text; save the file as UTF-8") from None
            except ValueError as error:
                if drop:
                    yield number, None
                    continue
                raise ValueError(f"{path}, line {number} is not JSON: {error}") from None


def _about(path: Path, value: dict[str, Any]) -> dict[str, Any]:
    if value["nearer"] != VERSION:
        raise ValueError(
            f"{path} is of version {value['nearer']!r}; this version of nearer reads version {VERSION}"
        )
    names = value.get("names")
    return {"names": None if names is None else tuple(map(str, names)), "n_objects": value.get("n_objects")}


def _record(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list) and len(value) in OBJECTS:
        return dict(zip(OBJECTS[len(value)], value, strict=True))
    return value if isinstance(value, dict) else None


def _table(
    path: Path,
    records: list[dict[str, Any]],
    lines: list[int],
    headers: list[str],
    about: dict[str, Any],
    n_bad: int,
) -> Table:
    headers = list(dict.fromkeys([*headers, *(name for record in records for name in record)]))
    columns = {name: _column([record.get(name) for record in records]) for name in headers}
    return Table(path, columns, lines, n_bad=n_bad, **about)


def _column(cells: list[Any]) -> Any:
    """Numbers as numbers, so that text that looks like a number stays text."""
    kinds = {type(cell) for cell in cells}
    mixed = kinds & {list, dict} or (str in kinds and len(kinds) > 1)
    return cells if mixed else from_values(cells)


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write what is known of the objects, then a line for each row."""
    columns = columns_of(comparisons, named=True)
    about = {"nearer": VERSION, "n_objects": comparisons.n_objects, "names": comparisons.names}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps({key: value for key, value in about.items() if value is not None}) + "\n")
        for cells in zip(*(column.tolist() for column in columns.values()), strict=True):
            record = dict(zip(columns, cells, strict=True))
            file.write(json.dumps({key: None if v != v else v for key, v in record.items()}) + "\n")
