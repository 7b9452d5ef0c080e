"""Pictures of 20 objects, each from 72 directions: 32 × 32 gray pixels (COIL-20)."""

from nearer.datasets.feature_set import FeatureSet, arrays_of_matlab, feature_set
from nearer.datasets.source import Original, Source

__all__ = ["SOURCE", "load_coil20"]


SOURCE = Source(
    name="coil20",
    kind="features",
    content="pictures of 20 objects from 72 directions, 32 × 32 gray pixels",
    size="1,440 rows, 1,024 features, 20 classes",
    license="GPL-2 (repository of the copy).",
    citation="Nene, Nayar and Murase, Columbia object image library (COIL-20), CUCS-005-96, 1996.",
    path="coil20_isolet/coil20.npz",
    arrays=("X", "y"),
    sha256="89d97ced057daf9c73ad34f9c924b3ece5a5d351d7121b6dbd511419c5f51472",
    originals=(
        Original(
            "https://raw.githubusercontent.com/jundongl/scikit-feature/48cffad4e88ff4b9d2f1c7baffb314d1b3303792/skfeature/data/COIL20.mat"
        ),
    ),
    make=arrays_of_matlab,
)


def load_coil20(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load pictures of 20 objects.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Gray values from 0 to 1, and the object.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["coil20"].size
    '1,440 rows, 1,024 features, 20 classes'
    """
    return feature_set(SOURCE.load(download, verbose), range(1, 21))
