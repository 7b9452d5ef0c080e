"""LabelRanker: what it takes, what it gives, what it says when something is wrong, and that it learns."""

import pickle
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from literal_ranking import problem, untidy
from scipy.sparse import csc_array, csr_array, csr_matrix
from scipy.sparse import random as random_table
from sklearn.base import clone
from sklearn.metrics import average_precision_score

from extras import needs
from model_files import npy, rewritten
from nearer import LabelRanker, load_model
from nearer.metrics import label_ranking_map
from nearer.ranking.solvers import hold_out

LEARNING = ["loreta", "pa", "perceptron", "group-perceptron"]
SOLVERS = [*LEARNING, "popularity"]


def ranker(solver="loreta", **given):
    given = {"n_steps": 2000, "learning_rate": 0.05, "random_state": 0, **given}
    return LabelRanker(3, solver, **given)


@pytest.fixture(scope="module")
def simulated():
    X, Y = problem(n=1500, d=20, L=60, seed=3)
    Y = Y[:, Y[:1000].any(axis=0)]
    return X[:1000], Y[:1000], X[1000:], Y[1000:]


@pytest.mark.parametrize("negatives", ["warp", "all"])
@pytest.mark.parametrize("solver", LEARNING)
def test_it_ranks_better_than_popularity(solver, negatives, simulated):
    X, Y, unseen, truth = simulated
    popular = LabelRanker(solver="popularity").fit(X, Y).score(unseen, truth)
    model = LabelRanker(6, solver, negatives=negatives, random_state=0).fit(X, Y)
    assert model.score(unseen, truth) > popular + 0.15
    assert model.learning_rate_ > 0


@pytest.mark.parametrize("init", ["zero", "identity", "gaussian"])
def test_it_learns_from_every_start(init, simulated):
    X, Y, unseen, truth = simulated
    popular = LabelRanker(solver="popularity").fit(X, Y).score(unseen, truth)
    assert LabelRanker(6, init=init, random_state=0).fit(X, Y).score(unseen, truth) > popular + 0.15


def test_corel5k(data_set):
    X, Y, *_ = data_set("corel5k")
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, test = order[:4000], order[4000:]
    with pytest.warns(UserWarning, match="true of no row"):
        popular = LabelRanker(solver="popularity").fit(X[train], Y[train]).score(X[test], Y[test])
    with pytest.warns(UserWarning, match="true of no row"):
        model = LabelRanker(50, random_state=0).fit(X[train], Y[train])
    assert 0.19 < popular < 0.24
    assert model.score(X[test], Y[test]) > popular + 0.05


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("negatives", ["warp", "all"])
def test_sparse_rows_are_dense_ones(solver, negatives):
    X, Y = problem(sparse=True)
    sparse, before = untidy(X), untidy(X)
    dense = ranker(solver, negatives=negatives).fit(X, Y).decision_function(X)
    for table in (sparse, csr_matrix(sparse), csc_array(sparse)):
        model = ranker(solver, negatives=negatives).fit(table, csr_array(Y))
        np.testing.assert_allclose(model.decision_function(table), dense, atol=1e-9)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(before, name))


@pytest.mark.parametrize("negatives", ["warp", "all"])
@pytest.mark.parametrize("solver", LEARNING)
def test_the_scale_of_the_features_does_not_matter(solver, negatives, simulated):
    X, Y, unseen, truth = simulated
    first, *others = (
        LabelRanker(6, solver, negatives=negatives, n_steps=5000, random_state=0).fit(c * X, Y)
        for c in (1.0, 4.0**-4, 4.0**4, 0.01, 100.0)
    )
    scores = first.decision_function(unseen)
    for c, model in zip(
        (4.0**-4, 4.0**4), others[:2], strict=True
    ):  # powers of four are exact, as are their roots
        assert model.constant_ == c * first.constant_
        np.testing.assert_allclose(model.decision_function(c * unseen), scores, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, first.intercept_, rtol=1e-6, atol=1e-6)
    for c, model in zip((0.01, 100.0), others[2:], strict=True):
        assert model.score(c * unseen, truth) == pytest.approx(first.score(unseen, truth), abs=0.02)


@pytest.mark.parametrize("solver", LEARNING)
def test_features_of_any_size_are_learned_from(solver):
    X, Y = problem(n=200, d=1000)
    Y = Y[:, Y.any(axis=0)]
    first, *others = (
        ranker(solver, learning_rate="auto").fit(c * X, Y).decision_function(c * X)
        for c in (1.0, 4.0**-90, 4.0**90)
    )
    for scores in others:
        np.testing.assert_allclose(scores, first, rtol=1e-6, atol=1e-6)


