"""Minimizes the objective of LMNN: where to start, in which coordinates, and L-BFGS.

L-BFGS is fast where the objective is round. That of LMNN is as round as the covariance C of the differences of
rows and their targets, so it is minimized over A = L C^½ instead of L: ten steps then do what takes hundreds.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

from nearer.monitor import Monitor
from nearer.similarity.lmnn.problem import LargeMargin
from nearer.similarity.row_space import center_groups
from nearer.solver import Solver

CORRECTIONS = 10  # pairs of vectors that L-BFGS keeps
ROUGH_ITER, ROUGH_TOL = 30, 1e-3  # of a map that is then reduced to few components
MAX_DIRECTIONS = 300  # that such a map has
RIDGE = 1e-3  # of the mean variance, added to C: no direction is stretched beyond all others


class ScaledLBFGS(Solver):
    """L-BFGS in coordinates in which the targets' differences have the identity as covariance."""

    needs = ("value_and_gradient", "target_covariance", "n_active")

    def _solve(self, problem: LargeMargin, L: np.ndarray, monitor: Monitor) -> np.ndarray:
        values, vectors = eigh(add_ridge(problem.target_covariance))
        shrink, stretch = (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T
        first = (L @ shrink).ravel()
        value, gradient = problem.value_and_gradient(L)
        unit = value if value > 0.0 else 1.0
        last = value, problem.n_active
        at_first = value / unit, (gradient @ stretch).ravel() / unit

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal last
            if np.array_equal(flat, first):  # the most expensive point, since nothing is pushed away yet
                return at_first
            value, gradient = problem.value_and_gradient(flat.reshape(L.shape) @ stretch)
            last = value, problem.n_active
            return value / unit, (gradient @ stretch).ravel() / unit

        def report(flat: np.ndarray) -> None:
            if not monitor.go_on(flat.reshape(L.shape) @ stretch, loss=last[0], active=last[1]):
                raise StopIteration

        if not monitor.go_on(L, loss=last[0], active=last[1]):
            return L
        limit = monitor.max_iter + 1  # the monitor says when to stop
        options = {"maxiter": limit, "maxfun": 20 * limit, "maxcor": CORRECTIONS, "ftol": 0.0, "gtol": 1e-10}
        end = minimize(objective, first, jac=True, method="L-BFGS-B", callback=report, options=options)
        monitor.stop("converged")  # also if no point along the gradient is lower: the hinge has edges
        return end.x.reshape(L.shape) @ stretch


def first_map(problem: LargeMargin, n_components: int, monitor: Monitor) -> np.ndarray:
    """Return a map to start from: the identity, or the best of few components of a rough fit in all directions.

    With all directions the objective is convex in LᵀL, so a rough optimum is found from the identity. Of its
    components those of largest variance are kept, or those that tell classes apart, whichever is the lower start.
    """
    d = problem.X.shape[1]
    if n_components >= d:
        return np.eye(d)
    principal, most = np.eye(d), max(MAX_DIRECTIONS, n_components)
    if d > most:
        principal = leading_directions(problem.X.T @ problem.X, most)
    rough = LargeMargin(problem.X @ principal, problem.labels, problem.targets, problem.push_share)
    child = monitor.child(ROUGH_ITER, ROUGH_TOL, relative=True)
    L = ScaledLBFGS().solve(rough, np.eye(rough.X.shape[1]), child).solution
    points = rough.X @ L.T
    leading = leading_directions(points.T @ points, n_components)
    discriminant = discriminant_directions(points, problem.labels, n_components)
    return min(leading.T @ L, discriminant.T @ L, key=lambda few: rough.value_and_gradient(few)[0]) @ principal.T


def discriminant_directions(points: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """Return orthonormal directions of the largest variance relative to that within classes (Fisher)."""
    off = center_groups(points, labels)
    if not off.any():  # members of a class are all equal: whatever tells classes apart will do
        return leading_directions(points.T @ points, count)
    directions = eigh(points.T @ points, add_ridge(off.T @ off))[1][:, : -count - 1 : -1]
    return np.linalg.qr(directions)[0]


def leading_directions(matrix: np.ndarray, count: int) -> np.ndarray:
    """Return the eigenvectors of the largest eigenvalues, the largest first, as columns."""
    n = len(matrix)
    return eigh(matrix, subset_by_index=(n - count, n - 1))[1][:, ::-1]


def add_ridge(covariance: np.ndarray) -> np.ndarray:
    """Add the ridge that keeps a covariance away from singular ones."""
    return covariance + RIDGE * float(np.trace(covariance)) / len(covariance) * np.eye(len(covariance))
