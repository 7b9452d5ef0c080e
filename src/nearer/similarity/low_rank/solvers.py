"""The solvers of low-rank similarities, the stream of triplets that they solve, and the choice of their step size.

The step size is tried on a first slice of triplets, each candidate from the same start. The triplets are new to a
model until it has learned from them, so the losses before each step judge it; those of the first half, which tell
more about the start, are left out. A short slice favors long steps, so the candidate below the best is taken.
"""

from typing import Any, ClassVar

import numpy as np

from nearer.lowrank import Stream
from nearer.monitor import Monitor
from nearer.parameters import BOOL, COUNT, NONE, POSITIVE, either, parametrized
from nearer.selection import Selection, previous_to_best, search
from nearer.similarity.low_rank.model import FactorModel
from nearer.similarity.triplets import row_products
from nearer.solver import StreamSolver

# Step sizes to try. Those along the manifold are in units of one over the mean square of a gradient of W; those of
# factors, whose size is the root of W's and whose gradients are larger by it, in units of one over its root. So the
# units of the features do not matter, nor, as they are divided by the mean weight, those of the weights.
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
RATES_OF_FACTORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
TRIAL_TRIPLETS = 5_000

Triplets = tuple[np.ndarray, np.ndarray]


class TripletStream(Stream):
    """A stream of triplets and their weights."""

    def take(self, model: FactorModel, chunk: Triplets) -> float:
        """Let a model learn from a chunk; return the mean of the losses before the steps."""
        triplets, weights = chunk
        return self._count(model.take(triplets, self.learning_rate * weights))


class TripletSolver(StreamSolver):
    """Base of the solvers: one step per triplet."""

    step: ClassVar[str]
    identify: bool = False  # a parameter of LORETA

    @property
    def general(self) -> bool:
        """Whether the solver learns two factors and no symmetric one."""
        return self.step == "pa" or self.identify

    def start(self, loss: Any, factors: tuple[np.ndarray, ...], rows: Any) -> FactorModel:
        """Return a model that starts from factors."""
        return FactorModel(self.step, loss, factors, rows, self.identify)

    def _solve(self, problem: TripletStream, model: FactorModel, monitor: Monitor) -> FactorModel:
        super()._solve(problem, model, monitor)
        model.settle()
        return model


@parametrized
class LORETA(TripletSolver):
    """Gradient steps along the manifold of matrices of one rank (Algorithms 4 and 5).

    Parameters
    ----------
    identify : bool, default=False
        Take, after each step, some steps of OASIS in a small matrix between the factors, and multiply that in
        (Algorithm 6). For general matrices only.
    inner_steps : int, optional
        How many (the paper's s); by default as many as the rank.
    inner_aggressiveness : float, optional
        The largest step of these (the paper's η₂); by default the step size of the other steps (η₁).

    Examples
    --------
    >>> from nearer.similarity import LORETA
    >>> LORETA(identify=True)
    LORETA(identify=True)
    """

    step = "loreta"
    _constraints: ClassVar = {
        "identify": BOOL,
        "inner_steps": either(NONE, COUNT),
        "inner_aggressiveness": either(NONE, POSITIVE),
    }

    identify: bool = False
    inner_steps: int | None = None
    inner_aggressiveness: float | None = None

    def start(self, loss: Any, factors: tuple[np.ndarray, ...], rows: Any) -> FactorModel:
        """Return a model that starts from factors."""
        model = super().start(loss, factors, rows)
        if self.identify and self.inner_steps is not None:
            model.inner_steps = self.inner_steps
        model.inner_cap = self.inner_aggressiveness
        return model


class GradientDescent(TripletSolver):
    """Steps along the gradients of the factors.

    Examples
    --------
    >>> from nearer.similarity import GradientDescent
    >>> GradientDescent()
    GradientDescent()
    """

    step = "gd"


class PassiveAggressive(TripletSolver):
    """Passive-aggressive steps of one factor and then the other; for general matrices only.

    Examples
    --------
    >>> from nearer.similarity import LowRankSimilarity, PassiveAggressive
    >>> LowRankSimilarity(10, PassiveAggressive(), learning_rate=0.1)
    LowRankSimilarity(learning_rate=0.1, rank=10, solver=PassiveAggressive())
    """

    step = "pa"


SOLVERS: dict[str, Any] = {
    "loreta": LORETA,
    "gd": GradientDescent,
    "pa": PassiveAggressive,
    "loreta-identify": lambda: LORETA(identify=True),
}


def select_rate(
    model: FactorModel,
    table: Any,
    sampler: Any,
    bilinear: bool,
    monitor: Monitor,
    n_triplets: int = TRIAL_TRIPLETS,
) -> tuple[float, Selection]:
    """Return the step size below the one with the smallest losses, and what was tried; the model stays as it is."""
    triplets, weights = sampler.next(n_triplets)
    square, weight = _mean_square(table, triplets[:, :3], bilinear), float(weights.mean())
    if square == 0:
        raise ValueError("the objects that are compared have the same features: nothing can be learned from them")

    def fit(fold: None, rate: float, start: Any, monitor: Monitor) -> np.ndarray:
        try:
            losses = model.copy().take(triplets, rate * weights)
        except FloatingPointError:
            return np.array([np.inf])
        return losses[len(losses) // 2 :]

    if model.on_manifold:
        rates = [rate / square / weight for rate in RATES]
    else:
        rates = [rate / np.sqrt(square) / weight for rate in RATES_OF_FACTORS]
    selection = search(
        "learning_rate", rates, [None], fit, lambda fold, losses: losses, monitor, rule=previous_to_best
    )
    assert selection.chosen is not None
    return float(selection.chosen.value), selection


def _mean_square(table: Any, triplets: np.ndarray, bilinear: bool) -> float:
    """Return the mean square of gradients of W: of ‖q‖‖z‖, or of those of two distances of slope one."""
    a, b, c = (table[part] for part in triplets[:1000].T)
    if bilinear:
        return float(np.mean(_squares(a) * _squares(b - c)))
    return float(np.mean(_squares(a - b) ** 2 + _squares(a - c) ** 2))


def _squares(table: Any) -> np.ndarray:
    return row_products(table, table)
