"""What all solvers share: parameters by name, and one method, ``solve(problem, start, monitor)``.

A problem knows the data, the loss and the regularisation; a solver knows the algorithm; a monitor
(:mod:`nearer.monitor`) knows when to stop. A solver states which methods it needs of a problem.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from nearer.monitor import Monitor, Result
from nearer.parameters import Constraint, check_parameters

N_CHUNKS = 20


class Solver(BaseEstimator):
    """Base of the library's solvers: subclasses define ``_solve`` and what they need of a problem.

    Attributes
    ----------
    needs : tuple of str
        Methods that a problem must have.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def solve(self, problem: Any, start: Any, monitor: Monitor) -> Result:
        """Solve a problem from a start until the monitor ends it.

        Parameters
        ----------
        problem : object
            With the methods that the solver needs.
        start : object
            Where to start.
        monitor : Monitor
            Is told of every iteration, and decides when to stop.

        Returns
        -------
        Result
        """
        check_parameters(self)
        missing = [name for name in self.needs if not hasattr(problem, name)]
        if missing:
            whose = f"{type(problem).__name__} has no {', '.join(missing)}"
            raise TypeError(f"{type(self).__name__} needs a problem with {', '.join(self.needs)}; {whose}")
        return monitor.result(self._solve(problem, start, monitor))

    def _solve(self, problem: Any, start: Any, monitor: Monitor) -> Any:
        raise NotImplementedError


class StreamSolver(Solver):
    """Base of the solvers of streams: chunk after chunk, each learned by the model itself.

    The problem yields the chunks, ``take(model, chunk)`` returns their mean loss, and ``n_taken`` counts the steps.
    """

    needs = ("chunks", "take", "n_taken")

    def _solve(self, problem: Any, model: Any, monitor: Monitor) -> Any:
        for number, chunk in enumerate(problem.chunks(), start=1):
            loss = problem.take(model, chunk)
            if not monitor.go_on(model, iteration=number, loss=loss, n_steps=problem.n_taken):
                break
        return model


def chunk_size(n_steps: int) -> int:
    """Return the steps per chunk of a stream: about twenty chunks, and so as many records of a fit."""
    return -(-n_steps // N_CHUNKS)


def as_solver(solver: Any, solvers: Mapping[str, Any]) -> Any:
    """Return the solver that a name of a table, or an object, stands for.

    Examples
    --------
    >>> from nearer.embedding import SOLVERS
    >>> as_solver("sgd", SOLVERS)
    SGD()
    """
    known = ", ".join(map(repr, sorted(solvers)))
    if isinstance(solver, str):
        if solver not in solvers:
            raise ValueError(f"unknown solver {solver!r}; the known ones are {known}")
        return solvers[solver]()
    if not callable(getattr(solver, "solve", None)) or isinstance(solver, type):
        raise ValueError(f"solver must be one of {known} or an object with the method solve; got {solver!r}")
    return solver


def solver_of(solvers: Mapping[str, Any]) -> Constraint:
    """Allow the names of a table of solvers, and objects with the method solve: what :func:`as_solver` takes."""

    def test(value: Any) -> bool:
        if isinstance(value, str):
            return value in solvers
        return callable(getattr(value, "solve", None)) and not isinstance(value, type)

    return Constraint(test, f"{', '.join(map(repr, solvers))} or an object with the method solve")
