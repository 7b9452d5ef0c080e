"""Matrices of fixed rank that learn step by step: ABᵀ and YYᵀ, kept as factors, never as matrices.

The steps are those of Shalit, Weinshall and Chechik, "Online learning in the embedded manifold of low-rank
matrices" (LORETA, 2012): a gradient step, then a retraction of second order onto the manifold of matrices of that
rank. The paper keeps pseudo-inverses, which costs (n + m)k numbers a step whatever the gradient; here a step costs
what the entries of its gradient and k² cost, and gives the same iterates. How: :mod:`nearer.lowrank.loops`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse

from nearer.jit import bind
from nearer.lowrank import blocks, loops
from nearer.lowrank.parts import Columns, Factor, Room

CONDITION = 1e3  # of the turn, ‖R‖‖R⁻¹‖/k: beyond it, some digits of sixteen could be lost
FEWEST_STEPS = 10_000  # from one fold to the next, where the condition does not ask for one


class _Learning:
    """What matrices of fixed rank have in common: factors that are folded when it is time."""

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
            raise ValueError(f"factors must have as many columns; got shapes {shapes}")
        self.factors = tuple(Factor.of(matrix) for matrix in checked)
        self.n_folds = 0
        self._since = 0
        # To fold costs n k² numbers: every n steps that is k² a step, as the step itself.
        self._between = max(FEWEST_STEPS, *(len(factor.table) for factor in self.factors))

    @property
    def rank(self) -> int:
        """The rank."""
        return len(self.factors[0].turn)

    def fold(self, least: float = 0.0) -> None:
        """Multiply the turns into the tables and find the inverses anew, against rounding.

        Parameters
        ----------
        least : float, default=0.0
            Raise singular values of W below this to it. Those that steps have driven to nothing would make all
            further steps short, and the rank would be lost at last.
        """
        if least > 0.0:
            self._put([*_raised([factor.whole for factor in self.factors], least)])
            return
        for factor in self.factors:
            factor.fold()
        self.n_folds += 1
        self._since = 0

    def limits(self, least: float = 0.0) -> tuple[float, float]:
        """Return what asks for a fold: the squared condition of a turn, and the trace of an inverse.

        The trace says that a singular value is below a hundredth of the least, however it was a fold ago.
        """
        return CONDITION**2, 100.0 * self.rank / least if least > 0.0 else np.inf

    def settle(self, least: float = 0.0) -> None:
        """Fold, and raise singular values below the least only where the rank would be lost without."""
        try:
            self.fold()
        except ValueError:
            if least == 0.0:
                raise
            self.fold(least)

    def run(self, count: int, steps: Callable[[int, int], int], least: float = 0.0) -> None:
        """Take so many steps by a loop, folding when it is time.

        Parameters
        ----------
        count : int
            How many.
        steps : callable
            ``steps(start, stop)`` takes steps from start on and returns where it ended: minus that where a factor
            went beyond the `limits`, which asks for a fold.
        least : float, default=0.0
            See :meth:`fold`.
        """
        done = 0
        while done < count:
            stop = min(count, done + self._between - self._since)
            said = steps(done, stop)
            reached = abs(said)
            self._since += reached - done
            if said < 0:
                self.fold(least)
            elif self._since >= self._between:
                self.settle(least)
            done = reached

    def _settle(self, bound: float) -> None:
        self._since += 1
        if bound > CONDITION**2 or self._since >= self._between:
            self.fold()

    def _smalls(self) -> list[np.ndarray]:
        """Return copies of all that a step changes but the tables."""
        return [small.copy() for factor in self.factors for small in factor[1:]]

    def _put_back(self, before: list[np.ndarray]) -> None:
        for small, old in zip((part for factor in self.factors for part in factor[1:]), before, strict=True):
            small[:] = old

    def _put(self, tables: list[np.ndarray]) -> None:
        """Take up factors that were computed outright."""
        for factor, table in zip(self.factors, tables, strict=True):
            factor.table[:] = table
            factor.turn[:] = np.eye(self.rank)
        self.fold()


class FixedRank(_Learning):
    """A matrix W = ABᵀ of fixed rank that takes gradient steps along the manifold of such matrices.

    Parameters
    ----------
    A, B : arrays of shape (n, k) and (m, k)
        Factors of full column rank; copied.

    Attributes
    ----------
    A, B : arrays
        The factors as they are now.
    n_folds : int
        How often the small turns were multiplied into the tables.

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
        return self.factors[0].whole

    @property
    def B(self) -> np.ndarray:
        """The right factor."""
        return self.factors[1].whole

    def step(self, left: Any, right: Any) -> None:
        """Step along left · rightᵀ, which is minus the step size times the gradient (Algorithms 3 and 4).

        Parameters
        ----------
        left, right : arrays or sparse arrays of shape (n, r) and (m, r), or vectors
            Factors of what is to be added; of sparse ones only the entries cost anything.
        """
        A, B = self.factors
        left, right = _gradient(left, len(A.table)), _gradient(right, len(B.table))
        r = left.shape[1]
        if right.shape[1] != r:
            raise ValueError(f"the gradient's factors have {r} and {right.shape[1]} columns: as many are wanted")
        before = self._smalls()
        if blocks.pays(r, self.rank):
            bound = blocks.general_step(A, B, left, right)
        else:
            squares = np.stack([_squares(left), _squares(right)])
            rooms = Room.of(r, self.rank), Room.of(r, self.rank)
            bound = compiled("general_step")(A, B, Columns.of(left), Columns.of(right), squares, *rooms)
        if bound == 0.0:  # the guard: the printed step, densely
            self._put_back(before)
            self._put(_outright(self.A, self.B, _dense(left), _dense(right)))
        else:
            self._settle(bound)


