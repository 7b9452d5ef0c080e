"""How far a kernel or a map can be from the best there is: a proof, for losses that are convex.

Over kernels K, F(K) = L(K) + λ tr(K) / n, L the weighted mean loss of squared distances, which are linear in K. A
convex loss lies above its tangents, and a loss is never negative. So any mixture of tangents and of zero is a
line below it: loss(near, far) >= height + near_slope · near + far_slope · far. Their weighted mean is below L:

    F(K) >= height + <G, K> + λ tr(K) / n >= height + (g + λ / n) tr(K)    for every K that is a kernel,

with G = the mean of near_slope (e_i - e_j)(e_i - e_j)ᵀ + far_slope (e_l - e_k)(e_l - e_k)ᵀ and g its smallest
eigenvalue. Where g >= -λ / n the height itself is a lower bound of the optimum F*. Where it is not, the lines
times s = -λ / (n g) < 1, a mixture with zero, make it so. Hence, with no further assumption,

    F* >= max(0, height) / max(1, -n g / λ).

This is never looser than the textbook's F(K) - F* <= <∇F(K), K> + max(0, -µ) n F(K) / λ with µ = g + λ / n: that
uses tr(K*) <= n F(K) / λ, and falls short of ours by (r - 1)(F(K) - height / r) >= 0 where r = -n g / λ > 1.

A map X is the kernel XXᵀ, so the same line says how far a map of few dimensions is from the best of any number;
and the eigenvector of g, as one further coordinate, is the way down.
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
from nearer.losses import GNMDS

__all__ = ["Certificate", "Lines", "certify", "lower_bound", "smallest_eigenpair", "tangents"]

WIDTHS = (1e-4, 1e-3, 1e-2, 1e-1)  # how near the hinge a row counts as at it, in margins
MULTIPLIER_STEPS = 200

Floats = NDArray[np.float64]


class Lines(NamedTuple):
    """A line below the loss of each comparison: height + near_slope * near + far_slope * far."""

    near_slope: Floats
    far_slope: Floats
    height: Floats


class Certificate(NamedTuple):
    """How far from the best a map is, at most, and where to go.

    Attributes
    ----------
    excess : float
        Upper bound of the objective minus that of the best kernel, of any number of dimensions.
    lower_bound : float
        Lower bound of any map's and any kernel's objective.
    eigenvalue : float
        The smallest of the slope of the objective over kernels, λ / n included. At the optimum it is 0; where
        it is below, a further coordinate along ``direction`` lowers the objective.
    direction : array of shape (n_objects,)
        Its eigenvector, of length one.
    """

    excess: float
    lower_bound: float
    eigenvalue: float
    direction: Floats


def certify(
    points: ArrayLike,
    comparisons: Any,
    loss: Any,
    regularization: float,
    lines: Lines | None = None,
) -> Certificate:
    """Say how far a map's objective can be above the optimum over maps of any number of dimensions.

    The objective is the weighted mean loss plus ``regularization * |X|² / n``.

    Parameters
    ----------
    points : array of shape (n_objects, n_dims)
        The map. Moving it as a whole changes the objective: centre it first.
    comparisons : Comparisons, array or DataFrame
        What it was fitted to, with weights.
    loss : object
        A convex loss, such as :class:`nearer.losses.STE`: it says so by ``convex = True``, and is never negative.
    regularization : float
        The ridge as used, above 0.
    lines : Lines, optional
        Lines below the loss, one a row, where you know better ones than the tangents at the map.

    Returns
    -------
    Certificate

    Notes
    -----
    It takes one smallest eigenvalue of a dense n × n matrix (up to five for the hinge), so that nothing is left
    to an iteration that may have missed it: a fraction of a second for a thousand objects, seconds for
    several thousand.

    The bound is tight at the optimum and grows with the distance from it; a tenth of a per cent from
    stationarity it can be many times the true excess where the ridge is small. The hinge of GNMDS has a whole
    fan of tangents at its kink. Those that make the map stationary are looked for by bounded least squares over
    the rows within some widths of the kink, and the best bound is returned: valid, but looser than for a smooth
    loss unless the fit is a good one.

    Examples
    --------
    >>> from nearer.certificate import certify
    >>> from nearer.losses import STE
    >>> bound = certify([[-1.0], [0.0], [1.0]], [[0, 1, 2], [2, 1, 0]], STE(), regularization=0.1)
    >>> bool(0 < bound.excess < 0.2), bound.direction.shape
    (True, (3,))
    """
    check_certifiable(loss, regularization)
    points, given = np.asarray(points, dtype=np.float64), Comparisons.of(comparisons)
    n = len(points)
    if points.ndim != 2 or given.n_objects > n:
        raise ValueError(f"{given.n_objects} objects need as many points; got an array of shape {points.shape}")
    if len(given) == 0 or (given.weights is not None and not given.weights.any()):
        raise ValueError("there is nothing to certify: no comparisons, or all weights are zero")
    share = shares(given)
    near, far = squared_distances(points, given.rows)
    losses = loss.value(near, far)
    if not (losses >= 0.0).all():
        raise ValueError(f"only a loss that is never negative can be certified; {loss!r} is {np.min(losses)}")
    objective = float(share @ losses) + regularization / n * float(np.vdot(points, points))
    if lines is not None:
        candidates = iter([lines])
    elif type(loss) is GNMDS:
        candidates = _hinge_lines(points, given.rows, share, near - far, loss.margin, regularization)
    else:
        candidates = iter([tangents(loss, near, far)])

    def judged(lines: Lines) -> Certificate:
        slope = laplacian(given.rows, share * lines.near_slope, share * lines.far_slope, n).toarray()
        smallest, direction = smallest_eigenpair(slope)
        least = lower_bound(float(share @ lines.height), smallest, regularization, n)
        return Certificate(max(0.0, objective - least), least, smallest + regularization / n, direction)

    return min(map(judged, candidates), key=lambda certificate: certificate.excess)


def check_certifiable(loss: Any, regularization: float) -> None:
    """Raise a ValueError where there is no lower bound to be had."""
    if not getattr(loss, "convex", False):
        raise ValueError(
            f"only a convex loss (ste, gnmds, or your own with convex = True) has a provable optimum; got {loss!r}"
        )
    if not regularization > 0:
        raise ValueError(
            "without a ridge the optimum may lie at infinity: regularization must be a number above 0; "
            f"got {regularization!r}"
        )


def lower_bound(height: float, smallest: float, regularization: float, n_objects: int) -> float:
    """Return a lower bound of the objective of every kernel.

    Parameters
    ----------
    height : float
        Weighted mean of the heights of lines below the losses.
    smallest : float
        Smallest eigenvalue of the weighted mean of their slopes, or anything below it; without the ridge.
    regularization : float
        The ridge.
    n_objects : int
        Number of objects.

    Examples
    --------
    >>> lower_bound(0.5, -0.02, 0.1, 10)  # twice as steep as the ridge allows
    0.25
    """
    return max(0.0, height) / max(1.0, -n_objects * smallest / regularization)


def tangents(loss: Any, near: Floats, far: Floats) -> Lines:
    """Return the tangents of a loss at these distances.

    Examples
    --------
    >>> tangents(GNMDS(), np.array([1.0]), np.array([1.5])).height
    array([1.])
    """
    near_slope, far_slope = loss.slopes(near, far)
    return Lines(near_slope, far_slope, loss.value(near, far) - near_slope * near - far_slope * far)


def hinge_lines(multipliers: Floats, margin: float) -> Lines:
    """Return the lines multiplier * (margin + near - far), below the hinge for multipliers from 0 to 1."""
    return Lines(multipliers, -multipliers, margin * multipliers)


def shares(comparisons: Comparisons) -> Floats:
    """Return the share of each row in the weighted mean."""
    if comparisons.weights is None:
        return np.full(len(comparisons), 1.0 / len(comparisons))
    return comparisons.weights / comparisons.weights.sum()


def laplacian(rows: Rows, near: Floats, far: Floats, n_objects: int) -> csr_array:
    """Return the sum over rows of near (e_i - e_j)(e_i - e_j)ᵀ + far (e_l - e_k)(e_l - e_k)ᵀ.

    Examples
    --------
    >>> laplacian(np.array([[0, 1, 2]]), np.array([1.0]), np.array([-1.0]), 3).toarray()
    array([[ 0., -1.,  1.],
           [-1.,  1.,  0.],
           [ 1.,  0., -1.]])
    """
    first = np.concatenate([rows[:, 0], rows[:, 0 if rows.shape[1] == 3 else 2]])
    second = np.concatenate([rows[:, 1], rows[:, -1]])
    pull = np.concatenate([near, far])
    places = (np.concatenate([first, second, first, second]), np.concatenate([first, second, second, first]))
    return coo_array((np.concatenate([pull, pull, -pull, -pull]), places), shape=(n_objects, n_objects)).tocsr()


def smallest_eigenpair(matrix: Floats) -> tuple[float, Floats]:
    """Return a lower bound of the smallest eigenvalue, off by rounding only, and its eigenvector.

    Examples
    --------
    >>> value, vector = smallest_eigenpair(np.diag([3.0, -1.0, 2.0]))
    >>> round(value, 12), int(np.abs(vector).argmax())
    (-1.0, 1)
    """
    values, vectors = eigh(matrix, subset_by_index=[0, 0], check_finite=False)
    rounding = len(matrix) * float(np.finfo(np.float64).eps) * float(np.abs(matrix).sum(axis=0).max())
    return float(values[0]) - rounding, vectors[:, 0]


def _hinge_lines(
    points: Floats, rows: Rows, share: Floats, short: Floats, margin: float, regularization: float
) -> Iterator[Lines]:
    """Yield lines below the hinge: its tangents at the map, and such as make the map stationary."""
    short = margin + short
    steep = (short > 0.0).astype(np.float64)
    yield hinge_lines(steep, margin)
    n_kinks = 0
    for width in WIDTHS:
        kinks = np.flatnonzero(np.abs(short) <= width * abs(margin))
        if len(kinks) > n_kinks:
            n_kinks = len(kinks)
            yield hinge_lines(_stationary(points, rows, share, steep, kinks, regularization), margin)


def _stationary(
    points: Floats, rows: Rows, share: Floats, steep: Floats, kinks: NDArray[np.intp], regularization: float
) -> Floats:
    """Return multipliers, free between 0 and 1 at the kinks, that make the slope at the points smallest.

    The slope is (G + λ / n) X, and G is linear in the multipliers: bounded least squares.
    """
    n, second = len(points), 0 if rows.shape[1] == 3 else 2
    at, others = rows[kinks], steep * share
    others[kinks] = 0.0
    fixed = laplacian(rows, others, -others, n) @ points + regularization / n * points
    near = points[at[:, 0]] - points[at[:, 1]]
    far = points[at[:, second]] - points[at[:, -1]]

    def square(multipliers: Floats) -> tuple[float, Floats]:
        pull = multipliers * share[kinks]
        slope = fixed + laplacian(at, pull, -pull, n) @ points
        turn = np.einsum("nd,nd->n", slope[at[:, 0]] - slope[at[:, 1]], near)
        turn -= np.einsum("nd,nd->n", slope[at[:, second]] - slope[at[:, -1]], far)
        return 0.5 * n * float(np.vdot(slope, slope)), n * share[kinks] * turn

    found = minimize(
        square,
        np.full(len(kinks), 0.5),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0.0, 1.0),
        options={"maxiter": MULTIPLIER_STEPS, "ftol": 1e-14, "gtol": 0.0},
    )
    multipliers = steep.copy()
    multipliers[kinks] = np.clip(found.x, 0.0, 1.0)
    return multipliers
