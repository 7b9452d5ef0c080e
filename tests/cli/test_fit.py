"""`nearer fit`, as a process of its own on real files: what it prints, saves, refuses and leaves behind."""

import inspect
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nearer import Comparisons, OrdinalEmbedding, load_model, read, write
from nearer.cli.app import app
from nearer.cli.training_data import Answers
from nearer.selection.folds import hold_out
from nearer.simulate import comparisons_from_points, flip


def hidden_files(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir() if file.name.startswith(".")]


def test_prints_what_it_knows_and_saves_a_model_of_all_answers(here, tmp_path):
    points = np.random.default_rng(0).normal(size=(12, 2))
    answers = Comparisons(comparisons_from_points(points, 200, random_state=0), names=[*"abcdefghijkø"])
    write(answers, tmp_path / "answers.csv")
    file = tmp_path / "m.nearer"
    done = here("fit", tmp_path / "answers.csv", "--loss", "ste", "-o", file)
    facts = done.facts
    assert facts["objects"] == "12"
    assert facts["answers"] == facts["rows"] == "200"
    assert facts["contradictions"] == "0"
    assert facts["training"].endswith("% of 200 answers")
    assert re.fullmatch(r"[\d.]+ % of 200 answers, 95 % interval [\d.]+ to [\d.]+ %", facts["held out"])
    assert facts["chance"] == "50 %"
    assert facts["saved"].endswith("fitted on all 200 answers")
    assert float(facts["seconds"]) > 0
    assert "\x1b" not in done.stdout + done.stderr
    model = load_model(file)
    assert set(model.names_) == set("abcdefghijkø")
    assert facts["regularization"] == f"{model.regularization_:.3g}, chosen by auto"
    # The saved model is what the library gives for all answers.
    again = OrdinalEmbedding(loss="ste", n_jobs=-1, random_state=0).fit(read(tmp_path / "answers.csv"))
    assert (again.embedding_ == model.embedding_).all()


def test_a_share_is_held_out_once_and_its_settings_are_taken_over(europe):
    facts, model = europe.fitted.facts, load_model(europe.model)
    train, test = hold_out(europe.answers(), 0.1, 0)
    assert facts["training"].endswith(f"% of {len(train):,} answers")
    assert f"% of {len(test)} answers, 95 % interval" in facts["held out"]
    assert facts["saved"].endswith("fitted anew on all 3,000 answers")
    assert "Tromsø" in model.names_
    # The ridge was searched for once, without the held-out answers, and scaled to all of them.
    chosen = OrdinalEmbedding(random_state=0).fit(train).regularization_
    assert model.regularization == model.regularization_ == pytest.approx(len(train) / 3000 * chosen)
    assert facts["regularization"] == f"{model.regularization:.3g}, chosen on the held-out fit"
    # The saved model was not fitted on the training part.
    again = type(model)(**{**model.get_params(deep=False)}).fit(europe.answers())
    assert (again.embedding_ == model.embedding_).all()


def test_of_many_answers_a_tenth_is_held_out_once(here, europe, tmp_path, monkeypatch):
    monkeypatch.setattr("nearer.cli.training_data.FEW_ANSWERS", 2_999)
    fixed = ["--loss", "ste", "--regularization", 0.001]
    facts = here("fit", europe.file, *fixed, "-o", tmp_path / "m.nearer").facts
    _, test = hold_out(europe.answers(), 0.1, 0)
    assert f"% of {len(test)} answers, 95 % interval" in facts["held out"]


@pytest.mark.parametrize("options", [[], ["--held-out", 0.3]])
def test_noise_is_called_no_better_than_guessing(here, tmp_path, options):
    points = np.random.default_rng(0).normal(size=(20, 2))
    write(comparisons_from_points(points, 300, noise=flip(0.5), random_state=0), tmp_path / "noise.csv")
    fixed = ["--loss", "ste", "--regularization", 0.01, *options]
    facts = here("fit", tmp_path / "noise.csv", *fixed, "-o", tmp_path / "m.nearer").facts
    assert facts["chance"] == "50 %: the model is no better than guessing"
    assert facts["caution"] == "these answers about 20 objects show no pattern that the model can learn"


