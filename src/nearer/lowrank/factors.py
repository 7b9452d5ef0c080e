"""Matrices of fixed rank that learn step by step: ABᵀ and YYᵀ, kept as factors, never as matrices.

The steps are those of Shalit, Weinshall and Chechik, "Online learning in the embedded manifold of low-rank
matrices" (LORETA, 2012): a gradient step, then a second-order retraction onto the manifold of matrices of that
rank. The paper keeps pseudo-inverses, which costs (n + m)k operations per step whatever the gradient; here a step
costs what the entries of its gradient and k² cost, and gives the same iterates. How: :mod:`nearer.lowrank.loops`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nearer.jit import bind
from nearer.lowrank import loops
from nearer.lowrank.arrays import Factor, Workspace
from nearer.lowrank.gradients import FactorStep, as_gradient, columns_of, project

GROWTH = (
    100.0  # of ‖R‖²/k, ‖R⁻¹‖²/k or the trace of C: as much does an error of C grow between two of its computations
)
MIN_STEPS = 10_000  # between two reorthogonalizations, unless R or C requires one


class _Manifold:
    """What matrices of fixed rank share: factors that are reorthogonalized when necessary."""

    factors: tuple[Factor, ...]

    def __init__(self, *matrices: Any) -> None:
        checked = [np.asarray(matrix, dtype=np.float64) for matrix in matrices]
        for matrix in checked:
            if matrix.ndim != 2 or not 0 < matrix.shape[1] <= matrix.shape[0]:
                raise ValueError(
                    f"a factor must have shape (n, rank) with rank at most n; got shape {matrix.shape}"
                )
            if not np.isfinite(matrix).all():
                raise ValueError("a factor must hold finite numbers")
        if len({matrix.shape[1] for matrix in checked}) > 1:
            shapes = " and ".join(str(matrix.shape) for matrix in checked)
            raise ValueError(f"factors must have the same number of columns; got shapes {shapes}")
        self.factors = tuple(Factor.of(matrix) for matrix in checked)
        self.n_reorthogonalizations = 0
        self._since = 0
        # It costs n k² operations: every n steps that is k² per step, as the step itself.
        self._between = max(MIN_STEPS, *(len(factor.table) for factor in self.factors))

    @property
    def rank(self) -> int:
        """The rank."""
        return len(self.factors[0].R)

    def reorthogonalize(self, least: float = 0.0) -> None:
        """Multiply R into the tables and recompute C, against rounding.

        Parameters
        ----------
        least : float, default=0.0
            Raise singular values of W below this to it. Those that steps have driven to zero would make all
            further steps short, and the rank would be lost in the end.
        """
        if least > 0.0:
            self._replace(_balance([factor.matrix for factor in self.factors], least))
            return
        self._replace([factor.matrix for factor in self.factors])

    def limits(self, least: float = 0.0) -> tuple[float, float]:
        """Return what requires to reorthogonalize: the growth of an R or a C, and the trace of a C.

        Beyond that trace a singular value is below a hundredth of the least.
        """
        return GROWTH, 100.0 * self.rank / least if least > 0.0 else np.inf

    def has_changed(self) -> bool:
        """Whether an R or a C has changed too much since it was computed."""
        return any(loops.exceeds(factor, factor.growth, self.limits()) for factor in self.factors)

    def settle(self, least: float = 0.0, balance: bool = False) -> None:
        """Reorthogonalize; if the rank is lost or about to be, raise singular values below the least.

        With a least, factors other than those of the printed algorithms may have the same product: with ``balance``
        A and B become equally long, column by column, as products of ill-conditioned factors lose digits.
        """
        try:
            if balance and least > 0.0 and len(self.factors) == 2:
                self._replace(_balance([factor.matrix for factor in self.factors], 0.0))
            else:
                self.reorthogonalize()
        except ValueError:
            if least == 0.0:
                raise
        else:
            if max(factor.traces[1] for factor in self.factors) <= self.limits(least)[1]:
                return
        self.reorthogonalize(least)

    def run(self, count: int, steps: Callable[[int, int], int], least: float = 0.0) -> None:
        """Take ``count`` steps by a loop, reorthogonalizing when necessary.

        ``steps(start, stop)`` returns where it stopped: minus that if a factor went beyond the `limits`.
        """
        done = 0
        while done < count:
            stop = steps(done, min(count, done + self._between - self._since))
            self._since += abs(stop) - done
            if stop < 0 or self._since >= self._between:
                self.settle(least, balance=stop < 0)
            done = abs(stop)

    def _take_compiled(self, loop: Callable[..., bool], *gradients: Any) -> None:
        """Take a step as printed by a loop for few columns."""
        compiled = _compile_as_printed(loop)
        self._end_step(compiled(self.factors, *gradients, self.limits(), Workspace.of(self.rank, 0)))

    def _take(self, *steps: FactorStep) -> None:
        """Take the steps of all factors, densely if an R would become singular."""
        updates = [update for step in steps if (update := step.update()) is not None]
        if len(updates) < len(steps):
            self._replace([step.dense() for step in steps])
            return
        for step, update in zip(steps, updates, strict=True):
            step.apply(*update)
        self._end_step(self.has_changed())

    def _end_step(self, exceeds: bool) -> None:
        """Count a step, and reorthogonalize if it went beyond the limits or the last time is long ago."""
        self._since += 1
        if exceeds or self._since >= self._between:
            self.reorthogonalize()

    def _replace(self, tables: list[np.ndarray]) -> None:
        """Take factors that were computed outright."""
        for factor, table in zip(self.factors, tables, strict=True):
            factor.replace(table)
        self.n_reorthogonalizations += 1
        self._since = 0


@cache
def _compile_as_printed(loop: Callable[..., bool]) -> Callable[..., bool]:
    return bind(loop, limit_step=loops.full_step)


class FixedRank(_Manifold):
    """A matrix W = ABᵀ of fixed rank that takes gradient steps along the manifold of such matrices.

    Parameters
    ----------
    A, B : arrays of shape (n, k) and (m, k)
        Factors of full column rank; copied.

    Attributes
    ----------
    A, B : arrays
        The current factors.
    n_reorthogonalizations : int
        How often the small matrices were multiplied into the tables: against rounding, every 10,000 steps or
        when they have changed too much.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.lowrank import FixedRank
    >>> random = np.random.default_rng(0)
    >>> target = random.normal(size=(8, 2)) @ random.normal(size=(2, 6))
    >>> model = FixedRank(random.normal(size=(8, 2)), random.normal(size=(6, 2)))
    >>> for _ in range(2000):
    ...     x = random.normal(size=6)
    ...     error = target @ x - model.A @ (model.B.T @ x)
    ...     model.step(0.05 * error, x)
    >>> bool(np.abs(model.A @ model.B.T - target).max() < 1e-8)
    True
    """

    def __init__(self, A: Any, B: Any) -> None:
        super().__init__(A, B)

    @property
    def A(self) -> np.ndarray:
        """The left factor."""
        return self.factors[0].matrix

    @property
    def B(self) -> np.ndarray:
        """The right factor."""
        return self.factors[1].matrix

    def step(self, left: Any, right: Any) -> None:
        """Step along left · rightᵀ, which is minus the step size times the gradient (Algorithms 3 and 4).

        Parameters
        ----------
        left, right : arrays or sparse arrays of shape (n, r) and (m, r), or vectors
            Factors of the matrix to be added; of sparse ones only the entries cost time.
        """
        A, B = self.factors
        left, right = as_gradient(left, len(A.table)), as_gradient(right, len(B.table))
        r = left.shape[1]
        if right.shape[1] != r:
            raise ValueError(f"the gradient's factors have {r} and {right.shape[1]} columns, not the same number")
        if r == 1:
            self._take_compiled(loops.take_loreta_step, columns_of(left), columns_of(right))
            return
        (rows, G, E), (columns, H, F) = project(A, left), project(B, right)
        U, V, one = A.C @ E, B.C @ F, np.eye(r)
        Q = V.T @ U
        self._take(
            FactorStep(A, rows, G, E, U, V, 0.375 * Q - 0.5 * one, one - 0.5 * Q),
            FactorStep(B, columns, H, F, V, U, 0.375 * Q.T - 0.5 * one, one - 0.5 * Q.T),
        )


class FixedRankPSD(_Manifold):
    """A positive semidefinite matrix W = YYᵀ of fixed rank that takes gradient steps along their manifold.

    Parameters
    ----------
    Y : array of shape (n, k)
        A factor of full column rank; copied.

    Attributes
    ----------
    Y : array
        The current factor.
    n_reorthogonalizations : int
        How often the small matrix was multiplied into the table.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.lowrank import FixedRankPSD
    >>> model = FixedRankPSD(np.eye(4, 2))
    >>> model.step(np.eye(4)[:, [0, 3]], [[0.0, 0.5], [0.5, 0.0]])  # more of the product of columns 0 and 3
    >>> (model.Y @ model.Y.T).round(2).tolist()[0]
    [1.0, 0.0, 0.0, 0.5]
    """

    def __init__(self, Y: Any) -> None:
        super().__init__(Y)

    def step(self, P: Any, D: Any) -> None:
        """Step along P D Pᵀ, which is minus the step size times the gradient (Algorithm 5, for any rank).

        Parameters
        ----------
        P : array or sparse array of shape (n, r)
            Of a sparse one only the entries cost time.
        D : array of shape (r, r)
            Only its symmetric part counts.
        """
        (Y,) = self.factors
        P, D = as_gradient(P, len(Y.table)), np.asarray(D, dtype=np.float64)
        r = P.shape[1]
        if D.shape != (r, r):
            raise ValueError(f"D must have shape {(r, r)}, as P has {r} columns; got {D.shape}")
        D = 0.5 * (D + D.T)
        if r <= 2:
            self._take_compiled(loops.take_loreta_psd_step, columns_of(P), D)
            return
        rows, G, E = project(Y, P)
        H = Y.C @ E
        twice = D @ (H.T @ H) @ D
        self._take(FactorStep(Y, rows, G, E, H, H, 0.375 * twice - 0.5 * D, D - 0.5 * twice))

    @property
    def Y(self) -> np.ndarray:
        """The factor."""
        return self.factors[0].matrix


def run_steps(
    loop: Any, problem: Any, steps: np.ndarray, taken: int, factors: Any, work: Any, losses: np.ndarray,
    matrix: _Manifold | None = None, least: float = 0.0,
) -> None:  # fmt: skip
    """Take all steps of a problem by a loop, after ``taken`` others, and fill in the losses.

    If they are steps along a manifold, ``matrix`` has the factors. The loop takes the steps from ``span[0]`` to
    ``span[1]`` after ``span[2]`` of earlier runs, and returns where it stopped: minus that to reorthogonalize.
    """

    def run(start: int, stop: int) -> int:
        limits = (np.inf, np.inf) if matrix is None else matrix.limits(least)
        return int(loop(problem, steps, (start, stop, taken), limits, factors, work, losses))

    if matrix is None:
        run(0, len(steps))
    else:
        matrix.run(len(steps), run, least)


def product_svd(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return U, σ and V of left · rightᵀ = U diag(σ) Vᵀ, without the product of the thin matrices."""
    P, R = np.linalg.qr(left)
    Q, S = (P, R) if right is left else np.linalg.qr(right)
    U, values, Vt = np.linalg.svd(R @ S.T)
    return P @ U, values, Q @ Vt.T


def _balance(matrices: list[np.ndarray], least: float) -> list[np.ndarray]:
    """Return orthogonal factors of equal size of the same W, singular values below the least raised to it."""
    if not all(np.isfinite(matrix).all() for matrix in matrices):
        raise ValueError("numbers are no longer finite")
    left, values, right = product_svd(matrices[0], matrices[-1])
    roots = np.sqrt(np.maximum(values, least))
    return [left * roots, right * roots][: len(matrices)]
