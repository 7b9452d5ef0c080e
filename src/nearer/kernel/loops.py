"""The secular equation of a projection, on a small tridiagonal matrix.

It is solved after every step of Lanczos' method; in numpy it would take longer than that step.
"""

from typing import Any

import numpy as np

UNDECIDED, POSITIVE, NEGATIVE = 0, 1, 2
NEWTON_STEPS = 40


def secular(
    alpha: Any, beta: Any, size: int, weight: float, shift: float, floor: float, bound: float, c: Any
) -> tuple[int, float, float]:
    """Return whether ``A - weight u uᵀ`` has a negative eigenvalue, that eigenvalue, and the residual; fill ``c``.

    A is positive semidefinite. Lanczos' method on (A + shift I)⁻¹, started at the unit vector u, gave ``alpha`` on
    the diagonal and ``beta`` beside it; ``beta[size - 1]`` leads out of the space. An eigenvalue μ < 0 solves
    weight * φ(μ) = 1 with φ(μ) = uᵀ(A - μI)⁻¹u, of which Gauss' quadrature is a lower bound φ_q. With
    s = shift + μ and c = (I - sT)⁻¹e₁, the residual of the eigenvector is s beta c_q, and φ - φ_q is at most
    (s beta c_q)² (1/s + 1/(bound - μ)), where ``bound`` is a lower bound of A's eigenvalues: this can prove that
    none is below -floor.
    """
    low, high = -weight, -floor
    mu = high
    for step in range(NEWTON_STEPS):
        s = shift + mu
        # From the last pivot backwards: the first entry of c is then one over the last one computed.
        pivot = 1.0 - s * alpha[size - 1]
        c[size - 1] = pivot
        good = pivot > 0.0
        for i in range(size - 2, -1, -1):
            pivot = 1.0 - s * alpha[i] - (s * beta[i]) ** 2 / pivot
            c[i] = pivot
            good = good and pivot > 0.0
        if not good:  # beyond the smallest eigenvalue, where φ has a pole
            high = mu
            mu = 0.5 * (low + mu)
            continue
        c[0] = 1.0 / c[0]
        for i in range(1, size):
            c[i] = s * beta[i - 1] * c[i - 1] / c[i]
        phi = alpha[0] * c[0] + (beta[0] * c[1] if size > 1 else 0.0)
        slope = 0.0
        for i in range(size):
            entry = alpha[i] * c[i]
            if i > 0:
                entry += beta[i - 1] * c[i - 1]
            if i < size - 1:
                entry += beta[i] * c[i + 1]
            slope += entry * entry
        out = beta[size - 1] * c[size - 1]
        if step == 0 and weight * phi < 1.0:
            doubt = (s * out) ** 2 * (1.0 / s + 1.0 / (bound + floor))
            return (POSITIVE if weight * (phi + doubt) <= 1.0 else UNDECIDED), 0.0, abs(s * out)
        if weight * phi < 1.0:
            low = mu
        else:
            high = mu
        # A Newton step for 1/φ = weight, which is nearly linear.
        best = mu + (phi - weight * phi * phi) / slope
        if not low < best < high:
            best = 0.5 * (low + high)
        if abs(best - mu) <= 1e-14 * weight:
            break
        mu = best
    return NEGATIVE, mu, abs(s * out) / np.sqrt(slope + out * out)
