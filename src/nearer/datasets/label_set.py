"""What the loaders of features with several labels per row return, and how their files hold it.

The originals are tables of the R package mldr.datasets, which converted those of Mulan. They are no longer in its newest
version, so that their addresses are those of earlier ones.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearer.datasets.r_data import RVector, read_rda
from nearer.datasets.source import Arrays, Original

__all__ = ["ARRAYS", "LICENSE", "STAND_IN", "LabelSet", "is_one", "label_set", "make", "original_of"]

ARRAYS = ("X_indices", "X_indptr", "X_shape", "Y_indices", "Y_indptr", "Y_shape", "labels", "features")
LICENSE = "LGPL-3 or later (package mldr.datasets)."
ADDRESS = "https://raw.githubusercontent.com/fcharte/mldr.datasets/{commit}/additional-data/{name}.rda"
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


def original_of(name: str, commit: str) -> Original:
    """Return where the table of a data set is, at a commit that has it."""
    return Original(ADDRESS.format(commit=commit, name=name))


def make(paths: Sequence[Path]) -> Arrays:
    """Make the places of the ones from a table of R: of its columns, some are features and some are labels."""
    (data,) = read_rda(paths[0]).values()
    table, places = data["dataset"], {"X": data["attributesIndexes"].values, "Y": data["labels"]["index"].values}
    names = np.array(table.attributes["names"].values)
    arrays: Arrays = {"features": names[places["X"] - 1], "labels": names[places["Y"] - 1]}
    for part, columns in places.items():
        matrix = csr_array(np.column_stack([is_one(table.values[column - 1]) for column in columns]))
        arrays[f"{part}_indices"] = matrix.indices.astype(np.uint16)
        arrays[f"{part}_indptr"] = matrix.indptr.astype(np.int32)
        arrays[f"{part}_shape"] = np.array(matrix.shape, dtype=np.int64)
    return arrays


def is_one(column: RVector) -> NDArray[np.bool_]:
    """Return where a column of zeros and ones is one; it may be of numbers, of texts or of levels."""
    values = np.asarray(column.values)
    if "levels" in column.attributes:
        values = np.array(column.attributes["levels"].values)[values - 1]
    is_one = values.astype(np.float64) == 1.0
    if np.any(values[~is_one].astype(np.float64) != 0.0):
        raise ValueError("a column has other values than 0 and 1")
    return is_one


def label_set(arrays: Arrays) -> LabelSet:
    """Return the arrays of a file as matrices with names."""
    return LabelSet(_ones(arrays, "X"), _ones(arrays, "Y"), arrays["labels"], arrays["features"])


def _ones(arrays: Arrays, name: str) -> Any:
    indices, indptr = (arrays[f"{name}_{part}"].astype(np.int32) for part in ("indices", "indptr"))
    return csr_array((np.ones(len(indices)), indices, indptr), shape=tuple(arrays[f"{name}_shape"]))
