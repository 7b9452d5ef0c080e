"""The solvers of the embedding: each lowers a :class:`~nearer.embedding.problem.Problem` from given points.

A solver is a small object with parameters by name, like a loss, and one method, ``solve``. It reports every epoch
to a monitor, which decides when to stop, and returns points.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from nearer.embedding.monitor import Monitor
from nearer.embedding.problem import Problem
from nearer.parameters import is_count, is_number

RELATIVE = 0.1  # the relative term of our step size: |<dX, dg>| + RELATIVE * |dX| |dg|
PROBE = 1e-3  # length of the first probe, relative to the points
HALVINGS = 24  # tries at an epoch before its snapshot counts as the best there is


class SVRG(BaseEstimator):
    """Stochastic variance reduced gradient, by default with the stabilised Barzilai-Borwein step (Algorithm 1).

    Parameters
    ----------
    step : "sbb", "fixed" or float, default="sbb"
        Formula (8), or one step size for all epochs: the number, or with "fixed" the one that a probe finds.
    epsilon : float or None, default=None
        The stabilising term of formula (8): a number is the paper's epsilon (0 gives its SBB_0), run exactly as
        printed. None puts ``0.1 |dX| |dg|`` in its place, which has the scale of the problem. It goes back to the
        last snapshot with half the step when the objective rises; where it fell at once, the next step is no
        shorter. (A hinge has no curvature to go by: the formula alone would shrink its steps to nothing.)
    initial_step : float or None, default=None
        Step size of the first epoch; None finds one from a short probe along the gradient.
    inner_steps : int or None, default=None
        Steps between two full gradients; None: one for each comparison.
    batch_size : int, default=1
        Comparisons in a step.
    output : "last" or "random", default="last"
        Return the last point, or one drawn uniformly from all points visited, as the paper's theorem does.

    Examples
    --------
    >>> from nearer.embedding import SVRG
    >>> SVRG(epsilon=0.005).get_params()["epsilon"]
    0.005
    """

    def __init__(
        self,
        step: str | float = "sbb",
        epsilon: float | None = None,
        initial_step: float | None = None,
        inner_steps: int | None = None,
        batch_size: int = 1,
        output: str = "last",
    ) -> None:
        self.step = step
        self.epsilon = epsilon
        self.initial_step = initial_step
        self.inner_steps = inner_steps
        self.batch_size = batch_size
        self.output = output

    def solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        """Lower the problem from the points until the monitor has seen enough."""
        self._check()
        steps = self.inner_steps or -(-problem.n_rows // (self.batch_size * problem.n_jobs))
        spent = problem.n_rows + 2 * steps * self.batch_size * problem.n_jobs
        value, gradient = problem.value_and_gradient(points)
        step_size = self._first_step(problem, points, gradient, steps)
        drawn, epoch, tries = points, 0, 0
        while monitor.go_on(points, value, step_size, tries * spent if epoch else problem.n_rows):
            stop_at = int(problem.random.integers(steps)) + 1 if self.output == "random" else None
            least, tries = step_size, 0
            while tries < (HALVINGS if self._guarded else 1):
                tries += 1
                end, middle = problem.svrg_run(points, gradient, step_size, steps, self.batch_size, stop_at)
                end_value, end_gradient = problem.value_and_gradient(end)
                if end_value <= value or not self._guarded:
                    break
                step_size /= 2
                least = step_size / 2
            if not end_value <= value and self._guarded:
                monitor.converged = True  # no step, however short, leads down from here
                break
            if not np.isfinite(end_value):
                break
            epoch += 1
            if self.output == "random" and problem.random.integers(epoch) == 0:
                drawn = middle
            if self.step == "sbb":
                step_size = (
                    sbb_step(end - points, end_gradient - gradient, self.epsilon, steps * step_size) / steps
                )
            if self._guarded:
                step_size = max(step_size, least)
            points, value, gradient = end, end_value, end_gradient
        return drawn if self.output == "random" else points

    @property
    def _guarded(self) -> bool:
        return self.step == "sbb" and self.epsilon is None

    def _first_step(self, problem: Problem, points: np.ndarray, gradient: np.ndarray, steps: int) -> float:
        if not isinstance(self.step, str):
            return float(self.step)
        return self.initial_step or probed_step(problem, points, gradient) / steps

    def _check(self) -> None:
        if not (
            self.step in ("sbb", "fixed") if isinstance(self.step, str) else is_number(self.step) and self.step > 0
        ):
            raise ValueError(f"SVRG's step must be 'sbb', 'fixed' or a positive number; got {self.step!r}")
        if self.epsilon is not None and not (is_number(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"SVRG's epsilon must be None or a number >= 0; got {self.epsilon!r}")
        if self.output not in ("last", "random"):
            raise ValueError(f"SVRG's output must be 'last' or 'random'; got {self.output!r}")
        for name in ("batch_size", "inner_steps"):
            given = getattr(self, name)
            if not (is_count(given) or (given is None and name == "inner_steps")):
                raise ValueError(f"SVRG's {name} must be a positive integer; got {given!r}")
        if self.initial_step is not None and not (is_number(self.initial_step) and self.initial_step > 0):
            raise ValueError(f"SVRG's initial_step must be None or a positive number; got {self.initial_step!r}")


class SGD(BaseEstimator):
    """Plain stochastic gradient descent with a step that falls as ``step / (1 + decay * epoch)``.

    Parameters
    ----------
    step : float or None, default=None
        First step size; None finds one from a short probe along the gradient.
    decay : float, default=0.1
        How fast the step falls.

    Examples
    --------
    >>> from nearer.embedding import SGD
    >>> SGD(step=0.01)
    SGD(step=0.01)
    """

    def __init__(self, step: float | None = None, decay: float = 0.1) -> None:
        self.step = step
        self.decay = decay

    def solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        """Lower the problem from the points until the monitor has seen enough."""
        if self.step is not None and not (is_number(self.step) and self.step > 0):
            raise ValueError(f"SGD's step must be None or a positive number; got {self.step!r}")
        if not (is_number(self.decay) and self.decay >= 0):
            raise ValueError(f"SGD's decay must be a number >= 0; got {self.decay!r}")
        steps = -(-problem.n_rows // problem.n_jobs)
        value, gradient = problem.value_and_gradient(points)
        first = self.step or probed_step(problem, points, gradient) / steps
        epoch, step_size = 0, first
        while monitor.go_on(points, value, step_size, 2 * problem.n_rows if epoch else problem.n_rows):
            step_size = first / (1.0 + self.decay * epoch)
            end = problem.sgd_run(points, step_size, steps)
            end_value, _ = problem.value_and_gradient(end)
            if not np.isfinite(end_value):
                break
            points, value, epoch = end, end_value, epoch + 1
        return points


class Batch(BaseEstimator):
    """Gradient descent X <- X - step * n * gradient of the mean.

    Parameters
    ----------
    step : "adaptive" or float, default="adaptive"
        "adaptive" is the rule of the STE toolbox: start at 1, times 1.01 after a decrease, else times 0.5. A
        number stays as it is.

    Examples
    --------
    >>> from nearer.embedding import Batch
    >>> Batch(step=2.0)
    Batch(step=2.0)
    """

    def __init__(self, step: str | float = "adaptive") -> None:
        self.step = step

    def solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        """Lower the problem from the points until the monitor has seen enough."""
        if not (self.step == "adaptive" or (is_number(self.step) and float(self.step) > 0)):
            raise ValueError(f"Batch's step must be 'adaptive' or a positive number; got {self.step!r}")
        step_size = 1.0 if self.step == "adaptive" else float(self.step)
        value, gradient = problem.value_and_gradient(points)
        while monitor.go_on(points, value, step_size, problem.n_rows):
            end = points - points.dtype.type(step_size * len(points)) * gradient
            end_value, end_gradient = problem.value_and_gradient(end)
            if not np.isfinite(end_value):
                break
            if self.step == "adaptive":
                step_size *= 1.01 if end_value < value else 0.5
            points, value, gradient = end, end_value, end_gradient
        return points


class LBFGS(BaseEstimator):
    """Limited-memory BFGS, by scipy.

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

    def __init__(self, memory: int = 10) -> None:
        self.memory = memory

    def solve(self, problem: Problem, points: np.ndarray, monitor: Monitor) -> np.ndarray:
        """Lower the problem from the points until the monitor has seen enough."""
        if not is_count(self.memory):
            raise ValueError(f"LBFGS's memory must be a positive integer; got {self.memory!r}")
        shape, dtype = points.shape, points.dtype
        calls = 0

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal calls
            calls += 1
            value, gradient = problem.value_and_gradient(flat.reshape(shape).astype(dtype))
            return value, gradient.ravel().astype(np.float64)

        def watch(intermediate_result: Any) -> None:
            nonlocal calls
            current = intermediate_result.x.reshape(shape).astype(dtype)
            go_on = monitor.go_on(current, intermediate_result.fun, 1.0, calls * problem.n_rows)
            calls = 0
            if not go_on:
                raise StopIteration

        value, _ = problem.value_and_gradient(points)
        if not monitor.go_on(points, value, 1.0, problem.n_rows):
            return points
        options = {
            "maxcor": self.memory,
            "maxiter": monitor.max_epochs,
            "maxfun": 10 * monitor.max_epochs + 10,
            "ftol": 1e-15,  # when to stop is the monitor's to say
            "gtol": 1e-12,
        }
        start = points.ravel().astype(np.float64)
        ended = minimize(objective, start, jac=True, method="L-BFGS-B", callback=watch, options=options)
        monitor.converged = monitor.converged or bool(ended.success)
        return ended.x.reshape(shape).astype(dtype)


