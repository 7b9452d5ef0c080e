"""What the headers of a table mean: one list of layouts for files of every kind and for DataFrames.

Headers are compared without regard to case, blanks, dots and hyphens (``Odd one-out`` is ``odd_one_out``).
Columns that no layout claims are kept as extra columns, so a survey's own export loads as it is.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.answers import most_central_rows, odd_one_out_rows, picked_last, ranking_rows
from nearer.comparisons.columns import EXACT, from_values
from nearer.comparisons.rows import BadRowError

Column = Sequence[Any] | NDArray[Any]

LAYOUTS: dict[str, list[tuple[str, ...]]] = {
    "odd one out": [
        ("first", "second", "third", "odd"),
        ("object1", "object2", "object3", "odd_one_out"),
        ("a", "b", "c", "odd"),
        ("first", "second", "odd"),
        ("object1", "object2", "odd_one_out"),
        ("a", "b", "odd"),
    ],
    "most central": [
        ("first", "second", "third", "central"),
        ("object1", "object2", "object3", "most_central"),
        ("a", "b", "c", "central"),
        ("first", "second", "central"),
        ("object1", "object2", "most_central"),
        ("a", "b", "central"),
    ],
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
OPTIONAL = {
    "weights": ("weight", "weights"),
    "subjects": ("subject", "subjects", "subject_id", "participant", "participant_id", "puid"),
    "answers": ("answer", "answers", "answer_id"),
}
RANKING_SEPARATOR = ";"
LONGEST = 40  # characters; what is longer fits into no type of number
INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|inf|infinity)", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Which column plays which part."""

    kind: str
    objects: tuple[str, ...]
    optional: Mapping[str, str]
    others: tuple[str, ...]


def understand(headers: Sequence[str]) -> Layout | None:
    """Find the layout that the headers spell; None when they spell none.

    Examples
    --------
    >>> understand(["Subject", "head", "winner", "loser"]).kind
    'triplets'
    >>> understand(["x", "y", "z"]) is None
    True
    """
    called: dict[str, str] = {}
    for header in headers:
        called.setdefault(re.sub(r"[\s.\-]+", "_", header.strip().lower()), header)
    for kind, choices in LAYOUTS.items():
        for wanted in choices:
            if all(name in called for name in wanted):
                if "rank2" in wanted:
                    ranks = sorted((name for name in called if re.fullmatch("rank[0-9]+", name)), key=_rank)
                    wanted = ("anchor", *ranks)
                objects = tuple(called[name] for name in wanted)
                optional = {
                    what: called[next(name for name in names if name in called)]
                    for what, names in OPTIONAL.items()
                    if any(name in called for name in names)
                }
                claimed = {*objects, *optional.values()}
                return Layout(kind, objects, optional, tuple(name for name in headers if name not in claimed))
    return None


def _rank(header: str) -> int:
    return int(header[4:])


def understood_headers() -> str:
    """The list of headers for error messages.

    Examples
    --------
    >>> understood_headers().splitlines()[0]
    '  odd one out: first,second,third,odd · object1,object2,object3,odd_one_out · ...'
    """
    lines = [
        f"  {kind}: {' · '.join(','.join(choice) for choice in choices)}" for kind, choices in LAYOUTS.items()
    ]
    optional = ", ".join(names[0] for names in OPTIONAL.values())
    return "\n".join([*lines, f"  and, with any of these: {optional}; other columns are kept as they are"])


