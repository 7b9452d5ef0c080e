"""The Dask cluster of the current client: named tasks, where they run, their results, and a clear error if it fails.

Only tasks are submitted, and nothing is scattered: what only a worker has is lost with it, but a task is repeated.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any
from uuid import uuid4

import dask
import numpy as np
from distributed import Client, Future, KilledWorker
from distributed.comm import CommClosedError

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.dask_frames import FramePartition
from nearer.selection import subsample

WAIT_FOR_WORKERS = 30.0  # seconds
LOOK_FOR_WORKERS = 5.0  # seconds after which workers that have joined are found


class Cluster:
    """The cluster of the current client, for one purpose: the names of its tasks end alike.

    Attributes
    ----------
    scheduler : str
        Its address.
    """

    def __init__(self) -> None:
        self.client, self.token = Client.current(), uuid4().hex[:12]
        self.scheduler = self.client.scheduler_info()["address"]
        self._looked = -np.inf
        self._threads: dict[str, int] = {}

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker, as of some seconds ago; ConnectionError without any worker."""
        if time.monotonic() > self._looked + LOOK_FOR_WORKERS:
            try:
                self.client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
                self._threads, self._looked = dict(sorted(self.client.nthreads().items())), time.monotonic()
            except TimeoutError:
                raise ConnectionError(f"the cluster at {self.scheduler} has no workers") from None
            except Exception as error:
                raise self.explained(error) from error
        return self._threads

    def submit(self, name: str, function: Callable, *arguments: Any, worker: str | None = None) -> Future:
        """Submit a task whose name on the dashboard says what it does; it runs elsewhere if its worker is gone."""
        where = {} if worker is None else {"workers": worker, "allow_other_workers": True}
        try:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):  # of many points
                return self.client.submit(function, *arguments, key=f"nearer-{name}-{self.token}", **where)
        except Exception as error:
            raise self.explained(error) from error

    def results(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of tasks; ConnectionError where the cluster has none to give."""
        try:
            return self.client.gather(list(futures))
        except Exception as error:
            raise self.explained(error) from error

    def parts_of(self, source: ComparisonSource) -> list[Any]:
        """Return the parts of a source as arguments of tasks: what reads them, or futures of their comparisons."""
        partitions = [part.lazy for part in source.parts if isinstance(part, FramePartition)]
        return self.client.compute(partitions) if partitions else list(source.parts)

    def explained(self, error: Exception) -> Exception:
        """Return the error to raise: that of a task as it is, or one that says what became of the cluster."""
        first_line = str(error).partition("\n")[0] or type(error).__name__
        if isinstance(error, KilledWorker):
            return ConnectionError(
                f"the cluster at {self.scheduler} lost one worker after the other at the same task, most likely for "
                f"want of memory: {first_line}"
            )
        if isinstance(error, CancelledError | CommClosedError) or self.client.status != "running":
            return ConnectionError(
                f"the scheduler at {self.scheduler} no longer answers, or has dropped the tasks of this fit; with "
                f"checkpoint= the last map is in a file, from which another fit goes on ({first_line})"
            )
        return error


def place(before: Sequence[str | None], threads: Mapping[str, int]) -> list[str]:
    """Return the worker of each shard: as before, unless it is gone or has more shards than its threads' part."""
    total = sum(threads.values())
    free = {worker: -(-len(before) * n // total) for worker, n in threads.items()}
    stays = []
    for worker in before:
        stays.append(worker is not None and free.get(worker, 0) > 0)
        if stays[-1]:
            free[str(worker)] -= 1
    after = []
    for worker, stay in zip(before, stays, strict=True):
        after.append(str(worker) if stay else max(free, key=lambda name: free[name]))
        free[after[-1]] -= not stay
    return after


def sample_on_workers(source: ComparisonSource, max_rows: int, random: np.random.Generator) -> Comparisons:
    """Return about ``max_rows`` rows at most, whole answers, in memory; the workers read the parts."""
    cluster, share = Cluster(), min(1.0, max_rows / len(source))
    seeds = random.integers(2**63, size=len(source.parts)).tolist()
    futures = [
        cluster.submit(f"sample-{number}", sample_part, part, share, seed)
        for number, (part, seed) in enumerate(zip(cluster.parts_of(source), seeds, strict=True))
    ]
    return Comparisons.concat(part for part in cluster.results(futures) if len(part))


def sample_part(part: Any, share: float, seed: int) -> Comparisons:
    """Return a share of the rows of a part, whole answers, without names."""
    random = np.random.default_rng(seed)
    return joined(subsample(chunk, max(1, round(share * len(chunk))), random) for chunk in chunks_of(part))


def chunks_of(part: Any) -> Iterable[Comparisons]:
    """Return the comparisons of a part, which a worker reads or has."""
    return [part] if isinstance(part, Comparisons) else part()


def joined(chunks: Iterable[Comparisons]) -> Comparisons:
    """Return what a fit needs of some comparisons: rows, weights and answers."""
    bare = [Comparisons(c.rows, n_objects=c.n_objects, weights=c.weights, answers=c._answers) for c in chunks]
    return Comparisons.concat(bare) if bare else Comparisons(np.empty((0, 3), np.int32))
