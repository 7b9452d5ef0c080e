"""The models that rank labels while they learn: factors, or a full matrix of features by labels.

All of them have ``take``, which takes a step per row of an order, ``scores`` of rows, and ``parts``, copies of the
arrays from which the same model can be made again. The steps themselves are in :mod:`nearer.ranking.loops`.
"""

from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np

from nearer.jit import bind
from nearer.lowrank import Factor, FixedRank, Rows
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


class Workspace(NamedTuple):
    """Labels and values of v, the small arrays of a rank-one step, weights of a row's entries, and all scores."""

    columns: np.ndarray
    values: np.ndarray
    E: np.ndarray
    U: np.ndarray
    vectors: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, X: Rows, Y: Labels, n_labels: int, rank: int = 1) -> Self:
        """Return the workspace for some rows."""
        small = np.empty((2, rank)), np.empty((2, rank)), np.empty((4, rank))
        most = Y.most + 1
        return cls(np.empty(most, dtype=np.int32), np.empty(most), *small, np.empty(X.longest), np.empty(n_labels))


class Factors(NamedTuple):
    """W = ABᵀ, labels by features."""

    A: Factor
    B: Factor


class Matrix(NamedTuple):
    """W, features by labels."""

    W: np.ndarray


class MirroredMatrix(NamedTuple):
    """θ, features by labels, with ‖θ_j‖², the sum of ‖θ_j‖ˢ, and s."""

    W: np.ndarray
    squares: np.ndarray
    total: np.ndarray
    power: float


NO_LIMITS = np.inf, np.inf


class RankingModel:
    """Base of the models; ``warp`` draws a violating pair of labels per row, instead of scoring them all."""

    def __init__(self, warp: bool, seed: int) -> None:
        self.warp = warp
        self.seed = seed

    def take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float) -> np.ndarray:
        """Take a step per row of an order, after ``taken`` steps; return the losses before each step."""
        losses = np.empty(len(order))
        self._take(X, Y, order, taken, rate, losses)
        if not np.isfinite(losses).all():
            raise ValueError(
                f"the scores are no longer finite after {taken + int(np.isfinite(losses).argmin()):,} steps "
                f"of size {rate:.3g}: a smaller learning_rate, or learning_rate='auto', helps"
            )
        return losses

    def _take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, losses: np.ndarray) -> None:
        raise NotImplementedError

    def parts(self) -> list[np.ndarray]:
        """Return copies of what was learned, as the constructor takes it."""
        raise NotImplementedError

    def scores(self, table: Any) -> np.ndarray:
        """Return the score of every label for each row of a table."""
        raise NotImplementedError

    def _bind(self, **functions: Any) -> Any:
        """Return the loop of the solver, which draws violations or finds all."""
        find = violations.draw_violation if self.warp else violations.find_violations
        return bind(loops.take_steps, find_violation=find, **functions)


class LoretaModel(RankingModel):
    """W = ABᵀ, by steps along the manifold of matrices of its rank."""

    def __init__(self, A: np.ndarray, B: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(warp, seed)
        self.matrix = FixedRank(A, B)

    def _take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, losses: np.ndarray) -> None:
        model = Factors(*self.matrix.factors)
        n_labels = len(model.A.table)
        work, draws = Workspace.of(X, Y, n_labels, self.matrix.rank), Draws.of(self.seed, taken, n_labels)
        loop = self._bind(prepare=loops.prepare_loreta, take_step=loops.step_loreta, **violations.BY_FACTOR)
        length = np.sqrt(2.0 * mean_square(X))  # of a gradient, about
        least = min(SMALLEST * rate * length, FAINT / length)

        def taken_to(start: int, stop: int) -> int:
            limits = self.matrix.limits(least)
            return int(loop(X, Y, order, start, stop, rate, limits, model, draws, work, losses))

        losses[:] = np.nan
        with suppress(ValueError):  # a factor lost its rank: the losses stay NaN and say so
            self.matrix.run(len(order), taken_to, least)
            self.matrix.settle(least)

    def parts(self) -> list[np.ndarray]:
        """Return A and B."""
        return [self.matrix.A, self.matrix.B]

    def scores(self, table: Any) -> np.ndarray:
        """Return the scores xᵀBAᵀ."""
        A, B = self.matrix.factors
        return np.asarray(((table @ B.table) @ B.R @ A.R.T) @ A.table.T)


class PassiveAggressiveModel(RankingModel):
    """W = ABᵀ, by passive-aggressive steps on A and B in turn."""

    def __init__(self, A: np.ndarray, B: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(warp, seed)
        self.A, self.B = (np.array(factor, dtype=np.float64, order="C") for factor in (A, B))

    def _take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, losses: np.ndarray) -> None:
        model = Factors(Factor.plain(self.A), Factor.plain(self.B))
        work, draws = Workspace.of(X, Y, *self.A.shape), Draws.of(self.seed, taken, len(self.A))
        loop = self._bind(prepare=loops.prepare_pa, take_step=loops.step_pa, **violations.BY_FACTOR)
        loop(X, Y, order, 0, len(order), rate, NO_LIMITS, model, draws, work, losses)
        self.A, self.B = model.A.table, model.B.table

    def parts(self) -> list[np.ndarray]:
        """Return A and B."""
        return [self.A.copy(), self.B.copy()]

    def scores(self, table: Any) -> np.ndarray:
        """Return the scores xᵀBAᵀ."""
        return np.asarray((table @ self.B) @ self.A.T)


class PerceptronModel(RankingModel):
    """A full matrix W of features by labels, by subgradient steps."""

    def __init__(self, W: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(warp, seed)
        self.W = np.array(W, dtype=np.float64, order="C")

    def _take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, losses: np.ndarray) -> None:
        L = self.W.shape[1]
        work, draws = Workspace.of(X, Y, L), Draws.of(self.seed, taken, L)
        loop = self._bind(
            prepare=loops.prepare_perceptron, take_step=loops.step_perceptron, **violations.BY_MATRIX
        )
        loop(X, Y, order, 0, len(order), rate, NO_LIMITS, Matrix(self.W), draws, work, losses)

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

    def __init__(self, W: np.ndarray, *, warp: bool, seed: int) -> None:
        super().__init__(W, warp=warp, seed=seed)
        self.power = max(2.0, float(np.log(len(self.W))))

    def _take(self, X: Rows, Y: Labels, order: np.ndarray, taken: int, rate: float, losses: np.ndarray) -> None:
        L = self.W.shape[1]
        work, draws = Workspace.of(X, Y, L), Draws.of(self.seed, taken, L)
        loop = self._bind(prepare=loops.prepare_group, take_step=loops.step_group, **violations.BY_MATRIX)
        # High powers of the norms stay numbers only for rows of a length about one; a power of two is exact.
        scale = 2.0 ** np.round(0.5 * np.log2(mean_square(X)))
        self.W *= scale
        rows = X._replace(values=X.values / scale)
        squares = self._squares()
        total = np.array([(squares ** (0.5 * self.power)).sum()])
        model = MirroredMatrix(self.W, squares, total, self.power)
        loop(rows, Y, order, 0, len(order), rate * scale**2, NO_LIMITS, model, draws, work, losses)
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


def mean_square(X: Rows) -> float:
    """Return the mean squared length of rows, 1 if all are zero."""
    total = float(X.values @ X.values)
    return total / len(X.places) if total > 0 else 1.0
