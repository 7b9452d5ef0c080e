"""Validation of features, dense or sparse, as a table of finite float64."""

import warnings
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

from nearer.formats import FeatureTable

SMALLEST = 1e-60  # a product of four such features does not underflow


def validate_table(model: Any, X: Any, *args: Any, reset: bool = True, **options: Any) -> Any:
    """Call scikit-learn's ``validate_data``; columns of a FeatureTable are feature names, as a DataFrame's are."""
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


def check_scale(table: Any) -> None:
    """Raise a ValueError if a product of four features overflows or underflows."""
    largest = max(float(table.max()), -float(table.min()))
    if largest > 0 and not SMALLEST < largest < 1 / SMALLEST:
        raise ValueError(
            f"the largest feature is {largest:.3g}: products of four features overflow or underflow. "
            "Rescale the features, for example to -1 to 1"
        )
