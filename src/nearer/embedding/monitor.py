"""Watches a solver at work: history, progress bar, callback, early stopping, and the test for convergence.

A solver reports once an epoch and asks one question: go on? Time spent here does not count as the solver's.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PATIENCE = 5  # epochs without a better held-out error before early stopping
CALM = 3  # calm epochs in a row before a solver has converged


@dataclass
class Monitor:
    """Collects one record an epoch and decides when to stop.

    Parameters
    ----------
    max_epochs : int
        Where to stop at the latest.
    tol : float
        An epoch is calm when the objective changes by no more than this.
    held_out : callable, optional
        Loss and error of points on the held-out answers; its best points are kept.
    callback : callable, optional
        Called with each record and the points in it; True stops the solver.
    bar : object, optional
        A tqdm bar.
    begun : float
        When the fit began, as time.perf_counter tells it.
    """

    max_epochs: int
    tol: float
    held_out: Callable[[np.ndarray], tuple[float, float]] | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    bar: Any = None
    begun: float = field(default_factory=time.perf_counter)
    history: list[dict[str, Any]] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False
    best: tuple[tuple[float, float], np.ndarray] | None = None
    _calm: int = 0
    _since_best: int = 0
    _away: float = 0.0

    def go_on(self, points: np.ndarray, loss: float, step_size: float, evaluations: int) -> bool:
        """Record an epoch that ended in these points; return whether the solver should take another."""
        now = time.perf_counter()
        before = self.history[-1]["loss"] if self.history else np.inf
        record: dict[str, Any] = {
            "epoch": len(self.history),
            "loss": float(loss),
            "step_size": float(step_size),
            "gradient_evaluations": int(evaluations)
            + (self.history[-1]["gradient_evaluations"] if self.history else 0),
            "seconds": now - self.begun - self._away,
        }
        self.converged = self._past_its_best(points, record)
        self.history.append(record)
        if self.callback is not None and self.callback({**record, "points": points}):
            self.stopped = True
        if self.bar is not None:
            self.bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
            self.bar.update(1)
        self._calm = self._calm + 1 if abs(before - loss) <= self.tol else 0
        self.converged = self.converged or self._calm >= CALM
        self._away += time.perf_counter() - now
        return not (self.stopped or self.converged or len(self.history) > self.max_epochs)

    def chosen(self, points: np.ndarray) -> np.ndarray:
        """Return the points to keep of a solver that ended in these: the best on held-out answers, if any are."""
        return points if self.best is None else self.best[1]

    @property
    def outcome(self) -> tuple[float, ...]:
        """The objective at the end, or the held-out error of the best points: what several starts compete in."""
        return (self.history[-1]["loss"],) if self.best is None else self.best[0]

    def _past_its_best(self, points: np.ndarray, record: dict[str, Any]) -> bool:
        if self.held_out is None:
            return False
        loss, error = self.held_out(points)
        record.update(held_out_loss=loss, held_out_error=error)
        if self.best is None or (error, loss) < self.best[0]:
            self.best, self._since_best = ((error, loss), points.copy()), 0
        else:
            self._since_best += 1
        return self._since_best >= PATIENCE
