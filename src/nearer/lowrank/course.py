"""The course of a fit that goes step by step: its records, its end, and the best that was seen on the way."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

PATIENCE = 5  # looks at what was held out without a better one, and the fit ends
LOOKS = 20  # records of a whole fit


class Course:
    """Sees a fit every so many steps: keeps the history, moves the bar, says when it is over.

    Parameters
    ----------
    n_steps : int
        How many are to be taken in all.
    callback : callable, optional
        Called with every record; True stops the fit.
    judge : callable, optional
        Returns how good the model is for what was held out: the best one is kept, and the fit ends when five looks
        in a row were no better.
    keep : callable, optional
        Returns a copy of what is learned, for the best of it.
    taken : int, default=0
        How many of the steps were taken before.

    Attributes
    ----------
    chunk : int
        How many steps to take from one record to the next.
    history : list of dict
        A record each: steps, loss (the mean met since the last record), score where there is a judge, seconds.
    best : object
        What ``keep`` returned when the judge saw the best; None without a judge.
    bar : object, optional
        A progress bar, counting records.

    Examples
    --------
    >>> course = Course(100)
    >>> course.over(50, 0.5), course.over(100, 0.4)
    (False, True)
    >>> [record["loss"] for record in course.history]
    [0.5, 0.4]
    """

    def __init__(
        self,
        n_steps: int,
        callback: Callable[[dict[str, Any]], bool | None] | None = None,
        judge: Callable[[], float] | None = None,
        keep: Callable[[], Any] | None = None,
        taken: int = 0,
    ) -> None:
        self.n_steps = n_steps
        self.chunk = -(-(n_steps - taken) // LOOKS)
        self.callback = callback
        self.judge = judge
        self.keep = keep
        self.history: list[dict[str, Any]] = []
        self.best: Any = None
        self.bar: Any = None
        self._best_score, self._since_best = -float("inf"), 0
        self._begun = perf_counter()

    def over(self, steps: int, loss: float) -> bool:
        """Take note of where the fit stands after so many steps; whether that was the last."""
        record: dict[str, Any] = {"steps": steps, "loss": loss}
        if self.judge is not None and self.keep is not None:
            record["score"] = score = self.judge()
            self._since_best += 1
            if score > self._best_score:
                self._best_score, self._since_best, self.best = score, 0, self.keep()
        self.history.append({**record, "seconds": perf_counter() - self._begun})
        stopped = self.callback is not None and bool(self.callback(dict(self.history[-1])))
        if self.bar is not None:
            self.bar.update(1)
            self.bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
        return stopped or self._since_best >= PATIENCE or steps >= self.n_steps
