"""Finds the impostors of LMNN: rows of another class within a row's reach, its furthest target plus the margin.

All distances at once would be an n × n matrix. Here a block of rows is multiplied with all, and what comes close
is listed. Since the map L moves little from step to step, the list is kept, made with some slack, for as long as
it provably still has everybody. Let L₀ be the map it was made for, and B any matrix: with E = L - BL₀,

    |L(x - x')| ≥ s |L₀(x - x')| - |E(x - x')|,     s the smallest singular value of B,

so whoever was further off than ρ, and so not listed, is now at least sρ - |Ex| - max |Ex'| away. B is fitted to
the rows (L ≈ BL₀ where they vary), with a pull to the identity: a direction that L₀ has nearly given up may double
or vanish at no cost, and should not count as a factor. Several strengths of that pull are tried, and the best
bound is taken row by row. When a row's reach exceeds its bound, all is searched anew: no impostor is ever missed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve

from nearer.jit import bind
from nearer.similarity.lmnn import loops

SLACK = 0.5  # share of its squared reach that a row looks further
PULLS = (1e-6, 1e-2, 1.0)  # of B to the identity, beside variances in the unit of a target's squared distance
ROUNDING = 1e-9  # of a distance, what the bound may lose to rounding
BLOCK = 4_000_000  # products held at once
MEMORY = 200_000_000  # bytes of listed pairs held at most
PAIR = 4  # bytes
GROWTH = 4  # by which slack may multiply the pairs
COARSE = 0.01  # float32 will do while its error is below this share of the smallest reach


@dataclass(frozen=True)
class Candidates:
    """Who may be within reach of the rows of a block.

    Attributes
    ----------
    first : int
        The first row.
    starts : array of shape (rows + 1,)
        Where each row's candidates begin in ``others``.
    others : array of int32
        Rows of other classes.
    """

    first: int
    starts: np.ndarray
    others: np.ndarray


class Impostors:
    """Hands out, for any map, all pairs of a row and an impostor of it, with few others.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows sorted by class, centred; d directions that vary, since B is fitted in them.
    lows, highs : array of shape (n,)
        Where each row's class begins and ends.
    memory : int, default=MEMORY
        Bytes of pairs to keep. Blocks that do not fit are searched at every call and kept no longer than it takes.

    Attributes
    ----------
    n_searches : int
        Times that all was searched anew.
    n_kept : int
        Pairs kept.
    """

    def __init__(self, X: np.ndarray, lows: np.ndarray, highs: np.ndarray, memory: int = MEMORY) -> None:
        self.X, self.lows, self.highs, self.memory = X, lows, highs, memory
        self.n_searches = self.n_kept = 0
        self._variances = X.T @ X / len(X)
        rows = max(1, min(len(X), BLOCK // len(X)))
        self._blocks = [slice(first, min(first + rows, len(X))) for first in range(0, len(X), rows)]
        self._kept: list[Candidates | None] = [None] * len(self._blocks)
        self._searched: np.ndarray | None = None  # L₀
        self._radii = np.zeros(len(X))  # ρ

    def within(self, L: np.ndarray, points: np.ndarray, furthest: np.ndarray) -> Iterator[Candidates]:
        """Yield the candidates block by block.

        Parameters
        ----------
        L : array of shape (m, d)
            The map.
        points : array of shape (n, m)
            The rows, mapped.
        furthest : array of shape (n,)
            The squared reach of each row; 0 for none.

        Yields
        ------
        Candidates
            With everybody of another class whose squared distance is less than ``furthest``.
        """
        anew = not self._complete(L, furthest)
        if anew:
            self._searched, self._radii = L.copy(), np.sqrt((1.0 + SLACK) * furthest)
            self._kept = [None] * len(self._blocks)
            self.n_searches += 1
            self.n_kept = 0
        search: Search | None = None
        n_passing, n_rows = 0, 0  # pairs that were not kept, and rows they are of
        for number, rows in enumerate(self._blocks):
            kept = self._kept[number]
            if kept is None:
                search = search or Search(points, furthest, self.lows, self.highs)
                kept, keep = search.block(rows, self.memory // PAIR - self.n_kept if anew else 0)
                if keep:
                    self._kept[number] = kept
                    self.n_kept += len(kept.others)
                else:
                    n_passing += len(kept.others)
                    n_rows += rows.stop - rows.start
            yield kept
        if n_rows and GROWTH * n_passing * len(points) <= self.memory // PAIR * n_rows:
            self._searched = None  # by now all would fit: list them all the next time

    def _complete(self, L: np.ndarray, furthest: np.ndarray) -> bool:
        """Whether what is kept still has everybody within reach."""
        if self._searched is None or self._searched.shape != L.shape:
            return False
        kept = np.zeros(len(furthest), dtype=bool)
        for candidates, rows in zip(self._kept, self._blocks, strict=True):
            kept[rows] = candidates is not None
        if not kept.any():
            return True
        wanted = np.where(kept, np.sqrt(furthest) * (1.0 + ROUNDING), 0.0)
        short = wanted > 0.0
        for pull in PULLS:
            short &= self._bounds(L, pull) < wanted
            if not short.any():
                return True
        return False

    def _bounds(self, L: np.ndarray, pull: float) -> np.ndarray:
        """Return, for each row, how far off everybody is now who was not within its radius."""
        old = self._searched
        assert old is not None
        here = old @ self._variances
        ridge = pull * np.eye(len(L))
        B = solve(here @ old.T + ridge, here @ L.T + ridge, assume_a="pos").T
        shrink = np.linalg.svd(B, compute_uv=False)[-1]
        drift = np.linalg.norm(self.X @ (L - B @ old).T, axis=1)
        return shrink * self._radii - drift - drift.max()


class Search:
    """Products of rows with all others, for one map.

    |z - z'|² < ρ says z·z' - |z'|²/2 > (|z|² - ρ)/2: with a column more, one product and one comparison a pair. In
    float32 where its rounding is small beside the reach; by as much as it may be, the floor is lowered.

    Parameters
    ----------
    points : array of shape (n, m)
        The rows, mapped.
    furthest : array of shape (n,)
        The squared reach of each row.
    lows, highs : array of shape (n,)
        Where each row's class begins and ends.
    """

    def __init__(self, points: np.ndarray, furthest: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> None:
        squares = np.einsum("ij,ij->i", points, points)
        size = max(float(squares.max()), (1.0 + SLACK) * float(furthest.max()))
        parts = 3.0 * (points.shape[1] + 5) * size
        fine = parts * float(np.finfo(np.float32).eps) < COARSE * float(furthest[furthest > 0.0].min(initial=1.0))
        dtype: Any = np.float32 if fine else np.float64
        doubt = parts * float(np.finfo(dtype).eps)
        self.left: np.ndarray = np.column_stack([points, np.ones(len(points))]).astype(dtype)
        self.right: np.ndarray = np.column_stack([points, -0.5 * squares]).astype(dtype).T
        self.floors = np.where(furthest > 0.0, 0.5 * (squares - furthest - doubt), np.inf).astype(dtype)
        self.further = np.where(furthest > 0.0, 0.5 * (squares - (1.0 + SLACK) * furthest - doubt), np.inf).astype(
            dtype
        )
        self.lows, self.highs = lows, highs
        self._count, self._list = bind(loops.count_within), bind(loops.list_within)

    def block(self, rows: slice, room: int) -> tuple[Candidates, bool]:
        """Return the candidates of some rows, with slack if they then fit into a room of so many pairs.

        Returns
        -------
        candidates : Candidates
            Everybody within reach.
        keep : bool
            Whether they fit, and were listed with slack.
        """
        products = self.left[rows] @ self.right
        lows, highs = self.lows[rows], self.highs[rows]
        counts = np.empty(len(products), dtype=np.intp)
        keep = room > 0
        if keep:
            self._count(products, self.further[rows], lows, highs, counts)
            keep = int(counts.sum()) <= room
        floors = self.further[rows] if keep else self.floors[rows]
        if not keep:
            self._count(products, floors, lows, highs, counts)
        starts = np.concatenate([[0], np.cumsum(counts)])
        others = np.empty(starts[-1], dtype=np.int32)
        self._list(products, floors, lows, highs, starts, others)
        return Candidates(rows.start, starts, others), keep
