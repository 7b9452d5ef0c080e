"""The search over several parameters at once: a race, in which candidates that fall behind are dropped.

Candidates are arranged in ladders: the values of one parameter (the ridge) in order, with all others fixed. The first
fold has three steps. The middle value of every ladder is tried, where that is far behind a larger one too, and ladders
where both are far behind are dropped. Every second value of the others is tried, from the middle outwards, until one
is clearly worse. Then the neighbors of the good ones
are. Later folds are spent only on candidates that are not clearly worse than the best, and there are no more of them
when the differences are known well enough. Fits start from the nearest value on the ladder. All candidates share folds
and starts, so that differences are paired.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nearer.monitor import Monitor
from nearer.selection.search import Fit, Selection, Trial, as_good, best
from nearer.threads import thread_map

BEHIND = 2.0  # paired standard errors by which a candidate is clearly worse
FAR_BEHIND = 4.0  # the same for the middle of a ladder, whose other values may be better
MIN_UNITS = 200  # held-out units below which nothing is dropped
SETTLED = 0.002  # standard error of differences below which more folds would not matter

Judge = Callable[[Any, Any], tuple[np.ndarray, np.ndarray]]


class Ladder:
    """Candidates that differ in one parameter, in its order, and what was tried of them."""

    def __init__(self, candidates: Sequence[dict[str, Any]]) -> None:
        self.candidates = candidates
        self.middle = len(candidates) // 2
        self.trials: dict[int, Trial] = {}  # in the folds so far
        self.walked: dict[int, Trial] = {}  # in this fold
        self.alive: set[int] = set()

    def walk(self, rungs: Iterable[int], fold: Any, fit: Fit, judge: Judge, monitor: Monitor) -> None:
        """Fit some candidates in a fold, each from the nearest one that was fitted."""
        for rung in rungs:
            if monitor.stopped and (self.walked or self.trials):
                return
            if rung in self.walked:
                continue
            nearest = min(self.walked, key=lambda other: abs(other - rung), default=None)
            start = None if nearest is None else self.walked[nearest].solutions[0]
            solution = fit(fold, self.candidates[rung], start, monitor)
            losses, errors = judge(fold, solution)
            self.walked[rung] = Trial(self.candidates[rung], losses, [solution], errors)

    def explore(self, fold: Any, fit: Fit, judge: Judge, monitor: Monitor) -> None:
        """Fit every other candidate, from the middle to both ends, until one is clearly worse than the best."""
        for path in (range(self.middle - 2, -1, -2), range(self.middle + 2, len(self.candidates), 2)):
            for rung in path:
                self.walk([rung], fold, fit, judge, monitor)
                if monitor.stopped or behind(self.walked[rung], best(list(self.walked.values()))):
                    break

    def end_fold(self) -> None:
        """Add what this fold led to; what was not tried in it is out."""
        for rung, trial in self.walked.items():
            self.trials[rung] = joined(self.trials[rung], trial) if rung in self.trials else trial
        self.alive, self.walked = set(self.walked), {}

    def contenders(self, least: Trial) -> set[int]:
        """Return the candidates alive that are not clearly worse than the best."""
        return {rung for rung in self.alive if not behind(self.trials[rung], least)}

    def choices(self, least: Trial) -> set[int]:
        """Return the contenders, without the ends of the ladder where possible: their neighbors instead."""
        rungs = self.contenders(least)
        return {rung for rung in rungs if not self.is_end(rung)} or self.around(rungs) & self.alive

    def is_end(self, rung: int) -> bool:
        """Whether a candidate is one of the two ends, which no neighbor confirms."""
        return len(self.candidates) > 2 and rung in (0, len(self.candidates) - 1)

    def around(self, rungs: set[int]) -> set[int]:
        """Return these candidates and their neighbors."""
        return {r for rung in rungs for r in (rung - 1, rung, rung + 1) if 0 <= r < len(self.candidates)}

    def smoothed_loss(self, rung: int) -> float:
        """Return the mean loss, averaged with that of the neighbors: neighboring values differ little in truth.

        It is infinite at the ends of a ladder.
        """
        if self.is_end(rung):
            return np.inf
        own = self.trials[rung].losses.mean()
        around = [self.trials[r].losses.mean() if r in self.alive else own for r in (rung - 1, rung + 1)]
        return float(0.5 * own + 0.25 * sum(around))


def behind(trial: Trial, least: Trial, errors: float = BEHIND) -> bool:
    """Whether a trial is clearly worse than the best; of few units that cannot be told."""
    return len(trial.losses) >= MIN_UNITS and not as_good(trial, least, errors)


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
    until: float = 0.8,
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
        ``fit(fold, settings, start, monitor)`` returns what is learned in a fold; the start is the solution of
        a neighboring candidate, or None.
    judge : callable
        ``judge(fold, solution)`` returns the loss and the error of every held-out unit.
    monitor : Monitor
        Of the whole fit; ends the race.
    what : str
        What is chosen, for the progress bar.
    n_folds : int
        How many folds there are.
    until : float, default=0.8
        How far the search takes the progress bar.
    n_jobs : int, default=1
        Threads that walk ladders at the same time. The result does not depend on it.

    Returns
    -------
    Selection
        Where the monitor ended the race, of what was tried until then.
    """
    tracks = [Ladder(candidates) for candidates in ladders]
    first = 1.0 if n_folds == 1 else 0.4  # share of the first fold, where most candidates are dropped
    with monitor.stage(f"choosing {what}", until) as report, thread_map(n_jobs) as run:
        done = 0.0

        def walk(plans: Sequence[tuple[Ladder, Iterable[int] | None]], fold: Any, share: float) -> None:
            """Walk the rungs of some ladders at the same time; None: explore the ladder."""
            nonlocal done

            def one(plan: tuple[Ladder, Iterable[int] | None]) -> list[Trial]:
                track, rungs = plan
                before = set(track.walked)
                if rungs is None:
                    track.explore(fold, fit, judge, monitor)
                else:
                    track.walk(rungs, fold, fit, judge, monitor)
                return [trial for rung, trial in track.walked.items() if rung not in before]

            for trials in run(one, plans):
                for trial in trials:
                    done += share / len(plans) / len(trials)
                    report(done, error=trial.error, **trial.settings)

        for number, fold in enumerate(folds):
            if number == 0:
                walk([(track, [track.middle]) for track in tracks], fold, 0.2 * first)
                least = best([track.walked[track.middle] for track in tracks if track.walked])
                near = [t for t in tracks if t.walked and not behind(t.walked[t.middle], least, FAR_BEHIND)]
                second = [
                    (t, [t.middle + 2]) for t in tracks if t not in near and t.middle + 2 < len(t.candidates)
                ]
                walk(second, fold, 0.0)
                near += [t for t, (r,) in second if r in t.walked and not behind(t.walked[r], least, FAR_BEHIND)]
                walk([(track, None) for track in near], fold, 0.5 * first)
                least = best([trial for track in near for trial in track.walked.values()])
                plans = []
                for track in near:
                    good = {rung for rung, trial in track.walked.items() if not behind(trial, least)}
                    plans.append((track, sorted(track.around(good) - set(track.walked))))
                walk(plans, fold, 0.3 * first)
            else:
                walk([(track, sorted(track.alive)) for track in tracks], fold, (1.0 - first) / (n_folds - 1))
                if monitor.stopped:
                    break  # only complete folds are compared
            for track in tracks:
                track.end_fold()
            least = best([track.trials[rung] for track in tracks for rung in track.alive])
            contenders = [track.contenders(least) for track in tracks]
            if monitor.stopped or _settled(tracks, contenders, least):
                break
            for track, rungs in zip(tracks, contenders, strict=True):
                track.alive &= track.around(rungs)
    for track in tracks:
        smoothed = {rung: track.smoothed_loss(rung) for rung in track.alive if not track.is_end(rung)}
        track.trials |= {rung: replace(track.trials[rung], criterion=loss) for rung, loss in smoothed.items()}
    trials = [track.trials[rung] for track in tracks for rung in sorted(track.trials)]
    return Selection(trials, _smoothed_best(tracks))


def _settled(tracks: Sequence[Ladder], contenders: Sequence[set[int]], least: Trial) -> bool:
    """Whether the differences between the contenders are known well enough."""
    more = [
        track.trials[rung].losses - least.losses
        for track, rungs in zip(tracks, contenders, strict=True)
        for rung in rungs
    ]
    return all(np.sqrt(np.square(losses).sum()) / len(losses) <= SETTLED for losses in more)


def _smoothed_best(tracks: Sequence[Ladder]) -> Trial:
    least = best([track.trials[rung] for track in tracks for rung in track.alive])
    _, number, rung = min(
        (track.smoothed_loss(rung), number, rung)
        for number, track in enumerate(tracks)
        for rung in track.choices(least)
    )
    return tracks[number].trials[rung]
