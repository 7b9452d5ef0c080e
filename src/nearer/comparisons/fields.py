"""From the columns of a table to the arguments of `Comparisons`: the answers that each layout stands for."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.answers import PICKED, expand_picked, expand_rankings
from nearer.comparisons.columns import parse_cells
from nearer.comparisons.layouts import ARGUMENTS, OPTIONAL, Layout, understand, understand_questions
from nearer.comparisons.objects import (
    Column,
    Names,
    cell_text,
    distinct_texts,
    is_missing_text,
    number_objects,
)
from nearer.comparisons.responses import count_misfits, find_reading, normalize, read_responses
from nearer.comparisons.rows import BadRowError

RANKING_SEPARATOR = ";"


def fields_of_columns(
    layout: Layout,
    columns: Mapping[str, Column],
    names: Sequence[str] | None = None,
    drop: bool = False,
    numbered: bool = True,
) -> tuple[dict[str, Any], NDArray[np.intp]]:
    """Return the arguments of `Comparisons`, and the line of the table that each row comes from.

    Without `names`, cells that are numbers of objects (see `number_objects`) stay numbers; otherwise the sorted
    distinct cells are names.
    """
    layout, columns = _split_choices(layout, columns)
    cells = [columns[name] for name in layout.objects]
    if layout.kind == "ranking":
        rows, line, names = _read_rankings(cells, names, drop, numbered)
    else:
        numbers, names = number_objects(cells, names, drop, numbered)
        rows = np.column_stack(numbers)
        line = np.arange(len(rows))
        if layout.response is not None:
            rows = _chosen_last(layout, columns, rows, drop)
        if layout.kind in PICKED:
            rows, line = expand_picked(rows, layout.kind)
        elif layout.kind == "choice":
            rows = rows[:, [0, 2, 1]]
    fields: dict[str, Any] = {"rows": rows, "names": names}
    optional = {what: OPTIONAL[what].read(columns[name], drop)[line] for what, name in layout.optional.items()}
    fields |= {what: optional.pop(what) for what in ARGUMENTS if what in optional}
    if len(line) > len(cells[0]) and "answers" not in fields:
        fields["answers"] = line
    fields["extra"] = {name: parse_cells(columns[name])[line] for name in layout.others} | optional
    return fields, line


def _chosen_last(layout: Layout, columns: Mapping[str, Column], rows: NDArray[Any], drop: bool) -> NDArray[Any]:
    """Return rows with the chosen one of their objects in the last place; -1 in all places where there is none."""
    assert layout.response is not None
    is_choice = layout.kind == "choice"
    options = {name: columns[name] for name in layout.objects[is_choice:]}  # the anchor cannot be chosen
    reading = with_reading(layout, columns).reading
    assert reading is not None
    what = "response" if is_choice else f"{PICKED[layout.kind]} object"
    place = read_responses(columns[layout.response], options, reading, what, drop) + is_choice
    order = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])[place]
    chosen = np.take_along_axis(rows if rows.dtype.kind in "if" else rows.astype(np.int64), order, axis=1)
    chosen[place < is_choice] = -1
    return chosen


def with_reading(layout: Layout, columns: Mapping[str, Column], misfits: Counter[str] | None = None) -> Layout:
    """Return a layout that knows how its responses are read: by those of the table, or by the misfits in several."""
    if layout.response is None or layout.reading is not None:
        return layout
    role = "response" if layout.kind == "choice" else PICKED[layout.kind]
    misfits = response_misfits(layout, columns) if misfits is None else misfits
    return replace(layout, reading=find_reading(misfits, layout.response, role))


def response_misfits(layout: Layout, columns: Mapping[str, Column]) -> Counter[str]:
    """Return for each reading how many responses of a table it makes no sense of."""
    layout, columns = _split_choices(layout, columns)
    assert layout.response is not None
    options = {name: columns[name] for name in layout.objects[layout.kind == "choice" :]}
    return count_misfits(columns[layout.response], options)


def _split_choices(layout: Layout, columns: Mapping[str, Column]) -> tuple[Layout, Mapping[str, Column]]:
    """Return a table whose choices are lists in one column with two columns instead, as plain text."""
    if layout.kind != "choice":
        return layout, columns
    anchor, *choices = layout.objects
    if normalize(anchor) == "stimulus":  # jsPsych's is HTML
        columns = {**columns, anchor: [_plain_text(cell_text(cell)) for cell in columns[anchor]]}
    if len(choices) == 2:
        return layout, columns
    pairs = [_as_pair(cell) for cell in columns[choices[0]]]
    split = {f"choice{place + 1}": [pair[place] for pair in pairs] for place in (0, 1)}
    return replace(layout, objects=(anchor, *split)), {**columns, **split}


def _as_pair(cell: Any) -> Sequence[str]:
    """Return two choices, from a list or from the JSON text of one; empty ones for anything else."""
    try:
        listed = json.loads(cell) if isinstance(cell, str) else cell
    except ValueError:
        listed = None
    if not isinstance(listed, list) or len(listed) != 2:
        return ("", "")
    return [_plain_text(cell_text(choice)) for choice in listed]


def _plain_text(html: str) -> str:
    """Return a text without the tags of HTML; an image, which has no text, as it is."""
    return re.sub("<[^>]*>", "", html).strip() or html


def _read_rankings(
    cells: list[Column], names: Sequence[str] | None, drop: bool, numbered: bool
) -> tuple[NDArray[Any], NDArray[np.intp], Names]:
    """Return the rows of rankings in one column, separated, or in several, where short ones end in empty cells."""
    anchors, lists = _split_rankings(cells)
    flat = [cell for ranked in lists for cell in ranked]
    lengths = [len(ranked) for ranked in lists]
    (anchor_numbers, numbers), names = number_objects([anchors, flat], names, True, numbered)
    if not drop:
        empty = [line for line, number in enumerate(anchor_numbers) if not number >= 0]
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
    anchors = [cell_text(cell) for cell in cells[0]]
    if len(cells) == 2:
        return anchors, [
            [cell_text(part) for part in cell]
            if isinstance(cell, list)
            else cell_text(cell).split(RANKING_SEPARATOR)
            for cell in cells[1]
        ]
    lists = [[cell_text(cell) for cell in row] for row in zip(*cells[1:], strict=True)]
    for ranked in lists:
        while ranked and is_missing_text(ranked[-1]):
            ranked.pop()
    return anchors, lists


def object_texts(layout: Layout, columns: Mapping[str, Column]) -> set[str]:
    """Return the distinct texts that name an object."""
    layout, columns = _split_choices(layout, columns)
    cells = [columns[name] for name in layout.objects]
    if layout.kind == "ranking":
        anchors, lists = _split_rankings(cells)
        texts = set(anchors).union(*lists)
    else:
        texts = distinct_texts(cells)
    return {text for text in texts if not is_missing_text(text)}


def fields_of_frame(frame: Any) -> dict[str, Any]:
    """Return the arguments of `Comparisons` from a DataFrame, by its headers or by position."""
    headers = [str(header) for header in frame.columns]
    layout = understand(headers)
    if layout is None:
        questions = understand_questions(headers) or ()
        return {"rows": (frame[list(questions)] if len(questions) == 3 else frame).to_numpy()}
    fields, _ = fields_of_columns(layout, {str(header): frame[header].to_numpy() for header in frame.columns})
    return fields
