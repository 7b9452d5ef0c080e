"""Weights of rows: in the closed form an integer is as many rows, and steps draw rows in proportion to them."""

import numpy as np
import pytest
from literal_ranking import problem
from scipy.sparse import csr_array

from nearer import LabelRanker
from nearer.ranking import ridge
from nearer.ranking.settings import Settings, SettingsSearch
from nearer.ranking.solvers import RowStream
from nearer.ranking.targets import TrainingSet, with_constant


@pytest.fixture(scope="module")
def data():
    """Features, labels, integer weights, and features and labels with rows repeated as often."""
    X, Y = problem(n=120, d=12, L=9)
    X[:, 4] = 7.0  # says nothing
    weights = np.random.default_rng(0).integers(1, 4, size=120)
    return X, Y, weights, X.repeat(weights, axis=0), Y.repeat(weights, axis=0)


def scores(X, Y, weights=None, center=True):
    """Return the scores of the closed form."""
    table = with_constant(X, 2.0) if center else X
    train = TrainingSet(table, csr_array(Y.astype(float)), weights)
    projection = ridge.projection_of(train, center, np.random.default_rng(0))
    parts = [ridge.Moments.of(train.take(rows), projection) for rows in (slice(0, 50), slice(50, None))]
    start = ridge.RidgeStart(projection, ridge.RidgePath(parts[0].plus(parts[1]), center), 2.0)
    A, B = start.factors(0.5, 0.3, Y.shape[1] - 1, np.random.default_rng(0))
    return lambda rows: np.asarray((with_constant(rows, 2.0) if center else rows) @ B) @ A.T


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("wide", [False, True])
def test_the_closed_form_with_weights_is_that_of_repeated_rows(data, kind, center, wide, monkeypatch):
    X, Y, weights, repeated, labels = data
    if wide:  # projected onto a Krylov space that holds everything
        monkeypatch.setattr(ridge, "MAX_COLUMNS", 5)
    weighted = scores(kind(X), Y, weights.astype(float), center)(kind(X))
    np.testing.assert_allclose(weighted, scores(kind(repeated), labels, None, center)(kind(X)), atol=1e-6)
    assert np.abs(weighted - scores(kind(X), Y, None, center)(kind(X))).max() > 0.1


def test_a_ranker_of_few_rows_with_weights_is_that_of_repeated_rows(data):
    X, Y, weights, *_ = data
    weights = np.where(np.arange(120) < 24, weights, 0)  # so few that none are held out
    some = Y[:24].any(axis=0)
    Y = Y[:, some]
    weighted = LabelRanker(random_state=0).fit(X, Y, sample_weight=weights)
    repeated = LabelRanker(random_state=0).fit(X.repeat(weights, axis=0)[::-1], Y.repeat(weights, axis=0)[::-1])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    assert weighted.n_predicted_ == repeated.n_predicted_
    assert weighted.n_rows_ == (Y[:24].any(axis=1)).sum()


def test_popularity_is_by_weight(data):
    X, Y, weights, _, labels = data
    weighted = LabelRanker(solver="popularity").fit(X, Y, sample_weight=0.5 * weights)
    np.testing.assert_allclose(weighted.intercept_, 0.5 * labels.sum(axis=0))
    weighted.partial_fit(X, Y)
    np.testing.assert_allclose(weighted.intercept_, 0.5 * labels.sum(axis=0) + Y.sum(axis=0))


def test_rows_are_drawn_and_judged_by_weight(data):
    X, Y, weights, *_ = data
    train = TrainingSet(X, csr_array(Y.astype(float)), weights.astype(float))
    stream = RowStream(train, 0.1, 100_000, np.random.default_rng(0))
    drawn = np.bincount(np.concatenate(list(stream.chunks())), minlength=120) / 100_000
    np.testing.assert_allclose(drawn, weights / weights.sum(), atol=0.003)

    class Unused:
        stopped = False

    search = SettingsSearch(train, False, 1.0, np.random.default_rng(0), Unused())
    held_out, guess = search.held_out, np.random.default_rng(1).normal(size=(24, 9))
    trial = search._judge(guess, Settings(), lambda *args, **entries: True)
    plain = TrainingSet(held_out.table, held_out.indicator)
    search.held_out = plain
    losses = search._judge(guess, Settings(), lambda *args, **entries: True).losses
    assert trial.error == pytest.approx(np.average(losses, weights=held_out.weights))


def test_small_weights_of_all_rows_keep_popularity(data):
    X, Y, weights, *_ = data
    found = LabelRanker(random_state=0).fit(X, Y, sample_weight=weights / weights.sum())
    plain = LabelRanker(solver="popularity").fit(X, Y, sample_weight=weights)
    assert found.score(X, Y, weights) > plain.score(X, Y, weights) + 0.1


@pytest.mark.parametrize("solver", ["loreta", "pa", "perceptron", "group-perceptron"])
def test_every_solver_learns_from_rows_of_positive_weight_only(data, solver):
    X, Y, weights, *_ = data
    weights = np.where(np.arange(120) % 2, weights, 0)
    settings = {"rank": 4, "solver": solver, "n_steps": 300, "learning_rate": 0.01, "random_state": 0}
    weighted = LabelRanker(**settings).fit(X, Y, sample_weight=weights)
    removed = LabelRanker(**settings).fit(X[1::2], Y[1::2], sample_weight=weights[1::2])
    np.testing.assert_allclose(weighted.decision_function(X), removed.decision_function(X))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(120), "sample_weight is zero for every row"),
        (np.ones(119), "sample_weight must have one weight per row: X has 120 rows"),
        (np.arange(120) - 1.0, "sample_weight must be numbers that are not negative; row 0 has -1"),
    ],
)
def test_weights_that_cannot_be(data, weights, message):
    X, Y, *_ = data
    with pytest.raises(ValueError, match=message):
        LabelRanker().fit(X, Y, sample_weight=weights)
