"""Files of texts: one row a text, in a column of its own; class labels and names may stand beside it.

Every text has to be there, though it may be empty. Other columns are left alone.
"""

import csv
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.layouts import parse_cells
from nearer.formats import delimited, jsonl, parquet
from nearer.formats.cells import NAMES, check_there, filled, take_names
from nearer.formats.tables import Table

CHUNK_ROWS = 1000  # rows that are held at once beside the texts themselves
LONGEST = 2**31 - 1  # letters of a cell of csv; the module's own limit is 131,072

READERS: dict[str, Callable[..., Iterator[Table]]] = {
    ".csv": delimited.plain_tables,
    ".tsv": delimited.plain_tables,
    ".jsonl": jsonl.plain_tables,
    ".parquet": parquet.tables,
}


@dataclass(frozen=True)
class TextTable:
    """Objects that are texts.

    Attributes
    ----------
    path : Path
        The file.
    column : str
        The column of the texts.
    texts : array of str objects of shape (n_objects,)
        One text an object.
    labels : array of shape (n_objects,), or None
        Class labels, where they were asked for.
    names : tuple of str, or None
        One name an object, no two the same.
    """

    path: Path
    column: str
    texts: NDArray[Any]
    labels: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.texts)


def read_texts(
    path: str | os.PathLike[str], column: str, labels: str | None = None, names: str | None = None
) -> TextTable:
    r"""Read texts from a column of a table.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .jsonl or .parquet.
    column : str
        The column that holds the texts.
    labels : str, optional
        The column that holds class labels.
    names : str, optional
        The column that holds the objects' names; by default "name" where there is one.

    Returns
    -------
    TextTable

    Raises
    ------
    ValueError
        Where a column is not there, or a cell of it is no text; it says which.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "news.csv"
    ...     _ = path.write_text("name,text,group\nn1,Ships set sail.,sea\nn2,\"Stocks, bonds\",money\n")
    ...     table = read_texts(path, "text", labels="group")
    >>> table.texts.tolist(), table.names, table.labels.tolist()
    (['Ships set sail.', 'Stocks, bonds'], ('n1', 'n2'), ['sea', 'money'])
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"cannot tell the format of {path}: texts are read from {', '.join(READERS)}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    texts: list[str] = []
    label_cells: list[Any] = []
    name_cells: dict[str, None] = {}
    with _long_cells():
        for table in reader(path, CHUNK_ROWS):
            if not texts and names is None and NAMES in table.columns and NAMES not in (column, labels):
                names = NAMES
            check_there(path, [each for each in (column, labels, names) if each is not None], list(table.columns))
            texts += _texts(table, column)
            if labels is not None:
                label_cells += [cell for _, cell in filled(table, labels)]
            if names is not None:
                take_names(name_cells, table, names)
    if not texts:
        raise ValueError(f"{path} is empty: it has no rows")
    return TextTable(
        path,
        column,
        np.array(texts, dtype=object),
        labels=None if labels is None else parse_cells(label_cells),
        names=None if names is None else tuple(name_cells),
    )


def _texts(table: Table, column: str) -> list[str]:
    cells = table.columns[column]
    texts = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    for row, cell in enumerate(texts):
        if not isinstance(cell, str):
            given = "no text" if cell is None else f"{str(cell)[:40]} and no text"
            raise table.error(row, f"has {given} in column {column!r}")
    return texts


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lift the limit that csv has for the whole process, and put it back."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)
