"""LowRankSimilarity as its users meet it: labels or comparisons, dense or sparse, at once or in chunks."""

import pickle
import re
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, normalize, scale

from extras import needs
from nearer import Comparisons, InformationGain, LowRankSimilarity, load_model
from nearer.losses import TSTE, ops
from nearer.metrics import mean_average_precision, retrieval_map_scorer
from nearer.similarity import LORETA, GradientDescent, PassiveAggressive
from nearer.similarity.low_rank.held_out import hold_out_comparisons, hold_out_objects
from nearer.similarity.low_rank.sampling import CANDIDATES, ComparisonSampler, LabelSampler
from nearer.simulate import comparisons_from_labels, comparisons_from_points
from nearer.solver import N_CHUNKS

D, RANK = 30, 3
FAST = {"rank": RANK, "n_steps": 2000, "random_state": 0}
# The algorithms of the paper and nothing else; without these settings a similarity is the cosine of centered
# features, starts from the whitened ones and stops early.
PAPER = {"normalize": False, "init": "svd", "early_stopping": False}
KINDS = {
    "cosine": {},
    "psd": PAPER,
    "general": {"psd": False},
    "distance": {"loss": "ste"},
    "gd": {**PAPER, "solver": "gd"},
    "pa": {"solver": "pa"},
    "identify": {"solver": "loreta-identify", "learning_rate": 0.05},
}


def documents(n=240, seed=0):
    """Return counts of words, mostly zero, of rows of unit length: five classes that differ in a few of them."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 5
    rate = np.full((n, D), 0.2)
    rate[np.arange(n), y] = 3.0
    rate[np.arange(n), y + 5] = 2.0
    rate[:, 20:] = 1.5
    X = random.poisson(rate).astype(float)
    X[:, 29] += 0.1  # no row is empty
    return normalize(X), y


@pytest.fixture(scope="module")
def data():
    return documents()


@pytest.fixture(scope="module", params=KINDS)
def model(request, data):
    return LowRankSimilarity(**{**FAST, **KINDS[request.param]}).fit(*data)


def factors_of(model):
    return [getattr(model, name) for name in ("query_components_", "components_") if hasattr(model, name)]


def same(one, other, tolerance=0.0):
    for a, b in zip(factors_of(one), factors_of(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


def scores_of(model, A, B):
    """How alike each row of A and each of B are, from what was learned alone: the more the better."""
    if model.mean_ is not None:
        A, B = (A - model.mean_) / model.scale_, (B - model.mean_) / model.scale_
    queries, items = A @ factors_of(model)[0].T, B @ model.components_.T
    if model.normalize_:
        return 1.0 - cdist(queries, items, "cosine")
    return queries @ items.T if model.kind_ == "similarity" else -cdist(queries, items)


# What it learns


@pytest.mark.parametrize("init", ["svd", "identity", "zero", "gaussian"])
def test_every_start_learns_what_tells_classes_apart(init):
    X, y = documents(n=500)
    new, of = documents(n=300, seed=9)
    plain = mean_average_precision(new @ new.T, of)
    found = LowRankSimilarity(5, **{**PAPER, "init": init}, random_state=0).fit(X, y)
    assert mean_average_precision(found.similarity(new, new), of) > plain + 0.1
    assert found.n_steps_ == 20_000
    assert found.score_comparisons(new, comparisons_from_labels(of, 2000, 1)) > 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns(kind):
    X, y = documents(n=500)
    new, of = documents(n=300, seed=9)
    settings = {**KINDS[kind], "init": "gaussian", "random_state": 0}
    found = LowRankSimilarity(5, **settings).fit(X, y)
    start = LowRankSimilarity(5, **{**settings, "learning_rate": 1e-12}).fit(X, y)
    before, after = (mean_average_precision(scores_of(model, new, new), of) for model in (start, found))
    assert after > before + (0.03 if kind == "identify" else 0.1)  # which the paper, too, found to learn less


def test_a_distance_is_recovered_from_answers():
    """Noise-free answers about a distance of rank 3 among 20 features; judged by objects never asked about."""
    random = np.random.default_rng(0)
    L = random.normal(size=(3, 20))
    X, new = random.normal(size=(300, 20)), random.normal(size=(200, 20))
    rows = comparisons_from_points(X @ L.T, 10_000, random_state=1)
    test = comparisons_from_points(new @ L.T, 5000, random_state=2)
    found = LowRankSimilarity(3, loss="ste", random_state=0).fit(X, comparisons=rows)
    assert found.kind_ == "distance"
    assert found.score_comparisons(new, test) > 0.95
    W, true = found.components_.T @ found.components_, L.T @ L
    assert np.vdot(W, true) / (np.linalg.norm(W) * np.linalg.norm(true)) > 0.95


@pytest.fixture(scope="module")
def newsgroups(data_set):
    """Return tf-idf of the 5,000 most informative terms of some documents, to learn from and to judge by."""
    counts, y, _, _, is_test = data_set("newsgroups-counts")
    learn, judge = np.flatnonzero(~is_test)[::3], np.flatnonzero(is_test)[::5]
    words = make_pipeline(InformationGain(5000), TfidfTransformer(), Normalizer())
    X = words.fit_transform(counts[learn], y[learn])
    return X, y[learn], words.transform(counts[judge]), y[judge]


def test_20_newsgroups(newsgroups):
    X, y, new, of = newsgroups
    plain = mean_average_precision((new @ new.T).toarray(), of)
    settings = {"rank": 20, "n_steps": 20_000, "random_state": 0}
    hard = LowRankSimilarity(**settings).fit(X, y)
    even = LowRankSimilarity(**settings, negatives="random").fit(X, y)
    learned, evenly = (mean_average_precision(found.similarity(new, new), of) for found in (hard, even))
    assert learned > 1.8 * plain
    assert learned > evenly > 1.2 * plain


# What it is given


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cosine"])  # which centers dense rows
def test_sparse_is_dense(data, kind):
    X, y = data
    dense = LowRankSimilarity(**{**FAST, **KINDS[kind], "init": "gaussian"}).fit(X, y)
    for made in (csr_array, csr_matrix):
        S = made(X)
        sparse = LowRankSimilarity(**{**FAST, **KINDS[kind], "init": "gaussian"}).fit(S, y)
        np.testing.assert_allclose(scores_of(sparse, X, X), scores_of(dense, X, X), atol=1e-7)
        assert sparse.learning_rate_ == pytest.approx(dense.learning_rate_, rel=1e-12)
        assert (sparse.neighbors(S[:9], S, 4)[1] == dense.neighbors(X[:9], X, 4)[1]).all()
        np.testing.assert_allclose(
            sparse.pair_score((S[:3], S[3:6])), dense.pair_score((X[:3], X[3:6])), atol=1e-7
        )


@pytest.mark.parametrize("init", ["svd", "zero", "identity"])
def test_the_start_of_sparse_rows_is_that_of_dense_ones(data, init):
    X, y = data
    dense, sparse = (
        LowRankSimilarity(**FAST, **{**PAPER, "init": init}).fit(table, y) for table in (X, csr_array(X))
    )
    np.testing.assert_allclose(scores_of(sparse, X, X), scores_of(dense, X, X), atol=1e-4)


def untidy(X):
    """Return the table as CSR with unsorted columns, entries in two parts, and zeros that are written down."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    empty = np.argwhere(X == 0)[:50]
    rows = np.concatenate([rows, rows, empty[:, 0]])
    columns = np.concatenate([columns, columns, empty[:, 1]])
    values = np.concatenate([0.25 * values, 0.75 * values, np.zeros(len(empty))])
    order = np.lexsort([-columns, rows])
    starts = np.searchsorted(rows[order], np.arange(len(X) + 1))
    return csr_array((values[order], columns[order].astype(np.int32), starts.astype(np.int32)), shape=X.shape)


