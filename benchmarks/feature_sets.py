"""Sets of features with class labels, and their splits: classes that are known, and classes that are not.

Rows are drawn, 4,000 at most, classes of fewer than four rows are left out. *Seen*: 70 % of each class to learn from,
the others are queries among each other. *Unseen*: half of the classes to learn from, and the objects of the others are
queries among each other. Dense columns are standardized by the training part; texts are tf-idf, rows of unit length.
"""

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from nearer import datasets

MAX_ROWS = 4_000
MIN_SIZE = 4
DENSE = {
    "vehicle": datasets.load_vehicle,
    "vowel": datasets.load_vowel,
    "letter": datasets.load_letter,
    "svmguide4": datasets.load_svmguide4,
    "segment": datasets.load_segment,
    "coil20": datasets.load_coil20,
    "isolet": datasets.load_isolet,
    "caltech101": datasets.load_caltech101,
    "surf": datasets.load_office_caltech,
}
SETS = (*DENSE, "newsgroups")


def load(name: str) -> tuple:
    """Return features and class numbers."""
    if name in DENSE:
        return DENSE[name]()[:2]
    counts, y = datasets.load_newsgroups_counts()[:2]
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), y


def split(name: str, kind: str, seed: int) -> tuple:
    """Return features and classes to learn from, and to be judged by."""
    X, y = load(name)
    random = np.random.default_rng(seed)
    rows = random.permutation(len(y))[:MAX_ROWS]
    X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
    rows = np.flatnonzero(np.bincount(y)[y] >= MIN_SIZE)
    X, y = X[rows], y[rows]
    classes = random.permutation(np.unique(y))
    train = np.isin(y, classes[: len(classes) // 2])
    if kind == "seen":
        train[:] = False
        for label in classes:
            members = random.permutation(np.flatnonzero(y == label))
            train[members[: int(0.7 * len(members))]] = True
    X = csr_array(X) if issparse(X) else StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[~train], y[~train]