def test_the_constant_feature_is_as_large_as_the_others():
    X, Y = problem()
    Y[:50] = 0  # nothing is learned from these
    model = ranker().partial_fit(X[:200], Y[:200])
    size = np.sqrt((X[50:200][X[50:200] != 0] ** 2).mean())
    assert model.constant_ == pytest.approx(size)
    model.partial_fit(10 * X[200:], Y[200:])
    assert model.constant_ == pytest.approx(size)
    zero = np.zeros((1, X.shape[1]))
    np.testing.assert_allclose(model.decision_function(zero)[0], model.intercept_)
    np.testing.assert_allclose(
        model.intercept_, model.label_factors_ @ model.intercept_factors_ * model.constant_, atol=1e-12
    )
    assert ranker().fit(np.zeros((300, 12)), Y).constant_ == 1.0


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("negatives", ["warp", "all"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_stream_in_pieces_is_a_stream(solver, negatives, fit_intercept):
    X, Y = problem()
    given = {"negatives": negatives, "fit_intercept": fit_intercept}
    whole = ranker(solver, **given).partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])
    pieces = ranker(solver, **given)
    for start, stop in ((0, 100), (100, 101), (101, 180), (180, 300)):
        pieces.partial_fit(X[start:stop], Y[start:stop])
    np.testing.assert_allclose(pieces.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert pieces.n_steps_ == whole.n_steps_ == 300
    np.testing.assert_array_equal(pieces.label_counts_, Y.sum(axis=0))


def test_the_step_size_found_first_is_kept():
    X, Y = problem()
    model = ranker(learning_rate="auto").partial_fit(X[:200], Y[:200])
    rate = model.learning_rate_
    assert model.partial_fit(X[200:], Y[200:]).learning_rate_ == rate
    assert len(model.history_) == 2


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_is_the_same_model(solver):
    X, Y = problem()
    first, second = (ranker(solver, learning_rate="auto").fit(X, Y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    if solver != "popularity":
        assert (ranker(solver, random_state=1).fit(X, Y).decision_function(X) != first).any()


def test_scores_are_those_of_the_factors():
    X, Y = problem()
    model = ranker().fit(X, Y)
    W = model.label_factors_ @ model.feature_factors_.T
    np.testing.assert_allclose(model.decision_function(X), X @ W.T + model.intercept_, atol=1e-10)
    assert not hasattr(model, "coef_")
    model = ranker("perceptron").fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-10)
    assert not hasattr(model, "label_factors_")
    assert not ranker(fit_intercept=False).fit(X, Y).intercept_.any()


@pytest.mark.parametrize("form", ["dense", "bool", "sparse"])
def test_predictions_are_written_as_y_was(form):
    X, Y = problem()
    Y = {"dense": Y, "bool": Y.astype(bool), "sparse": csr_array(Y.astype(np.float32))}[form]
    model = ranker().fit(X, Y)
    found = model.predict(X)
    assert type(found) is type(Y)
    assert found.dtype == Y.dtype
    assert model.n_predicted_ == round(Y.sum() / 300)
    np.testing.assert_array_equal(np.asarray(found.sum(axis=1)).ravel(), model.n_predicted_)
    numbers, scores = model.top_k(X, model.n_predicted_)
    dense = found.toarray() if form == "sparse" else found
    assert np.take_along_axis(dense, numbers, axis=1).all()
    np.testing.assert_allclose(scores, -np.sort(-model.decision_function(X), axis=1)[:, : model.n_predicted_])


def test_top_k_has_names_and_puts_equal_ones_in_order():
    X, Y = problem(L=4)
    Y[:, :] = 0
    Y[:100, 2], Y[100:150, 0], Y[150:200, 3] = 1, 1, 1
    with pytest.warns(UserWarning, match="1 of 4 labels are true of no row"):
        model = LabelRanker(solver="popularity").fit(X, Y, classes=["sea", "sky", "cat", "dog"])
    labels, counts = model.top_k(X[:2], 4)
    assert labels.tolist() == [["cat", "sea", "dog", "sky"]] * 2
    assert counts.tolist() == [[100, 50, 50, 0]] * 2
    assert model.top_k(X[:1], 2)[0].tolist() == [["cat", "sea"]]
    assert model.intercept_.tolist() == [50, 0, 100, 50]
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 4"):
        model.top_k(X, 5)


def test_a_data_frame_names_its_labels():
    needs("pandas")
    import pandas as pd

    X, Y = problem(L=3)
    frame = pd.DataFrame(Y, columns=["sea", "sky", "cat"])
    model = ranker(n_steps=100).fit(X, frame)
    assert model.classes_.tolist() == ["sea", "sky", "cat"]
    assert model.score(X, frame) == model.score(X, Y)
    with pytest.raises(ValueError, match="column 0 of Y is called 'sky', but label 0 was 'sea' at first"):
        model.score(X, frame[["sky", "sea", "cat"]])


def test_one_class_a_row():
    X, _ = problem()
    y = np.array(["low", "high", "high"])[(X[:, :3].argmax(axis=1))]
    model = LabelRanker(1, random_state=0, n_steps=3000).fit(X, y)
    assert model.decision_function(X).shape == (300,)
    assert model.score(X, y) > 0.8
    np.testing.assert_array_equal(model.predict(X), model.classes_[(model.decision_function(X) > 0).astype(int)])
    words = np.array(["a", "b", "c"])[X[:, :3].argmax(axis=1)]
    stream = ranker(learning_rate=0.3).partial_fit(X[:10], words[:10], classes=["a", "b", "c", "never"])
    stream.partial_fit(X[10:], words[10:])
    assert "never" not in stream.predict(X)
    assert set(stream.top_k(X, 4)[0][:, 3]) == {"never"}


def test_rows_that_teach_nothing_are_passed_over_and_counted():
    X, Y = problem()
    empty, full = np.zeros((3, 15), dtype=int), np.ones((2, 15), dtype=int)
    more = np.vstack([Y, empty, full])
    model = ranker().fit(np.vstack([X, X[:5]]), more)
    assert model.n_skipped_ == 5
    assert model.n_rows_ == 302
    model.partial_fit(X[:3], empty)
    assert model.n_skipped_ == 8
    assert model.score(np.vstack([X, X[:3]]), np.vstack([Y, empty])) == pytest.approx(model.score(X, Y))
    for nothing, why in (
        (empty, "none of the 3 rows has a label"),
        (full, "each of the 2 rows has all 15 labels"),
        (np.vstack([empty, full]), "of 5 rows 3 have no label and the others all 15 labels"),
    ):
        with pytest.raises(ValueError, match=f"nothing to learn from: {why}"):
            ranker().fit(X[: len(nothing)], nothing)


def test_labels_that_nobody_has_come_last():
    X, Y = problem()
    Y[:, [4, 9]] = 0
    Y[Y.sum(axis=1) == 0, 0] = 1
    with pytest.warns(UserWarning, match="2 of 15 labels are true of no row"):
        model = ranker(init="gaussian").fit(X, Y)
    assert (np.sort(model.top_k(X, 15)[0][:, 13:], axis=1) == [4, 9]).all()


@pytest.mark.parametrize("solver", LEARNING)
def test_early_stopping_keeps_the_best(solver, monkeypatch):
    X, Y = problem(n=400, d=30, L=40)
    Y = Y[:, Y.any(axis=0)]
    records, parts = [], []

    def listening(*arguments):
        parts.append(hold_out(*arguments))
        return parts[-1]

    monkeypatch.setattr("nearer.ranking.estimator.hold_out", listening)
    given = {"early_stopping": True, "n_steps": 20_000, "learning_rate": 0.05, "callback": records.append}
    model = ranker(solver, **given).fit(X, Y)
    scores = [record["held_out_score"] for record in model.history_]
    ((_, judge),) = parts
    best = SimpleNamespace(scores=lambda table: model.decision_function(table[:, :-1]))
    assert judge(best)[1]["held_out_score"] == pytest.approx(max(scores))
    assert scores[-1] < max(scores)  # the last was not the best
    steps = [record["n_steps"] for record in records if record["stage"] == "fit"]
    assert steps == [record["n_steps"] for record in model.history_]
    assert len(scores) - 1 - int(np.argmax(scores)) in (5, 19 - int(np.argmax(scores)))
    assert model.n_steps_ == model.history_[-1]["n_steps"]
    assert {"iteration", "n_steps", "loss", "held_out_score", "seconds"} == set(model.history_[0])


def test_a_callback_stops():
    X, Y = problem()
    model = ranker(callback=lambda record: record["n_steps"] >= 300).fit(X, Y)
    assert model.n_steps_ == 300


def test_factors_to_start_from():
    X, Y = problem()
    first = ranker(fit_intercept=False).fit(X, Y)
    pair = first.label_factors_, first.feature_factors_
    again = ranker(fit_intercept=False, init=pair, n_steps=1, learning_rate=1e-9).fit(X, Y)
    np.testing.assert_allclose(again.decision_function(X), first.decision_function(X), atol=1e-6)
    with pytest.raises(
        ValueError, match=r"shapes \(15, 3\), labels by rank, and \(13, 3\), .* the constant one last"
    ):
        ranker(init=pair).fit(X, Y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_saved_model_goes_on_as_if_nothing_had_happened(solver, tmp_path):
    X, Y = problem()
    names = [f"label {number}" for number in range(15)]
    model = ranker(solver).fit(X, csr_array(Y), classes=names)
    model.save(tmp_path / "a.nearer")
    for again in (load_model(tmp_path / "a.nearer"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        assert again.top_k(X, 2)[0].tolist() == model.top_k(X, 2)[0].tolist()
        assert again.history_ == model.history_
        again.partial_fit(X, csr_array(Y))
    further = pickle.loads(pickle.dumps(model)).partial_fit(X, csr_array(Y))
    np.testing.assert_allclose(again.decision_function(X), further.decision_function(X), atol=1e-12)
    assert clone(model).get_params() == model.get_params()


def edited(name, value):
    return lambda record: record["learned"].__setitem__(name, value)


def without(*names):
    def change(record):
        record["arrays"] = [entry for entry in record["arrays"] if entry["name"] not in names]
        for name in names:
            record["learned"].pop(name, None)

    return change


DAMAGED = [
    (
        "loreta",
        without("label_factors_"),
        "its learned attributes are feature_factors_, intercept_factors_, intercept_",
    ),
    ("loreta", without("intercept_"), "its learned attributes are"),
    ("loreta", without("label_factors_", "feature_factors_", "intercept_factors_"), "learning_rate_ is 0.05, and"),
    ("perceptron", without("coef_"), "learning_rate_ is 0.05, and the model is in counts"),
    ("group-perceptron", without("coef_"), "its learned attributes are intercept_, theta_"),
    ("popularity", without("intercept_"), "its learned attributes are none"),
    *[
        ("loreta", without(name), name)
        for name in ("label_counts_", "classes_", "n_steps_", "constant_", "history_")
    ],
    *[
        ("loreta", edited(name, value), f"{name} is {value!r}")
        for name, value in [
            ("n_predicted_", 0),
            ("n_predicted_", 16),
            ("n_predicted_", 2.5),
            ("n_steps_", -1),
            ("n_rows_", "many"),
            ("n_skipped_", None),
            ("n_features_in_", 0),
            ("constant_", 0.0),
            ("learning_rate_", None),
            ("learning_rate_", -0.1),
            ("target_form_", "wide"),
            ("target_dtype_", ""),
            ("target_dtype_", "<U3"),
        ]
    ],
    ("loreta", edited("target_dtype_", "whatever"), "whatever"),
    ("loreta", edited("history_", 7), "history_ is not a list of records"),
    ("popularity", edited("learning_rate_", 0.1), "learning_rate_ is 0.1"),
]


@pytest.mark.parametrize(("solver", "change", "message"), DAMAGED)
def test_a_damaged_file_is_refused(solver, change, message, tmp_path):
    X, Y = problem()
    path = tmp_path / "a.nearer"
    ranker(solver, n_steps=20).fit(X, Y).save(path)
    rewritten(path, change)
    with pytest.raises(ValueError, match=rf"^a\.nearer is damaged: .*{message}"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("label_factors_", np.ones((14, 3))),
        ("label_factors_", np.ones((15, 0))),
        ("label_factors_", np.array(1.0)),
        ("feature_factors_", np.ones((12, 2))),
        ("feature_factors_", np.ones((12, 3), dtype=np.int64)),
        ("intercept_factors_", np.ones(4)),
        ("intercept_", np.ones(14)),
        ("label_counts_", np.ones(15)),
        ("label_counts_", np.full(15, -1)),
        ("classes_", np.zeros(15, dtype=np.int64)),
        ("classes_", np.arange(15).reshape(15, 1)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, array, tmp_path):
    X, Y = problem()
    path = tmp_path / "a.nearer"
    ranker(n_steps=20).fit(X, Y).save(path)
    rewritten(path, add={f"{name}.npy": npy(array)})
    with pytest.raises(ValueError, match=rf"^a\.nearer is damaged: {name} "):
        load_model(path)


def test_a_model_whose_parameters_were_set_anew_is_read(tmp_path):
    X, Y = problem()
    for solver in SOLVERS:
        model = ranker(solver, n_steps=20).fit(X, Y)
        for other in SOLVERS:
            model.set_params(solver=other, rank=2).save(tmp_path / "a.nearer")
            again = load_model(tmp_path / "a.nearer")
            np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_thousands_of_labels_and_features_fit_into_memory():
    L = n = 20_000
    random = np.random.default_rng(0)
    X = csr_array(random_table(400, n, density=20 / n, random_state=0))
    places = random.integers(0, L, (400, 3))
    Y = csr_array((np.ones(1200), places.ravel(), np.arange(401) * 3), shape=(400, L))
    Y.sum_duplicates()
    Y.data[:] = 1.0
    for negatives, init in (("warp", "ridge"), ("all", "zero")):
        model = LabelRanker(5, negatives=negatives, init=init, learning_rate=0.1, n_steps=400, random_state=0)
        tracemalloc.start()
        with pytest.warns(UserWarning, match="true of no row"):
            model.fit(X, Y)
        model.top_k(X, 5)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4e8  # labels by features would be 3.2e9 bytes


def test_a_refused_fit_leaves_the_model_as_it_was():
    X, Y = problem()
    model = ranker().fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="row 0, column 2 is 7"):
        model.fit(X, np.where(Y == 0, 0, 7) * 0 + [[0, 0, 7, *[0] * 12]])
    np.testing.assert_array_equal(model.decision_function(X), before)

    def interrupt(record):
        raise KeyboardInterrupt

    model.callback = interrupt
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.n_steps_ == 2000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"solver": "sgd"}, "unknown solver 'sgd'"),
        ({"rank": None}, "rank must be a positive integer for solver='loreta'; got None"),
        ({"rank": 0}, "rank must be 'auto', a positive integer or None; got 0"),
        ({"rank": 14}, "rank=14 is more than a matrix of 15 labels by 13 features can have, the constant"),
        (
            {"rank": 13, "fit_intercept": False},
            "rank=13 is more than a matrix of 15 labels by 12 features can have:",
        ),
        ({"init": "random"}, "init must be 'ridge', 'zero', 'identity', 'gaussian' or a pair"),
        ({"negatives": "some"}, "negatives must be 'all' or 'warp'"),
        ({"learning_rate": -1.0}, "learning_rate must be 'auto' or a number > 0; got -1.0"),
        ({"n_steps": 0}, "n_steps must be None or a positive integer"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number between 0 and 1"),
        ({"callback": 3}, "callback must be None or a function"),
    ],
)
def test_parameters_that_cannot_be(given, message):
    X, Y = problem()
    with pytest.raises(ValueError, match=message):
        LabelRanker(**{"rank": 3, **given}).fit(X, Y)


def test_labels_that_cannot_be():
    X, Y = problem()
    wrong = [
        (Y + 0.5, "indicator matrix of 0 and 1; row 0, column 0 is"),
        (np.where(Y, np.nan, 0), "indicator matrix of 0 and 1; row 0, column .* is nan"),
        (np.full((300, 2), "x"), "indicator matrix of 0 and 1; got entries of <U1"),
        (csr_array((np.ones(4), [0, 0, 1, 1], [0, 2, *[4] * 299]), shape=(300, 3)), "row 0, column 0 is 2"),
        (Y[:10], "inconsistent numbers of samples"),
        (np.zeros((300, 2, 2)), "a table of rows by labels or one class per row"),
        ([[0], *[[0, 1]] * 299], "MultiLabelBinarizer"),
        ([{0, 1}, {2}] * 150, "MultiLabelBinarizer"),
        ([(0, 1), (2,)] * 150, "MultiLabelBinarizer"),
        (np.array([[0, 1], [2]] * 150, dtype=object), "MultiLabelBinarizer"),
        (csr_array(Y[:, :1]), "at least two labels"),
        (np.zeros(300), "at least two classes"),
    ]
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            ranker().fit(X, given)
        with pytest.raises(
            ValueError, match=message if "two classes" not in message else "classes must be passed"
        ):
            ranker().partial_fit(X, given)
    with pytest.raises(ValueError, match="Y has 15 columns, and the names given have shape"):
        ranker().fit(X, Y, classes=["a"])
    with pytest.raises(ValueError, match="two labels have the same name"):
        ranker().fit(X, Y, classes=["a"] * 15)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        ranker().partial_fit(X, Y[:, 0])
    model = ranker().fit(X, Y)
    with pytest.raises(ValueError, match="Y has 14 columns, but had 15 labels at first"):
        model.partial_fit(X, Y[:, 1:])
    with pytest.raises(ValueError, match="Y was an indicator matrix of 15 labels at first; got one class per row"):
        model.partial_fit(X, Y[:, 0])
    stream = ranker().partial_fit(X, Y[:, 0], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="row 3 has the class 5, which is not among the 3 classes"):
        stream.partial_fit(X[:4], [0, 1, 0, 5])
    words = ranker("perceptron").partial_fit(X[:4], ["a", "b", "a", "b"], classes=["a", "b"])
    with pytest.raises(ValueError, match="row 1 has the class 'z', which"):
        words.partial_fit(X[:2], np.array(["a", "z"], dtype=object))


def test_weights_of_rows():
    X, Y = problem()
    weights = np.arange(300.0)
    for model, true in ((ranker().fit(X, Y), Y), (ranker("perceptron").fit(X, Y[:, 0]), Y[:, 0])):
        whole = np.repeat(np.arange(300), weights.astype(int))
        assert model.score(X, true, weights) == pytest.approx(model.score(X[whole], true[whole]))
        with pytest.raises(ValueError, match=r"X has 300 rows, and it has shape \(7,\)"):
            model.score(X, true, np.ones(7))
        with pytest.raises(ValueError, match="not negative; row 2 has -1"):
            model.score(X, true, np.where(np.arange(300) == 2, -1, 1))
    weights[:] = 0
    with pytest.raises(ValueError, match="sample_weight is 0 for every row"):
        ranker().fit(X, Y).score(X, Y, weights)


def test_going_on_from_another_model_is_refused():
    X, Y = problem()
    with pytest.raises(ValueError, match="another solver has learned this model"):
        ranker("perceptron").fit(X, Y).set_params(solver="loreta").partial_fit(X, Y)
    with pytest.raises(ValueError, match="another solver has learned this model"):
        ranker().fit(X, Y).set_params(solver="popularity").partial_fit(X, Y)
    with pytest.raises(ValueError, match="rank=2 cannot continue from a model of rank 3"):
        ranker().fit(X, Y).set_params(rank=2).partial_fit(X, Y)
    with pytest.raises(ValueError, match="fit_intercept=False cannot continue"):
        ranker().fit(X, Y).set_params(fit_intercept=False).partial_fit(X, Y)


def test_steps_that_are_too_large_are_named():
    X, Y = problem()
    with pytest.raises(ValueError, match="a smaller learning_rate"):
        ranker(solver="perceptron", learning_rate=1e307, negatives="all").fit(100 * X, Y)
    short = ranker(learning_rate=1e300, negatives="all", init="identity").fit(X, Y)  # steps within reach
    assert np.isfinite(short.label_factors_ @ short.feature_factors_.T).all()
    with pytest.raises(ValueError, match="the largest feature is 1e\\+70"):
        ranker().fit(np.full((300, 12), -1e70), Y)
    with pytest.raises(ValueError, match="the largest feature is 1e-70"):
        ranker().partial_fit(csr_array(np.full((300, 12), 1e-70)), Y)


def test_label_ranking_map_is_scikit_learns_average_precision():
    random = np.random.default_rng(0)
    scores, Y = random.normal(size=(900, 300)), random.random((900, 300)) < 0.02
    Y[5] = False
    counted = Y.any(axis=1)
    rows = [average_precision_score(y, s) for y, s in zip(Y[counted], scores[counted], strict=True)]
    assert not counted.all()
    for given in (Y, Y.astype(int), csr_array(Y.astype(float)), csr_matrix(Y.astype(int))):
        assert label_ranking_map(scores, given) == pytest.approx(np.mean(rows))
    ties = np.round(scores)
    rows = [average_precision_score(y, s) for y, s in zip(Y[counted], ties[counted], strict=True)]
    assert label_ranking_map(ties, Y) == pytest.approx(np.mean(rows))
    with pytest.raises(ValueError, match=r"scores have shape .*, Y has shape"):
        label_ranking_map(scores, Y[:, 1:])
    with pytest.raises(ValueError, match="none of the 3 rows of Y has a label"):
        label_ranking_map(np.ones((3, 2)), np.zeros((3, 2)))
    scores[17, 4] = np.nan
    with pytest.raises(ValueError, match="row 17 and label 4 is NaN"):
        label_ranking_map(scores, Y)
