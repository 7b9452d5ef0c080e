"""One step of a factor of a fixed-rank matrix, in the form that all LORETA steps share.

A factor A = Ã R of n rows is kept as a tall table Ã, a small matrix R with its inverse, and C = (AᵀA)⁻¹. A
gradient has few columns g₁ … gᵣ; each touches only the rows in which it has entries. Every printed step
(Algorithms 3, 4 and 5 of the paper) has the form

    Z = A (I + U Ω Vᵀ) + G Θ Vᵀ

with U, V of k rows and Ω, Θ of size r. The first term changes R alone, the second those rows of Ã; C follows by an
update of rank 2r. So a step costs what its entries times k and k² cost, whatever n is, and yields the iterates of
the printed algorithms to rounding.

All small matrices with k columns hold one vector per row: ``U[a]`` is column a of U above. Here are the steps that
learners take, along one column or two; :mod:`nearer.lowrank.gradients` has those along any number.
"""

from typing import Any

import numpy as np

from nearer.jit import noinline
from nearer.lowrank.vectors import add_outer, dot, project, row, sparse_dot, times

ONE = (1.0, 0.0, 0.0, 1.0)  # the 2 × 2 identity


def limit_step(step: float, size: float) -> float:
    """Return the step, shortened to where the retraction is accurate; ``size`` is ‖A†ξB†ᵀ‖ for a step of one.

    The retraction is a polynomial in M = A†ξB†ᵀ. Beyond ‖M‖ = 1 its terms of higher order take over, and a step
    that should shrink a small singular value makes it large.
    """
    return min(step, 1.0 / size) if size > 0.0 else step


def full_step(step: float, size: float) -> float:
    """Return the step as it is: what `limit_step` is bound to for steps as printed."""
    return step


def exceeds(factor: Any, growth: float, limits: Any) -> bool:
    """Whether to reorthogonalize, since R, R⁻¹ or C has changed too much, or a singular value is too small.

    To first order, an error D of C⁻¹ becomes TᵀDT in a step that multiplies R by T. So errors grow by ‖R‖², and
    relative to AᵀA by the growth of C. If C shrinks, the rounding of what it was remains.
    """
    traces, trace = factor.traces, 0.0
    for j in range(factor.C.shape[0]):
        trace += factor.C[j, j]
    traces[0], traces[1] = min(traces[0], trace), max(traces[1], trace)
    return not (growth <= limits[0] and traces[1] <= limits[0] * traces[0] and trace <= limits[1])


@noinline
def advance_one(
    factor: Any, u: Any, v: Any, s: float, e: Any, square: float, by: Any, across: Any, change: Any
) -> float:
    """Take the step of a factor of Algorithm 4, along one column g, except for the rows of its table.

    Those get ``change`` times g. Returns the larger of ‖R‖²/k and ‖R⁻¹‖²/k for the new R, infinite if C has to be
    recomputed. ``u`` is A†g, ``v`` that of the other factor, s = uᵀv, ``e`` Aᵀg and ``square`` ‖g‖²; ``by`` and
    ``across`` are overwritten.
    """
    R, R_inv, C = factor.R, factor.R_inv, factor.C
    k = u.size
    omega, theta = 0.375 * s - 0.5, 1.0 - 0.5 * s
    both, inside = omega + theta, dot(u, e)
    times(C, v, by)
    vCv = dot(v, by)
    last = both * both * inside + theta * theta * max(0.0, square - inside)
    m11, m12 = 1.0 + both * s, both * vCv
    m21, m22 = both * inside + last * s, m11 + last * vCv
    determinant = m11 * m22 - m12 * m21
    known = determinant > 1e-10
    if not known:
        determinant = 1.0
    x11, x12 = -m12 * both / determinant, (m22 * both - m12 * last) / determinant
    x22 = (m11 * last - m21 * both) / determinant
    for j in range(k):
        across[j] = 0.0
    for i in range(k):
        of_u, of_v = x11 * u[i] + x12 * by[i], x12 * u[i] + x22 * by[i]
        for j in range(k):
            C[i, j] -= of_u * u[j] + of_v * by[j]
            across[j] += v[i] * R_inv[i, j]
    shrunk = 1.0 / (1.0 + s * omega)
    size, inverse_size = 0.0, 0.0
    for j in range(k):
        change[j] = theta * shrunk * across[j]
    for i in range(k):
        of_R, of_inverse = omega * dot(R[i], u), omega * shrunk * u[i]
        for j in range(k):
            R[i, j] += of_R * v[j]
            R_inv[i, j] -= of_inverse * across[j]
            size += R[i, j] * R[i, j]
            inverse_size += R_inv[i, j] * R_inv[i, j]
    return max(size, inverse_size) / k if known else np.inf


