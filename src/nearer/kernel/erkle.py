"""ERKLE, Algorithm 2 of Heim, Berger, Seversky and Hauskrecht (2015): a kernel from a stream of answers.

Each answer is a step of the kernel (:mod:`~nearer.kernel.steps`), followed by a projection onto the positive
semidefinite matrices (:mod:`~nearer.kernel.psd_kernel`). Earlier answers can be replayed, and eigenvalues shrunk.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from nearer.kernel.state import ErkleState
from nearer.kernel.steps import GradientStep, PassiveAggressiveStep, StepRule
from nearer.losses import loss_trait, losses_with
from nearer.monitor import Monitor
from nearer.parameters import COUNT, NON_NEGATIVE, NONE, POSITIVE, Constraint, either, one_of, parametrized
from nearer.solver import Solver

CHUNK = 50  # answers between two reports to the monitor
PASSIVE_AGGRESSIVE = "passive-aggressive"
DECAYING: dict[str, Callable[[int], float]] = {"1/t": lambda t: 1.0 / t, "1/sqrt(t)": lambda t: 1.0 / math.sqrt(t)}


class AnswerStream:
    """Answers in the order of learning, in chunks: the problem that ERKLE solves."""

    def __init__(self, rows: np.ndarray, weights: np.ndarray | None, loss: Any) -> None:
        self._rows, self._weights, self.loss = rows, weights, loss
        self.n_chunks = math.ceil(len(rows) / CHUNK)

    def chunks(self) -> Iterator[list[tuple[list[int], float]]]:
        """Yield lists of rows (i, j, l, k) with their weights."""
        for start in range(0, len(self._rows), CHUNK):
            part = slice(start, start + CHUNK)
            rows = self._rows[part].tolist()
            if self._rows.shape[1] == 3:
                rows = [[a, b, a, c] for a, b, c in rows]
            weights = [1.0] * len(rows) if self._weights is None else self._weights[part].tolist()
            yield list(zip(rows, weights, strict=True))


@parametrized
class ErkleParameters:
    """The parameters that ERKLE and :class:`nearer.OnlineKernel`, which documents them, share."""

    _constraints: ClassVar[dict[str, Constraint]] = {
        "learning_rate": either(one_of(PASSIVE_AGGRESSIVE, *DECAYING), POSITIVE),
        "margin": POSITIVE,
        "probability": either(
            NONE, Constraint(lambda value: POSITIVE.test(value) and 0.5 < value < 1, "a number between 0.5 and 1")
        ),
        "aggressiveness": either(NONE, POSITIVE),
        "steps_per_answer": COUNT,
        "replay": one_of("uniform", "fair"),
        "shrinkage": NON_NEGATIVE,
    }

    _: KW_ONLY
    learning_rate: str | float = PASSIVE_AGGRESSIVE
    margin: float = 1.0
    probability: float | None = None
    aggressiveness: float | None = 0.7
    steps_per_answer: int = 1
    replay: str = "uniform"
    shrinkage: float = 0.0


@parametrized
class ERKLE(ErkleParameters, Solver):
    """Learns a kernel from a stream of answers."""

    needs: ClassVar = ("chunks", "loss")

    def step_rule(self, loss: Any) -> StepRule:
        """Return the rule for the size of a step; ValueError for parameters that do not go together."""
        rate = self.learning_rate
        if rate != PASSIVE_AGGRESSIVE:
            if self.probability is not None or self.margin != 1.0:
                raise ValueError(
                    f"margin and probability are for passive-aggressive steps, not for steps of {rate!r}"
                )
            return GradientStep(loss, DECAYING.get(str(rate), lambda t: float(rate)))
        margin = self.margin
        if self.probability is not None:
            if not loss_trait(loss, "logistic"):
                names = " and ".join(map(repr, losses_with("logistic")))
                raise ValueError(
                    f"probability is for the losses {names}, whose probability is the logistic function of "
                    f"far - near; got loss={loss!r}: set a margin instead"
                )
            margin = math.log(self.probability) - math.log1p(-self.probability)
        most = math.inf if self.aggressiveness is None else self.aggressiveness * margin
        return PassiveAggressiveStep(margin, most)

    def _solve(self, problem: AnswerStream, start: ErkleState, monitor: Monitor) -> ErkleState:
        state, rule = start, self.step_rule(problem.loss)
        for number, chunk in enumerate(problem.chunks(), start=1):
            distances = []
            for row, weight in chunk:
                distances.append(self._learn(state, row, weight, rule))
                if monitor.stopped:
                    break
            loss = rule.mean_loss(distances)
            if not monitor.go_on(state, loss=loss, iteration=number, n_steps=state.n_updates):
                break
        return state

    def _learn(self, state: ErkleState, row: Any, weight: float, rule: StepRule) -> tuple[float, float]:
        """Learn one comparison, and again some earlier ones; return its squared distances before."""
        state.n_seen += 1
        distances = state.step(row, weight, rule, state.n_seen)
        if self.steps_per_answer > 1:
            state.buffer.add(row, weight)
            if state.n_seen > 2 * self.steps_per_answer:
                for k in range(1, self.steps_per_answer):
                    earlier, its_weight = state.buffer.draw(state.random, self.replay == "fair")
                    state.step(earlier, its_weight, rule, state.n_seen + k)
        if self.shrinkage > 0.0:
            state.n_unshrunk += 1
            if state.n_unshrunk >= state.n_objects:
                state.shrink(self.shrinkage)
        return distances
