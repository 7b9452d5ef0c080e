"""The search over several parameters at once: a race, in which candidates that fall behind are dropped.

Candidates stand on ladders: the values of one parameter (the ridge) in order, with all others fixed. In every fold a
ladder is walked from its middle to both ends, each fit started from the last. After every fold the candidates that
are clearly worse than the best are dropped, so that most of the work is spent on those that are hard to tell apart.
All candidates share folds and starts, so that differences are paired.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from nearer.monitor import Monitor
from nearer.selection.search import Fit, Selection, Trial, as_good, best

BEHIND = 2.0  # paired standard errors by which a candidate is clearly worse

Judge = Callable[[Any, Any], tuple[np.ndarray, np.ndarray]]


class Ladder:
    """Candidates that differ in one parameter, in its order, and what was tried of them."""

    def __init__(self, candidates: Sequence[dict[str, Any]]) -> None:
        self.candidates = candidates
        self.trials: dict[int, Trial] = {}
        self.alive = set(range(len(candidates)))

    def walk(self, fold: Any, fit: Fit, judge: Judge, monitor: Monitor) -> dict[int, Trial]:
        """Fit what is alive in a fold, from the middle to both ends; in the first fold as far as it pays."""
        rungs = sorted(self.alive)
        middle = min(rungs, key=lambda rung: abs(2 * rung - len(self.candidates) + 1), default=0)
        walked: dict[int, Trial] = {}
        for path in ([rung for rung in rungs[::-1] if rung <= middle], [rung for rung in rungs if rung > middle]):
            last = walked[middle].solutions[0] if walked else None
            for rung in path:
                if monitor.stopped and (walked or self.trials):
                    return walked
                last = fit(fold, self.candidates[rung], last, monitor)
                losses, errors = judge(fold, last)
                walked[rung] = Trial(self.candidates[rung], losses, [last], errors)
                if not self.trials and not as_good(walked[rung], best(list(walked.values())), BEHIND):
                    break
        return walked

    def add(self, walked: dict[int, Trial]) -> None:
        """Add what a fold led to; what was not tried in it is out."""
        for rung, trial in walked.items():
            self.trials[rung] = joined(self.trials[rung], trial) if rung in self.trials else trial
        self.alive &= set(walked)

    def contenders(self, least: Trial) -> set[int]:
        """Return the candidates alive that are not clearly worse than the best."""
        return {rung for rung in self.alive if as_good(self.trials[rung], least, BEHIND)}

    def smoothed_loss(self, rung: int) -> float:
        """Return the mean loss, averaged with that of the neighbors: neighboring values differ little in truth.

        It is infinite at the ends of a ladder, which no neighbor confirms.
        """
        if len(self.candidates) > 2 and rung in (0, len(self.candidates) - 1):
            return np.inf
        own = self.trials[rung].losses.mean()
        around = [self.trials[r].losses.mean() if r in self.alive else own for r in (rung - 1, rung + 1)]
        return float(0.5 * own + 0.25 * sum(around))


def joined(trial: Trial, other: Trial) -> Trial:
    """Return the trial of a candidate in the folds of both."""
    assert trial.errors is not None
    assert other.errors is not None
    return Trial(
        trial.settings,
        np.concatenate([trial.losses, other.losses]),
        [*trial.solutions, *other.solutions],
        np.concatenate([trial.errors, other.errors]),
    )


def race(
    ladders: Sequence[Sequence[dict[str, Any]]],
    folds: Iterable[Any],
    fit: Fit,
    judge: Judge,
    monitor: Monitor,
    *,
    what: str,
    n_folds: int,
    n_jobs: int = 1,
) -> Selection:
    """Try candidates fold by fold, drop those that are clearly worse, and take the best of the others.

    Parameters
    ----------
    ladders : sequence of sequences of dict
        Candidates: settings by name. Those of a ladder differ in one parameter and are in its order.
    folds : iterable
        The parts of the data, as ``fit`` and ``judge`` take them.
    fit : callable
        ``fit(fold, settings, start, monitor)`` returns what is learned in a fold; the start is the last solution
        on the ladder, or None.
    judge : callable
        ``judge(fold, solution)`` returns the loss and the error of every held-out unit.
    monitor : Monitor
        Of the whole fit; ends the race.
    what : str
        What is chosen, for the progress bar.
    n_folds : int
        How many folds there are.
    n_jobs : int, default=1
        Threads that walk ladders at the same time. The result does not depend on it.

    Returns
    -------
    Selection
        Where the monitor ended the race, of what was tried until then.
    """
    tracks = [Ladder(candidates) for candidates in ladders]
    total = sum(map(len, ladders)) * n_folds
    with monitor.stage(f"choosing {what}", total) as report, _threads(n_jobs) as run:
        for number, fold in enumerate(folds):
            walks = []
            for walked in run(lambda track: track.walk(fold, fit, judge, monitor), tracks):  # noqa: B023
                walks.append(walked)
                for trial in walked.values():
                    report(error=trial.error, **trial.settings)
            if monitor.stopped and number:
                break  # only complete folds are compared
            for track, walked in zip(tracks, walks, strict=True):
                track.add(walked)
            least = best([track.trials[rung] for track in tracks for rung in track.alive])
            for track in tracks:
                contenders = track.contenders(least)
                track.alive = {rung for rung in track.alive if contenders & {rung - 1, rung, rung + 1}}
            if monitor.stopped:
                break
    trials = [track.trials[rung] for track in tracks for rung in sorted(track.trials)]
    return Selection(trials, _smoothed_best(tracks))


def _smoothed_best(tracks: Sequence[Ladder]) -> Trial:
    least = best([track.trials[rung] for track in tracks for rung in track.alive])
    _, number, rung = min(
        (track.smoothed_loss(rung), number, rung)
        for number, track in enumerate(tracks)
        for rung in track.contenders(least)
    )
    return tracks[number].trials[rung]


@contextmanager
def _threads(n_jobs: int) -> Iterator[Callable]:
    if n_jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield pool.map
