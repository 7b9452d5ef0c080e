"""SDCA over shards of the triplets: CoCoA+ (Ma et al. 2015), whose shards work at the same time, with momentum.

In a round every shard k starts from the common M, takes steps on its own dual variables, and the changes of M are
summed: M ← M + Σ ΔM_k. Steps of Algorithm 1, summed, overshoot K times in directions that the shards share, and diverge.
So the local problem counts each change of its own σ' = K times::

    Δα = max((1 - ⟨M + σ'ΔM_k, X⟩ - α/2) / (1/2 + σ'‖X‖²/(λn)), -α)

That is a step of Algorithm 1 on M + σ'ΔM_k with λ/σ' in place of λ, so the compiled steps are those of
:mod:`nearer.similarity.sdca`.

A round so maximizes a lower bound of the dual. Where λ is small and shards share directions, that takes thousands of
rounds. Maximizing such a bound is a proximal gradient step, which Nesterov's momentum accelerates: a round starts from
y = α + β(α - α before) and M(y) = M + β(M - M before). Where y is negative a shard starts from 0, and the difference is
part of its ΔM_k. β goes back to 0 when the dual falls.

What a shard computes is in :mod:`nearer.similarity.shards`. Where that runs, and what happens if the machine fails, is
a matter of the problem (:mod:`nearer.similarity.cluster`).
"""

from typing import Any, ClassVar

import numpy as np

from nearer.monitor import Monitor
from nearer.parameters import COUNT, NONE, either, parametrized
from nearer.similarity.problem import Solution
from nearer.solver import Solver


@parametrized
class CoCoA(Solver):
    """SDCA on a Dask cluster: each shard of the triplets takes steps at the same time, and the changes are summed.

    A round is an epoch of each shard over its own triplets, and rounds have momentum. The fit converges when the
    duality gap of the whole is no more than ``tol``; it returns the last matrix. More shards take more rounds.

    Parameters
    ----------
    n_shards : int, optional
        Parts of the triplets, each of which takes steps one by one. By default as many as the workers of the cluster
        have threads.

    References
    ----------
    Ma et al., "Adding vs. averaging in distributed primal-dual optimization" (CoCoA+), 2015.

    Examples
    --------
    >>> from nearer.similarity import CoCoA
    >>> CoCoA(n_shards=8)
    CoCoA(n_shards=8)
    """

    needs = ("evaluate", "ascend", "matrix")
    regularized: ClassVar = True
    default_max_iter: ClassVar = 1000
    _constraints: ClassVar = {"n_shards": either(NONE, COUNT)}

    n_shards: int | None = None

    def _solve(self, problem: Any, start: np.ndarray | None, monitor: Monitor) -> Solution:
        """Ascend from dual variables, or from 0."""
        d = problem.n_features
        alpha = np.zeros(problem.n_triplets) if start is None else start
        matrix = np.zeros((d, d)) if start is None else problem.matrix(alpha)
        before, dual, age = (matrix, alpha), -np.inf, 1.0
        while True:
            record = problem.evaluate(matrix, alpha)
            if not monitor.go_on(matrix, **record):
                return Solution(matrix, record["gap"], alpha)
            older = 1.0 if record["dual"] < dual else age
            age = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * older**2))
            momentum = (older - 1.0) / age if problem.n_shards > 1 else 0.0
            dual, now = record["dual"], (matrix, alpha)
            common, ahead = (new + momentum * (new - old) for new, old in zip(now, before, strict=True))
            before = now
            alpha, change = problem.ascend(common, ahead)
            matrix = common + change
