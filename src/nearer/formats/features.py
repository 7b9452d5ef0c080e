"""Files of features: one row an object, one column a feature; class labels and names may stand beside them.

``.csv``, ``.tsv`` and ``.parquet`` are tables with headers: a column of labels, one of names, all others numbers.
``.npz`` holds arrays: ``X``, or the parts of a CSR matrix as ``scipy.sparse.save_npz`` writes them, labels under
any name, and ``names``. ``.npy`` is X alone. Every feature of every object has to be there and finite: what to put
in place of one that is missing is not for a reader to decide.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from nearer.comparisons.layouts import Column, parse_cells
from nearer.formats import arrays, delimited, parquet
from nearer.formats.cells import NAMES, check_there, filled, is_empty, take_names
from nearer.formats.tables import Table

CHUNK_ROWS = 10_000  # rows of text that are held at once
CSR = ("data", "indices", "indptr", "shape")
PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # row numbers that pandas left in a parquet file


@dataclass(frozen=True)
class FeatureTable:
    """Objects and their features.

    Attributes
    ----------
    path : Path
        The file.
    X : array or csr_array of float64, shape (n_objects, n_features)
        One row an object; all finite.
    columns : tuple of str, or None
        The headers of the features; None where the file has none.
    labels : array of shape (n_objects,), or None
        Class labels, where they were asked for.
    names : tuple of str, or None
        One name an object, no two the same.
    others : tuple of str
        Columns left out because only certain features were asked for.
    """

    path: Path
    X: Any
    columns: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None
    others: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """How many features an object has."""
        return int(self.X.shape[1])


def read_features(
    path: str | os.PathLike[str],
    labels: str | None = None,
    names: str | None = None,
    columns: Sequence[str] | None = None,
    ignored: Sequence[str] = (),
) -> FeatureTable:
    r"""Read the features of objects from a file.

    Parameters
    ----------
    path : path
        Ends in .csv, .tsv, .parquet, .npz or .npy.
    labels : str, optional
        The column, or the array of an .npz, that holds class labels. It is no feature.
    names : str, optional
        The column, or array, that holds the objects' names; by default "name" of a table and "names" of an .npz
        where there is one.
    columns : sequence of str, optional
        The features wanted, in this order; other columns are left out. By default all columns are. Where the file
        has no headers, this asks nothing.
    ignored : sequence of str
        Columns of a table that are no features.

    Returns
    -------
    FeatureTable

    Raises
    ------
    ValueError
        Where a column is not there, or a cell is empty or no finite number; it says which.

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
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise ValueError(f"cannot tell the format of {path}: features are read from {', '.join(READERS)}")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return READERS[suffix](path, labels, names, columns, ignored)


def _tabular(tables: Callable[..., Iterator[Table]]) -> Callable[..., FeatureTable]:
    """Return a reader of features from a reader of tables."""

    def read(
        path: Path, labels: str | None, names: str | None, columns: Sequence[str] | None, ignored: Sequence[str]
    ) -> FeatureTable:
        parts: list[NDArray[np.float64]] = []
        label_cells: list[Any] = []
        name_cells: dict[str, None] = {}
        for table in tables(path, CHUNK_ROWS):
            headers = [header for header in table.columns if not PANDAS_INDEX.fullmatch(header)]
            taken = (labels, *(columns or ()), *ignored)
            if names is None and NAMES in headers and NAMES not in taken:
                names = NAMES
            beside = {column for column in (labels, names, *ignored) if column is not None}
            check_there(path, beside, headers)
            numbered = headers == [str(number) for number in range(len(headers))]
            wanted = [header for header in headers if header not in beside]
            if columns is not None and not numbered:
                check_there(path, columns, headers)
                wanted = list(columns)
            parts.append(_features(table, wanted))
            if labels is not None:
                label_cells += [cell for _, cell in filled(table, labels)]
            if names is not None:
                take_names(name_cells, table, names)
        if not parts:
            raise ValueError(f"{path} is empty: it has no rows")
        return FeatureTable(
            path,
            np.concatenate(parts) if len(parts) > 1 else parts[0],
            columns=None if numbered else tuple(wanted),
            labels=None if labels is None else parse_cells(label_cells),
            names=None if names is None else tuple(name_cells),
            others=tuple(header for header in headers if header not in beside and header not in set(wanted)),
        )

    return read


