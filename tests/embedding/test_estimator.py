"""OrdinalEmbedding as its users meet it."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from nearer import Comparisons, OrdinalEmbedding, load_model
from nearer.comparisons.random_state import child_generator
from nearer.embedding import SGD, SVRG, Batch
from nearer.embedding.init import spread_apart
from nearer.losses import LOSSES, STE, TSTE, as_loss, baseline_loss, ops
from nearer.metrics import procrustes
from nearer.simulate import all_triplets, comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(30, 2))
ANSWERS = comparisons_from_points(POINTS, 3000, random_state=0)
NOISY = ANSWERS.flip(0.1, random_state=0)


@pytest.mark.parametrize("loss", ["ste", "gnmds", "soe"])
def test_the_map_of_the_points_is_found(loss):
    points = np.random.default_rng(1).normal(size=(50, 2))
    model = OrdinalEmbedding(2, loss, regularization=0.0, max_iter=400, random_state=0).fit(
        comparisons_from_points(points, 10_000, random_state=1)
    )
    assert procrustes(model.embedding_, points).disparity < 0.01


def test_quadruplets_find_it_too():
    answers = comparisons_from_points(POINTS, 5000, quadruplets=True, random_state=0)
    model = OrdinalEmbedding(loss="ste", regularization=0.0, random_state=0).fit(answers)
    assert procrustes(model.embedding_, POINTS).disparity < 0.01


def test_the_default_survives_wrong_answers():
    train, test = NOISY.split(random_state=0)
    model = OrdinalEmbedding(random_state=0).fit(train)
    assert model.converged_
    assert model.score(test) > 0.83  # 0.9 is the most that ten percent of wrong answers allow
    assert procrustes(model.embedding_, POINTS).disparity < 0.05


def test_what_is_learned():
    names = [f"object {i}" for i in range(30)]
    seen = []
    model = OrdinalEmbedding(3, random_state=0, callback=lambda record: seen.append(record) and None).fit(
        Comparisons(ANSWERS.rows, names=names)
    )
    assert model.embedding_.shape == (30, 3)
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-12)
    assert model.loss == "auto"
    assert model.names_ == tuple(names)
    assert [record["loss"] for record in model.history_] == [r["loss"] for r in seen if r["stage"] == "fit"]
    (chosen,) = [record for record in model.selection_ if record["chosen"]]
    assert chosen["regularization"] == model.regularization_
    assert LOSSES[chosen["loss"]] is type(model.loss_)
    assert {record["loss"] for record in model.selection_} == set(LOSSES)
    trials = [record for record in seen if record["stage"] != "fit"]
    assert len(trials) == sum(record["n_folds"] for record in model.selection_)
    assert len(model.history_) == model.n_iter_ + 1
    assert {"iteration", "loss", "step_size", "gradient_evaluations", "seconds"} == set(model.history_[0])


def test_the_same_seed_gives_the_same_map_and_input_is_left_alone():
    rows = np.array(NOISY.rows)
    before = rows.copy()
    maps = [OrdinalEmbedding(random_state=3, n_jobs=2).fit(rows).embedding_ for _ in range(2)]
    np.testing.assert_array_equal(*maps)
    np.testing.assert_array_equal(rows, before)
    assert np.any(maps[0] != OrdinalEmbedding(random_state=4).fit(rows).embedding_)


def test_answers_as_y_and_weights():
    asked = np.array(ANSWERS.rows)
    turned = np.random.default_rng(0).random(len(asked)) < 0.5
    asked[turned] = asked[turned][:, [0, 2, 1]]
    fits = [
        OrdinalEmbedding(random_state=0).fit(ANSWERS),
        OrdinalEmbedding(random_state=0).fit(asked, y=~turned),
        OrdinalEmbedding(random_state=0).fit(asked, y=np.where(turned, -1, 1)),
        OrdinalEmbedding(random_state=0).fit(pd.DataFrame(ANSWERS.rows, columns=["anchor", "near", "far"])),
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fits[0].embedding_, fit.embedding_)
    assert fits[0].score(asked, ~turned) == fits[0].score(ANSWERS)


def test_answers_as_y_keep_names_and_weights():
    names = [f"o{i}" for i in range(30)]
    model = OrdinalEmbedding(random_state=0).fit(Comparisons(ANSWERS.rows, names=names))
    order = np.random.default_rng(0).permutation(30)
    weights = np.random.default_rng(1).random(len(ANSWERS))
    shuffled = Comparisons(np.argsort(order)[ANSWERS.rows], names=[names[i] for i in order], weights=weights)
    assert model.score(shuffled, y=np.ones(len(ANSWERS))) == model.score(shuffled)
    turned = pd.DataFrame(ANSWERS.rows[:, ::-1], columns=["far", "near", "anchor"])
    assert model.score(turned, y=np.ones(len(ANSWERS))) == model.score(ANSWERS)


def test_rows_of_one_answer_are_not_parted_from_their_weights():
    answers = Comparisons.from_odd_one_out([[0, 1, 2], [3, 4, 5]], odd="last")
    for apart in ({"sample_weight": np.ones(4)}, {"y": np.ones(4)}):
        with pytest.raises(ValueError, match="put answers and weights into the Comparisons"):
            OrdinalEmbedding().fit(answers, **apart)


def test_names_and_numbers_are_not_mixed():
    unnamed = OrdinalEmbedding(random_state=0).fit(ANSWERS)
    named = Comparisons([[0, 1, 2]], names=["x", "y", "z"])
    for use in (unnamed.score, unnamed.predict, unnamed.partial_fit):
        with pytest.raises(ValueError, match="not known which is which"):
            use(named)
    with pytest.raises(ValueError, match="not known which is which"):
        OrdinalEmbedding(1, random_state=0).fit(named).partial_fit([[0, 1, 2]])


def clone_of(model):
    return pickle.loads(pickle.dumps(model))


def test_a_weight_of_nothing_changes_nothing():
    model = OrdinalEmbedding(random_state=0, keep_answers=False).fit(ANSWERS)
    before = model.embedding_.copy()
    np.testing.assert_array_equal(model.partial_fit([[0, 2, 1]], sample_weight=[0.0]).embedding_, before)
    slight = np.abs(clone_of(model).partial_fit([[0, 2, 1]], sample_weight=[1e-6]).embedding_ - before).max()
    heavy = np.abs(clone_of(model).partial_fit([[0, 2, 1]], sample_weight=[1.0]).embedding_ - before).max()
    assert slight < 1e-3 * heavy
    weights = np.zeros(len(ANSWERS))
    weights[7] = 1.0
    assert np.isfinite(OrdinalEmbedding(random_state=0).fit(ANSWERS, sample_weight=weights).embedding_).all()
    with pytest.raises(ValueError, match="all weights are zero"):
        OrdinalEmbedding().fit(ANSWERS, sample_weight=0 * weights)


@pytest.mark.parametrize(
    ("solver", "reason", "words"),
    [
        (Batch(step_size=100.0), "max_iter", "which had not settled"),
        (SVRG(step_size=1.0), "not finite", "no longer finite after 1 iterations"),
    ],
)
def test_divergence_is_not_called_convergence(solver, reason, words):
    how = {"loss": "ste", "regularization": 0.0, "random_state": 0, "max_iter": 20}
    with pytest.warns(ConvergenceWarning, match=words):
        model = OrdinalEmbedding(solver=solver, **how).fit(NOISY)
    assert not model.converged_
    assert model.stop_reason_ == reason


def test_a_start_at_nearly_one_place_is_not_called_convergence():
    start = 1e-6 * np.random.default_rng(0).normal(size=(30, 2))
    model = OrdinalEmbedding(loss="tste", init=start, regularization=0.001, random_state=0).fit(ANSWERS)
    assert model.history_[-1]["loss"] < 0.5 * model.history_[0]["loss"]
    assert model.score(ANSWERS) > 0.9


@pytest.mark.parametrize("size", [1e-12, 1e-6])
@pytest.mark.parametrize("solver", ["lbfgs", "svrg-sbb", "svrg", "sgd"])
@pytest.mark.parametrize("loss", ["ste", "ckl", "soe"])
def test_a_start_of_any_size_leads_away_from_the_loss_of_ignorance(loss, solver, size):
    start = size * np.random.default_rng(0).normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        how = {"loss": loss, "solver": solver, "init": start, "regularization": 0.001, "max_iter": 60}
        model = OrdinalEmbedding(**how, random_state=0).fit(ANSWERS)
    assert model.history_[-1]["loss"] < 0.9 * baseline_loss(as_loss(loss, 2))


def test_a_start_of_ordinary_size_is_taken_as_it_is():
    start = np.random.default_rng(0).normal(size=(30, 2))
    for size in (1e-2, 1.0, 1e4):
        np.testing.assert_array_equal(spread_apart(size * start), size * start)
    with pytest.raises(ValueError, match="all points at one place"):
        OrdinalEmbedding(init=np.ones((30, 2))).fit(ANSWERS)
    with pytest.raises(ValueError, match=r"init has coordinates as large as .*e\+120"):
        OrdinalEmbedding(init=1e120 * start).fit(ANSWERS)


def test_weights_of_any_size_weigh_the_same():
    models = [
        OrdinalEmbedding(random_state=0).fit(ANSWERS, sample_weight=np.full(len(ANSWERS), weight))
        for weight in (1.0, 1e154, 1e308)
    ]
    for model in models[1:]:
        assert model.regularization_ == models[0].regularization_
        assert model.score(ANSWERS, sample_weight=np.full(len(ANSWERS), 1e308)) == models[0].score(ANSWERS)
        np.testing.assert_allclose(model.embedding_, models[0].embedding_, rtol=1e-6, atol=1e-9)


def test_weight_two_is_the_same_as_saying_it_twice():
    rows = ANSWERS.rows[:400]
    start = 0.1 * np.random.default_rng(0).normal(size=(30, 2))
    how = {"loss": "tste", "regularization": 0.01, "init": start, "tol": 0.0, "max_iter": 50}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        twice = OrdinalEmbedding(**how).fit(Comparisons(np.vstack([rows, rows[:100]]), n_objects=30))
        heavy = OrdinalEmbedding(**how).fit(
            Comparisons(rows, n_objects=30), sample_weight=np.where(np.arange(400) < 100, 2.0, 1.0)
        )
    np.testing.assert_allclose(twice.embedding_, heavy.embedding_, atol=1e-5)
    weights = np.arange(400) + 1.0
    correct = twice.predict(rows) == 1
    assert twice.score(rows, sample_weight=weights) == pytest.approx(weights[correct].sum() / weights.sum())


def test_predictions_agree_with_each_other():
    model = OrdinalEmbedding(random_state=0).fit(NOISY)
    likely = model.predict_proba(NOISY)
    np.testing.assert_allclose(likely.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[likely.argmax(axis=1)], model.predict(NOISY))
    assert model.score(NOISY) == (model.predict(NOISY) == 1).mean()
    np.testing.assert_array_equal(model.transform([4, 2]), model.embedding_[[4, 2]])


def test_scikit_learn_selects_and_validates():
    scores = cross_val_score(OrdinalEmbedding(random_state=0), NOISY, cv=3)
    assert scores.min() > 0.8
    search = GridSearchCV(
        OrdinalEmbedding(loss=TSTE(), solver=SVRG(), regularization=0.01, random_state=0),
        {"loss__alpha": [1.0, 5.0], "solver__epsilon": [None, 0.005]},
        cv=2,
    ).fit(NOISY)
    assert set(search.best_params_) == {"loss__alpha", "solver__epsilon"}
    assert search.best_estimator_.embedding_.shape == (30, 2)
    copy = clone(OrdinalEmbedding(3, STE(), Batch(step_size=2.0)))
    assert isinstance(copy.loss, STE)
    assert copy.get_params()["solver__step_size"] == 2.0


def test_folds_keep_answers_whole_and_subjects_apart():
    triples = np.random.default_rng(0).permutation(list(combinations(range(30), 3)))[:300]
    answers = Comparisons.from_odd_one_out(triples, "last", n_objects=30, subjects=np.arange(300) % 5)
    seen = []

    class Watching(OrdinalEmbedding):
        def fit(self, comparisons, y=None, sample_weight=None):
            seen.append(comparisons)
            return super().fit(comparisons)

        def score(self, comparisons, y=None, sample_weight=None):
            seen.append(comparisons)
            return super().score(comparisons)

    model = Watching(loss="tste", regularization=0.01, random_state=0)
    cross_val_score(model, answers, cv=3)
    for train, test in zip(seen[::2], seen[1::2], strict=True):
        assert not {tuple(sorted(row)) for row in train.rows} & {tuple(sorted(row)) for row in test.rows}
        assert len(train) + len(test) == 600
    seen.clear()
    cross_val_score(model, answers, cv=GroupKFold(5), groups=answers.subjects)
    for train, test in zip(seen[::2], seen[1::2], strict=True):
        assert not set(train.subjects) & set(test.subjects)


def test_an_object_of_the_test_fold_only_is_no_obstacle():
    rows = np.vstack([ANSWERS.rows[:200], [[35, 1, 2], [1, 35, 2]]])
    folds = [(np.arange(200), np.array([200, 201]))]
    assert np.isfinite(cross_val_score(OrdinalEmbedding(random_state=0), Comparisons(rows), cv=folds)).all()
    model = OrdinalEmbedding(random_state=0).fit(Comparisons(rows[:200], n_objects=40))
    np.testing.assert_array_equal(model.embedding_[30:], 0)
    assert np.isfinite(model.predict_proba([[35, 1, 2], [1, 35, 36]])).all()


def test_objects_are_matched_by_name():
    names = [f"o{i}" for i in range(30)]
    model = OrdinalEmbedding(random_state=0).fit(Comparisons(ANSWERS.rows, names=names))
    order = np.random.default_rng(0).permutation(30)
    place = np.argsort(order)
    shuffled = Comparisons(place[ANSWERS.rows], names=[names[i] for i in order])
    assert model.score(shuffled) == model.score(ANSWERS)
    np.testing.assert_array_equal(model.transform(["o3", "o1"]), model.embedding_[[3, 1]])
    with pytest.raises(ValueError, match="no object called 'Rome'; it has 30, such as o0, o1, o2"):
        model.transform(["Rome"])
    with pytest.raises(ValueError, match="no object called 'O17'; did you mean o17"):
        model.neighbors("O17")


class Power:
    """A loss of a user's own: the hinge to some power."""

    def __init__(self, power=2.0):
        self.power = power

    def value(self, near, far):
        return ops.maximum(0.0, 1.0 + near - far) ** self.power

    def slopes(self, near, far):
        slope = self.power * ops.maximum(0.0, 1.0 + near - far) ** (self.power - 1.0)
        return slope, -slope

    def probability(self, near, far):
        return 1.0 / (1.0 + ops.exp(near - far))


