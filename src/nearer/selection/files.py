"""Held-out answers of files that are larger than memory: a sample that is left out of every pass over the rest.

Whether a row is held out depends on a hash of its objects only. So all answers to a question are on one side, whatever
file they are in, and nothing has to be remembered about the rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.chunks import Part

FULL = 2**64


@dataclass(frozen=True)
class SidePart:
    """The answers of a part that are held out, or those that are not."""

    part: Part
    share: float
    seed: int
    is_held_out: bool

    def __call__(self) -> Iterator[Comparisons]:
        """Read the part."""
        limit = np.uint64(min(int(self.share * FULL), FULL - 1))
        for chunk in self.part():
            side = chunk[(hashes(chunk.rows, self.seed) < limit) == self.is_held_out]
            if len(side):
                yield side


def hold_out_sample(source: ComparisonSource, n_rows: int, seed: int) -> tuple[ComparisonSource, Comparisons]:
    """Return a source without about so many rows, and these rows: whole answers, with all answers to their questions.

    Parameters
    ----------
    source : ComparisonSource
        All answers, which are read once.
    n_rows : int
        About how many rows to hold out.
    seed : int
        The same seed holds out the same rows.
    """
    share = min(n_rows / len(source), 0.5)
    held_out, train = (tuple(SidePart(part, share, seed, side) for part in source.parts) for side in (True, False))
    chunks = [chunk for part in held_out for chunk in part()]
    if not chunks:
        raise ValueError("no question can be held out: all answers are to the same questions")
    sample = Comparisons.concat(chunks)
    if len(sample) == len(source):
        raise ValueError("no question can be held out: all answers are to the same questions")
    return replace(source, parts=train, n_rows=len(source) - len(sample)), sample


def hashes(rows: NDArray[np.int32], seed: int) -> NDArray[np.uint64]:
    """Return a hash of the objects of each row, whatever their order (the finalizer of SplitMix64, per object)."""
    mixed = np.full(len(rows), np.uint64(seed))
    for column in np.sort(rows, axis=1).T:
        mixed = (mixed ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
