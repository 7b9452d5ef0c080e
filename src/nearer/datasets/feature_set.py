"""What the loaders of features with class labels return."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.datasets.source import Arrays

__all__ = ["FeatureSet", "arrays_of_matlab", "feature_set"]


class FeatureSet(NamedTuple):
    """Rows of features with their classes.

    Attributes
    ----------
    X : array of float, shape (n, n_features)
        The features, as they are published: not scaled.
    y : array of int, shape (n,)
        The number of each row's class, from 0.
    classes : array
        What the classes are called.
    features : array of str or None
        What the columns are called, if they have names.
    is_test : array of bool or None
        Which rows form the published test set, if there is one.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    classes: NDArray[np.generic]
    features: NDArray[np.str_] | None = None
    is_test: NDArray[np.bool_] | None = None


def feature_set(
    arrays: Arrays, classes: Sequence[Any] | None = None, is_test: NDArray[np.bool_] | None = None
) -> FeatureSet:
    """Return the arrays of a file as features and classes; what classes are called may be given."""
    X, y = arrays["X"].astype(np.float64), arrays["y"].astype(np.int64)
    named = arrays["classes"] if classes is None else np.array(list(classes))
    return FeatureSet(X, y, named, arrays.get("features"), is_test)


def arrays_of_matlab(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from a MATLAB file with X and Y, which counts classes from 1."""
    from scipy.io import loadmat

    file = loadmat(paths[0])
    return {"X": file["X"].astype(np.float32), "y": (file["Y"].ravel() - 1).astype(np.int8)}
