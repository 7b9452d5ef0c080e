"""Weights of rows: an integer is as many rows, 0 is none; weights of classes are weights of their rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from nearer import RCA, BilinearSimilarity, Comparisons, LowRankSimilarity, SoftmaxSimilarity, load_model
from nearer.similarity import validation
from nearer.similarity.prior import Whitening
from nearer.simulate import comparisons_from_labels

GIVEN = {"regularization": 0.01, "output": "probabilities", "weight": 0.7, "shrinkage": 0.3, "tol": 1e-9}


@pytest.fixture(scope="module")
def data():
    """Features, three classes, integer weights, and features and classes with rows repeated as often."""
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (random.normal(size=(60, 5)) + 2.0 * np.eye(3, 5)[y]) * np.array([1.0, 2.0, 0.5, 3.0, 1.0]) + 4.0
    weights = random.integers(0, 4, size=60)
    return X, y, weights, X.repeat(weights, axis=0), y.repeat(weights)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_softmax_similarity_with_weights_is_that_of_repeated_rows(data, kind):
    X, y, weights, repeated, labels = data
    weighted = SoftmaxSimilarity(**GIVEN).fit(kind(X), y, sample_weight=weights)
    same = SoftmaxSimilarity(**GIVEN).fit(kind(repeated), labels)
    np.testing.assert_allclose(weighted.similarity(X, X), same.similarity(X, X), atol=1e-4)
    plain = SoftmaxSimilarity(**GIVEN).fit(kind(X), y)
    assert np.abs(weighted.similarity(X, X) - plain.similarity(X, X)).max() > 0.01
    scaled = SoftmaxSimilarity(**GIVEN).fit(kind(X), y, sample_weight=1e200 * weights)
    np.testing.assert_allclose(scaled.coef_, weighted.coef_)


def test_weighted_probabilities_are_those_of_logistic_regression(data):
    X, y, weights, *_ = data
    weights = weights + 0.5
    model = SoftmaxSimilarity(**GIVEN).fit(X, y, sample_weight=weights)
    scaled = StandardScaler().fit(X, sample_weight=weights).transform(X)
    expected = LogisticRegression(C=1 / (0.01 * weights.sum()), tol=1e-10).fit(scaled, y, sample_weight=weights)
    np.testing.assert_allclose(model.class_probabilities(X), expected.predict_proba(scaled), atol=1e-3)


def test_weights_of_classes(data, tmp_path):
    X, y, weights, *_ = data
    rows = np.flatnonzero((y != 1) | (np.arange(60) < 20))
    X, y, weights = X[rows], y[rows], weights[rows] + 1.0
    names = np.array(["a", "b", "c"])[y]
    for sample_weight in (None, weights):
        own = np.ones(len(y)) if sample_weight is None else sample_weight
        balanced = own / np.bincount(y, own)[y]
        for class_weight, labels, expected in (
            ("balanced", names, balanced),
            ({"b": 3.0}, names, own * np.where(y == 1, 3.0, 1.0)),
            ({0: 2, 1: 0.5}, y, own * np.array([2.0, 0.5, 1.0])[y]),
        ):
            model = SoftmaxSimilarity(**GIVEN, class_weight=class_weight).fit(X, labels, sample_weight)
            same = SoftmaxSimilarity(**GIVEN).fit(X, labels, sample_weight=expected)
            np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-7)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").class_weight == {0: 2, 1: 0.5}
    with pytest.raises(ValueError, match="class_weight has a weight of 'd', which is not in y"):
        SoftmaxSimilarity(class_weight={"d": 1.0}).fit(X, names)
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict of positive numbers"):
        SoftmaxSimilarity(class_weight={"a": 0.0}).fit(X, names)


@pytest.mark.parametrize("shrinkage", [0, 0.3])
@pytest.mark.parametrize("n_components", [None, 1])  # two chunks differ in one direction
def test_rca_with_weights_is_that_of_repeated_rows(data, n_components, shrinkage):
    X, y, weights, repeated, labels = data
    chunks, same_chunks = (np.where(numbers == 2, -1, numbers) for numbers in (y, labels))
    for given, same in (({"y": y}, {"y": labels}), ({"chunks": chunks}, {"chunks": same_chunks})):
        weighted = RCA(n_components, shrinkage=shrinkage).fit(X, **given, sample_weight=weights)
        np.testing.assert_allclose(
            weighted.components_,
            RCA(n_components, shrinkage=shrinkage).fit(repeated, **same).components_,
            rtol=1e-7,
        )
    assert (
        np.abs(
            RCA(shrinkage=shrinkage).fit(X, y).components_
            - RCA(shrinkage=shrinkage).fit(repeated, labels).components_
        ).max()
        > 0.01
    )


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize(("labelled", "discriminant"), [(True, False), (True, True), (False, False)])
def test_whitening_with_weights_is_that_of_repeated_rows(data, kind, labelled, discriminant):
    X, y, weights, repeated, labels = data
    rows = weights > 0
    of = (y[rows], labels) if labelled else (None, None)
    weighted = Whitening(kind(X[rows]), of[0], weights[rows].astype(float)).map(0.3, discriminant)
    same = Whitening(kind(repeated), of[1]).map(0.3, discriminant)
    np.testing.assert_allclose(weighted.weights @ weighted.weights.T, same.weights @ same.weights.T, rtol=1e-7)


def test_wide_tables_are_whitened_by_weight(data):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 3)) @ random.normal(size=(3, 450))
    y, weights = np.arange(300) % 2, random.integers(1, 4, size=300)
    weighted = Whitening(X, y, weights.astype(float)).map(0.3)
    same = Whitening(X.repeat(weights, axis=0), y.repeat(weights)).map(0.3)
    centered = X - X.mean(axis=0)
    found, expected = (centered @ each.weights for each in (weighted, same))
    np.testing.assert_allclose(
        found @ found.T, expected @ expected.T, atol=1e-6 * np.abs(expected @ expected.T).max()
    )


@pytest.mark.parametrize("solver", ["lbfgs", "sdca", "oasis"])
def test_a_bilinear_similarity_draws_triplets_by_weight(data, solver):
    X, y, weights, *_ = data
    settings = {"n_triplets": 2000, "random_state": 0} | ({} if solver == "oasis" else {"regularization": 0.1})
    settings |= {"shrinkage": 0.3} if solver == "lbfgs" else {}
    model = BilinearSimilarity(solver, **settings).fit(X, y, sample_weight=weights)
    rows = weights > 0
    removed = BilinearSimilarity(solver, **settings).fit(X[rows], y[rows], sample_weight=2.0 * weights[rows])
    np.testing.assert_allclose(model.matrix_, removed.matrix_)
    drawn = comparisons_from_labels(
        y[rows], 2000, np.random.default_rng(0), sample_weight=weights[rows].astype(float)
    )
    assert len(np.unique(drawn.rows[:, 0])) > 20
    given = BilinearSimilarity(solver, **settings).fit(X[rows], comparisons=drawn)
    if solver == "sdca":  # its objective knows triplets only, and has one minimum
        np.testing.assert_allclose(given.matrix_, model.matrix_, atol=0.2 * np.abs(model.matrix_).max())


def test_without_steps_a_bilinear_similarity_is_that_of_repeated_rows(data):
    X, y, weights, repeated, labels = data
    settings = {"shrinkage": 0.3, "regularization": np.inf, "random_state": 0}
    weighted = BilinearSimilarity(**settings).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(
        weighted.matrix_, BilinearSimilarity(**settings).fit(repeated, labels).matrix_, rtol=1e-7
    )


def test_weights_of_comparisons(data):
    X, y, *_ = data
    rows = comparisons_from_labels(y, 300, 0).rows
    weights = 1.0 + np.arange(300) % 3
    settings = {"shrinkage": 0.3, "regularization": 0.1, "random_state": 0}
    found = BilinearSimilarity(**settings).fit(X, comparisons=rows, sample_weight=weights)
    same = BilinearSimilarity(**settings).fit(X, comparisons=Comparisons(rows, weights=weights))
    np.testing.assert_array_equal(found.matrix_, same.matrix_)
    assert (found.matrix_ != BilinearSimilarity(**settings).fit(X, comparisons=rows).matrix_).any()


def test_folds_learn_and_judge_by_weight(data):
    X, y, weights, *_ = data
    weights = weights + 1.0
    folds = validation.make_folds(X, y, None, np.random.default_rng(0), weights=weights)
    for fold in folds:
        where = {tuple(row): number for number, row in enumerate(X)}
        assert (fold.weights == weights[[where[tuple(row)] for row in fold.table]]).all()
        losses = fold.losses_of(fold.held_out)
        plain = validation.retrieval_losses(fold.held_out, fold.held_out_labels)
        judged = weights[[where[tuple(row)] for row in fold.held_out]]
        assert losses.mean() == pytest.approx(np.average(plain, weights=judged))


@pytest.mark.parametrize("kind", [SoftmaxSimilarity, BilinearSimilarity, RCA])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(60), "sample_weight is zero for every row"),
        (np.ones(59), "sample_weight must have one weight per row: X has 60 rows"),
        (np.arange(60) - 1.0, "sample_weight must be numbers that are not negative; row 0 has -1"),
    ],
)
def test_weights_that_cannot_be(data, kind, weights, message):
    X, y, *_ = data
    with pytest.raises(ValueError, match=message):
        kind().fit(X, y, sample_weight=weights)


def test_the_warning_of_a_class_of_one_object_has_its_label(data):
    X, y, *_ = data
    names = np.array(["cat", "dog", "elk"])[y].astype(object)
    names[0] = "yak"
    with pytest.warns(
        UserWarning, match="1 of 4 classes have one member only and are skipped as anchors: yak"
    ) as told:
        LowRankSimilarity(2, n_steps=100, learning_rate=0.01, random_state=0).fit(X, names)
    assert len([each for each in told if "one member" in str(each.message)]) == 1
    assert all("test_sample_weight" in each.filename for each in told if "one member" in str(each.message))
