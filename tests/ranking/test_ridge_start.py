"""The closed form is that of plain numpy, dense, sparse and projected; and what `LabelRanker()` chooses by itself."""

import literal_ridge as literal
import numpy as np
import pytest
from literal_ranking import problem, untidy
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from nearer import LabelRanker, load_model
from nearer.metrics import label_ranking_map
from nearer.ranking import ridge
from nearer.ranking.targets import TrainingSet, with_constant

CONSTANT = 3.0


def start_of(X, Y, center=True, parts=1):
    """Return the closed form of rows that are added in some parts, and the table with its constant column."""
    table = with_constant(X, CONSTANT) if center else X
    train = TrainingSet(table, csr_array(Y.astype(float)))
    projection = ridge.projection_of(train, center, np.random.default_rng(0))
    first, *others = (
        ridge.Moments.of(train.take(rows), projection) for rows in np.array_split(np.arange(len(train)), parts)
    )
    for other in others:
        first = first.plus(other)
    return ridge.RidgeStart(projection, ridge.RidgePath(first, center), CONSTANT), table


def scored(X, Y, power, penalty, rank, **given):
    start, table = start_of(X, Y, **given)
    A, B = start.factors(power, penalty, rank, np.random.default_rng(0))
    return np.asarray(table @ B) @ A.T


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(("power", "penalty"), [(0.0, 1.0), (0.5, 0.1), (0.75, 3.0)])
def test_scores_are_those_of_one_newton_step(power, penalty, center, kind):
    X, Y = problem(n=200, d=12, L=9, sparse=kind == "sparse")
    X[:, 4] = 7.0 if center else 0.0  # says nothing
    expected = literal.scores(X, Y, power, penalty, center)
    table = csr_array(X) if kind == "sparse" else X
    found = scored(table, Y, power, penalty, 8, center=center, parts=3)
    np.testing.assert_allclose(found, 5 / literal.gap(expected, Y) * expected, atol=1e-9)


def test_power_zero_is_ridge_regression():
    X, Y = problem(n=200, d=12, L=9)
    model = Ridge(0.1 * 200).fit(literal.standardized(X), Y)
    expected = model.predict(literal.standardized(X))
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(literal.scores(X, Y, 0.0, 0.1), expected, atol=1e-10)


def test_a_lower_rank_is_the_best_approximation_of_the_scores():
    X, Y = problem(n=200, d=12, L=9)
    expected = literal.of_rank(literal.scores(X, Y, 0.5, 1.0), 3)
    np.testing.assert_allclose(scored(X, Y, 0.5, 1.0, 3), 5 / literal.gap(expected, Y) * expected, atol=1e-9)


def test_more_labels_than_features_and_a_rank_that_scores_do_not_have():
    X, Y = problem(n=200, d=6, L=30)
    Y = Y[:, Y.any(axis=0)]
    expected = literal.scores(X, Y, 0.5, 1.0)
    start, table = start_of(X[:, :4], Y)
    A, B = start.factors(0.5, 1.0, 5, np.random.default_rng(0))
    assert np.linalg.matrix_rank(table @ B @ A.T) == 5
    X = np.repeat(X[:, :1], 6, axis=1)
    start, table = start_of(X, Y)
    A, B = start.factors(0.5, 1.0, 6, np.random.default_rng(0))
    values = np.linalg.svd(A @ B.T, compute_uv=False)
    assert values[5] > 1e-6 * values[0]
    expected = literal.scores(X, Y, 0.5, 1.0)
    expected *= 5 / literal.gap(expected, Y)
    assert np.abs(table @ B @ A.T - expected).max() < 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_krylov_space_that_holds_everything_is_exact(kind, monkeypatch):
    X, Y = problem(n=200, d=40, L=25, sparse=kind == "sparse")
    Y = Y[:, Y.any(axis=0)]
    table, rank = csr_array(X) if kind == "sparse" else X, Y.shape[1] - 1
    exact = scored(table, Y, 0.5, 1.0, rank)
    monkeypatch.setattr(ridge, "MAX_COLUMNS", 20)
    start, _ = start_of(table, Y)
    assert start.projection.n_columns <= 40  # directions of rounding errors are left out
    np.testing.assert_allclose(scored(table, Y, 0.5, 1.0, rank), exact, atol=1e-6)


def test_more_columns_than_rows_are_projected():
    X, Y = problem(n=100, d=400, L=15)
    Y = Y[:, Y.any(axis=0)]
    start, _ = start_of(X, Y)
    assert start.projection.n_columns < 100
    expected = literal.scores(X, Y, 0.5, 1.0)
    found = scored(X, Y, 0.5, 1.0, Y.shape[1] - 1)
    np.testing.assert_allclose(found, 5 / literal.gap(expected, Y) * expected, atol=1e-6)


def test_a_krylov_space_of_few_dimensions_scores_nearly_as_the_whole(monkeypatch):
    X, Y = problem(n=600, d=300, L=40)
    exact = scored(X, Y, 0.5, 1.0, 39)
    monkeypatch.setattr(ridge, "MAX_COLUMNS", 20)
    monkeypatch.setattr(ridge, "KRYLOV_SIZE", 120)
    start, _ = start_of(X, Y)
    assert 120 <= start.projection.n_columns < 160
    close = scored(X, Y, 0.5, 1.0, 39)
    assert np.linalg.norm(close - exact) < 0.05 * np.linalg.norm(exact)


@pytest.fixture(scope="module")
def simulated():
    X, Y = problem(n=1500, d=20, L=60, seed=3)
    Y = Y[:, Y[:1000].any(axis=0)]
    return X[:1000], Y[:1000], X[1000:], Y[1000:]


