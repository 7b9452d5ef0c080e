"""Data about traffic lights from the guide to LIBSVM: the 300 training rows, in six classes."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nearer.datasets.feature_set import FeatureSet, feature_set
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "load_svmguide4"]


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from LIBSVM's text: a class, and pairs of a feature's number from 1 and its value."""
    lines = [line.split() for line in paths[0].read_text(encoding="ascii").splitlines() if line.strip()]
    X = np.zeros((len(lines), 10))
    for row, cells in zip(X, lines, strict=True):
        for cell in cells[1:]:
            feature, value = cell.split(":")
            row[int(feature) - 1] = float(value)
    classes, y = np.unique([int(cells[0]) for cells in lines], return_inverse=True)
    return {"X": X, "y": y.astype(np.int16), "classes": classes.astype(np.int64)}


SOURCE = Source(
    name="svmguide4",
    kind="features",
    content="traffic lights, from the guide to LIBSVM: the part to learn from",
    size="300 rows, 10 features, 6 classes",
    license="none stated.",
    citation="Hsu, Chang and Lin, A practical guide to support vector classification, 2003.",
    path="libsvm_table1/svmguide4_train300.npz",
    arrays=("X", "y", "classes"),
    sha256="fac2a2205dbcadcde6b3ab19c6797a565c03a49d39b30d1b2acf4d27b1dfa7b2",
    originals=(
        Original(
            "https://raw.githubusercontent.com/yidai1996/MLReconfiguration/"
            "b1fe820c2c24243ae154f61b074549d16f7312c2/svmguide4.txt"
        ),
    ),
    make=make,
    stand_in="the 300 training rows of 612; the SDCA paper says 6 features, LIBSVM's data have 10",
)


def load_svmguide4(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load data about traffic lights.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Features and classes.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["svmguide4"].size
    '300 rows, 10 features, 6 classes'
    """
    return feature_set(SOURCE.load(download, verbose))
