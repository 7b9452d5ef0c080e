"""How a ranker is trained: rows to learn from, passes over them, looks at held-out rows, and a step size that
fits.

A learner takes some steps, and a `Course` records them and says whether to go on; with held-out rows it looks
at how well these are ranked, as rankings of many labels can be trained too long.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nearer.comparisons.rows import blocks
from nearer.lowrank import Course
from nearer.metrics.label_ranking import label_average_precisions
from nearer.progress import progress
from nearer.ranking.learners import Learner
from nearer.ranking.targets import Lessons

PASSES, DRAWS_A_LABEL, FEWEST_STEPS, MOST_STEPS = 20, 6, 10_000, 1_000_000  # where nobody says how many steps
MOST_HELD_OUT = 5_000  # rows
ENTRIES = 1 << 22  # scores that are in memory at once

# Step sizes to try, in units of the data; and what to take where nothing can be judged.
LADDER, MIDDLE = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01), 0.3
SLICE, SLICE_STEPS, MOST_SLICE_STEPS = 2_000, 1_000, 40_000  # learned from: rows, and steps within bounds
FEWEST_JUDGED, MOST_JUDGED, JUDGED_ENTRIES = 100, 500, 2_000_000  # judged by: rows, so many scores allowing


def trained(learner: Learner, lessons: Lessons, rate: float, course: Course, random: np.random.Generator) -> int:
    """Take steps over the rows, pass by pass, each in an order of its own; return how many were taken."""
    taken, waiting = 0, np.empty(0, dtype=np.int64)
    while True:
        count = min(course.chunk, course.n_steps - taken)
        while len(waiting) < count:
            waiting = np.concatenate([waiting, random.permutation(len(lessons))])
        order, waiting = waiting[:count], waiting[count:]
        losses = learner.take(lessons.rows, lessons.labels, order, taken, rate)
        taken += count
        if course.over(taken, float(losses.mean())):
            return taken


def enough_steps(lessons: Lessons, warp: bool) -> int:
    """Return how many steps to take where nobody says, one pass at least.

    Twenty passes; where one label of a row is drawn at a time, as many as draw each about six times.
    """
    passes = max(PASSES, DRAWS_A_LABEL * lessons.labels.labels.size / len(lessons)) if warp else PASSES
    return max(len(lessons), int(np.clip(passes * len(lessons), FEWEST_STEPS, MOST_STEPS)))


def split(lessons: Lessons, fraction: float, random: np.random.Generator) -> tuple[Lessons, Lessons]:
    """Return rows to learn from, and a fraction of them held out, 5,000 at most."""
    n = len(lessons)
    if n < 2:
        raise ValueError(f"early_stopping holds rows out, and there is only {n} to learn from")
    order = random.permutation(n)
    count = min(max(1, int(fraction * n)), MOST_HELD_OUT, n - 1)
    return lessons.some(np.sort(order[count:])), lessons.some(np.sort(order[:count]))


def judged(learner: Learner, lessons: Lessons) -> float:
    """Return the mean average precision of a learner's rankings."""
    parts = [
        label_average_precisions(learner.scores(lessons.table[block]), lessons.indicator[block])
        for block in blocks(len(lessons), max(1, ENTRIES // lessons.n_labels))
    ]
    return float(np.concatenate(parts).mean())


def chosen_rate(
    make: Callable[[Lessons, float], Learner],
    lessons: Lessons,
    unit: float,
    n_steps: int,
    random: np.random.Generator,
    verbose: bool = False,
) -> float:
    """Return the step size after which other rows are ranked best.

    Each is tried on the same slice of the rows; of equal ones the smallest is taken.

    Parameters
    ----------
    make : callable
        ``make(lessons, rate)`` returns a learner at its start.
    lessons : Lessons
        Rows to learn from: up to 2,000 of them are learned from here, and up to 500 others judged by.
    unit : float
        The step size 1 in units of the data.
    n_steps : int
        Steps of the fit: no more are tried.
    random : numpy.random.Generator
        Draws the slice.
    verbose : bool, default=False
        Show a progress bar.
    """
    order = random.permutation(len(lessons))
    most = int(np.clip(JUDGED_ENTRIES // lessons.n_labels, FEWEST_JUDGED, MOST_JUDGED))
    judges, pupils = np.split(order, [min(most, len(order) // 4)])
    if len(judges) == 0:
        return MIDDLE * unit
    judge, pupil = lessons.some(judges), lessons.some(pupils[:SLICE])
    passes = n_steps / len(lessons)  # as long as the fit, since large steps do well in short ones
    steps = min(n_steps, int(np.clip(passes * len(pupil), SLICE_STEPS, MOST_SLICE_STEPS)))
    found: list[float] = []
    seed = int(random.integers(2**63))
    with progress(len(LADDER), "step sizes", verbose) as bar:
        for rung in LADDER:
            found.append(_tried(make, pupil, judge, rung * unit, steps, seed))
            if bar is not None:
                bar.update(1)
    return LADDER[max(range(len(found)), key=lambda rung: (found[rung], rung))] * unit


def _tried(make: Any, pupil: Lessons, judge: Lessons, rate: float, steps: int, seed: int) -> float:
    """Return how well other rows are ranked in the second half of some steps; -1 where the steps were too large.

    A mean over several looks, since with large steps a single one is a matter of luck.
    """
    seen: list[float] = []
    course = Course(steps)
    try:
        learner = make(pupil, rate)

        def look(record: dict[str, Any]) -> None:
            every_other = record["steps"] > steps / 2 and len(course.history) % 2 == 0
            if every_other or record["steps"] == steps:
                seen.append(judged(learner, judge))

        course.callback = look
        trained(learner, pupil, rate, course, np.random.default_rng(seed))
    except ValueError:
        return -1.0
    return float(np.mean(seen))
