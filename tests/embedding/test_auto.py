"""OrdinalEmbedding that chooses loss, ridge and dimensions by itself."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons, OrdinalEmbedding, load_model
from nearer.embedding import fitting as module
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.incremental import _ties_so_far
from nearer.embedding.settings import RIDGES, Fold, mean_map, with_near_ties
from nearer.losses import LOSSES, STE, TSTE, ops
from nearer.selection import Selection, Trial, plot, table
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(25, 2))
ANSWERS = comparisons_from_points(POINTS, 1500, random_state=0)
NOISY = ANSWERS.flip(0.15, random_state=1)


def chosen(model):
    (record,) = [record for record in model.selection_ if record["chosen"]]
    return record


def tried(model, name):
    return {record[name] for record in model.selection_}


@pytest.mark.parametrize("loss", ["soe", TSTE(alpha=3.0)])
def test_a_given_loss_is_kept_and_the_ridge_is_chosen(loss):
    model = OrdinalEmbedding(loss=loss, random_state=0).fit(NOISY)
    assert {record["loss"] for record in model.selection_} == {loss if loss == "soe" else "TSTE(alpha=3.0)"}
    assert len(tried(model, "regularization")) > 3
    assert model.regularization_ == chosen(model)["regularization"]
    assert repr(model.loss_) == ("SOE()" if loss == "soe" else repr(loss))


def test_a_given_ridge_is_kept_and_the_loss_is_chosen():
    model = OrdinalEmbedding(regularization=0.02, random_state=0).fit(NOISY)
    assert tried(model, "regularization") == {0.02}
    assert tried(model, "loss") == set(LOSSES)
    assert model.regularization_ == 0.02
    assert type(model.loss_) is LOSSES[chosen(model)["loss"]]


def test_given_settings_are_not_judged():
    model = OrdinalEmbedding(loss="ste", regularization=0.02, random_state=0).fit(NOISY)
    assert model.selection_ is None


def test_given_loss_and_ridge_are_kept_where_only_dimensions_are_chosen():
    model = OrdinalEmbedding("auto", "ste", regularization=0.02, random_state=0).fit(NOISY)
    assert tried(model, "regularization") == {0.02}
    assert tried(model, "loss") == {"ste"}
    assert tried(model, "n_components") >= {1, 2, 3}
    assert model.embedding_.shape == (25, chosen(model)["n_components"])


@pytest.mark.parametrize("groups", [None, "subjects"])
def test_the_start_of_a_fold_has_not_seen_what_the_fold_is_judged_by(monkeypatch, groups):
    started, judged = [], []
    unfold, judge = module.unfold, module.select_settings.__globals__["Fold"].judge

    def spy_start(part, *arguments, **parameters):
        started.append(set(part.extra["row"].tolist()))
        return unfold(part, *arguments, **parameters)

    def spy_judge(fold, points):
        number = started.index(set(fold.train.extra["row"].tolist()))
        judged.append((number, set(fold.held_out.extra["row"].tolist())))
        return judge(fold, points)

    monkeypatch.setattr(module, "unfold", spy_start)
    monkeypatch.setattr("nearer.embedding.settings.Fold.judge", spy_judge)
    people = np.arange(len(NOISY)) % 7
    answers = Comparisons(NOISY, subjects=people, extra={"row": np.arange(len(NOISY))})
    OrdinalEmbedding(regularization=0.01, random_state=0).fit(answers, groups=groups)
    assert len({number for number, _ in judged}) > 1
    for number, held_out in judged:
        assert not started[number] & held_out
        if groups is not None:
            assert not set(people[list(started[number])]) & set(people[list(held_out)])


def test_near_ties_are_averaged_only_where_that_predicts_better():
    random = np.random.default_rng(0)
    truth = random.normal(size=(20, 2))
    answers = comparisons_from_points(truth, 400, random_state=0)
    fold = Fold(answers, answers, truth, CPUProblem)

    def trial(spread):
        points = truth + spread * random.normal(size=truth.shape)
        losses, errors = fold.judge(points)
        return Trial({"regularization": spread}, losses, [points], errors)

    noisy, others = trial(0.3), [trial(0.3) for _ in range(6)]
    helps = with_near_ties(Selection([noisy, *others], noisy), [fold])
    assert helps.averaged
    assert {record["regularization"] for record in helps.records() if record["averaged"]} == {0.3}
    exact = trial(0.0)
    assert with_near_ties(Selection([exact, *others], exact), [fold]).averaged == ()


def test_the_mean_map_does_not_depend_on_position_size_and_orientation():
    points = np.random.default_rng(0).normal(size=(12, 3))
    points -= points.mean(axis=0)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(mean_map([points, 7.0 * points @ rotation + 3.0]), points, atol=1e-12)


def test_maps_that_are_at_one_place_are_left_out_of_the_mean():
    points = np.random.default_rng(0).normal(size=(12, 3))
    points -= points.mean(axis=0)
    np.testing.assert_allclose(mean_map([points, 1e-170 * points, 0.0 * points]), points, atol=1e-12)
    np.testing.assert_array_equal(mean_map([1e-170 * points, points]), 1e-170 * points)


def test_the_mean_of_maps_errs_less_than_the_chosen_one(monkeypatch):
    """Of few answers, over six studies: on average, though not in each."""
    errors = {1: [], 16: []}
    for seed in range(6):
        truth = np.random.default_rng(seed).normal(size=(30, 5))
        answers = comparisons_from_points(truth, 300, random_state=seed)
        fresh = comparisons_from_points(truth, 5000, random_state=100 + seed)
        for most, found in errors.items():
            monkeypatch.setattr("nearer.embedding.settings.MOST_AVERAGED", most)
            found.append(1.0 - OrdinalEmbedding(5, random_state=0).fit(answers).score(fresh))
    assert np.mean(errors[16]) < np.mean(errors[1])


def test_groups_are_needed_where_they_are_named():
    with pytest.raises(ValueError, match="needs comparisons with subjects"):
        OrdinalEmbedding().fit(NOISY, groups="subjects")
    with pytest.raises(ValueError, match="at least two; there is one"):
        OrdinalEmbedding().fit(NOISY, groups=np.zeros(len(NOISY)))


@pytest.mark.parametrize("n_components", [1, 2])
def test_the_dimensions_of_a_line_and_of_a_plane_are_found(n_components):
    points = np.random.default_rng(1).normal(size=(25, n_components))
    answers = comparisons_from_points(points, 3000, random_state=2)
    model = OrdinalEmbedding("auto", "ste", random_state=0).fit(answers)
    assert model.embedding_.shape == (25, n_components)
    assert chosen(model)["n_components"] == n_components
    assert model.n_components == "auto"
    assert tried(model, "n_components") >= set(range(1, n_components + 3))


def test_three_objects_have_at_most_two_dimensions():
    answers = Comparisons(np.tile([[0, 1, 2], [1, 0, 2], [2, 1, 0]], (20, 1)))
    model = OrdinalEmbedding("auto", "ste", random_state=0).fit(answers)
    assert tried(model, "n_components") <= {1, 2}
    assert model.score(answers) == 1.0


def test_consistent_answers_are_predicted_as_well_as_by_the_best_loss():
    points = np.random.default_rng(4).normal(size=(60, 2))
    answers = comparisons_from_points(points, 12_000, random_state=5)
    fresh = comparisons_from_points(points, 20_000, random_state=6)
    default = OrdinalEmbedding(random_state=0).fit(answers)
    tste = OrdinalEmbedding(loss="tste", random_state=0).fit(answers)
    assert default.score(fresh) > 0.985
    assert default.score(fresh) > tste.score(fresh)


def test_what_the_table_says_is_what_was_held_out():
    """The error of the chosen settings is about that of fresh answers, not of those that were learned."""
    model = OrdinalEmbedding(random_state=0).fit(NOISY)
    fresh = comparisons_from_points(POINTS, 5000, random_state=7).flip(0.15, random_state=8)
    record = chosen(model)
    assert abs(record["error"] - (1.0 - model.score(fresh))) < 3 * record["standard_error"]
    assert record["error"] > 1.0 - model.score(NOISY)


def test_a_time_limit_leaves_time_for_the_fit(clock):
    seen = []

    def callback(record):
        seen.append(record["stage"])
        clock.now += 0.03 if record["stage"] != "fit" else 0.0  # a search that would take seconds

    model = OrdinalEmbedding(random_state=0, max_seconds=1.0, callback=callback).fit(NOISY)
    assert 3 < sum(stage != "fit" for stage in seen) < 1.0 / 0.03
    assert model.n_iter_ > 3
    assert model.score(NOISY) > 0.75


@pytest.mark.parametrize("n_components", [2, "auto"])
def test_a_time_limit_that_is_over_at_once_gives_a_map(n_components):
    model = OrdinalEmbedding(n_components, random_state=0, max_seconds=1e-9).fit(ANSWERS)
    assert model.stop_reason_ == "time"
    assert np.isfinite(model.embedding_).all()
    assert len(model.embedding_) == 25


def press_ctrl_c(record):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(("end", "reason"), [(press_ctrl_c, "interrupted"), (lambda record: True, "callback")])
@pytest.mark.parametrize("n_components", [2, "auto"])
@pytest.mark.parametrize("trial", [1, 40])
def test_a_search_that_is_ended_leads_to_a_usable_map(trial, n_components, end, reason):
    model = OrdinalEmbedding(
        n_components, random_state=0, callback=lambda r: r["iteration"] == trial and r["stage"] != "fit" and end(r)
    )
    model.fit(NOISY)
    assert model.stop_reason_ == reason
    assert model.n_iter_ == 0
    assert not model.converged_
    assert chosen(model)["regularization"] == model.regularization_
    assert np.isfinite(model.embedding_).all()
    assert model.score(NOISY) > (0.75 if model.embedding_.shape[1] == 2 else 0.6)


def test_what_was_tried_survives_a_model_file(tmp_path):
    model = OrdinalEmbedding("auto", "ste", random_state=0).fit(NOISY)
    model.save(tmp_path / "map.nearer")
    loaded = load_model(tmp_path / "map.nearer")
    assert loaded.selection_ == model.selection_
    assert [list(record) for record in loaded.selection_] == [list(record) for record in model.selection_]
    assert loaded.get_params() == model.get_params()
    assert table(loaded) == table(model)
    assert len(plot(loaded).axes) == 2


def test_a_loss_with_parameters_survives_a_model_file_too(tmp_path):
    model = OrdinalEmbedding(loss=TSTE(alpha=3.0), random_state=0).fit(NOISY)
    model.save(tmp_path / "map.nearer")
    loaded = load_model(tmp_path / "map.nearer")
    assert repr(loaded.loss_) == repr(model.loss_) == "TSTE(alpha=3.0)"
    assert table(loaded) == table(model)


class Cauchy:
    def value(self, near, far):
        return ops.log(1.0 + near / (1.0 + far))

    def slopes(self, near, far):
        return 1.0 / (1.0 + far + near), -near / ((1.0 + far) * (1.0 + far + near))

    def probability(self, near, far):
        return (1.0 + far) / (1.0 + far + near)


def test_a_map_of_a_loss_of_your_own_can_be_saved(tmp_path):
    model = OrdinalEmbedding(loss=Cauchy(), random_state=0).fit(NOISY)
    model.save(tmp_path / "map.nearer")
    assert tried(model, "loss") == {"Cauchy"}


def test_people_are_held_out_also_where_there_are_few_with_many_answers():
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 2)), 30_000, random_state=0)
    for n_people in (2, 5):
        people = np.arange(len(answers)) % n_people
        model = OrdinalEmbedding(random_state=0).fit(answers, groups=people)
        assert model.score(answers) > 0.98


def test_a_failed_refit_leaves_the_model_as_it_was():
    model = OrdinalEmbedding(random_state=0).fit(NOISY)
    before = model.selection_

    def fail(record):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        model.set_params(callback=fail).fit(NOISY)
    assert model.selection_ is before


def test_early_stopping_chooses_without_its_own_answers(monkeypatch):
    seen = []
    select = module.select_settings
    monkeypatch.setattr(
        module,
        "select_settings",
        lambda part, *rest, **named: seen.append(len(part)) or select(part, *rest, **named),
    )
    model = OrdinalEmbedding(loss="ste", early_stopping=True, validation_fraction=0.2, random_state=0).fit(NOISY)
    assert seen == [1200]
    assert {"held_out_loss", "held_out_error"} <= set(model.history_[0])
    assert chosen(model)["regularization"] == model.regularization_


def test_answers_of_little_weight_do_not_choose():
    rows = np.vstack([ANSWERS.rows, ANSWERS.rows[:, [0, 2, 1]]])
    weights = np.repeat([1.0, 1e-12], len(ANSWERS))
    answer = np.tile(np.arange(len(ANSWERS)), 2)  # a row and its contrary are held out together
    weighted = OrdinalEmbedding(loss="ste", random_state=0).fit(Comparisons(rows, weights=weights, answers=answer))
    plain = OrdinalEmbedding(loss="ste", random_state=0).fit(Comparisons(rows, answers=answer))
    assert 0.5 <= chosen(plain)["error"] < 0.6  # one of each pair is wrong, and both where distances are equal
    assert chosen(weighted)["error"] < 0.03
    assert weighted.score(ANSWERS) > 0.97


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_the_size_of_weights_does_not_matter(size):
    weights = np.random.default_rng(0).uniform(0.5, 1.0, len(NOISY))
    one, other = (
        OrdinalEmbedding(loss="soe", random_state=0).fit(Comparisons(NOISY, weights=scale * weights))
        for scale in (1.0, size)
    )
    assert other.regularization_ == one.regularization_
    assert chosen(other)["error"] == pytest.approx(chosen(one)["error"], abs=0.01)


def test_quadruplets_choose_too():
    answers = comparisons_from_points(POINTS, 1500, quadruplets=True, random_state=0)
    fresh = comparisons_from_points(POINTS, 3000, quadruplets=True, random_state=1)
    model = OrdinalEmbedding(random_state=0).fit(answers)
    assert tried(model, "loss") == set(LOSSES)
    assert model.score(fresh) > 0.93
    assert model.n_features_in_ == 4


def test_single_precision_chooses_too():
    model = OrdinalEmbedding(loss="soe", dtype="float32", random_state=0).fit(NOISY)
    double = OrdinalEmbedding(loss="soe", random_state=0).fit(NOISY)
    assert model.embedding_.dtype == np.float32
    assert chosen(model)["error"] == pytest.approx(chosen(double)["error"], abs=0.01)


def test_every_fold_starts_from_init(monkeypatch):
    monkeypatch.setattr(module, "unfold", None)  # nothing is unfolded
    model = OrdinalEmbedding(init=POINTS, regularization=0.01, random_state=0).fit(NOISY)
    assert tried(model, "loss") == set(LOSSES)
    assert model.score(ANSWERS) > 0.9
    with pytest.raises(ValueError, match="n_components must say it"):
        OrdinalEmbedding("auto", init=POINTS).fit(NOISY)


def test_the_number_of_threads_does_not_change_the_choice():
    one, two = (OrdinalEmbedding(n_jobs=n_jobs, random_state=0).fit(NOISY[:600]) for n_jobs in (1, 2))
    assert one.selection_ == two.selection_
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_many_answers_are_judged_by_a_part_and_the_ridge_is_scaled():
    """What is right for a part of the answers is too much for all: a ridge is worth a number of answers."""
    points = np.random.default_rng(3).normal(size=(15, 2))
    many = comparisons_from_points(points, 40_000, random_state=4).flip(0.2, random_state=5)
    model = OrdinalEmbedding(loss="ste", random_state=0).fit(many)
    assert {record["n_folds"] for record in model.selection_} == {1}
    ladder = np.array(RIDGES) * 5_000 / (0.8 * 40_000)
    assert all(np.isclose(ladder, ridge).any() for ridge in tried(model, "regularization"))
    part = OrdinalEmbedding(loss="ste", random_state=0).fit(many[:5_000])
    assert model.regularization_ < part.regularization_
    given = OrdinalEmbedding(regularization=0.02, random_state=0).fit(many)
    assert given.regularization_ == 0.02
    assert tried(given, "regularization") == {0.02}


def test_few_answers_get_the_defaults():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = OrdinalEmbedding("auto", random_state=0).fit([[0, 1, 2], [1, 0, 2], [2, 1, 3]])
    assert model.selection_ == []
    assert (model.embedding_.shape, model.regularization_, type(model.loss_)) == ((4, 2), 0.01, TSTE)


def test_a_refit_forgets_what_was_chosen():
    model = OrdinalEmbedding(loss="ste", random_state=0).fit(NOISY)
    assert model.selection_
    model.set_params(loss=STE(), regularization=0.01).fit(NOISY)
    assert model.selection_ is None


FEW = comparisons_from_points(np.random.default_rng(0).normal(size=(30, 5)), 300, random_state=0)


def averaged(model):
    return [record for record in model.selection_ if record.get("averaged")]


def test_a_fit_that_is_ended_while_it_averages_keeps_the_chosen_map(monkeypatch):
    def interrupted(model, points, ties, train, random, monitor, max_iter):
        monitor.stop("interrupted")
        return average(model, points, ties, train, random, monitor, max_iter)

    average = module.average_ties
    assert averaged(OrdinalEmbedding(5, random_state=0).fit(FEW))
    monkeypatch.setattr(module, "average_ties", interrupted)
    model = OrdinalEmbedding(5, random_state=0).fit(FEW)
    assert (model.stop_reason_, model.converged_, averaged(model)) == ("interrupted", False, [])
    alone = OrdinalEmbedding(5, random_state=0)
    monkeypatch.setattr("nearer.embedding.settings.MOST_AVERAGED", 1)
    np.testing.assert_array_equal(model.embedding_, alone.fit(FEW).embedding_)


def test_early_stopping_does_not_average():
    assert not averaged(OrdinalEmbedding(5, early_stopping=True, random_state=0).fit(FEW))


def test_answers_that_arrive_go_on_with_the_near_ties():
    model = OrdinalEmbedding(5, regularization=0.0, random_state=0).fit(FEW)
    ties = _ties_so_far(model, 0.0)
    assert len(ties) == len(averaged(model)) - 1 > 0
    before = model.embedding_.copy()
    model.partial_fit(comparisons_from_points(np.random.default_rng(0).normal(size=(30, 5)), 50, random_state=1))
    assert not np.array_equal(model.embedding_, before)


def test_ties_of_a_given_loss_keep_it_and_their_share_of_the_ridge():
    model = OrdinalEmbedding(5, TSTE(alpha=5.0), random_state=0).fit(FEW)
    record = {"n_components": 5, "loss": repr(model.loss), "averaged": True}
    model.selection_ = [
        record | {"regularization": 0.1, "chosen": True},
        record | {"regularization": 0.3, "chosen": False},
    ]
    (tie,) = _ties_so_far(model, 0.05)
    assert tie["loss"] is model.loss
    assert tie["regularization"] == pytest.approx(0.15)
