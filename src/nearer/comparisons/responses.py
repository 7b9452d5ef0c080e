"""Which of the objects of a question was chosen, from what programs for experiments write into a response column.

A response is the chosen object itself, its position (1, 2, …), its index (0, 1, …), or the name of its column, of
which ``left`` and ``right`` are common. Which of these a file uses, only its responses together can tell.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.objects import Column, bare_number, cell_text, is_missing_text
from nearer.comparisons.rows import BadRowError

SIDES = {"left": 0, "right": 1, "arrowleft": 0, "arrowright": 1}
SIGNS = {"1": 0, "-1": 1, "+1": 0, "true": 0, "false": 1}
ORDINALS = ("first", "second", "third")
MEANINGS = {
    "value": "the chosen one",
    "column": "the chosen one's column, such as left",
    "position": "the chosen one's position, from 1",
    "index": "the chosen one's position, from 0",
    "sign": "1 or True for the first of two, -1 or False for the second",
}
READINGS = tuple(MEANINGS)  # in order of preference
SOME = 4  # responses that a message lists


def normalize(header: str) -> str:
    """Return a header in lower case, with underscores in place of blanks, dots and hyphens."""
    return re.sub(r"[\s.\-]+", "_", header.strip().lower())


def count_misfits(response: Column, options: Mapping[str, Column]) -> Counter[str]:
    """Count for each reading the responses that it makes no sense of; under "filled" those that are not missing.

    Under "not " and a reading are those that stand for another object by this reading than by value; under "cell " and
    a response is how often this one occurs, for a few of them.
    """
    cells = _texts(response)
    times = Counter(cells)
    times.pop("", None)
    misfits = Counter(filled=times.total()) + Counter({f"cell {cell}": n for cell, n in times.most_common(SOME)})
    chosen = _choose(cells, options, "value")
    misfits["value"] = sum(place < 0 and cell != "" for place, cell in zip(chosen, cells, strict=True))
    for reading in READINGS[1:]:
        places = dict(zip(times, _choose(list(times), options, reading), strict=True))
        misfits[reading] = sum(count for cell, count in times.items() if places[cell] < 0)
        misfits[f"not {reading}"] = sum(
            places[cell] != place for cell, place in zip(cells, chosen, strict=True) if cell
        )
    return misfits


def find_reading(misfits: Counter[str], header: str, role: str) -> str:
    """Return how responses are to be read; ValueError if that is in no way or in two ways, which differ."""
    fitting = [reading for reading in READINGS if not misfits[reading]]
    by_name = misfits["value"] <= misfits["filled"] / 2
    if "value" in fitting:
        fitting = [reading for reading in fitting[1:] if misfits[f"not {reading}"]]
    if by_name and not fitting:
        return "value"
    ways = ["value"] * by_name + fitting
    if "column" not in fitting and len(ways) > 1:
        listed = ", ".join(f"{role}_{way}={header} ({MEANINGS[way]})" for way in ways)
        raise ValueError(
            f"column {header!r} can mean several things; say which with --columns, or columns=: {listed}"
        )
    best = min(READINGS, key=lambda reading: misfits[reading])
    if misfits[best] > misfits["filled"] / 2:
        cells = [key.removeprefix("cell ") for key in misfits if key.startswith("cell ")]
        held = ", ".join(map(repr, cells[:SOME])) + ", …" * (len(cells) >= SOME)
        raise ValueError(
            f"cannot tell what was chosen from column {header!r}, which holds {held}: replace these by "
            f"{'; or '.join(MEANINGS.values())}"
        )
    return best


def read_responses(
    response: Column, options: Mapping[str, Column], reading: str, what: str, drop: bool
) -> NDArray[np.intp]:
    """Return the place of the chosen one among the options of each row; with `drop` -1 where there is none."""
    cells = _texts(response)
    chosen = np.array(_choose(cells, options, reading), dtype=np.intp)
    if not drop and (chosen < 0).any():
        row = int(np.argmax(chosen < 0))
        if not cells[row]:
            raise BadRowError(row, f"has no {what}")
        objects = [cell_text(column[row]).strip() for column in options.values()]
        wanted = objects if reading == "value" else list(_words(options)[reading])[: len(objects)]
        raise BadRowError(row, f"has {what} {cells[row]}, which is none of {', '.join(wanted)}")
    return chosen


def _texts(response: Column) -> list[str]:
    """Return responses as text, and an empty one for a missing one."""
    texts = [cell_text(cell).strip() for cell in response]
    plain = {text: "" if is_missing_text(text) else bare_number(text) for text in set(texts)}
    return [plain[text] for text in texts]


def _choose(cells: Sequence[str], options: Mapping[str, Column], reading: str) -> list[int]:
    if reading != "value":
        places = _words(options)[reading]
        place = {cell: places.get(cell, places.get(normalize(cell), -1)) for cell in set(cells)}
        return [place[cell] for cell in cells]
    columns = [[bare_number(cell_text(cell).strip()) for cell in column] for column in options.values()]
    rows = zip(*columns, strict=True)
    return [row.index(cell) if cell and cell in row else -1 for cell, row in zip(cells, rows, strict=True)]


def _words(options: Mapping[str, Column]) -> dict[str, dict[str, int]]:
    """Return for each reading but "value" the place of the option that a word stands for."""
    n = len(options)
    columns = {normalize(header): place for place, header in enumerate(options)}
    sides = SIDES if n == 2 else {}
    return {
        "position": {str(place + 1): place for place in range(n)},
        "index": {str(place): place for place in range(n)},
        "sign": SIGNS if n == 2 else {},
        "column": columns
        | {word: place for word, place in sides.items() if word not in columns}
        | {word: place for place, word in enumerate(ORDINALS[:n]) if word not in columns},
    }
