"""The meaning of a table's headers: one list of layouts for all file formats and for DataFrames.

Case, blanks, dots and hyphens of headers are ignored (``Odd one-out`` is ``odd_one_out``). Columns that belong to
no layout are kept as extra columns, so an export of a survey can be read unchanged. Where the headers are others,
the caller says which column is which.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.answers import PICKED
from nearer.comparisons.columns import clean_numbers, parse_cells
from nearer.comparisons.objects import Column
from nearer.comparisons.responses import READINGS, normalize

Roles = Mapping[str, str]  # the column of a table for each header that is understood


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
    "choice": [("anchor", "choice1", "choice2", "response")],
}
# Other headers of a choice, as programs for experiments and their users call them.
ANCHORS = ("anchor", "target", "reference", "standard", "sample", "probe", "query", "stimulus")
CHOICES = [
    ("choice1", "choice2"),
    ("choice_1", "choice_2"),
    ("option1", "option2"),
    ("option_1", "option_2"),
    ("alternative1", "alternative2"),
    ("comparison1", "comparison2"),
    ("left", "right"),
    ("choices",),  # a list
]
RESPONSES = ("response", "choice", "chosen", "selected", "picked")


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
LETTERS = [("a", "b", "c"), ("i", "j", "k")]
# What a column can be said to mean, and the part of it that an error message lists.
ROLES = {name for choices in LAYOUTS.values() for choice in choices for name in choice}
ROLES |= {*ANCHORS, *RESPONSES, *(name for pair in CHOICES for name in pair)}
ROLES |= {name for column in OPTIONAL.values() for name in column.headers}
MAIN_ROLES = [
    "anchor", "near", "far", "choice1", "choice2", "response", "first", "second", "third", "odd", "central", "ranking",
    "i", "j", "l", "k", "weight", "subject", "answer",
]  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """The columns of a table, by their meaning."""

    kind: str
    objects: tuple[str, ...]  # columns of objects
    optional: Mapping[str, str]
    others: tuple[str, ...]
    response: str | None = None  # the column that says which of the objects was chosen
    reading: str | None = None  # how it says so, if that is known; see `nearer.comparisons.responses`


def understand(headers: Sequence[str], roles: Roles | None = None) -> Layout | None:
    """Return the layout of a table by its headers, or None; `roles` say which header is which."""
    roles = {normalize(role): header for role, header in (roles or {}).items()}
    readings = {role: role.rpartition("_")[2] for role in roles if role not in ROLES and _bare_role(role) in ROLES}
    known = {_bare_role(role): header for role, header in roles.items()}
    wanted = {role for role in known if not any(role in column.headers for column in OPTIONAL.values())}
    for header in headers:
        if header not in roles.values():
            known.setdefault(normalize(header), header)
    for kind, choice in _layouts(known):
        if wanted <= set(choice):
            columns = tuple(known[name] for name in choice)
            has_response = kind == "choice" or (kind in PICKED and len(choice) == 4)
            optional = {
                what: known[next(name for name in column.headers if name in known)]
                for what, column in OPTIONAL.items()
                if any(name in known for name in column.headers)
            }
            used = {*columns, *optional.values()}
            others = tuple(name for name in headers if name not in used)
            if not has_response:
                return Layout(kind, columns, optional, others)
            reading = next(iter(readings.values()), None)
            return Layout(kind, columns[:-1], optional, others, columns[-1], reading)
    return None


def understand_questions(headers: Sequence[str]) -> tuple[str, ...] | None:
    """Return the headers of the anchor and the choices of a table of questions without answers; None for any other."""
    layout = understand([*headers, "response"])
    is_question = layout is not None and layout.kind == "choice" and understand(headers) is None
    return layout.objects if layout is not None and is_question else None


def _bare_role(role: str) -> str:
    """Return a role without the reading that may be appended to it, as in ``response_index``."""
    bare, _, reading = role.rpartition("_")
    return bare if reading in READINGS and role not in ROLES else role


def _layouts(known: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the layouts that some headers have, those first that say more."""
    weak = []
    for kind, choices in LAYOUTS.items():
        for choice in choices:
            if "rank2" in choice:
                ranks = [name for name in known if re.fullmatch("rank[0-9]+", name)]
                choice = ("anchor", *sorted(ranks, key=lambda name: int(name[4:]))) if "rank2" in ranks else choice
            if all(name in known for name in choice):
                # Letters may be those of a choice, whose response must not be overlooked.
                if choice in LETTERS and kind == "triplets":
                    weak.append((kind, choice))
                else:
                    yield kind, choice
    for anchor, pair, response in product(ANCHORS, CHOICES, RESPONSES):
        if all(name in known for name in (anchor, *pair, response)):
            yield "choice", (anchor, *pair, response)
    for (_, letters), response in product(weak, RESPONSES):
        if response in known:
            yield "choice", (*letters, response)
    yield from weak


def check_roles(roles: Roles, headers: Sequence[str]) -> dict[str, str]:
    """Return the column of each role, spelled as in the table; ValueError for an unknown role or column."""
    found = {}
    for role, header in roles.items():
        bare = _bare_role(normalize(str(role)))
        if bare not in ROLES and not re.fullmatch("rank[0-9]+", bare):
            raise ValueError(
                f"there is no meaning {role!r} for a column; the meanings are {', '.join(MAIN_ROLES)}"
            )
        spelled = [str(header)] if str(header) in headers else []
        spelled += [name for name in headers if normalize(name) == normalize(str(header))]
        if not spelled:
            listed = ", ".join(map(repr, headers))
            raise ValueError(f"there is no column {str(header)!r} for {role}; there are {listed}")
        found[str(role)] = spelled[0]
    return found


def understood_headers() -> str:
    """Return the list of headers for error messages."""
    lines = [f"  {kind}: {' · '.join(map(','.join, choices))}" for kind, choices in LAYOUTS.items()]
    optional = ", ".join(column.headers[0] for column in OPTIONAL.values())
    return "\n".join([*lines, f"  and, with any of these: {optional}; other columns are kept as they are"])
