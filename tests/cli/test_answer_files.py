"""``nearer fit`` with folders, patterns, files larger than memory, damaged files and checkpoints."""

import numpy as np
import pytest

from nearer import Comparisons, load_model, write
from nearer.cli.training_data import Answers
from nearer.comparisons import chunks
from nearer.selection.files import hold_out_sample
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(20, 2))
ANSWERS = comparisons_from_points(POINTS, 2400, random_state=1).flip(0.05, random_state=1)
QUICK = ["--loss", "ste", "--regularization", 0.01, "--quiet"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers").mkdir()
    for number in range(3):
        write(ANSWERS[number * 800 : (number + 1) * 800], tmp_path / f"answers/{number}.csv")
    return tmp_path


def test_a_folder_that_fits_into_memory_is_as_one_file(here, folder):
    write(ANSWERS, "all.csv")
    one = here("fit", "all.csv", *QUICK, "-o", "one.nearer").facts
    folder_of = here("fit", "answers/", *QUICK).facts
    pattern = here("fit", "answers/*.csv", *QUICK, "-o", "pattern.nearer").facts
    assert folder_of["held out"] == pattern["held out"] == one["held out"]
    maps = [load_model(f"{name}.nearer").embedding_ for name in ("one", "answers", "pattern")]
    assert np.array_equal(maps[0], maps[1])
    assert np.array_equal(maps[0], maps[2])


def test_what_is_larger_than_memory_holds_out_a_sample(here, refused, folder, monkeypatch):
    monkeypatch.setattr(chunks, "MEMORY_ROWS", 2000)
    facts = here("fit", "answers/", *QUICK, "-o", "m.nearer").facts
    assert "larger than memory" in facts["rows"]
    assert "answers, 95 % interval" in facts["held out"]
    assert facts["saved"].startswith("m.nearer, fitted on all but the")
    assert load_model("m.nearer").score(ANSWERS) > 0.85
    assert "leave out the files of some people" in refused(
        "fit", "answers/", *QUICK, "--by-subject", "-o", "n.nearer"
    )
    facts = here("fit", "answers/", *QUICK, "--held-out", 0, "-o", "all.nearer").facts
    assert facts["saved"] == "all.nearer, fitted on all 2,400 rows"


def test_names_of_models_and_what_matches_nothing(refused):
    assert "name the model file to write with -o" in refused("fit", "answers/*.csv", *QUICK)
    assert "no file matches" in refused("fit", "answers/*.npy", *QUICK, "-o", "m.nearer")


def test_a_damaged_file_is_named_and_skipped(here, refused, folder):
    (folder / "answers/1.csv").write_bytes(b"PAR1")
    said = refused("fit", "answers/", *QUICK, "-o", "m.nearer")
    assert "1.csv is a parquet file" in said
    assert "--skip-bad-files" in said
    assert not (folder / "m.nearer").exists()
    done = here("fit", "answers/", *QUICK, "--skip-bad-files", "-o", "m.nearer")
    assert "1 of 3 files are left out" in done.stderr
    assert done.facts["rows"] == "1,600"


def test_an_interrupted_fit_goes_on_from_its_checkpoint(here, interrupted, folder):
    command = ["fit", "answers/", *QUICK, "--held-out", 0, "--checkpoint", "fit.checkpoint", "-o", "m.nearer"]
    interrupted(*command)
    assert (folder / "fit.checkpoint").exists()
    here(*command)
    assert not (folder / "fit.checkpoint").exists()
    assert load_model("m.nearer").checkpoint is None
    assert load_model("m.nearer").score(ANSWERS) > 0.85


def test_a_second_fit_that_was_killed_goes_on_with_what_the_first_chose(here, folder, monkeypatch):
    write(ANSWERS, "all.csv")
    command = ["fit", "all.csv", "--loss", "ste", "--held-out", 0.1, "--seconds", 100, "--quiet"]
    command += ["--checkpoint", "fit.checkpoint"]
    fits, fit = [], Answers.fit

    def spy(data, model):
        fits.append(model.get_params(deep=False))
        if len(fits) == 2:
            model.set_params(callback=lambda record: record["stage"] == "fit" and record["iteration"] == 3)
        fit(data, model)

    monkeypatch.setattr(Answers, "fit", spy)
    here(*command, "-o", "one.nearer")
    assert (folder / "fit.checkpoint").exists()
    facts = here(*command, "-o", "two.nearer").facts
    assert not (folder / "fit.checkpoint").exists()
    chosen = [each["regularization"] for each in fits]
    assert chosen[0] == "auto"
    assert chosen[3] == chosen[1] == pytest.approx(0.9 * chosen[2], rel=0.02)
    assert facts["regularization"].endswith(", chosen on the held-out fit")
    assert load_model("two.nearer").score(ANSWERS) > 0.85


def test_the_sample_has_all_answers_to_its_questions():
    made = Comparisons.concat([ANSWERS, ANSWERS.flip(0.5, random_state=0)])
    source = chunks.ComparisonSource(
        (lambda: iter([made[:1000]]), lambda: iter([made[1000:]])), n_rows=len(made), n_columns=3, n_objects=20
    )
    train, held_out = hold_out_sample(source, 1000, 0)
    rest = Comparisons.concat(train.chunks())
    assert len(train) == len(rest) == len(made) - len(held_out)
    assert 700 < len(held_out) < 1300
    questions = [{frozenset(row) for row in part.rows.tolist()} for part in (rest, held_out)]
    assert not questions[0] & questions[1]
    again = hold_out_sample(source, 1000, 0)[1]
    assert np.array_equal(again.rows, held_out.rows)


def test_large_files_are_scanned_by_themselves(here, folder, monkeypatch):
    monkeypatch.setattr("nearer.cli.reading.LARGE", 100)
    monkeypatch.setattr(chunks, "MEMORY_ROWS", 500)
    facts = here("fit", "answers/0.csv", *QUICK, "-o", "m.nearer").facts
    assert "larger than memory" in facts["rows"]
    write(ANSWERS, "all.npz")
    assert here("fit", "all.npz", *QUICK, "-o", "n.nearer").facts["rows"] == "2,400"
