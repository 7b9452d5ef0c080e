"""Regions of 3 × 3 pixels of seven outdoor scenes, by 19 measures (Statlog's image segmentation)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nearer.datasets.feature_set import FeatureSet, feature_set
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "load_segment"]

CLASSES = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from lines of 19 numbers and the class, which is counted from 1."""
    cells = [line.split() for line in paths[0].read_text(encoding="ascii").splitlines() if line.strip()]
    return {
        "X": np.array([row[:-1] for row in cells], dtype=np.float32),
        "y": np.array([int(row[-1]) - 1 for row in cells], dtype=np.int16),
    }


SOURCE = Source(
    name="segment",
    kind="features",
    content="small regions of pictures of outdoor scenes",
    size="2,310 rows, 19 features, 7 classes",
    license="public (Statlog, UCI); none stated with the copy.",
    citation="Michie, Spiegelhalter and Taylor, Machine learning, neural and statistical classification, 1994.",
    path="libsvm_table1/segment.npz",
    arrays=("X", "y"),
    sha256="33ea825535edd2632a3487e230d5f8e5a40db102f10609d44adaed7f7b82a140",
    originals=(
        Original(
            "https://raw.githubusercontent.com/loremo/AdaBoost/"
            "c2fd670dcd134aa3da3e2dba0d991d0b30c87ef2/data/segment.dat"
        ),
    ),
    make=make,
    stand_in="2,310 rows; the SDCA paper has 1,937",
)


def load_segment(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load small regions of pictures of outdoor scenes.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Measures, not scaled, and what the region shows. The third feature is constant.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["segment"].size
    '2,310 rows, 19 features, 7 classes'
    """
    return feature_set(SOURCE.load(download, verbose), CLASSES)
