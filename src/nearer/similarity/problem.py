"""The regularized problem of a bilinear similarity, its dual, and the gap between the two.

The objective is P(M) = Σ pᵢ (1 - sᵢ)₊² + λ/2 ‖M‖² with scores sᵢ = ⟨M, Xᵢ⟩ and shares pᵢ (1/n without weights).
The dual is D(α) = Σ pᵢ (αᵢ - αᵢ²/4) - λ/2 ‖M(α)‖² over α ≥ 0, M(α) = Σ pᵢ αᵢ Xᵢ / λ.
As λ‖M(α)‖² = Σ pᵢ αᵢ sᵢ, the gap is a sum of terms that are never negative, without cancellation::

    P(M(α)) - D(α) = Σ pᵢ [(1 - sᵢ - αᵢ/2)²  where sᵢ ≤ 1,  αᵢ(sᵢ - 1) + αᵢ²/4  where sᵢ > 1]

It bounds how far P(M(α)) is above its minimum, and ‖M(α) - M*‖² by 2 gap / λ.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.similarity.triplets import Triplets


@dataclass(frozen=True)
class Problem:
    """Triplets with λ (not used by OASIS), whether M ⪰ 0 is asked for, and a generator that draws the steps."""

    triplets: Triplets
    regularization: float = 1.0
    psd: bool = False
    random: np.random.Generator = field(default_factory=np.random.default_rng)

    def matrix(self, alpha: np.ndarray) -> np.ndarray:
        """Return Σ pᵢ αᵢ Xᵢ / λ."""
        return self.triplets.matrix(self.triplets.shares / self.regularization * alpha)

    def evaluate(self, matrix: np.ndarray, alpha: np.ndarray, scores: np.ndarray | None = None) -> dict[str, Any]:
        """Return the entries of a record: the objective, the dual and their gap; from scores that are known."""
        scores = self.triplets.scores(matrix) if scores is None else scores
        value = primal(self.triplets.shares, scores, matrix, self.regularization)
        gap = duality_gap(self.triplets.shares, alpha, scores)
        return {"loss": value, "gap": gap, "dual": value - gap}


@dataclass(frozen=True)
class Solution:
    """What a solver returns: M; of SDCA also the gap and the dual variables; of OASIS what it continues from."""

    matrix: np.ndarray
    gap: float | None = None
    alpha: np.ndarray | None = None
    n_steps: int = 0
    running_matrix: np.ndarray | None = None


def duality_gap(shares: np.ndarray, alpha: np.ndarray, scores: np.ndarray) -> float:
    """Return P(M(α)) - D(α) from the scores under M(α)."""
    missing, beyond = np.square(1.0 - scores - 0.5 * alpha), alpha * (scores - 1.0) + 0.25 * alpha**2
    return float(shares @ np.where(scores <= 1.0, missing, beyond))


def primal(shares: np.ndarray, scores: np.ndarray, matrix: np.ndarray, regularization: float) -> float:
    """Return P(M), the objective, from the scores under M."""
    loss = shares @ np.square(np.maximum(0.0, 1.0 - scores))
    return float(loss + 0.5 * regularization * np.vdot(matrix, matrix))
