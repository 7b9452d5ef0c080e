"""LowRankSimilarity on a Dask cluster: averages are those of the formula, and a fit is as good as one in memory."""

import warnings

import numpy as np
import pytest
from literal_similarity import tables
from sklearn.preprocessing import normalize

from dying_worker import worker_killed_at
from extras import needs
from nearer import LowRankSimilarity, load_model
from nearer.metrics import average_precisions
from nearer.similarity.low_rank.averaging import N_ROUNDS, average_products, deal

RANK = 5


def classes(n=1_200, d=20, n_classes=8, seed=0):
    """Return rows whose later columns are noise of rising scale, and their classes."""
    random = np.random.default_rng(seed)
    y = random.integers(n_classes, size=n)
    scales = np.linspace(0.5, 3.0, d)
    return random.normal(size=(n_classes, d))[y] + scales * random.normal(size=(n, d)), y


X, Y = classes()
TRAIN, TEST = slice(800), slice(800, None)


def dask_array(X, rows=150):
    import dask.array

    return dask.array.from_array(X, chunks=(rows, 12))


def held_out_score(model):
    queries, items = (normalize(side) for side in model.projections(X[TEST]))
    return float(np.nanmean(average_precisions(queries @ items.T, Y[TEST])))


@pytest.fixture(scope="module")
def client():
    needs("dask", "distributed")
    from distributed import Client, LocalCluster

    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.mark.parametrize("psd", [True, False])
@pytest.mark.parametrize("d", [6, 40])
def test_the_average_is_the_truncated_svd_of_the_mean_of_the_products(d, psd):
    random = np.random.default_rng(0)
    models = [tuple(random.normal(size=(d, 3)) for _ in range(1 if psd else 2)) for _ in range(5)]
    mean = np.mean([factors[0] @ factors[-1].T for factors in models], axis=0)
    U, values, Vt = np.linalg.svd(mean)
    wanted = (U[:, :3] * values[:3]) @ Vt[:3]
    average = average_products(models)
    assert len(average) == len(models[0])
    np.testing.assert_allclose(average[0] @ average[-1].T, wanted, atol=1e-12)
    np.testing.assert_allclose((average[0] ** 2).sum(axis=0), values[:3])  # of equal length
    np.testing.assert_allclose((average[-1] ** 2).sum(axis=0), values[:3])


def test_an_invertible_matrix_between_the_factors_does_not_change_the_average():
    random = np.random.default_rng(0)
    A, B, between = random.normal(size=(9, 3)), random.normal(size=(9, 3)), random.normal(size=(3, 3))
    left, right = average_products([(A, B), (A @ between, B @ np.linalg.inv(between).T)])
    np.testing.assert_allclose(left @ right.T, A @ B.T, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"psd": False}, {"loss": "ste"}, {"rank": "auto"}], ids=str)
def test_a_fit_is_as_good_as_one_in_memory(client, settings):
    settings = {"rank": RANK, "random_state": 0, **settings}
    memory = LowRankSimilarity(**settings).fit(X[TRAIN], Y[TRAIN])
    model = LowRankSimilarity(**settings).fit(dask_array(X[TRAIN]), Y[TRAIN])
    assert held_out_score(model) > held_out_score(memory) - 0.01
    assert model.n_features_in_ == 20
    assert model.components_.shape == (model.rank_, 20)
    assert hasattr(model, "query_components_") == hasattr(memory, "query_components_")
    assert (model.kind_, model.normalize_) == (memory.kind_, memory.normalize_)
    assert (model.mean_ is None) == (memory.mean_ is None)
    assert (model.n_iter_, model.stop_reason_, model.converged_) == (N_ROUNDS, "max_iter", False)
    assert [record["iteration"] for record in model.history_] == [1, 2, 3, 4]
    assert model.n_steps_ == model.history_[-1]["n_steps"]
    assert model.learning_rate_ in [record["learning_rate"] for record in model.selection_]
    assert set(model.history_[0]) == set(memory.history_[0])


def test_frames_sparse_blocks_and_lazy_labels_are_learned(client):
    needs("pandas")
    import dask.array
    import dask.dataframe
    import pandas

    names = [f"column {k}" for k in range(20)]
    frame = dask.dataframe.from_pandas(pandas.DataFrame(X[TRAIN], columns=names), npartitions=3)
    settings = {"rank": RANK, "random_state": 0}
    model = LowRankSimilarity(**settings).fit(frame, dask.array.from_array(Y[TRAIN], chunks=100))
    same = LowRankSimilarity(**settings).fit(dask_array(X[TRAIN]), Y[TRAIN])
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(model.components_, same.components_)  # blocks do not matter
    same = LowRankSimilarity(**settings).fit(X[TRAIN], dask.array.from_array(Y[TRAIN]))
    np.testing.assert_array_equal(model.components_, same.components_)
    sparse = tables(np.where(abs(X) < 0.3, 0.0, X))["sparse"]
    blocks = dask_array(sparse.toarray()[TRAIN]).map_blocks(lambda block: tables(block)["sparse"])
    model = LowRankSimilarity(init="svd", **settings).fit(blocks, Y[TRAIN])
    memory = LowRankSimilarity(init="svd", **settings).fit(sparse[TRAIN], Y[TRAIN])
    assert model.mean_ is None
    assert held_out_score(model) > held_out_score(memory) - 0.01


