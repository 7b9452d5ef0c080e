"""What the estimator was given, checked: comparisons with their weights, parameters, and objects by name."""

import os
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.answers import answered_rows
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


def with_weight(comparisons: Comparisons) -> Comparisons:
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


def asked_about(comparisons: Comparisons) -> np.ndarray:
    """Return for each object whether a comparison mentions it."""
    asked = np.zeros(comparisons.n_objects, dtype=bool)
    for block in blocks(len(comparisons), 1 << 18):
        asked[comparisons.rows[block]] = True
    return asked


def renumbered(comparisons: Comparisons, names: tuple[str, ...] | None, n_known: int) -> np.ndarray:
    """Return the rows in the numbers of a model: by name where both have names, an unknown object as n_known."""
    rows = comparisons.rows
    if names is None and comparisons.names is not None:
        raise ValueError(
            "these comparisons' objects have names, the map's have none: it is not known which is which"
        )
    if comparisons.names is not None and names is not None and comparisons.names != names:
        place = {name: number for number, name in enumerate(names)}
        rows = np.array([place.get(name, n_known) for name in comparisons.names], dtype=np.int32)[rows]
    return np.minimum(rows, n_known)


def object_numbers(objects: Any, names: tuple[str, ...] | None, n_objects: int) -> np.ndarray:
    """Return the numbers of objects given by name or number."""
    wanted = np.asarray(objects)
    if wanted.dtype.kind in "US" and names is not None:
        place = {name: number for number, name in enumerate(names)}
        unknown = [str(name) for name in wanted.ravel() if str(name) not in place]
        if unknown:
            raise ValueError(f"the map has no object called {unknown[0]!r}")
        wanted = np.array([place[str(name)] for name in wanted.ravel()], dtype=np.intp)
    if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
        raise ValueError(f"objects must be a list of names or numbers of objects; got {objects!r}")
    if wanted.size and not (wanted.min() >= 0 and wanted.max() < n_objects):
        raise ValueError(f"objects are numbered 0 to {n_objects - 1}; got {wanted.min()} to {wanted.max()}")
    return wanted


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that an ``n_jobs`` asks for."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None, a positive number of threads or -1 for all cores; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def is_number(value: Any) -> bool:
    """Whether a parameter is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_count(value: Any) -> bool:
    """Whether a parameter is a positive whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) > 0


def check_parameters(model: Any, n_objects: int) -> None:
    """Raise a ValueError that names the first parameter that cannot be, what it may be, and what it is."""

    def check(name: str, good: bool, wanted: str) -> None:
        if not good:
            raise ValueError(f"{name} must be {wanted}; got {getattr(model, name)!r}")

    check("n_components", is_count(model.n_components), "a positive integer")
    if model.n_components >= n_objects:
        raise ValueError(
            f"n_components={model.n_components} dimensions are too many for {n_objects} objects: "
            f"at most {n_objects - 1} make sense"
        )
    ridge = model.regularization
    good = ridge == "auto" if isinstance(ridge, str) else is_number(ridge) and ridge >= 0
    check("regularization", good, "'auto' or a number >= 0")
    check("max_epochs", is_count(model.max_epochs), "a positive integer")
    check("tol", is_number(model.tol) and model.tol >= 0, "a number >= 0")
    fraction = model.validation_fraction
    check("validation_fraction", is_number(fraction) and 0 < fraction < 1, "a number between 0 and 1")
    check("n_init", is_count(model.n_init), "a positive integer")
    check("dtype", model.dtype in ("float32", "float64", np.float32, np.float64), "'float32' or 'float64'")
    check("callback", model.callback is None or callable(model.callback), "None or a function of a record")
    n_threads(model.n_jobs)
    if model.init is not None:
        start = np.asarray(model.init)
        if start.shape != (n_objects, model.n_components) or start.dtype.kind not in "fiu":
            raise ValueError(
                f"init must be numbers of shape ({n_objects}, {model.n_components}), a row for each object; "
                f"got shape {start.shape} of {start.dtype}"
            )
        if not np.isfinite(start).all():
            raise ValueError("init must be finite; it holds NaN or infinity")
