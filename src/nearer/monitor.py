"""One monitor for every fit that iterates.

A solver reports once per iteration (an epoch, a round, or a chunk of a stream) and asks whether to go on. The
monitor keeps the history, shows the progress bar, calls the callback, stops early on held-out data, tests for
convergence, and watches the clock and Ctrl-C. Time spent here does not count as the solver's.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Self

import numpy as np

from nearer.progress import Progress, convergence

PATIENCE = 5  # iterations without a better held-out score before early stopping
CUT_SHORT = ("callback", "interrupted", "time")  # reasons that end a fit with all its parts
CALM = 3  # calm iterations in a row before a solver has converged

Callback = Callable[[dict[str, Any]], bool | None]
# Returns what to minimise on held-out data, compared as a tuple, and the entries of the record that say it.
Judge = Callable[[Any], tuple[tuple[float, ...], dict[str, float]]]


@dataclass(frozen=True)
class Result:
    """What a solver returns.

    Attributes
    ----------
    solution : object
        Points, a kernel, a matrix or factors.
    n_iter : int
        Iterations taken.
    converged : bool
        Whether the tolerance was met, or early stopping had decided, before the fit had to end.
    reason : str
        Why it ended: "converged", "max_iter", "time", "callback", "interrupted" or "not finite".
    history : list of dict
        One record per iteration.
    """

    solution: Any
    n_iter: int
    converged: bool
    reason: str
    history: list[dict[str, Any]]

    @property
    def cut_short(self) -> bool:
        """Whether the callback, the clock or Ctrl-C ended the fit."""
        return self.reason in CUT_SHORT


@dataclass
class Monitor:
    """Keeps the history of a fit and decides when it ends.

    As a context manager it closes the progress bar at the end and takes Ctrl-C: the first one ends the fit at the
    next report, the second raises KeyboardInterrupt as usual.

    Parameters
    ----------
    max_iter : int
        Iterations at most.
    tol : float or None
        Where a solver reports a gap or a residual, it has converged when that is no more than ``tol``; otherwise
        when the loss changed by no more than ``tol`` in three iterations in a row. None: it never converges.
    relative : bool, default=False
        Whether the change of the loss is measured in units of the loss before it.
    saddle : float, optional
        The loss at a saddle point, such as that of all points at one place. Near it, a loss that falls ever faster
        has not settled.
    judge : callable, optional
        Scores a state on held-out data; the best state is kept, and five iterations without a better one end
        the fit.
    snapshot : callable, default=numpy.copy
        Copies a state, to keep the best.
    callback : callable, optional
        Called with each record and what ``view`` shows of the state; returning True ends the fit.
    view : callable, optional
        Returns the entries that the callback sees of a state beside its record.
    verbose : bool, default=False
        Show a progress bar.
    max_seconds : float, optional
        End the fit at the first report after this time.

    Examples
    --------
    >>> with Monitor(max_iter=10, tol=0.1) as monitor:
    ...     loss = 1.0
    ...     while monitor.go_on(loss, loss=loss):
    ...         loss /= 2
    >>> result = monitor.result(loss)
    >>> result.n_iter, result.reason
    (6, 'converged')
    """

    max_iter: int
    tol: float | None = None
    relative: bool = False
    saddle: float | None = None
    judge: Judge | None = None
    snapshot: Callable[[Any], Any] = np.copy
    callback: Callback | None = None
    view: Callable[[Any], dict[str, Any]] | None = None
    verbose: bool = False
    max_seconds: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    reason: str | None = None
    best: tuple[tuple[float, ...], Any] | None = None
    parent: "Monitor | None" = None
    _start: float = field(default_factory=lambda: time.perf_counter())
    _away: float = 0.0
    _calm: int = 0
    _since_best: int = 0
    _change: float = np.inf
    _first_change: float = 0.0
    _progress: Progress = field(default_factory=lambda: Progress(False))
    _handler: Any = None

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        self._progress = Progress(self.verbose)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            self._handler = None
        self._progress.close(complete=not self.stopped or self.reason not in CUT_SHORT)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.reason == "interrupted":
            raise KeyboardInterrupt
        self.reason = "interrupted"

    @property
    def stopped(self) -> bool:
        """Whether the fit has to end: converged, out of time, stopped by the callback or interrupted."""
        if self.reason is None and self.parent is not None and self.parent.stopped:
            self.reason = self.parent.reason if self.parent.reason in CUT_SHORT else None
        if self.reason is None and self.max_seconds is not None:
            self.reason = "time" if time.perf_counter() - self._start > self.max_seconds else None
        return self.reason is not None

    @property
    def converged(self) -> bool:
        """Whether the tolerance was met, or early stopping had decided."""
        return self.reason == "converged"

    @property
    def outcome(self) -> tuple[float, ...]:
        """The loss at the end, or what the best state has on held-out data: what several starts compete in."""
        return (self.history[-1]["loss"],) if self.best is None else self.best[0]

    def go_on(
        self,
        state: Any,
        *,
        loss: float,
        gap: float | None = None,
        residual: float | None = None,
        evaluations: int | None = None,
        **entries: Any,
    ) -> bool:
        """Record an iteration that ended in this state; return whether the solver should take another.

        Parameters
        ----------
        state : object
            What was found so far.
        loss : float
            The objective, or the mean loss since the last report of a stream.
        gap : float, optional
            How far the objective can be from its optimum, or what else ``tol`` is about.
        residual : float, optional
            How far the state is from stationary: what ``tol`` is about where there is no gap.
        evaluations : int, optional
            Gradient evaluations since the last report; the record has their sum as ``gradient_evaluations``.
        **entries
            Further entries of the record; ``iteration`` replaces the count, which begins with 0.
        """
        now = time.perf_counter()
        record = {"iteration": len(self.history), "loss": float(loss), **entries}
        if gap is not None:
            record["gap"] = float(gap)
        elif residual is not None:
            record["residual"] = float(residual)
        if evaluations is not None:
            before = self.history[-1]["gradient_evaluations"] if self.history else 0
            record["gradient_evaluations"] = before + evaluations
        past_best = self._is_past_best(state, record)
        record["seconds"] = now - self._start - self._away
        settled = self._has_settled(float(loss), residual if gap is None else gap)
        self.history.append(record)
        if not np.isfinite(loss):
            self.stop("not finite")
        elif past_best or settled:
            self.stop("converged")
        if self.callback is not None:
            shown = {} if self.view is None else self.view(state)
            if self.callback({"stage": "fit", **record, **shown}):
                self.stop("callback")
        self._show(record)
        if record["iteration"] >= self.max_iter:
            self.stop("max_iter")
        self._away += time.perf_counter() - now
        return not self.stopped

    def stop(self, reason: str) -> None:
        """End the fit for a reason; the first one stands."""
        if self.reason is None:
            self.reason = reason
        if self.parent is not None and reason in CUT_SHORT:
            self.parent.stop(reason)

    def result(self, solution: Any) -> Result:
        """Return the result of a solver that ended with this solution, or with the best on held-out data."""
        chosen = solution if self.best is None else self.best[1]
        n_iter = self.history[-1]["iteration"] if self.history else 0
        return Result(chosen, n_iter, self.converged, self.reason or "max_iter", self.history)

    def child(self, max_iter: int, tol: float | None = None, **parameters: Any) -> "Monitor":
        """Return a monitor of a part of the same fit (a start, a candidate), which ends when this one does."""
        return Monitor(max_iter, tol, parent=self, **parameters)

    def restart(self) -> "Monitor":
        """Return a monitor with the same settings for another start of the same fit."""
        fresh = replace(self, history=[], reason=None, best=None, parent=self)
        fresh._handler, fresh._calm, fresh._since_best, fresh._change = None, 0, 0, np.inf
        return fresh

    def resume(self) -> "Monitor":
        """Return a monitor that goes on with a copy of the history, for another try from where this one ended."""
        return replace(self.restart(), history=list(self.history))

    @contextmanager
    def limited(self, share: float) -> Iterator[None]:
        """Allow what is done here only a share of ``max_seconds``, so that time is left for the rest."""
        seconds = self.max_seconds
        self.max_seconds = None if seconds is None else share * seconds
        yield
        self.max_seconds = seconds
        if self.reason == "time":
            self.reason = None

    @contextmanager
    def stage(self, name: str, until: float = 0.8) -> Iterator[Callable[..., bool]]:
        """Show a stage before the fit proper, such as a search for settings, up to some fraction of the bar.

        Yields
        ------
        callable
            ``report(fraction, error=…, **entries)``, to be called after each part of the stage: how much of it is
            done, and what the callback sees, with the name of the stage. It returns whether to go on.
        """
        n_reports = 0
        self._progress.next_stage(until)

        def report(fraction: float, error: float, **entries: Any) -> bool:
            nonlocal n_reports
            n_reports += 1
            self._progress.show(fraction, name, f"error {error:.4g}")
            seconds = time.perf_counter() - self._start
            record = {"stage": name, "iteration": n_reports, "error": error, **entries, "seconds": seconds}
            if self.callback is not None and self.callback(record):
                self.stop("callback")
            return not self.stopped

        yield report
        self._progress.next_stage(1.0)

    def _show(self, record: dict[str, Any]) -> None:
        """Show how far the fit is: by its iterations, or by its convergence where that is further."""
        if not self._progress.is_shown:
            return
        size = record.get("gap", record.get("residual", abs(self._change)))
        if np.isfinite(size):
            self._first_change = max(self._first_change, size)
        done = record["iteration"] / self.max_iter
        if self.tol is not None:
            tol = self.tol * (record["loss"] if self.relative else 1.0)
            done = max(done, convergence(self._first_change, size, tol))
        self._progress.show(done, "fit", f"loss {record['loss']:.4g}")

    def _has_settled(self, loss: float, gap: float | None) -> bool:
        if self.tol is None:
            return False
        if gap is not None:
            return gap <= self.tol
        before, last = (self.history[-1]["loss"] if self.history else np.inf), self._change
        self._change = before - loss
        tol = self.tol * before if self.relative else self.tol
        self._calm = self._calm + 1 if self.history and abs(self._change) <= tol else 0
        leaving = (
            self.saddle is not None and abs(loss - self.saddle) <= CALM * tol and self._change > 1.5 * last > 0.0
        )
        return self._calm >= CALM and not leaving

    def _is_past_best(self, state: Any, record: dict[str, Any]) -> bool:
        if self.judge is None:
            return False
        score, entries = self.judge(state)
        record.update(entries)
        if self.best is None or score < self.best[0]:
            self.best, self._since_best = (score, self.snapshot(state)), 0
        else:
            self._since_best += 1
        return self._since_best >= PATIENCE
