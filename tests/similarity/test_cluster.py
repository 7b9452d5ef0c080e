"""CoCoA: the steps of a shard are those of the literal formula, and a cluster finds the matrix that SDCA finds."""

import subprocess
import sys
import warnings

import literal_similarity as literal
import numpy as np
import pytest
from literal_similarity import problem, tables

from dying_worker import worker_killed_at
from extras import needs
from nearer import RCA, BilinearSimilarity, Comparisons, LabelRanker, scan, write
from nearer.similarity import CoCoA
from nearer.similarity.shards import TripletShard
from nearer.similarity.triplets import Triplets
from nearer.simulate import comparisons_from_labels

RIDGE = 0.05


def classes(n=60, d=6, n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return random.normal(size=(n_classes, d))[y] + 0.5 * random.normal(size=(n, d)), y


@pytest.fixture(scope="module")
def client():
    needs("dask", "distributed")
    from distributed import Client, LocalCluster

    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        yield client


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("d", [4, 90])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_a_shard_are_those_of_the_formula(kind, d, weighted):
    X, rows = problem(d, sparse=kind == "sparse")
    random = np.random.default_rng(1)
    weights = random.random(len(rows)) + 0.1 if weighted else np.ones(len(rows))
    shares, part = weights / weights.sum(), np.arange(10, 30)
    M, alpha = random.normal(size=(d, d)) / d, random.normal(size=len(rows))
    picks = random.integers(len(part), size=200, dtype=np.int32)
    wanted = literal.cocoa_shard(X, rows, shares, RIDGE, M, alpha, part, picks, sigma=8.0)
    shard = TripletShard(Triplets(tables(X)[kind], rows[part], weights[part]), shares[part].sum())
    found = shard.ascend(M, alpha[part], RIDGE, 8.0, picks)
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], atol=1e-12)


def literal_rounds(n_shards, sigma, n_rounds=30):
    """The gap after rounds of local steps whose changes are summed."""
    X, rows = problem(3, n=48, n_objects=10)
    shares, random = np.full(len(rows), 1 / len(rows)), np.random.default_rng(0)
    M, alpha = np.zeros((3, 3)), np.zeros(len(rows))
    for _ in range(n_rounds):
        change = np.zeros_like(M)
        for part in np.array_split(np.arange(len(rows)), n_shards):
            picks = random.integers(len(part), size=len(part))
            alpha[part], of_part = literal.cocoa_shard(X, rows, shares, 1e-3, M, alpha, part, picks, sigma)
            change += of_part
        M = M + change
    return literal.primal(X, rows, M, 1e-3) - literal.dual(X, rows, alpha, 1e-3)


def test_without_sigma_the_summed_steps_diverge():
    assert literal_rounds(8, sigma=1.0) > 1e6
    assert literal_rounds(8, sigma=8.0) < 1.0


@pytest.mark.parametrize("n_shards", [1, 2, 8])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_matrix_is_that_of_sdca(client, n_shards, kind):
    X, y = classes()
    X = X if kind == "dense" else tables(np.where(abs(X) < 0.3, 0.0, X))["sparse"]
    settings = {"regularization": 0.5, "n_triplets": 2000, "tol": 1e-7, "random_state": 0}
    sdca = BilinearSimilarity("sdca", **settings).fit(X, y)
    model = BilinearSimilarity(CoCoA(n_shards), **settings).fit(X, y)
    assert model.converged_
    assert model.gap_ <= 1e-7
    distance = np.linalg.norm(model.matrix_ - sdca.matrix_)
    assert distance <= np.sqrt(2 * model.gap_ / 0.5) + np.sqrt(2 * sdca.gap_ / 0.5)
    last = model.history_[-1]
    assert last["gap"] == pytest.approx(last["loss"] - last["dual"], abs=1e-12)


