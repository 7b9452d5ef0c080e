"""NumPy's own files: ``.npy`` holds the rows only, ``.npz`` keeps everything. Nothing is unpickled.

Our ``.npz`` files have `rows`, `n_objects` and, if there are any, `names`, `weights`, `subjects`, `answers` and
``extra__<name>``. cblearn's arrays can be read too: triplets alone, with booleans or ±1, or with signed counts (then
weights are those of each counted answer). Other arrays with one value per row are kept as extra columns.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from nearer.comparisons import Comparisons
from nearer.comparisons.answers import apply_responses
from nearer.comparisons.columns import clean_numbers
from nearer.comparisons.display import OBJECTS, optional_columns
from nearer.comparisons.rows import BadRowError
from nearer.formats.survey import check_implied_objects
from nearer.formats.tables import BadLineError, Options, Table

ROWS = ("rows", "triplets", "quadruplets", "queries", "query", "X")
RESPONSES = ("responses", "response", "y")
COLUMNS = {
    "weights": ("weights", "weight"),
    "subjects": ("subjects", "subject", "participant"),
    "answers": ("answers",),
}
EXTRA = "extra__"
CSR = ("data", "indices", "indptr", "shape")

Range = tuple[int, int | None]  # the first row and the one after the last; None: the end of the file


def load(path: Path, options: Options) -> Comparisons:
    """Read an npy or npz file, whose numbers are numbers of objects."""
    if options.roles is not None:
        raise ValueError(
            f"{path} holds arrays, which have no columns to name; the arrays are called {', '.join(ROWS)}"
        )
    arrays = {"rows": open_npy(path)} if path.suffix.lower() == ".npy" else open_npz(path)
    known = ", ".join(arrays) or "nothing"
    rows = _pop(arrays, ROWS)
    if rows is None:
        raise ValueError(f"{path} has no array of comparisons under {', '.join(ROWS)}; it has {known}")
    if rows.ndim == 0:
        raise ValueError(f"{path}: its array of comparisons is a single value, not a table")
    if len(rows) == 0:
        raise ValueError(f"{path} is empty: its array of comparisons has no rows")
    drop = options.drop
    try:
        responses = _pop(arrays, RESPONSES)
        fields: dict[str, Any] = {what: _pop(arrays, keys) for what, keys in COLUMNS.items()}
        if responses is not None:
            rows, counts = apply_responses(rows, responses, drop=drop)
            if fields["weights"] is None:
                fields["weights"] = counts
            elif counts is not None:
                fields["weights"] = counts * clean_numbers(fields["weights"], "weight", len(rows), drop)
        if "names" in arrays:
            fields["names"] = arrays.pop("names").tolist()
        if "n_objects" in arrays:
            if arrays["n_objects"].size != 1:
                raise ValueError("n_objects must be a single whole number")
            fields["n_objects"] = int(arrays.pop("n_objects").item())
        if options.n_objects is not None:
            fields["n_objects"] = options.n_objects
        fields["extra"] = {k.removeprefix(EXTRA): a for k, a in arrays.items() if a.shape == (len(rows),)}
        made = Comparisons(rows, **fields, bad_rows="drop" if drop else "raise")
    except BadRowError as error:
        raise BadLineError(f"{path}, row {error.row} {error.problem}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if not {"names", "n_objects"} & set(fields):
        check_implied_objects(path, made.n_objects, *made.shape)
    return made


def _pop(arrays: dict[str, NDArray[Any]], keys: Iterable[str]) -> Any:
    """Remove the array of the first of the keys that is there, and return it; None if none is there."""
    key = next((key for key in keys if key in arrays), None)
    return None if key is None else arrays.pop(key)


def split(path: Path, part_rows: int) -> list[tuple[Range, int]]:
    """Return ranges of the rows of an npy file, of so many rows each at most, and their sizes; the last is open."""
    n_rows = read_header(path).shape[0]
    starts = range(0, max(n_rows, 1), part_rows)
    sizes = [min(part_rows, n_rows - start) for start in starts]
    ends = [*starts[1:], None]
    return [((start, end), size) for start, end, size in zip(starts, ends, sizes, strict=True)]


def tables(
    path: Path,
    chunk_rows: int | None = None,
    options: Options | None = None,
    bounds: Range | None = None,
) -> Iterator[Table]:
    """Yield the rows of an npy file, or a range of them, as tables of at most `chunk_rows` rows.

    No more than that is read at once, and none of it as a memory map, whose pages count as memory of the process.
    """
    header = read_header(path)
    if len(header.shape) != 2 or header.shape[1] not in OBJECTS:
        raise ValueError(f"{path} must hold 3 or 4 columns; it holds an array of shape {header.shape}")
    first, end = bounds or (0, None)
    stop = header.shape[0] if end is None else min(end, header.shape[0])
    for start in range(first, stop, chunk_rows or max(stop - first, 1)):
        rows = header.read(path, start, min(start + chunk_rows, stop) if chunk_rows else stop)
        columns = dict(zip(OBJECTS[rows.shape[1]], rows.T, strict=True))
        yield Table(
            path, columns, n_objects=None if options is None else options.n_objects, first_row=start, numbered=True
        )


class Header(NamedTuple):
    """What an npy file says about the table that it holds, and where that begins."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    offset: int

    def read(self, path: Path, start: int, stop: int) -> NDArray[Any]:
        """Return a range of rows."""
        if self.is_fortran:
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)[start:stop])
        width = self.shape[1]
        where = self.offset + start * width * self.dtype.itemsize
        cells = np.fromfile(path, dtype=self.dtype, count=(stop - start) * width, offset=where)
        return cells.reshape(stop - start, width)


