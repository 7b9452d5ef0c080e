"""Where a low-rank similarity starts from: factors of full rank, as large as the features are small."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import randomized_svd

from nearer.lowrank import product_svd
from nearer.similarity.low_rank.start import Start, leading_axes, leading_directions
from nearer.similarity.prior import Whitening
from nearer.similarity.triplets import row_products

INITS = ("auto", "whitened", "svd", "identity", "zero", "gaussian")
DEPENDENT = 1e-6  # share of the largest singular value below which columns depend on each other
FAINT = 1e-3  # of the largest column: directions added where a start has fewer than were asked for


def initial_factors(
    init: Any, table: Any, triplets: np.ndarray, rank: int, psd: bool, random: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Return Y, or A and B, to start from, for an ``init`` of `LowRankSimilarity`; triplets are for "zero"."""
    d = table.shape[1]
    if not isinstance(init, str):
        return _check_factors(init, d, rank, psd)
    scale = 1.0 / (np.sqrt(row_products(table, table).mean()) or 1.0)
    if init == "zero":
        factors = _first_gradients(table, triplets[: 2 * rank], rank, psd, random)
        return tuple(_of_full_rank(factor, rank, random) for factor in factors)
    if init == "identity":
        factor = scale * np.eye(d, rank)
    elif init == "gaussian":
        factor = scale * random.normal(size=(d, rank)) / np.sqrt(rank)
    else:
        n = min(rank, *table.shape)
        _, _, right = randomized_svd(table, n, random_state=int(random.integers(2**31)))
        factor = _of_full_rank(scale * right.T, rank, random)
    return (factor,) if psd else (factor, factor.copy())


def start_factor(start: Start, table: Any, labels: np.ndarray | None, random: np.random.Generator) -> np.ndarray:
    """Return the factor of a start, so that vectors of unit length come out on average.

    The table is standardized where the start whitens, by its covariance within classes, or without labels by the whole.
    """
    if start.shrinkage is None:
        whole = start.rank == table.shape[1]
        factor = np.eye(start.rank) if whole else leading_directions(table, start.rank)
        rows = np.asarray(table @ factor)
    else:
        weights = Whitening(table, labels).map(start.shrinkage).weights
        assert weights is not None
        rows = np.asarray(table @ weights)
        axes = leading_axes(rows)[:, : start.rank]
        left, sizes, _ = np.linalg.svd(
            weights @ axes, full_matrices=False
        )  # columns that do not depend on each other
        factor, rows = (left * sizes)[:, sizes > DEPENDENT * sizes[0]], rows @ axes
    scale = np.sqrt(np.square(rows).sum(axis=1).mean()) or 1.0
    return _of_full_rank(factor / scale, start.rank, random)


def _check_factors(init: Any, d: int, rank: int, psd: bool) -> tuple[np.ndarray, ...]:
    arrays = tuple(np.asarray(factor, dtype=np.float64) for factor in ([init] if psd else init))
    if len(arrays) != (1 if psd else 2) or any(array.shape != (d, rank) for array in arrays):
        wanted = f"an array of shape {(d, rank)}" if psd else f"a pair of arrays of shape {(d, rank)}"
        got = np.shape(init) if psd or isinstance(init, np.ndarray) else [array.shape for array in arrays[:3]]
        raise ValueError(f"init must be one of {', '.join(INITS)}, or {wanted}; got shape {got}")
    return arrays


def is_init(init: Any) -> bool:
    """Whether a value of the parameter ``init`` is the name of a start, or may be factors."""
    return init in INITS if isinstance(init, str) else isinstance(init, np.ndarray | list | tuple)


def _first_gradients(
    table: Any, triplets: np.ndarray, rank: int, psd: bool, random: np.random.Generator
) -> list[np.ndarray]:
    """Add up the gradients of the first triplets at W = 0, and cut the sum to its rank: A and B, or Y."""
    left = _dense(table[triplets[:, 0]]).T
    right = _dense(table[triplets[:, 1]] - table[triplets[:, 2]]).T
    if psd:  # ½(QZᵀ + ZQᵀ), of which the positive part is kept
        basis, both = np.linalg.qr(np.column_stack([left, right]))
        q, z = both[:, : len(triplets)], both[:, len(triplets) :]
        values, vectors = np.linalg.eigh(0.5 * (q @ z.T + z @ q.T))
        best = np.argsort(-values)[:rank]
        factors = [basis @ (vectors[:, best] * np.sqrt(np.maximum(values[best], 0.0)))]
    else:
        u, values, v = product_svd(left, right)
        factors = [side[:, :rank] * np.sqrt(values[:rank]) for side in (u, v)]
    scores = ((left.T @ factors[0]) * (right.T @ factors[-1])).sum(axis=1)
    mean = scores.mean()  # is scaled to one
    return [factor / np.sqrt(mean) if mean > 0 else factor for factor in factors]


def _of_full_rank(factor: np.ndarray, rank: int, random: np.random.Generator) -> np.ndarray:
    """Add faint random directions until there are as many columns as asked for, none of them nothing."""
    d = len(factor)
    sizes = np.linalg.norm(factor, axis=0)
    largest = sizes.max(initial=0.0) or 1.0
    kept = factor[:, sizes > FAINT * FAINT * largest]
    missing = rank - kept.shape[1]
    if missing <= 0:
        return kept
    others = random.normal(size=(d, missing))
    if kept.shape[1]:
        basis = np.linalg.qr(kept)[0]
        others -= basis @ (basis.T @ others)
    return np.column_stack([kept, FAINT * largest * np.linalg.qr(others)[0]])


def _dense(table: Any) -> np.ndarray:
    return table.toarray() if issparse(table) else table
