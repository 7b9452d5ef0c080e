"""The choice of what a ranker does by default: the closed form's power, penalty and rank, and the steps after it.

Everything is judged by the average precision of rows that are held out. Once the rows were seen the closed form is cheap
for every setting, so power and penalty are found by a walk on a grid. Popularity alone is tried first: nothing worse is
taken. Steps are tried from the best closed form, and taken only if the held-out rows are ranked better for them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nearer.metrics.label_ranking import label_average_precisions
from nearer.monitor import Monitor
from nearer.ranking.models import PassiveAggressiveModel, RankingModel
from nearer.ranking.ridge import Moments, RidgePath, RidgeStart, projection_of
from nearer.ranking.solvers import MAX_STEPS, MAX_TRIAL_STEPS, RankingSolver, RowStream
from nearer.ranking.targets import TrainingSet
from nearer.selection import Selection, Trial, best

POWERS, RIDGES, RANKS = (0.0, 0.25, 0.5, 0.75), tuple(10.0 ** (k / 2) for k in range(-6, 7)), (25, 50, 100, 200)
RATES, PASSES, PATIENCE = (0.3, 0.1), (1, 2, 4), 2
MAX_PASSES = PASSES[-1]
SMALL_TABLE = 2_500  # rows; a pass has at least as many steps
SMALL_TABLE_RATES, GIVEN_STEPS_RATES = (1.0, 0.3, 0.1), (1.0, 0.3, 0.1, 0.03, 0.01)
NEIGHBORS = (0, 1), (0, -1), (-1, -1), (-1, 0), (1, 0), (1, 1)  # in powers and ridges
SHARE, MIN_JUDGED, MAX_JUDGED, JUDGED_SCORES = 0.2, 10, 2_000, 1_500_000  # rows to hold out, and scores of them
MAX_RANK = 50  # of steps by default: their cost grows with its square
TYPICAL_TRIALS = 16  # for the progress bar
ENOUGH = 1e-3  # less in mean average precision is not worth a larger rank

Report = Callable[..., object]


class Settings(NamedTuple):
    """Power and penalty of the closed form, the rank, and size and number of the steps after it."""

    power: float = 0.5
    ridge: float | None = 1.0
    rank: int = 50
    learning_rate: float | None = None
    n_steps: int = 0


@dataclass
class SettingsSearch:
    """Tries settings on some rows of a training set and judges them by the others; without rows to spare by none."""

    train: TrainingSet
    intercept: bool
    constant: float  # the value of the constant feature
    random: np.random.Generator
    monitor: Monitor
    trials: list[Trial] = field(default_factory=list)
    chosen: Trial | None = None

    def __post_init__(self) -> None:
        n, order = len(self.train), self.random.permutation(len(self.train))
        n_judged = min(int(SHARE * n), MAX_JUDGED, max(200, JUDGED_SCORES // self.train.n_labels))
        n_judged = n_judged if n_judged >= MIN_JUDGED else 0
        self.learned = self.train.take(np.sort(order[n_judged:]))
        self.held_out = self.train.take(np.sort(order[:n_judged]))
        self.projection = projection_of(self.learned, self.intercept, self.random)
        self.moments = Moments.of(self.learned, self.projection)
        self.path = RidgePath(self.moments, self.intercept)

    @property
    def selection(self) -> Selection:
        """What was tried, and what was chosen of it."""
        return Selection(self.trials, self.chosen)

    def start(self) -> RidgeStart:
        """Return the closed form for all rows."""
        everything = self.moments.plus(Moments.of(self.held_out, self.projection))
        return RidgeStart(self.projection, RidgePath(everything, self.intercept), self.constant)

    def choose_closed_form(self, most: int, rank: int | None) -> Settings:
        """Return the best settings without steps, of a rank or of the smallest one up to ``most`` that will do."""
        if len(self.held_out) == 0:
            return Settings(rank=rank or min(Settings().rank, most))
        rows = self.path.rows(self.projection.rows(self.held_out.table)).astype(np.float32)

        def judge(power: float, ridge: float | None) -> Trial:
            weights, offsets = self.path.scores(power, ridge)
            scores = rows @ weights.astype(np.float32) + offsets.astype(np.float32)
            return self._judge(scores, Settings(power, ridge, rank or most), report)

        with self.monitor.stage("choosing the penalty", until=0.4) as report:
            if self.intercept:
                judge(Settings().power, None)
            self._walk(judge)
            self.chosen = self._choose_rank(best(self.trials), most, rank, rows, report)
        return Settings(**self.chosen.settings)

    def choose_steps(
        self,
        settings: Settings,
        solver: RankingSolver,
        model_at: Callable[[RidgeStart, Settings], RankingModel],
        rates: Sequence[float],
        n_steps: int | None,
        most: int,
    ) -> Settings:
        """Return the settings with steps of the best size: as many as given, or as many as help, which may be none."""
        if len(self.held_out) == 0:
            return settings
        closed = settings
        settings = closed._replace(rank=min(closed.rank, most), n_steps=n_steps or 1)
        assert self.chosen is not None
        errors = (
            [self.chosen.error] if n_steps is None else []
        )  # the closed form need not be beaten by given steps
        start = RidgeStart(self.projection, self.path, self.constant)
        n, seed, scale = len(self.learned), int(self.random.integers(2**63)), len(self.learned) / len(self.train)
        stops = [passes * max(n, SMALL_TABLE) for passes in PASSES if passes * len(self.train) <= MAX_STEPS]
        if n_steps is not None:
            stops = [max(1, min(round(n_steps * scale), MAX_TRIAL_STEPS))]
        with self.monitor.stage("choosing the steps") as report:
            for rate in rates:
                if n_steps is None and min(errors) < errors[0] and len(rates) == len(RATES):
                    break  # where larger steps helped, smaller ones are only slower
                random, taken, misses = np.random.default_rng(seed), 0, 0
                try:
                    model = model_at(start, settings)
                except ValueError:  # features with a large offset make factors that steps cannot start from
                    break
                for stop in stops:
                    if misses == PATIENCE or (self.monitor.stopped and errors):
                        break
                    stream = RowStream(self.learned, rate, stop - taken, random, n_taken=taken)
                    try:
                        solver.solve(stream, model, self.monitor.child(stream.n_chunks))
                    except ValueError:  # the steps were too large
                        break
                    tried = settings._replace(learning_rate=rate, n_steps=n_steps or round(stop / scale))
                    trial = self._judge(model.scores(self.held_out.table), tried, report)
                    taken, misses = stop, misses + 1
                    if not errors or trial.error < min(errors):
                        self.chosen, misses = trial, 0
                    errors.append(trial.error)
        if self.chosen.settings["learning_rate"] is None:
            return closed
        return Settings(**self.chosen.settings)

    def _judge(self, scores: np.ndarray, settings: Settings, report: Report) -> Trial:
        """Judge the scores that settings lead to, and keep them as a trial."""
        losses = 1.0 - label_average_precisions(scores, self.held_out.indicator)
        if self.held_out.weights is not None:
            losses *= self.held_out.weights / self.held_out.weights.mean()
        trial = Trial(settings._asdict(), losses, [None])
        self.trials.append(trial)
        report(min(1.0, len(self.trials) / TYPICAL_TRIALS), error=trial.error, **trial.settings)
        return trial

    def _walk(self, judge: Callable[[float, float | None], Trial]) -> None:
        """Try powers and penalties until none of the neighbors is better."""
        errors: dict[tuple[int, int], float] = {}

        def error_at(i: int, j: int) -> float:
            if (i, j) not in errors:
                if not (0 <= i < len(POWERS) and 0 <= j < len(RIDGES)) or (errors and self.monitor.stopped):
                    return np.inf
                errors[i, j] = judge(POWERS[i], RIDGES[j]).error
            return errors[i, j]

        i, j, moved = POWERS.index(Settings().power), RIDGES.index(1.0), True
        while moved:
            moved = False
            for right, down in NEIGHBORS:
                while error_at(i + right, j + down) < error_at(i, j):
                    i, j, moved = i + right, j + down, True

    def _choose_rank(self, full: Trial, most: int, rank: int | None, rows: np.ndarray, report: Report) -> Trial:
        """Try ranks until one is nearly as good as the full one, or only the rank that is given."""
        settings = Settings(**full.settings)
        scores = self.path.scores(settings.power, settings.ridge)
        directions = self.path.directions(scores).astype(np.float32)
        weights, offsets = (part.astype(np.float32) for part in scores)
        most = min(most, max(1, directions.shape[1]))
        for tried in [rank] if rank else sorted({min(most, rank) for rank in RANKS}):
            first = directions[:, :tried]
            reduced = (rows @ (weights @ first) + offsets @ first) @ first.T
            trial = self._judge(reduced, settings._replace(rank=tried), report)
            if trial.error <= full.error + ENOUGH or self.monitor.stopped:
                break
        return trial


def start_from_ridge(
    ranker: Any,
    solver: Any,
    train: TrainingSet,
    random: np.random.Generator,
    seed: int,
    monitor: Monitor,
    n_steps: int | None,
) -> tuple[RankingModel, Settings, Selection]:
    """Return the model of the closed form, its settings, and what was tried; without ``n_steps`` as many as help."""

    def model_at(start: RidgeStart, settings: Settings) -> RankingModel:
        A, B = start.factors(settings.power, settings.ridge, settings.rank, np.random.default_rng(seed))
        # Without steps the factors need not be well conditioned.
        kind = solver.model if settings.n_steps else PassiveAggressiveModel
        return kind(A, B, warp=ranker.negatives == "warp", seed=seed)

    multiples = GIVEN_STEPS_RATES if n_steps else RATES if len(train) > SMALL_TABLE else SMALL_TABLE_RATES
    rates, rate = [multiple * solver.unit(train) for multiple in multiples], RATES[-1] * solver.unit(train)
    if not isinstance(ranker.learning_rate, str):
        rates = [rate := float(ranker.learning_rate)]
    rank = None if isinstance(ranker.rank, str) else int(ranker.rank)
    search = SettingsSearch(train, ranker.fit_intercept, ranker.constant_, random, monitor)
    settings = search.choose_closed_form(min(train.n_labels, train.table.shape[1]), rank)
    settings = settings._replace(learning_rate=rate, n_steps=n_steps or 0)
    # If popularity alone is best, features do not help, and neither would steps.
    if len(rates) > 1 if n_steps else settings.ridge is not None:
        settings = search.choose_steps(settings, solver, model_at, rates, n_steps, rank or MAX_RANK)
    return model_at(search.start(), settings), settings, search.selection
