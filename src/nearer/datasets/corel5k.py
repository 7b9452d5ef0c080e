"""Pictures with keywords: Corel's 5,000, as words of image regions, with 374 labels."""

from nearer.datasets.label_set import ARRAYS, LICENSE, STAND_IN, LabelSet, label_set, make, original_of
from nearer.datasets.source import Source

__all__ = ["SOURCE", "load_corel5k"]

SOURCE = Source(
    name="corel5k",
    kind="labels",
    content="pictures as words of their regions, with keywords",
    size="5,000 rows, 499 features, 374 labels",
    license=LICENSE,
    citation="Duygulu, Barnard, de Freitas and Forsyth, Object recognition as machine translation, ECCV 2002; "
    "Tsoumakas et al., Mulan: a Java library for multi-label learning, JMLR 12, 2011.",
    path="multilabel/corel5k.npz",
    arrays=ARRAYS,
    sha256="b78c78a1ef9fc39a59584db3c97aa0cba9f9dd39c3632c6bb7996af76096d049",
    originals=(original_of("corel5k", "ac0446d060a30f00357c158c6847a533578bd3bb"),),
    make=make,
    stand_in=STAND_IN,
)


def load_corel5k(download: bool = False, verbose: bool = True) -> LabelSet:
    """Load pictures with keywords.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    LabelSet
        Two sparse matrices of ones, and the names of their columns.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["corel5k"].size
    '5,000 rows, 499 features, 374 labels'
    """
    return label_set(SOURCE.load(download, verbose))