def test_copies_of_held_out_answers_make_no_figure_more_certain():
    points = np.random.default_rng(0).normal(size=(20, 2))
    answers = comparisons_from_points(points, 400, noise=flip(0.1), random_state=0)
    train, test = hold_out(answers, 0.3, 0)
    model = OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(train)
    once, often = (
        dict(Answers(train).evaluate(model, Answers(Comparisons.concat([test] * copies))))["held out"]
        for copies in (1, 5)
    )
    assert once.partition("95 %")[2] == often.partition("95 %")[2] != ""


def test_people_and_repeated_questions_are_told(here, tmp_path):
    points = np.random.default_rng(0).normal(size=(8, 2))
    answers = comparisons_from_points(points, 400, noise=flip(0.1), random_state=0)
    write(Comparisons(answers, subjects=np.arange(400) % 10), tmp_path / "people.csv")
    fixed = ["--loss", "ste", "--regularization", 0.001]
    facts = here("fit", tmp_path / "people.csv", *fixed, "-o", tmp_path / "m.nearer").facts
    assert re.fullmatch(r"95 % interval .* to .* %, clustered by 10 people", facts["by person"])
    assert "two answers to the same question agree in" in facts["ceiling"]


def test_what_is_held_out_is_a_share(refused, europe, tmp_path):
    for share in ("0.95", "-1", "nan"):
        said = refused("fit", europe.file, "--held-out", share, "-o", tmp_path / "m.nearer")
        assert f"--held-out must be auto or a share from 0 to 0.9; got {share}" in said


def test_ctrl_c_during_cross_validation_keeps_the_model_of_all_answers(here, europe, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("nearer.selection.held_out", interrupt)
    model, fixed = tmp_path / "m.nearer", ["--loss", "ste", "--regularization", 0.001]
    done = here("fit", europe.file, *fixed, "-o", model, code=130)
    partial = tmp_path / "m.partial.nearer"
    assert done.stderr.endswith(f"interrupted during cross-validation; the model so far is in {partial}\n")
    assert load_model(partial).n_samples_seen_ == 3000
    assert not model.exists()


def test_takes_every_option_and_several_files_in_a_folder_with_spaces_and_letters(nearer, tmp_path):
    folder = tmp_path / "mein Ordner für Antworten"
    folder.mkdir()
    for seed in "12":
        nearer("simulate", "--objects", 20, "--answers", 500, "--seed", seed, "-o", f"{seed} é.csv", cwd=folder)
    options = ["--dims", 3, "--loss", "ste", "--solver", "lbfgs", "--regularization", 0.01, "--epochs", 80]
    options += ["--early-stopping", "--held-out", 0, "--seed", 4, "--jobs", 2, "--quiet"]
    done = nearer("fit", "1 é.csv", "2 é.csv", *options, "-o", "wörter.nearer", cwd=folder)
    assert "answers         1,000" in done.stdout
    assert "held out        none, as asked" in done.stdout
    assert done.stderr == ""
    model = load_model(folder / "wörter.nearer")
    assert model.embedding_.shape == (20, 3)
    wanted = {
        "loss": "ste",
        "solver": "lbfgs",
        "regularization": 0.01,
        "max_iter": 80,
        "early_stopping": True,
    }
    wanted |= {"random_state": 4, "n_jobs": 2}
    assert {key: value for key, value in model.get_params().items() if key in wanted} == wanted
    done = nearer("map", "wörter.nearer", "-o", "eine Karte.html", cwd=folder)
    assert done.stdout == "wrote eine Karte.html, a map of 20 objects\n"
    assert hidden_files(folder) == []


def test_of_few_answers_none_are_held_out(here, tmp_path):
    for rows, told in (("rome,oslo,bern\noslo,rome,bern\n", "2 answers are"), ("rome,oslo,bern\n", "1 answer is")):
        (tmp_path / "few.csv").write_text("anchor,near,far\n" + rows)
        done = here("fit", tmp_path / "few.csv", "--dims", 1, "-o", tmp_path / "few.nearer")
        assert f"held out        none: {told} too few" in done.stdout


def test_works_where_no_cache_can_be_written(nearer, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "few.csv").write_text("anchor,near,far\n0,1,2\n1,0,2\n")
    options = ["--dims", 1, "--regularization", 0.01, "--solver", "batch"]
    cache = {"NEARER_CACHE": str(tmp_path / "file" / "x")}
    done = nearer("fit", "few.csv", *options, "-o", "few.nearer", cwd=tmp_path, env=cache)
    assert (tmp_path / "few.nearer").is_file()
    assert done.stderr == "nearer: compiling loops for first use, a few seconds…\n"
    done = nearer("cache", env=cache)
    assert "loops           0" in done.stdout


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, [], "there is no file answers.csv"),
        ("", [], "answers.csv is empty"),
        ("anchor,near,far\n", [], "answers.csv is empty"),
        ("x,y,z\nrome,oslo,bern\n", [], "cannot tell what the columns 'x', 'y', 'z' mean; understood are"),
        ("anchor,near,far\na,b,c\n\na,b\n", [], "answers.csv, line 4 has 2 cells where 3 are wanted"),
        ("anchor,near,far\n0,1,2\n0,0,2\n", [], "answers.csv, line 3 compares object 0 with itself"),
        (
            "anchor,near,far\n0,1,2\n",
            ["--loss", "no"],
            "unknown loss 'no'; the known ones are 'auto', 'ckl', 'gnmds', 'soe'",
        ),
        (
            "anchor,near,far\n0,1,2\n",
            ["--solver", "no"],
            "unknown solver 'no'; the known ones are 'batch', 'lbfgs'",
        ),
        ("anchor,near,far\n0,1,2\n", ["--dims", 3], "n_components=3 dimensions are too many for 3 objects"),
        (
            "anchor,near,far\n0,1,2\n",
            ["--regularization", "x"],
            "--regularization must be auto or a number; got 'x'",
        ),
        (
            "anchor,near,far\n0,1,2\n",
            ["-o", "no/x.nearer"],
            "cannot write no/x.nearer: there is no folder no",
        ),
    ],
)
def test_says_in_a_line_what_is_wrong(refused, tmp_path, monkeypatch, text, options, message):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "answers.csv").write_text(text)
    output = [] if "-o" in options else ["-o", "model.nearer"]
    said = refused("fit", "answers.csv", *options, *output)
    assert said.startswith("nearer: error: ")
    assert message in said
    assert [file.name for file in tmp_path.iterdir()] == (["answers.csv"] if text is not None else [])


