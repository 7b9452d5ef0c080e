"""The engine of the processor: comparisons in memory, compiled loops, and threads."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any, Self

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.rows import blocks, squared_distances
from nearer.embedding import loops
from nearer.embedding.problem import Problem, normalized
from nearer.jit import bind
from nearer.threads import thread_map

PICKS_AT_ONCE = 1 << 14
BLOCK = 1 << 17  # rows whose distances are in memory at once
AHEAD = 6  # steps for which objects are prefetched
CACHES = 1 << 20  # bytes of state above which that pays
LOW = 4096  # the loops split a number of steps into high * 4096 + low


class CPUProblem(Problem):
    """Comparisons in memory and compiled loops over them, in threads.

    Sums of the threads are reduced in a fixed order, so the result depends only on their number, `n_jobs`.
    """

    def __init__(
        self, comparisons: Comparisons, loss: Any, regularization: float, n_jobs: int, random: np.random.Generator
    ) -> None:
        super().__init__(loss, regularization, comparisons.n_objects, random)
        self.rows, self.n_rows = comparisons.rows, len(comparisons)
        self.n_jobs = self.n_parallel = n_jobs
        self.weighted = int(comparisons.weights is not None)
        self.absolute_weights = np.ones(1) if comparisons.weights is None else comparisons.weights
        self.weights = normalized(comparisons.weights)
        self._stack = ExitStack()
        self._map: Callable = map
        self._states: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __enter__(self) -> Self:
        self._map = self._stack.enter_context(thread_map(self.n_jobs))
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.close()

    @cached_property
    def _add_gradient(self) -> Callable:
        return bind(loops.add_gradient, self.loss)

    @cached_property
    def _svrg_steps(self) -> Callable:
        return bind(loops.svrg_steps, self.loss)

    @cached_property
    def _gather(self) -> Callable:
        return bind(loops.gather)

    @cached_property
    def _settle(self) -> Callable:
        return bind(loops.settle)

    def blocks(self, absolute: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and their weights, of mean one or as given, until all were there; a single 1 without weights."""
        yield self.rows, self.absolute_weights if absolute else self.weights

    def value_and_gradient(self, points: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F and its gradient, ridge included."""
        loop = self._add_gradient
        gradients = [np.zeros_like(points) for _ in range(self.n_jobs)]
        total = 0.0
        for rows, weights in self.blocks():
            bounds = [len(rows) * job // self.n_jobs for job in range(self.n_jobs + 1)]

            def part(job: int, rows: Any = rows, weights: Any = weights, bounds: Any = bounds) -> float:
                block = slice(bounds[job], bounds[job + 1])
                own = weights[block] if self.weighted else weights
                return loop(points, rows[block], own, self.weighted, gradients[job])

            total += sum(self._map(part, range(self.n_jobs)))
        gradient = gradients[0]
        for other in gradients[1:]:
            gradient += other
        gradient /= self.n_rows
        gradient += points.dtype.type(self.ridge) * points
        return total / self.n_rows + 0.5 * self.ridge * float(np.vdot(points, points)), gradient

    def mentioned(self) -> np.ndarray:
        """Return for each object whether a comparison mentions it."""
        mentioned = np.zeros(self.n_objects, dtype=bool)
        for rows, _ in self.blocks():
            for block in blocks(len(rows), BLOCK):
                mentioned[rows[block]] = True
        return mentioned

    def svrg_run(
        self,
        snapshot: np.ndarray,
        gradient: np.ndarray,
        step_size: float,
        steps: int,
        batch_size: int = 1,
        stop_at: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the points after ``steps`` inner steps of SVRG in each thread, and those after ``stop_at``."""
        dense = gradient - snapshot * snapshot.dtype.type(self.ridge)
        powers, sums = decay_tables(1.0 - step_size * self.ridge, steps)
        ahead = AHEAD if 3 * snapshot.nbytes > CACHES else 0
        loop, settle = self._svrg_steps, self._settle
        if batch_size > 1:
            loop = bind(loops.svrg_batch_steps, self.loss)
        stages = [(0, steps)] if stop_at is None else [(0, stop_at), (stop_at, steps)]

        def part(job: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
            state, touched = self._state_of(job, snapshot)
            state[:, 0], state[:, 1], state[:, 2], touched[:] = snapshot, snapshot, dense, 0
            ends = []
            for first, last in stages:
                for start, rows, weights in self._picked(random, first, last, batch_size):
                    arrays = (state, touched, rows, weights, self.weighted)
                    if batch_size == 1:
                        loop(*arrays, start, step_size, powers, sums, ahead)
                    else:
                        loop(*arrays, batch_size, start, step_size, powers, sums)
                ends.append(np.empty_like(snapshot))
                settle(state, touched, last, step_size, powers, sums, ends[-1])
            return ends[-1], ends[0]

        ends, middles = zip(*self._map(part, range(self.n_jobs), self._randoms()), strict=True)
        drawn = 0 if stop_at is None or self.n_jobs == 1 else int(self.random.integers(self.n_jobs))
        return mean_of(ends), middles[drawn]

    def sgd_run(self, points: np.ndarray, step_size: float, steps: int) -> np.ndarray:
        """Return the points after that many plain stochastic steps; threads as in :meth:`svrg_run`."""
        loop = bind(loops.sgd_steps, self.loss)
        powers, _ = decay_tables(1.0 - step_size * self.ridge, steps)

        def part(random: np.random.Generator) -> np.ndarray:
            end, touched = points.copy(), np.zeros(len(points), dtype=np.int64)
            for start, rows, weights in self._picked(random, 0, steps):
                loop(end, touched, rows, weights, self.weighted, start, step_size, powers)
            owed = steps - touched
            end *= (powers[0, owed % LOW] * powers[1, owed // LOW])[:, None].astype(points.dtype)
            return end

        return mean_of(list(self._map(part, self._randoms())))

    def adagrad_run(self, points: np.ndarray, energy: np.ndarray, step_size: float, passes: int) -> np.ndarray:
        """Return the points after some passes of AdaGrad, each in a new order; ``energy`` is carried on."""
        loop = bind(loops.adagrad_steps, self.loss)
        points = points.copy()
        for _ in range(passes):
            order = self.random.permutation(self.n_rows)
            weights = self.absolute_weights[order] if self.weighted else self.absolute_weights
            loop(points, energy, self.rows[order], weights, self.weighted, step_size)
        return points

    def energies(self, points: np.ndarray) -> np.ndarray:
        """Return for each object the sum of the squared pulls of all comparisons on it."""
        energy = np.zeros(len(points))
        for rows, weights in self.blocks(absolute=True):
            parts = list(blocks(len(rows), BLOCK))

            def part(block: slice, rows: Any = rows, weights: Any = weights) -> np.ndarray:
                return squared_pulls(points, rows[block], weights[block] if self.weighted else 1.0, self.loss)

            for start in range(0, len(parts), self.n_jobs):  # as many sums in memory as there are threads
                for added in self._map(part, parts[start : start + self.n_jobs]):
                    energy += added
        return np.minimum(energy, np.finfo(np.float64).max)  # of huge weights

    def _picked(
        self, random: np.random.Generator, first: int, last: int, batch_size: int = 1
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the rows of the steps from first to last, some at a time, each picked uniformly."""
        return self._pick_rows(self.rows, self.weights, random, first, last, batch_size)

    def _pick_rows(
        self,
        rows: np.ndarray,
        weights: np.ndarray,
        random: np.random.Generator,
        first: int,
        last: int,
        batch_size: int,
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield first step, rows and weights of some steps at a time, picked uniformly from these rows."""
        gather = self._gather
        for start in range(first, last, PICKS_AT_ONCE):
            size = min(PICKS_AT_ONCE, last - start) * batch_size
            picks = random.integers(len(rows), size=size, dtype=np.int32)  # many times faster than int64
            picked = np.empty((len(picks), rows.shape[1]), dtype=rows.dtype)
            picked_weights = np.empty(len(picks)) if self.weighted else weights
            gather(rows, weights, self.weighted, picks, picked, picked_weights)
            yield start, picked, picked_weights

    def _state_of(self, job: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a thread's place for points, snapshots and gradients; made once, since it may be large."""
        shape = (len(points), 3, points.shape[1])
        if job not in self._states or self._states[job][0].shape != shape:
            self._states[job] = np.empty(shape, points.dtype), np.empty(len(points), dtype=np.int64)
        return self._states[job]

    def _randoms(self) -> list[np.random.Generator]:
        return [self.random] if self.n_jobs == 1 else self.random.spawn(self.n_jobs)


def squared_pulls(points: np.ndarray, rows: np.ndarray, weights: Any, loss: Any) -> np.ndarray:
    """Return for each object the sum of the squared pulls of some comparisons on it."""
    energy, second = np.zeros(len(points)), 0 if rows.shape[1] == 3 else 2
    near, far = squared_distances(points, rows)
    for columns, squared, slope in zip(((0, 1), (second, -1)), (near, far), loss.slopes(near, far), strict=True):
        with np.errstate(over="ignore", invalid="ignore"):
            pulls = np.nan_to_num(np.square(2.0 * weights * slope) * squared, nan=0.0)  # 0 * infinity
            for column in columns:
                energy += np.bincount(rows[:, column], pulls, len(points))
    return energy


def mean_of(ends: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean of the threads' ends, added in their order."""
    return ends[0] if len(ends) == 1 else np.mean(ends, axis=0, dtype=np.float64).astype(ends[0].dtype)


def decay_tables(decay: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Tabulate decay^s and 1 + decay + ... + decay^(s-1) for every s up to ``steps``.

    Two short tables serve: with s = 4096 h + l the power is powers[0, l] * powers[1, h] and the sum
    sums[0, l] + powers[0, l] * sums[1, h]. Sums are added up, not divided by 1 - decay, which would cancel.
    """
    high = steps // LOW + 1
    powers, sums = np.zeros((2, max(LOW, high))), np.zeros((2, max(LOW, high)))
    with np.errstate(over="ignore", invalid="ignore"):  # a step far too long ends in infinity, and is seen there
        powers[0, :LOW] = decay ** np.arange(LOW)
        sums[0, 1:LOW] = np.cumsum(powers[0, : LOW - 1])
        powers[1, :high] = (powers[0, LOW - 1] * decay) ** np.arange(high)
        sums[1, 1:high] = (sums[0, LOW - 1] + powers[0, LOW - 1]) * np.cumsum(powers[1, : high - 1])
    return powers, sums
