"""Fixtures that more than one test file needs."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

# Small matrices are slower on several threads, and much slower where the cores are busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell starts background jobs with Ctrl-C ignored, and their processes inherit that: tests of interruptions would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples have no time limit: an example may compile a loop, and other processes keep the cores busy.
settings.register_profile("nearer", deadline=None)
settings.load_profile("nearer")


@pytest.fixture(scope="session")
def data_set() -> Callable[[str], Any]:
    """Load a public data set: ``data_set("food73")`` is what ``load_food73()`` returns.

    Where it is not on this machine, the test is skipped, or fails when ``NEARER_REQUIRE_ALL=1``.
    """
    from nearer import datasets
    from nearer.datasets.source import loader

    def load(name: str) -> Any:
        if datasets.source_of(name).find():
            return getattr(datasets, loader(name))()
        if os.environ.get("NEARER_REQUIRE_ALL") == "1":
            pytest.fail(f"the data set {name} is not on this machine, and NEARER_REQUIRE_ALL=1")
        pytest.skip(f"the data set {name} is not on this machine: set NEARER_DATA")

    return load


class Clock:
    """Time as a fit reads it: ``now`` seconds, ``tick`` more after each look."""

    now = 0.0
    tick = 0.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock that limits of time read, so that a test does not depend on the machine."""
    clock = Clock()
    monkeypatch.setattr("nearer.monitor.time.perf_counter", clock)
    return clock
