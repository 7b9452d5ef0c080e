"""Pictures with keywords: the first sample of Corel's 16,000, as words of image regions, with 153 labels."""

from nearer.datasets.label_set import ARRAYS, LICENSE, STAND_IN, LabelSet, label_set, make, original_of
from nearer.datasets.source import Source

__all__ = ["SOURCE", "load_corel16k001"]

SOURCE = Source(
    name="corel16k001",
    kind="labels",
    content="pictures as words of their regions, with keywords",
    size="13,766 rows, 500 features, 153 labels",
    license=LICENSE,
    citation="Barnard et al., Matching words and pictures, JMLR 3, 2003; "
    "Tsoumakas et al., Mulan: a Java library for multi-label learning, JMLR 12, 2011.",
    path="multilabel/corel16k001.npz",
    arrays=ARRAYS,
    sha256="003de15fbada6b115f10bce78f23c51d687b20eb03d306b3f6e03943764c11c5",
    originals=(original_of("corel16k001", "1ef71d08c8c27c8c01ac5859f33afb5eaeb6ce03"),),
    make=make,
    stand_in=STAND_IN,
)


def load_corel16k001(download: bool = False, verbose: bool = True) -> LabelSet:
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
    >>> SOURCES["corel16k001"].size
    '13,766 rows, 500 features, 153 labels'
    """
    return label_set(SOURCE.load(download, verbose))