class FixedRankPSD(_Learning):
    """A positive semidefinite matrix W = YYᵀ of fixed rank that takes gradient steps along their manifold.

    Parameters
    ----------
    Y : array of shape (n, k)
        A factor of full column rank; copied.

    Attributes
    ----------
    Y : array
        The factor as it is now.
    n_folds : int
        How often the small turn was multiplied into the table.

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

    @property
    def Y(self) -> np.ndarray:
        """The factor."""
        return self.factors[0].whole

    def step(self, P: Any, D: Any) -> None:
        """Step along P D Pᵀ, which is minus the step size times the gradient (Algorithm 5, for any rank).

        Parameters
        ----------
        P : array or sparse array of shape (n, r)
            Of a sparse one only the entries cost anything.
        D : array of shape (r, r)
            Only its symmetric part counts.
        """
        (Y,) = self.factors
        P = _gradient(P, len(Y.table))
        r = P.shape[1]
        D = np.asarray(D, dtype=np.float64)
        if D.shape != (r, r):
            raise ValueError(f"D must have shape {(r, r)}, as P has {r} columns; got {D.shape}")
        D = 0.5 * (D + D.T)
        before = self._smalls()
        if blocks.pays(r, self.rank):
            bound = blocks.psd_step(Y, P, D)
        else:
            bound = compiled("psd_step")(Y, Columns.of(P), D, _squares(P), Room.of(r, self.rank))
        if bound == 0.0:
            self._put_back(before)
            self._put([_outright_psd(self.Y, _dense(P), D)])
        else:
            self._settle(bound)


def _raised(wholes: list[np.ndarray], least: float) -> list[np.ndarray]:
    """Return factors of the same W, orthogonal and as large as each other, its small singular values raised.

    ValueError where they are no numbers.
    """
    if not all(np.isfinite(whole).all() for whole in wholes):
        raise ValueError("numbers left their range")
    bases, corners = zip(*(np.linalg.qr(whole) for whole in wholes), strict=True)
    left, values, right = np.linalg.svd(corners[0] @ corners[-1].T)
    roots = np.sqrt(np.maximum(values, least))
    return [bases[0] @ left * roots, bases[-1] @ right.T * roots][: len(wholes)]


def _outright(A: np.ndarray, B: np.ndarray, G1: np.ndarray, G2: np.ndarray) -> list[np.ndarray]:
    """Return both factors after the step of Algorithm 3."""
    a, b = np.linalg.pinv(A) @ G1, np.linalg.pinv(B) @ G2
    Q, one = b.T @ a, np.eye(a.shape[1])
    left = A @ a @ (0.375 * Q - 0.5 * one) + G1 @ (one - 0.5 * Q)
    right = B @ b @ (0.375 * Q.T - 0.5 * one) + G2 @ (one - 0.5 * Q.T)
    return [A + left @ b.T, B + right @ a.T]


def _outright_psd(Y: np.ndarray, P: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Return the factor after the step of Algorithm 5."""
    H = np.linalg.pinv(Y) @ P
    twice = D @ (H.T @ H) @ D
    return Y + (Y @ H @ (0.375 * twice - 0.5 * D) + P @ (D - 0.5 * twice)) @ H.T


def _gradient(G: Any, n: int) -> Any:
    """Return a gradient's factor as an array of shape (n, r), or a csc_array of it in canonical format."""
    if issparse(G):
        G = csc_array(G, dtype=np.float64, copy=not getattr(G, "has_canonical_format", False))
        G.sum_duplicates()
    else:
        G = np.asarray(G, dtype=np.float64)
        G = G[:, None] if G.ndim == 1 else G
    if G.ndim != 2 or G.shape[0] != n:
        raise ValueError(f"a gradient of {n} rows is wanted; got one of shape {G.shape}")
    if not np.isfinite(G.data if issparse(G) else G).all():
        raise ValueError("a gradient must hold finite numbers")
    return G


def _dense(G: Any) -> np.ndarray:
    return np.asarray(G.toarray()) if issparse(G) else np.asarray(G)


def _squares(G: Any) -> np.ndarray:
    """Return GᵀG."""
    if issparse(G):
        return np.asarray((G.T @ G).toarray(), dtype=np.float64)
    return np.asarray(G.T @ G)


@cache
def compiled(name: str) -> Any:
    """Return a loop of this room, compiled."""
    return bind(getattr(loops, name))
