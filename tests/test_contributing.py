"""CONTRIBUTING.md keeps its word: its files and lines, put into a copy of the library, do what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STEP = re.compile(r"^([^\n]+):\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the library with all additions, and the code to try them."""
    copy = tmp_path_factory.mktemp("contribution")
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    trials = []
    for heading, code in STEP.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        if new := re.fullmatch(r"New file `([^`]+)`", heading):
            path = copy / new[1]
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(code, encoding="utf-8")
        elif line := re.fullmatch(r"Import it in `([^`]+)`", heading):
            insert(copy / line[1], r"^(?=from nearer)", code)
        elif line := re.fullmatch(r"Add to `(\w+)` in `([^`]+)`", heading):
            insert(copy / line[2], rf"^{line[1]}\b[^\n]*= [{{(\[]\n", code)
        else:
            assert heading == "Try it", heading
            trials.append(code)
    return copy, "".join(trials)


def insert(path, where, lines):
    text = path.read_text(encoding="utf-8")
    place = re.search(where, text, re.MULTILINE)
    assert place, f"{path.name} has no line {where}"
    path.write_text(text[: place.end()] + lines + text[place.end() :], encoding="utf-8")


def run(copy, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_tried_works(extended):
    copy, trials = extended
    shown = run(copy, "-W", "error", "-c", trials)
    # Of two losses, two solvers and the votes.
    scores = [float(score) for score in re.findall(r" (0\.\d+)(?= |\n)", shown)][:5]
    assert len(scores) == 5
    assert min(scores) > 0.8, shown
    assert "line 2 has confidence 'high'" in shown
    assert "Vienna" in shown
    assert shown.count("saved ") == 2
    assert "Verdict(claim='more answers give a lower error', holds=True" in shown


def test_the_suite_accepts_the_new_loss_and_solver(extended):
    copy, _ = extended
    tests = ["tests/test_losses.py", "tests/embedding/test_solvers.py"]
    new = ["src/nearer/losses", "src/nearer/embedding/momentum.py", "src/nearer/votes", "src/nearer/datasets"]
    picked = "cauchy or Cauchy or momentum or table or unknown or votes or rainbow or losses"
    run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", *tests, *new, "-k", picked)
