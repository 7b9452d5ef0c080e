"""Posts of 20 newsgroups, split by date: the texts, and the counts of their 50,000 most frequent terms.

The archive is the one that scikit-learn downloads. Files of posts are read as Latin-1, headers included.
"""

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearer.datasets.source import Arrays, Original, Source

__all__ = [
    "COUNTS",
    "SOURCE",
    "Newsgroups",
    "NewsgroupsCounts",
    "load_newsgroups",
    "load_newsgroups_counts",
]

N_TERMS = 50_000
ARCHIVE = Original(
    "https://ndownloader.figshare.com/files/5975967",
    "8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
    "20news-bydate.tar.gz",
)
LICENSE = "none stated; public posts of 1993."
CITATION = "Lang, NewsWeeder: learning to filter netnews, ICML 1995; the split by date is Rennie's."


class Newsgroups(NamedTuple):
    """Posts, with the newsgroup of each.

    Attributes
    ----------
    texts : list of str
        The posts with their headers.
    y : array of int, shape (18846,)
        The number of the newsgroup.
    classes : array of str
        The newsgroups.
    is_test : array of bool
        Which posts are later than the others: 7,532 of them.
    """

    texts: list[str]
    y: NDArray[np.int64]
    classes: NDArray[np.str_]
    is_test: NDArray[np.bool_]


class NewsgroupsCounts(NamedTuple):
    """How often each term occurs in each post, with the newsgroup of the post.

    Attributes
    ----------
    X : CSR array of float, shape (18846, 50000)
        Counts of the terms, in the order of posts of `load_newsgroups`.
    y : array of int
        The number of the newsgroup.
    classes : array of str
        The newsgroups.
    terms : array of str
        The terms: words of two letters or more in lower case, without English stop words, in two posts at least.
    is_test : array of bool
        Which posts are later than the others. The terms were selected from all posts.
    """

    X: csr_array
    y: NDArray[np.int64]
    classes: NDArray[np.str_]
    terms: NDArray[np.str_]
    is_test: NDArray[np.bool_]


def make(paths: Sequence[Path]) -> dict[str, Any]:
    """Make the columns from the archive, with a folder per part, in it one per newsgroup, in it a file per post."""
    rows = []
    with tarfile.open(paths[0]) as archive:
        for member in archive:
            if member.isfile():
                folder, group, number = member.name.split("/")[-3:]
                text = archive.extractfile(member).read().decode("latin-1")  # type: ignore[union-attr]
                rows.append((folder.endswith("test"), group, number, text))
    rows.sort(key=lambda row: row[:3])
    is_test, groups, _, texts = zip(*rows, strict=True)
    parts = ["test" if later else "train" for later in is_test]
    return {name: np.array(column, dtype=object) for name, column in
            {"split": parts, "group": groups, "text": texts}.items()}  # fmt: skip


def make_counts(paths: Sequence[Path]) -> Arrays:
    """Make the counts from the archive."""
    return count_terms(make(paths))


def count_terms(columns: dict[str, Any], n_terms: int = N_TERMS) -> Arrays:
    """Return the counts of the terms that are in most texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(stop_words="english", token_pattern=r"\b[a-zA-Z]{2,}\b", min_df=2)
    counts = vectorizer.fit_transform(columns["text"])
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    terms = np.sort(np.argsort(-frequency, kind="stable")[:n_terms])
    counts = counts[:, terms]
    counts.sort_indices()
    classes, y = np.unique(columns["group"].astype(str), return_inverse=True)
    return {
        "data": counts.data.astype(np.uint16),
        "indices": counts.indices.astype(np.uint16),
        "indptr": counts.indptr.astype(np.int32),
        "shape": np.array(counts.shape, dtype=np.int64),
        "vocab": vectorizer.get_feature_names_out()[terms].astype(str),
        "y": y.astype(np.int8),
        "is_train": columns["split"] == "train",
        "classes": classes,
    }


SOURCE = Source(
    name="newsgroups",
    kind="texts",
    content="posts of 20 newsgroups, split by date",
    size="18,846 texts, 20 classes",
    license=LICENSE,
    citation=CITATION,
    path="newsgroups20/20news_bydate.parquet",
    arrays=("split", "group", "text"),
    sha256="72cc77f6cd613895ba7e8c33e10aa22b7c6c8793fe5b514504002740ffaf2754",
    originals=(ARCHIVE,),
    make=make,
)
COUNTS = Source(
    name="newsgroups-counts",
    kind="features",
    content="counts of the terms of posts of 20 newsgroups, split by date",
    size="18,846 rows, 50,000 terms, 20 classes",
    license=LICENSE,
    citation=CITATION,
    path="newsgroups20/20news_bow50k.npz",
    arrays=("data", "indices", "indptr", "shape", "vocab", "y", "is_train", "classes"),
    sha256="0e7e97f99644bffe04add4516afc9aa3b5bc8d96d2dcf137b19b2c1f9e6e0137",
    originals=(ARCHIVE,),
    make=make_counts,
)


def load_newsgroups(download: bool = False, verbose: bool = True) -> Newsgroups:
    """Load posts of 20 newsgroups; needs pyarrow, of the extra ``nearer[parquet]``.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    Newsgroups
        Texts and their newsgroups.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["newsgroups"].size
    '18,846 texts, 20 classes'
    """
    columns = SOURCE.load(download, verbose)
    classes, y = np.unique(columns["group"].astype(str), return_inverse=True)
    return Newsgroups(columns["text"].tolist(), y.ravel(), classes, columns["split"] == "test")


def load_newsgroups_counts(download: bool = False, verbose: bool = True) -> NewsgroupsCounts:
    """Load counts of the terms of posts of 20 newsgroups.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    NewsgroupsCounts
        Counts, not weighted, and newsgroups.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["newsgroups-counts"].size
    '18,846 rows, 50,000 terms, 20 classes'
    """
    arrays = COUNTS.load(download, verbose)
    indices = arrays["indices"].astype(np.int32)
    X = csr_array((arrays["data"].astype(np.float64), indices, arrays["indptr"]), shape=tuple(arrays["shape"]))
    return NewsgroupsCounts(
        X, arrays["y"].astype(np.int64), arrays["classes"], arrays["vocab"], ~arrays["is_train"]
    )
