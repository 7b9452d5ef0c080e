"""Streams that learn step by step: chunks of samples, about twenty per fit, with a step size."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from nearer.solver import chunk_size


class PassSampler:
    """Numbers from 0 to n - 1: all of them in a new order, then in another; without ``random`` as they are."""

    def __init__(self, n: int, random: np.random.Generator | None) -> None:
        self.n, self.random = n, random
        self._order = np.empty(0, dtype=np.intp)

    def next(self, size: int) -> Any:
        """Return the next numbers."""
        while len(self._order) < size:
            again = np.arange(self.n) if self.random is None else self.random.permutation(self.n)
            self._order = np.concatenate([self._order, again])
        chunk, self._order = self._order[:size], self._order[size:]
        return chunk


class Stream:
    """The problem of a stream: ``n_steps`` samples in chunks, after ``n_taken`` others; subclasses have ``take``."""

    def __init__(self, sampler: Any, learning_rate: float, n_steps: int, n_taken: int = 0) -> None:
        self.sampler, self.learning_rate, self.n_steps, self.n_taken = sampler, learning_rate, n_steps, n_taken
        self.chunk_size = chunk_size(n_steps)

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-self.n_steps // self.chunk_size)

    def chunks(self) -> Iterator[Any]:
        """Yield samples."""
        for start in range(0, self.n_steps, self.chunk_size):
            yield self.sampler.next(min(self.chunk_size, self.n_steps - start))

    def _count(self, losses: np.ndarray) -> float:
        """Count the steps of a chunk; return the mean of the losses before them."""
        self.n_taken += len(losses)
        return float(losses.mean())
