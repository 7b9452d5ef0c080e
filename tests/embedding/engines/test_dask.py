"""Maps on a Dask cluster: sums over shards equal those of one process, runs are averaged, faults are survived."""

import os
import pickle
import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from extras import needs
from nearer import OrdinalEmbedding, scan, write
from nearer.comparisons import Comparisons, ComparisonSource
from nearer.embedding import LBFGS, SVRG
from nearer.embedding.engines import engine_of
from nearer.embedding.engines.cpu import CPUProblem
from nearer.losses import STE, TSTE
from nearer.metrics import triplet_error
from nearer.monitor import Monitor
from nearer.simulate import comparisons_from_points

N_OBJECTS, N_ROWS = 60, 12_000
RIDGE = 0.01


@dataclass
class Part:
    """A part of a source that is in memory."""

    chunk: Comparisons

    def __call__(self):
        yield self.chunk[: len(self.chunk) // 2]
        yield self.chunk[len(self.chunk) // 2 :]


@dataclass
class BadPart:
    """A part whose file is damaged."""

    path: str

    def __call__(self):
        raise ValueError(f"{self.path} is damaged")


def source(parts, more=()):
    n_rows = sum(map(len, parts))
    n_columns, n_objects = parts[0].shape[1], parts[0].n_objects
    return ComparisonSource((*map(Part, parts), *more), n_rows=n_rows, n_columns=n_columns, n_objects=n_objects)


def simulated(seed=0, n_rows=N_ROWS, n_objects=N_OBJECTS):
    points = np.random.default_rng(seed).normal(size=(n_objects, 2))
    return comparisons_from_points(points, n_rows, random_state=seed).flip(0.1, seed)


def weighted(comparisons, seed=0):
    weights = np.random.default_rng(seed).integers(0, 4, len(comparisons)).astype(float)
    return Comparisons(comparisons, weights=weights)


@pytest.fixture(scope="module")
def client():
    """A client of a cluster in this process, of two workers with two threads each."""
    needs("distributed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def dask_problem(data, loss=None, seed=0, ridge=RIDGE):
    from nearer.embedding.engines.dask import DaskProblem

    return DaskProblem(data, loss or STE(), ridge, 1, np.random.default_rng(seed))


def cpu_problem(data, loss=None, seed=0):
    return CPUProblem(data, loss or STE(), RIDGE, 1, np.random.default_rng(seed))


def points_at_random(seed=1, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(N_OBJECTS, 2)).astype(dtype)


@pytest.mark.parametrize("n_parts", [1, 3, 40])
@pytest.mark.parametrize("kind", ["triplets", "quadruplets", "weighted"])
def test_sums_over_shards_are_those_of_one_process(client, n_parts, kind, monkeypatch):
    from nearer.embedding.engines import dask

    if n_parts == 3:  # the points are a task, and so are the sums
        monkeypatch.setattr(dask, "SMALL", 0)
        monkeypatch.setattr(dask, "SUMMED_AT_ONCE", 3)
    answers = simulated()
    if kind == "quadruplets":
        answers = answers.as_quadruplets()
    if kind == "weighted":
        answers = weighted(answers)
    bounds = np.linspace(0, len(answers), n_parts + 1).astype(int)
    parts = [answers[a:b] for a, b in pairwise(bounds)]
    kept = answers if answers.weights is None else answers[answers.weights > 0]
    points = points_at_random()
    single = cpu_problem(kept, TSTE(1.0))
    value, gradient = single.value_and_gradient(points)
    with dask_problem(source(parts), TSTE(1.0)) as problem:
        assert problem.n_rows == len(kept)
        assert problem.n_parallel == 4
        shard_value, shard_gradient = problem.value_and_gradient(points)
        np.testing.assert_allclose(shard_value, value, rtol=1e-12)
        np.testing.assert_allclose(shard_gradient, gradient, atol=1e-14)
        np.testing.assert_allclose(problem.energies(points), single.energies(points), rtol=1e-12)
        assert (problem.mentioned() == single.mentioned()).all()
        again = problem.value_and_gradient(points)
        assert again[0] == shard_value
        assert (again[1] == shard_gradient).all()


def test_huge_weights_of_one_part_and_zero_weights_of_another(client):
    answers = simulated(n_rows=8_000)
    huge = Comparisons(answers[:3_000], weights=np.full(3_000, 1e306))
    nothing = Comparisons(answers[3_000:6_000], weights=np.zeros(3_000))
    light = Comparisons(answers[6_000:], weights=np.full(2_000, 1e306) * 3)
    value, gradient = cpu_problem(Comparisons.concat([huge, light])).value_and_gradient(points_at_random())
    with dask_problem(source([huge, nothing, light])) as problem:
        found, found_gradient = problem.value_and_gradient(points_at_random())
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(found_gradient, gradient, atol=1e-14)
    with pytest.raises(ValueError, match="nothing to learn from"):
        dask_problem(source([nothing]))


def test_stochastic_runs_are_local_and_their_ends_averaged_by_weight(client):
    """With as many parts as shards, each shard is a part: its run is that of the part in one process."""
    answers = simulated(n_rows=16_000)
    parts = [weighted(answers[k * 4_000 : (k + 1) * 4_000], seed=k) for k in range(4)]
    points, steps, step_size = points_at_random(), 500, 1e-3
    seeds = np.random.default_rng(5).integers(2**63, size=4).tolist()
    locals_ = [cpu_problem(part[part.weights > 0], seed=seed) for part, seed in zip(parts, seeds, strict=True)]
    shares = [part.weights.sum() for part in parts]
    with dask_problem(source(parts), seed=5) as problem:
        _, gradient = problem.value_and_gradient(points)
        end, _ = problem.svrg_run(points, gradient, step_size, steps)
    ends = [local.svrg_run(points, gradient, step_size, steps)[0] for local in locals_]
    np.testing.assert_allclose(end, np.average(ends, axis=0, weights=shares), atol=1e-13)

    locals_ = [cpu_problem(part[part.weights > 0], seed=seed) for part, seed in zip(parts, seeds, strict=True)]
    ends = [local.sgd_run(points, step_size, steps) for local in locals_]
    with dask_problem(source(parts), seed=5) as problem:
        end = problem.sgd_run(points, step_size, steps)
    np.testing.assert_allclose(end, np.average(ends, axis=0, weights=shares), atol=1e-13)


def test_points_after_some_of_the_steps_are_those_of_one_shard(client):
    answers = simulated(n_rows=8_000)
    parts = [answers[:2_000], answers[2_000:4_000], answers[4_000:6_000], answers[6_000:]]
    points, drawn = points_at_random(), np.random.default_rng(5)
    number, seeds = int(drawn.integers(4)), drawn.integers(2**63, size=4)
    with dask_problem(source(parts), seed=5) as problem:
        _, gradient = problem.value_and_gradient(points)
        _, middle = problem.svrg_run(points, gradient, 1e-3, 200, stop_at=70)
    single = cpu_problem(parts[number], seed=int(seeds[number]))
    np.testing.assert_allclose(middle, single.svrg_run(points, gradient, 1e-3, 200, stop_at=70)[1], atol=1e-13)


def test_points_of_single_precision_stay_so(client):
    points = points_at_random(dtype=np.float32)
    with dask_problem(source([simulated()])) as problem:
        value, gradient = problem.value_and_gradient(points)
        end, _ = problem.svrg_run(points, gradient, 1e-3, 100)
    assert gradient.dtype == end.dtype == np.float32
    np.testing.assert_allclose(value, cpu_problem(simulated()).value(points), rtol=1e-6)


@pytest.mark.parametrize(("solver", "tolerance"), [(LBFGS(), 1e-3), (SVRG(), 5e-3)])
def test_a_fit_is_as_good_as_that_of_one_process(client, solver, tolerance):
    train, test = simulated(seed=3, n_rows=20_000).split(0.2, 0)
    start = 0.1 * points_at_random()
    errors = []
    for problem in (cpu_problem(train), dask_problem(source([train]))):
        with problem, Monitor(max_iter=60, tol=1e-6) as monitor:
            errors.append(triplet_error(solver.solve(problem, start, monitor).solution, test))
    assert errors[0] < 0.2
    assert abs(errors[1] - errors[0]) <= tolerance


def test_the_engine_is_found_by_the_client_and_takes_sources_only(client):
    from nearer.embedding.engines.dask import DaskProblem

    answers = simulated()
    assert engine_of(source([answers]), "cpu") is DaskProblem
    with pytest.raises(ValueError, match="device='cuda' is for this machine, and a Dask client is active"):
        engine_of(source([answers]), "cuda")
    assert engine_of(answers, "cpu") is CPUProblem


def test_a_whole_fit_of_a_source_chooses_its_settings_too(client):
    train, test = simulated(seed=3, n_rows=20_000).split(0.2, 0)
    single = OrdinalEmbedding(random_state=0).fit(train)
    model = OrdinalEmbedding(random_state=0).fit(source([train[:9_000], train[9_000:]]))
    assert model.n_samples_seen_ == len(train)
    assert abs(model.score(test) - single.score(test)) < 0.01


@pytest.mark.parametrize("header", [["anchor", "near", "far"], ["first", "second", "odd"]])
def test_a_dask_frame_of_names_is_as_the_table_in_memory(client, header):
    needs("dask", "pandas")
    import dask.dataframe
    import pandas as pd

    answers = simulated(n_rows=4_500)
    names = np.array([f"object {number}" for number in range(N_OBJECTS)])
    table = pd.DataFrame(names[answers.rows], columns=header).assign(weight=np.arange(4_500) % 3)
    frame = dask.dataframe.from_pandas(table, npartitions=3)
    whole, found = Comparisons(table), Comparisons.of(frame)
    assert found.names == whole.names
    assert (found.rows == whole.rows).all()
    assert (found.weights == whole.weights).all()
    assert found.n_answers == whole.n_answers
    if header[0] == "anchor":
        model = OrdinalEmbedding(loss="ste", regularization=RIDGE, random_state=0).fit(frame)
        assert model.names_ == whole.names
        assert model.score(whole) > 0.8


def test_a_dask_frame_without_a_client_is_read_into_memory():
    needs("dask", "pandas")
    import dask.dataframe
    import pandas as pd

    table = pd.DataFrame(simulated(n_rows=300).rows.copy(), columns=["anchor", "choice1", "choice2"])
    table["response"] = 1 + np.arange(300) // 150  # one partition has 1 only, the other 2 only
    found = Comparisons.of(dask.dataframe.from_pandas(table, npartitions=2))
    assert (found.rows == Comparisons(table).rows).all()
    with pytest.raises(ValueError, match="'shape', 'color' of the Dask DataFrame are not understood"):
        Comparisons.of(dask.dataframe.from_pandas(pd.DataFrame({"shape": [1], "color": [2]}), npartitions=1))
    table.loc[200, "choice1"] = table.loc[200, "anchor"]
    with pytest.raises(ValueError, match="row 50") as error:
        Comparisons.of(dask.dataframe.from_pandas(table, npartitions=2))
    assert "partition 1" in error.value.__notes__[0]


def test_tasks_are_named_on_the_dashboard(client):
    seen = []

    def name_tasks(dask_scheduler):
        return list(dask_scheduler.tasks)

    with dask_problem(source([simulated()])) as problem:
        problem.value_and_gradient(points_at_random())
        seen = client.run_on_scheduler(name_tasks)
    assert sum(name.startswith("nearer-shard-") for name in seen) == 4


def test_the_error_of_a_part_names_its_file(client):
    with pytest.raises(ValueError, match=r"answers/part-17\.parquet is damaged"):
        dask_problem(source([simulated()], more=[BadPart("answers/part-17.parquet")]))


def test_workers_in_another_folder_find_the_files(tmp_path, monkeypatch):
    answers = simulated(n_rows=100)
    write(answers, tmp_path / "answers.csv")
    monkeypatch.chdir(tmp_path)
    parts = pickle.dumps(scan("answers.csv", n_objects=N_OBJECTS).parts)
    monkeypatch.chdir("/")
    assert (Comparisons.concat(pickle.loads(parts)[0]()).rows == answers.rows).all()


def test_shards_stay_where_they_are_and_go_to_free_workers():
    needs("distributed")
    from nearer.embedding.engines.cluster import place

    assert place([None] * 4, {"a": 2, "b": 2}) == ["a", "b", "a", "b"]
    assert place(["a", "b", "a", "b"], {"b": 2}) == ["b"] * 4
    assert place(["b"] * 4, {"b": 2, "c": 2}) == ["b", "b", "c", "c"]
    assert place(["a", "b"], {"b": 1, "c": 1}) == ["c", "b"]
    assert sorted(place([None] * 3, {"a": 1, "b": 2})) == ["a", "b", "b"]


def test_a_worker_that_is_killed_is_survived():
    """The shards are made anew, with the same rows and the same draws: the map is the same to the last bit."""
    needs("distributed")
    from distributed import Client, LocalCluster

    data = source([simulated()])
    ends = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for kills in (False, True):
            with dask_problem(data) as problem, Monitor(max_iter=8, tol=0.0) as monitor:
                victim = next(iter(client.run(os.getpid).values()))
                reported = []

                def kill(record, kills=kills, victim=victim, reported=reported):
                    reported.append(record)
                    if kills and len(reported) == 3:
                        threading.Timer(0.005, os.kill, (victim, 9)).start()

                monitor.callback = lambda record, kill=kill: kill(record)
                ends.append(SVRG().solve(problem, 0.1 * points_at_random(), monitor).solution)
                assert len(reported) == 9  # the start, and eight epochs
    assert (ends[0] == ends[1]).all()


def test_a_fit_goes_on_from_its_checkpoint_where_the_cluster_is_gone(tmp_path):
    needs("distributed")
    from distributed import Client, LocalCluster

    path, data = tmp_path / "fit.checkpoint", source([simulated()])
    settings = {"loss": "ste", "regularization": RIDGE, "random_state": 0, "checkpoint": path}
    cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")

    def close(record):
        if record["stage"] == "fit" and record["iteration"] == 5:
            cluster.close()

    with Client(cluster), pytest.raises(ConnectionError, match="no longer answers"):
        OrdinalEmbedding(callback=close, **settings).fit(data)
    assert path.exists()
    model = OrdinalEmbedding(**settings).fit(data)
    assert model.score(simulated()) > 0.8
    assert not path.exists()


def test_a_cluster_that_is_gone_is_a_clear_error():
    needs("distributed")
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
    with Client(cluster) as client, dask_problem(source([simulated()])) as problem:
        address = client.scheduler_info()["address"]
        cluster.close()
        with pytest.raises(ConnectionError, match="no longer answers") as error:
            problem.value_and_gradient(points_at_random())
    assert address in str(error.value)
    assert "checkpoint" in str(error.value)