def test_a_loss_of_ones_own(tmp_path):
    model = OrdinalEmbedding(loss=Power(), regularization=0.0, random_state=0).fit(ANSWERS)
    assert model.score(ANSWERS) > 0.95
    model.save(tmp_path / "own.nearer")
    with pytest.raises(ValueError, match="loss=Power"):
        load_model(tmp_path / "own.nearer")
    again = load_model(tmp_path / "own.nearer", loss=Power())
    np.testing.assert_array_equal(again.predict_proba(ANSWERS), model.predict_proba(ANSWERS))


def test_early_stopping_keeps_the_points_that_were_best_on_held_out_answers():
    answers = comparisons_from_points(POINTS, 1500, random_state=5).flip(0.25, random_state=0)
    seen = []
    model = OrdinalEmbedding(
        6,
        "ste",
        regularization=0.0,
        early_stopping=True,
        random_state=0,
        callback=lambda record: seen.append(record["points"].copy()) and None,
    ).fit(answers)
    held_out = [(record["held_out_error"], record["held_out_loss"]) for record in model.history_]
    best = held_out.index(min(held_out))
    assert best < len(held_out) - 1 < 300, "it should have stopped some epochs after its best"
    assert model.converged_
    np.testing.assert_allclose(model.embedding_, seen[best] - seen[best].mean(axis=0), atol=1e-12)


