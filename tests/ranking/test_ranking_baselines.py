"""Baselines of label rankings: popularity and ridge regression, equal to a literal version."""

import numpy as np
import pytest
from literal_ranking import problem
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.metrics import label_ranking_average_precision_score

from nearer import LabelRanker
from nearer.ranking import baseline_scores, baselines, compare
from nearer.selection import class_folds

X, Y = problem(n=240, d=12, L=9)
X[:, 0] += 50.0
train, test = slice(0, 160), slice(160, 240)


def literal_score(scores, target):
    """Mean average precision by scikit-learn, of rows with labels."""
    some = target.any(axis=1)
    return label_ranking_average_precision_score(target[some], scores[some])


def literal_ridge(features, target, penalty):
    """Ridge regression with an intercept by the normal equations, the penalty in units of the mean variance."""
    centered, mean = features - features.mean(axis=0), target.mean(axis=0)
    size = penalty * len(features) * centered.var(axis=0).mean()
    weights = np.linalg.solve(
        centered.T @ centered + size * np.eye(features.shape[1]), centered.T @ (target - mean)
    )
    return lambda table: (table - features.mean(axis=0)) @ weights + mean


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_baselines_are_those_of_a_literal_version(kind):
    scores = baseline_scores(kind(X[train]), kind(Y[train]), kind(X[test]), kind(Y[test]))
    shares = np.tile(Y[train].mean(axis=0), (80, 1))
    assert scores["popularity"] == pytest.approx(literal_score(shares, Y[test]))
    inside, held_out = class_folds(np.zeros(160), np.random.default_rng(0))[0]
    unit = X[train].var(axis=0).mean() / X[train][inside].var(axis=0).mean()
    found = {
        penalty: literal_score(
            literal_ridge(X[train][inside], Y[train][inside], penalty * unit)(X[train][held_out]),
            Y[train][held_out],
        )
        for penalty in baselines.PENALTIES
    }
    best = literal_ridge(X[train], Y[train], max(found, key=found.get))
    assert scores["ridge"] == pytest.approx(literal_score(best(X[test]), Y[test]))
    weights = np.arange(80) % 2
    assert baseline_scores(X[train], Y[train], X[test], Y[test], weights) == pytest.approx(
        baseline_scores(X[train], Y[train], X[test][1::2], Y[test][1::2])
    )


def test_the_baselines_of_classes_are_accuracies():
    features, labels = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[labels]
    scores = baseline_scores(features[::2], names[::2], features[1::2], names[1::2])
    assert scores["popularity"] == pytest.approx(1 / 3)
    indicator = np.eye(3)[labels]
    right = [
        np.mean(
            Ridge(alpha).fit(features[::2], indicator[::2]).predict(features[1::2]).argmax(axis=1) == labels[1::2]
        )
        for alpha in np.geomspace(0.01, 1000, 30)
    ]
    assert min(right) <= scores["ridge"] <= max(right)


def test_no_ridge_where_its_tables_are_too_large(monkeypatch):
    monkeypatch.setattr(baselines, "MAX_ENTRIES", 1000)
    assert set(baseline_scores(X[train], Y[train], X[test], Y[test])) == {"popularity"}


def test_models_are_ranked_beside_the_baselines_and_stay_as_they_are():
    model = LabelRanker(3, init="gaussian", n_steps=10, learning_rate=1e-9, random_state=0)
    rows = compare({"mine": model}, X, Y, random_state=0)
    assert [row["name"] for row in rows] == ["ridge", "popularity", "mine"]  # whose scores are random
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert all(row["standard_error"] >= 0.0 for row in rows)
    assert not hasattr(model, "label_factors_")
    again = compare({"mine": model}, X, Y, random_state=0)
    assert [row["score"] for row in rows] == [row["score"] for row in again]


@pytest.mark.filterwarnings("error")
def test_a_class_of_one_row_can_be_held_out():
    labels = np.array(["a", "b"] * 20 + ["c"])
    rows = compare(
        [LabelRanker(random_state=0)], np.random.default_rng(0).normal(size=(41, 3)), labels, random_state=0
    )
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": LabelRanker()}, "got one estimator: put it into a list"),
        ({"models": [LabelRanker(), LabelRanker(2)]}, "two models are of one kind"),
        ({"X": X[:5], "Y": Y[:5]}, "5 rows are too few to hold some out; at least 10 are wanted"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare(**{"models": [LabelRanker()], "X": X, "Y": Y, **arguments})
