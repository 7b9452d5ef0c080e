"""Steps of SDCA and OASIS, each as the table allows: one by one, or many at once with the same result.

A step needs the score of its triplet under the matrix as the steps before it left it. Within a block of steps that
score is the one before the block plus the changes of the earlier steps times inner products ⟨Xₛ, Xₜ⟩ =
(xₛ·xₜ)(zₛ·zₜ). So a block takes three products of matrices, a small triangular recursion and one more product to
change the matrix: the iterates of the printed algorithm at the speed of matrix products, where one pass over a
large matrix a step would be bound by memory.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dgemm

from nearer.similarity.triplets import Triplets, compiled

FEW_COLUMNS = 80  # a matrix that small stays in the innermost cache, where single steps are quickest
BLOCK = 64


class Ascent:
    """Where stochastic dual coordinate ascent stands: Algorithm 1 of the paper.

    Parameters
    ----------
    triplets : Triplets
        The data.
    regularization : float
        λ of the objective.
    alpha : array, optional
        Dual variables to start from; 0 by default.

    Attributes
    ----------
    matrix : array of shape (d, d)
        M(α), which the steps change in place.
    alpha : array of shape (n,)
        The dual variables.
    steps : int
        How many steps were taken.
    """

    def __init__(self, triplets: Triplets, regularization: float, alpha: np.ndarray | None = None) -> None:
        self.triplets = triplets
        self.weight = triplets.shares / regularization  # M = Σ weightᵢ αᵢ Xᵢ
        self.curvature = 0.5 + self.weight * triplets.squares
        self.alpha = np.zeros(len(triplets)) if alpha is None else alpha.copy()
        d = triplets.n_features
        self.matrix = np.zeros((d, d)) if alpha is None else self.matrix_of(self.alpha)
        self.steps = 0
        self.begin_average()

    def matrix_of(self, alpha: np.ndarray) -> np.ndarray:
        """Return the matrix M(α) that belongs to dual variables."""
        return self.triplets.matrix(self.weight * alpha)

    def begin_average(self) -> None:
        """Forget the iterates so far: the average is of those from here on."""
        self._since = self.steps
        self._sums = np.zeros(len(self.triplets))
        self._stood = np.full(len(self.triplets), self.steps, dtype=np.int64)

    def average(self) -> np.ndarray:
        """Return the mean of the dual variables since the average was begun.

        Each step changes one of them, so it is enough to add up, at a change, how long the old value stood.
        """
        taken = self.steps - self._since
        if taken == 0:
            return self.alpha.copy()
        return (self._sums + self.alpha * (self.steps - self._stood)) / taken

    def ascend(self, picks: np.ndarray) -> None:
        """Take a step for each of the picked triplets, in order."""
        if len(picks) == 0:
            return
        triplets = self.triplets
        duals = (self.alpha, self._sums, self._stood)
        fixed = (self.weight, self.curvature)
        if triplets.sparse:
            loop = compiled("sdca_sparse")
            loop(triplets.table, triplets.rows, *fixed, picks, self.steps, *duals, self.matrix, triplets.room)
        elif triplets.n_features < FEW_COLUMNS:
            room = np.empty((2, triplets.n_features))
            loop = compiled("sdca_dense")
            loop(triplets.X, triplets.rows, *fixed, picks, self.steps, *duals, self.matrix, *room)
        else:
            changes = np.empty(BLOCK)
            for block, x, z, scores, products in _blocks_of_steps(triplets, self.matrix, picks, symmetric=False):
                now = self.steps + block.start
                compiled("sdca_block")(scores, products, *fixed, picks[block], now, *duals, changes)
                _add_products(self.matrix, x, z, changes[: len(x)])
        self.steps += len(picks)


def oasis_steps(
    triplets: Triplets, matrix: np.ndarray, which: np.ndarray, caps: np.ndarray, symmetric: bool
) -> float:
    """Take a passive-aggressive step for each of some triplets, in order, changing the matrix in place.

    Parameters
    ----------
    triplets : Triplets
        The data.
    matrix : array of shape (d, d)
        Changed in place; symmetric where symmetric is asked for.
    which : array of int
        Numbers of triplets.
    caps : array
        The largest coefficient of each of the triplets.
    symmetric : bool
        Step among symmetric matrices: along the symmetric part of Xᵢ.

    Returns
    -------
    float
        The sum of the losses (1 - ⟨W, Xᵢ⟩)₊ as they were met, each before its step.
    """
    if triplets.sparse:
        squares = (triplets.symmetric_squares if symmetric else triplets.squares)[which]
        loop = compiled("oasis_sparse_symmetric" if symmetric else "oasis_sparse")
        return float(loop(triplets.table, triplets.rows[which], squares, caps[which], matrix, triplets.room))
    changes, total = np.empty(BLOCK), 0.0
    for block, x, z, scores, products in _blocks_of_steps(triplets, matrix, which, symmetric):
        total += compiled("oasis_block")(scores, products, caps[which[block]], changes)
        made = changes[: len(x)]
        if symmetric:
            _add_products(matrix, x, z, 0.5 * made)
            _add_products(matrix, z, x, 0.5 * made)
        else:
            _add_products(matrix, x, z, made)
    return total


def _blocks_of_steps(
    triplets: Triplets, matrix: np.ndarray, picks: np.ndarray, symmetric: bool
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield for each block its place, its x and z, scores under the matrix as it is, and ⟨Xₛ, Xₜ⟩."""
    for start in range(0, len(picks), BLOCK):
        block = slice(start, min(start + BLOCK, len(picks)))
        x, z = triplets.gathered(picks[block])
        scores = np.einsum("ij,ij->i", x @ matrix, z)
        products = (x @ x.T) * (z @ z.T)
        if symmetric:
            crossed = x @ z.T
            products = 0.5 * (products + crossed * crossed.T)
        yield block, x, z, scores, products


def _add_products(matrix: np.ndarray, x: np.ndarray, z: np.ndarray, changes: np.ndarray) -> None:
    """Add the sum of changes x zᵀ to the matrix, in place: BLAS takes it as columns, hence transposed."""
    dgemm(1.0, z.T, (changes[:, None] * x).T, 1.0, matrix.T, trans_b=1, overwrite_c=1)
