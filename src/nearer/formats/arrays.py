"""Numpy's own files: ``.npy`` is the rows and nothing else, ``.npz`` keeps everything. Never unpickled.

An ``.npz`` of ours has `rows`, `n_objects` and, where there are any, `names`, `weights`, `subjects`,
`answers` and ``extra__<name>``. cblearn's arrays load too: triplets alone (list-order), with booleans or ±1
(list-boolean), or with signed counts (list-count), under any of the keys below; weights beside signed
counts say how much each of the counted answers weighs. Other arrays of one value a
row are kept as extra columns.
"""

import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.comparisons.columns import clean_weights
from nearer.comparisons.rows import BadRowError, flip_rows

ROWS = ("rows", "triplets", "quadruplets", "queries", "query", "X")
RESPONSES = ("responses", "response", "y")
COLUMNS = {
    "weights": ("weights", "weight"),
    "subjects": ("subjects", "subject", "participant"),
    "answers": ("answers",),
}
EXTRA = "extra__"


def load(path: Path, bad_rows: Literal["raise", "drop"] = "raise") -> Comparisons:
    """Read an npy or npz file."""
    arrays = {"rows": open_npy(path)} if path.suffix.lower() == ".npy" else open_npz(path)
    key = next((key for key in ROWS if key in arrays), None)
    if key is None:
        found = ", ".join(arrays) or "nothing"
        raise ValueError(f"{path} has no array of comparisons under {', '.join(ROWS)}; it has {found}")
    rows = arrays.pop(key)
    if rows.ndim == 0:
        raise ValueError(f"{path}: its array {key!r} is a single value, not a table of comparisons")
    if len(rows) == 0:
        raise ValueError(f"{path} is empty: its array {key!r} has no rows")
    drop = bad_rows == "drop"
    fields: dict[str, Any] = {}
    counts = None
    try:
        response = next((key for key in RESPONSES if key in arrays), None)
        if response is not None:
            rows, counts = answered(rows, arrays.pop(response), drop)
        for what, keys in COLUMNS.items():
            found_key = next((key for key in keys if key in arrays), None)
            if found_key is not None:
                fields[what] = arrays.pop(found_key)
        if counts is not None:
            weights = fields.get("weights")
            fields["weights"] = counts if weights is None else counts * clean_weights(weights, len(rows), drop)
        if "names" in arrays:
            fields["names"] = arrays.pop("names").tolist()
        if "n_objects" in arrays:
            if arrays["n_objects"].size != 1:
                raise ValueError("n_objects must be a single whole number")
            fields["n_objects"] = int(arrays.pop("n_objects").item())
        fields["extra"] = {k.removeprefix(EXTRA): a for k, a in arrays.items() if a.shape == (len(rows),)}
        return Comparisons(rows, **fields, bad_rows=bad_rows)
    except BadRowError as error:
        raise ValueError(f"{path}, row {error.row} {error.problem}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def answered(
    queries: NDArray[Any], responses: NDArray[Any], drop: bool = False
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Rows and weights from queries and booleans, ±1 or signed counts.

    A response that says neither yes nor no is a BadRowError; with `drop` it leaves an impossible row.

    Examples
    --------
    >>> rows, weights = answered(np.array([[0, 1, 2], [0, 1, 2]]), np.array([3, -1]))
    >>> rows.tolist(), weights
    ([[0, 1, 2], [0, 2, 1]], array([3., 1.]))
    """
    if queries.ndim != 2 or queries.shape[1] not in (3, 4) or responses.shape != (len(queries),):
        raise ValueError(f"queries of shape {queries.shape} and responses of shape {responses.shape} do not match")
    if responses.dtype.kind == "b":
        responses = np.where(responses, 1, -1)
    if responses.dtype.kind not in "if":
        raise ValueError(f"responses must be True or False, ±1 or signed counts; got {responses.dtype}")
    bad = ~np.isfinite(responses) | (responses == 0)
    if bad.any() and not drop:
        first = int(np.argmax(bad))
        raise BadRowError(first, f"has response {responses[first]}, which says neither yes nor no")
    rows = np.where(responses[:, None] > 0, queries, flip_rows(queries))
    counts = np.abs(responses).astype(np.float64)
    if bad.any():
        rows, counts = rows.astype(np.float64), np.where(bad, 1.0, counts)
        rows[bad] = -1
    return rows, None if (counts == 1).all() else counts


def open_npy(path: Path, mapped: bool = False) -> NDArray[Any]:
    """The array of an npy file, or a view of the file itself."""
    try:
        return np.asarray(np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as an array of numbers: {_reason(error)}") from None


def open_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise ValueError(f"{path} cannot be read as arrays: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if "allow_pickle" in str(error) or "pickle" in str(error):
        return "it holds Python objects, which are never unpickled, or is no numpy file; save numbers or text"
    return str(error)


def save(comparisons: Comparisons, path: Path, suffix: str) -> None:
    """Write the arrays."""
    if suffix == ".npy":
        more = [k for k in ("names", "weights", "subjects") if getattr(comparisons, k) is not None]
        more += ["answers"] * (comparisons.n_answers < len(comparisons)) + list(comparisons.extra)
        if more:
            raise ValueError(
                f".npy keeps the rows alone, and there are {', '.join(more)} too; .npz keeps everything"
            )
        with path.open("wb") as file:
            np.save(file, comparisons.rows, allow_pickle=False)
        return
    arrays: dict[str, Any] = {"rows": comparisons.rows, "n_objects": comparisons.n_objects}
    arrays |= {k: getattr(comparisons, k) for k in ("weights", "subjects") if getattr(comparisons, k) is not None}
    if comparisons.names is not None:
        arrays["names"] = np.array(comparisons.names, dtype=np.str_)
    if comparisons.n_answers < len(comparisons):
        arrays["answers"] = comparisons.answers
    arrays |= {EXTRA + name: column for name, column in comparisons.extra.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # no column is ever of Python objects
