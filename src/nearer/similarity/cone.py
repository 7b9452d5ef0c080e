"""The constrained problem (4) of the SDCA paper: the best positive semidefinite matrix, through a dual of its own.

Algorithm 1 does not keep M ⪰ 0, and projecting its result is wrong: it can be worse than M = 0. The
Lagrangian of the constrained problem gives M(α) = Π₊(½(V + Vᵀ)), V = Σ pᵢ αᵢ Xᵢ / λ, and the dual D(α) = Σ pᵢ (αᵢ
- αᵢ²/4) - λ/2 ‖M(α)‖² over α ≥ 0. It is smooth, with slopes pᵢ(1 - αᵢ/2 - sᵢ), so L-BFGS with bounds maximises it.
A projection is orthogonal to what it took away, so that λ‖M(α)‖² = Σ pᵢ αᵢ sᵢ holds as before, and the gap is the
same sum of squares.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import Bounds, minimize

from nearer.similarity.sdca import Found, Watch, duality_gap, primal
from nearer.similarity.triplets import Triplets


def projected(matrix: np.ndarray) -> np.ndarray:
    """Return the positive semidefinite matrix nearest to the symmetric part of a matrix.

    Examples
    --------
    >>> projected(np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    factor = factor_of(matrix)
    return factor.T @ factor


def factor_of(matrix: np.ndarray) -> np.ndarray:
    """Return L with LᵀL nearest to a matrix: a row for each positive eigenvalue, the largest first, one at least.

    Examples
    --------
    >>> abs(factor_of(np.diag([4.0, -1.0])))
    array([[2., 0.]])
    """
    values, vectors = eigh(0.5 * (matrix + matrix.T), driver="evr")
    positive = values > 1e-12 * max(values[-1], 0.0)
    positive[-1] = True
    return np.ascontiguousarray(
        (np.sqrt(np.maximum(values[positive], 0.0))[:, None] * vectors[:, positive].T)[::-1]
    )


class _Over(Exception):
    """The watch has seen enough."""


def constrained(triplets: Triplets, regularization: float, watch: Watch, start: np.ndarray | None = None) -> Found:
    """Find the positive semidefinite matrix of the smallest P.

    Parameters
    ----------
    triplets : Triplets
        The data.
    regularization : float
        λ.
    watch : Watch
        Sees every iteration of L-BFGS as an epoch.
    start : array of shape (n,), optional
        Dual variables to start from.

    Returns
    -------
    Found
    """
    n, shares = len(triplets), triplets.shares
    alpha = np.zeros(n) if start is None else start
    found = Found(np.empty(0), alpha, np.inf)
    seen = np.full(n, np.nan), np.empty(0), np.empty(0)

    def at(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix and its scores; those of the last point are kept for the watch."""
        nonlocal seen
        if not np.array_equal(seen[0], alpha):
            matrix = projected(triplets.matrix(shares * alpha / regularization))
            seen = alpha.copy(), matrix, triplets.scores(matrix)
        return seen[1:]

    def descent(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        matrix, scores = at(alpha)
        dual = shares @ (alpha - 0.25 * alpha**2) - 0.5 * regularization * np.vdot(matrix, matrix)
        return -n * float(dual), -n * shares * (1.0 - 0.5 * alpha - scores)

    def over(alpha: np.ndarray) -> None:
        nonlocal found
        matrix, scores = at(alpha)
        gap = duality_gap(shares, alpha, scores)
        if gap < found.gap:
            found = Found(matrix, alpha.copy(), gap)
        value = primal(shares, scores, matrix, regularization)
        if watch.over(len(watch.history), value, gap, dual=value - gap):
            raise _Over

    try:
        over(alpha)
        options = {"maxiter": watch.max_epochs + 1, "maxfun": 10 * watch.max_epochs, "ftol": 0.0, "gtol": 0.0}
        bounds = Bounds(np.zeros(n), np.inf)
        minimize(descent, alpha, jac=True, method="L-BFGS-B", bounds=bounds, callback=over, options=options)
    except _Over:
        pass
    return found
