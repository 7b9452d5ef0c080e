"""The cone of kernels: the nearest positive semidefinite matrix, as points.

The proximal map of threshold · trace over the cone is plain: subtract the threshold from every eigenvalue and drop
what is then negative. A kernel of low rank has few eigenvalues to keep; LAPACK finds all those above a value by
counting signs (Sturm sequences), so none can be missed, in about half the time of all.
"""

import numpy as np
from scipy.linalg import eigh

FEW = 5  # kept eigenvalues are few below n over this


def nearest_points(matrix: np.ndarray, threshold: float = 0.0, expected_rank: int | None = None) -> np.ndarray:
    """Return points X, with XXᵀ the kernel K that minimises |K - matrix|² / 2 + threshold · trace(K).

    Parameters
    ----------
    matrix : array of shape (n, n)
        A symmetric matrix.
    threshold : float, default=0.0
        How much each eigenvalue is lowered.
    expected_rank : int, optional
        How many eigenvalues may remain. It decides how they are found, not which.

    Returns
    -------
    array of shape (n, rank)

    Examples
    --------
    >>> nearest_points(np.diag([4.0, -1.0, 0.5]), threshold=1.0).shape
    (3, 1)
    """
    n = len(matrix)
    few = expected_rank is not None and expected_rank * FEW < n
    how = {"driver": "evr", "subset_by_value": (threshold, np.inf)} if few else {"driver": "evd"}
    values, vectors = eigh(matrix, check_finite=False, **how)
    kept = values > threshold
    return vectors[:, kept] * np.sqrt(values[kept] - threshold)
