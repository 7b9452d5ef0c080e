"""Where factors start: the three initial models of the paper's section 7.2.1, or factors that are given.

W = 0 is not of rank k. The paper adds up the first 2k subgradients and takes the best matrix of rank k; here
they are kept as 2k rank-one terms, W = -(v₁x₁ᵀ + …), so that no matrix of labels by features is made: the best
approximation comes from QR factors of the two thin tables.
"""

from typing import Any

import numpy as np

from nearer.lowrank import Rows
from nearer.ranking.learners import LEARNERS, SMALLEST, Learner, mean_square
from nearer.ranking.parameters import FACTORED
from nearer.ranking.targets import Lessons

MOST_ROWS = 5_000  # that a start looks at: some of them have no loss


def started(model: Any, lessons: Lessons, rate: float, seed: int) -> Learner:
    """Return a learner at its start, for the solver and the start that a ranker asks for."""
    warp = model.sampling == "warp"
    if model.solver not in FACTORED:
        zero = np.zeros((lessons.table.shape[1], lessons.n_labels))
        return LEARNERS[model.solver](zero, warp=warp, seed=seed)
    size = rate if model.solver == "loreta" else 1.0 / mean_square(lessons.rows)
    A, B = factors(model.init, int(model.rank), lessons, size, np.random.default_rng(seed))
    return LEARNERS[model.solver](A, B, warp=warp, seed=seed)


def constant_of(table: Any) -> float:
    """Return the value of the constant feature beside a table: the root mean square of its entries that are not 0.

    Steps move each feature's weights by its square. With a value of its own the constant feature would learn at
    another pace on every scale, and beside small features it would be the only one that learns.
    """
    values = Rows.of(table).values
    entries = np.count_nonzero(values)
    return float(np.sqrt(values @ values / entries)) if entries else 1.0


def unit(solver: str, lessons: Lessons) -> float:
    """Return the step size that changes the score of a label by about one: what steps are measured in."""
    square = mean_square(lessons.rows)
    if solver == "pa":  # factors that are as large as each other share the scale of the features
        return square**-0.5
    if solver == "group-perceptron":  # where all features matter alike, the mirror makes them smaller by that much
        return float(np.exp(max(0.0, np.log(lessons.table.shape[1]) - 2.0)) / square)
    return 1.0 / square


def factors(
    init: Any, rank: int, lessons: Lessons, rate: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B to start from.

    Parameters
    ----------
    init : {"zero", "identity", "gaussian"} or pair of arrays
        Which start.
    rank : int
        Columns of A and B.
    lessons : Lessons
        Rows to learn from.
    rate : float
        Step size of the subgradients.
    random : numpy.random.Generator
        Draws what is drawn.
    """
    n_labels, d = lessons.n_labels, lessons.table.shape[1]
    if not isinstance(init, str):
        A, B = init
        return np.array(A, dtype=np.float64), np.array(B, dtype=np.float64)
    if init == "identity":
        return np.eye(n_labels, rank), np.eye(d, rank)
    if init == "gaussian":
        A, B = random.normal(size=(n_labels, rank)), random.normal(size=(d, rank))
        size = np.sqrt(rank * mean_square(lessons.rows))
        return A / np.sqrt(size), B / np.sqrt(size)
    return _from_zero(rank, lessons, rate, random)


def _from_zero(
    rank: int, lessons: Lessons, rate: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Take 2k perceptron steps from W = 0, kept as -V Xᵀ, and return the best approximation of rank k."""
    table, n_labels = lessons.table, lessons.n_labels
    V, X = np.zeros((n_labels, 2 * rank)), np.zeros((table.shape[1], 2 * rank))
    size = 0
    for row in range(table.shape[0]):
        if size == 2 * rank:
            break
        x = table[[row]].toarray()[0] if hasattr(table, "indptr") else table[row]
        v = _subgradient(-rate * (V[:, :size] @ (X[:, :size].T @ x)), lessons.labels.of_row(row))
        if v is not None and x.any():
            V[:, size], X[:, size] = v, x
            size += 1
    Q, R = np.linalg.qr(V)
    P, S = np.linalg.qr(X)
    left, values, right = np.linalg.svd(-R @ S.T)
    values = rate * values
    typical = rate * np.sqrt(2.0 * mean_square(lessons.rows))
    A, B = Q @ left[:, :rank], P @ right[:rank].T
    values = values[:rank]
    empty = values < 1e-9 * max(typical, values[0])
    for side, n in ((A, n_labels), (B, table.shape[1])):
        side[:, empty] = _others(side[:, ~empty], random.normal(size=(n, int(empty.sum()))))
    roots = np.sqrt(np.maximum(values, SMALLEST * typical))
    return A * roots, B * roots


def _subgradient(scores: np.ndarray, true: np.ndarray) -> np.ndarray | None:
    """Return v of the subgradient v xᵀ, None where there is no loss."""
    false = scores.copy()
    false[true] = -np.inf
    worst = int(false.argmax())
    violated = true[scores[worst] - scores[true] + 1.0 > 0.0]
    if len(violated) == 0:
        return None
    v = np.zeros(len(scores))
    v[violated] = -1.0
    v[worst] = len(violated)
    return v


def _others(have: np.ndarray, random: np.ndarray) -> np.ndarray:
    """Return random directions, orthonormal to each other and to those that are there."""
    whole, _ = np.linalg.qr(np.hstack([have, random]))
    return whole[:, have.shape[1] :]
