"""One step of a factor of a fixed-rank matrix, in the form that all LORETA steps share.

A factor A = Ã R of n rows is kept as a tall table Ã, a small matrix R (the turn) with its inverse, and C, the
inverse of AᵀA. A gradient has few columns g₁ … gᵣ; each touches only the rows in which it has entries. Every
printed step (Algorithms 3, 4 and 5 of the paper) has the form

    Z = A (I + U Ω Vᵀ) + G Θ Vᵀ

with U, V of k rows and Ω, Θ of size r. The first term is taken up by R alone, the second by those rows of Ã; C
follows by an update of rank 2r. So a step costs what its entries times k and k² cost, whatever n is, and yields
the iterates of the printed algorithms to rounding.

All small matrices with k columns here hold one vector a row: ``U[a]`` is column a of U above.
"""

from typing import Any

import numpy as np

from nearer.jit import noinline
from nearer.lowrank.vectors import dot, gather, spread, times


def within_reach(step: float, size: float) -> float:
    """Return the step, or as much of it as the retraction is good for: ``size`` is ‖A†ξB†ᵀ‖ for a step of one.

    The retraction is a polynomial in M = A†ξB†ᵀ. Beyond ‖M‖ = 1 its terms of higher order take over, and a step
    that should shrink a small singular value makes a large one of it.
    """
    return min(step, 1.0 / size) if size > 0.0 else step


def strained(factor: Any, bound: float, limits: Any) -> bool:
    """Whether a factor asks for a fold: its turn is ill-conditioned, or a singular value is too small."""
    trace = 0.0
    for j in range(factor.inverse.shape[0]):
        trace += factor.inverse[j, j]
    return not (bound <= limits[0] and trace <= limits[1])


def solved(matrix: Any, right: Any) -> bool:
    """Solve matrix · X = right in place of ``right``, ruining ``matrix``; False where that is singular."""
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


@noinline
def advance(
    factor: Any, U: Any, V: Any, omega: Any, theta: Any, E: Any, squares: Any, room: Any, change: Any
) -> float:
    """Take the step of a factor, but for the rows of its table: those get ``change[a]`` times column a of G.

    Parameters
    ----------
    factor : Factor
        Its turn, unturn and inverse are changed.
    U, V : arrays of shape (r, k)
        As in the module's form.
    omega, theta : arrays of shape (r, r)
        As in the module's form.
    E : array of shape (r, k)
        Aᵀ times the columns of G.
    squares : array of shape (r, r)
        GᵀG.
    room : Room
        Ruined.
    change : array of shape (r, k)
        Filled in.

    Returns
    -------
    float
        The squared condition of the new turn as ‖R‖²‖R⁻¹‖²/k², which is 1 for an identity: infinite where the
        inverse is to be found anew by a fold, and 0 where the turn would become singular, and nothing was changed.
    """
    r = U.shape[0]
    crossed = room.crossed
    for a in range(r):
        times(factor.inverse, V[a], room.CV[a])
        for b in range(r):
            crossed[a, b] = dot(V[a], U[b])
    # T = (I + VᵀUΩ)⁻¹, by which R⁻¹ and the rows of the table change.
    for a in range(r):
        for b in range(r):
            total = 0.0
            for c in range(r):
                total += crossed[a, c] * omega[c, b]
            room.small[a, b] = total + (a == b)
            room.T[a, b] = 1.0 * (a == b)
    if not solved(room.small, room.T):
        return 0.0
    known = inverse_changed(factor.inverse, U, V, omega, theta, E, squares, room)
    bound = turn_changed(factor.turn, factor.unturn, U, V, omega, theta, room, change)
    return bound if known else np.inf


