"""What a learner was given, as comparisons in its own numbers: answers and weights put in, objects by name."""

from typing import Any

import numpy as np

from nearer.comparisons.answers import answered_rows
from nearer.comparisons.container import Comparisons
from nearer.comparisons.rows import blocks


def as_comparisons(given: Any, y: Any = None, sample_weight: Any = None) -> Comparisons:
    """Return comparisons from all that ``fit`` and ``score`` take."""
    comparisons = Comparisons.of(given)
    if y is None and sample_weight is None:
        return comparisons
    if comparisons.n_answers < len(comparisons):
        raise ValueError(
            "these comparisons have answers of several rows, which a selection keeps together and would part from "
            "a separate y or sample_weight: put answers and weights into the Comparisons"
        )
    rows, weights = comparisons.rows, comparisons.weights
    if y is not None:
        rows = answered_rows(rows, y)
    if sample_weight is not None:
        factors = np.asarray(sample_weight, dtype=np.float64)
        if factors.shape != (len(comparisons),):
            raise ValueError(
                f"sample_weight must have one number a row, {len(comparisons)} in all; got shape {factors.shape}"
            )
        weights = factors if weights is None else factors * weights
    return Comparisons(rows, n_objects=comparisons.n_objects, names=comparisons.names, weights=weights)


def drop_zero_weights(comparisons: Comparisons) -> Comparisons:
    """Return the rows that weigh anything."""
    if comparisons.weights is None or (comparisons.weights > 0).all():
        return comparisons
    kept = comparisons.weights > 0
    return Comparisons(
        comparisons.rows[kept],
        n_objects=comparisons.n_objects,
        names=comparisons.names,
        weights=comparisons.weights[kept],
        answers=comparisons.answers[kept],
    )


def mentioned_objects(comparisons: Comparisons) -> np.ndarray:
    """Return for each object whether a comparison mentions it."""
    asked = np.zeros(comparisons.n_objects, dtype=bool)
    for block in blocks(len(comparisons), 1 << 18):
        asked[comparisons.rows[block]] = True
    return asked


def match_objects(comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int) -> np.ndarray:
    """Return the rows in the numbers of a model: by name where both have names, an unknown object as n_known."""
    rows = comparisons.rows
    if names is None and comparisons.names is not None:
        raise ValueError(
            "these comparisons' objects have names, the model's have none: it is not known which is which"
        )
    if comparisons.names is not None and names is not None and comparisons.names != names:
        place = {name: number for number, name in enumerate(names)}
        rows = np.array([place.get(name, n_known) for name in comparisons.names], dtype=np.int32)[rows]
    return np.minimum(rows, n_known)


def merge_objects(
    comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int
) -> tuple[np.ndarray, tuple[str, ...] | None, int]:
    """Return the rows in the numbers of a model that grows, its names and how many objects it then has.

    Objects are matched by name where there are names, and new names come after the known ones.
    """
    if names is not None and comparisons.names is None:
        raise ValueError(
            "the model's objects have names, these comparisons' have none: it is not known which is which"
        )
    if names is None:
        return match_objects(comparisons, None, comparisons.n_objects), None, max(n_known, comparisons.n_objects)
    known = set(names)
    names = (*names, *(name for name in comparisons.names or () if name not in known))
    return match_objects(comparisons, names, len(names)), names, len(names)


def object_indices(objects: Any, names: tuple[str, ...] | None, n_objects: int) -> np.ndarray:
    """Return the numbers of objects given by name or number."""
    wanted = np.asarray(objects)
    if wanted.dtype.kind in "US" and names is not None:
        place = {name: number for number, name in enumerate(names)}
        unknown = [str(name) for name in wanted.ravel() if str(name) not in place]
        if unknown:
            raise ValueError(f"the model has no object called {unknown[0]!r}")
        wanted = np.array([place[str(name)] for name in wanted.ravel()], dtype=np.intp)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise ValueError(f"objects must be a list of names or numbers of objects; got {objects!r}")
    if wanted.size and not (wanted.min() >= 0 and wanted.max() < n_objects):
        raise ValueError(f"objects are numbered 0 to {n_objects - 1}; got {wanted.min()} to {wanted.max()}")
    return wanted
