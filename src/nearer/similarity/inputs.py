"""Check the input of a learner of features: a table, and class labels or comparisons of its rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, column_or_1d

from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import drop_zero_weights
from nearer.features.validation import validate_features

MIN_TRIPLETS, MAX_TRIPLETS, TRIPLETS_PER_OBJECT = 10_000, 200_000, 20


def validate_labelled(model: Any, X: Any, y: Any, *, sparse: bool = False, reset: bool = True) -> tuple[Any, Any]:
    """Return the table and one label per row."""
    needs_labels(model, y)
    table = validate_features(model, X, sparse=sparse, reset=reset)
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    kinds = sorted({type(label).__name__ for label in labels.tolist()}) if labels.dtype == object else []
    if len(kinds) > 1 or "NoneType" in kinds:
        raise ValueError(f"y must be labels of one kind, such as words or numbers; got {' and '.join(kinds)}")
    if len(labels) != table.shape[0]:
        raise ValueError(f"y must have one label per row; X has {table.shape[0]} rows and y {len(labels)} labels")
    return table, labels


def needs_labels(model: Any, y: Any, **other: Any) -> bool:
    """Whether a model learns from labels y: not if there is another input; a pipeline passes y to all its steps."""
    if any(value is not None for value in other.values()):
        return False
    if y is None:
        what = " or ".join(["labels y", *other])
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None: pass {what}")
    return True


def validate_input(
    model: Any, X: Any, y: Any, comparisons: Any, *, sparse: bool = False, reset: bool = True
) -> tuple[Any, Any, Comparisons | None]:
    """Return the table, and labels or, where there are comparisons, triplets of its rows; None for the other."""
    if needs_labels(model, y, comparisons=comparisons):
        return *validate_labelled(model, X, y, sparse=sparse, reset=reset), None
    table = validate_features(model, X, sparse=sparse, reset=reset)
    return table, None, validate_triplets(X, comparisons)


def check_n_components(model: Any, table: Any) -> None:
    """Raise a ValueError where a projection is to have more components than the table has columns."""
    d = table.shape[1]
    if model.n_components is not None and model.n_components > d:
        raise ValueError(f"n_components must be at most {d}, the columns of X; got {model.n_components!r}")


def match_triplets(X: Any, comparisons: Any) -> Comparisons:
    """Return comparisons of rows of X as triplets of row numbers; names are matched with the index of a DataFrame."""
    triplets = Comparisons.of(comparisons)
    if triplets.shape[1] != 3:
        raise ValueError("a similarity of features learns from triplets (a, b, c); these are quadruplets")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    index, names = getattr(X, "index", None), triplets.names
    if names is not None and index is not None and all(isinstance(name, str) for name in index):
        place = {name: number for number, name in enumerate(index)}
        if len(place) < len(index):
            twice = next(name for number, name in enumerate(index) if place[name] != number)
            raise ValueError(f"the index of X has {twice!r} more than once: names of rows must be unique")
        unknown = [names[number] for number in np.unique(triplets.rows) if names[number] not in place]
        if unknown:
            raise ValueError(f"comparisons are about {unknown[0]!r}, which is not in the index of X")
        numbers = np.array([place.get(name, -1) for name in names], dtype=np.int32)
        rows = numbers[triplets.rows]
        triplets = Comparisons(rows, n_objects=n, weights=triplets.weights, answers=triplets.answers)
    elif names is not None:
        raise ValueError(
            f"the comparisons name their objects and the {n} rows of X have no names. Pass X as a DataFrame whose "
            "index holds the names, or comparisons by row number"
        )
    if triplets.rows.max(initial=-1) >= n:
        row = int(np.flatnonzero((triplets.rows >= n).any(axis=1))[0])
        worst = triplets.rows[row].max()
        raise ValueError(f"comparison {row} is about object {worst}, but X has only {n} rows, numbered from 0")
    return triplets


def validate_triplets(X: Any, comparisons: Any) -> Comparisons:
    """Return the triplets of positive weight; ValueError where there are none."""
    triplets = drop_zero_weights(match_triplets(X, comparisons))
    if len(triplets) == 0:
        raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
    return triplets


def default_n_triplets(n_objects: int, at_least: int) -> int:
    """Return how many triplets to draw by default: twenty per object, within bounds."""
    return int(np.clip(TRIPLETS_PER_OBJECT * n_objects, at_least, MAX_TRIPLETS))
