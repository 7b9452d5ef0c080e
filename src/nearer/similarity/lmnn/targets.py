"""The target neighbours of LMNN: for each row the nearest of its class, chosen before anything is learned."""

import warnings

import numpy as np
from sklearn.neighbors import NearestNeighbors


def target_neighbors(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest rows of the same class, the nearest first.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, sorted by class.
    labels : array of shape (n,)
        Class numbers from 0 on, none left out, in ascending order.
    k : int
        How many each row should have. A class too small for that uses all it has.

    Returns
    -------
    array of shape (n, k)
        Row numbers; -1 where the class has no more.

    Examples
    --------
    >>> target_neighbors(np.array([[0.0], [1.0], [3.0], [0.0], [9.0]]), np.array([0, 0, 0, 1, 1]), 1).T
    array([[1, 0, 1, 4, 3]])
    """
    sizes = np.bincount(labels)
    targets = np.full((len(X), k), -1, dtype=np.intp)
    for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        few = min(k, int(size) - 1)
        if few > 0:
            members = X[first : first + size]
            targets[first : first + size, :few] = first + nearest_others(members, few)
    alone = int((sizes == 1).sum())
    if alone == len(sizes):
        raise ValueError(f"each of the {alone} classes has one member; LMNN draws members of a class together")
    if alone:
        warnings.warn(
            f"{alone} of {len(sizes)} classes have one member, which has no neighbour to be drawn to; it still "
            "pushes the others away",
            stacklevel=4,
        )
    return targets


def nearest_others(members: np.ndarray, k: int) -> np.ndarray:
    """Return for each member the numbers of the k nearest others."""
    return NearestNeighbors(n_neighbors=k).fit(members).kneighbors(return_distance=False)
