"""The engine of a Dask cluster: comparisons in shards on its workers, and sums over the shards.

A shard is what one thread of a worker computes with. It is the result of a task that reads parts of the source, so
Dask makes it anew where its worker dies. Points travel as arguments of a task, for the same reason. What the shards
return is summed in a fixed order, so the result does not depend on which of them ends first.

A round of stochastic steps is local SVRG: every shard takes its steps from the common snapshot, with its own
comparisons and the gradient of all of them, and the mean of the ends is returned, by the weights of the shards.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np

from nearer.cluster import Cluster
from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import drop_zero_weights
from nearer.embedding.engines.cluster import ADVICE, chunks_of, joined, parts_of, place
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.problem import Problem

FEWEST_ROWS = 2_000  # of a shard: of fewer a round takes longer than the computation
UNEVEN_PARTS = 4  # parts per shard below which they are divided, so that shards are equal
SUMMED_AT_ONCE = 8
SMALL = 1 << 23  # bytes for all shards, up to which points go with each task and sums are made here: less latency


class DaskProblem(Problem):
    """Comparisons in shards on the workers of a Dask cluster, that of the current client.

    Parameters
    ----------
    source : ComparisonSource
        Its parts are read by the workers.
    loss, regularization
        As for :class:`~nearer.embedding.problem.Problem`.
    n_jobs : int
        Not used: there is a shard per thread of the workers.
    random : numpy.random.Generator
        Draws the seeds of stochastic steps.

    Attributes
    ----------
    shares : list of float
        Share of each shard of the sum of all weights.
    """

    def __init__(
        self, source: ComparisonSource, loss: Any, regularization: float, n_jobs: int, random: np.random.Generator
    ) -> None:
        super().__init__(loss, regularization, source.n_objects, random)
        self.cluster, self.n_rounds = Cluster(ADVICE), 0
        threads = self.cluster.threads()
        n_shards = max(1, min(sum(threads.values()), len(source) // FEWEST_ROWS))
        self.workers = place([None] * n_shards, threads)
        shards = self._load(source)
        sizes = self.cluster.results(
            [
                self.cluster.submit(f"size-{number}", ComparisonShard.size, shard)
                for number, shard in enumerate(shards)
            ]
        )
        self.shards = [shard for shard, (n_rows, _, _) in zip(shards, sizes, strict=True) if n_rows]
        self.workers = [worker for worker, (n_rows, _, _) in zip(self.workers, sizes, strict=True) if n_rows]
        self.n_rows, self.n_parallel = sum(n_rows for n_rows, _, _ in sizes), len(self.shards)
        if not self.shards:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        largest = max(largest for _, largest, _ in sizes)  # in whose units sums cannot overflow
        weights = np.array([units * (own / largest) for n_rows, own, units in sizes if n_rows])
        self.shares = (weights / weights.sum()).tolist()

    def __exit__(self, *error: Any) -> None:
        """Let the workers forget the shards."""
        self.shards = []

    def value_and_gradient(self, points: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F and its gradient, ridge included."""
        value, gradient = self._sum("gradient", ComparisonShard.value_and_gradient, points)
        gradient += points.dtype.type(self.ridge) * points
        return value + 0.5 * self.ridge * float(np.vdot(points, points)), gradient

    def energies(self, points: np.ndarray) -> np.ndarray:
        """Return for each object the sum of the squared pulls of all comparisons on it."""
        (energies,) = self._sum("energies", ComparisonShard.energies, points)
        return np.minimum(energies, np.finfo(np.float64).max)

    def mentioned(self) -> np.ndarray:
        """Return for each object whether a comparison mentions it."""
        (counts,) = self._sum("mentioned", ComparisonShard.mentioned, None)
        return counts > 0

    def svrg_run(
        self,
        snapshot: np.ndarray,
        gradient: np.ndarray,
        step_size: float,
        steps: int,
        batch_size: int = 1,
        stop_at: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the points after ``steps`` inner steps in each shard; those of one after ``stop_at``."""
        drawn = -1 if stop_at is None else int(self.random.integers(self.n_parallel))
        arguments = [
            (seed, self.ridge, step_size, steps, batch_size, stop_at if number == drawn else None)
            for number, seed in enumerate(self._seeds())
        ]
        end, middle = self._sum("svrg", ComparisonShard.svrg_run, (snapshot, gradient), arguments)
        return end, middle if stop_at is not None else end

    def sgd_run(self, points: np.ndarray, step_size: float, steps: int) -> np.ndarray:
        """Return the mean of the points after that many plain stochastic steps in each shard."""
        arguments = [(seed, self.ridge, step_size, steps) for seed in self._seeds()]
        (end,) = self._sum("sgd", ComparisonShard.sgd_run, points, arguments)
        return end

    def _seeds(self) -> list[int]:
        """Return a seed per shard: a task that is repeated draws the same rows again."""
        return self.random.integers(2**63, size=self.n_parallel).tolist()

    def _load(self, source: ComparisonSource) -> list[Any]:
        """Return the shards, each on the worker that reads it."""
        n_shards, parts, pieces = len(self.workers), parts_of(source, self.cluster), 1
        if len(parts) < UNEVEN_PARTS * n_shards:  # read each part once, and deal its rows out
            pieces = n_shards // gcd(len(parts), n_shards)
        if pieces > 1:
            parts = [
                self.cluster.submit(f"part-{number}", read_part, part) if callable(part) else part
                for number, part in enumerate(parts)
            ]
        dealt = [(part, piece) for part in parts for piece in range(pieces)]
        shards = []
        for number, worker in enumerate(self.workers):
            own_parts, own_pieces = zip(*dealt[number::n_shards], strict=True)
            arguments = list(own_parts), own_pieces, pieces, self.loss
            shards.append(self.cluster.submit(f"shard-{number}", load_shard, *arguments, worker=worker))
        return shards

    def _sum(self, name: str, function: Callable, arrays: Any, arguments: Iterable[tuple] | None = None) -> Any:
        """Return the sum over the shards of what a function returns for each, a tuple of numbers and arrays.

        It is called with the shard, the shard's share, the arrays, and the shard's own arguments.
        """
        self.n_rounds += 1
        submit, what = self.cluster.submit, f"{name}-{self.n_rounds}"
        self.workers = place(self.workers, self.cluster.threads())
        is_small = self.n_parallel * max(nbytes(arrays), 8 * self.n_objects) <= SMALL  # of points and of results
        sent = arrays if is_small else self.cluster.send(f"points-{what}", arrays)
        own = [()] * self.n_parallel if arguments is None else arguments
        futures = [
            submit(f"{what}-shard-{number}", function, shard, share, sent, *more, worker=worker)
            for number, (shard, share, more, worker) in enumerate(
                zip(self.shards, self.shares, own, self.workers, strict=True)
            )
        ]
        while len(futures) > 1 and not is_small:
            groups = [futures[n : n + SUMMED_AT_ONCE] for n in range(0, len(futures), SUMMED_AT_ONCE)]
            futures = [
                submit(f"{what}-sum-of-{len(futures)}-{number}", add_up, group)
                for number, group in enumerate(groups)
            ]
        total = add_up(self.cluster.results(futures))
        return [np.array(term) if isinstance(term, np.ndarray) else term for term in total]  # writable


class ComparisonShard:
    """Comparisons that one thread of a worker computes with, and the compiled loops over them."""

    def __init__(self, comparisons: Comparisons, loss: Any) -> None:
        self.comparisons, self.loss = comparisons, loss

    @cached_property
    def problem(self) -> CPUProblem:
        """The objective of these comparisons alone, without a ridge."""
        return CPUProblem(self.comparisons, self.loss, 0.0, 1, np.random.default_rng(0))

    def __reduce__(self) -> tuple:
        """Leave out the compiled loops, and what they have at hand."""
        return ComparisonShard, (self.comparisons, self.loss)

    def __sizeof__(self) -> int:
        """Return the bytes that a worker would have to send; Dask asks."""
        weights = self.comparisons.weights
        return self.comparisons.rows.nbytes + (0 if weights is None else weights.nbytes)

    def size(self) -> tuple[int, float, float]:
        """Return the number of rows, the largest weight, and the sum of the weights in units of that."""
        weights = self.comparisons.weights
        if weights is None or not len(weights):
            return len(self.comparisons), 1.0, float(len(self.comparisons))
        return len(weights), float(weights.max()), float((weights / weights.max()).sum())

    def value_and_gradient(self, share: float, points: np.ndarray) -> tuple[float, np.ndarray]:
        """Return mean loss and gradient, times the share."""
        points = np.require(points, requirements="W")  # what the loops are compiled for
        value, gradient = self.problem.value_and_gradient(points)
        return share * value, gradient * points.dtype.type(share)

    def energies(self, share: float, points: np.ndarray) -> tuple[np.ndarray]:
        """Return the energies of :meth:`Problem.energies`."""
        return (self.problem.energies(points),)

    def mentioned(self, share: float, arrays: None) -> tuple[np.ndarray]:
        """Return 1 for each object that is mentioned."""
        return (self.problem.mentioned().astype(np.int32),)

    def svrg_run(
        self,
        share: float,
        arrays: tuple[np.ndarray, np.ndarray],
        seed: int,
        ridge: float,
        step_size: float,
        steps: int,
        batch_size: int,
        stop_at: int | None,
    ) -> tuple[np.ndarray, Any]:
        """Return the end of a run times the share, and the points after ``stop_at`` steps, 0 without."""
        self.problem.random, self.problem.ridge = np.random.default_rng(seed), ridge
        try:
            end, middle = self.problem.svrg_run(*arrays, step_size, steps, batch_size, stop_at)
        finally:
            self.problem.ridge = 0.0
        return end * end.dtype.type(share), 0.0 if stop_at is None else middle

    def sgd_run(
        self, share: float, points: np.ndarray, seed: int, ridge: float, step_size: float, steps: int
    ) -> tuple[np.ndarray]:
        """Return the end of a run times the share."""
        self.problem.random, self.problem.ridge = np.random.default_rng(seed), ridge
        try:
            end = self.problem.sgd_run(points, step_size, steps)
        finally:
            self.problem.ridge = 0.0
        return (end * end.dtype.type(share),)


def read_part(part: Callable[[], Iterable[Comparisons]]) -> Comparisons:
    """Return all rows of a part."""
    return joined(part())


def load_shard(parts: list[Any], pieces: tuple[int, ...], n_pieces: int, loss: Any) -> ComparisonShard:
    """Return a shard of parts, of each of them one piece: every ``n_pieces``-th row."""
    chosen = []
    for part, piece in zip(parts, pieces, strict=True):
        for chunk in chunks_of(part):
            weights = None if chunk.weights is None else chunk.weights[piece::n_pieces]
            rows = Comparisons(chunk.rows[piece::n_pieces], n_objects=chunk.n_objects, weights=weights)
            chosen.append(drop_zero_weights(rows))
    return ComparisonShard(joined(chunk for chunk in chosen if len(chunk)), loss)


def nbytes(arrays: Any) -> int:
    """Return the bytes of an array, of several or of none."""
    return sum(array.nbytes for array in (arrays if isinstance(arrays, tuple) else (arrays,)) if array is not None)


def add_up(results: list[tuple]) -> tuple:
    """Return the sums of the terms of several results, in their order."""
    first, *others = results
    totals = list(first)
    for other in others:
        totals = [total + term for total, term in zip(totals, other, strict=True)]
    return tuple(totals)
