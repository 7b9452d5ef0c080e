"""Fixtures that more than one test file needs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# Small matrices are slower on several threads, and much slower where the cores are busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Examples have no time limit: an example may compile a loop, and other processes keep the cores busy.
settings.register_profile("nearer", deadline=None)
settings.load_profile("nearer")


@pytest.fixture
def data_folder() -> Callable[[str], Path]:
    """Find a folder of real data: ``data_folder("food73_taste")``.

    The folder lies under ``$NEARER_DATA``. Where it does not, the test is skipped, or fails when
    ``NEARER_REQUIRE_ALL=1``.
    """

    def find(name: str) -> Path:
        root = os.environ.get("NEARER_DATA")
        reason = "NEARER_DATA is not set"
        if root:
            folder = Path(root) / name
            if folder.is_dir():
                return folder
            reason = f"NEARER_DATA has no folder {name}"
        if os.environ.get("NEARER_REQUIRE_ALL") == "1":
            pytest.fail(f"{reason}, and NEARER_REQUIRE_ALL=1")
        pytest.skip(reason)

    return find


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
