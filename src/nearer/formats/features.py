"""Tables of objects to learn similarities of: one row per object, with features or a text, a label and a name.

``.csv``, ``.tsv`` and ``.parquet`` are tables with headers: a column of labels, one of names, all others numbers.
``.npz`` holds arrays: ``X``, or the parts of a CSR matrix as ``scipy.sparse.save_npz`` writes them, labels under
any name, and ``names``. ``.npy`` is X alone. Every feature must be a finite number: how to replace a missing one
is not for a reader to decide. Texts are read from one column of a table, which may also be ``.jsonl``. `match_rows`
finds the rows that answers refer to, and `read_table_for` the columns of a fitted model.
"""

import csv
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import drop_unasked
from nearer.comparisons.columns import parse_cells
from nearer.comparisons.objects import numbers_of_names
from nearer.formats import arrays, delimited, jsonl, parquet, xlsx
from nearer.formats.tables import (
    Table,
    add_names,
    check_columns,
    existing_file,
    filled_cells,
    is_empty,
    parse_numbers,
    parse_texts,
)

NAMES = "name"  # the column of names by default
TEXT = "text"  # the column of texts for a model that was not fitted on a named one
FEATURE_ROWS, TEXT_ROWS = 10_000, 1000  # rows of text in memory beside the result
LONGEST_CELL = 2**31 - 1  # characters of a csv cell; the default limit of the csv module is 131,072
PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # row numbers that pandas leaves in a parquet file

TABLES: dict[str, Callable[..., Iterator[Table]]] = {
    ".csv": delimited.plain_tables,
    ".tsv": delimited.plain_tables,
    ".txt": delimited.plain_tables,
    ".jsonl": jsonl.plain_tables,
    ".parquet": parquet.tables,
    ".xlsx": xlsx.plain_tables,
}
FEATURE_FORMATS = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".npz", ".npy")
Selected = tuple[Any, tuple[str, ...] | None, tuple[str, ...]]