def test_a_callback_can_stop_and_a_short_fit_warns():
    model = OrdinalEmbedding(
        random_state=0, callback=lambda record: (record["stage"], record["iteration"]) == ("fit", 2)
    ).fit(NOISY)
    assert model.n_iter_ == 2
    assert not model.converged_
    assert model.stop_reason_ == "callback"
    epochs = []

    def stop_at_the_first(record):
        if record["stage"] == "fit":
            epochs.append(record["iteration"])
        return record["stage"] == "fit" and record["iteration"] == 1

    OrdinalEmbedding(random_state=0, n_init=3, callback=stop_at_the_first).fit(NOISY)
    assert epochs == [0, 1], "a callback that stops, stops all starts"
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        OrdinalEmbedding(random_state=0, max_iter=1, tol=0.0).fit(NOISY)


def test_several_starts_keep_the_lowest_objective():
    one, five = (OrdinalEmbedding(1, n_init=n, random_state=0).fit(NOISY) for n in (1, 5))
    assert five.history_[-1]["loss"] <= one.history_[-1]["loss"]
    assert five.regularization_ == one.regularization_, "starts compete in one objective"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision(dtype):
    model = OrdinalEmbedding(dtype=dtype, random_state=0).fit(NOISY)
    assert model.embedding_.dtype == dtype
    assert model.score(NOISY) > 0.85


