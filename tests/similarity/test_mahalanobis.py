"""What every learned distance has, by the names that metric-learn gave: a projection and what follows from it."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_logdet import labelled

from extras import needs
from nearer import ITML, LEGO, LMNN, RCA, BilinearSimilarity, load_model
from nearer.metrics import retrieval_map_scorer
from nearer.similarity import Euclidean

LEARNERS = [Euclidean(), ITML(random_state=0), LEGO(random_state=0), LMNN(), RCA(shrinkage=0)]
SAVED = LEARNERS[1:]


def name_of(model):
    return type(model).__name__


@pytest.fixture(params=LEARNERS, ids=name_of)
def fitted(request):
    X, y = labelled()
    return clone(request.param).fit(X, y), X, y


def test_distances_are_those_of_the_points(fitted):
    model, X, _ = fitted
    points = model.transform(X)
    expected = cdist(points, points)
    np.testing.assert_allclose(model.distance(X, X), expected, atol=1e-10)
    pairs = np.stack([X[:40], X[40:80]], axis=1)
    np.testing.assert_allclose(model.pair_distance(pairs), expected[np.arange(40), np.arange(40, 80)], atol=1e-10)
    np.testing.assert_array_equal(model.pair_score((X[:40], X[40:80])), -model.pair_distance(pairs))
    M = model.mahalanobis_matrix_
    np.testing.assert_array_equal(M, model.get_mahalanobis_matrix())
    np.testing.assert_allclose(M, model.components_.T @ model.components_)
    metric = model.get_metric()
    assert metric(X[0], X[1]) == pytest.approx(np.sqrt((X[0] - X[1]) @ M @ (X[0] - X[1])))
    assert metric(X[0], X[1], squared=True) == pytest.approx(expected[0, 1] ** 2)


def test_the_metric_goes_into_scikit_learn(fitted):
    model, X, y = fitted
    by_metric = KNeighborsClassifier(3, metric=model.get_metric()).fit(X[:60], y[:60])
    by_points = KNeighborsClassifier(3).fit(model.transform(X[:60]), y[:60])
    np.testing.assert_array_equal(by_metric.predict(X[60:]), by_points.predict(model.transform(X[60:])))


def test_neighbors_and_comparisons_agree_with_distances(fitted):
    model, X, _ = fitted
    distances = model.distance(X, X)
    found, numbers = model.neighbors(X[:20], X, 4)
    np.testing.assert_allclose(found, np.sort(distances[:20], axis=1)[:, :4], atol=1e-6)
    np.testing.assert_allclose(found, np.take_along_axis(distances[:20], numbers, axis=1), atol=1e-8)
    rows = np.array([[0, 1, 2], [5, 60, 7], [8, 9, 80]])
    right = distances[rows[:, 0], rows[:, 1]] < distances[rows[:, 0], rows[:, 2]]
    np.testing.assert_array_equal(model.predict_comparisons(X, rows), np.where(right, 1, -1))
    assert model.score_comparisons(X, rows) == pytest.approx(right.mean())


def test_equal_distances_are_ties():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.1, 0.2], [0.3, 0.7]])
    model = Euclidean().fit(corners)
    assert model.predict_comparisons(corners, [[0, 1, 2], [0, 2, 1]]).tolist() == [-1, -1]
    assert model.score_comparisons(corners, [[0, 1, 2], [0, 2, 1]]) == 0.0
    grid = np.random.default_rng(0).integers(0, 4, size=(60, 3)).astype(float)
    found, numbers = Euclidean().fit(grid).neighbors(grid, grid, 7)
    expected = np.argsort(cdist(grid, grid), axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(found, np.take_along_axis(cdist(grid, grid), expected, axis=1))


def test_the_search_is_exact_where_products_cancel():
    random = np.random.default_rng(0)
    clusters = np.concatenate([1e-4 * random.normal(size=(100, 2)), 1e4 + 1e-4 * random.normal(size=(100, 2))])
    outlier = np.concatenate([random.normal(size=(50, 3)), np.full((1, 3), 1e9)])
    for points in (clusters, outlier):
        distances = cdist(points, points)
        np.fill_diagonal(distances, np.inf)
        found, numbers = Euclidean().fit(points).neighbors(None, points, 3)
        np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :3], rtol=1e-6)
        np.testing.assert_allclose(np.take_along_axis(distances, numbers, axis=1), found, rtol=1e-6)


@pytest.mark.parametrize("model", LEARNERS, ids=name_of)
def test_names_of_columns_are_kept_and_held_to(model, tmp_path):
    needs("pandas")
    import pandas as pd

    X, y = labelled()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = clone(model).fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[list("dcba")])
    model.save(tmp_path / "m.nearer")
    assert load_model(tmp_path / "m.nearer").feature_names_in_.tolist() == list("abcd")


@pytest.mark.parametrize("model", SAVED, ids=name_of)
def test_a_refused_fit_leaves_the_model_as_it_was(model, tmp_path):
    X, y = labelled()
    model = clone(model)
    with pytest.raises(ValueError, match="2 labels"):
        model.fit(X, [0, 1])
    with pytest.raises(NotFittedError):
        model.transform(X)
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "m.nearer")
    before = model.fit(X, y).transform(X)
    with pytest.raises(ValueError, match="2 labels"):
        model.fit(X[:, :2], [0, 1])
    np.testing.assert_array_equal(model.transform(X), before)


@pytest.mark.parametrize("model", SAVED, ids=name_of)
def test_learning_helps(model):
    X, y = labelled(n=300)
    plain = cross_val_score(Euclidean(), X, y, cv=3, scoring=retrieval_map_scorer).mean()
    learned = cross_val_score(clone(model), X, y, cv=3, scoring=retrieval_map_scorer).mean()
    assert learned > plain + 0.05
    piped = make_pipeline(StandardScaler(), clone(model), KNeighborsClassifier(3))
    assert cross_val_score(piped, X, y, cv=3).mean() > cross_val_score(KNeighborsClassifier(3), X, y, cv=3).mean()


@pytest.mark.parametrize("model", SAVED, ids=name_of)
def test_saved_loaded_and_pickled(model, tmp_path):
    X, y = labelled()
    model = clone(model).fit(X, y)
    model.save(tmp_path / "m.nearer")
    for again in (load_model(tmp_path / "m.nearer"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        assert again.get_params() == model.get_params()


@pytest.mark.parametrize("model", LEARNERS, ids=name_of)
def test_what_was_given_is_checked(model):
    X, y = labelled()
    model = clone(model)
    with pytest.raises(NotFittedError):
        model.distance(X, X)
    with pytest.raises(NotFittedError):
        _ = model.mahalanobis_matrix_
    with pytest.raises(TypeError, match="dense data is required"):
        model.fit(csr_array(X), y)
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, y)
    if isinstance(model, Euclidean):
        return
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X)
    with pytest.raises(ValueError, match="90 rows and y 3 labels"):
        model.fit(X, [0, 1, 2])


@pytest.mark.parametrize("model", SAVED, ids=name_of)
def test_constant_columns_do_no_harm(model):
    X, y = labelled()
    wide = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))])
    found = clone(model).fit(wide, y)
    assert np.isfinite(found.components_).all()
    plain = clone(model).fit(X, y)
    agree = (found.neighbors(None, wide, 5)[1] == plain.neighbors(None, X, 5)[1]).mean()
    assert agree > 0.95


def test_far_from_the_origin_an_index_finds_as_much():
    needs("usearch")
    X = np.random.default_rng(0).normal(size=(2000, 8))
    model = Euclidean().fit(X)
    assert model.index(X + 1e6).recall_ > model.index(X).recall_ - 0.1


def test_a_file_that_does_not_fit_together_is_refused(tmp_path):
    X, y = labelled()
    model = LEGO(random_state=0).fit(X, y)
    model.components_ = model.components_[:, :3]
    model.save(tmp_path / "m.nearer")
    with pytest.raises(ValueError, match=r"components_ of 4 features has shape \(4, 3\)"):
        load_model(tmp_path / "m.nearer")


def test_a_refused_baseline_is_as_it_was():
    X, _ = labelled()
    model = Euclidean().fit(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((3, 2), np.nan))
    assert model.transform(X).shape == X.shape


def test_an_index_of_a_distance_finds_nearly_all():
    needs("usearch")
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 8)) * np.arange(1, 9)
    model = RCA().fit(X, np.arange(3000) % 30)
    index = model.index(X)
    assert index.recall_ > 0.9
    distances, numbers = model.neighbors(X[:50], index, 5)
    np.testing.assert_allclose(distances[:, 0], 0, atol=1e-6)
    true = model.neighbors(X[:50], X, 5)[1]
    assert np.mean([np.isin(t, f).mean() for t, f in zip(true, numbers, strict=True)]) > 0.9


def test_the_metric_takes_two_vectors_and_broadcasts_nothing(fitted):
    model, X, _ = fitted
    metric = model.get_metric()
    assert metric(X[:1], X[1:2]) == metric(X[0], X[1])
    for wrong in (X[1][:1], 3.0, X[1, :3], X[:2]):
        with pytest.raises(
            ValueError, match=r"a vector must have shape \(4,\), one number per feature; got shape"
        ):
            metric(X[0], wrong)


@pytest.mark.parametrize("model", SAVED, ids=name_of)
def test_negative_labels_are_unknown(model):
    X, y = labelled()
    hidden = np.where(np.arange(len(y)) % 5 == 0, -1, y)
    with pytest.warns(UserWarning, match=f"{(hidden < 0).sum()} rows have a negative label and are left out"):
        found = clone(model).fit(X, hidden)
    known = clone(model).fit(X[hidden >= 0], y[hidden >= 0])
    np.testing.assert_array_equal(found.components_, known.components_)
    assert found.score(X, hidden) == known.score(X[hidden >= 0], y[hidden >= 0])


def test_weights_of_rows_without_a_label_are_left_out_too():
    X, y = labelled()
    hidden, weights = np.where(np.arange(len(y)) % 5 == 0, -1, y), 1.0 + np.arange(len(y)) % 3
    known = hidden >= 0
    for model in (
        RCA(2, shrinkage=0),
        BilinearSimilarity("sdca", n_triplets=200, regularization=1.0, random_state=0),
    ):
        with pytest.warns(UserWarning, match="rows have a negative label"):
            found = clone(model).fit(X, hidden, sample_weight=weights)
        alone = clone(model).fit(X[known], y[known], sample_weight=weights[known])
        np.testing.assert_array_equal(found.pair_score(X[None, :2]), alone.pair_score(X[None, :2]))


def test_labels_of_minus_one_and_one_are_two_classes():
    X, y = labelled()
    signs = np.where(y == 0, -1, 1)
    found = LMNN().fit(X, signs)
    np.testing.assert_array_equal(found.components_, LMNN().fit(X, signs > 0).components_)
