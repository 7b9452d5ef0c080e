"""What the loaders of features with class labels return."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.datasets.source import Arrays

__all__ = ["FeatureSet", "arrays_of_matlab"]


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
        Which rows are to be predicted from the others, if the publication says so.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    classes: NDArray[np.generic]
    features: NDArray[np.str_] | None = None
    is_test: NDArray[np.bool_] | None = None


def arrays_of_matlab(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from a MATLAB file with X and Y, which counts classes from 1."""
    from scipy.io import loadmat

    file = loadmat(paths[0])
    return {"X": file["X"].astype(np.float32), "y": (file["Y"].ravel() - 1).astype(np.int8)}