def test_a_seed_shared_with_the_data_gives_nothing_away():
    drawn = child_generator(0).standard_normal((30, 2))  # POINTS, too, were drawn with seed 0
    assert procrustes(drawn, POINTS).disparity > 0.5
    np.testing.assert_array_equal(child_generator(0).standard_normal(3), child_generator(0).standard_normal(3))


def test_save_load_and_pickle(tmp_path):
    names = [f"Ä {i}" for i in range(30)]
    model = OrdinalEmbedding(2, TSTE(), SGD(decay=0.2), random_state=0).fit(Comparisons(NOISY.rows, names=names))
    model.save(tmp_path / "map.nearer")
    one = Comparisons([[0, 1, 2]], names=names)
    for again in (load_model(tmp_path / "map.nearer"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.embedding_, model.embedding_)
        np.testing.assert_array_equal(again.predict_proba(NOISY), model.predict_proba(NOISY))
        assert again.names_ == model.names_
        assert again.history_ == model.history_
        assert repr(again.get_params()) == repr(model.get_params())
        np.testing.assert_array_equal(
            again.set_params(keep_answers=False).partial_fit(one).embedding_,
            clone_of(model).set_params(keep_answers=False).partial_fit(one).embedding_,
        )


def test_a_model_file_keeps_the_loss_that_was_fitted(tmp_path):
    model = OrdinalEmbedding(random_state=0).fit(NOISY).set_params(loss="ckl")
    model.save(tmp_path / "map.nearer")
    again = load_model(tmp_path / "map.nearer")
    np.testing.assert_array_equal(again.predict_proba(NOISY), model.predict_proba(NOISY))
    assert again.loss == "ckl"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"n_components": 30}, "30 dimensions are too many for 30 objects"),
        ({"n_components": 0}, "n_components must be 'auto' or a positive integer; got 0"),
        ({"loss": "triplet"}, "unknown loss 'triplet'; the known ones are 'auto', 'ckl'"),
        ({"solver": "adam"}, "unknown solver 'adam'; the known ones are 'batch'"),
        ({"regularization": -1.0}, "regularization must be 'auto' or a number >= 0; got -1.0"),
        ({"regularization": "much"}, "got 'much'"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": -1e-3}, "tol must be"),
        ({"validation_fraction": 1.5}, "validation_fraction must be"),
        ({"n_init": 0}, "n_init must be"),
        ({"dtype": "foo"}, "dtype must be 'float32' or 'float64'"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"callback": 3}, "callback must be"),
        ({"init": np.zeros((3, 2))}, r"init must be numbers of shape \(30, 2\)"),
        ({"init": np.full((30, 2), np.nan)}, "init must be finite"),
    ],
)
def test_a_wrong_parameter_is_named(how, words):
    model = OrdinalEmbedding(**how)
    with pytest.raises(ValueError, match=words):
        model.fit(NOISY)
    assert not hasattr(model, "embedding_")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0, 0, 1]], "row 0 compares object 0 with itself"),
        ([[0, 1, 2], [0, 1, -3]], "row 1"),
        ([[0.0, np.nan, 1.0]], "row 0"),
        ([[0, 1]], "columns"),
        (np.empty((0, 3), dtype=int), "nothing to learn|objects"),
    ],
)
def test_wrong_rows_are_named(rows, words):
    with pytest.raises(ValueError, match=words):
        OrdinalEmbedding().fit(rows)