def fields_of_columns(
    layout: Layout, columns: Mapping[str, Column], names: Sequence[str] | None = None, drop: bool = False
) -> tuple[dict[str, Any], NDArray[np.intp]]:
    """Arguments for `Comparisons`, and for each row the line of the table that it came from.

    Parameters
    ----------
    layout : Layout
    columns : mapping of header to cells
    names : sequence of str, optional
        The objects' names in order, where they are known beforehand. Without them, cells that are all
        numbers are objects' numbers, and otherwise the sorted distinct cells are the names.
    drop : bool
        Let cells that name no object through, as a number that no object has.

    Examples
    --------
    >>> table = {"a": ["Rome", "Oslo"], "b": ["Bonn", "Rome"], "odd": ["Oslo", "Bonn"]}
    >>> fields, line = fields_of_columns(understand(list(table)), table)
    >>> fields["names"], fields["rows"].tolist(), line.tolist()
    (('Bonn', 'Oslo', 'Rome'), [[2, 0, 1], [0, 2, 1], [1, 2, 0], [2, 1, 0]], [0, 0, 1, 1])
    """
    cells = [columns[name] for name in layout.objects]
    if layout.kind == "ranking":
        rows, line, names = _rankings(cells, names, drop)
    else:
        numbers, names = number_objects(cells, names, drop)
        table = np.column_stack(numbers)
        line = np.arange(len(table))
        rows = table
        if layout.kind in ("odd one out", "most central"):
            word = "odd" if layout.kind == "odd one out" else "central"
            if drop and table.shape[1] == 4:  # picked none of the three: impossible
                table[~(table[:, :3] == table[:, 3:]).any(axis=1)] = -1
            triples = table if table.shape[1] == 3 else picked_last(table[:, :3], table[:, 3], word)
            rows, line = (odd_one_out_rows if word == "odd" else most_central_rows)(triples)
    fields: dict[str, Any] = {"rows": rows, "names": names}
    for what, header in layout.optional.items():
        column = _weights(columns[header], drop) if what == "weights" else typed(columns[header])
        fields[what] = column[line]
    if len(line) > len(cells[0]) and "answers" not in fields:
        fields["answers"] = line
    fields["extra"] = {name: typed(columns[name])[line] for name in layout.others}
    return fields, line


def number_objects(
    columns: Sequence[Column], names: Sequence[str] | None, drop: bool = False
) -> tuple[list[NDArray[Any]], tuple[str, ...] | None]:
    """Turn cells that name objects, or number them, into numbers.

    Examples
    --------
    >>> number_objects([["b", "a"], ["a", "c"]], None)
    ([array([1, 0]), array([0, 2])], ('a', 'b', 'c'))
    >>> number_objects([["10", "2"]], None)
    ([array([10.,  2.])], None)
    """
    if all(isinstance(column, np.ndarray) and column.dtype.kind in "iuf" for column in columns):
        return [np.asarray(column) for column in columns], None if names is None else tuple(names)
    texts = [[cell if type(cell) is str else _text(cell) for cell in column] for column in columns]
    number, names = object_indices(set().union(*texts), names)
    if not drop and any(value < 0 or value != value for value in number.values()):
        for row, cells in enumerate(zip(*texts, strict=True)):
            for cell in cells:
                if not cell.strip():
                    raise BadRowError(row, "has an empty cell where an object is wanted")
                if names is not None and number[cell] < 0:
                    raise BadRowError(row, f"names {cell!r}, which is none of the {len(names)} objects")
    return [np.array([number[cell] for cell in text]) for text in texts], names


def object_indices(
    cells: set[str], names: Sequence[str] | None
) -> tuple[dict[str, int] | dict[str, float], tuple[str, ...] | None]:
    """The number that each distinct cell means (-1 or NaN: no object), and the names if cells are names.

    Examples
    --------
    >>> object_indices({"Rome", "Oslo ", "Oslo"}, None)[1]
    ('Oslo', 'Rome')
    """
    stripped = {cell: cell.strip() for cell in cells}
    if names is None and all(not text or NUMBER.fullmatch(text) for text in stripped.values()):
        return {cell: float(text) if text else np.nan for cell, text in stripped.items()}, None
    if names is None:
        names = sorted(set(stripped.values()) - {""})
    position = {name: number for number, name in enumerate(names)}
    return {cell: position.get(cell, position.get(text, -1)) for cell, text in stripped.items()}, tuple(names)


def _text(cell: Any) -> str:
    if cell is None or isinstance(cell, list | dict) or cell != cell:  # a list names no one object
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _rankings(
    cells: list[Column], names: Sequence[str] | None, drop: bool
) -> tuple[NDArray[Any], NDArray[np.intp], tuple[str, ...] | None]:
    """Rankings in one column, separated, or in columns of their own; the shorter ones end in empty cells."""
    anchors, lists = ranked_texts(cells)
    flat = [cell for ranked in lists for cell in ranked]
    lengths = [len(ranked) for ranked in lists]
    owner = np.repeat(np.arange(len(lists)), lengths)
    (anchor_numbers, numbers), names = number_objects([anchors, flat], names, drop=True)
    if not drop:
        empty = [line for line, anchor in enumerate(anchors) if not anchor.strip()]
        bad = np.flatnonzero(~(numbers >= 0))
        if empty:
            raise BadRowError(empty[0], "has an empty cell where its anchor is wanted")
        if len(bad):
            raise BadRowError(int(owner[bad[0]]), f"ranks {flat[bad[0]]!r}, which is no object")
    rankings: list[Any] = np.split(numbers, np.cumsum(lengths)[:-1])[: len(lists)]
    if drop:  # too short to say anything: leave an impossible row in its place
        rankings = [ranking if len(ranking) > 1 else [-1, -1] for ranking in rankings]
    rows, line = ranking_rows(anchor_numbers, rankings)
    return rows, line, names


