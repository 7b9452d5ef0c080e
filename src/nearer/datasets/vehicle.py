"""Silhouettes of four kinds of vehicles, by 18 measures of their shape (Statlog)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nearer.datasets.feature_set import FeatureSet, feature_set
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "load_vehicle"]

CLASSES = ("bus", "opel", "saab", "van")
FEATURES = (
    "Comp",
    "Circ",
    "D.Circ",
    "Rad.Ra",
    "Pr.Axis.Ra",
    "Max.L.Ra",
    "Scat.Ra",
    "Elong",
    "Pr.Axis.Rect",
    "Max.L.Rect",
    "Sc.Var.Maxis",
    "Sc.Var.maxis",
    "Ra.Gyr",
    "Skew.Maxis",
    "Skew.maxis",
    "Kurt.maxis",
    "Kurt.Maxis",
    "Holl.Ra",
)


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from the nine parts, whose lines are 18 numbers and a class."""
    cells = [
        line.split() for path in paths for line in path.read_text(encoding="ascii").splitlines() if line.strip()
    ]
    return {
        "X": np.array([row[:-1] for row in cells], dtype=np.float32),
        "y": np.array([CLASSES.index(row[-1]) for row in cells], dtype=np.int16),
        "classes": np.array(CLASSES),
        "features": np.array(FEATURES),
    }


SOURCE = Source(
    name="vehicle",
    kind="features",
    content="shapes of silhouettes of vehicles",
    size="846 rows, 18 features, 4 classes",
    license="public (Statlog, Turing Institute); none stated with the copy.",
    citation="Siebert, Vehicle recognition using rule based methods, Turing Institute, 1987.",
    path="libsvm_table1/vehicle.npz",
    arrays=("X", "y", "classes", "features"),
    sha256="08d24754a6272ddf98a590225bc9d910025a816fc95740c4dad5ad9777e3024b",
    originals=tuple(
        Original(
            "https://raw.githubusercontent.com/YichenZhuDuke/"
            "Classification-Tree-with-Surface-to-Volume-ratio-Regularization/412e58ea8b60e4958d4854430218d0d86bbce785/"
            f"xa{part}.dat"
        )
        for part in "abcdefghi"
    ),
    make=make,
)


def load_vehicle(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load shapes of silhouettes of vehicles.

    Parameters
    ----------
    download : bool, default=False
        Whether the originals may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Measures of shapes, not scaled, and the kind of vehicle.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["vehicle"].size
    '846 rows, 18 features, 4 classes'
    """
    return feature_set(SOURCE.load(download, verbose))
