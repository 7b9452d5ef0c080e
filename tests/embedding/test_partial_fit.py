"""OrdinalEmbedding.partial_fit: learning while answers arrive is as good as fitting."""

import copy
import pickle
import time
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from model_files import rewritten
from nearer import Comparisons, OrdinalEmbedding, load_model
from nearer.datasets import europe
from nearer.embedding.incremental import ENOUGH
from nearer.metrics import procrustes
from nearer.simulate import comparisons_from_points

CITIES = europe()
TRAIN = comparisons_from_points(CITIES.points, 4000, random_state=0).flip(0.05, random_state=0)
TEST = comparisons_from_points(CITIES.points, 10_000, random_state=1)
POINTS = np.random.default_rng(0).normal(size=(30, 2))
ANSWERS = comparisons_from_points(POINTS, 3000, random_state=0)
FIXED = {"loss": "tste", "regularization": 0.01}


def learn_in_batches(model, answers, size):
    for start in range(0, len(answers), size):
        model.partial_fit(answers[start : start + size])
    return model


@cache
def fitted_score(n):
    """Return the score of a fit to the first answers."""
    return OrdinalEmbedding(random_state=0).fit(TRAIN[:n]).score(TEST)


def in_file_and_memory(model, path):
    model.save(path)
    return load_model(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)


@pytest.mark.parametrize("size", [1, 20, 200])
def test_as_accurate_as_a_fit_to_all_answers(size):
    model, gaps = OrdinalEmbedding(random_state=0), []
    for before, now in pairwise((0, 1000, 1900, 3000, 4000)):
        learn_in_batches(model, TRAIN[before:now], size)
        gaps.append(fitted_score(now) - model.score(TEST))
    assert np.mean(gaps) < 0.01
    assert max(gaps) < 0.02, "a choice of settings is good or bad luck too"


def test_an_answer_takes_about_a_millisecond():
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(100, 2)), 3000, random_state=0)
    model = OrdinalEmbedding(random_state=0).partial_fit(answers[:1])
    begun = time.process_time()
    learn_in_batches(model, answers[1:], 1)
    assert time.process_time() - begun < 4 * 3000 * 1e-3, "four times as long, for slow machines"


def test_forgotten_answers_leave_the_map_behind():
    kept, forgotten = (
        learn_in_batches(OrdinalEmbedding(random_state=0, loss="tste", keep_answers=keep), TRAIN, 200)
        for keep in (True, False)
    )
    assert kept.score(TEST) > forgotten.score(TEST) + 0.02
    assert forgotten.score(TEST) > fitted_score(200) + 0.1


def test_the_first_answer_may_be_alone():
    model = OrdinalEmbedding(random_state=0).partial_fit((0, 1, 2))
    assert model.embedding_.shape == (3, 2)
    assert model.predict([[0, 1, 2], [0, 2, 1]]).tolist() == [1, -1]
    assert model.selection_ is None
    model.partial_fit([(5, 3, 4)])
    assert model.embedding_.shape == (6, 2)
    assert model.score([[0, 1, 2], [5, 3, 4]]) == 1.0


