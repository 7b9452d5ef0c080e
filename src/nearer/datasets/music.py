"""Which of two artists is more like a third: answers of visitors of a web page (aset400, MusicSim).

The comparisons are those that come with van der Maaten and Weinberger's code of STE: 9,107 of them, about 400 of 412
artists. Experiments on "the music data" with other counts used other excerpts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "Music", "load_music"]


class Music(NamedTuple):
    """Comparisons of artists, and the artists' tags.

    Attributes
    ----------
    answers : Comparisons
        9,090 triplets over 412 artists, of which 400 occur; 17 rows that compare an artist with itself are left
        out.
    has_tag : array of bool, shape (412, 58), or None
        Which artist has which tag, if the file has tags; those of files made from the original have none. They are not
        part of the checksum.
    tags : array of str or None
        The tags.
    """

    answers: Comparisons
    has_tag: NDArray[np.bool_] | None
    tags: NDArray[np.str_] | None


def make(paths: Sequence[Path]) -> Arrays:
    """Make the triplets from the MATLAB file, which counts from 1."""
    from scipy.io import loadmat

    return {"triplets": loadmat(paths[0])["triplets"].astype(np.int16) - np.int16(1)}


SOURCE = Source(
    name="music",
    kind="answers",
    content='answers to "which artist is more like this one?" (aset400 of MusicSim)',
    size="9,107 comparisons of 412 artists",
    license="none stated.",
    citation="Ellis, Whitman, Berenzweig and Lawrence, The quest for ground truth in musical artist similarity, "
    "ISMIR 2002; van der Maaten and Weinberger, Stochastic triplet embedding, MLSP 2012.",
    path="music_aset400/aset400.npz",
    arrays=("triplets",),
    sha256="4ac66a01e797ad719c5fba59fdf9b53a6817699d41112adfe919a1b027a445ed",
    originals=(
        Original(
            "https://raw.githubusercontent.com/alphaprime/Stabilized_Stochastic_BB/"
            "ad67e56e2d47df5719cd30abc3181d0537a1f6a3/Data/Music/music_triplets.mat",
            "ce7b33bbb208ea9e441f2860d59574a98272a0d110fc1b4d9e96d4c88d59b313",
        ),
    ),
    make=make,
    stand_in="the ERKLE paper used 16,385 comparisons of 412 artists; these are the 9,107 with the code of STE",
)


def load_music(download: bool = False, verbose: bool = True) -> Music:
    """Load comparisons of musical artists.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    Music
        Comparisons, and tags of the artists.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["music"].size
    '9,107 comparisons of 412 artists'
    """
    arrays = SOURCE.load(download, verbose)
    answers = Comparisons(arrays["triplets"], n_objects=412, bad_rows="drop")
    tags = arrays.get("tags")
    return Music(answers, None if tags is None else arrays["label_matrix"].astype(bool), tags)
