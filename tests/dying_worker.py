"""A Dask cluster of which one worker is killed in the middle of a fit."""

import os
import signal
from contextlib import contextmanager

from extras import needs


@contextmanager
def worker_killed_at(iteration):
    """Yield a callback that kills one of two workers at that iteration of a fit; fail if it did not."""
    needs("dask", "distributed")
    from distributed import Client, LocalCluster

    killed = []

    def kill(record):
        if record["iteration"] == iteration:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[-1], signal.SIGKILL)

    options = {"processes": True, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield kill
    assert len(killed) == 1
