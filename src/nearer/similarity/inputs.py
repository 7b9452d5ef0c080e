"""Check the input of a learner of features: a table, and class labels or comparisons of its rows."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import assert_all_finite, column_or_1d

from nearer.comparisons import Comparisons
from nearer.comparisons.coerce import drop_zero_weights
from nearer.comparisons.objects import numbers_of_names
from nearer.features.validation import check_rows_differ, validate_features

LARGEST_WEIGHT = 1e100
MIN_TRIPLETS, MAX_TRIPLETS, TRIPLETS_PER_OBJECT = 10_000, 200_000, 20


def validate_labelled(model: Any, X: Any, y: Any, *, sparse: bool = False, reset: bool = True) -> tuple[Any, Any]:
    """Return the table and one label per row, without rows whose label is unknown."""
    needs_labels(model, y)
    table = validate_features(model, X, sparse=sparse, reset=reset)
    labels, known = validate_labels(y, table.shape[0], stacklevel=3)
    return (table, labels) if known.all() else (table[known], labels[known])


def validate_labels(y: Any, n_rows: int, stacklevel: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return one label per row, and which of these are known; warn if some are not."""
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    kinds = sorted({type(label).__name__ for label in labels.tolist()}) if labels.dtype == object else []
    if len(kinds) > 1 or "NoneType" in kinds:
        raise ValueError(f"y must be labels of one kind, such as words or numbers; got {' and '.join(kinds)}")
    if len(labels) != n_rows:
        raise ValueError(f"y must have one label per row; X has {n_rows} rows and y {len(labels)} labels")
    known = has_label(labels)
    if not known.all():
        warnings.warn(
            f"{int((~known).sum())} rows have a negative label and are left out as unlabeled, as in scikit-learn's "
            "semi-supervised learners. If it stands for a class, number the classes from 0",
            stacklevel=stacklevel,
        )
    return labels, known


def has_label(labels: np.ndarray) -> np.ndarray:
    """Return which rows have a label: negative integers stand for none, beside two classes of other ones.

    The labels -1 and 1 are two classes.
    """
    known = np.ones(len(labels), dtype=bool)
    if labels.dtype.kind == "i" and len(np.unique(labels[labels >= 0])) > 1:
        known = labels >= 0
    return known


def weights_of_labelled(sample_weight: Any, y: Any) -> Any:
    """Return the weights of the rows that have a label, which are those that `validate_labelled` returns."""
    if sample_weight is None:
        return None
    known, weights = has_label(np.asarray(y).ravel()), np.asarray(sample_weight)
    return sample_weight if weights.shape != known.shape else weights[known]


def needs_labels(model: Any, y: Any, **other: Any) -> bool:
    """Whether a model learns from labels y: not if there is another input; a pipeline passes y to all its steps."""
    if any(value is not None for value in other.values()):
        return False
    if y is None:
        what = " or ".join(["labels y", *other])
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None: pass {what}")
    return True


def validate_input(
    model: Any,
    X: Any,
    y: Any,
    comparisons: Any,
    *,
    sparse: bool = False,
    reset: bool = True,
    quadruplets: bool = False,
) -> tuple[Any, Any, Comparisons | None]:
    """Return the table, and labels or, where there are comparisons, these; None for the other.

    Comparisons are triplets, with `quadruplets` of either kind.
    """
    if needs_labels(model, y, comparisons=comparisons):
        table, labels = validate_labelled(model, X, y, sparse=sparse, reset=reset)
        triplets = None
    else:
        table, labels = validate_features(model, X, sparse=sparse, reset=reset), None
        triplets = validate_triplets(X, comparisons, quadruplets)
    if reset:
        check_rows_differ(table)
    return table, labels, triplets


def check_n_components(model: Any, table: Any) -> None:
    """Raise a ValueError where a projection is to have more components than the table has columns."""
    d = table.shape[1]
    if model.n_components is not None and model.n_components > d:
        raise ValueError(f"n_components must be at most {d}, the columns of X; got {model.n_components!r}")


def match_comparisons(X: Any, comparisons: Any) -> Comparisons:
    """Return comparisons of rows of X by row number; names are matched with the index of a DataFrame.

    Without an index, names that are numbers, as of a file that does not mention every row, are row numbers.
    """
    triplets = Comparisons.of(comparisons)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    names, index = triplets.names, getattr(X, "index", None) if hasattr(X, "iloc") else None
    index = None if index is None else list(index)
    numbers = None if names is None else numbers_of_names(names)
    if numbers is not None and index is not None and all(isinstance(label, int | np.integer) for label in index):
        index = [str(label) for label in index]
    if names is not None and index is not None and all(isinstance(name, str) for name in index):
        place = {name: number for number, name in enumerate(index)}
        if len(place) < len(index):
            twice = next(name for number, name in enumerate(index) if place[name] != number)
            raise ValueError(f"the index of X has {twice!r} more than once: names of rows must be unique")
        unknown = [names[number] for number in np.unique(triplets.rows) if names[number] not in place]
        if unknown:
            raise ValueError(f"comparisons are about {unknown[0]!r}, which is not in the index of X")
        places = np.array([place.get(name, -1) for name in names], dtype=np.int32)
        rows = places[triplets.rows]
        triplets = Comparisons(rows, n_objects=n, weights=triplets.weights, answers=triplets.answers)
    elif numbers is not None and index is None:
        by_number = numbers[triplets.rows]
        triplets = Comparisons(by_number, weights=triplets.weights, answers=triplets.answers)
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


def validate_triplets(X: Any, comparisons: Any, quadruplets: bool = False) -> Comparisons:
    """Return the triplets of positive weight, or quadruplets where they will do; ValueError where there are none."""
    triplets = drop_zero_weights(match_comparisons(X, comparisons))
    if triplets.shape[1] != 3 and not quadruplets:
        raise ValueError(
            "this learner takes triplets (a, b, c); these are quadruplets, from which BilinearSimilarity() with its "
            "default solver, LEGO and ITML learn"
        )
    if len(triplets) == 0:
        raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
    largest = 1.0 if triplets.weights is None else float(triplets.weights.max())
    if not 1.0 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        raise ValueError(
            f"the largest weight is {largest:.3g}: products with it overflow or underflow. As only their ratios "
            "matter, divide the weights by the largest"
        )
    return triplets


def default_n_triplets(n_objects: int, at_least: int) -> int:
    """Return how many triplets to draw by default: twenty per object, within bounds."""
    return int(np.clip(TRIPLETS_PER_OBJECT * n_objects, at_least, MAX_TRIPLETS))
