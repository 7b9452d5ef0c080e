"""The default BilinearSimilarity: whitening, the matrix learned on top of it, and how both are chosen."""

import signal
import warnings

import numpy as np
import pytest
from literal_prior import cosines, discriminants, objective, whitened
from scipy.optimize import minimize
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse import random as random_sparse
from sklearn.datasets import load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize
from test_logdet import labelled

from extras import needs
from nearer import BilinearSimilarity, Comparisons, load_model
from nearer.metrics import mean_average_precision
from nearer.monitor import Monitor
from nearer.selection.folds import MAX_HELD_OUT
from nearer.similarity import prior
from nearer.similarity.prior import Refinement, Whitening
from nearer.similarity.validation import make_folds
from nearer.simulate import comparisons_from_labels

GIVEN = {"shrinkage": 0.3, "regularization": 0.01, "n_triplets": 500, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, y = labelled(n=120)
    return X * [1.0, 10.0, 0.1, 3.0] + [5.0, -100.0, 0.0, 7.0], y


@pytest.fixture(scope="module")
def default(data):
    return BilinearSimilarity(random_state=0).fit(*data)


@pytest.fixture(scope="module")
def texts():
    """Word counts of 20,000 words; each topic prefers a hundred of them."""
    random = np.random.default_rng(0)
    y = np.arange(240) % 4
    table = random_sparse(240, 20_000, density=0.001, random_state=1, format="lil")
    for row, topic in enumerate(y):
        table[row, 100 * topic + random.choice(100, 4, replace=False)] = 1.0
    return csr_array(table), y


# The whitening and the objective, term by term.


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("with_labels", [True, False])
def test_the_whitening_is_the_literal_one(data, shrinkage, with_labels):
    X, y = data
    labels = y if with_labels else None
    found = Whitening(X, labels).map(shrinkage).apply(X)
    np.testing.assert_allclose(cosines(found), cosines(whitened(X, labels, shrinkage)), atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)


@pytest.mark.parametrize("shrinkage", [0.0, 0.1, 0.7])
def test_discriminants_are_those_of_lda(data, shrinkage):
    X, y = data
    found = Whitening(X, y).map(shrinkage, discriminant=True)
    assert found.weights.shape == (4, 2)  # three classes
    np.testing.assert_allclose(cosines(found.apply(X)), cosines(discriminants(X, y, shrinkage)), atol=1e-9)
    if shrinkage == 0.0:
        lda = LinearDiscriminantAnalysis(solver="svd").fit(X, y)
        axes = np.linalg.qr(np.hstack([found.weights, lda.scalings_[:, :2]]))[1]
        assert abs(axes[2:, 2:]).max() < 1e-8 * abs(axes).max()  # they span the same plane


def test_classes_that_span_all_features_have_no_discriminants(data):
    X, y = data
    whitening = Whitening(X[:, :2], y)
    assert not whitening.has_discriminants
    np.testing.assert_array_equal(whitening.map(0.1, discriminant=True).weights, whitening.map(0.1).weights)
    model = BilinearSimilarity(n_triplets=500, random_state=0).fit(X[:, :2], y)
    assert not any(record["discriminant"] for record in model.selection_)
    assert model.discriminant_ is False


@pytest.mark.parametrize(("n_classes", "projects"), [(5, False), (6, True)])
def test_discriminants_of_few_classes_are_not_for_new_ones(n_classes, projects):
    random = np.random.default_rng(0)
    y = np.arange(20 * n_classes) % n_classes
    X = random.normal(size=(n_classes, 8))[y] + random.normal(size=(len(y), 8))
    for validation, wanted in (("classes", projects), ("objects", True)):
        model = BilinearSimilarity(validation=validation, n_triplets=300, random_state=0).fit(X, y)
        assert any(record["discriminant"] for record in model.selection_) is wanted
    asked = BilinearSimilarity(discriminant=True, validation="classes", n_triplets=300, random_state=0).fit(X, y)
    assert any(record["discriminant"] for record in asked.selection_)


def test_the_objective_and_its_gradient_are_the_literal_ones():
    random = np.random.default_rng(0)
    U = normalize(random.normal(size=(12, 4)))
    rows = np.array([random.choice(12, 3, replace=False) for _ in range(30)])
    weights = random.uniform(0.1, 2.0, 30)
    M = random.normal(size=(4, 4)) / 3
    M = M + M.T
    problem = Refinement(U, Comparisons(rows, weights=weights))
    value, gradient = problem.value_and_gradient(M, 0.07)
    wanted, wanted_gradient = objective(U, rows, weights / weights.sum(), M, 0.07)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(gradient, wanted_gradient, atol=1e-12)
    for _ in range(5):
        E = random.normal(size=(4, 4))
        E = 1e-5 * (E + E.T)
        up, down = (objective(U, rows, weights / weights.sum(), M + sign * E, 0.07)[0] for sign in (1, -1))
        assert np.vdot(gradient, E) == pytest.approx(0.5 * (up - down), rel=1e-4)


@pytest.mark.parametrize("regularization", [0.3, 0.01, 1e-4])
def test_the_fit_reaches_the_minimum_and_its_gap_bounds_the_excess(data, regularization):
    X, y = data
    U = whitened(X, y, 0.3)
    triplets = comparisons_from_labels(y, 60, 0)
    shares = np.full(60, 1 / 60)

    def flat(values):
        M = values.reshape(4, 4)
        value, gradient = objective(U, triplets.rows, shares, 0.5 * (M + M.T), regularization)
        return value, gradient.ravel()

    least = minimize(flat, np.zeros(16), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    with Monitor(500, 1e-10) as monitor:
        matrix = Refinement(U, triplets).fit(regularization, None, monitor)
    assert monitor.converged
    np.testing.assert_array_equal(matrix, matrix.T)
    value, _ = objective(U, triplets.rows, shares, matrix, regularization)
    assert value == pytest.approx(monitor.history[-1]["loss"], rel=1e-10)
    assert abs(value - least.fun) < 1e-8
    np.testing.assert_allclose(matrix, least.x.reshape(4, 4), atol=1e-3)
    assert monitor.history[0]["loss"] > least.fun + 0.01
    for record in monitor.history:
        assert record["loss"] - least.fun <= record["gap"] + 1e-8


def test_the_estimator_is_the_literal_similarity(data):
    X, y = data
    triplets = comparisons_from_labels(y, 80, 0)
    model = BilinearSimilarity(shrinkage=0.3, regularization=0.01, tol=1e-9).fit(X, comparisons=triplets)
    U = whitened(X, None, 0.3)

    def flat(values):
        M = values.reshape(4, 4)
        value, gradient = objective(U, triplets.rows, np.full(80, 1 / 80), 0.5 * (M + M.T), 0.01)
        return value, gradient.ravel()

    least = minimize(flat, np.zeros(16), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    values, vectors = np.linalg.eigh(np.eye(4) + least.x.reshape(4, 4))
    points = U @ vectors * np.sqrt(np.maximum(values, 0.0))
    np.testing.assert_allclose(model.similarity(X, X), cosines(points), atol=1e-3)
    assert model.history_[-1]["loss"] == pytest.approx(least.fun, abs=1e-8)
    assert model.gap_ == model.history_[-1]["gap"] <= 1e-9


def test_nothing_learned_is_exactly_the_cosine(data):
    X, y = data
    for settings in ({"regularization": np.inf}, {}):
        model = BilinearSimilarity(shrinkage=None, **settings).fit(X, y)
        np.testing.assert_array_equal(model.similarity(X, X), normalize(X) @ normalize(X).T)
        np.testing.assert_array_equal(model.matrix_, np.eye(4))
        np.testing.assert_allclose(model.transform(X), normalize(X), rtol=1e-14)
        assert (model.shrinkage_, model.regularization_, model.gap_) == (None, np.inf, 0.0)
        assert model.mean_ is None
        assert model.converged_


def test_a_shrinkage_of_one_is_the_cosine_of_standardized_features(data):
    X, y = data
    model = BilinearSimilarity(shrinkage=1, regularization=np.inf).fit(X, y)
    np.testing.assert_allclose(model.similarity(X, X), cosines(StandardScaler().fit_transform(X)), atol=1e-12)


@pytest.mark.parametrize("regularization", [0.01, np.inf])
def test_units_and_offsets_do_not_matter(data, regularization):
    X, y = data
    settings = {**GIVEN, "regularization": regularization, "tol": 1e-8}
    similarity = BilinearSimilarity(**settings).fit(X, y).similarity(X, X)
    for changed, atol in (
        (X * 1e8, 1e-7),
        (X * 1e-8, 1e-7),
        (X * [1e-8, 1.0, 1e8, 100.0], 1e-7),
        (X + 1e8, 1e-4),  # of the fourth column, of spread 0.4, seven digits are left
    ):
        found = BilinearSimilarity(**settings).fit(changed, y).similarity(changed, changed)
        np.testing.assert_allclose(found, similarity, atol=atol)


# What the similarity is.


def test_it_is_a_symmetric_cosine_and_a_projection(data, default):
    X, _ = data
    new = X + np.random.default_rng(1).normal(size=X.shape)
    scores = default.similarity(new, new)
    assert np.abs(scores).max() <= 1 + 1e-12
    np.testing.assert_allclose(scores, scores.T, atol=1e-14)
    np.testing.assert_allclose(np.diag(scores), 1.0)
    points = default.transform(new)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0)
    np.testing.assert_allclose(points @ points.T, scores, atol=1e-12)
    centered = new - default.mean_
    raw = centered @ default.matrix_ @ centered.T
    lengths = np.sqrt(np.diag(raw))
    np.testing.assert_allclose(raw / np.outer(lengths, lengths), scores, atol=1e-10)
    np.testing.assert_allclose(default.components_.T @ default.components_, default.matrix_, atol=1e-12)
    np.testing.assert_allclose(default.pair_score((new[:5], new[5:10])), np.diag(scores[:5, 5:10]), atol=1e-14)


def test_neighbors_are_those_of_the_whole_table(data, default):
    X, _ = data
    scores = default.similarity(X, X)
    wanted = np.argsort(-scores, axis=1, kind="stable")[:, :6]
    values, numbers = default.neighbors(X, X, 6)
    np.testing.assert_array_equal(numbers, wanted)
    np.testing.assert_allclose(values, np.take_along_axis(scores, wanted, axis=1), atol=1e-12)


def test_an_index_agrees(data, default):
    needs("usearch")
    X, _ = data
    index = default.index(X)
    values, numbers = default.neighbors(X[:20], index, 5)
    assert index.recall_ > 0.95
    np.testing.assert_allclose(values, np.take_along_axis(default.similarity(X[:20], X), numbers, axis=1))
    other = BilinearSimilarity(**GIVEN).fit(*data)
    with pytest.raises(ValueError, match="made by another model"):
        other.neighbors(X[:3], index, 2)


@pytest.mark.parametrize("solver", ["lbfgs", "sdca", "oasis"])
@pytest.mark.parametrize("psd", [False, True])
def test_each_solver_may_be_normalized_or_not(data, solver, psd):
    X, y = data
    X = StandardScaler().fit_transform(X) + 0.5
    settings = {"n_triplets": 500, "regularization": 0.01, "psd": psd, "random_state": 0}
    plain = BilinearSimilarity(solver, normalize=False, **settings).fit(X, y)
    centered = X if plain.mean_ is None else X - plain.mean_
    assert (plain.mean_ is None) == (solver != "lbfgs")
    np.testing.assert_allclose(plain.similarity(X, X), centered @ plain.matrix_ @ centered.T, atol=1e-10)
    assert plain.normalize_ is False
    cosine = BilinearSimilarity(solver, normalize=True, **settings).fit(X, y)
    np.testing.assert_allclose(cosine.matrix_, plain.matrix_)
    values, vectors = np.linalg.eigh(0.5 * (plain.matrix_ + plain.matrix_.T))
    points = centered @ vectors * np.sqrt(np.maximum(values, 0.0))
    np.testing.assert_allclose(cosine.similarity(X, X), cosines(points), atol=1e-8)
    np.testing.assert_allclose(cosine.transform(X) @ cosine.transform(X).T, cosines(points), atol=1e-8)
    by_default = BilinearSimilarity(solver, **settings).fit(X, y)
    assert by_default.normalize_ is (solver == "lbfgs")


def test_another_solver_leaves_nothing_behind(data):
    X, y = data
    model = BilinearSimilarity(**GIVEN).fit(X, y)
    model.set_params(solver="oasis").fit(X, y)
    np.testing.assert_allclose(model.similarity(X, X), X @ model.matrix_ @ X.T)
    assert not hasattr(model, "shrinkage_")
    assert not hasattr(model, "components_")
    model.set_params(solver="lbfgs").fit(X, y)
    fresh = BilinearSimilarity(**GIVEN).fit(X, y)
    np.testing.assert_array_equal(model.similarity(X, X), fresh.similarity(X, X))
    assert set(vars(model)) == set(vars(fresh))


# How settings are chosen.


@pytest.mark.parametrize("n_classes", [3, 4, 7, 30])
def test_held_out_classes_are_new(n_classes):
    y = np.random.default_rng(0).permutation(np.arange(n_classes * 8) % n_classes)
    X = np.arange(len(y), dtype=float)[:, None]
    folds = make_folds(X, y, None, np.random.default_rng(1), validation="classes")
    assert len(folds) == (n_classes if n_classes < 6 else 3)
    queries = []
    for fold in folds:
        assert not set(fold.held_out_labels[fold.is_query]) & set(fold.labels)
        assert not set(fold.held_out.ravel()) & set(fold.table.ravel())
        assert len(np.unique(fold.held_out_labels)) > 1  # others to be told from
        np.testing.assert_array_equal(y[fold.table.ravel().astype(int)], fold.labels)
        np.testing.assert_array_equal(y[fold.held_out.ravel().astype(int)], fold.held_out_labels)
        a, b, c = fold.labels[fold.triplets.rows].T
        assert (a == b).all()
        assert (a != c).all()
        queries += fold.held_out[fold.is_query].ravel().tolist()
    assert sorted(queries) == list(range(len(y)))  # each object once


def test_classes_of_many_sorted_rows_are_all_looked_for():
    y = np.repeat(np.arange(4), 2500)
    folds = make_folds(np.zeros((len(y), 1)), y, None, np.random.default_rng(0), validation="classes")
    queries = [np.unique(fold.held_out_labels[fold.is_query]).tolist() for fold in folds]
    assert sorted(queries) == [[0], [1], [2], [3]]
    assert all(len(fold.held_out_labels) == MAX_HELD_OUT for fold in folds)


def test_a_class_of_one_object_does_not_change_who_is_asked_for():
    y = np.append(np.arange(60) % 3, 77)
    folds = make_folds(np.zeros((61, 1)), y, None, np.random.default_rng(0), validation="objects")
    assert len(folds) == 5
    assert sum(fold.is_query.sum() for fold in folds) == 61


def test_of_two_classes_none_can_be_held_out(data):
    X, y = data
    model = BilinearSimilarity(validation="classes", random_state=0).fit(X[y < 2], y[y < 2])
    assert model.selection_ is None
    assert model.regularization_ == np.inf


def test_small_classes_are_held_out_as_a_whole_by_default():
    random = np.random.default_rng(0)
    for n_classes, by_classes in ((30, True), (10, False)):
        y = np.arange(90) % n_classes
        folds = make_folds(np.zeros((90, 1)), y, None, random)
        assert len(folds) == (3 if by_classes else 5)
        for fold in folds:
            queries = set(fold.held_out_labels[fold.is_query])
            assert bool(queries & set(fold.labels)) != by_classes
            assert len(queries) == 10


def test_comparisons_are_held_out(data):
    X, y = data
    answers = Comparisons(comparisons_from_labels(y, 100, 0).rows, weights=np.arange(1.0, 101.0))
    folds = make_folds(X, None, answers, np.random.default_rng(0))
    assert len(folds) == 5
    for fold in folds:
        assert len(fold.triplets) + len(fold.held_out_triplets) == 100
        losses = fold.losses_of(normalize(X))
        scores = normalize(X) @ normalize(X).T
        a, b, c = fold.held_out_triplets.rows.T
        weights = fold.held_out_triplets.weights
        wrong = scores[a, b] <= scores[a, c]
        assert losses.mean() == pytest.approx(weights[wrong].sum() / weights.sum())


@pytest.mark.parametrize("how", ["objects", "classes"])
def test_held_out_rows_have_no_part_in_the_whitening(data, how, monkeypatch):
    X, y = data
    seen, made = [], []
    real, real_folds = prior.Whitening, make_folds

    def spy(table, labels, weights=None):
        seen.append((table, labels))
        return real(table, labels, weights)

    def keep(*args, **kwargs):
        made.extend(real_folds(*args, **kwargs))
        return made

    monkeypatch.setattr(prior, "Whitening", spy)
    monkeypatch.setattr("nearer.similarity.bilinear.make_folds", keep)
    BilinearSimilarity(validation=how, n_triplets=500, random_state=0).fit(X, y)
    assert len(seen) == len(made) + 1 > 3  # the last is that of the fit
    assert len(seen[-1][0]) == len(X)
    for (table, labels), fold in zip(seen[:-1], made, strict=True):
        assert len(table) == len(labels) < len(X)
        assert not {tuple(row) for row in table} & {tuple(row) for row in fold.held_out[fold.is_query]}


def test_what_the_search_tried_is_kept(data, default):
    X, y = data
    records = default.selection_
    assert records[0]["shrinkage"] is None
    maps, learned = records[:19], records[19:]
    for kind, shrinkages in ((False, prior.SHRINKAGES), (True, prior.SHRINKAGES[1:])):
        of_kind = [r for r in maps if r["discriminant"] is kind]
        assert [r["shrinkage"] for r in of_kind] == list(shrinkages)
        path = [r for r in learned if r["discriminant"] is kind]
        assert [r["regularization"] for r in path] == list(prior.REGULARIZATIONS[: len(path)])
        assert len(path) >= 2
        best = min((r for r in of_kind if r["shrinkage"] is not None), key=lambda record: record["error"])
        assert {r["shrinkage"] for r in path} == {best["shrinkage"]}
    assert all(r["regularization"] == np.inf for r in maps)
    (chosen,) = [r for r in records if r["chosen"]]
    for name in ("shrinkage", "discriminant", "regularization"):
        assert chosen[name] == getattr(default, f"{name}_")
    assert chosen["error"] == min(r["error"] for r in records)
    assert {r["n_folds"] for r in records} == {5}
    # The error is that of the cosine itself on held-out objects.
    folds_error = 1 - mean_average_precision(normalize(X) @ normalize(X).T, y)
    assert records[0]["error"] == pytest.approx(folds_error, abs=0.15)
    assert BilinearSimilarity(**GIVEN).fit(X, y).selection_ is None


def test_one_setting_may_be_given(data):
    X, y = data
    model = BilinearSimilarity(shrinkage=0.5, n_triplets=500, random_state=0).fit(X, y)
    assert {r["shrinkage"] for r in model.selection_} == {0.5} == {model.shrinkage_}
    assert not any(r["discriminant"] for r in model.selection_)
    for kind in (True, False):
        model = BilinearSimilarity(discriminant=kind, n_triplets=500, random_state=0).fit(X, y)
        assert {r["discriminant"] for r in model.selection_ if r["shrinkage"] is not None} == {kind}
    model = BilinearSimilarity(regularization=0.02, n_triplets=500, random_state=0).fit(X, y)
    assert model.regularization_ == 0.02
    assert [r["regularization"] for r in model.selection_] == [np.inf] * 18 + [0.02] * 2
    assert sum(r["chosen"] for r in model.selection_[18:]) == 1
    model = BilinearSimilarity(regularization=np.inf, n_triplets=500, random_state=0).fit(X, y)
    assert {r["regularization"] for r in model.selection_} == {np.inf}
    assert len(model.selection_) == 19


def test_the_same_seed_gives_the_same_model(data):
    X, y = data
    a, b, c = (BilinearSimilarity(n_triplets=300, random_state=seed).fit(X, y) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.similarity(X, X), b.similarity(X, X))
    assert a.selection_ == b.selection_
    assert (a.similarity(X, X) != c.similarity(X, X)).any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shrinkage": 1.5}, "shrinkage must be 'auto', None or a number from 0 to 1; got 1.5"),
        ({"shrinkage": "none"}, "shrinkage must be 'auto', None or a number from 0 to 1; got 'none'"),
        ({"shrinkage": True}, "shrinkage must be"),
        ({"validation": "folds"}, "validation must be 'auto', 'objects' or 'classes'; got 'folds'"),
        ({"normalize": 1}, "normalize must be None, True or False; got 1"),
        ({"regularization": 0}, "regularization must be 'auto', a number > 0 or infinity; got 0"),
        ({"regularization": -np.inf}, "regularization must be .* got -inf"),
        ({"regularization": np.nan}, "regularization must be .* got nan"),
        ({"shrinkage": None, "regularization": 0.1}, "learns nothing: regularization must be .* got 0.1"),
        ({"solver": "sdca", "regularization": np.inf}, "an infinite regularization is for solver='lbfgs'"),
        ({"max_iter": 0}, "max_iter must be None or a positive integer; got 0"),
        ({"tol": -1.0}, "tol must be a number >= 0; got -1.0"),
        ({"max_seconds": -1}, "max_seconds must be"),
        ({"sampling": "pairs"}, "sampling must be 'instances' or 'classes'; got 'pairs'"),
        ({"solver": "adam"}, "solver must be 'lbfgs', 'sdca', 'oasis' or an object with the method solve"),
    ],
)
def test_parameters_are_checked(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        BilinearSimilarity(**parameters).fit(*data)


# Fits that are cut short, and small or odd tables.


@pytest.mark.parametrize("last", [1, 2, 6, 11, 14, 22])
@pytest.mark.parametrize("how", ["callback", "interrupted"])
def test_a_fit_that_is_cut_short_keeps_what_was_learned(data, last, how):
    X, y = data
    told = []

    def stop(record):
        told.append(record)
        if len(told) == last and how == "interrupted":
            signal.raise_signal(signal.SIGINT)
        return len(told) == last and how == "callback"

    model = BilinearSimilarity(n_triplets=500, tol=0.0, random_state=0, callback=stop).fit(X, y)
    assert model.stop_reason_ == how
    assert not model.converged_
    assert len(told) in (last, last + 1)
    trials = [record for record in told if record["stage"] != "fit"]
    assert len(model.selection_) == len(trials)
    (chosen,) = [record for record in model.selection_ if record["chosen"]]
    if len(told) - len(trials) < 2:  # stopped in the search: M was not learned from all the data
        assert chosen["regularization"] == np.inf
    assert chosen["shrinkage"] == model.shrinkage_
    assert model.score(X, y) > mean_average_precision(cosines(X), y) - 1e-12


def test_the_clock_ends_the_search_and_leaves_time_for_the_fit(data):
    X, y = data
    timed = BilinearSimilarity(random_state=0, max_seconds=1e-6).fit(X, y)
    assert timed.stop_reason_ == "time"
    assert len(timed.selection_) == 1
    np.testing.assert_array_equal(timed.similarity(X, X), normalize(X) @ normalize(X).T)
    given = BilinearSimilarity(**GIVEN, max_seconds=1e-6).fit(X, y)
    assert given.stop_reason_ == "time"
    assert given.gap_ > 0
    whitening = BilinearSimilarity(**{**GIVEN, "regularization": np.inf}).fit(X, y)
    np.testing.assert_allclose(given.similarity(X, X), whitening.similarity(X, X), atol=1e-12)


def test_a_slow_search_leaves_time_for_the_fit(data, clock):
    X, y = data
    settings = {"regularization": 0.01, "n_triplets": 500, "random_state": 0}

    def slow(record):
        clock.now += 0.1 * (record["stage"] != "fit")

    model = BilinearSimilarity(**settings, max_seconds=1.0, callback=slow).fit(X, y)
    assert 1 < len(model.selection_) < 10
    assert model.converged_
    assert model.n_iter_ > 1


def test_a_tolerance_of_zero_ends(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BilinearSimilarity(**GIVEN, tol=0.0).fit(*data)
    assert model.stop_reason_ in ("converged", "max_iter")
    assert model.gap_ < 1e-9
    losses = [(record["loss"], record["gap"]) for record in model.history_]
    assert [record["iteration"] for record in model.history_] == list(range(len(losses)))
    assert len(set(losses)) == len(losses)  # no step is recorded twice
    assert (np.diff(losses, axis=0)[:, 0] <= 0).all()


def test_too_few_iterations_are_told(data):
    with pytest.warns(ConvergenceWarning, match="after 2 iterations with a gap of"):
        BilinearSimilarity(**GIVEN, tol=1e-10, max_iter=2).fit(*data)


def test_constant_columns_change_nothing(data):
    X, y = data
    wider = np.column_stack([np.full(len(X), 0.1), X, np.zeros(len(X)), np.full(len(X), 1e8)])
    plain, odd = BilinearSimilarity(**GIVEN).fit(X, y), BilinearSimilarity(**GIVEN).fit(wider, y)
    np.testing.assert_allclose(odd.similarity(wider, wider), plain.similarity(X, X), atol=1e-8)
    np.testing.assert_array_equal(odd.matrix_[[0, 5, 6]], 0.0)


def test_a_table_of_one_column():
    X = np.concatenate([np.arange(20.0), np.arange(30.0, 50.0)])[:, None]
    model = BilinearSimilarity(random_state=0).fit(X, np.arange(40) // 20)
    assert model.score(X, np.arange(40) // 20) > 0.95
    assert set(np.round(model.similarity(X, X), 12).ravel()) <= {-1.0, 0.0, 1.0}


def test_rows_of_each_class_that_are_all_equal():
    random = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = random.normal(size=(4, 3))[y] + 100.0
    model = BilinearSimilarity(shrinkage=0.01, regularization=np.inf).fit(X, y)
    wanted = cosines(StandardScaler().fit_transform(X))  # nothing varies within classes
    np.testing.assert_allclose(model.similarity(X, X), wanted, atol=1e-9)
    assert BilinearSimilarity(random_state=0).fit(X, y).score(X, y) == pytest.approx(1.0)


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(ValueError, match="all rows of X are the same: there is nothing to learn"):
        BilinearSimilarity(random_state=0).fit(np.full((12, 3), 0.7), np.arange(12) % 2)


@pytest.mark.parametrize(
    "y", [[0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1, 2], [0, 1, 2, 0, 3, 4, 5], np.arange(20) // 2, np.arange(30) % 10]
)
@pytest.mark.filterwarnings("ignore:.*one member only")
def test_few_objects(y):
    y = np.asarray(y)
    X = np.random.default_rng(0).normal(size=(len(y), 5)) + y[:, None]
    model = BilinearSimilarity(random_state=0).fit(X, y)
    assert np.isfinite(model.similarity(X, X)).all()
    if len(y) < 5:
        assert model.selection_ is None
        assert (model.shrinkage_, model.regularization_) == (0.1, 0.01)


def test_a_lonely_class_is_told_once(data):
    X, y = data
    y = y.copy()
    y[0] = 77
    with pytest.warns(UserWarning, match="one member only") as told:
        BilinearSimilarity(n_triplets=500, random_state=0).fit(X, y)
    assert len([warning for warning in told if "one member" in str(warning.message)]) == 1


def test_weights_count_like_repeats(data):
    X, y = data
    rows = comparisons_from_labels(y, 60, 3).rows
    repeated, weights = np.concatenate([rows, rows[:30]]), np.where(np.arange(60) < 30, 2.0, 1.0)
    settings = {"shrinkage": 0.3, "regularization": 0.05, "tol": 1e-10, "random_state": 0}
    a = BilinearSimilarity(**settings).fit(X, comparisons=repeated)
    b = BilinearSimilarity(**settings).fit(X, comparisons=Comparisons(rows, weights=weights))
    np.testing.assert_allclose(a.similarity(X, X), b.similarity(X, X), atol=1e-4)
    c = BilinearSimilarity(**settings).fit(X, comparisons=rows)
    assert np.abs(a.similarity(X, X) - c.similarity(X, X)).max() > 1e-3


def test_it_learns_from_comparisons(data):
    X, y = data
    model = BilinearSimilarity(random_state=0).fit(X, comparisons=comparisons_from_labels(y, 2000, 0))
    test, labels = labelled(n=120, seed=7)
    test = test * [1.0, 10.0, 0.1, 3.0] + [5.0, -100.0, 0.0, 7.0]
    assert model.score(test, labels) > mean_average_precision(cosines(test), labels) + 0.1
    assert len(model.selection_) > 10


# Sparse and wide tables.


def test_a_sparse_table_of_many_columns(texts, tmp_path):
    X, y = texts
    train = np.arange(len(y)) % 8 < 4
    model = BilinearSimilarity(random_state=0).fit(X[train], y[train])
    plain = mean_average_precision(cosines(X[~train].toarray()), y[~train])
    assert model.score(X[~train], y[~train]) >= plain - 0.01
    assert not hasattr(model, "matrix_")
    whitening = BilinearSimilarity(shrinkage=0.3, regularization=0.01, random_state=0).fit(X[train], y[train])
    assert whitening.components_.shape[1] == 20_000
    assert whitening.components_.shape[0] <= 119
    assert whitening.mean_ is None
    for found in (model, whitening, BilinearSimilarity(shrinkage=None).fit(X, y)):
        scores = found.similarity(X, X)
        points = found.transform(X)
        np.testing.assert_allclose(points @ points.T, scores, atol=1e-10)
        assert points.shape[1] == len(found.get_feature_names_out())
        np.testing.assert_array_equal(found.neighbors(X[:9], X, 1)[1][:, 0], np.arange(9))
        values, numbers = found.neighbors(None, X, 4)
        np.testing.assert_allclose(values, np.take_along_axis(scores, numbers, axis=1), atol=1e-10)
        np.testing.assert_allclose(found.similarity(X[:3].toarray(), X.toarray()), scores[:3], atol=1e-10)
        np.testing.assert_allclose(found.pair_score((X[:3], X[3:6])), np.diag(scores[:3, 3:6]), atol=1e-10)
        rows = comparisons_from_labels(y, 50, 0).rows
        wanted = np.where(scores[rows[:, 0], rows[:, 1]] > scores[rows[:, 0], rows[:, 2]] + 1e-9, 1, -1)
        np.testing.assert_array_equal(found.predict_comparisons(X, rows), wanted)
        found.save(tmp_path / "m.nearer")
        np.testing.assert_array_equal(load_model(tmp_path / "m.nearer").similarity(X, X), scores)


def test_sparse_tables_of_every_kind_give_the_same(texts):
    X, y = texts
    X = X[:, :500]
    table = csr_array(X)
    turned = table.copy()
    for row in range(table.shape[0]):
        part = slice(*turned.indptr[row : row + 2])
        turned.indices[part], turned.data[part] = turned.indices[part][::-1].copy(), turned.data[part][::-1].copy()
    turned.has_sorted_indices = False
    before = turned.indices.copy()
    settings = {**GIVEN, "shrinkage": "auto"}
    wanted = BilinearSimilarity(**settings).fit(table, y).similarity(table, table)
    for kind in (turned, csr_matrix(X)):
        np.testing.assert_allclose(
            BilinearSimilarity(**settings).fit(kind, y).similarity(kind, kind), wanted, atol=1e-9
        )
    np.testing.assert_array_equal(turned.indices, before)


def test_a_model_of_a_dense_table_takes_sparse_queries(data, default):
    X, _ = data
    np.testing.assert_allclose(default.similarity(csr_array(X), X), default.similarity(X, X), atol=1e-10)
    np.testing.assert_allclose(default.transform(csr_matrix(X)), default.transform(X), atol=1e-10)


def test_a_wide_dense_table_is_projected():
    random = np.random.default_rng(0)
    y = np.arange(150) % 5
    X = (2 * random.normal(size=(5, 20))[y] + random.normal(size=(150, 20))) @ random.normal(size=(20, 500)) + 30.0
    train = np.arange(150) % 10 < 5
    model = BilinearSimilarity(random_state=0).fit(X[train], y[train])
    assert model.matrix_.shape == (500, 500)
    assert model.score(X[~train], y[~train]) >= mean_average_precision(cosines(X[~train]), y[~train])


# From the outside.


def lda_cosine(X, y, test):
    return cosines(LinearDiscriminantAnalysis().fit(X, y).transform(test))


@pytest.mark.parametrize("load", [load_wine, load_digits])
def test_raw_features_are_compared_at_least_as_well_as_by_cosine_and_lda(load):
    X, y = load(return_X_y=True)
    X, test, y, labels = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    score = BilinearSimilarity(random_state=0).fit(X, y).score(test, labels)
    assert score >= mean_average_precision(cosines(test), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # digits: columns that are constant
        assert score >= mean_average_precision(lda_cosine(X, y, test), labels) - 0.01


def test_oasis_does_not_continue_from_a_cosine():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    model = BilinearSimilarity(shrinkage=0.1, regularization=0.1).fit(X, y).set_params(solver="oasis")
    with pytest.raises(ValueError, match="which OASIS cannot continue from: call fit"):
        model.partial_fit(X, y)
