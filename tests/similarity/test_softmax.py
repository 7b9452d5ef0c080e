"""SoftmaxSimilarity: its objective, what it compares, what it chooses, and how it ends."""

import os
import pickle
import signal
import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import StandardScaler

from extras import needs
from model_files import npy, rewritten
from nearer import SoftmaxSimilarity, load_model
from nearer.metrics import mean_average_precision
from nearer.selection import table as table_of_trials
from nearer.similarity.logistic import OUTPUTS, REGULARIZATIONS, WEIGHTS, Logistic
from nearer.similarity.prior import SHRINKAGES
from nearer.simulate import comparisons_from_labels

GIVEN = {"regularization": 0.01, "output": "probabilities", "weight": 0.7, "shrinkage": 0.3}


def blobs(n=150, d=6, n_classes=3, seed=0):
    """Return features of different units, and classes that differ in the first of them."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    middles = 2.5 * np.random.default_rng(7).normal(size=(n_classes, d))
    middles[:, d // 2 :] = 0.0
    X = random.normal(size=(n, d)) + middles[y]
    return X * np.linspace(0.5, 3.0, d) + np.linspace(-2.0, 5.0, d), y


def documents(n=120, seed=0):
    """Return sparse counts of words whose rates differ between three classes."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    rates = np.full((n, 40), 0.15)
    for j in range(5):
        rates[np.arange(n), 5 * y + j] = 1.2
    return csr_array(random.poisson(rates).astype(float)), y


@pytest.fixture(scope="module")
def data():
    return blobs()


@pytest.fixture(scope="module", params=["dense", "dense, as they are", "sparse", "sparse, as they are"])
def model(request):
    X, y = blobs() if request.param.startswith("dense") else documents()
    shrinkage = None if request.param.endswith("as they are") else 0.3
    return SoftmaxSimilarity(**{**GIVEN, "shrinkage": shrinkage}).fit(X, y), X, y


def literal_objective(rows, labels, weights, regularization):
    """Return the mean log loss plus the penalty, object by object; the last row of weights are biases."""
    total = 0.0
    for row, label in zip(rows, labels, strict=True):
        scores = weights[:-1].T @ row + weights[-1]
        total += np.log(np.sum(np.exp(scores))) - scores[label]
    return total / len(rows) + regularization / 2 * np.sum(weights[:-1] ** 2)


def dense(table):
    return table if isinstance(table, np.ndarray) else table.toarray()


def literal_similarity(model, A, B):
    """Return w cos(p, p') + (1 - w) cos(z, z') of every two rows."""

    def classes(table):
        scores = dense(table) @ model.coef_.T + model.intercept_
        if model.output_ == "scores":
            return scores - scores.mean(axis=1, keepdims=True)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities = odds / odds.sum(axis=1, keepdims=True)
        return probabilities if model.output_ == "probabilities" else np.sqrt(probabilities)

    def features(table):
        centered = dense(table) - (0.0 if model.mean_ is None else model.mean_)
        return centered @ model.components_.T if hasattr(model, "components_") else centered

    of_classes, of_features = (cosine_similarity(part(A), part(B)) for part in (classes, features))
    return model.weight_ * of_classes + (1 - model.weight_) * of_features


# The classifier


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_objective_and_its_gradient(kind):
    X, y = blobs(n=40) if kind == "dense" else documents(n=40)
    problem = Logistic(X, y)
    if kind == "dense":
        rows = (X - X.mean(axis=0)) / X.std(axis=0)
    else:  # one scale for all columns
        rows = X.toarray() / np.sqrt((X.toarray() ** 2).mean(axis=0).sum())
    weights = np.random.default_rng(3).normal(size=(X.shape[1] + 1, 3))
    value, gradient = problem.value_and_gradient(weights, 0.2)
    assert value == pytest.approx(literal_objective(rows, y, weights, 0.2), rel=1e-12)
    shape = weights.shape
    error = check_grad(
        lambda w: literal_objective(rows, y, w.reshape(shape), 0.2),
        lambda w: problem.value_and_gradient(w.reshape(shape), 0.2)[1].ravel(),
        weights.ravel(),
    )
    assert error < 1e-5 * np.linalg.norm(gradient)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("regularization", [1.0, 0.01, 1e-4])
