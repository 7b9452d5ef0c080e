"""Label scores in closed form: one Newton step from label popularity, with a ridge penalty.

Let π_l be the share of rows with label l. A generalized linear model of label l whose variance is a power γ of its mean
has, with its canonical link, the score π_l^(1-γ) / (1-γ) where nothing but popularity is known. A Newton step
from there with a ridge penalty gives the weights

    w_l = π_l^-γ (ZᵀZ + α π_l^-γ I)⁻¹ Zᵀ(y_l - π_l)

for standardized features Z. γ = 0 is ridge regression, γ = 1 the first step of a Poisson regression; in between, rare
labels can come first where features speak for them, and are penalized more than frequent ones. One
eigendecomposition of ZᵀZ serves every label, γ and α.

Tables of very many columns or labels are first projected onto a block Krylov space of ZᵀZ that starts from
Zᵀ(Y - π): no matrix of features by features, nor of features by labels, is made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from nearer.comparisons.rows import blocks
from nearer.ranking.targets import TrainingSet

MAX_COLUMNS, MAX_ENTRIES = 2_000, 1 << 25  # of a table that is not projected, and of its columns by labels
KRYLOV_WIDTH, KRYLOV_SIZE = 100, 300  # dimensions of a block, and at least of all
RARE = 10  # rows with an entry that is not zero, below which a column counts clearly less
ENTRIES = 1 << 22  # of a table that are dense at once
SMALL = 1e-13  # squares of singular values, relative to the largest, that are zero
GAP = 5.0  # margins between the mean scores of true and false labels at the start
FAINT = 0.01  # margins by which directions change scores that only fill up a rank


@dataclass(frozen=True)
class Projection:
    """Standardizes rows, and projects them if there is a basis Q: z = Qᵀ S (x - mean)."""

    mean: np.ndarray
    scale: np.ndarray  # the diagonal of S; 0 for columns that do not vary
    scaled_basis: np.ndarray | None = None  # SQ

    @classmethod
    def of(cls, train: TrainingSet, center: bool) -> Self:
        """Return the standardization of a table; without ``center`` it only scales."""
        mean, mean_square, entries = _column_moments(train.table, train.shares, center)
        # Rounding makes columns vary that do not.
        varies = mean_square > (1e-12 * mean) ** 2
        scale = np.zeros(len(mean))
        scale[varies] = np.sqrt(entries[varies] / (entries[varies] + RARE) / mean_square[varies])
        return cls(mean, scale)

    @property
    def n_columns(self) -> int:
        """Columns of what `rows` returns."""
        return len(self.mean) if self.scaled_basis is None else self.scaled_basis.shape[1]

    def rows(self, table: Any) -> np.ndarray:
        """Return the rows of a table, standardized and projected."""
        if self.scaled_basis is not None:
            return np.asarray(table @ self.scaled_basis) - self.mean @ self.scaled_basis
        return ((table.toarray() if issparse(table) else table) - self.mean) * self.scale

    def blocks(self, table: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of rows of a table, standardized and projected, as many as fit into memory."""
        for block in blocks(table.shape[0], max(1, ENTRIES // self.n_columns)):
            yield block, self.rows(table[block])

    def weights(self, projected: np.ndarray) -> np.ndarray:
        """Return weights of the columns of a table that score its rows as ``projected`` scores what `rows` returns."""
        if self.scaled_basis is not None:
            return self.scaled_basis @ projected
        return self.scale[:, None] * projected

    def transposed_times(self, table: Any, right: np.ndarray) -> np.ndarray:
        """Return ZᵀV of standardized rows Z."""
        return self.scale[:, None] * (np.asarray(table.T @ right) - np.outer(self.mean, right.sum(axis=0)))

    def onto_krylov_space(self, train: TrainingSet, random: np.random.Generator) -> Self:
        """Return the projection onto the block Krylov space of ZᵀZ that starts from random mixtures of labels."""
        shares = label_shares(train.indicator.T @ train.shares, train.shares.sum(), len(train))
        mixtures = random.normal(size=(train.n_labels, min(KRYLOV_WIDTH, train.n_labels)))
        mixtures /= np.sqrt(shares)[:, None]
        rows = train.indicator @ mixtures - shares @ mixtures
        basis = np.empty((len(self.mean), 0))
        while basis.shape[1] < KRYLOV_SIZE:
            block = self.transposed_times(train.table, rows * train.shares[:, None])
            rounding = SMALL**0.5 * np.linalg.norm(block)
            for _ in range(2):  # once leaves rounding errors of the size of what is subtracted
                block -= basis @ (basis.T @ block)
            block = orthonormal(block, rounding)
            if block.shape[1] == 0:  # the space is invariant: nothing is missing from it
                break
            basis = np.hstack([basis, block])
            rows = type(self)(self.mean, self.scale, self.scale[:, None] * block).rows(train.table)
        return type(self)(self.mean, self.scale, self.scale[:, None] * basis)


def projection_of(train: TrainingSet, center: bool, random: np.random.Generator) -> Projection:
    """Return the projection for a table: of standardized columns, or of a Krylov space if there are very many."""
    projection = Projection.of(train, center)
    n, d = train.table.shape
    if d <= min(MAX_COLUMNS, max(n, KRYLOV_SIZE)) and d * train.n_labels <= MAX_ENTRIES:
        return projection
    return projection.onto_krylov_space(train, random)


class Moments(NamedTuple):
    """Sums over rows z with labels y, by weight, all that ridge regression needs; sums of two sets of rows add up."""

    n_rows: int
    weight: float  # Σ 1
    total: np.ndarray  # Σ z
    counts: np.ndarray  # Σ y
    gram: np.ndarray  # Σ z zᵀ
    cross: np.ndarray  # Σ z yᵀ

    @classmethod
    def of(cls, train: TrainingSet, projection: Projection) -> Self:
        """Return the sums over a training set, computed by blocks of rows."""
        q, L = projection.n_columns, train.n_labels
        total, gram, cross = np.zeros(q), np.zeros((q, q)), np.zeros((q, L))
        for block, Z in projection.blocks(train.table):
            weighted = Z if train.weights is None else train.weights[block, None] * Z
            total += weighted.sum(axis=0)
            gram += Z.T @ weighted
            cross += (train.indicator[block].T @ weighted).T
        return cls(len(train), train.shares.sum(), total, train.indicator.T @ train.shares, gram, cross)

    def plus(self, other: Self) -> Self:
        """Return the sums over the rows of both."""
        return type(self)(
            self.n_rows + other.n_rows,
            self.weight + other.weight,
            self.total + other.total,
            self.counts + other.counts,
            self.gram + other.gram,
            self.cross + other.cross,
        )


def label_shares(counts: np.ndarray, weight: float, n_rows: int) -> np.ndarray:
    """Return the shares of rows, by weight, that have each label, where no row has it that of half a row."""
    return np.maximum(counts / weight, 0.5 / n_rows * (counts == 0.0))


class Scores(NamedTuple):
    """Linear scores of labels: weights in the eigenbasis of a path, and offsets."""

    weights: np.ndarray
    offsets: np.ndarray


class RidgePath:
    """The closed form for some rows, for any power and penalty."""

    def __init__(self, moments: Moments, center: bool) -> None:
        n = moments.weight
        self.moments, self.center = moments, center
        self.shares = label_shares(moments.counts, n, moments.n_rows)
        self.mean = moments.total / n if center else np.zeros_like(moments.total)
        gram = moments.gram - n * np.outer(self.mean, self.mean)
        values, self.basis = eigh(gram, overwrite_a=True, check_finite=False)
        self.values = np.maximum(values, 0.0)
        self.cross = self.basis.T @ (moments.cross - np.outer(self.mean, moments.counts))

    def rows(self, Z: np.ndarray) -> np.ndarray:
        """Return projected rows in the eigenbasis."""
        return (Z - self.mean) @ self.basis

    def scores(self, power: float, ridge: float | None) -> Scores:
        """Return the scores for a power γ below 1 and a penalty, in units of a feature's variance.

        They are centered per row, which changes no ranking. None is the infinite penalty: popularity alone.
        """
        offsets = self.shares ** (1.0 - power) / (1.0 - power) if self.center else np.zeros_like(self.shares)
        offsets = offsets - offsets.mean()
        if ridge is None:
            return Scores(np.zeros_like(self.cross), offsets)
        variance = self.shares**power
        penalties = ridge * self.moments.weight * (self.shares.mean() ** power)
        weights = self.cross / (self.values[:, None] * variance + penalties)
        weights -= weights.mean(axis=1, keepdims=True)
        return Scores(weights, offsets)

    def directions(self, scores: Scores) -> np.ndarray:
        """Return orthonormal directions of labels, those along which the scores of rows vary most first."""
        size = np.sqrt(np.append(self.values, self.moments.weight))[:, None]
        table = size * np.vstack([scores.weights, scores.offsets])
        wide = table.shape[1] > table.shape[0]
        squares, vectors = eigh(table @ table.T if wide else table.T @ table, check_finite=False)
        nonzero = np.flatnonzero(squares > SMALL * squares[-1])[::-1]
        vectors = vectors[:, nonzero]
        return table.T @ (vectors / np.sqrt(squares[nonzero])) if wide else vectors

    def gap(self, scores: Scores, directions: np.ndarray) -> float:
        """Return the mean score of true labels minus that of false ones, of scores along some directions."""
        counts, n = self.moments.counts, self.moments.weight
        n_true, n_false = counts.sum(), n * len(counts) - counts.sum()
        offsets = scores.offsets @ directions
        true = np.vdot(self.cross @ directions, scores.weights @ directions) + counts @ directions @ offsets
        all_weights = self.basis.T @ (self.moments.total - n * self.mean) @ scores.weights @ directions
        everything = (all_weights + n * offsets) @ directions.sum(axis=0)
        return float(true / n_true - (everything - true) / n_false)


class RidgeStart:
    """The closed form as a pair of factors, for the rows that its path has seen."""

    def __init__(self, projection: Projection, path: RidgePath, constant: float) -> None:
        self.projection, self.path, self.constant = projection, path, constant

    def factors(
        self, power: float, ridge: float | None, rank: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B of a rank, such that true labels score some margins above false ones on average.

        The last row of B is that of the constant feature if there is one. Where the scores have a lower rank, random
        directions with small weights are added.
        """
        scores = self.path.scores(power, ridge)
        A = self.path.directions(scores)[:, :rank]
        gap = self.path.gap(scores, A)
        within = self.path.basis @ (scores.weights @ A)
        B = self.projection.weights(within)
        if self.path.center:
            B[-1] = (scores.offsets @ A - self.path.mean @ within - self.projection.mean @ B) / self.constant
        if gap > 0.0:
            B *= GAP / gap
        return _balanced(*self._filled_up(A, B, rank, random))

    def _filled_up(
        self, A: np.ndarray, B: np.ndarray, rank: int, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add random directions that change scores by little until the factors have a rank."""
        missing = rank - A.shape[1]
        if missing <= 0:
            return A, B
        more = random.normal(size=(len(A), missing))
        for _ in range(2):
            more -= A @ (A.T @ more)
        mean, scale = np.abs(self.projection.mean), self.projection.scale
        units = np.where(scale > 0.0, scale, 1.0 / np.where(mean > 0.0, mean, 1.0))
        weights = random.normal(size=(len(B), missing)) * units[:, None]
        return np.hstack([A, orthonormal(more)]), np.hstack([B, FAINT / np.sqrt(len(B)) * weights])


def _balanced(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return factors of the same product whose columns are of equal length, as passive-aggressive steps need them."""
    ratio = np.sqrt(np.linalg.norm(B, axis=0) / np.linalg.norm(A, axis=0))
    return A * ratio, B / ratio


def orthonormal(table: np.ndarray, smallest: float = 0.0) -> np.ndarray:
    """Return an orthonormal basis of the columns of a tall table, without directions shorter than ``smallest``."""
    # By the Gram matrix, which is faster than a QR decomposition; the second time makes up for its rounding.
    for _ in range(2):
        if table.shape[1] == 0:
            break
        squares, vectors = eigh(table.T @ table, check_finite=False)
        long = squares > max(smallest**2, SMALL * squares[-1])
        table = table @ (vectors[:, long] / np.sqrt(squares[long]))
        smallest = 0.0
    return table


def _column_moments(table: Any, weights: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean and variance of the columns of a table, or 0 and mean square, and how many entries are not zero."""
    d, total = table.shape[1], weights.sum()
    if not issparse(table):
        mean = weights @ table / total if center else np.zeros(d)
        deviations = table - mean
        variance = np.einsum("i,ij,ij->j", weights, deviations, deviations) / total
        return mean, variance, weights @ (table != 0.0)
    columns, values, each = table.indices, table.data, np.repeat(weights, np.diff(table.indptr))
    entries = np.bincount(columns, each * (values != 0.0), minlength=d)
    mean = np.bincount(columns, each * values, minlength=d) / total if center else np.zeros(d)
    square = np.bincount(columns, each * (values - mean[columns]) ** 2, minlength=d)
    return mean, (square + (total - np.bincount(columns, each, minlength=d)) * mean**2) / total, entries
