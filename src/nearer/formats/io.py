"""Reading and writing Comparisons: the suffix of a file's name says which format module does the work.

`FORMATS` is the list of formats. Each is a module of this package with two functions: ``tables`` yields the file
as tables of columns, and ``save`` writes Comparisons. Only the module that is needed is imported.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from nearer.comparisons import Comparisons
from nearer.comparisons.fields import with_reading
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
    path, module, options = find_format(path, bad_rows, columns, encoding, n_objects, verbose)
    if hasattr(module, "load"):  # arrays are read whole
        return module.load(path, options)
    table: Table | None = next(module.tables(path, None, options), None)
    if table is None or (len(table) == 0 and bad_rows == "raise"):
        raise ValueError(f"{path} is empty: it has no rows")
    made = table.comparisons(bad_rows)
    if n_objects is not None and made.names is not None and table.names is None:
        raise ValueError(f"{path} names its objects; n_objects={n_objects} is for objects numbered from 0")
    return made


def find_format(
    path: AnyPath,
    bad_rows: str,
    columns: Columns | None,
    encoding: str | None,
    n_objects: int | None,
    verbose: bool = False,
) -> tuple[Path, Any, Options]:
    """Return the path of a file that exists, the module that reads its format, and the options for that."""
    if bad_rows not in ("raise", "drop"):
        raise ValueError(f"bad_rows must be 'raise' or 'drop'; got {bad_rows!r}")
    path, suffix = existing_file(path, FORMATS)
    roles = None if columns is None else {str(role): str(column) for role, column in columns.items()}
    options = Options(roles, encoding, n_objects, bad_rows == "drop", verbose)
    return path, import_module(f"nearer.formats.{FORMATS[suffix]}"), options


def describe_columns(path: AnyPath, columns: Columns | None = None, encoding: str | None = None) -> str | None:
    """Return which columns of a table of answers are read, and how; None for arrays."""
    path, module, options = find_format(path, "drop", columns, encoding, None)
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