@noinline
def advance_one(
    factor: Any, u: Any, v: Any, s: float, e: Any, square: float, by: Any, across: Any, change: Any
) -> float:
    """Do what `advance` does for Algorithm 4, a gradient of one column, in which all that is small is a number.

    ``u`` is A†g, ``v`` that of the other factor, s = uᵀv, ``e`` Aᵀg and ``square`` ‖g‖²; ``by`` and ``across`` are
    room for one vector each.
    """
    turn, unturn, inverse = factor.turn, factor.unturn, factor.inverse
    k = u.size
    omega, theta = 0.375 * s - 0.5, 1.0 - 0.5 * s
    both, inside = omega + theta, dot(u, e)
    times(inverse, v, by)
    last = both * both * inside + theta * theta * max(0.0, square - inside)
    m11, m12 = 1.0 + both * s, both * dot(v, by)
    m21, m22 = both * inside + last * s, m11 + last * dot(v, by)
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
            inverse[i, j] -= of_u * u[j] + of_v * by[j]
            across[j] += v[i] * unturn[i, j]
    shrunk = 1.0 / (1.0 + s * omega)
    size, inverse_size = 0.0, 0.0
    for j in range(k):
        change[j] = theta * shrunk * across[j]
    for i in range(k):
        turned, unturned = omega * dot(turn[i], u), omega * shrunk * u[i]
        for j in range(k):
            turn[i, j] += turned * v[j]
            unturn[i, j] -= unturned * across[j]
            size += turn[i, j] * turn[i, j]
            inverse_size += unturn[i, j] * unturn[i, j]
    return size * inverse_size / (k * k) if known else np.inf


def inverse_changed(inverse: Any, U: Any, V: Any, omega: Any, theta: Any, E: Any, squares: Any, room: Any) -> bool:
    """Change C to C - W S (I + B S)⁻¹ Wᵀ with W = [U, CV]; False where rounding hides it."""
    r, k = U.shape
    B, S, middle, W = room.B, room.S, room.middle, room.W
    for a in range(r):
        for b in range(r):
            B[a, b] = dot(U[a], E[b])
            B[a, r + b] = room.crossed[b, a]
            B[r + a, b] = room.crossed[a, b]
            B[r + a, r + b] = dot(V[a], room.CV[b])
            S[a, b] = 0.0
            S[a, r + b] = omega[a, b] + theta[a, b]
            S[r + b, a] = omega[a, b] + theta[a, b]
    for a in range(r):
        for b in range(r):
            total = 0.0
            for c in range(r):
                for d in range(r):
                    total += S[c, r + a] * B[c, d] * S[d, r + b]
                    total += theta[c, a] * (squares[c, d] - B[c, d]) * theta[d, b]
            S[r + a, r + b] = total
    # B and S are symmetric, so S (I + BS)⁻¹ = (I + SB)⁻¹ S.
    for a in range(2 * r):
        for b in range(2 * r):
            total = 0.0
            for c in range(2 * r):
                total += S[a, c] * B[c, b]
            middle[a, b] = total + (a == b)
    if not solved(middle, S):
        return False
    for a in range(r):
        for j in range(k):
            W[a, j] = U[a, j]
            W[r + a, j] = room.CV[a, j]
    for i in range(k):
        for a in range(2 * r):
            total = 0.0
            for b in range(2 * r):
                total += W[b, i] * S[b, a]
            for j in range(k):
                inverse[i, j] -= total * W[a, j]
    return True


def turn_changed(turn: Any, unturn: Any, U: Any, V: Any, omega: Any, theta: Any, room: Any, change: Any) -> float:
    """Change R to R (I + UΩVᵀ) and R⁻¹ with it; see `advance`."""
    r, k = U.shape
    VR, TVR, OTVR, OV = room.VR, room.TVR, room.OTVR, room.W
    for a in range(r):
        for j in range(k):
            VR[a, j] = 0.0
        for i in range(k):
            for j in range(k):
                VR[a, j] += V[a, i] * unturn[i, j]
    for a in range(r):
        combined(room.T, a, VR, TVR[a])
        combined(omega, a, V, OV[a])
    for a in range(r):
        combined(theta, a, TVR, change[a])
        combined(omega, a, TVR, OTVR[a])
    size, inverse_size = 0.0, 0.0
    for i in range(k):
        for a in range(r):
            room.by[a] = dot(turn[i], U[a])
        for a in range(r):
            for j in range(k):
                turn[i, j] += room.by[a] * OV[a, j]
                unturn[i, j] -= U[a, i] * OTVR[a, j]
        size += dot(turn[i], turn[i])
        inverse_size += dot(unturn[i], unturn[i])
    return size * inverse_size / (k * k)


