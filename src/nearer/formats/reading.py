"""Files to Comparisons, whole or in chunks."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.layouts import NUMBER
from nearer.formats import arrays, delimited, jsonl, parquet
from nearer.formats.tables import OBJECTS, Table
from nearer.formats.writing import suffix_of

BadRows = Literal["raise", "drop"]
AnyPath = str | os.PathLike[str]


def _mapped_tables(path: Path, chunk_rows: int | None = None, drop: bool = False) -> Iterator[Table]:
    rows = arrays.open_npy(path, mapped=True)
    if rows.ndim != 2 or rows.shape[1] not in OBJECTS:
        raise ValueError(f"{path} must hold 3 or 4 columns; it holds an array of shape {rows.shape}")
    headers = OBJECTS[rows.shape[1]]
    for start in range(0, len(rows), chunk_rows or max(len(rows), 1)):
        part = np.asarray(rows[start : start + (chunk_rows or len(rows))])
        yield Table(path, dict(zip(headers, part.T, strict=True)), first_row=start)


READERS: dict[str, Any] = {
    ".csv": delimited.tables,
    ".tsv": delimited.tables,
    ".jsonl": jsonl.tables,
    ".npy": _mapped_tables,
    ".parquet": parquet.tables,
}


def read(path: AnyPath, bad_rows: BadRows = "raise") -> Comparisons:
    r"""Read comparisons from a file.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .jsonl, .npy, .npz or .parquet. Tables may have any header of
        `nearer.comparisons.layouts.LAYOUTS`: triplets, quadruplets, odd-one-out, most-central and rankings, with
        optional weight, subject and answer columns; other columns are kept as extra. Objects are named or
        numbered from 0: where every cell is a number they are numbers, otherwise the names are sorted.
    bad_rows : {"raise", "drop"}
        What to do with rows that say nothing: raise a ValueError that names the first, or leave them out
        and count them in `n_dropped`.

    Examples
    --------
    >>> import tempfile
    >>> from nearer import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("first,second,odd,subject\nVienna,Prague,Rome,ann\n")
    ...     answers = read(path)
    >>> answers, answers.names
    (Comparisons(2 triplets, 3 objects, 1 answers), ('Prague', 'Rome', 'Vienna'))
    """
    path = _existing(path, bad_rows)
    if suffix_of(path) in (".npy", ".npz"):
        return arrays.load(path, bad_rows)
    table = next(READERS[suffix_of(path)](path, None, bad_rows == "drop"), None)
    if table is None or (len(table) == 0 and bad_rows == "raise"):
        raise ValueError(f"{path} is empty: it has no rows")
    made: Comparisons = table.comparisons(bad_rows)
    return made


def _existing(path: AnyPath, bad_rows: str) -> Path:
    if bad_rows not in ("raise", "drop"):
        raise ValueError(f"bad_rows must be 'raise' or 'drop'; got {bad_rows!r}")
    path = Path(path)
    suffix_of(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return path


def scan(
    paths: AnyPath | Sequence[AnyPath], chunk_rows: int = 1_000_000, bad_rows: BadRows = "raise"
) -> ComparisonSource:
    r"""Open files as one source of comparisons that is read in chunks and never held whole.

    The files are read through twice first: to number the objects, then to count the rows and find bad
    ones. Rows of one answer are never cut apart, provided that they stand together; an id that comes back
    later is another answer.

    Parameters
    ----------
    paths : path or sequence of paths
        Files that `read` understands, of one kind of row; .npz, which cannot be read in parts, is not among
        them.
    chunk_rows : int
        About how many lines of a file a chunk holds.
    bad_rows : {"raise", "drop"}

    Examples
    --------
    >>> import tempfile
    >>> from nearer import scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("anchor,near,far\n0,1,2\n1,0,2\n2,1,0\n")
    ...     source = scan(path, chunk_rows=2)
    ...     source, [len(chunk) for chunk in source.chunks()]
    (ComparisonSource(3 triplets, 3 objects), [2, 1])
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1; got {chunk_rows}")
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [_existing(path, bad_rows) for path in several]
    if not files:
        raise ValueError("no files to scan were given")
    if any(file.suffix.lower() == ".npz" for file in files):
        raise ValueError(".npz files cannot be read in chunks; save the rows as .npy, or read the file whole")

    def walk() -> Iterator[Table]:
        return chain.from_iterable(_whole_answers(_tables(file, chunk_rows, bad_rows)) for file in files)

    names = _names(walk())
    n_objects, n_rows, widths = _counts(walk(), bad_rows, names)
    if n_rows == 0:
        raise ValueError(f"{', '.join(map(str, files))} is empty: there are no rows")
    width = max(widths)

    def chunks() -> Iterator[Comparisons]:
        for table in walk():
            made = table.comparisons(bad_rows, names)
            if len(made):
                made = made.as_quadruplets() if width == 4 else made
                made._fill(n_objects=n_objects, n_dropped=made.n_dropped)
                yield made

    return ComparisonSource(chunks, n_rows=n_rows, n_columns=width, n_objects=n_objects, names=names)


def _tables(path: Path, chunk_rows: int, bad_rows: str) -> Iterator[Table]:
    tables: Iterator[Table] = READERS[suffix_of(path)](path, chunk_rows, bad_rows == "drop")
    return tables


def _names(tables: Iterator[Table]) -> tuple[str, ...] | None:
    """The objects' names; None where they are numbered. Only all cells together tell which."""
    cells: set[str] = set()
    declared: dict[str, None] = {}
    numbers: dict[Path, set[str]] = {}
    worded: set[Path] = set()
    for table in tables:
        if table.names is not None:
            declared |= dict.fromkeys(table.names)
        elif len(table):
            found = table.object_cells()
            cells |= found
            if found:
                worded.add(table.path)
            else:  # the lines of a .jsonl may be of numbers here and of names there
                texts = table.object_cells(numbers=True) if table.path.suffix.lower() == ".jsonl" else set()
                numbers[table.path] = numbers.get(table.path, set()) | texts
    for path in worded & set(numbers):
        cells |= numbers.pop(path)
    if not declared and all(NUMBER.fullmatch(cell) for cell in cells):
        return None
    if numbers:
        raise ValueError("some files name their objects and others number them: they cannot be matched")
    return tuple(declared) + tuple(sorted(cells - set(declared)))


def _counts(tables: Iterator[Table], bad_rows: str, names: tuple[str, ...] | None) -> tuple[int, int, set[int]]:
    """The number of objects and of rows, and the widths of rows that occur; a bad row raises here."""
    n_objects, n_rows = 0 if names is None else len(names), 0
    widths: set[int] = set()
    for table in tables:
        made = table.comparisons(bad_rows, names)
        n_rows += len(made)
        widths.add(made.shape[1])
        n_objects = max(n_objects, made.n_objects)
    return n_objects, n_rows, widths


def _whole_answers(tables: Iterator[Table]) -> Iterator[Table]:
    """Move the rows of an answer that a chunk's end would cut apart into the next chunk."""
    held: Table | None = None
    for table in tables:
        joined = table if held is None else held.followed_by(table)
        held = None
        column = joined.layout().optional.get("answers")
        if column is None or not len(joined):
            yield joined
            continue
        ids = joined.columns[column]
        cut = len(ids) - 1
        while cut > 0 and ids[cut - 1] == ids[-1]:
            cut -= 1
        if cut:
            yield joined.part(0, cut)
        held = joined.part(cut, len(joined))
    if held is not None:
        yield held
