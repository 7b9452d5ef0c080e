"""The search over values of one parameter, and what every search is made of: trials, and rules that take one.

In every fold a candidate is fitted from where the one before it ended (a warm start), and judged by a loss per
held-out unit: an answer, a query, a slice of a stream. All candidates share folds and units, so that differences
are paired. What a candidate is fitted to, and how, is up to the learner. For several parameters at once, see
:mod:`nearer.selection.race`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer.monitor import Monitor

Fit = Callable[[Any, Any, Any, Monitor], Any]
Judge = Callable[[Any, Any], np.ndarray]


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate that was tried.

    Attributes
    ----------
    settings : dict
        The parameters that were tried, by name.
    losses : array
        Its loss on every held-out unit of all folds: what candidates are compared by.
    solutions : list
        What it led to in each fold.
    errors : array, optional
        Its error on every held-out unit, where that is not the loss.
    """

    settings: dict[str, Any]
    losses: np.ndarray = field(repr=False)
    solutions: list[Any] = field(repr=False)
    errors: np.ndarray | None = field(default=None, repr=False)
    criterion: float | None = None

    @property
    def value(self) -> Any:
        """The last of the settings, in most searches the only one."""
        return list(self.settings.values())[-1]

    @property
    def unit_errors(self) -> np.ndarray:
        """The error on every held-out unit."""
        return self.losses if self.errors is None else self.errors

    @property
    def error(self) -> float:
        """The mean error."""
        return float(np.mean(self.unit_errors))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean error, over the units."""
        with np.errstate(invalid="ignore"):
            return float(np.std(self.unit_errors) / np.sqrt(len(self.losses)))


@dataclass(frozen=True)
class Selection:
    """What a search tried, and what it took.

    Attributes
    ----------
    trials : list of Trial
        In the order of trying; empty where nothing could be judged.
    chosen : Trial or None
        The one that the rule took.
    averaged : sequence of Trial
        Candidates about as good, whose solutions are averaged with that of the chosen one.
    """

    trials: list[Trial]
    chosen: Trial | None
    averaged: Sequence[Trial] = ()

    def records(self) -> list[dict[str, Any]]:
        """Return one record per candidate, as estimators keep them in ``selection_``.

        A record has the settings, the ``criterion`` by which candidates are compared (the mean loss, which may be
        the error, or in a race its mean over neighbors), the mean ``error`` on held-out data and its
        ``standard_error``, the mean ``difference`` to the chosen candidate on the same units with its own standard error
        (``difference_error``), the number of folds and whether it was chosen.
        """
        records = []
        for trial in self.trials:
            assert self.chosen is not None
            n = min(len(trial.losses), len(self.chosen.losses))  # folds are tried in order
            more = trial.unit_errors[:n] - self.chosen.unit_errors[:n]
            records.append({
                **{name: _plain(value) for name, value in trial.settings.items()},
                "criterion": float(np.mean(trial.losses)) if trial.criterion is None else trial.criterion,
                "error": trial.error,
                "standard_error": trial.standard_error,
                "difference": float(np.mean(more)),
                "difference_error": float(np.std(more) / np.sqrt(n)),
                "n_folds": len(trial.solutions),
                "chosen": trial is self.chosen,
                **({"averaged": trial is self.chosen or trial in self.averaged} if self.averaged else {}),
            })  # fmt: skip
        return records


def without_averaged(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records that do not say what is averaged, for a fit in which nothing was."""
    return [{name: value for name, value in record.items() if name != "averaged"} for record in records]


def _plain(value: Any) -> Any:
    """Return a setting as a model file can hold it: a loss of your own by its name."""
    if value is None or isinstance(value, str | int | float):
        return value
    return repr(value) if hasattr(value, "get_params") else type(value).__name__


def search(
    parameter: str,
    candidates: Sequence[float],
    folds: Sequence[Any],
    fit: Fit,
    judge: Judge,
    monitor: Monitor,
    *,
    start: Any = None,
    rule: Callable[[list[Trial]], Trial],
    give_up: Callable[[list[Trial]], bool] | None = None,
) -> Selection:
    """Try candidates in every fold, each from where the one before it ended, and take one by a rule.

    Parameters
    ----------
    parameter : str
        Name of the setting.
    candidates : sequence of float
        In the order of trying.
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
        Looks at the trials so far and says whether to try no more.

    Returns
    -------
    Selection
        Where the monitor ended the search, of what was tried until then; the trial that it cut off counts only if
        there is no other.
    """
    trials: list[Trial] = []
    starts = [start] * len(folds)
    with monitor.stage(f"choosing {parameter}") as report:
        for number, value in enumerate(candidates):
            solutions: list[Any] = []
            losses: list[np.ndarray] = []
            for fold, begin in zip(folds, starts, strict=True):
                if monitor.stopped and (trials or solutions):
                    break
                solutions.append(fit(fold, value, begin, monitor))
                losses.append(np.atleast_1d(judge(fold, solutions[-1])))
                done = (number + len(solutions) / len(folds)) / len(candidates)
                report(done, error=float(np.mean(losses[-1])), **{parameter: value})
            if len(solutions) == len(folds) or not trials:
                trials.append(Trial({parameter: value}, np.concatenate(losses), solutions))
            starts = solutions
            if monitor.stopped or (give_up is not None and give_up(trials)):
                break
    return Selection(trials, rule(trials) if trials else None)


def best(trials: list[Trial]) -> Trial:
    """Return the trial of the smallest loss on the units that all were judged by, the first of equal ones."""
    n = min((len(trial.losses) for trial in trials), default=0)  # folds are tried in order
    return min(trials, key=lambda trial: trial.losses[:n].mean())


def smallest_good(trials: list[Trial], errors: float = 0.5) -> Trial:
    """Return the smallest setting whose loss exceeds the best by at most half a paired standard error."""
    least = best(trials)
    return min((trial for trial in trials if as_good(trial, least, errors)), key=lambda trial: trial.value)


def previous_to_best(trials: list[Trial]) -> Trial:
    """Return the trial before the best one in the order of trying, or the best if it was the first."""
    return trials[max(0, trials.index(best(trials)) - 1)]


def as_good(trial: Trial, least: Trial, errors: float) -> bool:
    """Whether a trial's loss exceeds that of the best by at most ``errors`` paired standard errors."""
    n = min(len(trial.losses), len(least.losses))  # folds are tried in order
    more = trial.losses[:n] - least.losses[:n]
    return bool(more.sum() <= errors * np.sqrt(np.square(more).sum()))


def clearly_worse(trials: list[Trial]) -> bool:
    """Whether the last trial is worse than the best by more than two paired standard errors."""
    return not as_good(trials[-1], best(trials), errors=2.0)


def no_better_twice(trials: list[Trial]) -> bool:
    """Whether the last two trials were both no better than the best before them."""
    losses = [trial.losses.mean() for trial in trials]
    return len(losses) > 2 and min(losses[-2:]) >= min(losses[:-2])
