"""Threads of a fit: numpy and compiled loops release the interpreter's lock, so that several run at once."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


def usable_cores() -> int:
    """Return how many cores this process may run on: a scheduler of jobs, or taskset, may give it a part of them."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def thread_map(n_jobs: int) -> Iterator[Callable]:
    """Give a function that works like ``map``, in at most ``n_jobs`` threads."""
    n_jobs = n_concurrent(n_jobs)
    if n_jobs == 1:
        yield map
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield pool.map


def n_concurrent(n_jobs: int) -> int:
    """Return how many of a fit's threads may run at once: inside a worker of joblib, its share of the cores.

    A grid search that fills the cores with processes has no use for threads in each of them. joblib tells its processes
    their share. Fits divide their work by ``n_jobs``, so the result does not depend on it.
    """
    if "joblib" not in sys.modules:
        return n_jobs
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    if not backend.nesting_level:
        return n_jobs
    share = os.environ.get("OMP_NUM_THREADS", "1")
    return max(1, min(n_jobs, int(share) if share.isdecimal() else 1))
