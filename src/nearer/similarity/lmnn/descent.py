"""Lowers the objective of LMNN: where to start, in which coordinates, and L-BFGS under the eyes of a watch.

L-BFGS is quick where the objective is round. That of LMNN is as round as the covariance C of the steps from rows
to targets, which they are drawn together by, so it is lowered over A = L C^½ instead of L: ten steps then do what
takes hundreds.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

from nearer.similarity.lmnn.problem import LargeMargin

CALM = 3  # iterations in a row that lower the objective by no more than tol
CORRECTIONS = 10  # pairs of vectors that L-BFGS keeps
ROUGH_ITER, ROUGH_TOL = 30, 1e-3  # of a map that is cut back to few components
MOST_DIRECTIONS = 300  # that such a map has
RIDGE = 1e-3  # of the mean variance, beside C: no direction is stretched beyond all others


@dataclass
class Watch:
    """Collects one record an iteration and decides when to stop.

    Attributes
    ----------
    max_iter : int
        Iterations at most.
    tol : float
        An iteration is calm when it lowers the objective by no more than this share.
    as_given : callable
        From a map to the one of X as it was given.
    callback : callable, optional
        Called with each record and the map in it; True stops.
    bar : object, optional
        A tqdm bar.
    begun : float
        When the fit began, as time.perf_counter tells it.
    """

    max_iter: int
    tol: float
    as_given: Callable[[np.ndarray], np.ndarray]
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    bar: Any = None
    begun: float = field(default_factory=time.perf_counter)
    history: list[dict[str, Any]] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False
    _calm: int = 0
    _away: float = 0.0

    def go_on(self, L: np.ndarray, loss: float, active: int) -> bool:
        """Record an iteration that ended in this map; return whether there should be another."""
        now = time.perf_counter()
        before = self.history[-1]["loss"] if self.history else np.inf
        record = {
            "iteration": len(self.history),
            "loss": float(loss),
            "active": active,
            "seconds": now - self.begun - self._away,
        }
        self.history.append(record)
        if self.callback is not None and self.callback({**record, "components": self.as_given(L)}):
            self.stopped = True
        if self.bar is not None:
            self.bar.set_postfix_str(f"loss {loss:.6g}, {active} active", refresh=False)
            self.bar.update(1)
        self._calm = self._calm + 1 if before - loss <= self.tol * before else 0
        self.converged = self._calm >= CALM
        self._away += time.perf_counter() - now
        return not (self.stopped or self.converged or len(self.history) > self.max_iter)


def step_covariance(X: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the mean of (x - x')(x - x')ᵀ over rows and their targets; where all are alike, over all pairs."""
    total, count = np.zeros((X.shape[1], X.shape[1])), 0
    for column in targets.T:
        rows = np.flatnonzero(column >= 0)
        steps = X[rows] - X[column[rows]]
        total += steps.T @ steps
        count += len(rows)
    return total / count if total.any() else 2.0 * X.T @ X / len(X)


def unfolded(
    rows: np.ndarray, labels: np.ndarray, targets: np.ndarray, share: float, n_components: int
) -> np.ndarray:
    """Return a map to few components to start from: the best of a map that had all directions.

    With all directions the objective is convex in LᵀL, so a rough optimum is found from the identity. Of its
    components those of largest variance are kept, or those that tell classes apart, whichever is the lower start.

    Parameters
    ----------
    rows, labels, targets, share
        As for :class:`LargeMargin`.
    n_components : int
        Rows of the map.

    Returns
    -------
    array of shape (n_components, d)
    """
    principal = np.eye(rows.shape[1])
    most = max(MOST_DIRECTIONS, n_components)
    if rows.shape[1] > most:
        principal = leading(rows.T @ rows, most)
    inside = rows @ principal
    problem = LargeMargin(inside, labels, targets, share)
    watch = Watch(ROUGH_ITER, ROUGH_TOL, lambda L: L)
    L = descend(problem, np.eye(inside.shape[1]), step_covariance(inside, targets), watch)
    points = inside @ L.T
    ways = [leading(points.T @ points, n_components), discriminant(points, labels, n_components)]
    maps = [way.T @ L for way in ways]
    return min(maps, key=lambda few: problem.value_and_gradient(few)[0]) @ principal.T


def discriminant(points: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """Return orthonormal directions in which classes vary most beside their members (Fisher's criterion)."""
    sizes = np.bincount(labels)
    means = np.add.reduceat(points, np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
    off = points - means[labels]
    if not off.any():  # members of a class are all alike: whatever tells classes apart will do
        return leading(points.T @ points, count)
    directions = eigh(points.T @ points, rounded(off.T @ off))[1][:, : -count - 1 : -1]
    return np.linalg.qr(directions)[0]


def leading(matrix: np.ndarray, count: int) -> np.ndarray:
    """Return the eigenvectors of the largest eigenvalues, the largest first, as columns."""
    n = len(matrix)
    return eigh(matrix, subset_by_index=(n - count, n - 1))[1][:, ::-1]


def descend(problem: LargeMargin, L: np.ndarray, steps: np.ndarray, watch: Watch) -> np.ndarray:
    """Lower the objective from a map on until the watch has seen enough; return the map it ended in.

    Where L-BFGS finds no lower point even along the gradient (the hinge has edges), it is done as well.
    """
    values, vectors = eigh(rounded(steps))
    narrow, wide = (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T
    first = (L @ narrow).ravel()
    value, gradient = problem.value_and_gradient(L)
    unit = value if value > 0.0 else 1.0
    last = value, problem.active
    begin = value / unit, (gradient @ wide).ravel() / unit

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        if np.array_equal(flat, first):  # the dearest of all, since nothing is pushed away yet
            return begin
        value, gradient = problem.value_and_gradient(flat.reshape(L.shape) @ wide)
        last = value, problem.active
        return value / unit, (gradient @ wide).ravel() / unit

    def look(flat: np.ndarray) -> None:
        if not watch.go_on(flat.reshape(L.shape) @ wide, *last):
            raise StopIteration

    if not watch.go_on(L, *last):
        return L
    limit = watch.max_iter + 1  # when to stop is the watch's to say
    options = {"maxiter": limit, "maxfun": 20 * limit, "maxcor": CORRECTIONS, "ftol": 0.0, "gtol": 1e-10}
    ended = minimize(objective, first, jac=True, method="L-BFGS-B", callback=look, options=options)
    watch.converged = watch.converged or not (watch.stopped or len(watch.history) > watch.max_iter)
    return ended.x.reshape(L.shape) @ wide


def rounded(steps: np.ndarray) -> np.ndarray:
    """Add the ridge that keeps a covariance away from singular ones."""
    return steps + RIDGE * float(np.trace(steps)) / len(steps) * np.eye(len(steps))
