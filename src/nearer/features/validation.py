"""Validation of features, dense or sparse, as a table of finite float64."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

from nearer.cluster import is_dask_collection
from nearer.formats import FeatureTable

SMALLEST = 1e-60  # a product of four such features does not underflow
OUTLIER = 1e4  # times the median length of rows


def validate_table(model: Any, X: Any, *args: Any, reset: bool = True, **options: Any) -> Any:
    """Call scikit-learn's ``validate_data``; columns of a FeatureTable are feature names, as a DataFrame's are."""
    if is_dask_collection(X):
        blocks = ", or call partial_fit with one block after another" if hasattr(model, "partial_fit") else ""
        advice = (
            f"pass X.compute() if that fits{blocks}. BilinearSimilarity(solver='sdca') and LowRankSimilarity learn from "
            "Dask collections where they are, by fit"
        )
        raise ValueError(
            f"{type(model).__name__} takes features in memory, and X is a Dask {type(X).__name__}: "
            f"{getattr(model, '_dask_advice', advice)}"
        )
    if not isinstance(X, FeatureTable):
        return validate_data(model, X, *args, reset=reset, **options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # they are compared below
        checked = validate_data(model, X.X, *args, reset=reset, **options)
    if X.columns is not None and reset:
        model.feature_names_in_ = np.array(X.columns, dtype=object)
    elif X.columns is not None and list(getattr(model, "feature_names_in_", X.columns)) != list(X.columns):
        raise ValueError(
            f"the columns of {X.path} are not those that the model was fitted with, or not in their order: "
            "read them with read_features(path, columns=model.feature_names_in_)"
        )
    return checked


def validate_features(
    model: Any, X: Any, *, sparse: bool = False, reset: bool = False, min_samples: int = 2
) -> Any:
    """Return a table of finite float64, an array or with `sparse` a csr_array with sorted indices; X is not changed.

    With `reset` the model learns its features, from `min_samples` rows or more; otherwise X must have these.
    """
    if reset:
        vars(model).pop("threshold_", None)  # of the distances that were learned before
    checked = validate_table(
        model,
        X,
        accept_sparse="csr" if sparse else False,
        dtype=np.float64,
        order="C",
        reset=reset,
        ensure_min_samples=min_samples if reset else 1,
    )
    if not issparse(checked):
        return checked
    table = csr_array(checked)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def check_scale(table: Any, factors: str = "four") -> None:
    """Raise a ValueError as :func:`check_range` does, and warn of rows that exceed all others."""
    if check_range(table, factors) > 0:
        _warn_of_outliers(table)


def check_range(table: Any, factors: str = "four") -> float:
    """Return the largest feature; raise a ValueError if a product of four of its size overflows or underflows.

    With ``factors="two"`` only products of two features matter.
    """
    largest = max(float(table.max()), -float(table.min()))
    smallest = SMALLEST if factors == "four" else SMALLEST**2
    if largest > 0 and not smallest < largest < 1 / smallest:
        raise ValueError(
            f"the largest feature is {largest:.3g}: products of {factors} features overflow or underflow. "
            "Rescale the features, for example to -1 to 1"
        )
    return largest


def _warn_of_outliers(table: Any) -> None:
    """Warn if the longest row is many times as long as most."""
    squares = table.multiply(table).sum(axis=1) if issparse(table) else np.einsum("ij,ij->i", table, table)
    lengths = np.sqrt(np.asarray(squares).ravel())
    typical = float(np.median(lengths[lengths > 0]))
    if lengths.max() > OUTLIER * typical:
        row = int(lengths.argmax())
        warnings.warn(
            f"row {row} of X is {lengths[row] / typical:.2g} times as long as most rows: steps are as short as it "
            "requires, and little is learned from the others. Remove it, or scale rows to one length "
            "(sklearn.preprocessing.normalize)",
            UserWarning,
            stacklevel=4,
        )


def check_rows_differ(table: Any) -> None:
    """Raise a ValueError if all rows are the same; rows of zeros alone may be the beginning of a stream."""
    if issparse(table):
        constant = table.nnz > 0 and (table.max(axis=0) != table.min(axis=0)).nnz == 0
    else:
        constant = bool(table[0].any() and (table == table[0]).all())
    if constant:
        raise ValueError("all rows of X are the same: there is nothing to learn")


def check_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return one weight per row; ValueError otherwise."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one weight per row: X has {n_rows} rows, and it has shape {weights.shape}"
        )
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        raise ValueError(
            f"sample_weight must be numbers that are not negative; row {wrong[0]} has {weights[wrong[0]]:g}"
        )
    return weights


def positive_weights(sample_weight: Any, n_rows: int) -> tuple[Any, np.ndarray | None]:
    """Return the rows of positive weight, as an index, and their weights, the largest 1; all rows and None without."""
    if sample_weight is None:
        return slice(None), None
    weights = check_weights(sample_weight, n_rows)
    rows = np.flatnonzero(weights > 0.0)
    if len(rows) == 0:
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    return rows, weights[rows] / weights.max()