def test_probabilities_are_those_of_logistic_regression(n_classes, regularization):
    X, y = blobs(n=210, n_classes=n_classes)
    settings = {**GIVEN, "regularization": regularization, "tol": 1e-12, "max_iter": 5000}
    found = SoftmaxSimilarity(**settings).fit(X, y)
    scaler = StandardScaler().fit(X)
    C = 1 / (regularization * len(y))
    if n_classes == 2:  # scikit-learn has one vector of weights then: twice the penalty of two opposite halves
        C *= 2
    peer = LogisticRegression(C=C, tol=1e-10, max_iter=20_000).fit(scaler.transform(X), y)
    new = blobs(n=60, n_classes=n_classes, seed=5)[0]
    np.testing.assert_allclose(
        found.class_probabilities(new), peer.predict_proba(scaler.transform(new)), atol=1e-3
    )
    assert found.converged_
    np.testing.assert_allclose(found.class_probabilities(new).sum(axis=1), 1.0)


def test_a_constant_column_has_no_weight(data):
    X, y = data
    wide = np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X)), np.full(len(X), 1e9)])
    plain, found = (SoftmaxSimilarity(**GIVEN).fit(table, y) for table in (X, wide))
    assert (found.coef_[:, 6:] == 0).all()
    np.testing.assert_allclose(found.class_probabilities(wide), plain.class_probabilities(X), atol=1e-9)
    np.testing.assert_allclose(found.similarity(wide, wide), plain.similarity(X, X), atol=0.05)


# What is compared


def test_similarities_are_those_of_the_formula(model):
    found, X, _ = model
    table = found.similarity(X, X[:9])
    np.testing.assert_allclose(table, literal_similarity(found, X, X[:9]), atol=1e-12)
    assert (np.abs(table) <= 1 + 1e-12).all()
    np.testing.assert_allclose(np.diag(found.similarity(X, X)), 1.0)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("shrinkage", [None, 0.0, 1.0])
def test_every_setting_is_compared_by_the_formula(output, weight, kind, shrinkage):
    X, y = blobs() if kind == "dense" else documents()
    settings = {"regularization": 0.01, "output": output, "weight": weight, "shrinkage": shrinkage}
    found = SoftmaxSimilarity(**settings).fit(X, y)
    assert {name: getattr(found, f"{name}_") for name in settings} == settings
    assert found.selection_ is None
    table = found.similarity(X, X)
    np.testing.assert_allclose(table, literal_similarity(found, X, X), atol=1e-12)
    assert (np.abs(table) <= 1 + 1e-12).all()
    order = np.argsort(-table, axis=1, kind="stable")[:, :4]
    np.testing.assert_allclose(found.neighbors(X, X, 4)[0], np.take_along_axis(table, order, axis=1), atol=1e-12)


def test_neighbors_pairs_and_comparisons_agree_with_similarity(model):
    found, X, y = model
    table = found.similarity(X, X)
    values, numbers = found.neighbors(X[:20], X, 6)
    order = np.argsort(-table[:20], axis=1, kind="stable")[:, :6]
    np.testing.assert_allclose(values, np.take_along_axis(table[:20], order, axis=1), atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(table[:20], numbers, axis=1), values, atol=1e-12)
    own = table.copy()
    np.fill_diagonal(own, -np.inf)
    np.testing.assert_allclose(found.neighbors(None, X, 3)[0], -np.sort(-own, axis=1)[:, :3], atol=1e-12)
    np.testing.assert_allclose(found.pair_score((X[:9], X[9:18])), np.diag(table[:9, 9:18]), atol=1e-12)
    rows = comparisons_from_labels(y, 2000, 8)
    a, b, c = rows.rows.T
    clear = np.abs(table[a, b] - table[a, c]) > 1e-12
    predicted = found.predict_comparisons(X, rows)
    np.testing.assert_array_equal(predicted[clear], np.where(table[a, b] > table[a, c], 1, -1)[clear])
    assert found.score_comparisons(X, rows) == np.mean(predicted == 1)
    assert found.score(X, y) == pytest.approx(mean_average_precision(table, y))


