"""Steps along gradients of r columns, compiled: Algorithms 3 and 5 of the paper, for any r.

The form is that of :mod:`nearer.lowrank.loops`, Z = A (I + UΩVᵀ) + G Θ Vᵀ. For many columns
:mod:`nearer.lowrank.blocks` is faster.
"""

from typing import Any

import numpy as np

from nearer.jit import noinline
from nearer.lowrank.vectors import add_outer, dot, project, row, times


def general_step(A: Any, B: Any, left: Any, right: Any, squares: Any, work: Any, other_work: Any) -> float:
    """Take a step of Algorithm 3 along G₁G₂ᵀ; return the larger bound of `advance`.

    The columns of G₁ and G₂ are given as `Rows`; ``squares`` are G₁ᵀG₁ and G₂ᵀG₂. 0 says that the step would make
    an R singular; what was changed is then to be discarded.
    """
    U, V, omega, theta = work.U, other_work.U, work.omega, work.theta
    project_all(A, left, work)
    project_all(B, right, other_work)
    general_coefficients(U, V, omega, theta)
    first = advance(A, U, V, omega, theta, work.E, squares[0], work, work.change)
    general_coefficients(V, U, omega, theta)
    second = advance(B, V, U, omega, theta, other_work.E, squares[1], other_work, other_work.change)
    if first == 0.0 or second == 0.0:
        return 0.0
    add_all(A.table, left, work.change)
    add_all(B.table, right, other_work.change)
    return max(first, second)


def psd_step(Y: Any, P: Any, D: Any, squares: Any, work: Any) -> float:
    """Take a step of Algorithm 5 along P D Pᵀ, P given by its columns as `Rows`; see `general_step`."""
    project_all(Y, P, work)
    psd_coefficients(work.U, D, work, work.omega, work.theta)
    bound = advance(Y, work.U, work.U, work.omega, work.theta, work.E, squares, work, work.change)
    if bound != 0.0:
        add_all(Y.table, P, work.change)
    return bound


def project_all(factor: Any, G: Any, work: Any) -> None:
    """Put E = AᵀG and U = A†G into the workspace."""
    for a in range(G.places.size):
        columns, values = row(G, a)
        project(factor, columns, values, work.vector, work.E[a])
        times(factor.C, work.E[a], work.U[a])


def add_all(table: Any, G: Any, change: Any) -> None:
    """Add G · change to a table, G given by its columns."""
    for a in range(G.places.size):
        columns, values = row(G, a)
        add_outer(table, columns, values, 1.0, change[a])


def general_coefficients(U: Any, V: Any, omega: Any, theta: Any) -> None:
    """Fill in Ω = -½I + ⅜Q and Θ = I - ½Q of Algorithms 3 and 4, Q = VᵀU."""
    products(V, U, omega)
    for a in range(U.shape[0]):
        for b in range(U.shape[0]):
            theta[a, b] = 1.0 * (a == b) - 0.5 * omega[a, b]
            omega[a, b] = 0.375 * omega[a, b] - 0.5 * (a == b)


def psd_coefficients(H: Any, D: Any, work: Any, omega: Any, theta: Any) -> None:
    """Fill in Ω = -½D + ⅜DND and Θ = D - ½DND of Algorithm 5, N = HᵀH, for a gradient P D Pᵀ."""
    products(H, H, work.small[0])
    multiply(D, work.small[0], work.small[1])
    multiply(work.small[1], D, omega)
    for a in range(H.shape[0]):
        for b in range(H.shape[0]):
            theta[a, b] = D[a, b] - 0.5 * omega[a, b]
            omega[a, b] = 0.375 * omega[a, b] - 0.5 * D[a, b]


@noinline
def advance(
    factor: Any, U: Any, V: Any, omega: Any, theta: Any, E: Any, squares: Any, work: Any, change: Any
) -> float:
    """Take the step of a factor, except for the rows of its table: those get ``change[a]`` times column a of G.

    Parameters
    ----------
    factor : Factor
        Its R, R_inv and C are changed.
    U, V : arrays of shape (r, k)
        As in the module's form.
    omega, theta : arrays of shape (r, r)
        As in the module's form.
    E : array of shape (r, k)
        Aᵀ times the columns of G.
    squares : array of shape (r, r)
        GᵀG.
    work : Workspace
        Overwritten.
    change : array of shape (r, k)
        Filled in.

    Returns
    -------
    float
        The squared condition of the new R as ‖R‖²‖R⁻¹‖²/k², which is 1 for an identity: infinite if C has to be
        recomputed, and 0 if R would become singular, and nothing was changed.
    """
    crossed, system, T = work.small[0], work.small[1], work.small[2]
    products(V, U, crossed)
    multiply(crossed, omega, system)
    for a in range(U.shape[0]):
        for b in range(U.shape[0]):
            T[a, b] = 1.0 * (a == b)
        system[a, a] += 1.0
    if not solve(system, T):  # T = (I + VᵀUΩ)⁻¹, by which R⁻¹ and the rows of the table change
        return 0.0
    CV = work.wide[0]
    multiply(V, factor.C, CV)
    known = update_C(factor.C, U, V, CV, crossed, omega, theta, E, squares, work)
    bound = update_R(factor.R, factor.R_inv, U, V, T, omega, theta, work, change)
    return bound if known else np.inf