@noinline
def advance_two(Y: Any, D: Any, E: Any, U: Any, squares: Any, vectors: Any, change: Any) -> float:
    """Do the same for Algorithm 5, along P D Pᵀ of two columns, in which all that is small is 2 × 2.

    ``E`` is YᵀP, ``U`` is Y†P and ``squares`` PᵀP; D, squares and the matrices below are tuples, row by row. R
    never becomes singular. The vectors are overwritten.
    """
    R, R_inv, C, k = Y.R, Y.R_inv, Y.C, U.shape[1]
    u, v, Cu, Cv, Ru, Rv = U[0], U[1], vectors[0], vectors[1], vectors[2], vectors[3]
    N = (dot(u, u), dot(u, v), dot(u, v), dot(v, v))
    K = (dot(u, E[0]), dot(u, E[1]), dot(u, E[1]), dot(v, E[1]))
    twice = multiply_2(multiply_2(D, N), D)
    omega, theta = add_2(twice, 0.375, D, -0.5), add_2(twice, -0.5, D, 1.0)
    times(C, u, Cu)
    times(C, v, Cv)
    known, M11, M12, M21, M22 = update_of_C(
        N, K, (dot(u, Cu), dot(u, Cv), dot(u, Cv), dot(v, Cv)), omega, theta, squares
    )
    for j in range(k):
        Ru[j] = Rv[j] = 0.0
    for i in range(k):
        a = u[i] * M11[0] + v[i] * M11[2] + Cu[i] * M21[0] + Cv[i] * M21[2]
        b = u[i] * M11[1] + v[i] * M11[3] + Cu[i] * M21[1] + Cv[i] * M21[3]
        c = u[i] * M12[0] + v[i] * M12[2] + Cu[i] * M22[0] + Cv[i] * M22[2]
        d = u[i] * M12[1] + v[i] * M12[3] + Cu[i] * M22[1] + Cv[i] * M22[3]
        for j in range(k):
            C[i, j] -= a * u[j] + b * v[j] + c * Cu[j] + d * Cv[j]
            Ru[j] += u[i] * R_inv[i, j]
            Rv[j] += v[i] * R_inv[i, j]
    T = invert_2(add_2(multiply_2(N, omega), 1.0, ONE, 1.0))
    by_theta, by_omega = multiply_2(theta, T), multiply_2(omega, T)
    for j in range(k):
        change[0, j] = by_theta[0] * Ru[j] + by_theta[1] * Rv[j]
        change[1, j] = by_theta[2] * Ru[j] + by_theta[3] * Rv[j]
    size, inverse_size = 0.0, 0.0
    for i in range(k):
        of_u, of_v = dot(R[i], u), dot(R[i], v)
        a, b = of_u * omega[0] + of_v * omega[2], of_u * omega[1] + of_v * omega[3]
        c, d = u[i] * by_omega[0] + v[i] * by_omega[2], u[i] * by_omega[1] + v[i] * by_omega[3]
        for j in range(k):
            R[i, j] += a * u[j] + b * v[j]
            R_inv[i, j] -= c * Ru[j] + d * Rv[j]
            size += R[i, j] * R[i, j]
            inverse_size += R_inv[i, j] * R_inv[i, j]
    return max(size, inverse_size) / k if known else np.inf


@noinline
def update_of_C(N: Any, K: Any, P: Any, omega: Any, theta: Any, squares: Any) -> Any:
    """Return the blocks of S (I + BS)⁻¹, as in `nearer.lowrank.gradients`, and whether they are reliable."""
    gamma = add_2(omega, 1.0, theta, 1.0)
    outside = multiply_2(multiply_2(theta, add_2(squares, 1.0, K, -1.0)), theta)
    X = add_2(multiply_2(multiply_2(gamma, K), gamma), 1.0, outside, 1.0)
    corner, b = add_2(multiply_2(gamma, N), 1.0, ONE, 1.0), multiply_2(gamma, P)
    c = add_2(multiply_2(gamma, K), 1.0, multiply_2(X, N), 1.0)
    inverse = invert_2(corner)
    c_inverse, inverse_b = multiply_2(c, inverse), multiply_2(inverse, b)
    schur = add_2(add_2(corner, 1.0, multiply_2(X, P), 1.0), 1.0, multiply_2(c, inverse_b), -1.0)
    known = (corner[0] * corner[3] - corner[1] * corner[2]) * (schur[0] * schur[3] - schur[1] * schur[2]) > 1e-10
    back = invert_2(schur if known else ONE)
    M21 = multiply_2(back, gamma)
    M22 = multiply_2(back, add_2(X, 1.0, multiply_2(c_inverse, gamma), -1.0))
    M11 = add_2(multiply_2(inverse_b, M21), -1.0, ONE, 0.0)
    M12 = add_2(multiply_2(inverse, gamma), 1.0, multiply_2(inverse_b, M22), -1.0)
    return known, M11, M12, M21, M22


@noinline
def multiply_2(A: Any, B: Any) -> Any:
    """Return the product of 2 × 2 matrices."""
    first = A[0] * B[0] + A[1] * B[2], A[0] * B[1] + A[1] * B[3]
    return (*first, A[2] * B[0] + A[3] * B[2], A[2] * B[1] + A[3] * B[3])