def test_weights_and_comparisons_are_those_of_a_fit_in_memory(client):
    X, y = classes()
    answers = comparisons_from_labels(y, 500, 0)
    weights = np.random.default_rng(0).random(500)
    settings = {"regularization": 0.5, "tol": 1e-8}
    sdca = BilinearSimilarity("sdca", **settings).fit(X, comparisons=answers, sample_weight=weights)
    model = BilinearSimilarity(CoCoA(3), **settings).fit(X, comparisons=answers, sample_weight=weights)
    np.testing.assert_allclose(model.matrix_, sdca.matrix_, atol=1e-3)
    by_row = np.where(y == 0, 0.0, 2.0)
    settings |= {"random_state": 0, "n_triplets": 500}
    sdca = BilinearSimilarity("sdca", **settings).fit(X, y, sample_weight=by_row)
    model = BilinearSimilarity(CoCoA(3), **settings).fit(X, y, sample_weight=by_row)
    np.testing.assert_allclose(model.matrix_, sdca.matrix_, atol=1e-3)


def test_dask_collections_are_learned_where_they_are(client):
    needs("pandas")
    import dask.array
    import dask.dataframe
    import pandas

    X, y = classes()
    settings = {"regularization": 0.5, "n_triplets": 2000, "tol": 1e-6, "random_state": 0}
    reference = BilinearSimilarity("sdca", **settings).fit(X, y)
    frame = pandas.DataFrame(X, columns=list("abcdef"), index=[f"row {i}" for i in range(len(X))])
    array = dask.array.from_array(X, chunks=(25, 4))
    of_frame = dask.dataframe.from_pandas(frame, npartitions=3, sort=False)
    for table, labels in ((array, dask.array.from_array(y)), (array, y), (of_frame, y)):
        model = BilinearSimilarity("sdca", **settings).fit(table, labels)
        np.testing.assert_allclose(model.matrix_, reference.matrix_, atol=1e-2)
        assert model.n_features_in_ == 6
    assert list(model.feature_names_in_) == list("abcdef")
    named = Comparisons([[0, 3, 1], [1, 4, 2]], names=[f"row {i}" for i in range(5)])
    by_name = BilinearSimilarity("sdca", **settings).fit(of_frame, comparisons=named)
    by_number = BilinearSimilarity("sdca", **settings).fit(X, comparisons=named.rows)
    np.testing.assert_allclose(by_name.matrix_, by_number.matrix_, atol=1e-2)
    answers = dask.dataframe.from_pandas(
        pandas.DataFrame([[0, 3, 1], [1, 4, 2]], columns=["anchor", "near", "far"]), npartitions=2
    )
    model = BilinearSimilarity("sdca", **settings).fit(X, comparisons=answers)
    np.testing.assert_allclose(model.matrix_, by_number.matrix_, atol=1e-2)