@pytest.mark.parametrize("kind", ["cosine", "psd", "general", "distance"])
def test_untidy_rows_are_taken_and_left_alone(data, kind):
    X, y = data
    table = untidy(X)
    before = [part.copy() for part in (table.data, table.indices, table.indptr)]
    found = LowRankSimilarity(**FAST, **KINDS[kind]).fit(table, y)
    same(found, LowRankSimilarity(**FAST, **KINDS[kind]).fit(csr_array(X), y), 1e-7)
    assert found.transform(table).shape == (len(X), RANK) if kind != "general" else True
    for part, old in zip((table.data, table.indices, table.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_the_input_is_left_as_it_is(data):
    X, y = (part.copy() for part in data)
    rows = comparisons_from_labels(y, 300, 0).rows
    kept = rows.copy()
    start = np.random.default_rng(0).normal(size=(D, RANK))
    first = start.copy()
    found = LowRankSimilarity(**FAST, init=start).fit(X, y)
    found.partial_fit(X, comparisons=rows)
    for now, old in ((X, data[0]), (y, data[1]), (rows, kept), (start, first)):
        np.testing.assert_array_equal(now, old)


def test_labels_of_any_kind(data):
    X, y = data
    wanted = LowRankSimilarity(**FAST).fit(X, y)
    for labels in (y.tolist(), y.astype(np.int64), y.astype(np.uint8), np.array(list("abcde"))[y], y - 7.5):
        same(LowRankSimilarity(**FAST).fit(X, labels), wanted)


def test_comparisons_index_rows(data):
    X, y = data
    given = comparisons_from_labels(y, 500, 3)
    a, b = (LowRankSimilarity(**FAST).fit(X, comparisons=rows) for rows in (given, given.rows.astype(np.int64)))
    same(a, b)
    assert a.score_comparisons(X, given) > 0.9
    assert LowRankSimilarity(RANK, random_state=0).fit(X, comparisons=given).n_steps_ >= 20_000


def test_names_are_matched_with_a_frame(data):
    needs("pandas")
    import pandas as pd

    X, y = data
    names = [f"object {i:03}" for i in range(len(X))]
    rows = comparisons_from_labels(y, 300, 3).rows
    order = np.random.default_rng(0).permutation(len(X))
    frame = pd.DataFrame(X[order], index=[names[i] for i in order]).add_prefix("word ")
    settings = {**FAST, "init": "gaussian", "learning_rate": 0.5}
    by_name = LowRankSimilarity(**settings).fit(
        frame, comparisons=Comparisons(rows, n_objects=len(X), names=names)
    )
    same(by_name, LowRankSimilarity(**settings).fit(X, comparisons=rows), 1e-9)
    assert by_name.feature_names_in_[3] == "word 3"
    with pytest.raises(ValueError, match="feature names should match"):
        by_name.transform(frame.add_prefix("a "))


def test_zero_weights_do_not_count(data):
    X, y = data
    rows = comparisons_from_labels(y, 300, 3).rows
    wrong = rows[:, [0, 2, 1]]
    weights = np.repeat([1.0, 0.0], 300)
    a = LowRankSimilarity(**FAST).fit(X, comparisons=rows)
    b = LowRankSimilarity(**FAST).fit(X, comparisons=Comparisons(np.concatenate([rows, wrong]), weights=weights))
    same(a, b)
    with pytest.raises(ValueError, match="all weights are zero"):
        LowRankSimilarity(**FAST).fit(X, comparisons=Comparisons(rows, weights=np.zeros(300)))


def test_a_weight_is_a_longer_step(data):
    X, y = data
    rows = comparisons_from_labels(y, 300, 3).rows
    a = LowRankSimilarity(**FAST, learning_rate=0.6).fit(X, comparisons=rows)
    b = LowRankSimilarity(**FAST, learning_rate=0.2).fit(
        X, comparisons=Comparisons(rows, weights=np.full(300, 3.0))
    )
    same(a, b, 1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pass labels y or comparisons"),
        ({"y": [0, 1]}, "240 rows and y 2 labels"),
        ({"y": [0] * 240}, "single class"),
        ({"y": range(240)}, "every label occurs only once"),
        ({"y": ["a", None] * 120}, "got NoneType and str"),
        ({"comparisons": [[0, 1, 240]]}, "comparison 0 is about object 240, but X has only 240 rows"),
        ({"comparisons": [[0, 1, 2, 3]]}, "quadruplets"),
        ({"comparisons": np.empty((0, 3), dtype=int)}, "nothing to learn from"),
        ({"comparisons": [[0, 0, 2]]}, "row 0"),
    ],
)
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_what_was_given_is_checked(data, arguments, message, how):
    with pytest.raises(ValueError, match=message):
        getattr(LowRankSimilarity(**FAST), how)(data[0], **arguments)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank must be 'auto' or a positive integer; got 0"),
        ({"rank": 2.0}, "rank must be 'auto' or a positive integer; got 2.0"),
        ({"rank": D + 1}, rf"a rank of {D + 1} .*\b{D}\b"),
        ({"solver": "sgd"}, "unknown solver 'sgd'; the known ones are 'gd', 'loreta', 'loreta-identify', 'pa'"),
        ({"solver": LORETA}, "solver must be one of 'gd', .* or an object with the method solve"),
        ({"solver": LORETA(identify=1)}, "LORETA's identify must be True or False; got 1"),
        ({"psd": "yes"}, "psd must be None, True or False; got 'yes'"),
        ({"solver": "pa", "psd": True}, "solver='pa' learns two factors"),
        ({"solver": "loreta-identify", "psd": True}, "solver='loreta-identify' learns two factors"),
        ({"loss": "hinge"}, "unknown loss 'hinge'"),
        ({"loss": "ste", "psd": False}, "a loss of distances needs psd=True .* psd=False"),
        ({"loss": "ste", "solver": "pa"}, "a loss of distances needs psd=True .* got solver='pa'"),
        ({"init": "pca"}, "init must be one of 'auto', 'whitened', 'svd', 'identity', .*, or factors; got 'pca'"),
        ({"init": 3}, "init must be"),
        ({"init": np.ones((D, 4))}, r"shape \(30, 3\); got shape \(30, 4\)"),
        ({"init": np.ones((D, RANK)), "psd": False}, "pair of arrays"),
        ({"init": (np.ones((D, RANK)),) * 2}, f"shape .{D}, {RANK}"),
        ({"init": np.ones((D, RANK))}, "depend on each other"),
        ({"init": np.full((D, RANK), np.nan)}, "finite"),
        ({"normalize": "yes"}, "normalize must be None, True or False; got 'yes'"),
        (
            {"normalize": True, "loss": "ste"},
            "normalize=True makes a similarity a cosine; loss='ste' learns a dist",
        ),
        ({"early_stopping": 1}, "early_stopping must be 'auto', True or False; got 1"),
        ({"validation": "answers"}, "validation must be 'auto', 'objects' or 'classes'; got 'answers'"),
        ({"negatives": "soft"}, "negatives must be 'hard' or 'random'; got 'soft'"),
        ({"learning_rate": 0}, "learning_rate must be 'auto' or a number > 0; got 0"),
        ({"learning_rate": "fast"}, "learning_rate must be"),
        ({"learning_rate": np.inf}, "learning_rate must be"),
        ({"n_steps": 0}, "n_steps must be None or a positive integer; got 0"),
        ({"sampling": "pairs"}, "sampling must be 'instances' or 'classes'; got 'pairs'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number between 0 and 1; got 1.0"),
        ({"max_seconds": 0}, "max_seconds must be None or a number > 0; got 0"),
        ({"callback": 3}, "callback must be"),
    ],
)
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_parameters_are_checked(data, parameters, message, how):
    made = LowRankSimilarity(**{**FAST, **parameters})
    with pytest.raises(ValueError, match=message):
        getattr(made, how)(*data)
    assert not hasattr(made, "components_")
    assert not hasattr(made, "n_features_in_")


