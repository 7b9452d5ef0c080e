"""The command line as a process of its own, and one small fitted model that the tests share."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nearer import Comparisons, read
from nearer.cli.app import app
from nearer.cli.training_data import Labeled
from nearer.monitor import Monitor

# Raises Ctrl-C at the first iteration of the fit proper; before a fit that does not iterate.
CTRL_C = """
import signal
from nearer.cli import training_data
from nearer.monitor import Monitor
go_on, fit = Monitor.go_on, training_data.Labeled.fit
def interrupted(monitor, state, **record):
    if (monitor.view or monitor.parent is None) and len(monitor.history) == 1:
        signal.raise_signal(signal.SIGINT)
    return go_on(monitor, state, **record)
def before_the_fit(data, model):
    if not hasattr(model, "callback"):
        signal.raise_signal(signal.SIGINT)
    fit(data, model)
Monitor.go_on, training_data.Labeled.fit = interrupted, before_the_fit
"""
RUN = """
from nearer.cli import main
main()
"""


class Done(subprocess.CompletedProcess[str]):
    """A command that has ended."""

    @property
    def facts(self) -> dict[str, str]:
        """What was printed, by its first words; lines that go on are joined."""
        lines = self.stdout.replace("\n" + " " * 16, " ").splitlines()
        return {line[:16].strip(): line[16:] for line in lines}


def run(*arguments: Any, code: int = 0, env: dict[str, str] | None = None, **options: Any) -> Done:
    """Run ``nearer`` and hold it to an exit code."""
    return _run([sys.executable, "-m", "nearer", *map(str, arguments)], code, env, **options)


def run_interrupted(*arguments: Any, **options: Any) -> Done:
    """Run ``nearer fit`` until Ctrl-C comes in its first step."""
    return _run([sys.executable, "-c", CTRL_C + RUN, *map(str, arguments)], 130, **options)


def _run(command: list[str], code: int, env: dict[str, str] | None = None, **options: Any) -> Done:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120, **options)
    assert done.returncode == code, f"{' '.join(command)} gave {done.returncode}\n{done.stdout}{done.stderr}"
    return Done(done.args, done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def interrupted() -> Callable[..., Done]:
    return run_interrupted


@pytest.fixture(scope="session")
def nearer() -> Callable[..., Done]:
    return run


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run a command in this process, to be quick."""

    def run_here(*arguments: Any, code: int = 0, input: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode()), encoding="utf-8"))
        words = [str(argument) for argument in arguments]
        with pytest.raises(SystemExit) as ended:
            app(words, prog_name="nearer")
        done = Done(words, ended.value.code, *capsys.readouterr())
        assert done.returncode == code, f"{' '.join(words)} gave {done.returncode}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return run_here


@pytest.fixture
def interrupted_here(here: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """Run ``nearer fit`` in this process until Ctrl-C comes in its first step."""

    def run_here(*arguments: Any) -> Done:
        for owner, name in ((Monitor, "go_on"), (Labeled, "fit")):
            monkeypatch.setattr(owner, name, getattr(owner, name))  # restored after the test
        exec(CTRL_C, {})
        return here(*arguments, code=130)

    return run_here


@pytest.fixture
def refused(here: Callable[..., Done]) -> Callable[..., str]:
    """Run a command that must end with exit code 2 in this process; gives what it said."""

    def run_here(*arguments: Any, input: str = "") -> str:
        return here(*arguments, code=2, input=input).stderr

    return run_here


@dataclass(frozen=True)
class Europe:
    """Simulated answers about Europe, the model fitted on them, and what `nearer fit` said."""

    file: Path
    model: Path
    fitted: Done

    def answers(self) -> Comparisons:
        return read(self.file)


@pytest.fixture(scope="session")
def europe(tmp_path_factory: pytest.TempPathFactory) -> Europe:
    folder = tmp_path_factory.mktemp("europe")
    run("simulate", "--europe", "--answers", 3000, "-o", "europe.csv", cwd=folder)
    fitted = run(
        "fit", "europe.csv", "--held-out", 0.1, "-o", "europe.nearer", cwd=folder
    )  # two fits, to be quick
    return Europe(folder / "europe.csv", folder / "europe.nearer", fitted)
