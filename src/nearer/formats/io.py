"""Reading and writing Comparisons: the suffix of a file's name says which format module does the work.

`FORMATS` is the list of formats. Each is a module of this package with two functions: ``tables`` yields the file
as tables of columns, and ``save`` writes Comparisons. Only the module that is needed is imported.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.fields import response_misfits, with_reading
from nearer.comparisons.layouts import Layout
from nearer.comparisons.objects import NUMBER, names_of_texts
from nearer.comparisons.responses import MEANINGS
from nearer.files import replacing
from nearer.formats.tables import Options, Table, check_suffix, existing_file

BadRows = Literal["raise", "drop"]
AnyPath = str | os.PathLike[str]
Columns = Mapping[str, str | int]

FORMATS = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".txt": "delimited",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".npy": "arrays",
    ".npz": "arrays",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}
SHOWN_COLUMNS = 8  # of those that are not used
FIRST_ROWS = 10_000  # what `describe_columns` looks at
WRITTEN = [suffix for suffix in FORMATS if suffix not in (".txt", ".json", ".xlsx")]


def read(
    path: AnyPath,
    bad_rows: BadRows = "raise",
    columns: Columns | None = None,
    encoding: str | None = None,
    n_objects: int | None = None,
    verbose: bool = False,
) -> Comparisons:
    r"""Read comparisons from a file.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .txt, .jsonl or .json, each also with .gz, or in .npy, .npz, .parquet or .xlsx; "-" is
        standard input. Tables may have any header of `nearer.comparisons.layouts.LAYOUTS`: triplets, quadruplets,
        odd-one-out, most-central, rankings, and an anchor with two choices and a response, with optional weight,
        subject and answer columns; other columns are kept as extra. Objects are names. Numbers are names too, unless
        all of 0, 1, … up to the largest occur. In .npy and .npz they are always numbers of objects.
    bad_rows : {"raise", "drop"}
        What to do with impossible rows: raise a ValueError that names the first one, or drop them and count them
        in `n_dropped`.
    columns : mapping of str to str or int, optional
        Which column is which, for headers that are not understood: ``{"anchor": "target", "near": "picked", "far":
        "other"}``, or ``{"anchor": "target", "choice1": "left", "choice2": "right", "response": "key"}``. In a file
        without a header columns are counted from 1.
    encoding : str, optional
        The encoding of a text file. By default UTF-8, or UTF-16 if the file says so; a file that is neither is read
        as Windows-1252, with a warning.
    n_objects : int, optional
        Says that objects are numbered from 0, and how many there are.
    verbose : bool
        Show a progress bar while a large file is read.

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

    Columns with other headers are named:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     _ = path.write_text("standard,A,B,key\nVienna,Prague,Rome,A\nRome,Vienna,Oslo,B\n")
    ...     answers = read(path, columns={"choice1": "A", "choice2": "B", "response": "key"})
    >>> [[answers.names[i] for i in row] for row in answers.rows]
    [['Vienna', 'Prague', 'Rome'], ['Rome', 'Oslo', 'Vienna']]
    """
    path, module, options = _existing(path, bad_rows, columns, encoding, n_objects, verbose)
    if hasattr(module, "load"):  # arrays are read whole
        return module.load(path, options)
    table: Table | None = next(module.tables(path, None, options), None)
    if table is None or (len(table) == 0 and bad_rows == "raise"):
        raise ValueError(f"{path} is empty: it has no rows")
    made = table.comparisons(bad_rows)
    if n_objects is not None and made.names is not None and table.names is None:
        raise ValueError(f"{path} names its objects; n_objects={n_objects} is for objects numbered from 0")
    return made


def _existing(
    path: AnyPath,
    bad_rows: str,
    columns: Columns | None,
    encoding: str | None,
    n_objects: int | None,
    verbose: bool = False,
) -> tuple[Path, Any, Options]:
    """Return the path of a file that exists, the module that reads it, and the options for that."""
    if bad_rows not in ("raise", "drop"):
        raise ValueError(f"bad_rows must be 'raise' or 'drop'; got {bad_rows!r}")
    path, suffix = existing_file(path, FORMATS)
    roles = None if columns is None else {str(role): str(column) for role, column in columns.items()}
    options = Options(roles, encoding, n_objects, bad_rows == "drop", verbose)
    return path, import_module(f"nearer.formats.{FORMATS[suffix]}"), options


def describe_columns(path: AnyPath, columns: Columns | None = None, encoding: str | None = None) -> str | None:
    """Return which columns of a table of answers are read, and how; None for arrays."""
    path, module, options = _existing(path, "drop", columns, encoding, None)
    if hasattr(module, "load"):
        return None
    table: Table = next(module.tables(path, FIRST_ROWS, options))
    try:
        layout = with_reading(table.layout(), table.columns)
    except ValueError:  # the first rows may not tell what all do
        layout = table.layout()
    used = layout.objects if layout.response is None else (*layout.objects, layout.response)
    how = "" if layout.reading is None else f"; {layout.response} is {MEANINGS[layout.reading]}"
    others = ", ".join(layout.others[:SHOWN_COLUMNS]) + ", …" * (len(layout.others) > SHOWN_COLUMNS)
    return f"{', '.join(used)}: {layout.kind}{how}" + (f"; not used: {others}" if others else "")


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
    suffix = check_suffix(path, WRITTEN)
    comparisons = Comparisons.of(comparisons)
    if any(name.endswith("\0") for name in comparisons.names or ()):
        raise ValueError(f"a name that ends in a NUL character cannot be kept in {suffix}")
    with replacing(path) as aside:
        import_module(f"nearer.formats.{FORMATS[suffix]}").save(comparisons, aside, suffix)


def scan(
    paths: AnyPath | Sequence[AnyPath],
    chunk_rows: int = 1_000_000,
    bad_rows: BadRows = "raise",
    columns: Columns | None = None,
    encoding: str | None = None,
    n_objects: int | None = None,
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
    bad_rows, columns, encoding, n_objects
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
    paths = [paths] if isinstance(paths, str | os.PathLike) else paths
    files = [_existing(path, bad_rows, columns, encoding, n_objects) for path in paths]
    if not files:
        raise ValueError("no files to scan were given")
    if any(path.suffix.lower() == ".npz" for path, *_ in files):
        raise ValueError(".npz files cannot be read in chunks; save the rows as .npy, or read the file whole")
    readings: dict[Path, str | None] = {}

    def walk() -> Iterator[Table]:
        for path, module, options in files:
            for table in _whole_answers(module.tables(path, chunk_rows, options)):
                yield replace(table, reading=readings.get(path))

    names, readings = _names(walk())
    parts = (table.comparisons(bad_rows, names, n_objects, names is None) for table in walk())  # a bad row raises
    sizes = [(len(part), part.shape[1], part.n_objects) for part in parts]
    n_rows = sum(n for n, _, _ in sizes)
    if n_rows == 0:
        raise ValueError(f"{', '.join(str(path) for path, *_ in files)} is empty: there are no rows")

    width, n_found = max(width for _, width, _ in sizes), max(n for _, _, n in sizes)

    def chunks() -> Iterator[Comparisons]:
        for table in walk():
            part = table.comparisons(bad_rows, names, n_found, names is None)
            if len(part):
                yield part.as_quadruplets() if width == 4 else part

    return ComparisonSource(chunks, n_rows=n_rows, n_columns=width, n_objects=n_found, names=names)


def _names(tables: Iterator[Table]) -> tuple[tuple[str, ...] | None, dict[Path, str | None]]:
    """Return the objects' names, or None if they are numbered, and how each file's responses are read.

    Only all cells together can tell either.
    """
    cells: set[str] = set()
    declared: dict[str, None] = {}
    layouts: dict[Path, Layout] = {}
    misfits: dict[Path, Counter[str]] = {}
    numbered = False
    for table in tables:
        layouts[table.path] = table.layout()
        if layouts[table.path].response is not None:
            misfits.setdefault(table.path, Counter()).update(response_misfits(layouts[table.path], table.columns))
        if table.names is not None:
            declared |= dict.fromkeys(table.names)
        elif table.numbered:
            numbered = True
        else:
            texts = {text.strip() for text in table.object_cells()}
            numbered = numbered or (table.n_objects is not None and all(map(NUMBER.fullmatch, texts)))
            cells |= texts
    readings = {path: with_reading(layouts[path], {}, counts).reading for path, counts in misfits.items()}
    found = names_of_texts(cells, numbered)
    if not declared and found is None:
        return None, readings
    if numbered:
        raise ValueError("some files name their objects and others number them: they cannot be matched")
    return tuple(declared) + tuple(name for name in found or sorted(cells) if name not in declared), readings


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
