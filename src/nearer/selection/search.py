"""The search over settings that every learner's "auto" uses.

Candidates are walked along paths. In every fold a candidate is fitted from where the one before it ended (a warm
start), and judged by a loss per held-out unit: an answer, a query, a slice of a stream. All candidates share
folds and units, so that differences are paired. A rule then takes one of them. What a candidate is fitted to, and
how, is up to the learner.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.monitor import Monitor

Fit = Callable[[Any, float, Any, Monitor], Any]
Judge = Callable[[Any, Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that was tried.

    Attributes
    ----------
    value : float
        The setting.
    losses : array
        Its loss on every held-out unit of all folds.
    solutions : list
        What it led to in each fold.
    """

    value: float
    losses: np.ndarray = field(repr=False)
    solutions: list[Any] = field(repr=False)

    @property
    def loss(self) -> float:
        """The mean loss."""
        return float(np.mean(self.losses))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean loss, over the units."""
        with np.errstate(invalid="ignore"):
            return float(np.std(self.losses) / np.sqrt(len(self.losses)))


@dataclass(frozen=True)
class Selection:
    """What a search tried, and what it took.

    Attributes
    ----------
    parameter : str
        Name of the setting.
    trials : list of Trial
        In the order of trying; empty where nothing could be judged.
    chosen : Trial or None
        The one that the rule took.
    """

    parameter: str
    trials: list[Trial]
    chosen: Trial | None

    def records(self) -> list[dict[str, Any]]:
        """Return one record per candidate, as estimators keep them in ``selection_``."""
        return [
            {
                self.parameter: trial.value,
                "loss": trial.loss,
                "standard_error": trial.standard_error,
                "chosen": trial is self.chosen,
            }
            for trial in self.trials
        ]


def search(
    parameter: str,
    paths: Sequence[Sequence[float]],
    folds: Sequence[Any],
    fit: Fit,
    judge: Judge,
    monitor: Monitor,
    *,
    start: Any = None,
    rule: Callable[[list[Trial]], Trial],
    give_up: Callable[[list[Trial]], bool] | None = None,
) -> Selection:
    """Try the candidates of some paths in every fold, and take one by a rule.

    Parameters
    ----------
    parameter : str
        Name of the setting.
    paths : sequence of sequences of float
        Candidates in the order of trying. All paths begin with the same one.
    folds : sequence
        The parts of the data, as ``fit`` and ``judge`` take them.
    fit : callable
        ``fit(fold, value, start, monitor)`` returns what is learned in a fold; it ends early when
        the monitor does.
    judge : callable
        ``judge(fold, solution)`` returns one loss per held-out unit.
    monitor : Monitor
        Shows and counts every fit, and ends the search.
    start : object, optional
        Where the first candidate starts in every fold; the others start from the last solution.
    rule : callable
        Takes one of the trials, such as :func:`best`.
    give_up : callable, optional
        Looks at the trials so far and says whether to leave the path.

    Returns
    -------
    Selection
        Where the monitor ended the search, of what was tried until then; the trial that it cut off counts only if
        there is no other.
    """
    trials: list[Trial] = []
    total = len(folds) * (1 + sum(len(path) - 1 for path in paths))

    with monitor.stage(f"choosing {parameter}", total) as report:

        def attempt(value: float, starts: list[Any]) -> Trial | None:
            solutions, losses = [], []
            for fold, begin in zip(folds, starts, strict=True):
                solutions.append(fit(fold, value, begin, monitor))
                losses.append(np.atleast_1d(judge(fold, solutions[-1])))
                report(loss=float(np.mean(losses[-1])), **{parameter: value})
                if monitor.stopped and len(solutions) < len(folds):
                    return None if trials else Trial(value, np.concatenate(losses), solutions)
            return Trial(value, np.concatenate(losses), solutions)

        for number, path in enumerate(paths):
            last = trials[0] if number else None
            for value in path[min(number, 1) :]:
                if monitor.stopped and trials:
                    break
                last = attempt(value, [start] * len(folds) if last is None else last.solutions)
                if last is None:
                    break
                trials.append(last)
                if give_up is not None and give_up(trials):
                    break
    return Selection(parameter, trials, rule(trials) if trials else None)


def best(trials: list[Trial]) -> Trial:
    """Return the trial of the smallest loss, the first of equal ones."""
    return min(trials, key=lambda trial: trial.losses.sum())


def smallest_good(trials: list[Trial], errors: float = 0.5) -> Trial:
    """Return the smallest setting whose loss exceeds the best by at most half a paired standard error."""
    least = best(trials)
    return min((trial for trial in trials if as_good(trial, least, errors)), key=lambda trial: trial.value)


def previous_to_best(trials: list[Trial]) -> Trial:
    """Return the trial before the best one in the order of trying, or the best if it was the first."""
    return trials[max(0, trials.index(best(trials)) - 1)]


def as_good(trial: Trial, least: Trial, errors: float) -> bool:
    """Whether a trial's loss exceeds that of the best by at most so many paired standard errors."""
    more = trial.losses - least.losses
    return bool(more.sum() <= errors * np.sqrt(np.square(more).sum()))


def clearly_worse(trials: list[Trial]) -> bool:
    """Whether the last trial is worse than the best by more than two paired standard errors."""
    return not as_good(trials[-1], best(trials), errors=2.0)


def no_better_twice(trials: list[Trial]) -> bool:
    """Whether the last two trials were both no better than the best before them."""
    losses = [trial.losses.mean() for trial in trials]
    return len(losses) > 2 and min(losses[-2:]) >= min(losses[:-2])