def test_as_typed_it_ranks_better_than_ridge_regression(data_set):
    tables = data_set("corel5k")[:2]
    order = np.random.default_rng(0).permutation(tables[0].shape[0])
    (X, Y), (unseen, truth) = ([table[rows] for table in tables] for rows in (order[:4000], order[4000:]))
    with pytest.warns(UserWarning, match="true of no row"):
        model = LabelRanker(random_state=0).fit(X, Y)
    regression = Ridge(100).fit(X.toarray(), Y.toarray()).predict(unseen.toarray())
    assert model.score(unseen, truth) > label_ranking_map(regression, truth) + 0.005


def test_what_was_tried_is_recorded(simulated):
    X, Y, *_ = simulated
    model = LabelRanker(random_state=0).fit(X, Y)
    popularity, *others = model.selection_
    assert popularity["ridge"] is None
    assert all(record["error"] < popularity["error"] for record in others)
    (chosen,) = (record for record in model.selection_ if record["chosen"])
    assert model.label_factors_.shape[1] == chosen["rank"]
    assert model.n_steps_ == chosen["n_steps"]
    assert model.learning_rate_ > 0


def test_features_that_say_nothing_leave_popularity():
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(1200, 30)), random.random((1200, 40)) < 0.3 / np.arange(1, 41)
    model = LabelRanker(random_state=0).fit(X[:600], Y[:600])
    popular = LabelRanker(solver="popularity").fit(X[:600], Y[:600])
    assert model.score(X[600:], Y[600:]) > popular.score(X[600:], Y[600:]) - 0.01


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(scale, simulated):
    X, Y, unseen, truth = simulated
    plain = LabelRanker(random_state=0).fit(X, Y).score(unseen, truth)
    scaled = LabelRanker(random_state=0).fit(scale * X, Y)
    assert scaled.score(scale * unseen, truth) == pytest.approx(plain, abs=0.01)


def test_an_offset_leaves_the_closed_form(simulated):
    X, Y, unseen, truth = simulated
    moved = LabelRanker(random_state=0).fit(1e8 + X, Y)
    assert moved.n_steps_ == 0  # no steps can be taken from factors that are nearly those of a constant
    popular = LabelRanker(solver="popularity").fit(X, Y).score(unseen, truth)
    assert moved.score(1e8 + unseen, truth) > popular + 0.3


def test_units_of_single_columns_do_not_matter_to_the_closed_form():
    X, Y = problem(n=200, d=12, L=9)
    units = 10.0 ** np.arange(-6, 6)
    np.testing.assert_allclose(scored(X * units, Y, 0.5, 1.0, 8), scored(X, Y, 0.5, 1.0, 8), atol=1e-8)


@pytest.mark.parametrize("shape", [(2, 1, 2), (10, 3, 2), (60, 2, 40), (60, 200, 3)])
def test_the_rank_adapts_to_small_tables(shape, tmp_path):
    n, d, L = shape
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(n, d)), np.eye(L, dtype=int)[np.arange(n) % L]
    model = LabelRanker(random_state=0).fit(X, Y)
    assert model.label_factors_.shape[1] <= min(L, d + 1)
    model.save(tmp_path / "a.nearer")
    again = load_model(tmp_path / "a.nearer").partial_fit(X, Y)
    assert np.isfinite(again.decision_function(X)).all()
    assert np.isfinite(LabelRanker(random_state=0).fit(np.zeros((n, d)), Y).decision_function(X)).all()
    stream = LabelRanker(random_state=0).partial_fit(X, Y).partial_fit(X, Y)
    assert stream.n_steps_ == 2 * n


def test_given_steps_are_taken(simulated):
    X, Y, *_ = simulated
    for given in ({"learning_rate": 0.01}, {}):
        model = LabelRanker(6, n_steps=1234, random_state=0, **given).fit(X, Y)
        assert model.n_steps_ == 1234
        assert model.label_factors_.shape[1] == 6
    assert LabelRanker(learning_rate=0.01, random_state=0).fit(X, Y).learning_rate_ == 0.01


def test_sparse_features_are_dense_ones():
    X, Y = problem(sparse=True)
    dense, sparse = (LabelRanker(random_state=0).fit(table, Y) for table in (X, untidy(X)))
    np.testing.assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-7)


def test_a_callback_or_the_clock_ends_the_search(simulated):
    X, Y, unseen, truth = simulated
    popular = LabelRanker(solver="popularity").fit(X, Y).score(unseen, truth)
    seen = []
    model = LabelRanker(random_state=0, callback=lambda record: seen.append(record) or len(seen) == 3).fit(X, Y)
    assert model.stop_reason_ == "callback"
    assert len(model.selection_) <= 5
    assert {"stage", "power", "ridge", "rank", "learning_rate", "n_steps", "error"} <= set(seen[0])
    assert model.score(unseen, truth) > popular
    assert LabelRanker(random_state=0, max_seconds=1e-9).fit(X, Y).stop_reason_ == "time"


@pytest.mark.filterwarnings("ignore:.*labels are true of no row")
def test_a_fit_whose_steps_held_out_rows_chose_has_converged(simulated):
    X, Y, *_ = simulated
    model = LabelRanker(random_state=0).fit(X, Y)
    assert (model.stop_reason_, model.converged_) == ("converged", True)
    few = LabelRanker(random_state=0).fit(X[:20], Y[:20])  # nothing is held out: the closed form alone
    assert (few.stop_reason_, few.n_steps_) == ("converged", 0)
    assert LabelRanker(solver="popularity").fit(X, Y).stop_reason_ == "converged"
    given = LabelRanker(6, n_steps=500, learning_rate=0.01, random_state=0).fit(X, Y)
    assert (given.stop_reason_, given.converged_) == ("max_iter", False)
