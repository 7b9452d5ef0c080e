"""The models that rank labels while they learn: factors, or a full matrix of features by labels.

All of them have ``take``, which takes a step per row of an order, ``scores`` of rows, and ``parts``, copies of the
arrays from which the same model can be made again. The steps themselves are in :mod:`nearer.ranking.loops`.
"""

from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from nearer.iterative import DivergedError
from nearer.jit import bind
from nearer.lowrank import Factor, FixedRank, Rows, Workspace, run_steps
from nearer.ranking import loops, violations
from nearer.ranking.targets import Labels

# Singular values below this are raised to it when factors are renewed, as steps along them would be short: a tenth
# of the length of a step, or what changes scores, which should differ by one, by a hundredth.
SMALLEST, FAINT = 0.1, 0.01
MOST_DRAWS = 1000  # for one step of WARP: with fewer, the last violations among many labels are not found


class Draws(NamedTuple):
    """What WARP draws with: seed and steps taken before, draws at most, and the sums 1 + 1/2 + … + 1/i."""

    seed: np.uint64
    before: int
    most: int
    harmonic: np.ndarray

    @classmethod
    def of(cls, seed: int, taken: int, n_labels: int) -> Self:
        """Return the draws from a number of steps on."""
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n_labels + 1))])
        return cls(np.uint64(seed), taken, MOST_DRAWS, harmonic)


class RankingModel:
    """Base of the models; ``warp`` draws a violating pair of labels per row, instead of scoring them all."""

    functions: ClassVar[dict[str, Any]]  # that the loop is bound to
    state: tuple[Any, ...]  # that the loop changes

    def __init__(self, warp: bool, seed: int) -> None:
        self.warp = warp
        self.seed = seed
        self.printed = False  # whether a false label counts once

    def take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float) -> np.ndarray:
        """Take a step per row of an order, after ``taken`` steps; return the losses before each step."""
        losses = np.full(len(order), np.nan)
        self._take(X, Y, order, taken, rate, losses)
        if not np.isfinite(losses).all():
            raise DivergedError(
                f"the scores are no longer finite after {taken + int(np.isfinite(losses).argmin()):,} steps "
                f"of size {rate:.3g}: a smaller learning_rate, or learning_rate='auto', helps"
            )
        return losses

    @cached_property
    def _loop(self) -> Any:
        find = violations.draw_violation if self.warp else violations.find_violations
        weight = violations.count_once if self.printed else violations.count_violated
        return bind(loops.take_steps, find_violation=find, weight_of_false=weight, **self.functions)

    def _take(
        self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, losses: np.ndarray, *manifold: Any
    ) -> None:
        n_labels, rank = self._shape
        problem = X, Y, order, Draws.of(self.seed, taken, n_labels)
        work, steps = Workspace.of(rank, Y.most + 1, X.longest, n_labels), np.full(len(order), rate)
        run_steps(self._loop, problem, steps, taken, self.state, work, losses, *manifold)

    @property
    def _shape(self) -> tuple[int, int]:
        """Labels, and the rank of small arrays."""
        raise NotImplementedError

    def parts(self) -> list[np.ndarray]:
        """Return copies of what was learned, as the constructor takes it."""
        raise NotImplementedError

    def scores(self, table: Any) -> np.ndarray:
        """Return the score of every label for each row of a table."""
        raise NotImplementedError


class PassiveAggressiveModel(RankingModel):
    """W = ABᵀ, by passive-aggressive steps on A and B in turn."""

    functions: ClassVar = {"prepare": loops.prepare_pa, "take_step": loops.step_pa, **violations.BY_FACTOR}

    def __init__(self, A: np.ndarray, B: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(warp, seed)
        self.state = Factor.plain(A), Factor.plain(B)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.state[0].table.shape

    def parts(self) -> list[np.ndarray]:
        """Return A and B."""
        return [factor.matrix for factor in self.state]

    def scores(self, table: Any) -> np.ndarray:
        """Return the scores xᵀBAᵀ."""
        A, B = self.state
        return np.asarray(((table @ B.table) @ B.R @ A.R.T) @ A.table.T)


class LoretaModel(PassiveAggressiveModel):
    """W = ABᵀ, by steps along the manifold of matrices of its rank."""

    functions: ClassVar = {"prepare": loops.prepare_loreta, "take_step": loops.step_loreta, **violations.BY_FACTOR}

    def __init__(self, A: np.ndarray, B: np.ndarray, *, warp: bool, seed: int) -> None:
        RankingModel.__init__(self, warp, seed)
        self.matrix = FixedRank(A, B)
        self.state = self.matrix.factors

    def _take(self, X: Rows, *steps: Any) -> None:
        length, rate = np.sqrt(2.0 * X.mean_square), steps[3]  # of a gradient, about
        least = min(SMALLEST * rate * length, FAINT / length)
        with suppress(ValueError):  # a factor lost its rank: the losses stay NaN and say so
            super()._take(X, *steps, self.matrix, least)
            self.matrix.settle(least)


class PerceptronModel(RankingModel):
    """A full matrix W of features by labels, by subgradient steps."""

    functions: ClassVar = {
        "prepare": loops.prepare_perceptron, "take_step": loops.step_perceptron, **violations.BY_MATRIX,
    }  # fmt: skip

    def __init__(self, W: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(warp, seed)
        self.W = np.array(W, dtype=np.float64, order="C")
        self.state = (self.W,)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.W.shape[1], 1

    def parts(self) -> list[np.ndarray]:
        """Return W."""
        return [self.W.copy()]

    @property
    def coefficients(self) -> np.ndarray:
        """The matrix that scores are made with."""
        return self.W

    def scores(self, table: Any) -> np.ndarray:
        """Return the scores xᵀW."""
        return np.asarray(table @ self.coefficients)


class GroupPerceptronModel(PerceptronModel):
    """A full matrix by mirror descent with the mixed (2, 1) norm; W holds θ, the matrix before the mirror."""

    functions: ClassVar = {"prepare": loops.prepare_group, "take_step": loops.step_group, **violations.BY_MATRIX}

    def __init__(self, W: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(W, warp=warp, seed=seed)
        self.power = max(2.0, float(np.log(len(self.W))))

    def _take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, *rest: Any) -> None:
        # High powers of the norms stay finite only for rows of a length about one; a power of two is exact.
        scale = 2.0 ** np.round(0.5 * np.log2(X.mean_square))
        self.W *= scale
        X, squares = X._replace(values=X.values / scale), self._squares()
        total = np.array([(squares ** (0.5 * self.power)).sum()])
        self.state = self.W, squares, total, self.power
        super()._take(X, Y, order, taken, rate * scale**2, *rest)
        self.W /= scale

    def _squares(self) -> np.ndarray:
        return np.einsum("jl,jl->j", self.W, self.W)

    @property
    def coefficients(self) -> np.ndarray:
        """The matrix W_j = (‖θ_j‖ / ‖θ‖₂ₛ)ˢ⁻² θ_j."""
        squares = self._squares()
        squares /= max(squares.max(), np.finfo(np.float64).tiny)
        total = float((squares ** (0.5 * self.power)).sum())
        shares = squares * total ** (-2.0 / self.power) if total > 0 else squares
        return self.W * (shares ** (0.5 * self.power - 1.0))[:, None]
