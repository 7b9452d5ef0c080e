"""Web pages with the tags that people gave them: which of 500 words are on a page, and 983 tags."""

from nearer.datasets.label_set import ARRAYS, LICENSE, STAND_IN, LabelSet, label_set, make, original_of
from nearer.datasets.source import Source

__all__ = ["SOURCE", "load_delicious"]

SOURCE = Source(
    name="delicious",
    kind="labels",
    content="web pages as sets of words, with the tags of their readers",
    size="16,105 rows, 500 features, 983 labels",
    license=LICENSE,
    citation="Tsoumakas, Katakis and Vlahavas, Effective and efficient multilabel classification in domains "
    "with large number of labels, ECML/PKDD workshop MMD 2008; "
    "Tsoumakas et al., Mulan: a Java library for multi-label learning, JMLR 12, 2011.",
    path="multilabel/delicious.npz",
    arrays=ARRAYS,
    sha256="600a5e274bc26385dc0c602430f69641b1fdda60cca75291119c7df7bc1a7a70",
    originals=(original_of("delicious", "cfc6b7e70cb5c14b8933041b278c27a851a9b200"),),
    make=make,
    stand_in=STAND_IN,
)


def load_delicious(download: bool = False, verbose: bool = True) -> LabelSet:
    """Load web pages with tags.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    LabelSet
        Two sparse matrices of ones, and the names of their columns. Fourteen rows have no label.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["delicious"].size
    '16,105 rows, 500 features, 983 labels'
    """
    return label_set(SOURCE.load(download, verbose))