def probed_step(problem: Problem, points: np.ndarray, gradient: np.ndarray) -> float:
    """Return a step for a whole epoch: one over the curvature along the gradient, with the relative term."""
    slope, size = float(np.linalg.norm(gradient)), float(np.linalg.norm(points))
    if slope == 0.0:
        return 1.0
    moved = -gradient * points.dtype.type(PROBE * max(size, 1e-3) / slope)
    turned = problem.value_and_gradient(points + moved)[1] - gradient
    return sbb_step(moved, turned, None, otherwise=1.0)


def sbb_step(moved: np.ndarray, turned: np.ndarray, epsilon: float | None, otherwise: float) -> float:
    """Return the stabilised Barzilai-Borwein step of formula (8), for a whole epoch: without its 1/m."""
    square, bend = float(np.vdot(moved, moved)), abs(float(np.vdot(moved, turned)))
    if epsilon is None:
        stabiliser = RELATIVE * np.sqrt(square * float(np.vdot(turned, turned)))
    else:
        stabiliser = epsilon * square
    return square / (bend + stabiliser) if bend + stabiliser > 0 else otherwise


SOLVERS: dict[str, Any] = {
    "svrg-sbb": SVRG,
    "svrg": lambda: SVRG(step="fixed"),
    "sgd": SGD,
    "batch": Batch,
    "lbfgs": LBFGS,
}


def as_solver(solver: Any) -> Any:
    """Return the solver object that a name or an object stands for."""
    if isinstance(solver, str):
        if solver not in SOLVERS:
            known = ", ".join(map(repr, sorted(SOLVERS)))
            raise ValueError(f"unknown solver {solver!r}; the known ones are {known}")
        return SOLVERS[solver]()
    if not callable(getattr(solver, "solve", None)) or isinstance(solver, type):
        known = ", ".join(map(repr, sorted(SOLVERS)))
        raise ValueError(f"solver must be one of {known} or an object with the method solve; got {solver!r}")
    return solver
