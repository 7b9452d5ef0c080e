"""What LowRankSimilarity is by default: the cosine of a map that starts from whitened features and stops early."""

import os
import pickle
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import cosine_similarity

from model_files import npy, rewritten
from nearer import LowRankSimilarity, load_model
from nearer.metrics import mean_average_precision
from nearer.monitor import Monitor
from nearer.similarity.low_rank import start
from nearer.similarity.low_rank.held_out import hold_out_objects
from nearer.similarity.prior import SHRINKAGES
from nearer.simulate import comparisons_from_labels

OLD = Path(__file__).parents[1] / "data" / "models-0.1"
STILL = {"learning_rate": 1e-12, "n_steps": 20, "early_stopping": False}  # stays at its start


def blobs(n=200, d=8, n_classes=4, seed=0):
    """Return features of different units, off the origin, and classes that differ in some of them."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    middles = 1.5 * np.random.default_rng(7).normal(size=(n_classes, d))
    middles[:, d // 2 :] = 0.0
    X = random.normal(size=(n, d)) @ (np.eye(d) + 0.5) + middles[y]
    return X * np.linspace(0.5, 3.0, d) + np.linspace(-20.0, 50.0, d), y


@pytest.fixture(scope="module")
def data():
    return blobs()


def literal_start(X, y, rank, shrinkage):
    """Return the leading directions of the centered features, whitened by their covariance within classes."""
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z = (X - mean) / scale
    within = np.zeros((X.shape[1], X.shape[1]))
    for row, label in zip(Z, y, strict=True):
        off = row - Z[y == label].mean(axis=0)
        within += np.outer(off, off) / len(X)
    level = np.trace(within) / len(within)
    shrunken = (1 - shrinkage) * within + shrinkage * level * np.eye(len(within))
    values, vectors = np.linalg.eigh(shrunken)
    white = vectors / np.sqrt(values)
    leading = np.linalg.svd(Z @ white)[2][:rank].T
    return (white @ leading) / scale[:, None]


def close(found, wanted, tolerance=1e-6):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)


# Where it starts


@pytest.mark.parametrize("rank", [2, 8])
def test_the_start_is_whitened(data, rank, monkeypatch):
    X, y = data
    monkeypatch.setattr(start, "make_folds", lambda *_, **__: [])  # nothing can be judged
    found = LowRankSimilarity(rank, **STILL, random_state=0).fit(X, y)
    points = (X - X.mean(axis=0)) @ literal_start(X, y, rank, start.DEFAULT_SHRINKAGE)
    close(found.similarity(X, X), cosine_similarity(points))
    close(found.transform(X) @ found.transform(X).T, cosine_similarity(points))
    np.testing.assert_array_equal(found.mean_, X.mean(axis=0))


def test_the_shrinkage_is_the_one_that_predicts_best(data):
    X, y = data
    seen = []
    model = LowRankSimilarity(8, **STILL, random_state=0, callback=seen.append).fit(X, y)
    tried = [record for record in seen if record["stage"] == "choosing shrinkage"]
    assert [record["shrinkage"] for record in tried] == list(SHRINKAGES)
    best = min(tried, key=lambda record: record["error"])["shrinkage"]
    assert best is not None
    points = (X - X.mean(axis=0)) @ literal_start(X, y, 8, best)
    close(model.similarity(X, X), cosine_similarity(points))


def test_a_start_of_comparisons_is_whitened_where_asked_for(data):
    X, y = data
    rows = comparisons_from_labels(y, 300, 0)
    found = LowRankSimilarity(3, **STILL, init="whitened", random_state=0).fit(X, comparisons=rows)
    everything = literal_start(X, np.zeros(len(y)), 3, start.DEFAULT_SHRINKAGE)
    close(found.similarity(X, X), cosine_similarity((X - X.mean(axis=0)) @ everything))


def test_ranks(data):
    X, y = data
    assert LowRankSimilarity(**STILL, random_state=0).fit(X, y).rank_ == 8
    assert LowRankSimilarity(5, **STILL, random_state=0).fit(X, y).rank_ == 5


def unit(table):
    return table / np.linalg.norm(table, axis=1, keepdims=True)


def test_features_that_are_better_as_they_are_stay_so():
    """The cosine of iris is better than any of its whitened features: the start is the plain cosine."""
    X, y = load_iris(return_X_y=True)
    found = LowRankSimilarity(**STILL, random_state=0).fit(X[::2], y[::2])
    assert (found.mean_, found.scale_, found.rank_) == (None, None, 4)
    close(found.similarity(X, X), unit(X) @ unit(X).T)
    new, of = X[1::2], y[1::2]
    learned = LowRankSimilarity(random_state=0).fit(X[::2], y[::2])
    assert learned.score(new, of) > mean_average_precision(cosine_similarity(new), of) - 0.005


def test_a_given_rank_of_features_as_they_are():
    X, y = load_iris(return_X_y=True)
    found = LowRankSimilarity(2, **STILL, random_state=0).fit(X, y)
    leading = np.linalg.svd(unit(X))[2][:2].T
    assert found.mean_ is None
    close(found.similarity(X, X), cosine_similarity(X @ leading))


def far_apart(d=300, n_classes=12, seed=0):
    """Return classes of as many directions as there are features, so that no few of them tell all classes apart."""
    random = np.random.default_rng(seed)
    y = np.arange(10 * n_classes) % n_classes
    return random.normal(size=(n_classes, d))[y] + 0.8 * random.normal(size=(len(y), d)), y


@pytest.fixture(scope="module")
def plain():
    """Return a fit that found nothing better for new classes than the plain cosine."""
    X, y = far_apart()
    return LowRankSimilarity(validation="classes", random_state=0).fit(X, y)


def test_new_classes_may_get_the_plain_cosine(plain):
    X, y = far_apart(seed=1)
    assert (plain.rank_, plain.mean_, plain.n_steps_, plain.history_) == (300, None, 0, [])
    assert (plain.stop_reason_, plain.converged_, plain.learning_rate_) == ("converged", True, None)
    close(plain.similarity(X, X), cosine_similarity(X), 1e-12)
    close(plain.transform(X), unit(X), 1e-12)
    close(plain.similarity(csr_array(X), X), cosine_similarity(X), 1e-12)
    assert plain.score(X, y) == pytest.approx(mean_average_precision(cosine_similarity(X), y))
    nearest = np.argsort(-cosine_similarity(X) + 2.0 * np.eye(len(X)), axis=1)[:, 0]
    np.testing.assert_array_equal(plain.neighbors(None, X, 1)[1][:, 0], nearest)


def test_the_plain_cosine_is_saved(plain, tmp_path):
    X, _ = far_apart(seed=1)
    plain.save(tmp_path / "a.nearer")
    close(load_model(tmp_path / "a.nearer").similarity(X, X), cosine_similarity(X), 1e-12)
    rewritten(tmp_path / "a.nearer", change=lambda record: record["learned"].update(rank_=4))
    with pytest.raises(ValueError, match=r"^a\.nearer is damaged: there are no components_"):
        load_model(tmp_path / "a.nearer")


def test_the_plain_cosine_learns_no_more(plain):
    X, y = far_apart()
    with pytest.raises(ValueError, match="plain cosine of the features, from which no steps are taken: call fit"):
        plain.partial_fit(X, y)
    again = pickle.loads(pickle.dumps(plain)).set_params(rank=3, n_steps=100).fit(X, y)
    assert again.components_.shape == (3, 300)


@pytest.mark.parametrize(
    ("gains", "classes", "clearly"),
    [
        ([0.1, 0.3], None, True),  # 0.2 ± 0.1
        ([0.0, 0.3], None, False),  # 0.15 ± 0.15
        ([0.3], None, False),  # how far it would vary is not known
        ([0.2] * 50 + [-0.1] * 50, [0] * 50 + [1] * 50, False),  # two classes, and not a hundred queries
        ([0.1, 0.1, 0.3, 0.3, 0.15], [0, 0, 1, 1, 2], True),  # of classes 0.18 ± 0.06, three times the error
        ([0.1, 0.1, 0.3, 0.3, 0.0], [0, 0, 1, 1, 2], False),  # 0.13 ± 0.09, of few classes too little
        ([0.1, 0.3, 0.0, 0.1, 0.3, 0.0], range(6), True),  # 0.13 ± 0.06, of six classes enough
    ],
)
def test_what_is_clearly_better(gains, classes, clearly):
    classes = None if classes is None else np.asarray(classes)
    assert start.clearly_better(0.5 - np.asarray(gains), np.full(len(gains), 0.5), classes) == clearly


# What it compares


def test_where_the_origin_is_does_not_matter(data):
    X, y = data
    settings = {"rank": 3, "n_steps": 2000, "random_state": 0}
    plain, moved = (LowRankSimilarity(**settings).fit(table, y) for table in (X, X + 1000.0))
    close(moved.similarity(X + 1000.0, X + 1000.0), plain.similarity(X, X), 1e-4)
    table = plain.similarity(X, X)
    assert (np.abs(table) <= 1 + 1e-12).all()
    close(np.diag(table), 1.0, 1e-12)


def test_sparse_rows_are_not_centered(data):
    X, y = data
    table = csr_array(np.where(X > 5, X, 0.0))
    found = LowRankSimilarity(3, n_steps=500, random_state=0).fit(table, y)
    assert (found.mean_, found.normalize_) == (None, True)
    close(found.similarity(table, table), cosine_similarity(table @ found.components_.T), 1e-12)
    dense = LowRankSimilarity(3, n_steps=500, random_state=0).fit(table.toarray(), y)
    close(dense.similarity(table, table), dense.similarity(table.toarray(), table.toarray()), 1e-12)


@pytest.mark.parametrize("settings", [{"psd": False}, {"solver": "pa"}, {"loss": "ste"}, {"normalize": False}])
def test_what_is_no_cosine_is_not_centered(data, settings):
    found = LowRankSimilarity(3, n_steps=200, random_state=0, **settings).fit(*data)
    assert (found.normalize_, found.mean_) == (False, None)


def test_a_cosine_of_two_maps(data):
    X, y = data
    settings = {"psd": False, "normalize": True, "early_stopping": False}
    found = LowRankSimilarity(3, **settings, n_steps=500, random_state=0).fit(X, y)
    rows = (X - found.mean_) / found.scale_
    queries, items = (rows @ part.T for part in (found.query_components_, found.components_))
    close(found.similarity(X, X), cosine_similarity(queries, items), 1e-12)
    assert (found.query_components_ != found.components_).any()


def test_it_helps_objects_that_it_has_not_seen():
    X, y = load_wine(return_X_y=True)
    found = LowRankSimilarity(random_state=0).fit(X[::2], y[::2])
    new, of = X[1::2], y[1::2]
    assert found.score(new, of) > 0.9 > mean_average_precision(cosine_similarity(new - new.mean(axis=0)), of) + 0.1
    answers = LowRankSimilarity(random_state=0).fit(X[::2], comparisons=comparisons_from_labels(y[::2], 2000, 0))
    assert answers.normalize_
    assert "held_out_score" not in answers.history_[0]


# Early stopping


def test_the_start_competes(data):
    X, y = data
    settings = {"rank": 3, "random_state": 0, "n_steps": 2000, "early_stopping": True}
    still = LowRankSimilarity(**settings, learning_rate=1e-12).fit(X, y)
    ruined = LowRankSimilarity(**settings, learning_rate=1e3).fit(X, y)
    close(ruined.similarity(X, X), still.similarity(X, X))
    assert (ruined.converged_, len(ruined.history_)) == (True, 5)
    gone_on = LowRankSimilarity(**{**settings, "early_stopping": False}, learning_rate=1e3).fit(X, y)
    assert np.abs(gone_on.similarity(X, X) - still.similarity(X, X)).max() > 0.1


def test_a_start_that_stays_is_made_from_all_objects(data):
    X, y = data
    settings = {"rank": 8, "random_state": 0, "n_steps": 20, "learning_rate": 1e-12}
    seen = []
    found = LowRankSimilarity(**settings, early_stopping=True, callback=seen.append).fit(X, y)
    tried = [record for record in seen if record["stage"] == "choosing shrinkage"]
    best = min(tried, key=lambda record: record["error"])["shrinkage"]
    close(found.similarity(X, X), cosine_similarity((X - X.mean(axis=0)) @ literal_start(X, y, 8, best)))


@pytest.mark.parametrize(
    ("labels", "settings", "stops"),
    [
        (np.arange(200) % 4, {}, True),
        (np.arange(200) % 4, {"normalize": False}, False),
        (np.arange(200) % 4, {"loss": "ste"}, False),
        (np.arange(200) % 4, {"early_stopping": False}, False),
        (np.arange(200) % 25, {}, False),  # eight objects per class
        (np.arange(200) % 25, {"early_stopping": True}, True),
        (np.r_[np.zeros(100), np.arange(1, 101)].astype(int), {}, False),  # one class is large
    ],
)
@pytest.mark.filterwarnings("ignore:.* have one member only")
def test_when_it_stops_early(data, labels, settings, stops):
    found = LowRankSimilarity(3, n_steps=200, random_state=0, **settings).fit(data[0], labels)
    assert ("held_out_score" in found.history_[0]) == stops


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:.* have one member only")
def test_classes_of_one_member_do_not_end_a_fit(data, seed):
    """Two classes of ten objects among four of one: whichever are held out, there is something to learn from."""
    y = np.r_[np.repeat([0, 1], 10), 2, 3, 4, 5]
    for validation in ("auto", "classes", "objects"):
        model = LowRankSimilarity(3, n_steps=200, random_state=seed, validation=validation)
        assert np.isfinite(model.fit(data[0][: len(y)], y).similarity(data[0], data[0])).all()


def test_classes_that_are_held_out_are_whole():
    X, y = blobs(n=240, n_classes=12)
    y = np.r_[y, 100, 101]  # classes of one object stay
    X = np.vstack([X, X[:2]])
    objects, _ = hold_out_objects(X, y, 0.1, "inner product", np.random.default_rng(0), True, by_classes=True)
    held_out = np.setdiff1d(np.arange(len(X)), objects)
    assert len(np.unique(y[held_out])) == 4
    assert not np.isin(y[objects], y[held_out]).any()
    assert {100, 101} <= set(y[objects])


@pytest.mark.parametrize("n_classes", [3, 5])
def test_one_of_few_classes_is_looked_for_among_the_others(n_classes):
    X, y = blobs(n=100, n_classes=n_classes)
    objects, judge = hold_out_objects(X, y, 0.2, "inner product", np.random.default_rng(0), True, by_classes=True)
    (new,) = set(range(n_classes)) - set(y[objects])
    held_out = np.setdiff1d(np.arange(len(X)), objects)
    assert set(y[held_out]) == set(range(n_classes))
    rows, classes = X[held_out], y[held_out]
    wanted = []
    for query in np.flatnonzero(classes == new):
        others = np.arange(len(rows)) != query
        similarities = cosine_similarity(rows[[query]], rows[others])
        wanted.append(mean_average_precision(similarities, classes[[query]], classes[others]))
    score = judge(SimpleNamespace(factors=(np.eye(8),)))[1]["held_out_score"]
    assert score == pytest.approx(np.mean(wanted))


@pytest.mark.parametrize(
    ("shape", "n_classes", "rank", "plain", "wanted"),
    [
        ((40, 4), 3, None, True, ((4,), (4,))),
        ((40, 18), 3, None, True, ((18, 10), (18,))),
        ((90, 64), 26, None, False, ((30, 25, 60, 64), (64,))),
        ((90, 800), 10, None, True, ((30, 10, 60, 120, 240), (800,))),
        ((90, 800), 10, None, False, ((30, 10, 60, 120, 240), (30,))),
        ((90, 800), 10, 7, True, ((7,), (7,))),
    ],
)
def test_candidates(shape, n_classes, rank, plain, wanted):
    labels = np.arange(shape[0]) % n_classes
    assert start.candidate_ranks(np.ones(shape), labels, rank, plain) == wanted
    ranks, raw = start.candidate_ranks(csr_array(np.ones(shape)), labels, rank, plain)
    assert (ranks, raw) == (wanted[0], wanted[1] if shape[1] in wanted[1] else ())


@pytest.mark.parametrize("n", [2, 3, 4, 6, 9])
def test_few_objects(data, n):
    X, _ = data
    y = np.arange(n) % 2 if n > 3 else np.array([0, 0, 1])[:n]
    if n == 2:
        with pytest.raises(ValueError, match="single class"):
            LowRankSimilarity(random_state=0).fit(X[:n], y)
        return
    found = LowRankSimilarity(random_state=0, n_steps=100).fit(X[:n], y)
    assert np.isfinite(found.similarity(X, X)).all()
    first = LowRankSimilarity(random_state=0, n_steps=100).partial_fit(X[:n], y)
    assert np.isfinite(first.similarity(X, X)).all()


# Learning on


def test_learning_on_keeps_the_center(data):
    X, y = data
    found = LowRankSimilarity(3, n_steps=500, random_state=0).fit(X[:100], y[:100])
    mean = found.mean_
    steps = found.n_steps_
    found.partial_fit(X[100:], y[100:])
    assert found.mean_ is mean
    assert found.n_steps_ == steps + 500
    dense = pickle.loads(pickle.dumps(found)).partial_fit(X, y)
    sparse = pickle.loads(pickle.dumps(found)).partial_fit(csr_array(X), y)
    close(sparse.similarity(X, X), dense.similarity(X, X), 1e-9)


@pytest.mark.parametrize("name", ["low-rank", "low-rank-general", "low-rank-gd", "low-rank-pa", "low-rank-ste"])
def test_models_of_before_stay_inner_products(name, tmp_path):
    with np.load(OLD / "expected.npz") as file:
        X, y = file["X"], file["y"]
    model = load_model(OLD / f"{name}.nearer")
    assert (model.normalize_, model.mean_, model.rank_) == (False, None, len(model.components_))
    before = model.components_
    assert (model.partial_fit(X, y).components_ != before).any()
    assert not model.fit(X, y).normalize_
    model.save(tmp_path / "again.nearer")
    assert not load_model(tmp_path / "again.nearer").normalize_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"add": {"mean_.npy": npy(np.ones(5))}}, r"mean_ of 8 features has shape \(5,\)"),
        ({"change": lambda record: record["learned"].update(rank_=4)}, "rank_ is 4, and there are 3 components"),
    ],
)
def test_files_that_do_not_fit_together(data, tmp_path, change, message):
    LowRankSimilarity(3, n_steps=50, random_state=0).fit(*data).save(tmp_path / "a.nearer")
    rewritten(tmp_path / "a.nearer", **change)
    with pytest.raises(ValueError, match=rf"^a\.nearer is damaged: {message}"):
        load_model(tmp_path / "a.nearer")


# How it ends


@pytest.mark.parametrize("stage", ["choosing shrinkage", "choosing learning_rate", "fit"])
@pytest.mark.parametrize("how", ["callback", "interrupted"])
def test_every_stage_can_be_ended(data, stage, how):
    X, y = data
    seen = []

    def end(record):
        seen.append(record["stage"])
        if record["stage"] != stage or record["iteration"] != 2:
            return False
        if how == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
        return how == "callback"

    found = LowRankSimilarity(3, random_state=0, callback=end).fit(X, y)
    assert found.stop_reason_ == how
    assert seen.count(stage) == 2
    assert np.isfinite(found.similarity(X, X)).all()
    assert found.score(X, y) > 0.4  # by chance: a quarter


def test_the_search_for_the_shrinkage_leaves_time(data, monkeypatch):
    X, y = blobs(n=1000)
    seen = []
    limits = []
    limited = Monitor.limited

    def listening(self, share):
        limits.append(share)
        return limited(self, 1e-9)

    monkeypatch.setattr(Monitor, "limited", listening)
    model = LowRankSimilarity(3, random_state=0, max_seconds=1000.0, n_steps=500, callback=seen.append)
    model.fit(X, y)
    stages = [record["stage"] for record in seen]
    assert stages.count("choosing shrinkage") == 1  # one is tried in any case
    assert limits == [start.SEARCH_SHARE]
    assert model.stop_reason_ in ("max_iter", "converged")


def test_columns_that_are_constant_or_depend_on_each_other_do_no_harm():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    X, y = np.column_stack([X, np.ones(200), X[:, 0] - X[:, 1]]), random.integers(0, 3, 200)
    X[:, 0] += y
    model = LowRankSimilarity(random_state=0).fit(X, y)
    assert model.rank_ == 6
    assert np.isfinite(model.similarity(X, X)).all()


def test_the_units_of_dense_features_do_not_matter():
    X, y = load_wine(return_X_y=True)
    units = 10.0 ** np.arange(-6, 7)
    moved = X * units + 100.0 * units
    one, other = (LowRankSimilarity(random_state=0).fit(table, y) for table in (X, moved))
    np.testing.assert_allclose(one.similarity(X, X), other.similarity(moved, moved), atol=1e-4)
