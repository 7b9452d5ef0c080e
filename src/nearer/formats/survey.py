"""What `nearer.scan` has to know of all files before it can read any of them: the objects and the number of rows.

Columns of integers are surveyed by numpy: the numbers that occur are marked in an array, and no cell becomes a Python
object, so that a billion of them take seconds.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.fields import response_misfits, with_reading
from nearer.comparisons.objects import NUMBER, Names, names_of_texts
from nearer.comparisons.rows import LARGEST
from nearer.formats.tables import BadLineError, Table

MANY_OBJECTS, PER_MENTION = 10_000_000, 10  # more than both many and so many times what rows can mention: damage
MARKED = 1 << 27  # numbers up to here are marked in an array of bytes, larger ones are sorted
ROWS_OF_OBJECTS = ("triplets", "quadruplets")

Size = tuple[int, int, int]  # rows, columns and objects of comparisons


class DistinctNumbers:
    """The distinct integers of some columns, all at least 0."""

    def __init__(self) -> None:
        self.is_seen = np.zeros(0, dtype=bool)
        self.large = np.zeros(0, dtype=np.int64)

    def add(self, column: NDArray[Any]) -> None:
        """Add the numbers of a column."""
        if not len(column):
            return
        largest = int(column.max())
        if largest >= MARKED:
            self.large = np.union1d(self.large, column[column >= MARKED].astype(np.int64))
            column = column[column < MARKED]
            largest = int(column.max(initial=0))
        if largest >= len(self.is_seen):
            self.is_seen = np.concatenate([self.is_seen, np.zeros(largest + 1 - len(self.is_seen), dtype=bool)])
        self.is_seen[column] = True

    def values(self) -> NDArray[np.int64]:
        """Return the numbers, sorted."""
        return np.concatenate([np.flatnonzero(self.is_seen), self.large])


@dataclass
class FileSurvey:
    """What a file says: of its objects, and of its rows where these were checked already."""

    reading: str | None = None  # how its responses are read
    has_answers: bool = False
    size: Size | None = None  # None: not known yet
    n_lines: int = 0  # rows of the file, of which bad ones may be dropped
    path: Path | None = None
    names: Names = None  # of the objects, declared by the file
    numbered: bool = False  # whether numbers are numbers of objects
    is_counted: bool = False  # whether it is said how many objects there are
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    texts: set[str] = field(default_factory=set)


def survey(tables: Iterator[Table], bad_rows: str) -> FileSurvey:
    """Return what all tables of a file say; ValueError if it cannot be read or has no answers."""
    found, numbers, misfits = FileSurvey(), DistinctNumbers(), Counter[str]()
    layout, sizes, is_checked = None, [], True
    for table in tables:
        layout, found.path = table.layout(), table.path
        found.has_answers |= "answers" in layout.optional
        found.n_lines += len(table)
        found.is_counted |= table.n_objects is not None
        if layout.response is not None:
            misfits.update(response_misfits(layout, table.columns))
        columns = integer_columns(table)
        if table.names is not None:
            found.names = table.names
        elif columns is not None:
            found.numbered |= table.numbered or table.n_objects is not None
            for column in columns if not table.numbered else ():
                numbers.add(column)
        elif table.numbered:
            found.numbered = True
        else:
            texts = {text.strip() for text in table.object_cells()}
            found.numbered |= table.n_objects is not None and all(map(NUMBER.fullmatch, texts))
            found.texts |= texts
        is_checked = is_checked and columns is not None
        if is_checked:
            try:
                made = table.comparisons(bad_rows, numbered=True)
            except BadLineError:  # an object may have a name, which the message should have
                is_checked = False
            else:
                sizes.append((len(made), made.shape[1], made.n_objects))
    if layout is not None and layout.response is not None:
        found.reading = with_reading(layout, {}, misfits).reading
    if is_checked and sizes:
        n_rows, width, n_objects = zip(*sizes, strict=True)
        found.size = sum(n_rows), max(width), max(n_objects)
    found.numbers = numbers.values()
    return found


def check_implied_objects(path: Path, n_objects: int, n_rows: int, n_columns: int) -> None:
    """Raise a ValueError if the largest number implies far more objects than all rows can mention."""
    if n_objects > max(MANY_OBJECTS, PER_MENTION * n_rows * n_columns):
        raise ValueError(
            f"{path} has an object of number {n_objects - 1:,}, and {n_rows:,} rows mention at most "
            f"{n_rows * n_columns:,} objects: the number is damaged, or no number of an object; if it is right, give "
            f"n_objects={n_objects}"
        )


def integer_columns(table: Table) -> list[NDArray[Any]] | None:
    """Return the columns of objects if all are integers that can be numbers of objects, without choices among them."""
    layout = table.layout()
    columns = [table.columns[name] for name in layout.objects]
    if layout.kind not in ROWS_OF_OBJECTS or table.names is not None:
        return None
    arrays = [column for column in columns if isinstance(column, np.ndarray) and column.dtype.kind in "iu"]
    if len(arrays) < len(columns) or any(array.min(initial=0) < 0 for array in arrays):
        return None
    return None if any(array.max(initial=0) >= LARGEST for array in arrays) else arrays


def objects_of(surveys: Sequence[FileSurvey]) -> Names:
    """Return the names of the objects of all files, or None if they are numbered."""
    numbered = any(found.numbered for found in surveys)
    declared: dict[str, None] = {}
    for names in dict.fromkeys(found.names for found in surveys):
        declared |= dict.fromkeys(names or ())
    texts = set().union(*(found.texts for found in surveys))
    numbers = [found.numbers for found in surveys if len(found.numbers)]
    if numbers:
        values = numbers[0] if len(numbers) == 1 else np.unique(np.concatenate(numbers))
        is_dense = int(values[-1]) == len(values) - 1
        if not texts and not declared and (numbered or is_dense):
            return None
        texts |= set(map(str, values.tolist()))
    found = names_of_texts(texts, numbered)
    if not declared and found is None:
        return None
    if numbered:
        one = next(each.path for each in surveys if each.names or names_of_texts(each.texts, numbered=True))
        other = next(each.path for each in surveys if each.numbered)
        raise ValueError(
            f"some files name their objects and others number them: they cannot be matched ({one} has names, {other} "
            "has numbers)"
        )
    return tuple(declared) + tuple(name for name in found or sorted(texts) if name not in declared)


def numbers_as_objects(table: Table, values: NDArray[np.intp], order: NDArray[np.intp]) -> Table | None:
    """Return a table of integers that are names with the numbers of the objects in their place; None for others.

    ``values`` are the names as numbers, sorted, and ``order`` the objects that have them.
    """
    columns = integer_columns(table)
    if columns is None:
        return None
    places = [np.searchsorted(values, column).clip(max=len(values) - 1) for column in columns]
    if any((values[place] != column).any() for place, column in zip(places, columns, strict=True)):
        return None  # a number that no object has
    renumbered = dict(zip(table.layout().objects, (order[place] for place in places), strict=True))
    return replace(table, columns=table.columns | renumbered)