def test_wrong_weights_and_unfitted_models():
    with pytest.raises(ValueError, match="sample_weight must have one number per row"):
        OrdinalEmbedding().fit(NOISY, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"weight"):
        OrdinalEmbedding().fit(NOISY, sample_weight=-np.ones(len(NOISY)))
    for use in (lambda m: m.predict([[0, 1, 2]]), lambda m: m.transform([0]), lambda m: m.score([[0, 1, 2]])):
        with pytest.raises(NotFittedError):
            use(OrdinalEmbedding())


def test_few_answers_are_enough_to_run():
    model = OrdinalEmbedding(1, random_state=0).fit([[0, 1, 2]])
    assert np.isfinite(model.embedding_).all()
    assert OrdinalEmbedding(2, random_state=0).fit(all_triplets(POINTS[:4])).score(all_triplets(POINTS[:4])) > 0.5


def test_neighbours_are_the_nearest_points():
    model = OrdinalEmbedding(random_state=0).fit(Comparisons(ANSWERS, names=[f"o{i}" for i in range(30)]))
    distances, names = model.neighbors(["o3", "o7"], k=4)
    far = np.linalg.norm(model.embedding_ - model.embedding_[7], axis=1)
    assert names[1].tolist() == [f"o{i}" for i in np.argsort(far)[1:5]]
    np.testing.assert_allclose(distances[1], np.sort(far)[1:5])
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 29"):
        model.neighbors(["o3"], k=30)
    with pytest.raises(NotFittedError):
        OrdinalEmbedding().neighbors([0])
