"""What the workers of a cluster compute: blocks of features, shards of triplets, and the steps of `CoCoA`.

All are functions without side effects, so that the scheduler may run them anywhere, and again.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from nearer.similarity.problem import duality_gap, primal
from nearer.similarity.sdca import Ascent
from nearer.similarity.triplets import Triplets


@dataclass(frozen=True)
class TripletShard:
    """Some of the triplets, with a table of the rows that they mention, and their part of the weight of all."""

    triplets: Triplets
    share: float

    def evaluate(self, matrix: np.ndarray, alpha: np.ndarray) -> tuple[float, float]:
        """Return the shard's part of the mean loss, and of the duality gap."""
        scores, shares = self.triplets.scores(matrix), self.share * self.triplets.shares
        return primal(shares, scores, matrix, 0.0), duality_gap(shares, alpha, scores)

    def ascend(
        self, matrix: np.ndarray, alpha: np.ndarray, regularization: float, sigma: float, picks: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Take the local steps from the common matrix; return the dual variables and the change ΔM_k.

        ``sigma`` is σ' of the local problem. ``alpha`` may be negative, and what is returned is not.
        """
        start, first = np.maximum(alpha, 0.0), matrix
        if (alpha < 0.0).any():
            first = matrix + sigma * self.matrix(start - alpha, regularization)
        ascent = Ascent(self.triplets, regularization / (sigma * self.share), start, first)
        ascent.ascend(picks)
        return ascent.alpha, (ascent.matrix - matrix) / sigma

    def matrix(self, alpha: np.ndarray, regularization: float) -> np.ndarray:
        """Return the shard's part of M(α)."""
        return self.triplets.matrix(self.share * self.triplets.shares * alpha / regularization)


class Checked(NamedTuple):
    """What the client knows of a block: its size, the first row that is not finite, and the range of each column."""

    n_rows: int
    not_finite: int | None
    lowest: np.ndarray
    highest: np.ndarray


def as_block(part: Any) -> Any:
    """Return a part of an array or DataFrame as a table of float64, dense or CSR."""
    if issparse(part):
        table = csr_array(part, dtype=np.float64)
        table.sum_duplicates()
        return table
    return np.ascontiguousarray(part, dtype=np.float64)


def check_block(block: Any) -> Checked:
    """Return what is to be known of a block."""
    n, d = block.shape
    if n == 0:
        return Checked(0, None, np.empty(d), np.empty(d))
    wrong = np.flatnonzero(~np.isfinite(block.data if issparse(block) else block).reshape(-1))
    if len(wrong):
        row = np.searchsorted(block.indptr, wrong[0], "right") - 1 if issparse(block) else wrong[0] // d
        return Checked(n, int(row), np.empty(d), np.empty(d))
    ends = (block.min(axis=0), block.max(axis=0))
    low, high = (end.toarray().ravel() if issparse(end) else end for end in ends)
    return Checked(n, None, low, high)


def take(block: Any, numbers: np.ndarray) -> Any:
    """Return some rows of a block."""
    return block[numbers]


def stack(tables: list[Any]) -> Any:
    """Return tables as one."""
    return csr_array(vstack(tables, format="csr")) if issparse(tables[0]) else np.concatenate(tables)


def make_shard(tables: list[Any], rows: np.ndarray, weights: np.ndarray | None, share: float) -> TripletShard:
    """Return a shard of triplets over the rows of some tables."""
    return TripletShard(Triplets(stack(tables), rows.copy(), weights), share)


def evaluate_shard(shard: TripletShard, alpha: np.ndarray, number: int, matrix: np.ndarray) -> tuple[float, float]:
    """Return the parts of loss and gap; compiled loops are for arrays that can be written to."""
    return shard.evaluate(np.require(matrix, requirements="W"), alpha.copy())


def ascend_shard(
    shard: TripletShard,
    alpha: np.ndarray,
    number: int,
    matrix: np.ndarray,
    regularization: float,
    sigma: float,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Take an epoch of steps at random; return dual variables and the change of M."""
    n = len(shard.triplets)
    picks = np.random.default_rng([seed, number]).integers(n, size=n, dtype=np.int32)
    return shard.ascend(matrix, alpha, regularization, sigma, picks)


def matrix_of_shard(
    shard: TripletShard, alpha: np.ndarray, number: int, matrix: np.ndarray, regularization: float
) -> np.ndarray:
    """Return the part of M(α); the matrix is not used."""
    return shard.matrix(alpha.copy(), regularization)
