"""Validation of features, dense or sparse, as a table of finite float64."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

SMALLEST = 1e-60  # a product of four such features does not underflow


def validate_features(
    model: Any, X: Any, *, sparse: bool = False, reset: bool = False, min_samples: int = 2
) -> Any:
    """Return a table of finite float64: an array, or with `sparse` a csr_array with sorted indices; X is not
    changed.

    With `reset` the model learns its features, from `min_samples` rows or more; otherwise X must have the features
    that it has learned.
    """
    checked = validate_data(
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
