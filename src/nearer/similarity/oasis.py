"""OASIS: a bilinear similarity learned online by passive-aggressive steps (Chechik et al. 2010).

Each triplet is seen once, in order: W ← W + τ Xᵢ with τ = min(C, (1 - ⟨W, Xᵢ⟩)₊ / ‖Xᵢ‖²), the smallest change that
satisfies it with a margin of one, capped. Among symmetric matrices the step goes along the symmetric part of Xᵢ. A
matrix is kept positive semidefinite by projecting at intervals, and once more at the end.
"""

import warnings
from typing import ClassVar

import numpy as np

from nearer.monitor import Monitor
from nearer.parameters import BOOL, POSITIVE, parametrized
from nearer.psd import project_psd
from nearer.similarity import loops
from nearer.similarity.problem import Problem, Solution
from nearer.similarity.triplets import Triplets, take_steps
from nearer.solver import Solver

FAINT = 1e-6  # of the change of a score by its step: it would take a million to meet the margin
MIN_STEPS_BETWEEN = 64  # from one projection to the next, or as many as there are columns


@parametrized
class OASIS(Solver):
    """Online passive-aggressive steps from the identity, over the triplets in their order.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        The largest coefficient of a step, C; the weight of a triplet multiplies it.
    symmetric : bool, default=False
        Keep the matrix symmetric.

    References
    ----------
    Chechik et al., "Large scale online learning of image similarity through ranking", 2010.

    Examples
    --------
    >>> from nearer.similarity import OASIS, BilinearSimilarity
    >>> BilinearSimilarity(OASIS(aggressiveness=0.01))
    BilinearSimilarity(solver=OASIS(aggressiveness=0.01))
    """

    needs = ("triplets",)
    regularized: ClassVar = False
    default_max_iter: ClassVar = 10
    _constraints: ClassVar = {"aggressiveness": POSITIVE, "symmetric": BOOL}

    aggressiveness: float = 0.1
    symmetric: bool = False

    def _solve(self, problem: Problem, start: Solution | None, monitor: Monitor) -> Solution:
        """Pass over the triplets from a solution, or from the identity."""
        triplets, n = problem.triplets, len(problem.triplets)
        symmetric = self.symmetric or problem.psd
        start = start or Solution(np.eye(triplets.n_features))
        matrix = (start.matrix if start.running_matrix is None else start.running_matrix).copy()
        matrix, n_steps = 0.5 * (matrix + matrix.T) if symmetric else matrix, start.n_steps
        caps = self.aggressiveness * triplets.weights
        self._warn_of_faint_features(triplets)
        between = max(MIN_STEPS_BETWEEN, len(matrix)) if problem.psd else n
        go_on = True
        while go_on:
            loss, done = 0.0, 0
            while done < n:  # projections come at fixed steps, in one fit or several
                stop = min(n, done + between - n_steps % between)
                loss += oasis_steps(triplets, matrix, np.arange(done, stop), caps, symmetric)
                n_steps, done = n_steps + stop - done, stop
                if problem.psd and n_steps % between == 0:
                    matrix[:] = project_psd(matrix)
            go_on = monitor.go_on(matrix, loss=loss / n, iteration=len(monitor.history) + 1, n_steps=n_steps)
        if problem.psd:
            return Solution(project_psd(matrix), n_steps=n_steps, running_matrix=matrix)
        return Solution(matrix, n_steps=n_steps)

    def _warn_of_faint_features(self, triplets: Triplets) -> None:
        """Warn if the largest steps change the scores by practically nothing."""
        if float(self.aggressiveness * np.mean(triplets.weights * triplets.squares)) < FAINT:
            warnings.warn(
                f"the features are so small that steps of at most aggressiveness={self.aggressiveness:g} change the "
                "similarity by practically nothing: scale X to rows of length one, or raise aggressiveness",
                UserWarning,
                stacklevel=2,
            )


def oasis_steps(
    triplets: Triplets, matrix: np.ndarray, which: np.ndarray, caps: np.ndarray, symmetric: bool
) -> float:
    """Take passive-aggressive steps for some triplets; ``caps`` has the largest coefficient of every triplet."""
    state = triplets.symmetric_squares if symmetric else triplets.squares, caps
    return take_steps(triplets, matrix, which, loops.passive_aggressive, state, symmetric=symmetric)
