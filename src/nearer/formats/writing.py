"""Comparisons to a file, whose kind is told by the end of its name."""

import os
from pathlib import Path

from nearer.comparisons import Comparisons
from nearer.files import replacing
from nearer.formats import arrays, delimited, jsonl, parquet

WRITERS = {
    ".csv": delimited.save,
    ".tsv": delimited.save,
    ".jsonl": jsonl.save,
    ".npy": arrays.save,
    ".npz": arrays.save,
    ".parquet": parquet.save,
}


def suffix_of(path: Path) -> str:
    """The end of the file's name in lower case; ValueError where no format has it.

    Examples
    --------
    >>> suffix_of(Path("answers.CSV"))
    '.csv'
    """
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise ValueError(f"cannot tell the format of {path}: its name must end in {', '.join(WRITERS)}")
    return suffix


def write(comparisons: Comparisons, path: str | os.PathLike[str]) -> None:
    """Write comparisons to a file; a failure leaves the old file in place.

    Parameters
    ----------
    comparisons : Comparisons or what makes them
    path : path
        Ends in .csv, .tsv, .jsonl, .npy, .npz or .parquet. See `nearer.formats` for what each kind keeps.

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
    suffix = suffix_of(path)
    comparisons = Comparisons.of(comparisons)
    if any(name.endswith("\0") for name in comparisons.names or ()):
        raise ValueError(f"a name that ends in a NUL character cannot be kept in {suffix}")
    with replacing(path) as aside:
        WRITERS[suffix](comparisons, aside, suffix)
