"""``nearer fit --scheduler``: the workers of a Dask cluster read the answers and fit the map."""

import sys

import numpy as np
import pytest

from extras import needs
from nearer import load_model, write
from nearer.cli import cluster
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(20, 2))
ANSWERS = comparisons_from_points(POINTS, 12_000, random_state=1).flip(0.05, random_state=1)
QUICK = ["--loss", "ste", "--regularization", 0.01, "--quiet"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers").mkdir()
    for number in range(3):
        write(ANSWERS[number * 4_000 : (number + 1) * 4_000], tmp_path / f"answers/{number}.csv")
    return tmp_path


def test_workers_fit_what_one_process_fits(here, folder):
    needs("distributed")
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=":0",
    ) as workers:
        facts = here(
            "fit",
            "answers",
            *QUICK,
            "--scheduler",
            workers.scheduler_address,
            "--held-out",
            0,
            "-o",
            "many.nearer",
        ).facts
    assert facts["rows"] == "12,000 in 3 parts, read by the workers"
    assert facts["saved"] == "many.nearer, fitted on all 12,000 rows"
    here("fit", "answers", *QUICK, "--held-out", 0, "-o", "one.nearer")
    many, one = load_model("many.nearer"), load_model("one.nearer")
    assert many.score(ANSWERS) > one.score(ANSWERS) - 0.005  # starts differ


def test_where_there_is_no_scheduler_the_address_is_named(refused, folder, monkeypatch):
    needs("distributed")
    monkeypatch.setattr(cluster, "WAIT", 0.3)
    said = refused("fit", "answers", *QUICK, "--scheduler", "tcp://127.0.0.1:9", "-o", "m.nearer")
    assert "no scheduler of Dask answers at tcp://127.0.0.1:9" in said


def test_what_workers_cannot_read_is_refused_before_the_cluster_is_asked(refused, folder):
    write(ANSWERS, "all.npz")
    for file, input in (("-", "anchor,near,far\n0,1,2\n"), ("all.npz", "")):
        said = refused("fit", file, *QUICK, "--scheduler", "tcp://127.0.0.1:9", "-o", "m.nearer", input=input)
        assert "--scheduler needs files that the workers can open" in said
        assert f"nearer convert {file} answers.parquet" in " ".join(said.split())


def test_what_scheduler_is_not_for_and_what_it_needs(refused, folder, monkeypatch):
    kernel = ["fit", "answers", "--model", "kernel", "--quiet", "-o", "m.nearer"]
    assert "--scheduler is for map" in refused(*kernel, "--scheduler", "tcp://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = refused("fit", "answers", *QUICK, "--scheduler", "tcp://127.0.0.1:9", "-o", "m.nearer")
    assert 'pip install "nearer[cluster]"' in said