def test_epochs_are_the_librarys_unless_given(europe):
    default = inspect.signature(OrdinalEmbedding).parameters["max_iter"].default
    assert load_model(europe.model).max_iter == default
    told = CliRunner().invoke(app, ["fit", "--help"], prog_name="nearer").output
    assert f"and lmnn iterations. [default: ({default}; kernel" in " ".join(told.split())


def test_debug_shows_the_traceback(nearer, tmp_path):
    done = nearer("check", "no.csv", cwd=tmp_path, env={"NEARER_DEBUG": "1"}, code=1)
    assert "Traceback" in done.stderr


def test_a_failed_write_leaves_the_old_model(nearer, europe, tmp_path):
    (tmp_path / "old.nearer").write_bytes(b"old")

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    options = ["--held-out", 0, "-o", "old.nearer"]
    done = nearer("fit", europe.file, *options, cwd=tmp_path, code=2, preexec_fn=small_disk)
    assert done.stderr.endswith("nearer: error: cannot write old.nearer: File too large\n")
    assert (tmp_path / "old.nearer").read_bytes() == b"old"
    assert hidden_files(tmp_path) == []


def test_ctrl_c_keeps_the_epochs_so_far_and_the_old_model(interrupted, europe, tmp_path):
    (tmp_path / "m.nearer").write_bytes(b"old")
    done = interrupted("fit", europe.file, "-o", "m.nearer", cwd=tmp_path)
    assert done.stderr == "nearer: interrupted after 1 iteration; the model so far is in m.partial.nearer\n"
    assert (tmp_path / "m.nearer").read_bytes() == b"old"
    assert load_model(tmp_path / "m.partial.nearer").n_iter_ == 1


def test_ctrl_c_at_any_time_leaves_no_half_written_file(nearer, tmp_path):
    nearer("simulate", "--objects", 2000, "--answers", 400_000, "-o", "many.npz", cwd=tmp_path)
    command = [sys.executable, "-m", "nearer", "fit", "many.npz", "-o", "many.nearer", "--dims", "5"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        while not process.stdout.readline().startswith("contradictions"):
            pass
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "nearer: interrupted" in said
    assert "Traceback" not in said
    assert {file.name for file in tmp_path.iterdir()} <= {"many.npz", "many.partial.nearer"}
