"""A fit that was cut short goes on from its checkpoint, with the settings that it had chosen."""

import subprocess
import sys

import numpy as np
import pytest

from nearer import Comparisons, OrdinalEmbedding
from nearer.comparisons import ComparisonSource
from nearer.embedding import LBFGS, SVRG, checkpoint
from nearer.embedding.checkpoint import described, fingerprint
from nearer.losses import TSTE
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(30, 2))
ANSWERS = comparisons_from_points(POINTS, 1500, random_state=0)
KILLED = """
import os, signal, sys
import numpy as np
from nearer import OrdinalEmbedding
from nearer.simulate import comparisons_from_points
answers = comparisons_from_points(np.random.default_rng(0).normal(size=(30, 2)), 1500, random_state=0)
def kill(record):
    if record["stage"] == "fit" and record["iteration"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
OrdinalEmbedding(2, "ste", regularization=0.01, random_state=0, checkpoint=sys.argv[1], callback=kill).fit(answers)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def stop_at(iteration):
    return lambda record: record["stage"] == "fit" and record["iteration"] == iteration


def fail_at(iteration):
    def callback(record):
        if record["stage"] == "fit" and record["iteration"] == iteration:
            raise RuntimeError("the scheduler is gone")

    return callback


def make(path, **parameters):
    return OrdinalEmbedding(2, random_state=0, checkpoint=path, **parameters)


def test_a_fit_that_was_cut_short_goes_on_with_the_same_settings(path):
    first = make(path, callback=stop_at(4)).fit(ANSWERS)
    assert first.stop_reason_ == "callback"
    assert path.exists()
    stages = set()
    second = make(path, callback=lambda record: stages.add(record["stage"])).fit(ANSWERS)
    assert stages == {"fit"}
    assert (type(second.loss_), second.regularization_) == (type(first.loss_), first.regularization_)
    assert second.history_[0]["loss"] == pytest.approx(first.history_[-1]["loss"], rel=1e-9)
    assert not path.exists()


def test_a_fit_that_failed_goes_on(path):
    with pytest.raises(RuntimeError, match="scheduler"):
        make(str(path), loss="ste", regularization=0.01, callback=fail_at(5)).fit(ANSWERS)
    again = make(str(path), loss="ste", regularization=0.01).fit(ANSWERS)
    whole = OrdinalEmbedding(2, "ste", regularization=0.01, random_state=0).fit(ANSWERS)
    assert again.history_[0]["loss"] == pytest.approx(whole.history_[5]["loss"], rel=1e-9)


def test_a_fit_whose_process_was_killed_goes_on(path, monkeypatch):
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -9
    assert path.exists()
    model = make(path, loss="ste", regularization=0.01).fit(ANSWERS)
    assert model.converged_
    assert not path.exists()
    assert [file.name for file in path.parent.iterdir()] == []


def test_points_are_written_as_time_goes_on(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    written = []

    def look(record):
        if record["stage"] == "fit":
            with np.load(path) as file:
                written.append(np.array_equal(file["points"], record["points"]))

    make(path, loss="ste", regularization=0.01, max_iter=5, tol=0.0, callback=look).fit(ANSWERS)
    assert all(written)
    assert len(written) > 3


def test_other_data_or_parameters_are_refused(path):
    make(path, loss="ste", regularization=0.01, callback=stop_at(3)).fit(ANSWERS)
    named = Comparisons(ANSWERS, names=[f"n{number}" for number in range(30)])
    for answers, parameters, problem in (
        (ANSWERS[:-1], {}, "rows: 1500 there, 1499 here"),
        (named, {}, "names"),
        (ANSWERS[::-1], {}, "answers: "),
        (Comparisons(ANSWERS, weights=np.linspace(1, 2, 1500)), {}, "answers: "),
        (ANSWERS, {"regularization": 0.1}, "regularization: 0.01 there, 0.1 here"),
        (ANSWERS, {"solver": SVRG()}, "solver"),
    ):
        with pytest.raises(ValueError, match=f"{problem}.*remove it"):
            make(path, **({"loss": "ste", "regularization": 0.01} | parameters)).fit(answers)
    assert path.exists()


def source_of(comparisons, chunk_rows, n_parts=3):
    def part(number):
        rows = comparisons[number * len(comparisons) // n_parts : (number + 1) * len(comparisons) // n_parts]
        return lambda: (rows[start : start + chunk_rows] for start in range(0, len(rows), chunk_rows))

    parts = tuple(map(part, range(n_parts)))
    return ComparisonSource(parts, n_rows=len(comparisons), n_columns=3, n_objects=comparisons.n_objects)


def test_the_fingerprint_of_a_source_does_not_depend_on_its_chunks(monkeypatch):
    monkeypatch.setattr(checkpoint, "ROWS_OF_PART", 300)
    assert fingerprint(source_of(ANSWERS, 1000)) == fingerprint(source_of(ANSWERS, 7))
    assert fingerprint(source_of(ANSWERS[::-1], 7)) != fingerprint(source_of(ANSWERS, 7))


def test_the_fingerprint_of_many_answers_is_that_of_blocks_from_first_to_last(monkeypatch):
    monkeypatch.setattr(checkpoint, "BLOCK_ROWS", 100)
    monkeypatch.setattr(checkpoint, "HASHED_ROWS", 500)
    for start, seen in ((0, True), (150, False), (1450, True)):
        rows = ANSWERS.rows.copy()
        rows[start : start + 50] = rows[start : start + 50][::-1]
        assert (fingerprint(Comparisons(rows, n_objects=30)) != fingerprint(ANSWERS)) == seen


def test_a_checkpoint_of_another_source_is_refused(path, monkeypatch):
    monkeypatch.setattr("nearer.comparisons.chunks.MEMORY_ROWS", 1000)
    model = make(path, loss="ste", regularization=0.01, callback=stop_at(3))
    model.fit(source_of(ANSWERS, 500))
    with pytest.raises(ValueError, match=r"answers in parts: .*remove it"):
        model.fit(source_of(ANSWERS[::-1], 500))
    model.fit(source_of(ANSWERS, 400))


def test_a_file_that_is_no_checkpoint_is_refused(path):
    path.write_bytes(b"no checkpoint")
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        make(path, loss="ste", regularization=0.01).fit(ANSWERS)
    assert path.read_bytes() == b"no checkpoint"


def test_a_folder_that_is_missing_is_found_before_the_fit(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        make(tmp_path / "none" / "fit", loss="ste", regularization=0.01).fit(ANSWERS)
    with pytest.raises(ValueError, match="checkpoint must be None or the path of a file"):
        make(3).fit(ANSWERS)


def test_parameters_are_the_same_if_they_are_equal():
    assert described(TSTE()) == described(TSTE()) != described(TSTE(2.0))
    assert described(LBFGS()) == described(LBFGS()) != described(LBFGS(memory=3))
    assert described(np.ones((2, 2))) == described([[1.0, 1.0], [1.0, 1.0]]) != described(np.zeros((2, 2)))
    assert described(np.float32) == "float32"
