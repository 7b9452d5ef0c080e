"""The solvers of the embedding: each lowers a :class:`~nearer.embedding.problem.Problem` from some points.

A solver is a small object with parameters by name, like a loss. It reports every epoch to a monitor, which decides
when to stop.
"""

from typing import Any, ClassVar

import numpy as np

from nearer.embedding.problem import MapSolver, Problem
from nearer.lbfgs import LimitedMemory, minimize
from nearer.monitor import Monitor
from nearer.parameters import COUNT, NON_NEGATIVE, NONE, POSITIVE, either, one_of, parametrized

RELATIVE = 0.1  # the relative term of our step size: |<dX, dg>| + RELATIVE * |dX| |dg|
PROBE = 1e-3  # length of the first probe, relative to the points
HALVINGS = 24  # tries at an epoch before its snapshot counts as the best there is


@parametrized
class SVRG(MapSolver):
    """Stochastic variance reduced gradient, by default with the stabilised Barzilai-Borwein step (Algorithm 1).

    Parameters
    ----------
    step_size : "sbb", "fixed" or float, default="sbb"
        Formula (8), or one step size for all epochs: the number, or with "fixed" the one that a probe finds.
    epsilon : float or None, default=None
        The stabilising term of formula (8): a number is the paper's epsilon (0 gives its SBB_0), run exactly as
        printed. None puts ``0.1 |dX| |dg|`` in its place, which has the scale of the problem. It goes back to the
        last snapshot with half the step when the objective rises; where it fell at once, the next step is no
        shorter. (A hinge has no curvature to go by: the formula alone would shrink its steps to nothing.)
    initial_step_size : float or None, default=None
        Step size of the first epoch; None finds one from a short probe along the gradient.
    inner_steps : int or None, default=None
        Steps between two full gradients; None: one per comparison.
    batch_size : int or None, default=None
        Comparisons per step; None: one, and on a GPU 1/32 of all.
    output : "last" or "random", default="last"
        Return the last point, or one drawn uniformly from all points visited, as the paper's theorem does.

    Examples
    --------
    >>> from nearer.embedding import SVRG
    >>> SVRG(epsilon=0.005).get_params()["epsilon"]
    0.005
    """

    step_size: str | float = "sbb"
    epsilon: float | None = None
    initial_step_size: float | None = None
    inner_steps: int | None = None
    batch_size: int | None = None
    output: str = "last"

    needs = ("value_and_gradient", "svrg_run")
    _constraints: ClassVar = {
        "step_size": either(one_of("sbb", "fixed"), POSITIVE),
        "epsilon": either(NONE, NON_NEGATIVE),
        "initial_step_size": either(NONE, POSITIVE),
        "inner_steps": either(NONE, COUNT),
        "batch_size": either(NONE, COUNT),
        "output": one_of("last", "random"),
    }

    def _solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        batch_size = self.batch_size or problem.batch_size
        steps = self.inner_steps or -(-problem.n_rows // (batch_size * problem.n_parallel))
        evaluations = problem.n_rows  # since the last report
        per_try = problem.n_rows + 2 * steps * batch_size * problem.n_parallel
        value, gradient = problem.value_and_gradient(points)
        step_size = self._first_step(problem, points, gradient, steps)
        sample, epoch = points, 0
        while monitor.go_on(points, loss=value, step_size=step_size, evaluations=evaluations):
            stop_at = int(problem.random.integers(steps)) + 1 if self.output == "random" else None
            least, tries = step_size, 0
            while tries < (HALVINGS if self._guarded else 1):
                tries += 1
                end, middle = problem.svrg_run(points, gradient, step_size, steps, batch_size, stop_at)
                end_value, end_gradient = problem.value_and_gradient(end)
                if end_value <= value or not self._guarded:
                    break
                step_size /= 2
                least = step_size / 2
            if not end_value <= value and self._guarded:
                monitor.stop("converged")  # no step, however short, leads down from here
                break
            if not np.isfinite(end_value):
                monitor.stop("not finite")
                break
            evaluations = tries * per_try
            epoch += 1
            if self.output == "random" and problem.random.integers(epoch) == 0:
                sample = middle
            if self.step_size == "sbb":
                moved, turned = end - points, end_gradient - gradient
                step_size = sbb_step(problem, moved, turned, self.epsilon, steps * step_size) / steps
            if self._guarded:
                step_size = max(step_size, least)
            points, value, gradient = end, end_value, end_gradient
        return sample if self.output == "random" else points

    @property
    def _guarded(self) -> bool:
        return self.step_size == "sbb" and self.epsilon is None

    def _first_step(self, problem: Problem, points: np.ndarray, gradient: np.ndarray, steps: int) -> float:
        if not isinstance(self.step_size, str):
            return float(self.step_size)
        return self.initial_step_size or probe_step(problem, points, gradient) / steps


@parametrized
class SGD(MapSolver):
    """Plain stochastic gradient descent with a step that falls as ``step_size / (1 + decay * epoch)``.

    Parameters
    ----------
    step_size : float or None, default=None
        First step size; None finds one from a short probe along the gradient.
    decay : float, default=0.1
        How fast the step falls.

    Examples
    --------
    >>> from nearer.embedding import SGD
    >>> SGD(step_size=0.01)
    SGD(step_size=0.01)
    """

    step_size: float | None = None
    decay: float = 0.1

    needs = ("value_and_gradient", "sgd_run")
    _constraints: ClassVar = {"step_size": either(NONE, POSITIVE), "decay": NON_NEGATIVE}

    def _solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        steps = -(-problem.n_rows // problem.n_parallel)
        value, gradient = problem.value_and_gradient(points)
        first = self.step_size or probe_step(problem, points, gradient) / steps
        # What the monitor is shown of the objective does not count, as the paper counts.
        epoch, step_size, evaluations = 0, first, 0 if self.step_size else 2 * problem.n_rows
        while monitor.go_on(points, loss=value, step_size=step_size, evaluations=evaluations):
            step_size = first / (1.0 + self.decay * epoch)
            end = problem.sgd_run(points, step_size, steps)
            end_value, _ = problem.value_and_gradient(end)
            if not np.isfinite(end_value):
                monitor.stop("not finite")
                break
            evaluations = steps * problem.n_parallel
            points, value, epoch = end, end_value, epoch + 1
        return points


@parametrized
class Batch(MapSolver):
    """Gradient descent X <- X - step_size * n * gradient of the mean.

    Parameters
    ----------
    step_size : "adaptive" or float, default="adaptive"
        "adaptive" is the rule of the STE toolbox: times 1.01 after a decrease, else times 0.5. A number stays as it
        is.
    initial_step_size : float, default=1.0
        Where "adaptive" starts.

    Examples
    --------
    >>> from nearer.embedding import Batch
    >>> Batch(step_size=2.0)
    Batch(step_size=2.0)
    """

    step_size: str | float = "adaptive"
    initial_step_size: float = 1.0

    needs = ("value_and_gradient",)
    _constraints: ClassVar = {"step_size": either(one_of("adaptive"), POSITIVE), "initial_step_size": POSITIVE}

    def _solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        step_size = float(self.initial_step_size if self.step_size == "adaptive" else self.step_size)
        value, gradient = problem.value_and_gradient(points)
        while monitor.go_on(points, loss=value, step_size=step_size, evaluations=problem.n_rows):
            end = points - float(step_size * len(points)) * gradient
            end_value, end_gradient = problem.value_and_gradient(end)
            if not np.isfinite(end_value):
                monitor.stop("not finite")
                break
            if self.step_size == "adaptive":
                step_size *= 1.01 if end_value < value else 0.5
            points, value, gradient = end, end_value, end_gradient
        return points


@parametrized
class LBFGS(MapSolver):
    """Limited-memory BFGS.

    Parameters
    ----------
    memory : int, default=10
        Pairs of differences kept.

    Examples
    --------
    >>> from nearer.embedding import LBFGS
    >>> LBFGS(memory=20)
    LBFGS(memory=20)
    """

    memory: int = 10

    needs = ("value_and_gradient",)
    _constraints: ClassVar = {"memory": COUNT}

    def _solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        counted = 0

        def describe(state: LimitedMemory) -> dict[str, Any]:
            nonlocal counted
            new, counted = state.n_evaluations - counted, state.n_evaluations
            return {"step_size": 1.0, "evaluations": new * problem.n_rows}

        return minimize(problem.value_and_gradient, points, self.memory, monitor, describe, problem.changes)


def probe_step(problem: Problem, points: Any, gradient: Any) -> float:
    """Return a step for a whole epoch: one over the curvature along the gradient, with the relative term."""
    slope, size = (float(np.sqrt(problem.inner(x, x))) for x in (gradient, points))
    if slope == 0.0:
        return 1.0
    moved = -float(PROBE * max(size, 1e-3) / slope) * gradient
    turned = problem.value_and_gradient(points + moved)[1] - gradient
    return sbb_step(problem, moved, turned, None, otherwise=1.0)


def sbb_step(problem: Problem, moved: Any, turned: Any, epsilon: float | None, otherwise: float) -> float:
    """Return the stabilised Barzilai-Borwein step of formula (8), for a whole epoch: without its 1/m."""
    square, bend = problem.inner(moved, moved), abs(problem.inner(moved, turned))
    relative = RELATIVE * np.sqrt(square * problem.inner(turned, turned))
    stabiliser = relative if epsilon is None else epsilon * square
    return square / (bend + stabiliser) if bend + stabiliser > 0 else otherwise


SOLVERS: dict[str, Any] = {
    "svrg-sbb": SVRG,
    "svrg": lambda: SVRG(step_size="fixed"),
    "sgd": SGD,
    "batch": Batch,
    "lbfgs": LBFGS,
}