def test_blocks_that_are_sorted_by_class_are_no_matter(client):
    order = np.argsort(Y[TRAIN], kind="stable")
    settings = {"rank": RANK, "random_state": 0}
    mixed = LowRankSimilarity(**settings).fit(dask_array(X[TRAIN]), Y[TRAIN])
    model = LowRankSimilarity(**settings).fit(dask_array(X[TRAIN][order]), Y[TRAIN][order])
    assert held_out_score(model) > held_out_score(mixed) - 0.03


def test_shards_are_random_parts_with_triplets_in_each():
    rows, random = np.arange(0, 2_000, 2), np.random.default_rng(0)
    labels = np.arange(2_000) // 500
    parts = deal(labels, rows, 8, random)
    assert len(parts) == 8
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), rows)
    assert all(set(labels[part]) == {0, 1, 2, 3} for part in parts)
    assert len(deal(labels, rows, 100, random)) == 10  # of a hundred rows
    pairs = np.arange(2_000) // 2
    pairs[4:] = np.arange(4, 2_000)  # two classes with two members
    assert len(deal(pairs, np.arange(2_000), 16, random)) < 16


def test_the_same_seed_gives_the_same_model_and_steps_are_divided(client, tmp_path):
    settings = {"rank": RANK, "n_steps": 1_001}
    first, again, other = (
        LowRankSimilarity(random_state=seed, **settings).fit(dask_array(X[TRAIN]), Y[TRAIN]) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first.components_, again.components_)
    assert abs(first.components_ - other.components_).max() > 1e-3
    assert first.n_steps_ == 1_001
    first.save(tmp_path / "model.nearer")
    np.testing.assert_array_equal(load_model(tmp_path / "model.nearer").components_, first.components_)
    more = first.partial_fit(X[TRAIN], Y[TRAIN])  # in memory, from there
    assert more.n_steps_ == 2_002


def test_unlabeled_rows_are_left_out(client):
    labels = np.where(np.arange(800) % 4 == 0, -1, Y[TRAIN])
    model = LowRankSimilarity(RANK, n_steps=1_000, random_state=0)
    with pytest.warns(match="200 rows have a negative label") as caught:
        model.fit(dask_array(X[TRAIN]), labels)
    assert caught[0].filename == __file__
    known = LowRankSimilarity(RANK, n_steps=1_000, random_state=0)
    known.fit(dask_array(X[TRAIN][labels >= 0]), labels[labels >= 0])
    np.testing.assert_allclose(model.components_, known.components_, atol=1e-10)


def test_callback_time_limit_and_early_stopping(client):
    array, settings = dask_array(X[TRAIN]), {"rank": RANK, "random_state": 0}
    model = LowRankSimilarity(callback=lambda record: record["iteration"] == 2, **settings).fit(array, Y[TRAIN])
    assert (model.n_iter_, model.stop_reason_) == (2, "callback")
    limited = LowRankSimilarity(max_seconds=1e-9, **settings).fit(array, Y[TRAIN])
    assert (limited.n_iter_, limited.stop_reason_) == (1, "time")
    assert limited.n_steps_ < model.n_steps_
    last = LowRankSimilarity(early_stopping=False, **settings).fit(array, Y[TRAIN])
    assert "held_out_score" in model.history_[0]
    assert "held_out_score" not in last.history_[0]


def test_tasks_have_names_and_warnings_are_those_of_the_library(client):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LowRankSimilarity(RANK, n_steps=100).fit(dask_array(X[TRAIN]), Y[TRAIN])
    log = client.run_on_scheduler(
        lambda dask_scheduler: [str(entry[0]) for entry in dask_scheduler.transition_log]
    )
    for name in ("nearer-start-", "nearer-prepared-1-", "nearer-round-4-shard-1-"):
        assert any(key.startswith(name) for key in log), name


def test_errors_say_what_is_wanted(client):
    array = dask_array(X)
    with pytest.raises(
        ValueError, match=r"learns from labels y: .* BilinearSimilarity\('sdca'\) takes comparisons"
    ):
        LowRankSimilarity().fit(array, comparisons=[[0, 1, 2]])
    with pytest.raises(ValueError, match="requires y to be passed"):
        LowRankSimilarity().fit(array)
    with pytest.raises(ValueError, match="a rank of 21 is more than X has features"):
        LowRankSimilarity(21).fit(array, Y)
    with pytest.raises(ValueError, match="X has 1200 rows and y 1199 labels"):
        LowRankSimilarity().fit(array, Y[1:])
    with pytest.raises(ValueError, match="single class"):
        LowRankSimilarity(RANK).fit(array, np.zeros(1_200))
    with pytest.raises(ValueError, match=r"takes features in memory.*partial_fit with one block after another"):
        LowRankSimilarity().partial_fit(array, Y)
    model = LowRankSimilarity(RANK, "gd", learning_rate=1e8)
    with pytest.raises(ValueError, match="diverged with a learning_rate of 1e"):
        model.fit(array, Y)
    assert not hasattr(model, "components_")


def test_without_a_client_the_error_says_to_create_one(monkeypatch):
    needs("dask", "distributed")

    def get_client():
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr("distributed.get_client", get_client)
    with pytest.raises(ValueError, match="none is active: create one before fit"):
        LowRankSimilarity().fit(dask_array(X), Y)


def test_a_worker_that_dies_takes_nothing_with_it(client):
    settings, array = {"rank": RANK, "random_state": 0}, dask_array(X[TRAIN])
    wanted = LowRankSimilarity(**settings).fit(array, Y[TRAIN])
    with worker_killed_at(2) as kill:
        model = LowRankSimilarity(callback=kill, **settings).fit(array, Y[TRAIN])
    assert model.n_iter_ == N_ROUNDS
    np.testing.assert_allclose(model.components_, wanted.components_, atol=1e-6)
