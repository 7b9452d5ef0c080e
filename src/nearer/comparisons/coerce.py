"""From what a learner accepts to Comparisons whose objects are numbered as in the model."""

from typing import Any

import numpy as np

from nearer.comparisons.answers import apply_responses
from nearer.comparisons.chunks import ComparisonSource
from nearer.comparisons.container import Comparisons
from nearer.comparisons.layouts import understand_questions
from nearer.comparisons.objects import numbers_of_names, unknown_object
from nearer.comparisons.rows import blocks

UNMATCHED = "it is not known which is which"


def as_comparisons(comparisons: Any, y: Any = None, sample_weight: Any = None) -> Comparisons:
    """Return the comparisons that ``fit`` and ``score`` accept, with responses and weights applied."""
    if y is None and hasattr(comparisons, "columns"):
        _check_answered([str(header) for header in comparisons.columns])
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
        rows, counts = apply_responses(rows, y)
        weights = weights if counts is None else counts if weights is None else counts * weights
    if sample_weight is not None:
        factors = np.asarray(sample_weight, dtype=np.float64)
        if factors.shape != (len(comparisons),):
            n = len(comparisons)
            raise ValueError(f"sample_weight must have one number per row, {n} in all; got shape {factors.shape}")
        weights = factors if weights is None else factors * weights
    return Comparisons(rows, n_objects=comparisons.n_objects, names=comparisons.names, weights=weights)


def refuse_beside_source(**arguments: Any) -> None:
    """Raise for arguments with one value per row beside comparisons that are read in parts."""
    for name, value in arguments.items():
        if value is not None:
            advice = "responses, weights, subjects and answer ids can be columns of the files or of the DataFrame"
            if name == "groups":
                advice = "a column answer can have one id for each group, with its rows in succession"
            raise ValueError(
                f"{name} is for comparisons in memory, and these are read in parts, from files or by a cluster: {advice}"
            )


def _check_answered(headers: list[str]) -> None:
    """Raise for the headers of a DataFrame of questions, whose first choice would be taken for the nearer one."""
    if understand_questions(headers) is not None:
        listed = ", ".join(map(repr, headers))
        raise ValueError(
            f"the columns {listed} are questions without answers; add a column response, with the chosen one of each "
            "row, or pass y, which is True where the first choice was chosen"
        )


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


def drop_unasked(comparisons: Comparisons) -> tuple[Comparisons, list[str]]:
    """Return the comparisons over the objects that they mention, with names, and the names of the other objects.

    Without any other objects the comparisons are returned unchanged. The name of an object without one is its number.
    """
    asked = mentioned_objects(comparisons)
    if asked.all():
        return comparisons, []
    names = np.array(comparisons.names or range(comparisons.n_objects), dtype=np.str_)
    columns: dict[str, Any] = {name: getattr(comparisons, name) for name in ("weights", "subjects", "extra")}
    columns["answers"] = comparisons._answers
    rows = (np.cumsum(asked) - 1).astype(np.int32)[comparisons.rows]
    kept = Comparisons(rows, names=names[asked].tolist(), **columns)
    kept._fill(n_dropped=comparisons.n_dropped)
    return kept, names[~asked].tolist()


def match_objects(comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int) -> np.ndarray:
    """Return the rows with the indices of a model, matched by name if both have names; n_known if unknown."""
    rows = comparisons.rows
    if names is None and comparisons.names is not None:
        numbers = numbers_of_names(comparisons.names)  # a file with gaps in its numbers has names that are numbers
        if numbers is None:
            raise ValueError(f"these comparisons' objects have names, the model's have none: {UNMATCHED}")
        return np.minimum(numbers[rows], n_known)
    if comparisons.names is not None and names is not None and comparisons.names != names:
        index = {name: i for i, name in enumerate(names)}
        rows = np.array([index.get(name, n_known) for name in comparisons.names], dtype=np.int32)[rows]
    if comparisons.names is None and names is not None:
        numbers = numbers_of_names(names)
        if numbers is not None:  # objects called 1, 2, …: a number is a name
            places = np.full(max(comparisons.n_objects, int(numbers.max(initial=-1)) + 1), n_known)
            places[numbers] = np.arange(n_known)
            rows = places[rows]
    return np.minimum(rows, n_known)


def merge_objects(
    comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int
) -> tuple[np.ndarray, tuple[str, ...] | None, int]:
    """Return the rows with the indices of a model that grows, its names with new ones at the end, and its size."""
    if names is not None and comparisons.names is None:
        if numbers_of_names(names) is None:
            raise ValueError(f"the model's objects have names, these comparisons' have none: {UNMATCHED}")
        comparisons = Comparisons(comparisons, names=[str(number) for number in range(comparisons.n_objects)])
    if names is None:
        numbers = None if comparisons.names is None else numbers_of_names(comparisons.names)
        n_new = comparisons.n_objects if numbers is None else int(numbers.max(initial=-1)) + 1
        return match_objects(comparisons, None, n_new), None, max(n_known, n_new)
    known = set(names)
    names = (*names, *(name for name in comparisons.names or () if name not in known))
    return match_objects(comparisons, names, len(names)), names, len(names)


def object_indices(objects: Any, names: tuple[str, ...] | None, n_objects: int) -> np.ndarray:
    """Return the indices of objects given by name or number, one or several; numbers are names if all names are."""
    indices = np.atleast_1d(objects)
    if indices.dtype.kind == "O":
        indices = np.array(indices.tolist())
    is_named = names is not None and (indices.dtype.kind in "US" or numbers_of_names(names) is not None)
    if names is not None and is_named and indices.dtype.kind in "USiu":
        index = {name: i for i, name in enumerate(names)}
        wanted = list(map(str, indices.ravel().tolist()))
        unknown = [name for name in wanted if name not in index]
        if unknown:
            raise unknown_object(unknown[0], names, len(names))
        indices = np.array([index[name] for name in wanted], dtype=np.intp).reshape(indices.shape)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(f"objects must be a list of names or numbers of objects; got {objects!r}")
    if indices.size and not (indices.min() >= 0 and indices.max() < n_objects):
        raise ValueError(f"objects are numbered 0 to {n_objects - 1}; got {indices.min()} to {indices.max()}")
    return indices
