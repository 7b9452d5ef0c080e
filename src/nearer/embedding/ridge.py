"""How much ridge a map's answers call for: ``regularization="auto"``.

The ladder and its judging are in :mod:`nearer.folds`; here is how a map is fitted on a rung, roughly.
"""

from typing import Any

import numpy as np

from nearer import folds
from nearer.comparisons import Comparisons
from nearer.comparisons.rows import squared_distances
from nearer.embedding.monitor import Monitor
from nearer.embedding.problem import Problem
from nearer.embedding.solvers import SVRG
from nearer.folds import MIDDLE
from nearer.losses import baseline_loss

__all__ = ["MIDDLE", "chosen_ridge"]

RUNG_EPOCHS, RUNG_TOL = 50, 1.5e-4


def chosen_ridge(
    comparisons: Comparisons, loss: Any, start: np.ndarray, n_jobs: int, random: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return the ridge that the answers call for and the points it led to."""

    def learn(train: Comparisons, ridge: float, points: np.ndarray) -> np.ndarray:
        with Problem(train, loss, ridge, n_jobs, random) as problem:
            return SVRG().solve(problem, points, Monitor(RUNG_EPOCHS, RUNG_TOL * baseline_loss(loss)))

    return folds.chosen_ridge(comparisons, learn, squared_distances, start, random)