def test_an_index_finds_what_the_search_finds():
    needs("usearch")
    X, y = blobs(n=2000)
    found = SoftmaxSimilarity(**GIVEN).fit(X, y)
    index = found.index(X)
    assert index.recall_ > 0.8
    values, numbers = found.neighbors(X[:50], index, 5)
    np.testing.assert_allclose(values, np.take_along_axis(found.similarity(X[:50], X), numbers, axis=1), atol=1e-9)
    for other in ({"weight": 0.2}, {"shrinkage": 0.9}, {"output": "scores"}, {"regularization": 0.1}):
        with pytest.raises(ValueError, match="made by another model"):
            SoftmaxSimilarity(**{**GIVEN, **other}).fit(X, y).neighbors(X[:5], index, 3)


def test_sparse_tables_of_either_kind_are_the_same_and_stay_as_they_are():
    X, y = documents()
    kept = X.copy()
    found = SoftmaxSimilarity(**GIVEN).fit(X, y)
    again = SoftmaxSimilarity(**GIVEN).fit(csr_matrix(X), y)
    np.testing.assert_array_equal(found.similarity(X, X), again.similarity(csr_matrix(X), X))
    assert (kept != X).nnz == 0
    assert found.mean_ is None
    np.testing.assert_allclose(found.similarity(X.toarray(), X), found.similarity(X, X), atol=1e-12)
    dense_one = SoftmaxSimilarity(**GIVEN).fit(X.toarray(), y)
    np.testing.assert_allclose(
        dense_one.similarity(X, X), dense_one.similarity(X.toarray(), X.toarray()), atol=1e-12
    )


def test_units_of_the_columns_do_not_matter(data):
    X, y = data
    units = 10.0 ** np.array([6, -6, 0, 3, -6, 6])
    for settings in (GIVEN, {"shrinkage": 0.3, "random_state": 0}):
        plain, found = (SoftmaxSimilarity(**settings).fit(table, y) for table in (X, X * units))
        np.testing.assert_allclose(found.similarity(X * units, X * units), plain.similarity(X, X), atol=1e-6)


def test_it_has_no_projection(model):
    found, X, _ = model
    assert not hasattr(found, "transform")
    assert not hasattr(found, "distance")
    with pytest.raises(NotFittedError):
        clone(found).similarity(X, X)
    with pytest.raises(NotFittedError):
        clone(found).class_probabilities(X)


# What is chosen


def test_what_is_chosen_is_the_best_of_what_was_tried(data):
    X, y = data
    found = SoftmaxSimilarity(random_state=0).fit(X, y)
    (chosen,) = (record for record in found.selection_ if record["chosen"])
    for name in ("regularization", "output", "weight", "shrinkage", "discriminant"):
        assert getattr(found, f"{name}_") == chosen[name]
    finals = [record for record in found.selection_ if record["output"] is not None]
    assert chosen["error"] == min(record["error"] for record in finals)
    shrinkages = [record for record in found.selection_ if record["output"] is None]  # features only
    assert {record["weight"] for record in shrinkages} == {0.0}
    best = min(shrinkages, key=lambda record: record["error"])
    assert (chosen["shrinkage"], chosen["discriminant"]) == (best["shrinkage"], best["discriminant"])
    assert {record["regularization"] for record in finals} == set(REGULARIZATIONS)
    assert {record["output"] for record in finals} == set(OUTPUTS)
    assert {record["weight"] for record in finals} == set(WEIGHTS)
    assert all(record["n_folds"] == 5 for record in found.selection_)
    tried = [tuple(record[name] for name in (*GIVEN, "discriminant")) for record in found.selection_]
    assert len(set(tried)) == len(tried)
    assert table_of_trials(found).splitlines()[0].split()[:5] == [
        "shrinkage",
        "discriminant",
        "regularization",
        "output",
        "weight",
    ]
    assert len(table_of_trials(found, most=100).splitlines()) == 1 + len(tried)


@pytest.mark.parametrize(
    ("name", "value"),
    [("regularization", 0.05), ("output", "roots"), ("weight", 0.25), ("shrinkage", 0.55), ("shrinkage", None)],
)
def test_a_setting_that_is_given_is_kept(data, name, value):
    found = SoftmaxSimilarity(**{name: value}, random_state=0).fit(*data)
    assert getattr(found, f"{name}_") == value
    assert getattr(found, name) == value
    assert found.selection_


