"""What the loaders of features with several labels per row return, and how their files hold it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearer.datasets.source import Arrays

__all__ = ["ARRAYS", "BY_HAND", "STAND_IN", "LabelSet", "label_set"]

ARRAYS = ("X_indices", "X_indptr", "X_shape", "Y_indices", "Y_indptr", "Y_shape", "labels", "features")
BY_HAND = (
    "its public copy is an R data file (additional-data/*.rda in the history of github.com/fcharte/mldr.datasets), "
    "which is not read here. The file has X and Y as CSR matrices of ones (X_indices, X_indptr, X_shape, "
    "Y_indices, …), labels and features."
)
STAND_IN = "stands in for the ImageNet 2010 features with 1,660 labels of the LORETA paper, which are not public"


class LabelSet(NamedTuple):
    """Rows of features with any number of labels each.

    Attributes
    ----------
    X : CSR array, shape (n, n_features)
        Ones where a row has the feature.
    Y : CSR array, shape (n, n_labels)
        Ones where a row has the label.
    labels : array of str
        What the columns of ``Y`` are called.
    features : array of str
        What the columns of ``X`` are called.
    """

    X: csr_array
    Y: csr_array
    labels: NDArray[np.str_]
    features: NDArray[np.str_]


def label_set(arrays: Arrays) -> LabelSet:
    """Return the arrays of a file as matrices with names."""
    return LabelSet(_ones(arrays, "X"), _ones(arrays, "Y"), arrays["labels"], arrays["features"])


def _ones(arrays: Arrays, name: str) -> Any:
    indices, indptr = (arrays[f"{name}_{part}"].astype(np.int32) for part in ("indices", "indptr"))
    return csr_array((np.ones(len(indices)), indices, indptr), shape=tuple(arrays[f"{name}_shape"]))