def read_header(path: Path) -> Header:
    """Return what the first bytes of an npy file say; ValueError if there are not as many bytes as that takes."""
    with _damaged_npy(path), path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
        if dtype.hasobject:
            raise ValueError("Object arrays cannot be loaded when allow_pickle=False")
        header, size = Header(shape, is_fortran, dtype, file.tell()), math.prod(shape) * dtype.itemsize
        if path.stat().st_size < header.offset + size:
            raise ValueError(f"it is cut off: the numbers take {size} bytes, and there are fewer")
    return header


def open_npy(path: Path) -> NDArray[Any]:
    """Return the array of an npy file."""
    with _damaged_npy(path):
        return np.asarray(np.load(path, allow_pickle=False))


@contextmanager
def _damaged_npy(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # of a damaged file numpy may raise anything
        raise ValueError(f"{path} cannot be read as an array of numbers: {_reason(error)}") from None


def open_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # of a damaged file numpy and zipfile may raise anything
        raise ValueError(f"{path} cannot be read as arrays: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if "allow_pickle" in str(error) or "pickle" in str(error):
        return "it holds Python objects, which are never unpickled, or is no numpy file; save numbers or text"
    return str(error) or type(error).__name__


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write comparisons as arrays."""
    if suffix == ".npy":
        more = ["names"] * (comparisons.names is not None) + [*optional_columns(comparisons), *comparisons.extra]
        if more:
            raise ValueError(f".npy keeps the rows alone, and there are {', '.join(more)} too; .npz keeps all")
        with path.open("wb") as file:
            np.save(file, comparisons.rows, allow_pickle=False)
        return
    arrays: dict[str, Any] = {"rows": comparisons.rows, "n_objects": comparisons.n_objects}
    if comparisons.names is not None:
        arrays["names"] = np.array(comparisons.names, dtype=np.str_)
    arrays |= optional_columns(comparisons)
    arrays |= {EXTRA + name: column for name, column in comparisons.extra.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # no column is ever of Python objects


def load_features(path: Path, labels: str | None, names: str | None) -> tuple[Any, Table, str | None]:
    """Return the features of an npy or npz file, a table of its labels and names, and the array of names."""
    arrays = {"X": open_npy(path)} if path.suffix.lower() == ".npy" else open_npz(path)
    X = _features(path, arrays)
    names = "names" if names is None and "names" in arrays and labels != "names" else names
    columns = [name for name in (labels, names) if name is not None]
    for name in columns:
        if name not in arrays:
            raise ValueError(f"{path} has no array {name!r}; it has {', '.join(arrays)}")
        if arrays[name].shape != (X.shape[0],):
            wanted = f"one value for each of the {X.shape[0]} objects is wanted"
            raise ValueError(f"{path}: its array {name!r} has shape {arrays[name].shape}; {wanted}")
    return X, Table(path, {name: arrays[name] for name in columns}), names


def _features(path: Path, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return the features, dense or sparse, after a check that they are finite numbers."""
    if "X" in arrays:
        return _finite(path, arrays["X"])
    if "format" not in arrays and not all(part in arrays for part in CSR):
        missing, has = f"no array 'X' of features, nor {', '.join(CSR)} of sparse ones", ", ".join(arrays)
        raise ValueError(f"{path} has {missing}; it has {has or 'nothing'}")
    try:
        if "format" in arrays:  # as scipy.sparse.save_npz writes
            table = csr_array(load_npz(path))
        else:
            table = csr_array(tuple(arrays[part] for part in CSR[:3]), shape=tuple(arrays["shape"].tolist()))
        table.check_format(full_check=True)
    except Exception as error:  # of a damaged file anything
        raise ValueError(f"{path} cannot be read as a sparse matrix: {error}") from None
    values = _finite(path, table.data[:, None], table) if table.nnz else table.data
    return csr_array((values.ravel().astype(np.float64), table.indices, table.indptr), shape=table.shape)


def _finite(path: Path, X: NDArray[Any], sparse: Any = None) -> NDArray[np.float64]:
    """Return a table as float64; the error for an entry of a sparse one names its row and column."""
    if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "biuf":
        kind = f"{X.dtype} of shape {X.shape}"
        raise ValueError(f"{path}: X must be a table of numbers, one row per object; got {kind}")
    numbers = np.ascontiguousarray(X, dtype=np.float64)
    if not np.isfinite(numbers).all():
        row, column = np.argwhere(~np.isfinite(numbers))[0]
        value = numbers[row, column]
        if sparse is not None:
            row, column = int(np.searchsorted(sparse.indptr, row, side="right")) - 1, sparse.indices[row]
        raise ValueError(f"{path}, row {row} has {value} in column {column}, where a finite number is wanted")
    return numbers
