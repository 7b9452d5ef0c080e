"""Comparisons on the workers of a Dask cluster: the parts of a source, where shards are placed, and samples."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nearer.cluster import Cluster
from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.dask_frames import FramePartition
from nearer.selection import subsample

ADVICE = "with checkpoint= the last map is in a file, from which another fit goes on"


def parts_of(source: ComparisonSource, cluster: Cluster) -> list[Any]:
    """Return the parts of a source as arguments of tasks: what reads them, or futures of their comparisons."""
    partitions = [part.lazy for part in source.parts if isinstance(part, FramePartition)]
    return cluster.compute(partitions) if partitions else list(source.parts)


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
    cluster, share = Cluster(ADVICE), min(1.0, max_rows / len(source))
    seeds = random.integers(2**63, size=len(source.parts)).tolist()
    futures = [
        cluster.submit(f"sample-{number}", sample_part, part, share, seed)
        for number, (part, seed) in enumerate(zip(parts_of(source, cluster), seeds, strict=True))
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
