"""Spoken letters: 617 features of each of 60 utterances of the 26 letters (a part of ISOLET)."""

from nearer.datasets.feature_set import FeatureSet, arrays_of_matlab, feature_set
from nearer.datasets.source import Original, Source

__all__ = ["SOURCE", "load_isolet"]


SOURCE = Source(
    name="isolet",
    kind="features",
    content="sounds of spoken letters",
    size="1,560 rows, 617 features, 26 classes",
    license="GPL-2 (repository of the copy).",
    citation="Fanty and Cole, Spoken letter recognition, NIPS 3, 1990.",
    path="coil20_isolet/isolet1560.npz",
    arrays=("X", "y"),
    sha256="534b565e053f6425a390cad3c03a340cdf9654c357bc1b3c545ddea3c5677584",
    originals=(
        Original(
            "https://raw.githubusercontent.com/jundongl/scikit-feature/48cffad4e88ff4b9d2f1c7baffb314d1b3303792/skfeature/data/Isolet.mat"
        ),
    ),
    make=arrays_of_matlab,
    stand_in="1,560 of the 7,797 rows of ISOLET, as in the collection of the copy",
)


def load_isolet(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load sounds of spoken letters.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Features from −1 to 1, and the letter.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["isolet"].size
    '1,560 rows, 617 features, 26 classes'
    """
    return feature_set(SOURCE.load(download, verbose), "abcdefghijklmnopqrstuvwxyz")