@noinline
def add_2(A: Any, a: float, B: Any, b: float) -> Any:
    """Return a A + b B of 2 × 2 matrices."""
    return a * A[0] + b * B[0], a * A[1] + b * B[1], a * A[2] + b * B[2], a * A[3] + b * B[3]


@noinline
def invert_2(A: Any) -> Any:
    """Return the inverse of a 2 × 2 matrix."""
    determinant = A[0] * A[3] - A[1] * A[2]
    return A[3] / determinant, -A[1] / determinant, -A[2] / determinant, A[0] / determinant


# The steps of a solver, as the loops of learners call them. ``factors`` are A and B, or Y alone. ``gradient`` is a
# tuple: columns and values of a sparse vector g₁, then those of g₂; Aᵀg₁ and Bᵀg₂ are in ``work.E``. ``number``
# counts the steps of the stream. They return whether to reorthogonalize.


def loreta_step(
    factors: Any, gradient: Any, loss: float, step: float, number: int, limits: Any, work: Any
) -> bool:
    """Step along step · g₁g₂ᵀ on the manifold (Algorithm 4, LORETA-1)."""
    A, B, E, U = factors[0], factors[-1], work.E, work.U
    p, x, q, y = gradient
    times(A.C, E[0], U[0])
    times(B.C, E[1], U[1])
    step = limit_step(step, abs(dot(U[0], U[1])))
    for j in range(E.shape[1]):
        E[0, j] *= step
        U[0, j] *= step
    s = dot(U[0], U[1])
    by, across, change = work.vectors[0], work.vectors[1], work.vectors[2]
    growth = advance_one(A, U[0], U[1], s, E[0], step * step * dot(x, x), by, across, change)
    add_outer(A.table, p, x, step, change)
    other = advance_one(B, U[1], U[0], s, E[1], dot(y, y), by, across, change)
    add_outer(B.table, q, y, 1.0, change)
    return exceeds(A, growth, limits) or exceeds(B, other, limits)


def loreta_psd_step(
    factors: Any, gradient: Any, loss: float, step: float, number: int, limits: Any, work: Any
) -> bool:
    """Step along step · P D Pᵀ, P = [g₁ g₂], D in ``work.D``, on the manifold (Algorithm 5, LORETA-1-PSD)."""
    Y, E, U, D, change = factors[0], work.E, work.U, work.D, work.change
    p, x, q, y = gradient
    times(Y.C, E[0], U[0])
    times(Y.C, E[1], U[1])
    first, second = dot(U[0], U[0]), dot(U[1], U[1])
    long, other, mixed = dot(x, x), dot(y, y), sparse_dot(p, x, q, y)
    across = D[0, 1] if long > 0.0 and other > 0.0 else 0.0  # times a long step, zeros would not stay zeros
    size = abs(across) * (abs(dot(U[0], U[1])) + np.sqrt(first * second))
    step = limit_step(step, size + abs(D[0, 0]) * first + abs(D[1, 1]) * second)
    scaled = step * D[0, 0], step * across, step * across, step * D[1, 1]
    growth = advance_two(Y, scaled, E, U, (long, mixed, mixed, other), work.vectors, change)
    add_outer(Y.table, p, x, 1.0, change[0])
    add_outer(Y.table, q, y, 1.0, change[1])
    return exceeds(Y, growth, limits)


def take_loreta_step(factors: Any, left: Any, right: Any, limits: Any, work: Any) -> bool:
    """Step along g₁g₂ᵀ, vectors that are given as `Rows`."""
    (p, x), (q, y) = row(left, 0), row(right, 0)
    project(factors[0], p, x, work.vectors[0], work.E[0])
    project(factors[1], q, y, work.vectors[0], work.E[1])
    return loreta_step(factors, (p, x, q, y), 0.0, 1.0, 0, limits, work)


def take_loreta_psd_step(factors: Any, P: Any, D: Any, limits: Any, work: Any) -> bool:
    """Step along P D Pᵀ, one or two columns that are given as `Rows`."""
    r = P.places.size
    p, x = row(P, 0)
    q, y = row(P, r - 1)
    if r == 1:
        q, y = q[:0], y[:0]
    work.D[:] = 0.0
    work.D[:r, :r] = D
    project(factors[0], p, x, work.vectors[0], work.E[0])
    project(factors[0], q, y, work.vectors[0], work.E[1])
    return loreta_psd_step(factors, (p, x, q, y), 0.0, 1.0, 0, limits, work)


def passive_aggressive_step(
    factors: Any, gradient: Any, loss: float, cap: float, number: int, limits: Any, work: Any
) -> bool:
    """Change A with B fixed, and in the next step B with A fixed, by as little as removes the loss, or the cap."""
    E, first = work.E, number % 2 == 0
    p, x, q, y = gradient
    square = dot(x, x) * dot(E[1], E[1]) if first else dot(y, y) * dot(E[0], E[0])
    step = min(loss / square, cap) if square > 0.0 else 0.0
    if first:
        add_outer(factors[0].table, p, x, step, E[1])
    else:
        add_outer(factors[-1].table, q, y, step, E[0])
    return False
