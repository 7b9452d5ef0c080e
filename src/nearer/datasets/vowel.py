"""Eleven English vowels of 15 speakers, as ten log area ratios of the vocal tract."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nearer.datasets.feature_set import FeatureSet, feature_set
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "load_vowel"]

CLASSES = ("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed")


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from lines of the part (0: to learn from), the speaker, the sex, ten features and the vowel."""
    text = paths[0].read_text(encoding="ascii").replace(",", " ")
    cells = np.array([line.split() for line in text.splitlines() if line.strip()])
    return {
        "X": cells[:, 3:13].astype(np.float32),
        "y": cells[:, 13].astype(np.int16),
        "is_uci_test": cells[:, 0].astype(np.int8),
    }


SOURCE = Source(
    name="vowel",
    kind="features",
    content="vowels of 15 speakers",
    size="990 rows, 10 features, 11 classes",
    license="public (UCI); none stated with the copy.",
    citation="Deterding, Speaker normalisation for automatic speech recognition, PhD thesis, "
    "University of Cambridge, 1989.",
    path="libsvm_table1/vowel.npz",
    arrays=("X", "y", "is_uci_test"),
    sha256="6b8f6c3d9a4e0896470c61a74d95d5a7c13f346e34451ed29ce39513e8f0a551",
    originals=(
        Original(
            "https://raw.githubusercontent.com/Xammed/ECOC-Correlation-Testing/"
            "c7993bcc43991e717f733bebc73bcdb83df5b021/vowel-context.data"
        ),
    ),
    make=make,
)


def load_vowel(download: bool = False, verbose: bool = True) -> FeatureSet:
    """Load vowels of 15 speakers.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    FeatureSet
        Features, the vowel, and the test rows: those of the last seven speakers.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["vowel"].size
    '990 rows, 10 features, 11 classes'
    """
    arrays = SOURCE.load(download, verbose)
    return feature_set(arrays, CLASSES, arrays["is_uci_test"].astype(bool))
