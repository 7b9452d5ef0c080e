"""Pairs by a threshold: the strategies of metric-learn against a search of all thresholds, and where predict is."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import fbeta_score, roc_auc_score
from test_logdet import labelled

from nearer import ITML, RCA, BilinearSimilarity, load_model
from nearer.similarity import Euclidean

STRATEGIES = [
    ("accuracy", {}),
    ("f_beta", {"beta": 0.5}),
    ("f_beta", {"beta": 2.0}),
    ("max_tpr", {"min_rate": 0.7}),
    ("max_tnr", {"min_rate": 0.6}),
]


def some_pairs(seed, n=60):
    """Pairs whose distances are few whole numbers, so that many are equal."""
    random = np.random.default_rng(seed)
    distance = random.integers(0, 12, n).astype(float)
    signs = np.where(distance + 4 * random.normal(size=n) < 5, 1, -1)
    return np.stack([np.zeros((n, 1)), distance[:, None]], axis=1), signs


def literal_value(strategy, predicted, signs, min_rate=None, beta=1.0):
    tpr, tnr = np.mean(predicted[signs > 0] > 0), np.mean(predicted[signs < 0] < 0)
    if strategy == "accuracy":
        return np.mean(predicted == signs)
    if strategy == "f_beta":
        return fbeta_score(signs, predicted, beta=beta, zero_division=0.0)
    wanted, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
    return wanted if other >= min_rate else -1.0


@pytest.mark.parametrize(("strategy", "settings"), STRATEGIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_threshold_is_the_best_of_all(strategy, settings, seed):
    pairs, signs = some_pairs(seed)
    model = Euclidean().fit(pairs[:, 1]).calibrate_threshold(pairs, signs, strategy, **settings)
    found = literal_value(strategy, model.predict(pairs), signs, **settings)
    tried = [model.set_threshold(cut).predict(pairs) for cut in np.arange(-0.5, 13.0)]
    assert found == pytest.approx(max(literal_value(strategy, guess, signs, **settings) for guess in tried))


def test_a_distance_is_at_most_the_threshold_and_a_similarity_at_least():
    X, y = labelled()
    rows = np.random.default_rng(1).integers(0, len(X), (60, 2))
    pairs, signs = X[rows], np.where(y[rows[:, 0]] == y[rows[:, 1]], 1, -1)
    for model in (RCA(), BilinearSimilarity("sdca", regularization=1.0, n_triplets=500, random_state=0)):
        model.fit(X, y).calibrate_threshold(pairs, signs)
        values = model.pair_score(pairs)
        cut = -model.threshold_ if isinstance(model, RCA) else model.threshold_
        np.testing.assert_array_equal(model.predict(pairs), np.where(values >= cut, 1, -1))
        assert np.mean(model.predict(pairs) == signs) >= max(np.mean(signs == 1), np.mean(signs == -1))
        assert model.score(pairs, signs) == roc_auc_score(signs, values)


def test_where_none_is_similar_the_threshold_is_below_all_distances():
    pairs, _ = some_pairs(0)
    signs = np.where(pairs[:, 1, 0] == 11, 1, -1)
    model = Euclidean().fit(pairs[:, 1]).calibrate_threshold(pairs, signs)
    assert (model.predict(pairs) == -1).all()


def test_itml_takes_metric_learns_pairs_and_calibrates_its_threshold(tmp_path):
    X, y = labelled()
    rows = np.random.default_rng(0).integers(0, len(X), (60, 2))
    signs = np.where(y[rows[:, 0]] == y[rows[:, 1]], 1, -1)
    by_rows = ITML(bounds=(1.0, 4.0), random_state=0).fit(X, signs, pairs=rows)
    by_features = ITML(bounds=(1.0, 4.0), random_state=0).fit(X[rows], signs)
    np.testing.assert_allclose(by_features.mahalanobis_matrix_, by_rows.mahalanobis_matrix_, rtol=1e-9)
    assert by_features.threshold_ == pytest.approx(by_rows.threshold_)
    nested = X[rows].tolist()
    for pairs in (nested, tuple(nested), (X[rows[:, 0]], X[rows[:, 1]])):
        again = ITML(bounds=(1.0, 4.0), random_state=0).fit(pairs, signs)
        np.testing.assert_array_equal(again.components_, by_features.components_)
        assert again.score(pairs, signs) == by_features.score(X[rows], signs)
    literal = Euclidean().fit(X)
    literal.components_ = by_rows.components_
    assert by_rows.threshold_ == literal.calibrate_threshold(X[rows], signs).threshold_
    by_rows.save(tmp_path / "itml.nearer")
    np.testing.assert_array_equal(load_model(tmp_path / "itml.nearer").predict(X[rows]), by_rows.predict(X[rows]))


def test_predict_is_there_with_a_threshold_only():
    X, y = labelled()
    for unfitted in (RCA().pair_score, RCA().pair_distance, lambda pairs: RCA().calibrate_threshold(pairs, [1])):
        with pytest.raises(NotFittedError):
            unfitted(X[None, :2])
    with pytest.raises(NotFittedError):
        RCA().set_threshold(1.0)
    model = RCA().fit(X, y)
    assert not hasattr(model, "predict")
    with pytest.raises(AttributeError) as told:
        model.predict(X[None, :2])
    assert "call calibrate_threshold or set_threshold" in str(told.value.__cause__)
    assert hasattr(model.set_threshold(1.0), "predict")
    assert not hasattr(model.fit(2 * X, y), "predict")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "best"}, "strategy must be 'accuracy', 'f_beta', 'max_tpr' or 'max_tnr'; got 'best'"),
        ({"strategy": "max_tpr"}, "strategy='max_tpr' needs min_rate, a number from 0 to 1; got None"),
        ({"strategy": "f_beta", "beta": -1}, "beta must be a number >= 0"),
        ({"y": [1, 0, 1]}, "y must be 1 or -1 for each pair"),
        ({"y": [1, -1]}, "y must be 1 or -1 for each of the 3 pairs; got 2"),
        ({"y": [1, 1, 1]}, "pairs of both kinds"),
    ],
)
def test_what_cannot_be_calibrated_is_said(settings, message):
    model = Euclidean().fit([[0.0], [1.0], [3.0]])
    pairs = [[[0.0], [1.0]], [[0.0], [3.0]], [[1.0], [3.0]]]
    with pytest.raises(ValueError, match=message):
        model.calibrate_threshold(pairs, **({"y": [1, -1, -1]} | settings))
    with pytest.raises(ValueError, match="threshold must be a number; got 'a'"):
        model.set_threshold("a")
