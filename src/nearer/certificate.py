"""A certificate of optimality for convex losses: an upper bound of a kernel's or a map's excess over the optimum.

Over kernels K, F(K) = L(K) + λ tr(K) / n, with L the weighted mean loss of squared distances, which are linear in
K. A convex loss lies above its tangents, and a loss is never negative. So any mixture of tangents and of zero is a
line below it: loss(near, far) >= height + near_slope · near + far_slope · far. Their weighted mean is below L:

    F(K) >= height + <G, K> + λ tr(K) / n >= height + (g + λ / n) tr(K)    for every K that is a kernel,

with G = the mean of near_slope (e_i - e_j)(e_i - e_j)ᵀ + far_slope (e_l - e_k)(e_l - e_k)ᵀ and g its smallest
eigenvalue. If g >= -λ / n, the height itself is a lower bound of the optimum F*. If not, scale the lines by
s = -λ / (n g) < 1, a mixture with zero. Hence, without further assumptions,

    F* >= max(0, height) / max(1, -n g / λ).

This is never looser than the textbook's F(K) - F* <= <∇F(K), K> + max(0, -µ) n F(K) / λ with µ = g + λ / n: that
uses tr(K*) <= n F(K) / λ, and is looser by (r - 1)(F(K) - height / r) >= 0 if r = -n g / λ > 1.

A map X is the kernel XXᵀ, so the same bound holds for a map of few dimensions against maps of any number; and the
eigenvector of g, as a further coordinate, is a descent direction.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.optimize import Bounds, minimize
from scipy.sparse import coo_array, csr_array

from nearer.comparisons import Comparisons
from nearer.comparisons.rows import Rows, squared_distances
from nearer.losses import loss_trait, losses_with

__all__ = ["Certificate", "Lines", "certify", "lower_bound", "smallest_eigenpair", "tangents"]

WIDTHS = (1e-4, 1e-3, 1e-2, 1e-1)  # distance to the kink within which a row counts as at it, in margins
MULTIPLIER_STEPS = 200

Floats = NDArray[np.float64]


class Lines(NamedTuple):
    """A line below the loss of each comparison: height + near_slope * near + far_slope * far."""

    near_slope: Floats
    far_slope: Floats
    height: Floats


class Certificate(NamedTuple):
    """An upper bound of a map's excess over the optimum, and a descent direction.

    Attributes
    ----------
    excess : float
        Upper bound of the objective minus that of the best kernel of any rank.
    lower_bound : float
        Lower bound of any map's and any kernel's objective.
    eigenvalue : float
        The smallest eigenvalue of the gradient of the objective over kernels, λ / n included. It is 0 at the
        optimum; if it is negative, a further coordinate along ``direction`` lowers the objective.
    direction : array of shape (n_objects,)
        Its eigenvector, of unit length.
    """

    excess: float
    lower_bound: float
    eigenvalue: float
    direction: Floats


def certify(
    points: ArrayLike, comparisons: Any, loss: Any, regularization: float, lines: Lines | None = None
) -> Certificate:
    """Bound the excess of a map's objective over the optimum over maps of any number of dimensions.

    The objective is the weighted mean loss plus ``regularization * |X|² / n``.

    Parameters
    ----------
    points : array of shape (n_objects, n_dims)
        The map. Its mean changes the objective: center it first.
    comparisons : Comparisons, array or DataFrame
        The comparisons that it was fitted to, with weights.
    loss : object
        A convex loss, such as :class:`nearer.losses.STE`: with ``convex = True``, and never negative.
    regularization : float
        The regularization that was used, above 0.
    lines : Lines, optional
        Lines below the loss, one per row, if better ones than the tangents at the map are known.

    Returns
    -------
    Certificate

    Notes
    -----
    It computes the smallest eigenvalue of a dense n × n matrix (of up to five for the hinge) by a direct method,
    which cannot miss it: a fraction of a second for a thousand objects, seconds for several thousand.

    The bound is tight at the optimum and grows with the distance from it; close to stationarity it can still be
    many times the true excess if the regularization is small. The hinge (``hinge_margin``) has many tangents at
    its kink. Those that make the map stationary are computed by bounded least squares over the rows near the kink,
    and the best bound is returned: valid, but looser than for a smooth loss unless the fit is accurate.

    Examples
    --------
    >>> from nearer.certificate import certify
    >>> from nearer.losses import STE
    >>> bound = certify([[-1.0], [0.0], [1.0]], [[0, 1, 2], [2, 1, 0]], STE(), regularization=0.1)
    >>> bool(0 < bound.excess < 0.2), bound.direction.shape
    (True, (3,))
    """
    check_certifiable(loss, regularization)
    points, comparisons = np.asarray(points, dtype=np.float64), Comparisons.of(comparisons)
    rows, n = comparisons.rows, len(points)
    if points.ndim != 2 or comparisons.n_objects > n:
        raise ValueError(f"{comparisons.n_objects} objects need as many points; got shape {points.shape}")
    if len(rows) == 0 or (comparisons.weights is not None and not comparisons.weights.any()):
        raise ValueError("there is nothing to certify: no comparisons, or all weights are zero")
    share = shares(comparisons)
    near, far = squared_distances(points, rows)
    losses = loss.value(near, far)
    if not (losses >= 0.0).all():
        raise ValueError(f"only a loss that is never negative can be certified; {loss!r} is {np.min(losses)}")
    objective = float(share @ losses) + regularization / n * float(np.vdot(points, points))
    margin = loss_trait(loss, "hinge_margin")
    if lines is not None:
        candidates = iter([lines])
    elif margin is not None:
        candidates = _hinge_candidates(points, rows, share, margin + near - far, margin, regularization)
    else:
        candidates = iter([tangents(loss, near, far)])

    def bound(lines: Lines) -> Certificate:
        gradient = laplacian(rows, share * lines.near_slope, share * lines.far_slope, n).toarray()
        smallest, direction = smallest_eigenpair(gradient)
        lower = lower_bound(float(share @ lines.height), smallest, regularization, n)
        return Certificate(max(0.0, objective - lower), lower, smallest + regularization / n, direction)

    return min(map(bound, candidates), key=lambda certificate: certificate.excess)


def check_certifiable(loss: Any, regularization: float) -> None:
    """Raise a ValueError if there is no lower bound."""
    if not loss_trait(loss, "convex"):
        known = f"{', '.join(losses_with('convex'))}, or your own with convex = True"
        raise ValueError(f"only a convex loss ({known}) has a provable optimum; got {loss!r}")
    if not regularization > 0:
        raise ValueError(
            "without regularization the optimum may be at infinity: regularization must be a number above 0; "
            f"got {regularization!r}"
        )


def lower_bound(height: float, smallest: float, regularization: float, n_objects: int) -> float:
    """Return a lower bound of every kernel's objective, from the lines' mean height and smallest eigenvalue."""
    return max(0.0, height) / max(1.0, -n_objects * smallest / regularization)


def tangents(loss: Any, near: Floats, far: Floats) -> Lines:
    """Return the tangents of a loss at these distances."""
    near_slope, far_slope = loss.slopes(near, far)
    return Lines(near_slope, far_slope, loss.value(near, far) - near_slope * near - far_slope * far)


def hinge_lines(multipliers: Floats, margin: float) -> Lines:
    """Return the lines multiplier * (margin + near - far), below the hinge for multipliers from 0 to 1."""
    return Lines(multipliers, -multipliers, margin * multipliers)


def shares(comparisons: Comparisons) -> Floats:
    """Return the weights of the rows, normalized to a sum of 1."""
    if comparisons.weights is None:
        return np.full(len(comparisons), 1.0 / len(comparisons))
    weights = comparisons.weights / comparisons.weights.max()  # whose sum does not overflow
    return weights / weights.sum()


def laplacian(rows: Rows, near: Floats, far: Floats, n_objects: int) -> csr_array:
    """Return the sum over rows of near (e_i - e_j)(e_i - e_j)ᵀ + far (e_l - e_k)(e_l - e_k)ᵀ."""
    first = np.concatenate([rows[:, 0], rows[:, 0 if rows.shape[1] == 3 else 2]])
    second = np.concatenate([rows[:, 1], rows[:, -1]])
    pull = np.concatenate([near, far])
    places = (np.concatenate([first, second, first, second]), np.concatenate([first, second, second, first]))
    return coo_array((np.concatenate([pull, pull, -pull, -pull]), places), shape=(n_objects, n_objects)).tocsr()


def smallest_eigenpair(matrix: Floats) -> tuple[float, Floats]:
    """Return a lower bound of the smallest eigenvalue, exact up to rounding, and its eigenvector."""
    values, vectors = eigh(matrix, subset_by_index=[0, 0], check_finite=False)
    rounding = len(matrix) * float(np.finfo(np.float64).eps) * float(np.abs(matrix).sum(axis=0).max())
    return float(values[0]) - rounding, vectors[:, 0]


def _hinge_candidates(
    points: Floats, rows: Rows, share: Floats, shortfall: Floats, margin: float, regularization: float
) -> Iterator[Lines]:
    """Yield lines below the hinge: its tangents at the map, and lines that make the map stationary."""
    active = (shortfall > 0.0).astype(np.float64)
    yield hinge_lines(active, margin)
    n_kinks = 0
    for width in WIDTHS:
        kinks = np.flatnonzero(np.abs(shortfall) <= width * abs(margin))
        if len(kinks) > n_kinks:
            n_kinks = len(kinks)
            yield hinge_lines(_stationary_multipliers(points, rows, share, active, kinks, regularization), margin)


def _stationary_multipliers(
    points: Floats, rows: Rows, share: Floats, active: Floats, kinks: NDArray[np.intp], regularization: float
) -> Floats:
    """Return multipliers, free from 0 to 1 at the kinks, that minimize the gradient (G + λ / n) X: least squares."""
    n, second = len(points), 0 if rows.shape[1] == 3 else 2
    at, others = rows[kinks], active * share
    others[kinks] = 0.0
    fixed = laplacian(rows, others, -others, n) @ points + regularization / n * points
    near = points[at[:, 0]] - points[at[:, 1]]
    far = points[at[:, second]] - points[at[:, -1]]

    def half_square(multipliers: Floats) -> tuple[float, Floats]:
        pull = multipliers * share[kinks]
        gradient = fixed + laplacian(at, pull, -pull, n) @ points
        change = np.einsum("nd,nd->n", gradient[at[:, 0]] - gradient[at[:, 1]], near)
        change -= np.einsum("nd,nd->n", gradient[at[:, second]] - gradient[at[:, -1]], far)
        return 0.5 * n * float(np.vdot(gradient, gradient)), n * share[kinks] * change

    limits = {"maxiter": MULTIPLIER_STEPS, "ftol": 1e-14, "gtol": 0.0}
    first = np.full(len(kinks), 0.5)
    result = minimize(half_square, first, jac=True, method="L-BFGS-B", bounds=Bounds(0.0, 1.0), options=limits)
    multipliers = active.copy()
    multipliers[kinks] = np.clip(result.x, 0.0, 1.0)
    return multipliers
