"""The target neighbours of LMNN: for each row the nearest of its class, chosen before anything is learned."""

import warnings

import numpy as np
from sklearn.neighbors import NearestNeighbors


def target_neighbors(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the row numbers of the k nearest rows of the same class, the nearest first; -1 if there are fewer.

    Rows are sorted by class, and the class numbers are 0, 1, … without gaps.
    """
    sizes = np.bincount(labels)
    targets = np.full((len(X), k), -1, dtype=np.intp)
    for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        few = min(k, int(size) - 1)
        if few > 0:
            nearest = NearestNeighbors(n_neighbors=few).fit(X[first : first + size])
            targets[first : first + size, :few] = first + nearest.kneighbors(return_distance=False)
    alone = int((sizes == 1).sum())
    if alone == len(sizes):
        raise ValueError(f"each of the {alone} classes has one member; LMNN pulls members of a class together")
    if alone:
        warnings.warn(
            f"{alone} of {len(sizes)} classes have one member, which has no target but still pushes others away",
            stacklevel=4,
        )
    return targets