@pytest.mark.parametrize(
    "how", [{"n_components": 5}, {"n_components": "auto"}, {"n_components": 1}, FIXED, {"n_init": 3}]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_answer_suffices_whatever_the_parameters(how, dtype):
    model = OrdinalEmbedding(random_state=0, dtype=dtype, **how).partial_fit((0, 1, 2))
    n_components = how.get("n_components", 2)
    assert model.embedding_.shape == (3, 2 if n_components == "auto" else n_components)
    assert model.embedding_.dtype == dtype
    learn_in_batches(model, ANSWERS[:30], 10)
    assert len(model.embedding_) == 30
    assert model.embedding_.dtype == dtype


def test_dimensions_are_chosen_when_there_are_enough_answers():
    points = np.random.default_rng(0).normal(size=(20, 3))
    answers = comparisons_from_points(points, 2000, random_state=0)
    model = learn_in_batches(OrdinalEmbedding("auto", loss="ste", random_state=0), answers, 200)
    assert model.embedding_.shape == (20, 3)
    assert {record["n_components"] for record in model.selection_} >= {1, 2, 3}


def test_settings_are_chosen_from_enough_answers_on():
    model = OrdinalEmbedding(random_state=0).partial_fit(TRAIN[: ENOUGH - 1])
    assert model.selection_ is None
    assert type(model.loss_).__name__ == "TSTE"
    model.partial_fit(TRAIN[ENOUGH - 1 : ENOUGH])
    chosen = model.selection_
    assert [record["regularization"] for record in chosen if record["chosen"]] == [model.regularization_]
    learn_in_batches(model, TRAIN[ENOUGH : 2 * ENOUGH - 1], 100)
    assert model.selection_ is chosen
    assert model.regularization_ < next(record["regularization"] for record in chosen if record["chosen"])
    assert model.partial_fit(TRAIN[2 * ENOUGH - 1 : 2 * ENOUGH]).selection_ is not chosen


def test_parameters_that_are_not_auto_stay():
    model = learn_in_batches(OrdinalEmbedding(random_state=0, **FIXED), TRAIN[:900], 50)
    assert model.regularization_ == 0.01
    assert type(model.loss_).__name__ == "TSTE"
    assert model.selection_ is None


def test_answers_of_fit_count():
    fitted = OrdinalEmbedding(random_state=0).fit(TRAIN[:1000])
    learn_in_batches(fitted, TRAIN[1000:1900], 20)
    assert fitted.score(TEST) > fitted_score(1900) - 0.015
    again = fitted.fit(TRAIN[:100]).partial_fit(TRAIN[100:110])
    assert again._kept.n_rows == 110, "fit begins anew"


def test_the_same_seed_gives_the_same_map():
    maps = [learn_in_batches(OrdinalEmbedding(random_state=3), TRAIN[:600], 20).embedding_ for _ in range(2)]
    np.testing.assert_array_equal(*maps)


def test_a_saved_model_continues_as_the_model_would(tmp_path):
    names = [f"city {i}" for i in range(67)]
    named = Comparisons(TRAIN.rows[:700], names=names, weights=np.linspace(0.5, 1.5, 700))
    model = learn_in_batches(OrdinalEmbedding(random_state=0), named[:433], 20)
    copies = in_file_and_memory(model, tmp_path / "map.nearer")
    learn_in_batches(model, named[433:], 20)
    for again in copies:
        learn_in_batches(again, named[433:], 20)
        np.testing.assert_array_equal(again.embedding_, model.embedding_)
        assert again.names_ == model.names_


def test_files_hold_answers_only_if_partial_fit_was_used(tmp_path):
    sizes = {}
    for name, n in (("few", 100), ("many", 4000)):
        OrdinalEmbedding(random_state=0, **FIXED).fit(TRAIN[:n]).save(tmp_path / name)
        model = load_model(tmp_path / name)
        sizes[name] = (tmp_path / name).stat().st_size - 300 * len(model.history_)
        model.partial_fit(TRAIN[n - 10 : n])
        assert not hasattr(model, "stream_"), "without its answers a model moves by local steps"
    assert sizes["many"] < sizes["few"] + 20_000
    OrdinalEmbedding(random_state=0, **FIXED).fit(TRAIN).partial_fit((0, 1, 2)).save(tmp_path / "kept")
    assert load_model(tmp_path / "kept")._kept.n_rows == 4001


def test_a_file_with_answers_that_do_not_fit_is_refused(tmp_path):
    OrdinalEmbedding(random_state=0, **FIXED).partial_fit(ANSWERS[:50]).save(tmp_path / "map.nearer")
    rewritten(tmp_path / "map.nearer", lambda record: record["learned"]["stream_"]["dict"].pop("n_fitted"))
    with pytest.raises(ValueError, match="is damaged"):
        load_model(tmp_path / "map.nearer")


def test_keeping_can_end():
    model = OrdinalEmbedding(random_state=0, **FIXED).partial_fit(ANSWERS[:100]).set_params(keep_answers=False)
    model.partial_fit(ANSWERS[100:400])
    assert not hasattr(model, "stream_")
    assert not hasattr(OrdinalEmbedding(random_state=0, keep_answers=False).partial_fit(ANSWERS[:9]), "stream_")


@pytest.mark.parametrize("keep", [True, False])
def test_answers_that_arrive_later_improve_the_map_and_place_new_objects(keep):
    rows = ANSWERS.rows
    early = (rows < 25).all(axis=1)
    names = [f"o{i}" for i in range(30)]
    model = OrdinalEmbedding(loss="auto" if keep else "tste", random_state=0, keep_answers=keep)
    model.fit(Comparisons(rows[early], names=names[:25]))
    before = model.embedding_.copy()
    later = rows[~early]
    model.partial_fit(Comparisons(later[: len(later) // 2], names=names))
    assert model.embedding_.shape == (30, 2)
    assert model.names_ == tuple(names)
    rest = Comparisons(later[len(later) // 2 :], names=names)
    assert model.score(rest) > 0.9
    assert procrustes(model.embedding_[:25], before).disparity < 0.05, "the old map is not upset"


def test_a_new_object_is_placed_by_few_answers():
    rows = TRAIN.rows[(TRAIN.rows < 66).all(axis=1)]
    model = OrdinalEmbedding(random_state=0).fit(Comparisons(rows, n_objects=66))
    about = comparisons_from_points(CITIES.points, 20_000, random_state=2)
    about = about.rows[(about.rows == 66).any(axis=1)]
    for row in about[:40]:  # fewer than refine the map
        model.partial_fit(row)
    assert model.score(about[40:]) > 0.85


def test_new_objects_arrive_at_different_places():
    model = OrdinalEmbedding(random_state=0).fit(ANSWERS)
    for number in (30, 31):
        model.partial_fit(Comparisons(np.empty((0, 3), dtype=int), n_objects=number + 1))
    assert np.abs(model.embedding_[30] - model.embedding_[31]).max() > 0


def test_objects_without_answers_can_be_announced():
    model = OrdinalEmbedding(random_state=0).partial_fit(Comparisons([[0, 1, 2]], n_objects=6))
    np.testing.assert_array_equal(model.embedding_[3:], 0.0)
    model.partial_fit([[3, 4, 5]])
    assert model.score([[0, 1, 2], [3, 4, 5]]) == 1.0


def test_names_in_any_order_and_one_by_one():
    names = CITIES.names.tolist()
    by_number = OrdinalEmbedding(random_state=0, **FIXED)
    by_name = OrdinalEmbedding(random_state=0, **FIXED)
    for row in TRAIN.rows[:150]:
        by_name.partial_fit(tuple(names[i] for i in row))
    order = [names.index(name) for name in by_name.names_]
    for row in np.argsort(np.array(order + sorted(set(range(67)) - set(order))))[TRAIN.rows[:150]]:
        by_number.partial_fit(row)
    np.testing.assert_allclose(by_name.embedding_, by_number.embedding_)


def test_names_and_numbers_are_not_mixed_in_a_stream():
    model = OrdinalEmbedding(random_state=0).partial_fit(("Rome", "Oslo", "Bonn"))
    before = vars(model).copy()
    with pytest.raises(ValueError, match="not known which is which"):
        model.partial_fit((0, 1, 2))
    assert vars(model) == before


def test_triplets_quadruplets_and_answers_of_several_rows():
    model = OrdinalEmbedding(random_state=0).partial_fit(
        Comparisons.from_odd_one_out([[0, 1, 2], [3, 4, 5]], odd="last")
    )
    learn_in_batches(model, ANSWERS[:300], 50)
    more = comparisons_from_points(POINTS, 600, quadruplets=True, random_state=2)
    learn_in_batches(model, more, 50)
    assert model.n_features_in_ == 3
    assert model._kept.n_rows == 904
    assert model._kept.join(30).parts[0].n_answers == 902
    assert model.score(ANSWERS[300:]) > 0.85


def test_weights():
    turned = ANSWERS.rows[:, [0, 2, 1]]
    both = Comparisons(np.vstack([ANSWERS.rows, turned]), weights=np.repeat([1.0, 0.01], len(ANSWERS)))
    model = learn_in_batches(OrdinalEmbedding(random_state=0, **FIXED), both[::-1], 500)
    assert model.score(ANSWERS) > 0.9
    before = model.embedding_
    np.testing.assert_array_equal(model.partial_fit((0, 2, 1), sample_weight=0.0).embedding_, before)
    with pytest.raises(ValueError, match="all weights are zero"):
        OrdinalEmbedding().partial_fit((0, 1, 2), sample_weight=0.0)


def test_a_failed_call_changes_nothing():
    fails = False

    def callback(record):
        if fails:
            raise RuntimeError("no")

    model = OrdinalEmbedding(random_state=0, callback=callback).partial_fit(ANSWERS[:100])
    before = {name: copy.deepcopy(value) for name, value in vars(model).items() if name.endswith("_")}
    fails = True
    with pytest.raises(RuntimeError, match="no"):
        model.partial_fit(ANSWERS[100:200])
    assert repr(before) == repr({name: value for name, value in vars(model).items() if name.endswith("_")})
    assert model._kept.n_rows == 100
    fails = False
    straight = OrdinalEmbedding(random_state=0).partial_fit(ANSWERS[:100]).partial_fit(ANSWERS[100:200])
    np.testing.assert_array_equal(model.partial_fit(ANSWERS[100:200]).embedding_, straight.embedding_)


def test_the_map_does_not_turn_when_it_is_fitted_anew():
    model = OrdinalEmbedding(random_state=0).partial_fit(TRAIN[:1990])
    before = model.embedding_
    model.partial_fit(TRAIN[1990:])
    moved = np.linalg.norm(model.embedding_ / model.embedding_.std() - before / before.std())
    assert moved < 0.35 * np.linalg.norm(before / before.std())


def test_early_stopping_is_for_fit():
    model = OrdinalEmbedding(random_state=0, early_stopping=True).partial_fit((0, 1, 2))
    assert "held_out_error" not in model.history_[0]


def test_a_pickle_leaves_the_answers_of_a_fit_to_the_user():
    answers = comparisons_from_points(POINTS, 50_000, random_state=0)
    model = OrdinalEmbedding(**FIXED, random_state=0).fit(answers)
    assert len(pickle.dumps(model)) < answers.rows.nbytes / 5
    later = pickle.loads(pickle.dumps(model)).partial_fit(ANSWERS[:100])
    assert later.score(ANSWERS) > 0.9