def update_C(
    C: Any, U: Any, V: Any, CV: Any, crossed: Any, omega: Any, theta: Any, E: Any, squares: Any, work: Any
) -> bool:
    """Change C to C - W S (I + B S)⁻¹ Wᵀ with W = [U, CV]; False if the system is singular to rounding."""
    r, k = U.shape
    B, S, system = work.middle[0], work.middle[1], work.middle[2]
    K, VCV, W, SW = work.small[1], work.small[3], work.tall[0], work.tall[1]
    products(U, E, K)
    products(V, CV, VCV)
    for a in range(r):
        for b in range(r):
            B[a, b], B[a, r + b], B[r + a, b], B[r + a, r + b] = K[a, b], crossed[b, a], crossed[a, b], VCV[a, b]
            S[a, b] = 0.0
            S[a, r + b] = S[r + b, a] = omega[a, b] + theta[a, b]
    for a in range(r):
        for b in range(r):
            total = 0.0
            for c in range(r):
                for d in range(r):
                    total += S[c, r + a] * K[c, d] * S[d, r + b]
                    total += theta[c, a] * (squares[c, d] - K[c, d]) * theta[d, b]
            S[r + a, r + b] = total
        for j in range(k):
            W[a, j], W[r + a, j] = U[a, j], CV[a, j]
    multiply(S, B, system)
    for a in range(2 * r):
        system[a, a] += 1.0
    if not solve(system, S):  # B and S are symmetric, so S (I + BS)⁻¹ = (I + SB)⁻¹ S
        return False
    multiply(S, W, SW)
    add_product(SW, W, -1.0, C)
    return True


def update_R(R: Any, R_inv: Any, U: Any, V: Any, T: Any, omega: Any, theta: Any, work: Any, change: Any) -> float:
    """Change R to R (I + UΩVᵀ) and R⁻¹ with it; see `advance`."""
    VR, TVR, scaled, UR = work.wide[1], work.wide[2], work.wide[3], work.wide[4]
    multiply(V, R_inv, VR)
    multiply(T, VR, TVR)
    multiply(theta, TVR, change)
    multiply(omega, TVR, scaled)
    add_product(U, scaled, -1.0, R_inv)
    products(U, R, UR)
    multiply(omega, V, scaled)
    add_product(UR, scaled, 1.0, R)
    size, inverse_size = 0.0, 0.0
    for i in range(R.shape[0]):
        size += dot(R[i], R[i])
        inverse_size += dot(R_inv[i], R_inv[i])
    return size * inverse_size / (R.shape[0] * R.shape[0])


@noinline
def multiply(A: Any, B: Any, out: Any) -> None:
    """Put A B into ``out``."""
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            out[i, j] = 0.0
        for a in range(A.shape[1]):
            value = A[i, a]
            for j in range(B.shape[1]):
                out[i, j] += value * B[a, j]


@noinline
def products(A: Any, B: Any, out: Any) -> None:
    """Put A Bᵀ, the inner products of their rows, into ``out``."""
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = 0.0
            for a in range(A.shape[1]):
                total += A[i, a] * B[j, a]
            out[i, j] = total


@noinline
def add_product(A: Any, B: Any, scale: float, out: Any) -> None:
    """Add scale · AᵀB to ``out``."""
    for i in range(A.shape[1]):
        for a in range(A.shape[0]):
            value = scale * A[a, i]
            for j in range(B.shape[1]):
                out[i, j] += value * B[a, j]


@noinline
def solve(matrix: Any, right: Any) -> bool:
    """Put the solution X of matrix · X = right into ``right``, overwriting ``matrix``; False if it is singular."""
    n, m = right.shape
    largest = 0.0
    for p in range(n):
        pivot = p
        for i in range(p + 1, n):
            if abs(matrix[i, p]) > abs(matrix[pivot, p]):
                pivot = i
        size = abs(matrix[pivot, p])
        largest = max(largest, size)
        if not size > 1e-10 * max(1.0, largest):
            return False
        if pivot != p:
            for j in range(n):
                matrix[p, j], matrix[pivot, j] = matrix[pivot, j], matrix[p, j]
            for j in range(m):
                right[p, j], right[pivot, j] = right[pivot, j], right[p, j]
        for i in range(p + 1, n):
            factor = matrix[i, p] / matrix[p, p]
            for j in range(p + 1, n):
                matrix[i, j] -= factor * matrix[p, j]
            for j in range(m):
                right[i, j] -= factor * right[p, j]
    for p in range(n - 1, -1, -1):
        for j in range(m):
            total = right[p, j]
            for i in range(p + 1, n):
                total -= matrix[p, i] * right[i, j]
            right[p, j] = total / matrix[p, p]
    return True