def test_learning_helps_objects_of_known_classes():
    X, y = load_wine(return_X_y=True)
    found = SoftmaxSimilarity(random_state=0).fit(X[::2], y[::2])
    new, of = X[1::2], y[1::2]
    scaled = StandardScaler().fit(X[::2]).transform(new)
    assert found.score(new, of) > mean_average_precision(cosine_similarity(scaled), of) + 0.03


def test_classes_are_held_out_where_asked_for():
    X, y = blobs(n=240, n_classes=8)
    seen, unseen = (
        SoftmaxSimilarity(validation=which, random_state=0).fit(X, y) for which in ("objects", "classes")
    )
    assert unseen.selection_[0]["n_folds"] == 3
    assert seen.selection_[0]["n_folds"] == 5
    assert [r["error"] for r in seen.selection_] != [r["error"] for r in unseen.selection_]
    small = SoftmaxSimilarity(random_state=0).fit(
        X[:24], y[:24]
    )  # three objects per class: new ones are of new classes
    asked = SoftmaxSimilarity(validation="classes", random_state=0).fit(X[:24], y[:24])
    assert small.selection_ == asked.selection_


def test_the_same_seed_gives_the_same_model(data):
    X, y = data
    one, other = (SoftmaxSimilarity(random_state=4).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.similarity(X, X), other.similarity(X, X))
    assert one.selection_ == other.selection_
    third = SoftmaxSimilarity(random_state=5).fit(X, y)
    assert [r["error"] for r in third.selection_] != [r["error"] for r in one.selection_]


# Odd data


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_two_classes(kind):
    X, y = blobs(n_classes=2) if kind == "dense" else documents()
    y = np.where(y > 0, "yes", "no")
    found = SoftmaxSimilarity(random_state=0).fit(X, y)
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.class_probabilities(X).shape == (X.shape[0], 2)
    assert found.score(X, y) > 0.8


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_classes_of_one_member(kind):
    X, y = blobs(n=60) if kind == "dense" else documents(n=60)
    y = y.copy()
    y[:4] = [10, 11, 12, 13]
    found = SoftmaxSimilarity(random_state=0).fit(X, y)
    assert found.classes_.tolist() == [0, 1, 2, 10, 11, 12, 13]
    assert np.isfinite(found.similarity(X, X)).all()
    with pytest.warns(UserWarning, match="each of the 9 classes in y has one object") as told:
        alone = SoftmaxSimilarity(random_state=0).fit(X[:9], np.arange(9))  # nothing can be judged
    assert told[0].filename == __file__
    assert alone.selection_ is None
    assert np.isfinite(alone.similarity(X, X)).all()


@pytest.mark.filterwarnings("ignore:each of the 2 classes")
@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_few_objects(n):
    X, y = blobs(n=n, n_classes=2)
    assert np.isfinite(SoftmaxSimilarity(random_state=0).fit(X, y).similarity(X, X)).all()


@pytest.mark.parametrize("shape", [(20, 60), (12, 500)])
def test_more_features_than_objects(shape):
    X = np.random.default_rng(0).normal(size=shape)
    for table in (X, csr_array(np.where(X > 1, X, 0.0))):
        found = SoftmaxSimilarity(random_state=0).fit(table, np.arange(shape[0]) % 2)
        np.testing.assert_allclose(
            found.similarity(table, table), literal_similarity(found, table, table), atol=1e-9
        )


def test_equal_rows_and_empty_rows():
    X, y = documents()
    empty = csr_array(X.toarray() * (np.arange(X.shape[0]) > 9)[:, None])
    assert np.isfinite(SoftmaxSimilarity(random_state=0).fit(empty, y).similarity(empty, empty)).all()
    with pytest.raises(ValueError, match="all rows of X are the same"):
        SoftmaxSimilarity().fit(np.ones((20, 3)), np.arange(20) % 2)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(150, dtype=int), "y has one class, .*0.*: a similarity needs at least 2"),
        (None, "requires y to be passed"),
        ([0, 1], "150 rows and y 2 labels"),
        (["a", None] * 75, "got NoneType and str"),
    ],
)
def test_labels_are_checked(data, y, message):
    made = SoftmaxSimilarity()
    with pytest.raises(ValueError, match=message):
        made.fit(data[0], y)
    assert not hasattr(made, "n_features_in_")


