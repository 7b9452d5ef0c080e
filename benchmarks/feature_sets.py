"""Sets of features with class labels, and their splits: classes that are known, and classes that are not.

Rows are drawn, 4,000 at most, classes of fewer than four rows are left out. *Seen*: 70 % of each class to learn from,
the others are queries among each other. *Unseen*: half of the classes to learn from, and the objects of the others are
queries among each other. Dense columns are standardized by the training part; texts are tf-idf, rows of unit length.
"""

import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

MAX_ROWS = 4_000
MIN_SIZE = 4
LIBSVM = {
    "vehicle": "vehicle",
    "vowel": "vowel",
    "letter": "letter",
    "svmguide4": "svmguide4_train300",
    "segment": "segment",
}
ARRAYS = {
    **{name: f"libsvm_table1/{file}.npz" for name, file in LIBSVM.items()},
    "coil20": "coil20_isolet/coil20.npz",
    "isolet": "coil20_isolet/isolet1560.npz",
    "caltech101": "caltech101_mobilenetv2/caltech101_mnv2.npz",
}
SETS = (*ARRAYS, "surf", "newsgroups")


def load(name: str) -> tuple:
    """Return features and class numbers."""
    folder = Path(os.environ["NEARER_DATA"])
    if name in ARRAYS:
        arrays = np.load(folder / ARRAYS[name], allow_pickle=False)
        return arrays["X"].astype(float), arrays["y"].ravel()
    if name == "surf":
        arrays = np.load(folder / "office_caltech10_surf/office_caltech10_surf800.npz")
        parts = ("Caltech10", "amazon", "webcam", "dslr")
        X = np.vstack([arrays[f"{part}_X"] for part in parts]).astype(float)
        return X, np.concatenate([arrays[f"{part}_y"] for part in parts])
    arrays = np.load(folder / "newsgroups20/20news_bow50k.npz", allow_pickle=True)
    counts = csr_matrix((arrays["data"].astype(float), arrays["indices"], arrays["indptr"]), arrays["shape"])
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), arrays["y"]


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
