"""The meaning of a table's headers: one list of layouts for all file formats and for DataFrames.

Case, blanks, dots and hyphens of headers are ignored (``Odd one-out`` is ``odd_one_out``). Columns that belong to
no layout are kept as extra columns, so an export of a survey can be read unchanged.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.answers import PICKED, expand_picked, expand_rankings
from nearer.comparisons.columns import EXACT, clean_numbers, from_values
from nearer.comparisons.rows import BadRowError

Column = Sequence[Any] | NDArray[Any]
Names = tuple[str, ...] | None


def _picked(short: str, long: str) -> list[tuple[str, ...]]:
    """Return the headers of three objects and the picked one, or of the two others and the picked one."""
    rows = [("first", "second", "third", short), ("object1", "object2", "object3", long), ("a", "b", "c", short)]
    return rows + [(*row[:2], row[3]) for row in rows]


LAYOUTS: dict[str, list[tuple[str, ...]]] = {
    "odd one out": _picked("odd", "odd_one_out"),
    "most central": _picked("central", "most_central"),
    "ranking": [("anchor", "ranking"), ("anchor", "rank1", "rank2")],
    "quadruplets": [("i", "j", "l", "k")],
    "triplets": [
        ("anchor", "near", "far"),
        ("head", "winner", "loser"),
        ("anchor", "positive", "negative"),
        ("a", "b", "c"),
        ("i", "j", "k"),
    ],
}


class OptionalColumn(NamedTuple):
    """A column beside the objects: its headers, the first of which is written, and how its cells are read."""

    headers: tuple[str, ...]
    # Of cells and `drop`: a bad cell is a BadRowError, with `drop` NaN.
    read: Callable[[Column, bool], NDArray[Any]] = lambda cells, drop: parse_cells(cells)


def number_column(name: str, low: float = 0.0, high: float = np.inf) -> Callable[[Column, bool], NDArray[Any]]:
    """Return the reader of a column of finite numbers within bounds."""
    return lambda cells, drop: clean_numbers(cells, name, len(cells), drop, low, high)


# Weights, subjects and answers are arguments of `Comparisons`; any other column is kept in `extra` under its key.
OPTIONAL: dict[str, OptionalColumn] = {
    "weights": OptionalColumn(("weight", "weights"), number_column("weight")),
    "subjects": OptionalColumn(
        ("subject", "subjects", "subject_id", "participant", "participant_id", "puid"),
        lambda cells, drop: parse_cells(cells),
    ),
    "answers": OptionalColumn(("answer", "answers", "answer_id")),
}
ARGUMENTS = ("weights", "subjects", "answers")
RANKING_SEPARATOR = ";"
LONGEST = 40  # characters; longer text fits into no type of number
INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The columns of a table, by their meaning."""

    kind: str
    objects: tuple[str, ...]
    optional: Mapping[str, str]
    others: tuple[str, ...]


def understand(headers: Sequence[str]) -> Layout | None:
    """Return the layout of a table by its headers, or None."""
    known: dict[str, str] = {}
    for header in headers:
        known.setdefault(re.sub(r"[\s.\-]+", "_", header.strip().lower()), header)
    for kind, choices in LAYOUTS.items():
        for choice in choices:
            if all(name in known for name in choice):
                if "rank2" in choice:
                    ranks = [name for name in known if re.fullmatch("rank[0-9]+", name)]
                    choice = ("anchor", *sorted(ranks, key=lambda name: int(name[4:])))
                objects = tuple(known[name] for name in choice)
                optional = {
                    what: known[next(name for name in column.headers if name in known)]
                    for what, column in OPTIONAL.items()
                    if any(name in known for name in column.headers)
                }
                used = {*objects, *optional.values()}
                return Layout(kind, objects, optional, tuple(name for name in headers if name not in used))
    return None


def understood_headers() -> str:
    """Return the list of headers for error messages."""
    lines = [f"  {kind}: {' · '.join(map(','.join, choices))}" for kind, choices in LAYOUTS.items()]
    optional = ", ".join(column.headers[0] for column in OPTIONAL.values())
    return "\n".join([*lines, f"  and, with any of these: {optional}; other columns are kept as they are"])


def fields_of_columns(
    layout: Layout, columns: Mapping[str, Column], names: Sequence[str] | None = None, drop: bool = False
) -> tuple[dict[str, Any], NDArray[np.intp]]:
    """Return the arguments of `Comparisons`, and the line of the table that each row comes from.

    Without `names`, cells that are all numbers are numbers of objects; otherwise the sorted distinct cells are names.
    """
    cells = [columns[name] for name in layout.objects]
    if layout.kind == "ranking":
        rows, line, names = _read_rankings(cells, names, drop)
    else:
        numbers, names = number_objects(cells, names, drop)
        rows = np.column_stack(numbers)
        line = np.arange(len(rows))
        if layout.kind in PICKED:
            picked = rows[:, 3] if rows.shape[1] == 4 else None
            if drop and picked is not None:  # none of the three was picked: make the row invalid
                rows[~(rows[:, :3] == rows[:, 3:]).any(axis=1)] = -1
            rows, line = expand_picked(rows[:, :3], picked, layout.kind)
    fields: dict[str, Any] = {"rows": rows, "names": names}
    optional = {what: OPTIONAL[what].read(columns[name], drop)[line] for what, name in layout.optional.items()}
    fields |= {what: optional.pop(what) for what in ARGUMENTS if what in optional}
    if len(line) > len(cells[0]) and "answers" not in fields:
        fields["answers"] = line
    fields["extra"] = {name: parse_cells(columns[name])[line] for name in layout.others} | optional
    return fields, line


