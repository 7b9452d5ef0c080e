"""The command line as a process of its own, and one small fitted model that the tests share."""

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

Done = subprocess.CompletedProcess[str]


def run(*arguments: Any, code: int = 0, env: dict[str, str] | None = None, **options: Any) -> Done:
    """Run ``nearer`` and hold it to an exit code."""
    command = [sys.executable, "-m", "nearer", *map(str, arguments)]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120, **options)
    assert done.returncode == code, f"{' '.join(command)} gave {done.returncode}\n{done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="session")
def nearer() -> Callable[..., Done]:
    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must end with exit code 2 here in this process, to be quick; gives what it said."""

    def run_here(*arguments: Any) -> str:
        with pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in arguments], prog_name="nearer")
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "Traceback" not in said
        return said

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
    fitted = run("fit", "europe.csv", "-o", "europe.nearer", cwd=folder)
    return Europe(folder / "europe.csv", folder / "europe.nearer", fitted)