def combined(matrix: Any, a: int, vectors: Any, found: Any) -> None:
    """Put row a of a small matrix times some vectors into ``found``."""
    for j in range(found.size):
        found[j] = 0.0
    for b in range(vectors.shape[0]):
        for j in range(found.size):
            found[j] += matrix[a, b] * vectors[b, j]


def general_coefficients(U: Any, V: Any, omega: Any, theta: Any) -> None:
    """Fill in Ω = -½I + ⅜Q and Θ = I - ½Q of Algorithms 3 and 4, Q = VᵀU."""
    for a in range(U.shape[0]):
        for b in range(U.shape[0]):
            q = dot(V[a], U[b])
            omega[a, b] = 0.375 * q - 0.5 * (a == b)
            theta[a, b] = 1.0 * (a == b) - 0.5 * q


@noinline
def psd_coefficients(H: Any, D: Any, room: Any, omega: Any, theta: Any) -> None:
    """Fill in Ω = -½D + ⅜DND and Θ = D - ½DND of Algorithm 5, N = HᵀH, for a gradient P D Pᵀ."""
    r = H.shape[0]
    for a in range(r):
        for b in range(r):
            room.small[a, b] = dot(H[a], H[b])
    for a in range(r):
        for b in range(r):
            twice = 0.0
            for c in range(r):
                for d in range(r):
                    twice += D[a, c] * room.small[c, d] * D[d, b]
            omega[a, b] = 0.375 * twice - 0.5 * D[a, b]
            theta[a, b] = D[a, b] - 0.5 * twice


def general_step(A: Any, B: Any, left: Any, right: Any, squares: Any, room: Any, other_room: Any) -> float:
    """Take a step of Algorithm 3 along G₁G₂ᵀ, each a list of columns; return the larger bound of `advance`.

    ``squares`` are G₁ᵀG₁ and G₂ᵀG₂. 0 says that the step would make a turn singular; what was changed is then to
    be thrown away.
    """
    r = left.starts.size - 1
    gather_all(A, left, room)
    gather_all(B, right, other_room)
    general_coefficients(room.U, other_room.U, room.omega, room.theta)
    general_coefficients(other_room.U, room.U, other_room.omega, other_room.theta)
    first = advance(A, room.U, other_room.U, room.omega, room.theta, room.E, squares[0], room, room.change)
    if first == 0.0:
        return 0.0
    second = advance(
        B,
        other_room.U,
        room.U,
        other_room.omega,
        other_room.theta,
        other_room.E,
        squares[1],
        other_room,
        other_room.change,
    )
    if second == 0.0:
        return 0.0
    for a in range(r):
        start, size = left.starts[a], left.starts[a + 1] - left.starts[a]
        spread(A.table, left.columns, start, left.values, start, size, 1.0, room.change[a])
        start, size = right.starts[a], right.starts[a + 1] - right.starts[a]
        spread(B.table, right.columns, start, right.values, start, size, 1.0, other_room.change[a])
    return max(first, second)


def psd_step(Y: Any, given: Any, D: Any, squares: Any, room: Any) -> float:
    """Take a step of Algorithm 5 along P D Pᵀ, P a list of columns; see `general_step`."""
    gather_all(Y, given, room)
    psd_coefficients(room.U, D, room, room.omega, room.theta)
    bound = advance(Y, room.U, room.U, room.omega, room.theta, room.E, squares, room, room.change)
    if bound == 0.0:
        return 0.0
    for a in range(D.shape[0]):
        start, size = given.starts[a], given.starts[a + 1] - given.starts[a]
        spread(Y.table, given.columns, start, given.values, start, size, 1.0, room.change[a])
    return bound


def gather_all(factor: Any, given: Any, room: Any) -> None:
    """Put E = AᵀG and U = A†G into the room."""
    for a in range(given.starts.size - 1):
        start, size = given.starts[a], given.starts[a + 1] - given.starts[a]
        gather(factor, given.columns, start, given.values, start, size, room.vector, room.E[a])
        times(factor.inverse, room.E[a], room.U[a])