def _features(table: Table, wanted: Sequence[str]) -> NDArray[np.float64]:
    if not wanted:
        raise ValueError(f"{table.path} has no column of features: it has {', '.join(map(repr, table.columns))}")
    features = np.empty((len(table), len(wanted)))
    for place, column in enumerate(wanted):
        cells = table.columns[column]
        try:
            if isinstance(cells, np.ndarray) and cells.dtype.kind not in "biufU":
                raise TypeError(f"{cells.dtype} is no type of numbers")
            features[:, place] = cells
        except (ValueError, TypeError):
            raise _bad_cell(table, column) from None
        if not np.isfinite(features[:, place]).all():
            raise _bad_cell(table, column)
    return features


def _bad_cell(table: Table, column: str) -> ValueError:
    """Return the error that names the first cell of a column that is no finite number."""
    row, cell = next((row, cell) for row, cell in enumerate(table.columns[column]) if not _is_finite(cell))
    given = "an empty cell" if is_empty(cell) else f"{str(cell)[:40]!r}"
    return table.error(
        row,
        f"has {given} in column {column!r}, where a finite number is wanted; "
        "name the column as the one of labels or of names, or as one to ignore",
    )


def _is_finite(cell: Any) -> bool:
    try:
        return not isinstance(cell, np.datetime64 | np.timedelta64) and bool(np.isfinite(float(cell)))
    except (ValueError, TypeError):
        return False


def _from_arrays(
    path: Path, labels: str | None, names: str | None, columns: Sequence[str] | None, ignored: Sequence[str]
) -> FeatureTable:
    """Read an npy or npz file."""
    if ignored:
        raise ValueError(f"{path} has no headers: the column {ignored[0]!r} cannot be found in it")
    found = {"X": arrays.open_npy(path)} if path.suffix.lower() == ".npy" else arrays.open_npz(path)
    X = _matrix(path, found)
    names = "names" if names is None and "names" in found and labels != "names" else names
    beside: dict[str, Column] = {}
    for what in (labels, names):
        if what is None:
            continue
        if what not in found:
            raise ValueError(f"{path} has no array {what!r}; it has {', '.join(found)}")
        beside[what] = found[what]
        if found[what].shape != (X.shape[0],):
            raise ValueError(
                f"{path}: its array {what!r} has shape {found[what].shape}; one value for each of the "
                f"{X.shape[0]} objects is wanted"
            )
    # As columns of a table, labels and names are held to the same rules.
    table = Table(path, beside)
    found_names: dict[str, None] = {}
    if names is not None:
        take_names(found_names, table, names)
    return FeatureTable(
        path,
        X,
        labels=None if labels is None else parse_cells([cell for _, cell in filled(table, labels)]),
        names=None if names is None else tuple(found_names),
    )


def _matrix(path: Path, found: dict[str, NDArray[Any]]) -> Any:
    """Return the features, dense or sparse, and held to be finite numbers."""
    if "X" not in found and "format" in found:
        try:
            table = csr_array(load_npz(path))
        except (ValueError, NotImplementedError) as error:
            raise ValueError(f"{path} cannot be read as a sparse matrix: {error}") from None
    elif "X" not in found and all(part in found for part in CSR):
        table = csr_array(tuple(found[part] for part in CSR[:3]), shape=tuple(found["shape"].tolist()))
    elif "X" in found:
        return _dense(path, found["X"])
    else:
        raise ValueError(
            f"{path} has no array 'X' of features, nor {', '.join(CSR)} of sparse ones; "
            f"it has {', '.join(found) or 'nothing'}"
        )
    try:
        table.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as a sparse matrix: {error}") from None
    values = _dense(path, table.data[:, None], table) if table.nnz else table.data
    return csr_array((values.ravel().astype(np.float64), table.indices, table.indptr), shape=table.shape)


def _dense(path: Path, X: NDArray[Any], sparse: Any = None) -> NDArray[np.float64]:
    """Return a table as float64; one of sparse entries is told by their places."""
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: X must be a table of numbers, one row an object; got {X.dtype} of shape {X.shape}"
        )
    numbers = np.ascontiguousarray(X, dtype=np.float64)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        value = numbers[row, column]
        if sparse is not None:
            row, column = int(np.searchsorted(sparse.indptr, row, side="right")) - 1, sparse.indices[row]
        raise ValueError(f"{path}, row {row} has {value} in column {column}, where a finite number is wanted")
    return numbers


READERS: dict[str, Callable[..., FeatureTable]] = {
    ".csv": _tabular(delimited.plain_tables),
    ".tsv": _tabular(delimited.plain_tables),
    ".parquet": _tabular(parquet.tables),
    ".npz": _from_arrays,
    ".npy": _from_arrays,
}
