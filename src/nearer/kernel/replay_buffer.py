"""Earlier answers for experience replay: lines 5 to 11 of Algorithm 2 of the ERKLE paper.

Drawn uniformly, the first answers are drawn most often in the end. Fair replay, which the paper suggests, takes of
two answers drawn uniformly the one with fewer draws.
"""

from array import array
from collections.abc import Sequence

import numpy as np


class ReplayBuffer:
    """Rows (i, j, l, k) with weights and the number of draws of each.

    Examples
    --------
    >>> buffer = ReplayBuffer()
    >>> buffer.add((0, 1, 0, 2), 1.0)
    >>> buffer.draw(np.random.default_rng(0), fair=True)
    ([0, 1, 0, 2], 1.0)
    >>> buffer.draws
    array('q', [1])
    """

    def __init__(self, rows: Sequence[int] = (), weights: Sequence[float] = (), draws: Sequence[int] = ()) -> None:
        self.rows, self.weights, self.draws = array("i", rows), array("d", weights), array("q", draws)

    def add(self, row: Sequence[int], weight: float) -> None:
        """Store an answer."""
        self.rows.extend(row)
        self.weights.append(weight)
        self.draws.append(0)

    def draw(self, random: np.random.Generator, fair: bool) -> tuple[list[int], float]:
        """Return an answer and its weight, and count the draw."""
        index = int(random.integers(len(self.weights)))
        if fair:
            other = int(random.integers(len(self.weights)))
            if self.draws[other] < self.draws[index]:
                index = other
        self.draws[index] += 1
        return self.rows[4 * index : 4 * index + 4].tolist(), self.weights[index]
