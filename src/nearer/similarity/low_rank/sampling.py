"""Where triplets come from: drawn from labels as they are needed, or comparisons, in a new order per pass."""

import warnings

import numpy as np

from nearer.comparisons import Comparisons
from nearer.lowrank import PassSampler
from nearer.simulate import comparisons_from_labels

CANDIDATES = 10  # objects of other classes among which the one most like the anchor is sought


class LabelSampler:
    """Triplets of objects, rows of a table, drawn from their labels; hard negatives have several candidates each."""

    def __init__(
        self, labels: np.ndarray, objects: np.ndarray, sampling: str, hard: bool, random: np.random.Generator
    ) -> None:
        self.labels, self.objects, self.sampling, self.hard = labels, objects.astype(np.int32), sampling, hard
        self.random = random

    def next(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n triplets and their weights."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*have one member only")  # the estimator warns, of the labels
            rows = comparisons_from_labels(self.labels, n, self.random, sampling=self.sampling).rows
        if self.hard:
            rows = np.column_stack([rows, *(self._others(rows[:, 0]) for _ in range(CANDIDATES - 1))])
        return np.ascontiguousarray(self.objects[rows]), np.ones(n)

    def _others(self, anchors: np.ndarray) -> np.ndarray:
        """Draw for each anchor an object of another class, evenly."""
        drawn = self.random.integers(len(self.labels), size=len(anchors), dtype=np.int32)
        while True:
            same = np.flatnonzero(self.labels[drawn] == self.labels[anchors])
            if len(same) == 0:
                return drawn
            drawn[same] = self.random.integers(len(self.labels), size=len(same), dtype=np.int32)


class ComparisonSampler:
    """The triplets of comparisons: all of them in a new order, then all of them in another; see `PassSampler`."""

    def __init__(self, comparisons: Comparisons, random: np.random.Generator | None) -> None:
        self.rows = comparisons.rows
        self.weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
        self._passes = PassSampler(len(comparisons), random)

    def next(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n triplets and their weights."""
        which = self._passes.next(n)
        return np.ascontiguousarray(self.rows[which]), self.weights[which]
