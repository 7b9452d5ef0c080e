"""Many steps on a dense table at once, with the result of one step after another.

A step needs the score of its triplet under the matrix as the steps before it left it. Within a block of steps that
score is the one before the block plus the changes of the earlier steps times inner products ⟨Xₛ, Xₜ⟩ =
(xₛ·xₜ)(zₛ·zₜ). So a block takes three products of matrices, a small triangular recursion and one more product to
change the matrix: the iterates of the printed algorithm at the speed of matrix products, where a pass over a
large matrix per step would be bound by memory.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dgemm

from nearer.similarity.triplets import Triplets

BLOCK = 64


def step_blocks(
    triplets: Triplets, matrix: np.ndarray, picks: np.ndarray, symmetric: bool = False
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield for each block its place, its x and z, scores under the matrix as it is, and ⟨Xₛ, Xₜ⟩."""
    for start in range(0, len(picks), BLOCK):
        block = slice(start, min(start + BLOCK, len(picks)))
        x, z = triplets.gather(picks[block])
        scores = np.einsum("ij,ij->i", x @ matrix, z)
        products = (x @ x.T) * (z @ z.T)
        if symmetric:
            crossed = x @ z.T
            products = 0.5 * (products + crossed * crossed.T)
        yield block, x, z, scores, products


def add_products(matrix: np.ndarray, x: np.ndarray, z: np.ndarray, changes: np.ndarray) -> None:
    """Add the sum of changes x zᵀ to the matrix, in place: BLAS takes it as columns, hence transposed."""
    dgemm(1.0, z.T, (changes[:, None] * x).T, 1.0, matrix.T, trans_b=1, overwrite_c=1)
