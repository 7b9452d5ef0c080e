"""Printed capital letters of 20 fonts, by 16 measures of their shape."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nearer.datasets.feature_set import FeatureSet, feature_set
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "load_letter"]

FEATURES = (
    "x.box",
    "y.box",
    "width",
    "high",
    "onpix",
    "x.bar",
    "y.bar",
    "x2bar",
    "y2bar",
    "xybar",
    "x2ybr",
    "xy2br",
    "x.ege",
    "xegvy",
    "y.ege",
    "yegvx",
)


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from lines of the letter and 16 numbers."""
    cells = [line.split(",") for line in paths[0].read_text(encoding="ascii").splitlines() if line.strip()]
    return {
        "X": np.array([row[1:] for row in cells], dtype=np.uint8),
        "y": np.array([ord(row[0]) - ord("A") for row in cells], dtype=np.int16),
        "classes": np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
        "features": np.array(FEATURES),
    }


SOURCE = Source(
    name="letter",
    kind="features",
    content="shapes of printed letters",
    size="20,000 rows, 16 features, 26 classes",
    license="CC BY 4.0 (UCI).",
    citation="Frey and Slate, Letter recognition using Holland-style adaptive classifiers, Machine Learning 6, 1991.",
    path="libsvm_table1/letter.npz",
    arrays=("X", "y", "classes", "features"),
    sha256="06427123d075c5224f50be23c69bd22ccdca5984c981dc6ea60825ae0159d35e",
    originals=(
        Original(
            "https://archive.ics.uci.edu/ml/machine-learning-databases/letter-recognition/letter-recognition.data"
        ),
    ),
    make=make,
)


def load_letter(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load shapes of printed letters.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Measures from 0 to 15, and the letter.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["letter"].size
    '20,000 rows, 16 features, 26 classes'
    """
    return feature_set(SOURCE.load(download, verbose))