def test_comparisons_are_not_taken(data):
    X, y = data
    with pytest.raises(TypeError, match="comparisons"):
        SoftmaxSimilarity().fit(X, comparisons=comparisons_from_labels(y, 50, 0))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": 0}, "regularization must be 'auto' or a number > 0; got 0"),
        ({"output": "logits"}, "output must be 'auto', 'probabilities', 'roots' or 'scores'; got 'logits'"),
        ({"weight": 1.5}, "weight must be 'auto' or a number from 0 to 1; got 1.5"),
        ({"shrinkage": -0.1}, "shrinkage must be 'auto', None or a number from 0 to 1; got -0.1"),
        ({"validation": "answers"}, "validation must be"),
        ({"max_iter": 0}, "max_iter must be a positive integer; got 0"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_seconds": 0}, "max_seconds must be None or a number > 0; got 0"),
        ({"callback": 3}, "callback must be"),
    ],
)
def test_parameters_are_checked(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        SoftmaxSimilarity(**parameters).fit(*data)


def test_a_fit_that_fails_leaves_the_model_as_it_was(data):
    X, y = data
    found = SoftmaxSimilarity(**GIVEN).fit(X, y)
    before = found.similarity(X, X)
    with pytest.raises(ValueError, match="one class"):
        found.fit(X[:, :3], np.zeros(len(y)))
    np.testing.assert_array_equal(found.similarity(X, X), before)


# Names, files


def test_names_of_features(data, tmp_path):
    needs("pandas")
    import pandas as pd

    X, y = data
    frame = pd.DataFrame(X).add_prefix("size ")
    found = SoftmaxSimilarity(**GIVEN).fit(frame, y)
    assert found.feature_names_in_.tolist() == frame.columns.tolist()
    found.save(tmp_path / "m.nearer")
    assert load_model(tmp_path / "m.nearer").feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        found.similarity(frame.add_prefix("a "), frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.pair_score((frame[:3], frame[3:6]))


@pytest.mark.parametrize("settings", [GIVEN, {"random_state": 0}])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_saved_loaded_and_pickled(kind, settings, tmp_path):
    X, y = blobs() if kind == "dense" else documents()
    found = SoftmaxSimilarity(**settings).fit(X, np.array(["a", "b", "c"])[y])
    found.save(tmp_path / "m.nearer")
    again = load_model(tmp_path / "m.nearer")
    again.save(tmp_path / "again.nearer")
    assert (tmp_path / "again.nearer").read_bytes() == (tmp_path / "m.nearer").read_bytes()
    for copy in (again, pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(copy.similarity(X, X), found.similarity(X, X))
        np.testing.assert_array_equal(copy.class_probabilities(X), found.class_probabilities(X))
        assert copy.classes_.tolist() == ["a", "b", "c"]
        assert copy.get_params() == found.get_params()
        assert copy.history_ == found.history_
        assert copy.selection_ == found.selection_
        np.testing.assert_array_equal(copy.fit(X, y).similarity(X, X), found.similarity(X, X))


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("coef_", np.ones((2, 6))),
        ("intercept_", np.ones(2)),
        ("components_", np.ones((6, 5))),
        ("mean_", np.ones(5)),
    ],
)
def test_arrays_that_do_not_fit(data, tmp_path, name, array):
    SoftmaxSimilarity(**GIVEN).fit(*data).save(tmp_path / "a.nearer")
    rewritten(tmp_path / "a.nearer", add={f"{name}.npy": npy(array)})
    with pytest.raises(ValueError, match=r"^a\.nearer is damaged: "):
        load_model(tmp_path / "a.nearer")


@pytest.mark.parametrize(("name", "value"), [("output_", "logits"), ("weight_", 2.0), ("weight_", None)])
def test_values_that_cannot_be(data, tmp_path, name, value):
    SoftmaxSimilarity(**GIVEN).fit(*data).save(tmp_path / "a.nearer")
    rewritten(tmp_path / "a.nearer", lambda record: record["learned"].update({name: value}))
    with pytest.raises(ValueError, match=rf"^a\.nearer is damaged: {name} is {value!r}"):
        load_model(tmp_path / "a.nearer")


def test_settings_of_another_fit_do_not_stay(data):
    X, y = data
    found = SoftmaxSimilarity(random_state=0).fit(X, y)
    found.set_params(**{**GIVEN, "shrinkage": None}).fit(X, y)
    assert not hasattr(found, "components_")
    assert (found.mean_, found.selection_) == (None, None)
    np.testing.assert_allclose(found.similarity(X, X), literal_similarity(found, X, X), atol=1e-12)


# How it ends


def test_history(data):
    found = SoftmaxSimilarity(**GIVEN).fit(*data)
    assert [record["iteration"] for record in found.history_] == list(range(found.n_iter_ + 1))
    losses = [record["loss"] for record in found.history_]
    assert losses[0] == pytest.approx(np.log(3))
    assert losses == sorted(losses, reverse=True)
    assert (found.converged_, found.stop_reason_) == (True, "converged")
    with pytest.warns(ConvergenceWarning, match="ended after 2 iterations .*: raise max_iter or tol") as told:
        SoftmaxSimilarity(**GIVEN, max_iter=2).fit(*data)
    assert told[0].filename == __file__


def test_a_callback_ends_the_fit(data):
    seen = []

    def third(record):
        seen.append(record)
        return record["stage"] == "fit" and record["iteration"] == 3

    found = SoftmaxSimilarity(random_state=0, callback=third).fit(*data)
    assert (found.n_iter_, found.stop_reason_, found.converged_) == (3, "callback", False)
    assert [{"stage": "fit", **record} for record in found.history_] == seen[-4:]
    assert {record["stage"] for record in seen[:-4]} == {"choosing settings"}


@pytest.mark.parametrize("n_reports", [1, 3, 23, 28])
def test_a_search_that_is_ended_keeps_what_it_learned(data, n_reports):
    X, y = data
    seen = []

    def stop(record):
        seen.append(record)
        return len(seen) == n_reports

    found = SoftmaxSimilarity(random_state=0, callback=stop).fit(X, y)
    assert found.stop_reason_ == "callback"
    whole = SoftmaxSimilarity(random_state=0).fit(X, y)
    assert len(found.selection_) < len(whole.selection_)
    settings = {"weight": 0.0, "shrinkage": found.shrinkage_, "discriminant": found.discriminant_}
    features = SoftmaxSimilarity(**{**GIVEN, **settings}).fit(X, y)
    if n_reports > 2 * len(SHRINKAGES):  # while λ was chosen: the classifier is that of a fold
        assert found.score(X, y) > features.score(X, y) + 0.05
    else:  # while the shrinkage was chosen: there is no classifier yet
        assert found.score(X, y) == pytest.approx(features.score(X, y))


def test_a_fit_ends_in_time(clock):
    clock.tick = 1e-3  # seconds from one look at the clock to the next
    X, y = blobs(n=300, d=20, n_classes=10)
    found = SoftmaxSimilarity(max_seconds=0.3, tol=0.0, max_iter=100_000, random_state=0).fit(X, y)
    assert found.stop_reason_ == "time"
    assert found.n_iter_ > 0  # the search leaves time for the fit
    assert len(found.selection_) < 10 + len(REGULARIZATIONS) * len(OUTPUTS) + len(WEIGHTS)
    assert np.isfinite(found.similarity(X[:9], X)).all()


@pytest.mark.parametrize("stage", ["choosing settings", "fit"])
def test_ctrl_c_keeps_what_was_learned(data, stage):
    X, y = data

    def interrupt(record):
        if record["stage"] == stage and record["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    found = SoftmaxSimilarity(random_state=0, callback=interrupt).fit(X, y)
    assert found.stop_reason_ == "interrupted"
    assert found.n_iter_ == (2 if stage == "fit" else 0)
    assert found.score(X, y) > 0.5  # by chance: a third


def test_verbose_shows_a_bar(data, capsys):
    SoftmaxSimilarity(random_state=0, verbose=True).fit(*data)
    assert "loss" in capsys.readouterr().err