def test_the_regularization_is_that_chosen_in_memory(client):
    X, y = classes(200)
    settings = {"n_triplets": 2000, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BilinearSimilarity(CoCoA(2), **settings).fit(X, y)
    memory = BilinearSimilarity("sdca", **settings).fit(X, y)
    assert model.regularization_ == pytest.approx(memory.regularization_)
    assert [record["regularization"] for record in model.selection_] == [
        record["regularization"] for record in memory.selection_
    ]


def test_a_scan_is_learned_on_the_cluster_if_there_is_a_client(client, tmp_path):
    X, y = classes()
    answers = comparisons_from_labels(y, 300, 0)
    write(answers, tmp_path / "answers.csv")
    source = scan(tmp_path / "answers.csv", chunk_rows=100)
    model = BilinearSimilarity("sdca", regularization=0.5, tol=1e-6).fit(X, comparisons=source)
    reference = BilinearSimilarity("sdca", regularization=0.5, tol=1e-6).fit(X, comparisons=answers)
    np.testing.assert_allclose(model.matrix_, reference.matrix_, atol=1e-2)


def test_the_same_seed_and_shards_give_the_same_matrix(client):
    X, y = classes()
    model = BilinearSimilarity(CoCoA(4), regularization=0.5, n_triplets=500, max_iter=5, tol=1e-9, random_state=3)
    with pytest.warns(match="raise max_iter"):
        first = model.fit(X, y).matrix_
    with pytest.warns(match="raise max_iter"):
        np.testing.assert_array_equal(model.fit(X, y).matrix_, first)


def test_callback_and_time_limit_end_the_fit_with_what_was_learned(client):
    X, y = classes()
    settings = {"regularization": 0.01, "n_triplets": 500, "random_state": 0, "tol": 1e-12}
    model = BilinearSimilarity(CoCoA(2), callback=lambda record: record["iteration"] == 3, **settings).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (3, "callback")
    assert model.gap_ == model.history_[-1]["gap"] < model.history_[0]["gap"]
    model = BilinearSimilarity(CoCoA(2), max_seconds=1e-9, **settings).fit(X, y)
    assert model.stop_reason_ == "time"


def test_tasks_have_names(client):
    X, y = classes()
    BilinearSimilarity(CoCoA(2), regularization=0.5, n_triplets=100, random_state=0).fit(X, y)
    log = client.run_on_scheduler(
        lambda dask_scheduler: [str(entry[0]) for entry in dask_scheduler.transition_log]
    )
    for name in ("nearer-shard-1-", "nearer-gap-1-shard-1-", "nearer-round-2-shard-0-"):
        assert any(key.startswith(name) for key in log), name


def test_errors_say_what_is_wanted(client):
    import dask.array

    X, y = classes()
    array = dask.array.from_array(X, chunks=(25, 6))
    for solver, more in (("lbfgs", {}), ("oasis", {}), ("sdca", {"psd": True})):
        with pytest.raises(ValueError, match="solver='sdca' or CoCoA"):
            BilinearSimilarity(solver, **more).fit(array, y)
    in_memory = "takes features in memory, and X is a Dask Array: "
    with pytest.raises(
        ValueError, match=f"{in_memory}pass X.compute.*LowRankSimilarity learn from Dask collections"
    ):
        RCA().fit(array, y)
    with pytest.raises(ValueError, match=f"{in_memory}call partial_fit .* averaged factors of shards rank worse"):
        LabelRanker().fit(array, y)
    with pytest.raises(ValueError, match="X has 60 rows and y 59 labels"):
        BilinearSimilarity("sdca").fit(array, y[:59])
    X[37, 2] = np.nan
    with pytest.raises(ValueError, match="row 37 of X is not finite"):
        BilinearSimilarity("sdca").fit(dask.array.from_array(X, chunks=(25, 6)), y)
    with pytest.raises(ValueError, match="but X has only 60 rows"):
        BilinearSimilarity("sdca").fit(array, comparisons=[[0, 1, 99]])


def test_without_a_client_the_error_says_to_create_one(monkeypatch):
    needs("dask", "distributed")

    def get_client():
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr("distributed.get_client", get_client)
    X, y = classes()
    with pytest.raises(ValueError, match="none is active: create one before fit"):
        BilinearSimilarity(CoCoA()).fit(X, y)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    X, y = classes()
    with pytest.raises(ImportError, match=r'pip install "nearer\[cluster\]"'):
        BilinearSimilarity(CoCoA()).fit(X, y)


SCHEDULER_GONE = """
import numpy as np
from distributed import Client, LocalCluster
from nearer import BilinearSimilarity
from nearer.similarity import CoCoA

cluster = LocalCluster(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
client = Client(cluster)
model = BilinearSimilarity(CoCoA(2), regularization=0.1, callback=lambda record: cluster.close())
try:
    model.fit(np.random.default_rng(0).normal(size=(60, 6)), np.arange(60) % 3)
except ConnectionError as error:
    print(error)
"""


def test_a_scheduler_that_is_gone_ends_the_fit_with_an_error():
    needs("dask", "distributed")
    run = subprocess.run([sys.executable, "-c", SCHEDULER_GONE], capture_output=True, text=True, timeout=120)
    assert "no longer answers" in run.stdout, run.stderr
    assert "start the fit again on a cluster that runs" in run.stdout


def test_a_worker_that_dies_takes_nothing_with_it():
    X, y = classes()
    settings = {"regularization": 0.2, "n_triplets": 1000, "tol": 1e-7, "random_state": 0}
    with worker_killed_at(3) as kill:
        model = BilinearSimilarity(CoCoA(4), callback=kill, **settings).fit(X, y)
    assert model.n_iter_ > 3
    assert model.gap_ <= 1e-7
    sdca = BilinearSimilarity("sdca", **settings).fit(X, y)
    bound = np.sqrt(2 * model.gap_ / 0.2) + np.sqrt(2 * sdca.gap_ / 0.2)
    assert np.linalg.norm(model.matrix_ - sdca.matrix_) <= bound
