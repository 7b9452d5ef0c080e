"""The objective that every solver of the embedding lowers.

F(X) = weighted mean of the losses + regularization * |X|² / n. A solver sees this object only: it asks for value
and gradient, or for a run of stochastic steps from a point, and knows nothing of losses, threads, devices or files.
Where the comparisons are and what computes with them is up to the engine (:mod:`nearer.embedding.engines`).
"""

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.lbfgs import Changes
from nearer.monitor import Monitor, Result
from nearer.solver import Solver


class Problem(AbstractContextManager):
    """Comparisons, loss and ridge (the weight of |X|² / n beside the mean loss) as one function of the points.

    Points are numpy arrays outside of a solver, and arrays of the engine inside: `from_numpy` and `to_numpy` convert.
    Solvers use their operators ``+``, ``-`` and ``*`` with each other and with Python numbers, and `inner`.

    Parameters
    ----------
    loss : object
        Of a comparison.
    regularization : float
        The ridge.
    n_objects : int
        Number of objects.
    random : numpy.random.Generator
        Draws the rows of stochastic steps.

    Attributes
    ----------
    n_rows : int
        Number of comparisons.
    n_parallel : int
        How many runs of stochastic steps from a common snapshot are averaged.
    batch_size : int
        Comparisons per stochastic step, unless the solver says it.
    """

    n_rows: int
    n_parallel: int = 1
    batch_size: int = 1

    def __init__(self, loss: Any, regularization: float, n_objects: int, random: np.random.Generator) -> None:
        self.loss, self.n_objects, self.random = loss, n_objects, random
        self.set_regularization(regularization)

    def set_regularization(self, regularization: float) -> None:
        """Set the weight of |X|² / n beside the mean loss."""
        self.ridge = 2.0 * regularization / self.n_objects  # the paper's lambda: F has ridge / 2 * |X|²

    def __exit__(self, *error: Any) -> None:
        """Release what the engine holds."""

    def from_numpy(self, points: np.ndarray) -> Any:
        """Return points as an array of the engine."""
        return points

    def to_numpy(self, points: Any) -> np.ndarray:
        """Return an array of the engine as a numpy array."""
        return points

    def inner(self, x: Any, y: Any) -> float:
        """Return the inner product of two arrays of the engine."""
        return float(np.vdot(x, y))

    def changes(self, points: Any, memory: int) -> Any:
        """Return a memory of the last changes of points and gradients, for L-BFGS."""
        return Changes(points, memory)

    def value(self, points: np.ndarray) -> float:
        """Return F at points that are a numpy array."""
        return self.value_and_gradient(self.from_numpy(points))[0]

    @abstractmethod
    def value_and_gradient(self, points: Any) -> tuple[float, Any]:
        """Return F and its gradient, ridge included."""

    @abstractmethod
    def energies(self, points: np.ndarray) -> np.ndarray:
        """Return for each object the sum of the squared pulls of all comparisons on it."""

    @abstractmethod
    def mentioned(self) -> np.ndarray:
        """Return for each object whether a comparison mentions it."""

    def svrg_run(
        self,
        snapshot: Any,
        gradient: Any,
        step_size: float,
        steps: int,
        batch_size: int = 1,
        stop_at: int | None = None,
    ) -> tuple[Any, Any]:
        """Return the points after ``steps`` inner steps of SVRG, and those after ``stop_at`` of them.

        These are lines 6 to 11 of Algorithm 1. ``gradient`` is that of F at the snapshot, ridge included. Several runs
        in parallel each take ``steps`` from the common snapshot, and the mean of their ends is returned, but of the
        points after ``stop_at`` steps those of one run, drawn at random.
        """
        raise TypeError(f"{type(self).__name__} takes no steps of SVRG")

    def sgd_run(self, points: Any, step_size: float, steps: int) -> Any:
        """Return the points after that many plain stochastic steps; parallel runs as in :meth:`svrg_run`."""
        raise TypeError(f"{type(self).__name__} takes no stochastic steps one by one")


class MapSolver(Solver):
    """Base of the solvers of the embedding: numpy arrays outside, arrays of the problem's engine inside."""

    def solve(self, problem: Problem, start: np.ndarray, monitor: Monitor) -> Result:
        """Solve a problem from points until the monitor ends it; as for any :class:`~nearer.solver.Solver`."""
        result = super().solve(problem, problem.from_numpy(start), monitor)
        return replace(result, solution=problem.to_numpy(result.solution))


def normalized(weights: np.ndarray | None) -> np.ndarray:
    """Return the weights with a mean of one, so that F is a weighted mean; one entry where there are none."""
    if weights is None:
        return np.ones(1)
    if weights.max() > np.finfo(np.float64).max / len(weights):  # their sum would overflow
        weights = weights / weights.max()
    return np.ascontiguousarray(weights * (len(weights) / weights.sum()))