def number_objects(
    columns: Sequence[Column], names: Sequence[str] | None, drop: bool = False
) -> tuple[list[NDArray[Any]], Names]:
    """Return cells that hold names or numbers of objects as numbers, and the names if they hold names."""
    if all(isinstance(column, np.ndarray) and column.dtype.kind in "iuf" for column in columns):
        return [np.asarray(column) for column in columns], None if names is None else tuple(names)
    texts = [[_text(cell) for cell in column] for column in columns]
    stripped = {cell: cell.strip() for cell in set().union(*texts)}
    number: Mapping[str, float]  # of each distinct cell; -1 or NaN: no object
    if names is None and all(not text or NUMBER.fullmatch(text) for text in stripped.values()):
        number = {cell: float(text or "nan") for cell, text in stripped.items()}
    else:
        names = tuple(sorted(set(stripped.values()) - {""}) if names is None else names)
        index = {name: i for i, name in enumerate(names)}
        number = {cell: index.get(cell, index.get(text, -1)) for cell, text in stripped.items()}
    if not drop and any(value < 0 or value != value for value in number.values()):
        for row, cells in enumerate(zip(*texts, strict=True)):
            for cell in cells:
                if not cell.strip():
                    raise BadRowError(row, "has an empty cell where an object is expected")
                if names is not None and number[cell] < 0:
                    raise BadRowError(row, f"names {cell!r}, which is none of the {len(names)} objects")
    return [np.array([number[cell] for cell in text]) for text in texts], names


def _text(cell: Any) -> str:
    if type(cell) is str:
        return cell
    if cell is None or isinstance(cell, list | dict) or cell != cell:  # a list names no single object
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _read_rankings(
    cells: list[Column], names: Sequence[str] | None, drop: bool
) -> tuple[NDArray[Any], NDArray[np.intp], Names]:
    """Return the rows of rankings in one column, separated, or in several, where short ones end in empty cells."""
    anchors, lists = _split_rankings(cells)
    flat = [cell for ranked in lists for cell in ranked]
    lengths = [len(ranked) for ranked in lists]
    (anchor_numbers, numbers), names = number_objects([anchors, flat], names, drop=True)
    if not drop:
        empty = [line for line, anchor in enumerate(anchors) if not anchor.strip()]
        bad = np.flatnonzero(~(numbers >= 0))
        if empty:
            raise BadRowError(empty[0], "has an empty cell where its anchor is expected")
        if len(bad):
            line = np.repeat(np.arange(len(lists)), lengths)[bad[0]]
            raise BadRowError(int(line), f"ranks {flat[bad[0]]!r}, which is no object")
    rankings: list[Any] = np.split(numbers, np.cumsum(lengths)[:-1])[: len(lists)]
    if drop:  # too short to say anything: an invalid row in its place
        rankings = [ranking if len(ranking) > 1 else [-1, -1] for ranking in rankings]
    return *expand_rankings(anchor_numbers, rankings), names


def _split_rankings(cells: Sequence[Column]) -> tuple[list[str], list[list[str]]]:
    """Return the anchors and the objects that each of them ranks, as text."""
    anchors = [_text(cell) for cell in cells[0]]
    if len(cells) == 2:
        return anchors, [
            [_text(part) for part in cell] if isinstance(cell, list) else _text(cell).split(RANKING_SEPARATOR)
            for cell in cells[1]
        ]
    lists = [[_text(cell) for cell in row] for row in zip(*cells[1:], strict=True)]
    for ranked in lists:
        while ranked and not ranked[-1].strip():
            ranked.pop()
    return anchors, lists


def object_texts(layout: Layout, columns: Mapping[str, Column], numbers: bool = False) -> set[str]:
    """Return the distinct texts that name an object; with `numbers` also if all columns hold numbers."""
    cells = [columns[name] for name in layout.objects]
    if not numbers and all(isinstance(cell, np.ndarray) and cell.dtype.kind in "iuf" for cell in cells):
        return set()
    if layout.kind == "ranking":
        anchors, lists = _split_rankings(cells)
        texts = set(anchors).union(*lists)
    else:
        texts = {_text(cell) for column in cells for cell in column}
    return {text.strip() for text in texts} - {""}


def parse_cells(cells: Column) -> NDArray[Any]:
    """Return text cells as integers, floats (an empty cell is NaN), booleans or text, whichever fits them all."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
        return cells
    texts = list(cells)
    if not all(type(cell) is str for cell in texts):
        return from_values(texts)
    distinct = set(texts)
    whole = [int(cell) for cell in distinct if len(cell) < LONGEST and INTEGER.fullmatch(cell)]
    # Integers that do not fit into 64 bits stay text, so that different long ids stay different.
    if len(whole) == len(distinct) and all(-(2**63) <= number < 2**63 for number in whole):
        return np.array([int(cell) for cell in texts], dtype=np.int64)
    if any(distinct) and all(not cell or _is_float(cell) for cell in distinct):
        return np.array([float(cell or "nan") for cell in texts], dtype=np.float64)
    if distinct <= {"true", "false", "True", "False"}:
        return np.array([cell.lower() == "true" for cell in texts], dtype=bool)
    return np.array(texts, dtype=np.str_)


def _is_float(text: str) -> bool:
    """Whether a text is a number that a float holds; long integers, such as ids, are not."""
    if INTEGER.fullmatch(text):
        return len(text) < LONGEST and abs(int(text)) <= EXACT
    return NUMBER.fullmatch(text) is not None


def fields_of_frame(frame: Any) -> dict[str, Any]:
    """Return the arguments of `Comparisons` from a DataFrame, by its headers or by position."""
    layout = understand([str(header) for header in frame.columns])
    if layout is None:
        return {"rows": frame.to_numpy()}
    fields, _ = fields_of_columns(layout, {str(header): frame[header].to_numpy() for header in frame.columns})
    return fields
