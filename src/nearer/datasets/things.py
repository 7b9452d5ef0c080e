"""Which of three things is the odd one out: answers of 264 people about the 1,854 things of the THINGS project.

Three descriptions of the things come with them: SPoSE, learned from such answers, CLIP, from pictures, and word2vec,
from texts. They are outputs of models, not answers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "Things", "load_things"]

REPOSITORY = (
    "https://raw.githubusercontent.com/MirkoTh/semantic-representations-ID/"
    "84e6e82476763ab8c597709e32986c9a0c3a6c52/data/"
)


class Things(NamedTuple):
    """Answers about things, and three descriptions of the things.

    Attributes
    ----------
    answers : Comparisons
        127,304 answers over 1,854 things by name, two rows each; the subject is the person.
    clip : array of float, shape (1854, 512)
        Features of pictures, by CLIP (ViT-B/32).
    spose : array of float, shape (1854, 49)
        Dimensions that were learned from such answers.
    word2vec : array of float, shape (1854, 300)
        Features of the words.
    """

    answers: Comparisons
    clip: NDArray[np.float64]
    spose: NDArray[np.float64]
    word2vec: NDArray[np.float64]


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from the tables of answers and of names, and the three tables of features."""
    answers = np.loadtxt(paths[0], dtype=np.int64)
    names = paths[1].read_text(encoding="utf-8").split()
    spose, clip, word2vec = (np.load(path, allow_pickle=False) for path in paths[2:])
    return {
        "triplets": answers[:, :3].astype(np.int16),
        "participant": np.unique(answers[:, 3], return_inverse=True)[1].ravel().astype(np.int16),
        "concepts": np.array(names),
        "spose49": spose.astype(np.float32),
        "clip_vit_b32": clip.astype(np.float16),
        "word2vec300": word2vec.astype(np.float16),
    }


SOURCE = Source(
    name="things",
    kind="answers",
    content='answers to "which of these three things is the odd one out?"',
    size="127,304 answers of 264 people about 1,854 things",
    license="CC BY 4.0 (answers); GPL-3 (the repository of the copy).",
    citation="Hebart, Zheng, Pereira and Baker, Revealing the multidimensional mental representations of natural "
    "objects underlying human similarity judgements, Nature Human Behaviour 4, 2020; Hebart et al., THINGS-data, "
    "eLife 12, 2023.",
    path="things_odd_one_out/things_ooo.npz",
    arrays=("triplets", "participant", "concepts", "spose49", "clip_vit_b32", "word2vec300"),
    sha256="ca7108c4fc77d319cb6e1e5163bb8d15886284631d4e35bd651d068b4b0ad472",
    originals=tuple(
        Original(REPOSITORY + name)
        for name in (
            "test_10_ID.txt",
            "unique_id.txt",
            "spose49-embeddings.npy",
            "clip-vit-base-p32-embeddings.npy",
            "word2vec-embeddings.npy",
        )
    ),
    make=make,
    stand_in="127,304 of the 4.7 million answers of THINGS: the tenth of the answers of 264 people that the repository "
    "holds out",
)


def load_things(download: bool = False, verbose: bool = True) -> Things:
    """Load answers about things, of which the odd one was picked.

    Parameters
    ----------
    download : bool, default=False
        Whether the originals may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    Things
        Comparisons, and three tables of features.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["things"].size
    '127,304 answers of 264 people about 1,854 things'
    """
    arrays = SOURCE.load(download, verbose)
    answers = Comparisons.from_odd_one_out(
        arrays["triplets"], "last", names=arrays["concepts"].tolist(), subjects=arrays["participant"]
    )
    features = (arrays[name].astype(np.float64) for name in ("clip_vit_b32", "spose49", "word2vec300"))
    return Things(answers, *features)
