"""Tasks on a Dask cluster: errors of tasks are raised as they are, and those of the cluster say what became of it."""

import asyncio
import time
from contextlib import contextmanager

import pytest

from extras import needs
from nearer import cluster
from nearer.cluster import Cluster


@contextmanager
def local_cluster(n_workers):
    needs("distributed")
    from distributed import Client, LocalCluster

    options = {"processes": False, "n_workers": n_workers, "threads_per_worker": 2, "dashboard_address": ":0"}
    with LocalCluster(**options) as workers, Client(workers):
        yield workers


@pytest.fixture
def workers():
    with local_cluster(1) as workers:
        yield workers


def divide(one, other):
    return one / other


def test_results_come_in_order_and_the_error_of_a_task_as_it_is(workers, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK_AFTER", 0.05)  # seconds, of which the slow task takes several
    tasks = Cluster()
    assert list(tasks.threads().values()) == [2]
    futures = [tasks.submit("slow", time.sleep, 0.2), tasks.submit("quick", divide, 1, 2)]
    assert tasks.results(futures) == [None, 0.5]
    with pytest.raises(ZeroDivisionError):
        tasks.results([tasks.submit("wrong", divide, 1, 0)])
    with pytest.raises(FileNotFoundError, match=r"/no/such/file.*workers must find files under the same paths"):
        tasks.results([tasks.submit("missing", open, "/no/such/file")])


def test_a_cluster_without_workers_is_named(monkeypatch):
    monkeypatch.setattr(cluster, "WAIT_FOR_WORKERS", 0.1)
    with (
        local_cluster(0) as workers,
        pytest.raises(ConnectionError, match=f"the cluster at {workers.scheduler_address} has no workers"),
    ):
        Cluster()


def test_workers_that_are_all_gone_end_the_wait(workers, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK_AFTER", 0.05)
    monkeypatch.setattr(cluster, "WAIT_FOR_WORKERS", 0.3)
    tasks = Cluster(advice="do this")
    workers.scale(0)
    future = tasks.submit("never", divide, 1, 2)
    with pytest.raises(ConnectionError, match="has lost all its workers; do this"):
        tasks.results([future])


def test_a_scheduler_that_does_not_answer_ends_the_wait(workers, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK_AFTER", 0.05)
    monkeypatch.setattr(cluster, "WAIT_FOR_WORKERS", 0.2)
    tasks = Cluster(advice="do this")

    async def silent():
        await asyncio.sleep(5)

    monkeypatch.setattr(tasks.client.scheduler, "ncores", silent, raising=False)
    with pytest.raises(ConnectionError, match="does not answer; do this"):
        tasks.results([tasks.submit("slow", time.sleep, 1.0)])


def test_a_scheduler_that_is_gone_is_named_with_what_to_do(workers):
    tasks = Cluster(advice="do this")
    future = tasks.submit("slow", time.sleep, 0.1)
    workers.close()
    with pytest.raises(ConnectionError, match=f"{tasks.scheduler} no longer answers, .*; do this"):
        tasks.results([future])
    with pytest.raises(ConnectionError, match="do this"):
        tasks.submit("late", divide, 1, 2)
