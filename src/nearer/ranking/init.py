"""Where factors start: the three initial models of the paper's section 7.2.1, or factors of the user.

The default, a closed form, is in :mod:`nearer.ranking.ridge`.

W = 0 is not of rank k. The paper adds up the first 2k subgradients and takes the best matrix of rank k; here
they are kept as 2k rank-one terms, W = -(v₁x₁ᵀ + …), so that no matrix of labels by features is made: the best
approximation comes from QR factors of the two thin tables.
"""

from typing import Any

import numpy as np

from nearer.lowrank import Rows, product_svd
from nearer.ranking.models import SMALLEST, LoretaModel, RankingModel
from nearer.ranking.targets import TrainingSet

INITS = ("ridge", "zero", "identity", "gaussian")
DEFAULT_RANK = 50
MAX_ROWS = 5_000  # that a start looks at: some of them have no loss


def start_model(ranker: Any, solver: Any, train: TrainingSet, rate: float, seed: int) -> RankingModel:
    """Return the model that a solver starts from, as the parameters of a ranker ask for."""
    options = {"warp": ranker.negatives == "warp", "seed": seed}
    if not solver.factored:
        return solver.model(np.zeros((train.table.shape[1], train.n_labels)), **options)
    size = rate if solver.model is LoretaModel else 1.0 / train.rows.mean_square
    rank = factor_rank(ranker, train.n_labels, train.table.shape[1])
    random = np.random.default_rng(seed)
    A, B = initial_factors(ranker.init, rank, train, size, random, solver.printed)
    return solver.model(A, B, **options)


def factor_rank(ranker: Any, n_labels: int, d: int) -> int:
    """Return the rank of the factors; "auto" is that of factors to start from, or 50 where the sizes allow it."""
    if not isinstance(ranker.rank, str):
        return int(ranker.rank)
    if not isinstance(ranker.init, str):
        return int(np.shape(ranker.init[0])[-1])
    return min(DEFAULT_RANK, n_labels, d)


def check_factors(ranker: Any, n_labels: int, d: int) -> None:
    """Raise a ValueError if the rank is too large, or factors to start from have another shape than the model."""
    most, rank = min(n_labels, d), factor_rank(ranker, n_labels, d)
    if rank > most:
        counted = ", the constant feature counted" if ranker.fit_intercept else ""
        raise ValueError(
            f"rank={rank} is more than a matrix of {n_labels} labels by {d} features can have{counted}: "
            f"give a rank of {most} at most, or solver='perceptron'"
        )
    if isinstance(ranker.init, str):
        return
    expected = (n_labels, rank), (d, rank)
    shapes = tuple(np.shape(factor) for factor in ranker.init)
    if shapes != expected:
        last = ", the constant one last" if ranker.fit_intercept else ""
        raise ValueError(
            f"init must be two arrays of shapes {expected[0]}, labels by rank, and {expected[1]}, features by rank"
            f"{last}; got {shapes[0]} and {shapes[1]}"
        )


def constant_value(table: Any) -> float:
    """Return the value of the constant feature of a table: the root mean square of its entries that are not 0."""
    # Steps change the weights of a feature by its square, so a fixed value would learn faster or slower than the
    # other features, depending on their scale.
    values = Rows.of(table).values
    entries = np.count_nonzero(values)
    return float(np.sqrt(values @ values / entries)) if entries else 1.0


def initial_factors(
    init: Any, rank: int, train: TrainingSet, rate: float, random: np.random.Generator, printed: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B to start from; the subgradients of "zero", as printed or not, have the step size ``rate``."""
    n_labels, d = train.n_labels, train.table.shape[1]
    if not isinstance(init, str):
        A, B = init
        return np.array(A, dtype=np.float64), np.array(B, dtype=np.float64)
    if init == "identity":
        return np.eye(n_labels, rank), np.eye(d, rank)
    if init == "gaussian":
        A, B = random.normal(size=(n_labels, rank)), random.normal(size=(d, rank))
        size = np.sqrt(rank * train.rows.mean_square)
        return A / np.sqrt(size), B / np.sqrt(size)
    return _from_zero(rank, train, rate, random, printed)


def _from_zero(
    rank: int, train: TrainingSet, rate: float, random: np.random.Generator, printed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Take 2k perceptron steps from W = 0, kept as -V Xᵀ, and return the best approximation of rank k."""
    table, n_labels = train.table, train.n_labels
    V, X = np.zeros((n_labels, 2 * rank)), np.zeros((table.shape[1], 2 * rank))
    size = 0
    for row in range(table.shape[0]):
        if size == 2 * rank:
            break
        x = table[[row]].toarray()[0] if hasattr(table, "indptr") else table[row]
        v = _subgradient(-rate * (V[:, :size] @ (X[:, :size].T @ x)), train.labels.of_row(row), printed)
        if v is not None and x.any():
            V[:, size], X[:, size] = v, x
            size += 1
    left, values, right = product_svd(-V, X)
    A, B, values = left[:, :rank], right[:, :rank], rate * values[:rank]
    typical = rate * np.sqrt(2.0 * train.rows.mean_square)
    empty = values < 1e-9 * max(typical, values[0])
    for side, n in ((A, n_labels), (B, table.shape[1])):
        side[:, empty] = _others(side[:, ~empty], random.normal(size=(n, int(empty.sum()))))
    roots = np.sqrt(np.maximum(values, SMALLEST * typical))
    return A * roots, B * roots


def _subgradient(scores: np.ndarray, true: np.ndarray, printed: bool) -> np.ndarray | None:
    """Return v of the subgradient v xᵀ; None if there is no loss."""
    false = scores.copy()
    false[true] = -np.inf
    worst = int(false.argmax())
    violated = true[scores[worst] - scores[true] + 1.0 > 0.0]
    if len(violated) == 0:
        return None
    v = np.zeros(len(scores))
    v[violated] = -1.0
    v[worst] = 1.0 if printed else len(violated)
    return v


def _others(have: np.ndarray, random: np.ndarray) -> np.ndarray:
    """Return random directions, orthonormal to each other and to those in ``have``."""
    whole, _ = np.linalg.qr(np.hstack([have, random]))
    return whole[:, have.shape[1] :]