def test_a_full_rank_and_a_rank_of_one(data):
    X, y = data
    for rank in (1, D):
        found = LowRankSimilarity(rank, n_steps=500, random_state=0).fit(X, y)
        assert found.components_.shape == (rank, D)
        assert np.linalg.matrix_rank(found.components_) == rank
    few = LowRankSimilarity(D, n_steps=500, random_state=0).fit(X[:10], y[:10])  # more directions than objects
    assert np.linalg.matrix_rank(few.components_) == D


def test_empty_rows_and_columns_do_no_harm(data):
    X, y = data
    X = np.column_stack([X, np.zeros(len(X))])
    X[:4] = 0.0
    for settings in KINDS.values():
        found = LowRankSimilarity(**{**FAST, **settings}).fit(csr_array(X), y)
        assert all(np.isfinite(factor).all() for factor in factors_of(found))
    assert np.isfinite(LowRankSimilarity(**FAST, learning_rate=1.0).fit(0.0 * X, y).components_).all()


def test_units_of_the_features_do_not_matter(data):
    X, y = data
    a, b = (LowRankSimilarity(**{**FAST, "normalize": False}).fit(scale * X, y) for scale in (1.0, 1000.0))
    assert b.learning_rate_ == pytest.approx(1e-12 * a.learning_rate_)
    np.testing.assert_allclose(b.similarity(1000 * X, 1000 * X), a.similarity(X, X), atol=1e-4)