@dataclass(frozen=True)
class FeatureTable:
    """Objects and their features, or texts.

    Every estimator of features takes it as X and remembers its columns in ``feature_names_in_``, as those of a
    DataFrame: ``model.fit(table, table.labels)``. Indexing selects rows.

    Attributes
    ----------
    path : Path
        The file.
    X : array or csr_array of float64, shape (n_objects, n_features), or array of str objects, shape (n_objects,)
        One row per object: finite numbers, or a text.
    columns : tuple of str, or None
        The headers of the features, or of the texts; None if the file has no headers.
    labels : array of shape (n_objects,), or None
        Class labels, if a column of labels was given.
    names : tuple of str, or None
        One distinct name per object.
    others : tuple of str
        Columns left out because certain features were asked for.
    """

    path: Path
    X: Any
    columns: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    others: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.X, dtype=dtype) if copy else np.asarray(self.X, dtype=dtype)

    def __getitem__(self, rows: Any) -> "FeatureTable":
        labels = None if self.labels is None else self.labels[rows]
        names = None if self.names is None else tuple(np.array(self.names, dtype=object)[rows].tolist())
        return replace(self, X=self.X[rows], labels=labels, names=names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of X."""
        return tuple(self.X.shape)

    @property
    def iloc(self) -> "FeatureTable":
        """The table itself, whose rows are selected by position: for code that selects rows of a DataFrame."""
        return self

    @property
    def index(self) -> tuple[str, ...] | None:
        """The names, by which comparisons find their objects as by the index of a DataFrame."""
        return self.names


def read_features(
    path: str | os.PathLike[str],
    labels: str | None = None,
    names: str | None = None,
    columns: Sequence[str] | None = None,
    ignored: Sequence[str] = (),
    *,
    unlabeled: bool = False,
) -> FeatureTable:
    r"""Read the features of objects from a file.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .parquet, .npz or .npy.
    labels : str, optional
        The column, or the array of an .npz, that holds class labels. It is not a feature.
    names : str, optional
        The column, or array, that holds the objects' names; by default "name" of a table and "names" of an .npz,
        if there is one.
    columns : sequence of str, optional
        The features to read, in this order; other columns are left out. By default all columns are features.
        Ignored if the file has no headers.
    ignored : sequence of str
        Columns of a table that are not features.
    unlabeled : bool, default=False
        Whether cells of labels may be empty; labels are then texts, "" for an empty cell.

    Returns
    -------
    FeatureTable

    Raises
    ------
    ValueError
        If a column is missing, or a cell is not a finite number; the message says which.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "shoes.csv"
    ...     _ = path.write_text("name,heel,sole,kind\npump,7,0.5,party\nboot,3,2,winter\n")
    ...     table = read_features(path, labels="kind")
    >>> table.X
    array([[7. , 0.5],
           [3. , 2. ]])
    >>> table.columns, table.names, table.labels.tolist()
    (('heel', 'sole'), ('pump', 'boot'), ['party', 'winter'])
    """
    path, suffix = existing_file(path, FEATURE_FORMATS, "features are read from")
    if suffix not in TABLES:
        if ignored:
            raise ValueError(f"{path} has no headers: the column {ignored[0]!r} cannot be found in it")
        X, arrays_beside, names = arrays.load_features(path, labels, names)
        return _read(path, [arrays_beside], lambda table, beside: (X, None, ()), labels, names, (), unlabeled)

    def select(table: Table, beside: list[str]) -> Selected:
        headers = [header for header in table.columns if not PANDAS_INDEX.fullmatch(header)]
        check_columns(path, list(ignored), headers)
        features = [header for header in headers if header not in (*beside, *ignored)]
        if headers == [str(number) for number in range(len(headers))]:
            return parse_numbers(table, features), None, ()
        chosen = features if columns is None else list(columns)
        check_columns(path, chosen, headers)
        others = set(features) - set(chosen)
        return parse_numbers(table, chosen), tuple(chosen), tuple(each for each in features if each in others)

    tables = TABLES[suffix](path, FEATURE_ROWS)
    return _read(path, tables, select, labels, names, (*(columns or ()), *ignored), unlabeled)


def read_texts(
    path: str | os.PathLike[str], column: str, labels: str | None = None, names: str | None = None
) -> FeatureTable:
    r"""Read texts from a column of a table. A text may be empty; other columns are ignored.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .jsonl or .parquet.
    column : str
        The column that holds the texts.
    labels : str, optional
        The column that holds class labels.
    names : str, optional
        The column that holds the objects' names; by default "name", if there is one.

    Returns
    -------
    FeatureTable
        ``X`` holds the texts. A missing column, or a cell of it that is not text, is a ValueError that says which.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> lines = ["name,text,group", "n1,Ships set sail.,sea", 'n2,"Stocks, bonds",money']
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "news.csv").write_text("\n".join(lines))
    ...     table = read_texts(f"{folder}/news.csv", "text", labels="group")
    >>> table.X.tolist(), table.names, table.labels.tolist()
    (['Ships set sail.', 'Stocks, bonds'], ('n1', 'n2'), ['sea', 'money'])
    """
    path, suffix = existing_file(path, TABLES, "texts are read from")

    def select(table: Table, beside: list[str]) -> Selected:
        check_columns(path, [column], list(table.columns))
        return parse_texts(table, column), (column,), ()

    with _long_cells():
        return _read(path, TABLES[suffix](path, TEXT_ROWS), select, labels, names, (column,))


def _read(
    path: Path,
    tables: Iterable[Table],
    select: Callable[[Table, list[str]], Selected],
    labels: str | None,
    names: str | None,
    taken: Sequence[str] = (),
    unlabeled: bool = False,
) -> FeatureTable:
    """Put chunks of a table together; ``select`` returns X, its columns and the columns left out of a chunk."""
    parts: list[Selected] = []
    label_cells: list[Any] = []
    distinct: dict[str, None] = {}
    for table in tables:
        if not parts and names is None and NAMES in table.columns and NAMES not in (labels, *taken):
            names = NAMES
        beside = [column for column in (labels, names) if column is not None]
        check_columns(path, beside, list(table.columns))
        parts.append(select(table, beside))
        if labels is not None and unlabeled:
            label_cells += ["" if is_empty(cell) else str(cell) for cell in table.columns[labels]]
        elif labels is not None:
            label_cells += [cell for _, cell in filled_cells(table, labels)]
        if names is not None:
            add_names(distinct, table, names)
    if not parts:
        raise ValueError(f"{path} is empty: it has no rows")
    X = parts[0][0] if len(parts) == 1 else np.concatenate([part[0] for part in parts])
    classes = None if labels is None else np.array(label_cells) if unlabeled else parse_cells(label_cells)
    return FeatureTable(path, X, parts[0][1], classes, None if names is None else tuple(distinct), parts[0][2])


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lift the limit that the csv module has for the whole process, and restore it."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def match_rows(answers: Comparisons, table: FeatureTable, source: Path) -> tuple[Comparisons, NDArray[np.intp]]:
    """Return answers of a file `source`, and the row of a table of each of their objects, -1 if it has none.

    Objects are matched by name if both have names, and otherwise by number.
    """
    names = table.names
    # If the names are all numbers, possibly with leading zeros, answers by number name them.
    if names is not None and all(name.isdecimal() for name in names):
        bare = tuple(str(int(name)) for name in names)
        by_number = answers.names is None or numbers_of_names(answers.names) is not None
        names = bare if by_number and len(set(bare)) == len(bare) else names
        answers = drop_unasked(answers)[0] if answers.names is None else answers
    if answers.names is not None and names is None and numbers_of_names(answers.names) is None:
        raise ValueError(f"{source} names its objects and {table.path} has no names: they cannot be matched")
    return answers, find_objects(answers, names, len(table))


def find_objects(answers: Comparisons, names: Sequence[str] | None, n: int) -> NDArray[np.intp]:
    """Return the number of each object of answers among n objects with these names; -1 for an unknown one.

    Numbers and names that are numbers stand for each other.
    """
    numbers = None if answers.names is None else numbers_of_names(answers.names)
    if names is not None and answers.names is None and numbers_of_names(names) is not None:
        answers = Comparisons(answers, names=[str(number) for number in range(answers.n_objects)])
    elif answers.names is None or (names is None and numbers is not None):
        places = np.arange(answers.n_objects) if numbers is None else numbers
        return np.where(places < n, places, -1)
    place = {name: number for number, name in enumerate(names or ())}
    return np.array([place.get(name, -1) for name in answers.names or ()], dtype=np.intp)


def read_table_for(model: Any, path: Path, names: str | None = None) -> FeatureTable:
    """Read the columns that a fitted model, or the first step of a pipeline, takes, in any order in the file."""
    first = model.steps[0][1] if hasattr(model, "steps") else model
    if hasattr(first, "terms_"):
        return read_texts(path, first.column_ or TEXT, names=names)
    columns = getattr(first, "feature_names_in_", None)
    columns = None if columns is None else tuple(columns.tolist())
    table = read_features(path, names=names, columns=columns)
    if table.shape[1] != first.n_features_in_:
        features = f"{table.shape[1]:,} feature" + "s" * (table.shape[1] != 1)
        raise ValueError(f"{path} has {features}, and the model was fitted with {first.n_features_in_:,}")
    check_sparse(first, table)
    return replace(table, columns=columns)  # also if the file has no headers


def check_sparse(model: Any, table: FeatureTable) -> None:
    """Raise a ValueError if a table is sparse and an estimator takes dense features only."""
    if issparse(table.X) and not model.__sklearn_tags__().input_tags.sparse:
        raise ValueError(f"{table.path} holds sparse features; {type(model).__name__} takes dense ones only")
