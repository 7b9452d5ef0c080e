"""Triplets of rows of a feature table: the data of a bilinear similarity.

Triplet i is (x, x⁺, x⁻), three rows of X, and stands for the rank-one matrix Xᵢ = x (x⁺ - x⁻)ᵀ; its score under a
matrix M is ⟨M, Xᵢ⟩. Neither is computed one by one: all scores come from the product X M, and a sum of
coefficients times Xᵢ is Xᵀ T X with T sparse, one entry per pair of objects. Dense and sparse features have the
same few operations, so a solver does not see the difference.

Many steps on a dense table are taken at once, with the result of one step after another. A step needs the score of its
triplet under the matrix as the steps before it left it. Within a block of steps that score is the one before the block
plus the changes of the earlier steps times inner products ⟨Xₛ, Xₜ⟩ = (xₛ·xₜ)(zₛ·zₜ). So a block takes three products of
matrices, a small triangular recursion and one more product to change the matrix: the iterates of the printed algorithm
at the speed of matrix products, where a pass over a large matrix per step would be bound by memory.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.sparse import csr_array, issparse
from sklearn.utils.extmath import randomized_range_finder

from nearer.comparisons.rows import blocks
from nearer.jit import bind
from nearer.similarity import loops

ENTRIES = 1 << 22  # numbers that a temporary table may hold
BLOCK = 64  # steps
WIDE, AXES = 400, 256  # tables of at least 400 columns are compressed to 256


class Triplets:
    """Rows (anchor, more similar, less similar) of a table X, dense or CSR; ``shares`` are weights of sum one."""

    def __init__(self, X: Any, rows: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.X = X
        self.rows = rows
        self.weights = np.ones(len(rows)) if weights is None else weights
        self.shares = self.weights / self.weights.sum()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of columns of the table."""
        return int(self.X.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether the table is sparse."""
        return issparse(self.X)

    def gather(self, which: Any) -> tuple[Any, Any]:
        """Return x and x⁺ - x⁻ of some triplets, as two tables."""
        rows = self.rows[which]
        return self.X[rows[:, 0]], self.X[rows[:, 1]] - self.X[rows[:, 2]]

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared norms ‖Xᵢ‖² = ‖x‖² ‖x⁺ - x⁻‖²."""
        return self._each(lambda x, z: row_products(x, x) * row_products(z, z))

    @cached_property
    def symmetric_squares(self) -> np.ndarray:
        """The squared norms of the symmetric parts ½(Xᵢ + Xᵢᵀ)."""
        return 0.5 * (self.squares + self._each(lambda x, z: row_products(x, z) ** 2))

    def _each(self, what: Any) -> np.ndarray:
        size = max(1, ENTRIES // max(1, self.n_features))
        parts = [what(*self.gather(block)) for block in blocks(len(self), size)]
        return np.concatenate(parts) if parts else np.empty(0)

    def scores(self, matrix: np.ndarray) -> np.ndarray:
        """Return the score xᵀM(x⁺ - x⁻) of every triplet."""
        scores = np.empty(len(self))
        if self.sparse:
            bind(loops.scores_sparse)(self.table, self.rows, matrix, self.workspace, scores)
        else:
            bind(loops.scores_dense)(self.X @ matrix, self.X, self.rows, scores)
        return scores

    def matrix(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the sum of the coefficients times Xᵢ."""
        if self.sparse:
            total = np.zeros((self.n_features, self.n_features))
            bind(loops.matrix_sparse)(self.table, self.rows, coefficients, total, self.workspace)
            return total
        order, columns, starts = self._by_anchor
        entries = np.repeat(coefficients[order], 2)
        entries[1::2] *= -1.0
        pairs = csr_array((entries, columns, starts), shape=(len(self.X), len(self.X)))
        return np.asarray(self.X.T @ (pairs @ self.X))

    @cached_property
    def _by_anchor(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The triplets in order of their anchors, and where T has its entries: that never changes."""
        order = np.argsort(self.rows[:, 0], kind="stable")
        starts = 2 * np.searchsorted(self.rows[order, 0], np.arange(len(self.X) + 1))
        return order, self.rows[order, 1:].ravel(), starts

    @cached_property
    def compressed(self) -> "Triplets":
        """The same triplets with a wide dense table projected onto its leading axes; other tables are unchanged.

        The time of a step is proportional to d². The norm of M does not depend on the basis, so the problem differs
        only by what the projection removes.
        """
        if self.sparse or self.n_features < WIDE:
            return self
        size = min(AXES, len(self.X))
        axes = randomized_range_finder(self.X.T, size=size, n_iter=2, random_state=0)
        return Triplets(self.X @ axes, self.rows, self.weights)

    @cached_property
    def table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arrays of the sparse table, as the loops take them."""
        return self.X.data, self.X.indices.astype(np.int32), self.X.indptr.astype(np.int64)

    @cached_property
    def workspace(self) -> tuple[np.ndarray, np.ndarray]:
        """Arrays for the entries of two sparse rows: columns and values."""
        longest = int(np.diff(self.X.indptr).max(initial=0))
        return np.empty(2 * longest, dtype=np.int32), np.empty(2 * longest)


class Quadruplets:
    """Rows (a, b, c, d) of a dense table X: a and b are more similar than c and d; Xᵢ = x_a x_bᵀ - x_c x_dᵀ."""

    def __init__(self, X: np.ndarray, rows: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.X, self.rows = X, rows
        weights = np.ones(len(rows)) if weights is None else weights
        self.shares = weights / weights.sum()
        self.n_features = X.shape[1]

    def scores(self, matrix: np.ndarray) -> np.ndarray:
        """Return the score of a and b minus that of c and d of every quadruplet."""
        left, scores = self.X @ matrix, np.empty(len(self.rows))
        for block in blocks(len(scores), max(1, ENTRIES // self.n_features)):
            a, b, c, d = self.rows[block].T
            scores[block] = row_products(left[a], self.X[b]) - row_products(left[c], self.X[d])
        return scores

    def matrix(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the sum of the coefficients times Xᵢ."""
        a, b, c, d = self.rows.T
        entries = np.concatenate([coefficients, -coefficients])
        places = np.concatenate([a, c]), np.concatenate([b, d])
        pairs = csr_array((entries, places), shape=(len(self.X), len(self.X)))
        return np.asarray(self.X.T @ (pairs @ self.X))


def row_products(left: Any, right: Any) -> np.ndarray:
    """Return the inner product of each row with the same row of another table."""
    if issparse(left) or issparse(right):
        thin, other = (left, right) if issparse(left) else (right, left)
        return np.asarray(thin.multiply(other).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", left, right)


def take_steps(
    triplets: Triplets,
    matrix: np.ndarray,
    picks: np.ndarray,
    coefficient: Callable,
    state: Any,
    now: int = 0,
    symmetric: bool = False,
) -> float:
    """Take a step for each pick, in order and in place; return the sum of the losses before each.

    ``coefficient`` is `ascend` or `passive_aggressive` of the loops, with its state. With ``symmetric`` the matrix is,
    and stays, symmetric.
    """
    if triplets.sparse:
        add_step = loops.add_symmetric if symmetric else loops.add_general
        loop = bind(loops.sparse_steps, coefficient=coefficient, add_step=add_step)
        return float(loop(triplets.table, triplets.rows, state, picks, now, matrix, triplets.workspace))
    loop, changes, total = bind(loops.dense_block, coefficient=coefficient), np.empty(BLOCK), 0.0
    for block in blocks(len(picks), BLOCK):
        x, z = triplets.gather(picks[block])
        scores = np.einsum("ij,ij->i", x @ matrix, z)
        products = (x @ x.T) * (z @ z.T)
        if symmetric:
            crossed = x @ z.T
            products = 0.5 * (products + crossed * crossed.T)
        total += loop(scores, products, state, picks[block], now + block.start, changes)
        steps = (0.5 if symmetric else 1.0) * changes[: len(x)]
        add_products(matrix, x, z, steps)
        if symmetric:
            add_products(matrix, z, x, steps)
    return total


def add_products(matrix: np.ndarray, x: np.ndarray, z: np.ndarray, changes: np.ndarray) -> None:
    """Add the sum of changes x zᵀ to the matrix, in place: BLAS takes it as columns, hence transposed."""
    dgemm(1.0, z.T, (changes[:, None] * x).T, 1.0, matrix.T, trans_b=1, overwrite_c=1)