@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        *((solver, how) for solver in ("loreta", "gd") for how in ({}, {"psd": False}, {"loss": "ste"})),
        ("pa", {}),
    ],
)
def test_step_sizes_are_free_of_units(solver, settings):
    """Steps of factors have the unit 1/‖x‖², those of W 1/‖x‖⁴: before, gd and pa learned well at one scale only."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    train, test = np.arange(178) % 2 == 0, np.arange(178) % 2 == 1
    scores, rates = [], []
    for size in (1 / 30, 1.0, 30.0, 255.0):
        model = LowRankSimilarity(5, solver, n_steps=5000, normalize=False, random_state=0, **settings)
        model.fit(size * X[train], y[train])
        scores.append(model.score(size * X[test], y[test]))
        rates.append(model.learning_rate_ * size ** (4 if solver == "loreta" else 2))
    assert min(scores) > 0.9
    np.testing.assert_allclose(rates, rates[1])
    np.testing.assert_allclose(scores, scores[1], atol=2e-3)


@pytest.mark.parametrize("solver", ["loreta", "gd"])
def test_step_sizes_are_free_of_the_units_of_weights(solver, data):
    X, y = data
    answers = comparisons_from_labels(y, 2000, random_state=0)
    found = []
    for weight in (1.0, 1e-90, 1e90):
        weighted = Comparisons(answers.rows, n_objects=len(X), weights=np.full(2000, weight))
        model = LowRankSimilarity(**FAST, solver=solver).fit(X, comparisons=weighted)
        assert model.learning_rate_ * weight == pytest.approx((found or [model])[0].learning_rate_)
        found.append(model)
    for other in found[1:]:
        assert other.score(X, y) == pytest.approx(found[0].score(X, y), abs=2e-3)
    extreme = Comparisons(answers.rows, n_objects=len(X), weights=np.full(2000, 1e300))
    with pytest.raises(ValueError, match=r"largest weight is 1e\+300.*divide"):
        LowRankSimilarity(**FAST).fit(X, comparisons=extreme)


# How it goes


def test_the_same_seed_gives_the_same_model(data):
    for settings in KINDS.values():
        a, b, c = (
            LowRankSimilarity(**{**FAST, **settings, "random_state": seed}).fit(*data) for seed in (3, 3, 4)
        )
        same(a, b)
        assert (a.components_ != c.components_).any()


def test_hard_negatives_are_drawn_from_other_classes(data):
    _, y = data
    objects = np.arange(len(y))[::-1].copy()
    draws = LabelSampler(y, objects, "instances", True, np.random.default_rng(0))
    rows, weights = draws.next(500)
    assert rows.shape == (500, 2 + CANDIDATES)
    assert (weights == 1).all()
    labels = y[::-1][rows]  # row i of the table has the label of object n - 1 - i
    assert (labels[:, 0] == labels[:, 1]).all()
    assert (labels[:, :1] != labels[:, 2:]).all()
    assert (rows[:, 0] != rows[:, 1]).all()


def test_given_triplets_come_once_each_a_pass():
    given = Comparisons(np.array([[i, i + 1, i + 2] for i in range(10)]), weights=np.arange(1.0, 11.0))
    draws = ComparisonSampler(given, np.random.default_rng(0))
    rows, weights = (np.concatenate(parts) for parts in zip(*(draws.next(n) for n in (4, 6, 3, 7)), strict=True))
    np.testing.assert_array_equal(weights, rows[:, 0] + 1)
    assert sorted(rows[:10, 0]) == sorted(rows[10:, 0]) == list(range(10))
    assert rows[:10, 0].tolist() != rows[10:, 0].tolist()
    assert ComparisonSampler(given, None).next(25)[0][:, 0].tolist() == [*range(10), *range(10), *range(5)]


@pytest.mark.parametrize(
    "settings", [{"solver": "gd"}, {"solver": "gd", "psd": False}, {"loss": "ste", "solver": "gd"}]
)
def test_steps_too_large_are_told_and_change_nothing(data, settings):
    X, y = data
    made = LowRankSimilarity(**FAST, **settings)
    made.set_params(learning_rate=1e8)
    with pytest.raises(ValueError, match=re.escape("diverged with a learning_rate of 1e+08: give a smaller one")):
        made.fit(X, y)
    assert not hasattr(made, "components_")
    made.set_params(learning_rate=0.01).fit(X, y)
    before = {name: value for name, value in vars(made).items() if name.endswith("_")}
    for how in (made.set_params(learning_rate=1e8).fit, made.fit):
        with pytest.raises(ValueError, match="diverged"):
            how(X[:, :20], y)
    after = {name: value for name, value in vars(made).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("settings", [{}, {"psd": False}, {"loss": "ste"}])
@pytest.mark.parametrize("rate", [1e3, 1e150])
def test_steps_of_loreta_are_never_too_long(data, settings, rate):
    found = LowRankSimilarity(**FAST, **settings, learning_rate=rate).fit(*data)
    assert np.isfinite(found.components_).all()
    assert np.linalg.matrix_rank(found.components_) == found.rank


def test_history_and_callback(data):
    X, y = data
    settings = {**FAST, **PAPER}
    found = LowRankSimilarity(**settings).fit(X, y)
    assert [record["n_steps"] for record in found.history_] == list(range(100, 2001, 100))
    assert len(found.history_) == N_CHUNKS
    assert all({"iteration", "n_steps", "loss", "seconds"} == set(record) for record in found.history_)
    assert found.history_[-1]["loss"] < found.history_[0]["loss"]
    assert found.n_steps_ == 2000
    odd = LowRankSimilarity(**{**settings, "n_steps": 47}).fit(X, y)
    assert [record["n_steps"] for record in odd.history_] == [*range(3, 47, 3), 47]
    seen = []

    def third(record):
        seen.append(record)
        return record["stage"] == "fit" and record["iteration"] == 3

    stopped = LowRankSimilarity(**settings, callback=third).fit(X, y)
    assert (stopped.n_steps_, stopped.n_iter_, stopped.stop_reason_) == (300, 3, "callback")
    assert [{"stage": "fit", **record} for record in stopped.history_] == seen[-3:]
    tried = [record["learning_rate"] for record in seen[:-3]]
    assert {record["stage"] for record in seen[:-3]} == {"choosing learning_rate"}
    assert tried == [record["learning_rate"] for record in stopped.selection_]


def test_the_rate_below_the_best_is_chosen(data):
    found = LowRankSimilarity(**FAST).fit(*data)
    losses = [record["error"] for record in found.selection_]
    (chosen,) = (number for number, record in enumerate(found.selection_) if record["chosen"])
    assert chosen == max(0, losses.index(min(losses)) - 1)
    assert found.selection_[chosen]["learning_rate"] == found.learning_rate_
    assert LowRankSimilarity(**FAST, learning_rate=0.1).fit(*data).selection_ is None


def test_a_fit_ends_in_time(data):
    found = LowRankSimilarity(RANK, n_steps=10_000_000, learning_rate=0.1, max_seconds=0.1).fit(*data)
    assert found.stop_reason_ == "time"
    assert found.n_steps_ < 10_000_000


@pytest.mark.parametrize(
    ("name", "solver", "settings"),
    [
        ("loreta", LORETA(), {}),
        ("loreta", LORETA(), {"loss": "ste"}),
        ("loreta-identify", LORETA(identify=True), {"learning_rate": 0.05}),
        ("gd", GradientDescent(), {}),
        ("pa", PassiveAggressive(), {}),
    ],
)
def test_solver_objects_are_their_names(data, name, solver, settings):
    by_name, by_object = (
        LowRankSimilarity(**FAST, **settings, solver=which).fit(*data) for which in (name, solver)
    )
    same(by_object, by_name)


def test_an_interrupted_fit_leaves_the_model_as_it_was(data):
    X, y = data

    def stop(record):
        raise KeyboardInterrupt

    made = LowRankSimilarity(**FAST, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        made.fit(X, y)
    with pytest.raises(NotFittedError):
        made.neighbors(X, X, 2)
    before = made.set_params(callback=None).fit(X, y).similarity(X, X)
    with pytest.raises(KeyboardInterrupt):
        made.set_params(callback=stop, psd=False).fit(X[:, :9], y)
    np.testing.assert_array_equal(made.set_params(psd=None).similarity(X, X), before)


def test_verbose_shows_a_bar(data, capsys):
    LowRankSimilarity(**FAST, verbose=True).fit(*data)
    assert "loss" in capsys.readouterr().err


class Factors:
    """What a judge sees of a model."""

    def __init__(self, *factors):
        self.factors = factors


def best_of(score):
    """Return what a judge says of a score: what to minimise, and the entry of a record."""
    return (pytest.approx(-score),), {"held_out_score": pytest.approx(score)}


@pytest.mark.parametrize("kind", ["cosine", "psd", "general", "distance"])
@pytest.mark.parametrize("given", ["labels", "comparisons"])
def test_early_stopping_keeps_the_best(data, kind, given, monkeypatch):
    X, y = data
    judges = []

    def listening(make):
        def made(*arguments):
            rest, judge = make(*arguments)
            judges.append(judge)
            return rest, judge

        return made

    for make in (hold_out_objects, hold_out_comparisons):
        monkeypatch.setattr(f"nearer.similarity.low_rank.estimator.{make.__name__}", listening(make))
    arguments = {"y": y} if given == "labels" else {"comparisons": comparisons_from_labels(y, 600, 3)}
    settings = {**KINDS[kind], "early_stopping": True, "init": "svd"}  # which is not made again where it is best
    made = LowRankSimilarity(RANK, random_state=0, n_steps=40_000, **settings)
    found = made.fit(X, **arguments)
    scores = [record["held_out_score"] for record in found.history_]
    (judge,) = judges
    assert judge(Factors(*(factor.T for factor in factors_of(found)))) == best_of(max(scores))
    assert found.converged_ == (len(scores) < N_CHUNKS)
    assert len(scores) == min(N_CHUNKS, scores.index(max(scores)) + 6)  # five looks in a row were no better


def test_early_stopping_does_not_learn_from_what_it_holds_out(data):
    X, y = data
    random = np.random.default_rng(0)
    Y = np.random.default_rng(1).normal(size=(D, RANK))
    for metric in ("inner product", "euclidean"):
        objects, judge = hold_out_objects(X, y, 0.25, metric, random)
        held_out = np.setdiff1d(np.arange(len(X)), objects)
        assert np.bincount(y[held_out]).tolist() == [12] * 5
        points = X[held_out] @ Y
        scores = points @ points.T if metric == "inner product" else -cdist(points, points)
        assert judge(Factors(Y)) == best_of(mean_average_precision(scores, y[held_out]))
    given = comparisons_from_labels(y, 600, 3)
    train, judge = hold_out_comparisons(X, given, 0.25, "inner product", random)
    assert len(train) == pytest.approx(450, abs=30)
    with pytest.raises(ValueError, match="give more objects"):
        LowRankSimilarity(**FAST, early_stopping=True).fit(X[:9], y[:9])


# Chunks


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "identify"])
def test_comparisons_in_chunks_are_comparisons_at_once(data, kind):
    X, y = data
    rows = comparisons_from_labels(y, 301, 3).rows
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 301)
    start = np.random.default_rng(1).normal(size=(D, RANK))
    settings = {**KINDS[kind], "learning_rate": 0.05, "random_state": 0}
    settings["init"] = (start, start[::-1]) if kind in ("general", "pa") else start
    whole = LowRankSimilarity(RANK, **settings).partial_fit(X, comparisons=Comparisons(rows, weights=weights))
    parts = LowRankSimilarity(RANK, **settings)
    for part in (slice(0, 7), slice(7, 160), slice(160, 301)):
        parts.partial_fit(X, comparisons=Comparisons(rows[part], weights=weights[part]))
    assert whole.n_steps_ == parts.n_steps_ == 301
    same(parts, whole, 1e-9)
    backwards = LowRankSimilarity(RANK, **settings).partial_fit(
        X, comparisons=Comparisons(rows[::-1], weights=weights[::-1])
    )
    assert np.abs(backwards.components_ - whole.components_).max() > 1e-4  # the order counts


def test_partial_fit_takes_comparisons_in_their_order_from_the_first(data):
    X, y = data
    rows = comparisons_from_labels(y, 50, 3).rows
    start = np.random.default_rng(1).normal(size=(D, RANK)) / 5
    W, losses = start @ start.T, []
    settings = {**PAPER, "init": start}
    found = LowRankSimilarity(RANK, **settings, learning_rate=1e-9, n_steps=20, random_state=0)
    found.partial_fit(X, comparisons=rows)
    for a, b, c in rows[:3]:  # a record is of three triplets
        losses.append(max(0.0, 1 - X[a] @ W @ (X[b] - X[c])))
    assert found.history_[0] == {
        "iteration": 1,
        "n_steps": 3,
        "loss": pytest.approx(np.mean(losses)),
        "seconds": pytest.approx(0, abs=60),
    }
    assert found.n_steps_ == 50  # once each: n_steps is for labels


def test_labels_arrive_in_chunks():
    X, y = documents(n=1000)
    new, of = documents(n=300, seed=9)
    made = LowRankSimilarity(5, random_state=0)
    scores, steps = [], []
    for part in np.split(np.arange(1000), 5):
        made.partial_fit(csr_array(X[part]), y[part])
        scores.append(mean_average_precision(made.similarity(new, new), of))
        steps.append(made.n_steps_)
    assert steps == [4000, 8000, 12000, 16000, 20000]
    assert scores[-1] > mean_average_precision(new @ new.T, of) + 0.1
    assert scores[-1] > scores[0]


def test_partial_fit_draws_other_triplets_each_time(data):
    X, y = data
    made = LowRankSimilarity(**FAST, learning_rate=0.1).partial_fit(X, y)
    rate, losses = made.learning_rate_, [record["loss"] for record in made.history_]
    made.partial_fit(X, y)
    assert made.learning_rate_ == rate
    assert [record["loss"] for record in made.history_] != losses


def test_learning_on_after_a_fit(data):
    X, y = data
    made = LowRankSimilarity(**FAST, **PAPER).fit(X, y)
    before = made.components_.copy()
    made.partial_fit(X, y)
    assert made.n_steps_ == 4000
    assert (made.components_ != before).any()
    assert made.fit(X, y).n_steps_ == 2000
    np.testing.assert_array_equal(made.components_, before)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"rank": RANK + 1},
            rf"factors of shape \({D}, {RANK}\); its parameters now ask for .* \({D}, {RANK + 1}\)",
        ),
        ({"psd": False}, "with 1 factors .* with 2 of"),
        ({"solver": "pa"}, "with 1 factors .* with 2 of"),
        ({"loss": "ste"}, "is a similarity .* ask for a distance"),
        ({"normalize": False}, "fitted with normalize=True; its parameters now ask for normalize=False"),
    ],
)
def test_learning_on_needs_the_parameters_of_the_fit(data, changed, message):
    X, y = data
    made = LowRankSimilarity(**FAST).fit(X, y)
    before = made.components_
    with pytest.raises(ValueError, match=message):
        made.set_params(**changed).partial_fit(X, y)
    assert made.components_ is before
    made.fit(X, y)  # anew is well
    assert len(factors_of(made)) == 1 + ("psd" in changed or "solver" in changed)


def test_learning_on_needs_the_same_columns(data):
    X, y = data
    made = LowRankSimilarity(**FAST, **PAPER).fit(X, y)
    with pytest.raises(ValueError, match=f"{D - 1} features, but LowRankSimilarity is expecting {D} features"):
        made.partial_fit(X[:, 1:], y)
    assert made.n_steps_ == 2000


# What it says of objects


def test_what_is_said_of_objects_agrees_with_the_components(data, model, monkeypatch):
    X, y = data
    monkeypatch.setattr("nearer.similarity.neighbors.ENTRIES", 900)  # several blocks
    scores = scores_of(model, X, X)
    sign = 1 if model.kind_ == "similarity" else -1
    table = model.similarity(X, X) if sign == 1 else -model.distance(X, X)
    np.testing.assert_allclose(table, scores, atol=1e-12 * np.abs(scores).max())
    np.testing.assert_allclose(model.pair_score((X[:9], X[9:18])), np.diag(scores[:9, 9:18]), atol=1e-9)
    np.testing.assert_allclose(
        model.pair_score(np.stack([X[:9], X[9:18]], axis=1)), np.diag(scores[:9, 9:18]), atol=1e-9
    )
    rows = comparisons_from_labels(y, 2000, 8)
    a, b, c = rows.rows.T
    wanted = np.where(scores[a, b] > scores[a, c], 1, -1)
    np.testing.assert_array_equal(model.predict_comparisons(X, rows), wanted)
    assert model.score_comparisons(X, rows) == np.mean(wanted == 1)
    values, numbers = model.neighbors(X[:20], X, 6)
    order = np.argsort(-scores[:20], axis=1, kind="stable")[:, :6]
    np.testing.assert_array_equal(numbers, order)
    np.testing.assert_allclose(values, sign * np.take_along_axis(scores[:20], order, axis=1), atol=1e-9)
    np.fill_diagonal(scores, -np.inf)
    np.testing.assert_array_equal(
        model.neighbors(None, csr_array(X), 6)[1], np.argsort(-scores, axis=1, kind="stable")[:, :6]
    )


def test_projections(data, model):
    X, _ = data
    queries, items = model.projections(csr_array(X))
    assert queries.shape == items.shape == (len(X), RANK)
    if model.kind_ == "similarity":
        np.testing.assert_allclose(queries @ items.T, model.similarity(X, X), atol=1e-12)
    else:
        np.testing.assert_allclose(cdist(queries, items), model.distance(X, X), atol=1e-12)
    if hasattr(model, "query_components_"):
        assert (queries != items).any()
    else:
        np.testing.assert_array_equal(queries, items)
        np.testing.assert_allclose(model.transform(X), items, atol=1e-12)
        np.testing.assert_allclose(clone(model).fit_transform(*data), items, atol=1e-12)


def test_methods_are_there_where_they_mean_something(data, model):
    general = hasattr(model, "query_components_")
    for fitted in (model, clone(model)):
        for name in ("transform", "fit_transform", "set_output", "get_feature_names_out"):
            assert hasattr(fitted, name) != general
        assert hasattr(fitted, "similarity") == (model.loss is None)
        assert hasattr(fitted, "distance") == (model.loss is not None)
    if general:
        with pytest.raises(AttributeError, match="transform") as told:
            model.transform(data[0])
        assert "psd=False has two maps" in str(told.value.__cause__)
    else:
        assert model.get_feature_names_out().tolist() == [f"lowranksimilarity{j}" for j in range(RANK)]
    other = "distance" if model.loss is None else "similarity"
    with pytest.raises(AttributeError, match=other) as told:
        getattr(model, other)
    assert f"see {'similarity' if model.loss is None else 'distance'}" in str(told.value.__cause__)


def test_psd_may_be_turned_on_and_off(data):
    X, y = data
    made = LowRankSimilarity(**FAST, psd=False).fit(X, y)
    made.set_params(psd=True)
    with pytest.raises(NotFittedError, match="two projections"):
        made.transform(X)
    assert not hasattr(made.fit(X, y), "query_components_")
    assert made.transform(X).shape == (len(X), RANK)


def test_not_fitted_and_tables_of_other_width(data, model):
    X, _ = data
    with pytest.raises(NotFittedError):
        clone(model).neighbors(X, X, 1)
    with pytest.raises(NotFittedError):
        clone(model).projections(X)
    with pytest.raises(ValueError, match=f"{D - 1} features, but LowRankSimilarity is expecting {D} features"):
        model.projections(X[:, 1:])
    with pytest.raises(ValueError, match="NaN"):
        model.projections(np.full_like(X, np.nan))
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 240"):
        model.neighbors(X, X, 241)


@pytest.mark.parametrize("kind", ["cosine", "psd", "general", "distance"])
def test_an_index_finds_nearly_all(kind):
    needs("usearch")
    X, y = documents(n=3000)
    model = LowRankSimilarity(8, n_steps=2000, random_state=0, **KINDS[kind]).fit(X, y)
    index = model.index(X)
    assert index.recall_ > 0.8
    values, numbers = model.neighbors(X[:50], index, 10)
    _, true = model.neighbors(X[:50], X, 10)
    assert np.mean([np.isin(t, f).mean() for t, f in zip(true, numbers, strict=True)]) > 0.8
    sign = -1 if kind == "distance" else 1
    np.testing.assert_allclose(sign * values[:, 0], model.pair_score((X[:50], X[numbers[:, 0]])), atol=1e-9)
    with pytest.raises(ValueError, match="made by another model, or before this one was fitted further"):
        model.partial_fit(X, y).neighbors(X[:1], index, 3)


# Beside others


@pytest.mark.parametrize("init", ["svd", "given"])
def test_saved_loaded_and_pickled(data, model, init, tmp_path):
    X, y = data
    if init == "given":
        start = np.random.default_rng(0).normal(size=(D, RANK))
        general = hasattr(model, "query_components_")
        model = clone(model).set_params(init=(start, start + 1) if general else start).fit(X, y)
    model.save(tmp_path / "m.nearer")
    for again in (load_model(tmp_path / "m.nearer"), pickle.loads(pickle.dumps(model))):
        same(again, model)
        np.testing.assert_array_equal(again.neighbors(None, X, 5)[1], model.neighbors(None, X, 5)[1])
        np.testing.assert_allclose(scores_of(again, X, X), scores_of(model, X, X), atol=1e-12)
        assert again.history_ == model.history_
        assert (again.kind_, again.n_steps_, again.learning_rate_) == (
            model.kind_,
            model.n_steps_,
            model.learning_rate_,
        )
        assert str(again.get_params()) == str(model.get_params())
        on = pickle.loads(pickle.dumps(model)).partial_fit(X, y)
        same(again.partial_fit(X, y), on)
    fresh = clone(model)
    assert not hasattr(fresh, "components_")
    same(fresh.fit(X, y), model)


def test_feature_names_are_kept(data, tmp_path):
    needs("pandas")
    import pandas as pd

    X, y = data
    frame = pd.DataFrame(X).add_prefix("word ")
    model = LowRankSimilarity(**FAST).set_output(transform="pandas").fit(frame, y)
    model.save(tmp_path / "m.nearer")
    assert load_model(tmp_path / "m.nearer").feature_names_in_.tolist() == frame.columns.tolist()
    assert model.transform(frame).columns.tolist() == [f"lowranksimilarity{j}" for j in range(RANK)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.pair_score((frame[:3], frame[3:6]))


def test_in_pipelines_and_searches(data):
    X, y = data
    counts = csr_array(np.round(20 * X))
    words = make_pipeline(InformationGain(20), TfidfTransformer(), LowRankSimilarity(**FAST))
    points = words.fit(counts, y).transform(counts)
    assert points.shape == (len(X), RANK)
    search = GridSearchCV(
        make_pipeline(Normalizer(), LowRankSimilarity(RANK, n_steps=3000, random_state=0)),
        {"lowranksimilarity__learning_rate": [1e-12, 0.5], "lowranksimilarity__psd": [True, False]},
        scoring=retrieval_map_scorer,
        cv=3,
    ).fit(csr_array(X), y)
    found = search.cv_results_["mean_test_score"]
    assert search.best_score_ == found.max()
    assert search.best_params_["lowranksimilarity__learning_rate"] == 0.5
    assert found.max() > found.min() + 0.05
    assert retrieval_map_scorer(search, X, y) == retrieval_map_scorer(search.best_estimator_, X, y)


@pytest.mark.parametrize("settings", [{}, {"psd": False}, {"loss": "ste"}, {"negatives": "random"}])
def test_as_many_dimensions_as_the_features_or_more_than_the_objects(settings):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with_constants = np.column_stack([X, np.ones(len(X)), np.zeros((len(X), 3))])
    for table, rank in ((X, 4), (with_constants, 8)):
        few, all_ = (LowRankSimilarity(k, random_state=0, **settings).fit(table, y) for k in (2, rank))
        assert retrieval_map_scorer(all_, table, y) > retrieval_map_scorer(few, table, y) - 0.05
        assert all_.history_[-1]["loss"] < 1.0
    random = np.random.default_rng(0)
    few_objects = LowRankSimilarity(30, random_state=0, **settings).fit(
        random.normal(size=(12, 40)), np.arange(12) % 3
    )
    assert np.isfinite(few_objects.components_).all()


def test_the_step_size_may_change_from_call_to_call(data):
    X, y = data
    model = LowRankSimilarity(**FAST, learning_rate=0.1).partial_fit(X, y)
    before = model.components_.copy()
    model.set_params(learning_rate=1e-12).partial_fit(X, y)
    assert model.learning_rate_ == 1e-12
    np.testing.assert_allclose(model.components_ @ model.components_.T, before @ before.T, rtol=1e-6)
    assert [record["n_steps"] for record in model.history_] == sorted(
        record["n_steps"] for record in model.history_
    )
    assert model.history_[-1]["n_steps"] == model.n_steps_


def test_few_steps_do_not_ruin_the_start(data):
    X, y = data
    started = LowRankSimilarity(RANK, random_state=0, learning_rate=1e-12, n_steps=1).fit(X, y)
    stepped = LowRankSimilarity(RANK, random_state=0, n_steps=2).fit(X, y)
    assert retrieval_map_scorer(stepped, X, y) > retrieval_map_scorer(started, X, y) - 0.1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (np.ones((30, 5)), "all rows of X are the same: there is nothing to learn"),
        (np.zeros((30, 5)), "have the same features: nothing can be learned"),
    ],
)
def test_objects_that_do_not_differ_teach_nothing(table, words):
    with pytest.raises(ValueError, match=words):
        LowRankSimilarity(2).fit(table, np.arange(30) % 3)


@pytest.mark.parametrize("solver", ["loreta", "gd"])
def test_a_loss_whose_parameters_changed_is_compiled_anew(data, solver):
    loss = TSTE(alpha=1.0)
    model = LowRankSimilarity(**FAST, solver=solver, loss=loss, learning_rate=0.1).fit(*data)
    before = model.components_
    loss.set_params(alpha=9.0)
    model.fit(*data)
    assert np.abs(model.components_ - before).max() > 1e-3
    same(model, LowRankSimilarity(**FAST, solver=solver, loss=TSTE(alpha=9.0), learning_rate=0.1).fit(*data))


def test_a_loss_that_cannot_be_hashed(data):
    @dataclass
    class Hinge:
        margin: float = 1.0

        def value(self, near, far):
            return ops.maximum(0.0, self.margin + near - far)

        def slopes(self, near, far):
            active = ops.where(self.margin + near - far > 0.0, 1.0, 0.0)
            return active, -active

        def probability(self, near, far):
            return ops.where(near < far, 1.0, 0.0)

    settings = {**FAST, "learning_rate": 0.1}
    same(
        LowRankSimilarity(**settings, loss=Hinge()).fit(*data),
        LowRankSimilarity(**settings, loss="gnmds").fit(*data),
        1e-9,  # two losses are compiled apart, and may round differently
    )
