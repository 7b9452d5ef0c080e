"""From what a learner accepts to Comparisons whose objects are numbered as in the model."""

from typing import Any

import numpy as np

from nearer.comparisons.answers import apply_responses
from nearer.comparisons.chunks import ComparisonSource
from nearer.comparisons.container import Comparisons
from nearer.comparisons.rows import blocks

UNMATCHED = "it is not known which is which"


def as_comparisons(comparisons: Any, y: Any = None, sample_weight: Any = None) -> Comparisons:
    """Return the comparisons that ``fit`` and ``score`` accept, with responses and weights applied."""
    comparisons = Comparisons.of(comparisons)
    if y is None and sample_weight is None:
        return comparisons
    if comparisons.n_answers < len(comparisons):
        raise ValueError(
            "y and sample_weight cannot be combined with comparisons that have answers of several rows, which are "
            "selected as a whole: put answers and weights into the Comparisons"
        )
    rows, weights = comparisons.rows, comparisons.weights
    if y is not None:
        rows, _ = apply_responses(rows, y)
    if sample_weight is not None:
        factors = np.asarray(sample_weight, dtype=np.float64)
        if factors.shape != (len(comparisons),):
            n = len(comparisons)
            raise ValueError(f"sample_weight must have one number per row, {n} in all; got shape {factors.shape}")
        weights = factors if weights is None else factors * weights
    return Comparisons(rows, n_objects=comparisons.n_objects, names=comparisons.names, weights=weights)


def as_table(comparisons: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Return the arguments of ``partial_fit``, with a single row by itself as a table of one row."""
    if isinstance(comparisons, Comparisons | ComparisonSource) or np.ndim(comparisons) != 1:
        return comparisons, y, sample_weight
    each = [None if value is None else np.atleast_1d(value) for value in (y, sample_weight)]
    return single_row(comparisons), *each


def single_row(objects: Any) -> Any:
    """Return one answer, given by its objects' numbers or names, as a table of one row."""
    row = np.asarray(objects)
    if row.dtype.kind != "U" or len(row) not in (3, 4):
        return row[None]
    names = list(dict.fromkeys(row.tolist()))
    return Comparisons([[names.index(name) for name in row.tolist()]], names=names)


def drop_zero_weights(comparisons: Comparisons) -> Comparisons:
    """Return the rows whose weight is above 0."""
    if comparisons.weights is None or comparisons.weights.all():
        return comparisons
    return comparisons._take_rows(np.flatnonzero(comparisons.weights))


def mentioned_objects(comparisons: Comparisons) -> np.ndarray:
    """Return for each object whether a comparison mentions it."""
    mentioned = np.zeros(comparisons.n_objects, dtype=bool)
    for block in blocks(len(comparisons), 1 << 18):
        mentioned[comparisons.rows[block]] = True
    return mentioned


def match_objects(comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int) -> np.ndarray:
    """Return the rows with the indices of a model, matched by name if both have names; n_known if unknown."""
    rows = comparisons.rows
    if names is None and comparisons.names is not None:
        raise ValueError(f"these comparisons' objects have names, the model's have none: {UNMATCHED}")
    if comparisons.names is not None and names is not None and comparisons.names != names:
        index = {name: i for i, name in enumerate(names)}
        rows = np.array([index.get(name, n_known) for name in comparisons.names], dtype=np.int32)[rows]
    return np.minimum(rows, n_known)


def merge_objects(
    comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int
) -> tuple[np.ndarray, tuple[str, ...] | None, int]:
    """Return the rows with the indices of a model that grows, its names with new ones at the end, and its size."""
    if names is not None and comparisons.names is None:
        raise ValueError(f"the model's objects have names, these comparisons' have none: {UNMATCHED}")
    if names is None:
        return match_objects(comparisons, None, comparisons.n_objects), None, max(n_known, comparisons.n_objects)
    known = set(names)
    names = (*names, *(name for name in comparisons.names or () if name not in known))
    return match_objects(comparisons, names, len(names)), names, len(names)


def object_indices(objects: Any, names: tuple[str, ...] | None, n_objects: int) -> np.ndarray:
    """Return the indices of objects given by name or number."""
    indices = np.asarray(objects)
    if indices.dtype.kind in "US" and names is not None:
        index = {name: i for i, name in enumerate(names)}
        unknown = [str(name) for name in indices.ravel() if str(name) not in index]
        if unknown:
            raise ValueError(f"the model has no object called {unknown[0]!r}")
        indices = np.array([index[str(name)] for name in indices.ravel()], dtype=np.intp)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(f"objects must be a list of names or numbers of objects; got {objects!r}")
    if indices.size and not (indices.min() >= 0 and indices.max() < n_objects):
        raise ValueError(f"objects are numbered 0 to {n_objects - 1}; got {indices.min()} to {indices.max()}")
    return indices
