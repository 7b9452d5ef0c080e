"""Reading and writing Comparisons: the suffix of a file's name says which format module does the work.

`FORMATS` is the list of formats. Each is a module of this package with two functions: ``tables`` yields the file
as tables of columns, and ``save`` writes Comparisons. Only the module that is needed is imported.
"""

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.layouts import NUMBER
from nearer.files import replacing
from nearer.formats.tables import Table, check_suffix, existing_file

BadRows = Literal["raise", "drop"]
AnyPath = str | os.PathLike[str]

FORMATS = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".jsonl": "jsonl",
    ".npy": "arrays",
    ".npz": "arrays",
    ".parquet": "parquet",
}


def read(path: AnyPath, bad_rows: BadRows = "raise") -> Comparisons:
    r"""Read comparisons from a file.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .jsonl, .npy, .npz or .parquet. Tables may have any header of
        `nearer.comparisons.layouts.LAYOUTS`: triplets, quadruplets, odd-one-out, most-central and rankings, with
        optional weight, subject and answer columns; other columns are kept as extra. Objects are named or
        numbered from 0: if every cell is a number they are numbers, otherwise the names are sorted.
    bad_rows : {"raise", "drop"}
        What to do with impossible rows: raise a ValueError that names the first one, or drop them and count them
        in `n_dropped`.

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
    path, module = _existing(path, bad_rows)
    if hasattr(module, "load"):  # arrays are read whole
        return module.load(path, bad_rows)
    table: Table | None = next(module.tables(path, None, bad_rows == "drop"), None)
    if table is None or (len(table) == 0 and bad_rows == "raise"):
        raise ValueError(f"{path} is empty: it has no rows")
    return table.comparisons(bad_rows)


def _existing(path: AnyPath, bad_rows: str) -> tuple[Path, Any]:
    """Return the path of a file that exists, and the module that reads it."""
    if bad_rows not in ("raise", "drop"):
        raise ValueError(f"bad_rows must be 'raise' or 'drop'; got {bad_rows!r}")
    path, suffix = existing_file(path, FORMATS)
    return path, import_module(f"nearer.formats.{FORMATS[suffix]}")


def write(comparisons: Comparisons, path: AnyPath) -> None:
    """Write comparisons to a file; a failure leaves the old file in place.

    Parameters
    ----------
    comparisons : Comparisons, or anything that Comparisons are made from
    path : path
        Ends in .csv, .tsv, .jsonl, .npy, .npz or .parquet. See `nearer.formats` for what each format keeps.

    Examples
    --------
    >>> import tempfile
    >>> from nearer import Comparisons, read, write
    >>> cities = Comparisons([[0, 1, 2]], names=["Vienna", "Prague", "Rome"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(cities, folder + "/cities.csv")
    ...     print(Path(folder, "cities.csv").read_text())
    anchor,near,far
    Vienna,Prague,Rome
    """
    path = Path(path)
    suffix = check_suffix(path, FORMATS)
    comparisons = Comparisons.of(comparisons)
    if any(name.endswith("\0") for name in comparisons.names or ()):
        raise ValueError(f"a name that ends in a NUL character cannot be kept in {suffix}")
    with replacing(path) as aside:
        import_module(f"nearer.formats.{FORMATS[suffix]}").save(comparisons, aside, suffix)


def scan(
    paths: AnyPath | Sequence[AnyPath], chunk_rows: int = 1_000_000, bad_rows: BadRows = "raise"
) -> ComparisonSource:
    r"""Open files as one source of comparisons that is read in chunks and never held in memory as a whole.

    The files are read twice first: to number the objects, then to count the rows and find bad ones. Rows of one
    answer are never separated if they are consecutive; an id that occurs again later is another answer.

    Parameters
    ----------
    paths : path or sequence of paths
        Files that `read` understands, all with the same kind of rows. An .npz file cannot be read in parts.
    chunk_rows : int
        About how many lines of a file a chunk holds.
    bad_rows : {"raise", "drop"}
        As for `read`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from nearer import scan, write
    >>> with TemporaryDirectory() as folder:
    ...     write([[0, 1, 2], [1, 0, 2], [2, 1, 0]], f"{folder}/answers.csv")
    ...     source = scan(f"{folder}/answers.csv", chunk_rows=2)
    ...     source, [len(chunk) for chunk in source.chunks()]
    (ComparisonSource(3 triplets, 3 objects), [2, 1])
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1; got {chunk_rows}")
    files = [_existing(path, bad_rows) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not files:
        raise ValueError("no files to scan were given")
    if any(path.suffix.lower() == ".npz" for path, _ in files):
        raise ValueError(".npz files cannot be read in chunks; save the rows as .npy, or read the file whole")

    def walk() -> Iterator[Table]:
        drop = bad_rows == "drop"
        return chain.from_iterable(_whole_answers(module.tables(path, chunk_rows, drop)) for path, module in files)

    names = _names(walk())
    parts = (table.comparisons(bad_rows, names) for table in walk())  # a bad row raises here
    sizes = [(len(part), part.shape[1], part.n_objects) for part in parts]
    n_rows = sum(n for n, _, _ in sizes)
    if n_rows == 0:
        raise ValueError(f"{', '.join(str(path) for path, _ in files)} is empty: there are no rows")

    width, n_objects = max(width for _, width, _ in sizes), max(n for _, _, n in sizes)

    def chunks() -> Iterator[Comparisons]:
        for table in walk():
            part = table.comparisons(bad_rows, names, n_objects)
            if len(part):
                yield part.as_quadruplets() if width == 4 else part

    return ComparisonSource(chunks, n_rows=n_rows, n_columns=width, n_objects=n_objects, names=names)


def _names(tables: Iterator[Table]) -> tuple[str, ...] | None:
    """Return the objects' names; None if they are numbered, which only all cells together can tell."""
    cells: set[str] = set()
    declared: dict[str, None] = {}
    numbers: dict[Path, set[str]] = {}
    named: set[Path] = set()
    for table in tables:
        if table.names is not None:
            declared |= dict.fromkeys(table.names)
        elif len(table):
            texts = table.object_cells()
            cells |= texts
            if texts:
                named.add(table.path)
            else:  # some lines of a .jsonl file may have numbers and others names
                texts = table.object_cells(numbers=True) if table.path.suffix.lower() == ".jsonl" else set()
                numbers[table.path] = numbers.get(table.path, set()) | texts
    for path in named & set(numbers):
        cells |= numbers.pop(path)
    if not declared and all(NUMBER.fullmatch(cell) for cell in cells):
        return None
    if numbers:
        raise ValueError("some files name their objects and others number them: they cannot be matched")
    return tuple(declared) + tuple(sorted(cells - set(declared)))


def _whole_answers(tables: Iterator[Table]) -> Iterator[Table]:
    """Move the rows of an answer that the end of a chunk would cut in two into the next chunk."""
    rest: Table | None = None
    for table in tables:
        joined = table if rest is None else rest.followed_by(table)
        rest = None
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
        rest = joined.part(cut, len(joined))
    if rest is not None:
        yield rest
