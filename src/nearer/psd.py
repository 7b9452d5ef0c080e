"""The nearest positive semidefinite matrix, as points or as a factor.

The proximal map of threshold · trace over the cone subtracts the threshold from every eigenvalue and drops what is
then negative. Where few eigenvalues remain, LAPACK finds all those above a value by counting signs (Sturm
sequences), so none can be missed, in about half the time of all.
"""

import numpy as np
from scipy.linalg import eigh

FEW = 5  # the remaining eigenvalues are few below n over this
NEGLIGIBLE = 1e-12  # eigenvalues relative to the largest that a factor leaves out


def psd_points(matrix: np.ndarray, threshold: float = 0.0, expected_rank: int | None = None) -> np.ndarray:
    """Return points X, with XXᵀ the matrix K that minimizes |K - matrix|² / 2 + threshold · trace(K).

    ``expected_rank`` decides how eigenvalues are computed, not which.
    """
    few = expected_rank is not None and expected_rank * FEW < len(matrix)
    how = {"driver": "evr", "subset_by_value": (threshold, np.inf)} if few else {"driver": "evd"}
    values, vectors = eigh(matrix, check_finite=False, **how)
    return _scaled_vectors(values, vectors, threshold)


def _scaled_vectors(values: np.ndarray, vectors: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    positive = values > threshold
    return vectors[:, positive] * np.sqrt(values[positive] - threshold)


def psd_factor(matrix: np.ndarray) -> np.ndarray:
    """Return L with LᵀL nearest to a matrix: one row per positive eigenvalue, the largest first, at least one row."""
    values, vectors = eigh(0.5 * (matrix + matrix.T), driver="evr")
    if values[-1] <= 0.0:
        return np.zeros((1, len(matrix)))
    kept = values > NEGLIGIBLE * values[-1]
    return np.ascontiguousarray(_scaled_vectors(values[kept], vectors[:, kept]).T[::-1])


def project_psd(matrix: np.ndarray) -> np.ndarray:
    """Return the positive semidefinite matrix nearest to the symmetric part of a matrix."""
    factor = psd_factor(matrix)
    return factor.T @ factor


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Return components with the largest entry of each row positive: the signs of eigenvectors are arbitrary."""
    largest = components[np.arange(len(components)), np.argmax(np.abs(components), axis=1)]
    return components * np.where(largest < 0, -1.0, 1.0)[:, None]