def ranked_texts(cells: Sequence[Column]) -> tuple[list[str], list[list[str]]]:
    """The anchors and what each of them ranks, as text.

    Examples
    --------
    >>> ranked_texts([["x", "y"], ["a;b", ["c; d", "e"]]])
    (['x', 'y'], [['a', 'b'], ['c; d', 'e']])
    >>> ranked_texts([["x"], ["a"], ["b"], [""]])
    (['x'], [['a', 'b']])
    """
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
    """The distinct texts that name an object.

    Where all columns are of numbers, which number the objects, there are none, unless `numbers` asks for them.

    Examples
    --------
    >>> sorted(object_texts(understand(["anchor", "ranking"]), {"anchor": ["x"], "ranking": ["a; b"]}))
    ['a', 'b', 'x']
    """
    cells = [columns[name] for name in layout.objects]
    if not numbers and all(isinstance(cell, np.ndarray) and cell.dtype.kind in "iuf" for cell in cells):
        return set()
    if layout.kind == "ranking":
        anchors, lists = ranked_texts(cells)
        texts = set(anchors).union(*lists)
    else:
        texts = {cell if type(cell) is str else _text(cell) for column in cells for cell in column}
    return {text.strip() for text in texts} - {""}


def typed(cells: Column) -> NDArray[Any]:
    """Text cells as whole numbers, numbers (an empty cell is NaN), booleans or text, whichever fits them all.

    Whole numbers that do not fit stay text, so that two long ids are never one.

    Examples
    --------
    >>> typed(["1", "2"]), typed(["1.5", ""]), typed(["true", "false"]), typed(["1", "x"])
    (array([1, 2]), array([1.5, nan]), array([ True, False]), array(['1', 'x'], dtype='<U1'))
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
        return cells
    texts = list(cells)
    if not all(type(cell) is str for cell in texts):
        return from_values(texts)
    distinct = set(texts)
    whole = [int(cell) for cell in distinct if len(cell) < LONGEST and INTEGER.fullmatch(cell)]
    if len(whole) == len(distinct) and all(-(2**63) <= number < 2**63 for number in whole):
        return np.array([int(cell) for cell in texts], dtype=np.int64)
    if any(distinct) and all(not cell or _is_float(cell) for cell in distinct):
        return np.array([float(cell or "nan") for cell in texts], dtype=np.float64)
    if distinct <= {"true", "false", "True", "False"}:
        return np.array([cell.lower() == "true" for cell in texts], dtype=bool)
    return np.array(texts, dtype=np.str_)


def _is_float(text: str) -> bool:
    """Whether a text is a number that a float keeps: long whole numbers, such as ids, are not."""
    if INTEGER.fullmatch(text):
        return len(text) < LONGEST and abs(int(text)) <= EXACT
    return NUMBER.fullmatch(text) is not None


def _weights(cells: Column, drop: bool) -> NDArray[Any]:
    """Weights as numbers; with `drop`, NaN for a cell that is none."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        return cells
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        with suppress(TypeError, ValueError):
            numbers[row] = float(cell)
        if not drop and not 0 <= numbers[row] < np.inf:
            shown = repr(cell) if np.isnan(numbers[row]) else numbers[row]
            raise BadRowError(row, f"has weight {shown}; a weight is a finite number of at least 0")
    return numbers


def fields_of_frame(frame: Any) -> dict[str, Any]:
    """Arguments for `Comparisons` from a DataFrame: by its headers, or three or four columns in order.

    Examples
    --------
    >>> import pandas as pd
    >>> fields_of_frame(pd.DataFrame({"far": [2], "near": [1], "anchor": [0]}))["rows"]
    array([[0, 1, 2]])
    """
    layout = understand([str(header) for header in frame.columns])
    if layout is None:
        return {"rows": frame.to_numpy()}
    fields, _ = fields_of_columns(layout, {str(header): frame[header].to_numpy() for header in frame.columns})
    return fields
