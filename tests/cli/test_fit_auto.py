"""`nearer fit` that chooses by itself: --explain, --dims auto, --seconds and --by-subject."""

import time

import numpy as np
import pytest

from nearer import Comparisons, load_model, write
from nearer.cli.training_data import Answers
from nearer.embedding.settings import Fold
from nearer.selection import table
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(15, 2))
ANSWERS = comparisons_from_points(POINTS, 400, random_state=0)
PEOPLE = np.array(["ann", "bob", "cid", "dot", "eve", "fay"])[np.arange(400) % 6]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with answers, answers of six people, of two and of one, and features with labels."""
    monkeypatch.chdir(tmp_path)
    write(ANSWERS, "answers.csv")
    write(Comparisons(ANSWERS, subjects=PEOPLE), "people.csv")
    write(Comparisons(ANSWERS, subjects=PEOPLE < "c"), "two.csv")
    write(Comparisons(ANSWERS, subjects=np.full(400, "ann")), "one.csv")
    rows = [f"{number},{x},{y}" for number, (x, y) in enumerate(POINTS)]
    (tmp_path / "features.csv").write_text("\n".join(["name,x,y", *rows]) + "\n")
    labeled = [f"{row},{'ab'[number % 2]}" for number, row in enumerate(rows)]
    (tmp_path / "labeled.csv").write_text("\n".join(["name,x,y,kind", *labeled]) + "\n")
    return tmp_path


@pytest.fixture
def fits(monkeypatch):
    """What every fit was given: the answers, and the parameters of the model."""
    seen, fit = [], Answers.fit

    def spy(data, model):
        seen.append((data.answers, model.get_params(deep=False)))
        return fit(data, model)

    monkeypatch.setattr(Answers, "fit", spy)
    return seen


def test_explain_prints_what_was_tried_and_the_model_keeps_it(here, folder, fits):
    done = here("fit", "answers.csv", "--loss", "ste", "--explain", "--held-out", 0.1, "-o", "map.nearer")
    model = load_model("map.nearer")
    assert table(model) in done.stdout
    assert done.facts["regularization"].endswith(", chosen on the held-out fit")
    (train, first), (_, second) = fits
    assert (first["regularization"], first["n_jobs"]) == ("auto", -1)
    (chosen,) = [record["regularization"] for record in model.selection_ if record["chosen"]]
    assert second["regularization"] == model.regularization_ == pytest.approx(len(train) / 400 * chosen)


def test_without_explain_no_table_is_printed(here, folder):
    assert (
        "worse by" not in here("fit", "answers.csv", "--loss", "ste", "--held-out", 0, "-o", "map.nearer").stdout
    )


def test_explain_says_where_nothing_was_chosen(here, folder):
    given = ["--loss", "ste", "--regularization", 0.01]
    done = here("fit", "answers.csv", *given, "--explain", "-o", "map.nearer")
    assert "worse by" not in done.stdout
    assert "nearer: nothing was chosen by held-out data" in done.stderr
    assert load_model("map.nearer").selection_ is None


def test_explain_shows_the_ridges_of_a_kernel(here, folder):
    options = ["--model", "kernel", "--loss", "ste", "--explain", "--held-out", 0]
    done = here("fit", "answers.csv", *options, "-o", "kernel.nearer")
    assert table(load_model("kernel.nearer")) in done.stdout


def test_the_loss_is_chosen_by_default(here, folder, fits):
    done = here("fit", "answers.csv", "--regularization", 0.01, "--held-out", 0.1, "-o", "map.nearer")
    model = load_model("map.nearer")
    (chosen,) = [record["loss"] for record in model.selection_ if record["chosen"]]
    assert [parameters["loss"] for _, parameters in fits] == ["auto", chosen]
    assert done.facts["loss"] == f"{chosen}, chosen on the held-out fit"
    assert type(model.loss_).__name__ == chosen.upper()


def test_dims_auto_chooses_the_dimensions(here, folder):
    options = ["--dims", "auto", "--loss", "ste", "--regularization", 0.001, "--explain", "--held-out", 0.1]
    done = here("fit", "answers.csv", *options, "-o", "map.nearer")
    model = load_model("map.nearer")
    assert done.facts["dimensions"] == f"{model.embedding_.shape[1]}, chosen on the held-out fit"
    assert model.n_components == model.embedding_.shape[1]
    assert {record["n_components"] for record in model.selection_} >= {1, 2, 3}
    assert "n_components  loss  regularization  criterion  error" in done.stdout


@pytest.mark.parametrize(
    ("dims", "wanted"),
    [
        ("2.5", "--dims must be 'auto' or a positive integer; got 2.5"),
        ("0", "--dims must be 'auto' or a positive integer; got 0"),
        ("-1", "--dims must be 'auto' or a positive integer; got -1"),
        ("nan", "--dims must be 'auto' or a positive integer; got nan"),
        ("many", "--dims must be auto or a number; got 'many'"),
    ],
)
def test_dims_that_are_no_number_of_dimensions_are_refused(refused, folder, dims, wanted):
    assert wanted in refused("fit", "answers.csv", "--dims", dims, "-o", "map.nearer")
    assert not (folder / "map.nearer").exists()


@pytest.mark.parametrize("model", ["rca", "lmnn"])
def test_dims_auto_is_for_maps(refused, folder, model):
    options = ["--model", model, "--labels", "kind", "--dims", "auto"]
    assert "--dims must be a positive integer; got 'auto'" in refused(
        "fit", "labeled.csv", *options, "-o", "m.nearer"
    )


def test_a_whole_number_of_dims_is_taken(here, folder):
    options = ["--loss", "ste", "--regularization", 0.01, "--held-out", 0]
    here("fit", "answers.csv", "--dims", 3, *options, "-o", "map.nearer")
    assert load_model("map.nearer").embedding_.shape == (15, 3)


def test_seconds_are_shared_by_both_fits_and_kept_as_given(here, folder, fits):
    here("fit", "answers.csv", "--loss", "ste", "--held-out", 0, "-o", "map.nearer")  # loops are loaded
    fits.clear()
    begun = time.perf_counter()
    done = here(
        "fit", "answers.csv", "--loss", "ste", "--epochs", 10**6, "--seconds", 20, "-o", "map.nearer", "-q"
    )
    taken = time.perf_counter() - begun
    (_, first), (_, second) = fits
    assert first["max_seconds"] == 12.0
    assert 20.0 - taken <= second["max_seconds"] < 20.0
    assert load_model("map.nearer").max_seconds == 20.0
    assert float(done.facts["seconds"]) < 20.0


def test_seconds_end_the_fit(here, folder):
    here("fit", "answers.csv", "-o", "map.nearer", "--seconds", 1e-6, "-q")
    model = load_model("map.nearer")
    assert model.stop_reason_ == "time"
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("seconds", [0, -1])
def test_seconds_are_above_zero(refused, folder, seconds):
    said = refused("fit", "answers.csv", "--seconds", seconds, "-o", "map.nearer")
    assert "--seconds must be a number > 0" in said


@pytest.fixture
def evaluated(monkeypatch):
    """The answers that were learned from and those held out, as they are evaluated."""
    seen, evaluate = [], Answers.evaluate

    def spy(train, model, test):
        seen.append((train.answers, None if test is None else test.answers))
        return evaluate(train, model, test)

    monkeypatch.setattr(Answers, "evaluate", spy)
    return seen


@pytest.mark.parametrize(
    "words",
    [
        ["people.csv", "--loss", "ste"],
        ["people.csv", "--model", "kernel", "--loss", "ste"],
        ["features.csv", "--model", "bilinear", "--comparisons", "people.csv"],
    ],
)
def test_by_subject_holds_out_people(here, folder, evaluated, words):
    done = here("fit", *words, "--by-subject", "--held-out", 0.3, "-o", "model.nearer")
    ((train, test),) = evaluated
    assert set(train.subjects) | set(test.subjects) == set(PEOPLE)
    assert not set(train.subjects) & set(test.subjects)
    assert len(set(test.subjects)) == 2
    assert "answers of new people, 95 % interval" in done.facts["held out"]


def test_by_subject_chooses_by_people_too(here, folder, monkeypatch):
    judged, judge = [], Fold.judge

    def spy(fold, points):
        judged.append((set(fold.train.subjects), set(fold.held_out.subjects)))
        return judge(fold, points)

    monkeypatch.setattr(Fold, "judge", spy)
    here("fit", "people.csv", "--loss", "ste", "--by-subject", "--held-out", 0, "-o", "model.nearer")
    assert judged
    assert all(train | held_out == set(PEOPLE) and not train & held_out for train, held_out in judged)


def test_without_by_subject_answers_are_held_out(here, folder, evaluated):
    done = here("fit", "people.csv", "--loss", "ste", "--held-out", 0.1, "-o", "model.nearer")
    ((train, test),) = evaluated
    assert set(train.subjects) == set(test.subjects) == set(PEOPLE)
    assert done.facts["chance"] == "50 %"
    assert "clustered by 6 people" in done.facts["by person"]


def test_by_subject_cross_validates_people(here, folder):
    fixed = ["--loss", "ste", "--regularization", 0.01]
    facts = here("fit", "people.csv", *fixed, "--by-subject", "-o", "model.nearer").facts
    assert "% of 400 answers of new people, 95 % interval" in facts["held out"]
    assert "by person" not in facts  # it is the interval already


def test_what_the_answers_of_one_person_cannot_choose_those_of_two_can(here, folder):
    """With one of two people held out the other cannot be split: the second fit chooses."""
    options = ["--loss", "ste", "--by-subject", "--explain", "--held-out", 0.1]
    done = here("fit", "two.csv", *options, "-o", "model.nearer")
    model = load_model("model.nearer")
    assert done.facts["regularization"] == f"{model.regularization_:.3g}, chosen by auto"
    assert max(record["n_folds"] for record in model.selection_) == 2
    assert table(model) in done.stdout


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["answers.csv"], "--by-subject needs a column subject, or participant"),
        (["one.csv"], "--by-subject holds out people: all these answers are of one"),
        (["labeled.csv", "--model", "rca", "--labels", "kind"], "--by-subject is for answers"),
    ],
)
def test_by_subject_needs_people(refused, folder, words, wanted):
    assert wanted in refused("fit", *words, "--by-subject", "-o", "model.nearer")
    assert not (folder / "model.nearer").exists()
