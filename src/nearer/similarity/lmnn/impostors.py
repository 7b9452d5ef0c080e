"""Finds the impostors of LMNN: rows of another class within the reach of a row (its furthest target + the margin).

All distances at once would be an n × n matrix. Here a block of rows is multiplied with all rows, and close ones
are listed. Since the map L moves little from step to step, the list is made with some slack and kept as long as it
is provably complete. Let L₀ be the map it was made for, and B any matrix: with E = L - BL₀,

    |L(x - x')| ≥ s |L₀(x - x')| - |E(x - x')|,     s the smallest singular value of B,

so a row that was further away than ρ, and so not listed, is now at least sρ - |Ex| - max |Ex'| away. B is fitted
to the rows (L ≈ BL₀ where they vary), with a pull to the identity: a direction that is nearly 0 under L₀ may
double or vanish at no cost, and should not count as a factor. Several strengths of that pull are tried, and the
best bound is taken row by row. When the reach of a row exceeds its bound, all rows are searched again: no impostor
is ever missing.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve

from nearer.jit import bind
from nearer.similarity.lmnn import loops

SLACK = 0.5  # share of the squared reach that is added to it
PULLS = (1e-6, 1e-2, 1.0)  # of B to the identity, relative to variances in units of a target's squared distance
ROUNDING = 1e-9  # of a distance: what the bound may lose to rounding
BLOCK = 4_000_000  # products held at once
MEMORY = 200_000_000  # bytes of listed pairs held at most
PAIR = 4  # bytes
GROWTH = 4  # by which slack may multiply the pairs
COARSE = 0.01  # float32 is enough while its error is below this share of the smallest reach


class Candidates(NamedTuple):
    """Rows of other classes that may be within reach: ``others[starts[r]:starts[r + 1]]`` of row ``first + r``."""

    first: int
    starts: np.ndarray
    others: np.ndarray


class Impostors:
    """Returns, for any map, all pairs of a row and an impostor of it, with few others.

    Rows are sorted by class, which is from ``lows`` to ``highs``; blocks beyond ``memory`` bytes are not kept.
    """

    def __init__(self, X: np.ndarray, lows: np.ndarray, highs: np.ndarray, memory: int = MEMORY) -> None:
        self.X, self.lows, self.highs, self.memory = X, lows, highs, memory
        self.n_searches = self.n_listed = 0
        self._variances = X.T @ X / len(X)
        rows = max(1, min(len(X), BLOCK // len(X)))
        self._blocks = [slice(first, min(first + rows, len(X))) for first in range(0, len(X), rows)]
        self._listed: list[Candidates | None] = [None] * len(self._blocks)
        self._searched: np.ndarray | None = None  # L₀
        self._radii = np.zeros(len(X))  # ρ

    def within(self, L: np.ndarray, points: np.ndarray, furthest: np.ndarray) -> Iterator[Candidates]:
        """Yield, block by block, all rows of other classes within ``furthest``, the squared reach of each row or 0."""
        search_all = not self._is_complete(L, furthest)
        if search_all:
            self._searched, self._radii = L.copy(), np.sqrt((1.0 + SLACK) * furthest)
            self._listed = [None] * len(self._blocks)
            self.n_searches += 1
            self.n_listed = 0
        search: Search | None = None
        n_passing, n_rows = 0, 0  # pairs that were not kept, and rows they are of
        for number, rows in enumerate(self._blocks):
            candidates = self._listed[number]
            if candidates is None:
                search = search or Search(points, furthest, self.lows, self.highs)
                most = self.memory // PAIR - self.n_listed if search_all else 0
                candidates, with_slack = search.block(rows, most)
                if with_slack:
                    self._listed[number] = candidates
                    self.n_listed += len(candidates.others)
                else:
                    n_passing += len(candidates.others)
                    n_rows += rows.stop - rows.start
            yield candidates
        if n_rows and GROWTH * n_passing * len(points) <= self.memory // PAIR * n_rows:
            self._searched = None  # by now all would fit: list them all the next time

    def _is_complete(self, L: np.ndarray, furthest: np.ndarray) -> bool:
        """Whether the list still has every row within reach."""
        if self._searched is None or self._searched.shape != L.shape:
            return False
        listed = np.zeros(len(furthest), dtype=bool)
        for candidates, rows in zip(self._listed, self._blocks, strict=True):
            listed[rows] = candidates is not None
        if not listed.any():
            return True
        reach = np.where(listed, np.sqrt(furthest) * (1.0 + ROUNDING), 0.0)
        short = reach > 0.0
        for pull in PULLS:
            short &= self._bounds(L, pull) < reach
            if not short.any():
                return True
        return False

    def _bounds(self, L: np.ndarray, pull: float) -> np.ndarray:
        """Return, for each row, how far away all rows now are that were not within its radius."""
        old = self._searched
        assert old is not None
        here = old @ self._variances
        ridge = pull * np.eye(len(L))
        B = solve(here @ old.T + ridge, here @ L.T + ridge, assume_a="pos").T
        shrink = np.linalg.svd(B, compute_uv=False)[-1]
        drift = np.linalg.norm(self.X @ (L - B @ old).T, axis=1)
        return shrink * self._radii - drift - drift.max()


class Search:
    """Products of rows with all others, for one map; parameters as those of `Impostors`.

    |z - z'|² < ρ says z·z' - |z'|²/2 > (|z|² - ρ)/2: with one more column, a product and a comparison per pair.
    In float32 where its rounding is small relative to the reach; the floor is lowered by that rounding.
    """

    def __init__(self, points: np.ndarray, furthest: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> None:
        squares = np.einsum("ij,ij->i", points, points)
        size = max(float(squares.max()), (1.0 + SLACK) * float(furthest.max()))
        parts = 3.0 * (points.shape[1] + 5) * size
        fine = parts * float(np.finfo(np.float32).eps) < COARSE * float(furthest[furthest > 0.0].min(initial=1.0))
        dtype: Any = np.float32 if fine else np.float64
        doubt = parts * float(np.finfo(dtype).eps)

        def floors(reach: np.ndarray) -> np.ndarray:
            return np.where(furthest > 0.0, 0.5 * (squares - reach - doubt), np.inf).astype(dtype)

        self.left: np.ndarray = np.column_stack([points, np.ones(len(points))]).astype(dtype)
        self.right: np.ndarray = np.column_stack([points, -0.5 * squares]).astype(dtype).T
        self.floors, self.slack_floors = floors(furthest), floors((1.0 + SLACK) * furthest)
        self.lows, self.highs = lows, highs
        self._count, self._list = bind(loops.count_within), bind(loops.list_within)

    def block(self, rows: slice, max_pairs: int) -> tuple[Candidates, bool]:
        """Return the candidates of some rows, and whether these are with slack: if so many pairs are enough."""
        products = self.left[rows] @ self.right
        lows, highs = self.lows[rows], self.highs[rows]
        counts = np.empty(len(products), dtype=np.intp)
        with_slack = max_pairs > 0
        if with_slack:
            self._count(products, self.slack_floors[rows], lows, highs, counts)
            with_slack = int(counts.sum()) <= max_pairs
        floors = self.slack_floors[rows] if with_slack else self.floors[rows]
        if not with_slack:
            self._count(products, floors, lows, highs, counts)
        starts = np.concatenate([[0], np.cumsum(counts)])
        others = np.empty(starts[-1], dtype=np.int32)
        self._list(products, floors, lows, highs, starts, others)
        return Candidates(rows.start, starts, others), with_slack
