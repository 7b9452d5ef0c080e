"""Pictures of ten kinds of objects from four places, as counts of 800 SURF words (Office-Caltech-10)."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "OfficeCaltech", "load_office_caltech"]

DOMAINS = ("Caltech10", "amazon", "webcam", "dslr")


class OfficeCaltech(NamedTuple):
    """Counts of visual words, with classes and domains.

    Attributes
    ----------
    X : array of float, shape (2533, 800)
        How often a picture has each word.
    y : array of int
        The number of the class, from 0.
    domain : array of int
        The number of the place that the picture is from.
    domains : array of str
        The places: Caltech-256, a shop, a webcam and a camera.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    domain: NDArray[np.int64]
    domains: NDArray[np.str_]


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from one MATLAB file per domain, which count classes from 1."""
    from scipy.io import loadmat

    arrays = {}
    for domain, path in zip(DOMAINS, paths, strict=True):
        file = loadmat(path)
        arrays[f"{domain}_X"] = file["fts"].astype(np.uint8)
        arrays[f"{domain}_y"] = (file["labels"].ravel() - 1).astype(np.int8)
    return arrays


SOURCE = Source(
    name="office-caltech",
    kind="features",
    content="SURF bag of words of pictures of ten kinds of objects from four places",
    size="2,533 rows, 800 features, 10 classes, 4 domains",
    license="MIT (repository).",
    citation="Gong, Shi, Sha and Grauman, Geodesic flow kernel for unsupervised domain adaptation, CVPR 2012.",
    path="office_caltech10_surf/office_caltech10_surf800.npz",
    arrays=tuple(f"{domain}_{part}" for domain in DOMAINS for part in "Xy"),
    sha256="db0350fccb5d5dc551e4119ef3c131b4366529226b6209ece583d5dc00e76828",
    originals=tuple(
        Original(
            "https://raw.githubusercontent.com/jindongwang/transferlearning/"
            f"73cb050b7e8b969b9d0ebb04a9377aa033043eb2/code/BDA/data/{domain}_SURF_L10.mat"
        )
        for domain in DOMAINS
    ),
    make=make,
    stand_in="stands in for Caltech-256 of the SDCA paper, of which it has ten classes",
)


def load_office_caltech(download: bool = False, verbose: bool = True) -> OfficeCaltech:
    """Load counts of visual words of pictures of objects.

    Parameters
    ----------
    download : bool, default=False
        Whether the originals may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    OfficeCaltech
        Counts, classes and domains.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["office-caltech"].size
    '2,533 rows, 800 features, 10 classes, 4 domains'
    """
    arrays = SOURCE.load(download, verbose)
    classes = [arrays[f"{domain}_y"] for domain in DOMAINS]
    return OfficeCaltech(
        np.vstack([arrays[f"{domain}_X"] for domain in DOMAINS]).astype(np.float64),
        np.concatenate(classes).astype(np.int64),
        np.repeat(np.arange(len(DOMAINS)), [len(y) for y in classes]),
        np.array(DOMAINS),
    )
