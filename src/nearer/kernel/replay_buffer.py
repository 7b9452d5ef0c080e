"""Answers seen before, to be gone over again: lines 5 to 11 of Algorithm 2 of the ERKLE paper.

Drawn uniformly, the first answers are drawn most often in the end. The fair way, which the paper suggests, favours
those that were drawn less often: of two drawn uniformly it takes the one with fewer draws.
"""

import numpy as np


class Remembered:
    """Rows (i, j, l, k) with weights and how often each was drawn, in arrays that grow by doubling.

    Parameters
    ----------
    rows : int array of shape (n, 4)
    weights : array of shape (n,)
    draws : int array of shape (n,)

    Examples
    --------
    >>> kept = Remembered.none()
    >>> kept.add((0, 1, 0, 2), 1.0)
    >>> kept.draw(np.random.default_rng(0), fair=True)
    ((0, 1, 0, 2), 1.0)
    >>> kept.draws
    array([1])
    """

    def __init__(self, rows: np.ndarray, weights: np.ndarray, draws: np.ndarray) -> None:
        self._size = len(rows)
        self._rows, self._weights, self._draws = rows, weights, draws

    @classmethod
    def none(cls) -> "Remembered":
        """Return an empty memory."""
        return cls(np.empty((0, 4), dtype=np.int32), np.empty(0), np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> np.ndarray:
        """What was seen."""
        return self._rows[: self._size]

    @property
    def weights(self) -> np.ndarray:
        """What each row weighs."""
        return self._weights[: self._size]

    @property
    def draws(self) -> np.ndarray:
        """How often each row was drawn."""
        return self._draws[: self._size]

    def add(self, row: tuple[int, int, int, int], weight: float) -> None:
        """Remember a row."""
        if self._size == len(self._rows):
            more = max(64, self._size)
            self._rows = np.concatenate([self._rows, np.zeros((more, 4), dtype=np.int32)])
            self._weights = np.concatenate([self._weights, np.zeros(more)])
            self._draws = np.concatenate([self._draws, np.zeros(more, dtype=np.int64)])
        self._rows[self._size], self._weights[self._size] = row, weight
        self._size += 1

    def draw(self, random: np.random.Generator, fair: bool) -> tuple[tuple[int, int, int, int], float]:
        """Return a row and its weight, and count the draw."""
        pick = int(random.integers(self._size))
        if fair:
            other = int(random.integers(self._size))
            if self._draws[other] < self._draws[pick]:
                pick = other
        self._draws[pick] += 1
        i, j, l, k = self._rows[pick].tolist()  # noqa: E741
        return (i, j, l, k), float(self._weights[pick])
