"""The solvers of label rankings, what they solve, and the choice of their step size.

A solver takes one step per row, chunk by chunk; the monitor sees every chunk. With held-out rows the judge looks
at how well these are ranked, as rankings of many labels can be trained too long.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from nearer.comparisons.rows import blocks
from nearer.lowrank import PassSampler, Stream
from nearer.metrics.label_ranking import label_average_precisions
from nearer.monitor import Judge, Monitor
from nearer.parameters import one_of, parametrized
from nearer.ranking.models import (
    GroupPerceptronModel,
    LoretaModel,
    PassiveAggressiveModel,
    PerceptronModel,
    RankingModel,
)
from nearer.ranking.targets import TrainingSet
from nearer.selection import Selection, best, search
from nearer.solver import Solver, StreamSolver

PASSES, DRAWS_PER_LABEL, MIN_STEPS, MAX_STEPS = 20, 6, 10_000, 1_000_000  # of the default number of steps
MAX_HELD_OUT = 5_000  # rows
ENTRIES = 1 << 22  # scores that are in memory at once

# Step sizes to try, in units of the data; and the one to take if nothing can be judged.
RATES, DEFAULT_RATE = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01), 0.3
TRIAL_ROWS, MIN_TRIAL_STEPS, MAX_TRIAL_STEPS = 2_000, 1_000, 40_000
MIN_JUDGED, MAX_JUDGED, JUDGED_SCORES = 100, 500, 2_000_000  # rows to judge by, and scores of them at most


class WeightedSampler:
    """Numbers of rows, drawn in proportion to their weights."""

    def __init__(self, weights: np.ndarray, random: np.random.Generator) -> None:
        self.shares, self.random = weights / weights.sum(), random

    def next(self, size: int) -> np.ndarray:
        """Return the next numbers."""
        return self.random.choice(len(self.shares), size, p=self.shares)


class RowStream(Stream):
    """Rows to learn from, pass by pass, each in an order of its own; without ``random`` once as they are.

    With weights, rows are drawn in proportion to them.
    """

    def __init__(
        self,
        train: TrainingSet,
        learning_rate: float,
        n_steps: int,
        random: np.random.Generator | None,
        n_taken: int = 0,
    ) -> None:
        sampler: Any = PassSampler(len(train), random)
        if train.weights is not None and random is not None:
            sampler = WeightedSampler(train.weights, random)
        super().__init__(sampler, learning_rate, n_steps, n_taken)
        self.train = train
        if random is None:
            self.chunk_size = n_steps

    def take(self, model: RankingModel, chunk: np.ndarray) -> float:
        """Let a model learn from a chunk; return the mean of the losses before the steps."""
        rows, labels = self.train.rows, self.train.labels
        return self._count(model.take(rows, labels, chunk, self.n_taken, self.learning_rate))


@parametrized
class RankingSolver(StreamSolver):
    """Base of the solvers: one step per row, each by the loop of its model; subclasses document ``subgradient``."""

    subgradient: str = "exact"
    _constraints: ClassVar = {"subgradient": one_of("exact", "printed")}
    model: ClassVar[Any]
    stored_in: ClassVar[str]  # the attribute of the estimator that holds the model
    factored: ClassVar[bool] = False

    @property
    def printed(self) -> bool:
        """Whether steps with all labels scored are along the printed G."""
        return self.subgradient == "printed"

    def unit(self, train: TrainingSet) -> float:
        """Return the step size that changes the score of a label by about one: the unit of step sizes."""
        return 1.0 / train.rows.mean_square

    def _solve(self, problem: Any, model: RankingModel, monitor: Monitor) -> RankingModel:
        model.printed = self.printed
        super()._solve(problem, model, monitor)
        return model


@parametrized
class LORETA(RankingSolver):
    """Gradient steps along the manifold of matrices of one rank (Algorithm 4).

    Parameters
    ----------
    subgradient : {"exact", "printed"}, default="exact"
        Of ``negatives="all"``. With "exact" a row pushes the highest false label down once per true label that does not
        exceed it by the margin; with "printed" once, as in the LORETA paper, which ranked much better.

    Examples
    --------
    >>> from nearer.ranking import LORETA, LabelRanker
    >>> LabelRanker(solver=LORETA())
    LabelRanker(solver=LORETA())
    """

    model, stored_in, factored = LoretaModel, "label_factors_", True


@parametrized
class PassiveAggressive(RankingSolver):
    """Passive-aggressive steps on the two factors in turn.

    Parameters
    ----------
    subgradient : {"exact", "printed"}, default="exact"
        Of ``negatives="all"``. With "exact" a row pushes the highest false label down once per true label that does not
        exceed it by the margin; with "printed" once, as in the LORETA paper, which ranked much better.

    Examples
    --------
    >>> from nearer.ranking import LabelRanker, PassiveAggressive
    >>> LabelRanker(20, PassiveAggressive(), learning_rate=0.1)  # the largest step
    LabelRanker(learning_rate=0.1, rank=20, solver=PassiveAggressive())
    """

    model, stored_in, factored = PassiveAggressiveModel, "label_factors_", True

    def unit(self, train: TrainingSet) -> float:
        """Return the unit of step sizes: factors of equal size share the scale of the features."""
        return float(train.rows.mean_square**-0.5)


@parametrized
class Perceptron(RankingSolver):
    """Subgradient steps of a full matrix.

    Parameters
    ----------
    subgradient : {"exact", "printed"}, default="exact"
        Of ``negatives="all"``. With "exact" a row pushes the highest false label down once per true label that does not
        exceed it by the margin; with "printed" once, as in the LORETA paper, which ranked much better.

    Examples
    --------
    >>> from nearer.ranking import LabelRanker, Perceptron
    >>> model = LabelRanker(solver=Perceptron(), random_state=0)
    >>> model.fit([[0.0, 1.0], [1.0, 0.0]], ["cat", "dog"]).predict([[0.1, 0.9]])
    array(['cat'], dtype='<U3')
    """

    model, stored_in = PerceptronModel, "coef_"


@parametrized
class GroupPerceptron(RankingSolver):
    """Mirror descent of a full matrix with the mixed (2, 1) norm, which prefers few features.

    Parameters
    ----------
    subgradient : {"exact", "printed"}, default="exact"
        Of ``negatives="all"``. With "exact" a row pushes the highest false label down once per true label that does not
        exceed it by the margin; with "printed" once, as in the LORETA paper, which ranked much better.

    Examples
    --------
    >>> from nearer.ranking import GroupPerceptron, LabelRanker
    >>> model = LabelRanker(solver=GroupPerceptron(), learning_rate=0.1, random_state=0)
    >>> model.fit([[0.0, 1.0], [1.0, 0.0]], [[1, 0], [0, 1]])
    LabelRanker(learning_rate=0.1, random_state=0, solver=GroupPerceptron())
    >>> model.coef_.shape
    (2, 2)
    """

    model, stored_in = GroupPerceptronModel, "theta_"

    def unit(self, train: TrainingSet) -> float:
        """Return the unit of step sizes: the mirror shrinks features that matter alike by that much."""
        shrink = np.exp(max(0.0, np.log(train.table.shape[1]) - 2.0))
        return float(shrink / train.rows.mean_square)


class Popularity(Solver):
    """Scores a label by how many rows have it: the baseline. It takes no steps.

    Examples
    --------
    >>> from nearer.ranking import LabelRanker, Popularity
    >>> LabelRanker(solver=Popularity()).fit([[0.0], [1.0], [1.0]], ["cat", "dog", "dog"]).predict([[0.0]])
    array(['dog'], dtype='<U3')
    """

    stored_in: ClassVar[str] = ""
    factored: ClassVar[bool] = False


SOLVERS: dict[str, Any] = {
    "loreta": LORETA,
    "pa": PassiveAggressive,
    "perceptron": Perceptron,
    "group-perceptron": GroupPerceptron,
    "popularity": Popularity,
}


def default_n_steps(train: TrainingSet, warp: bool) -> int:
    """Return the default number of steps: 20 passes, or with one label drawn per row about six draws of each."""
    passes = max(PASSES, DRAWS_PER_LABEL * train.labels.labels.size / len(train)) if warp else PASSES
    return max(len(train), int(np.clip(passes * len(train), MIN_STEPS, MAX_STEPS)))


def hold_out(train: TrainingSet, fraction: float, random: np.random.Generator) -> tuple[TrainingSet, Judge]:
    """Return the rows to learn from, and a judge of models by the others, 5,000 at most."""
    n = len(train)
    if n < 2:
        raise ValueError(f"early_stopping holds rows out, and there is only {n} to learn from")
    order = random.permutation(n)
    count = min(max(1, int(fraction * n)), MAX_HELD_OUT, n - 1)
    held_out = train.take(np.sort(order[:count]))

    def judge(model: RankingModel) -> tuple[tuple[float, ...], dict[str, float]]:
        score = mean_precision(model, held_out)
        return (-score,), {"held_out_score": score}

    return train.take(np.sort(order[count:])), judge


def mean_precision(model: RankingModel, rows: TrainingSet) -> float:
    """Return the mean average precision, by weight, of a model's rankings."""
    parts = [
        label_average_precisions(model.scores(rows.table[block]), rows.indicator[block])
        for block in blocks(len(rows), max(1, ENTRIES // rows.n_labels))
    ]
    return float(np.average(np.concatenate(parts), weights=rows.weights))


def select_rate(
    solver: RankingSolver,
    start: Callable[[TrainingSet, float], RankingModel],
    train: TrainingSet,
    n_steps: int,
    random: np.random.Generator,
    monitor: Monitor,
) -> tuple[float, Selection]:
    """Return the step size after which other rows are ranked best, of equal ones the smallest, and what was tried.

    Each is tried on the same 2,000 rows or fewer, from ``start(rows, rate)``, and judged by 500 others or fewer.
    """
    order = random.permutation(len(train))
    n_judged = int(np.clip(JUDGED_SCORES // train.n_labels, MIN_JUDGED, MAX_JUDGED))
    judged, learned = np.split(order, [min(n_judged, len(order) // 4)])
    unit = solver.unit(train)
    if len(judged) == 0:
        return DEFAULT_RATE * unit, Selection([], None)
    fold = train.take(learned[:TRIAL_ROWS]), train.take(judged)
    passes = n_steps / len(train)  # as long as the fit, since large steps do well in short ones
    trial_steps = min(n_steps, int(np.clip(passes * len(fold[0]), MIN_TRIAL_STEPS, MAX_TRIAL_STEPS)))
    seed = int(random.integers(2**63))

    def fit(fold: Any, rate: float, _: Any, monitor: Monitor) -> list[float]:
        """Return how well the other rows are ranked at several points of the second half."""
        scores: list[float] = []  # several, since with large steps a single one is a matter of luck
        stream = RowStream(fold[0], rate, trial_steps, np.random.default_rng(seed))
        try:
            model = start(fold[0], rate)

            def look(record: dict[str, Any]) -> None:
                every_other = record["n_steps"] > trial_steps / 2 and record["iteration"] % 2 == 0
                if every_other or record["n_steps"] == trial_steps:
                    scores.append(mean_precision(model, fold[1]))

            solver.solve(stream, model, monitor.child(stream.n_chunks, callback=look))
        except ValueError:  # the steps were too large
            return [-1.0]
        return scores or [-1.0]

    rates = [rate * unit for rate in RATES]
    selection = search(
        "learning_rate", rates, [fold], fit, lambda fold, scores: np.array([1.0 - np.mean(scores)]), monitor,
        rule=lambda trials: best(trials[::-1]),
    )  # fmt: skip
    assert selection.chosen is not None
    return selection.chosen.value, selection
