"""Distances in a fitted kernel, which answer questions, and points of few dimensions that approximate it.

A kernel K holds inner products, so d²(i, j) = K_ii + K_jj - 2 K_ij, and K = XXᵀ for points X.
"""

import numpy as np
from scipy.linalg import eigh

from nearer.blas import blas_threads_for
from nearer.parameters import check_count
from nearer.predict import ComparisonPredictor
from nearer.psd import fix_signs

FLAT = 1e-12  # an eigenvalue below this share of the largest is round-off


def kernel_distances(kernel: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances of the near and of the far pair of each row."""
    diagonal, second = kernel.diagonal(), 0 if rows.shape[1] == 3 else 2

    def squared(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return diagonal[i] + diagonal[j] - 2.0 * kernel[i, j]

    return squared(rows[:, 0], rows[:, 1]), squared(rows[:, second], rows[:, -1])


def check_kernel(kernel: np.ndarray, names: tuple[str, ...] | None) -> float:
    """Return the smallest eigenvalue of a kernel, at least 0; ValueError if it is not a kernel of these names."""
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1]:
        raise ValueError(f"a kernel is a square table; got shape {kernel.shape}")
    if not np.isfinite(kernel).all():
        raise ValueError("the kernel holds NaN or infinity")
    largest = float(np.abs(kernel).max(initial=0.0))
    if not np.allclose(kernel, kernel.T, rtol=0.0, atol=1e-10 * largest):
        raise ValueError("the kernel is not symmetric")
    lowest = float(eigh(kernel, eigvals_only=True, subset_by_index=[0, 0])[0]) if len(kernel) else 0.0
    if lowest < -1e-8 * float(kernel.trace()):
        raise ValueError(f"the kernel is not positive semidefinite: its smallest eigenvalue is {lowest:.3g}")
    if names is not None and len(names) != len(kernel):
        raise ValueError(f"{len(names)} names of {len(kernel)} objects")
    return max(0.0, lowest)


class KernelPredictor(ComparisonPredictor):
    """The methods of an estimator that has ``kernel_``, a loss ``loss_`` and ``names_`` or None."""

    _fitted_attribute = "kernel_"
    kernel_: np.ndarray

    def _points(self) -> np.ndarray:
        return self.embed(self._n_known)

    @property
    def _n_features_out(self) -> int:
        return self._n_known

    def _pair_distances(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near, far = kernel_distances(self.kernel_, rows)
        return np.maximum(near, 0.0), np.maximum(far, 0.0)

    def _distances_from(self, objects: np.ndarray) -> np.ndarray:
        diagonal = self.kernel_.diagonal()
        return np.maximum(diagonal + diagonal[objects, None] - 2.0 * self.kernel_[objects], 0.0)

    def _asked(self) -> np.ndarray:
        kernel = self.kernel_  # an object without answers is at right angles to all others
        return np.count_nonzero(kernel, axis=1) > (kernel.diagonal() != 0.0)

    def embed(self, n_components: int = 2) -> np.ndarray:
        """Return centered points whose inner products approximate the kernel best (kernel PCA of the objects).

        Parameters
        ----------
        n_components : int, default=2
            Dimensions: those of the largest variance.

        Returns
        -------
        array of shape (n_objects, n_components)
        """
        n = self._n_known
        check_count("n_components", n_components, n)
        means = self.kernel_.mean(axis=0)
        centered = self.kernel_ - means - means[:, None] + means.mean()
        with blas_threads_for(n):
            values, vectors = eigh(centered, subset_by_index=[n - n_components, n - 1])
        values[values < FLAT * max(values[-1], 0.0)] = 0.0
        return fix_signs((vectors * np.sqrt(values))[:, ::-1].T).T
