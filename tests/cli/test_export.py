"""Coordinates, neighbors and distances as tables."""

import csv
import json

import numpy as np
import pytest

from nearer import RCA, BilinearSimilarity, ComparisonKernel, Comparisons, OrdinalEmbedding
from nearer.formats import read_features
from nearer.models import save_model
from nearer.simulate import comparisons_from_points

NAMES = ["Köln", "a, b", "Oslo", "Rom", "Bern", "Wien"]


@pytest.fixture(scope="module")
def answers():
    points = np.random.default_rng(0).normal(size=(6, 2))
    return Comparisons(comparisons_from_points(points, 300, random_state=0), names=NAMES)


@pytest.fixture(scope="module")
def model(answers):
    return OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(answers)


@pytest.fixture
def folder(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    model.save("m.nearer")
    return tmp_path


def read_rows(path, delimiter=","):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.parametrize("suffix", ["csv", "TSV"])
def test_coordinates_come_back_exactly(here, folder, model, suffix):
    done = here("export", "m.nearer", "-o", f"points.{suffix}")
    assert done.stdout == f"wrote points.{suffix}, 6 objects with 2 coordinates each\n"
    rows = read_rows(folder / f"points.{suffix}", "," if suffix == "csv" else "\t")
    assert list(rows[0]) == ["name", "x1", "x2"]
    assert [row["name"] for row in rows] == list(model.names_)
    assert [[float(row["x1"]), float(row["x2"])] for row in rows] == model.embedding_.tolist()
    if suffix == "csv":  # a table of features, for other commands
        table = read_features(folder / "points.csv", names="name")
        np.testing.assert_array_equal(table.X, model.embedding_)


def test_neighbors_with_their_distances(here, folder, model):
    done = here("export", "m.nearer", "-o", "points.csv", "--neighbors", 2)
    assert done.stdout.endswith("6 objects with 2 coordinates and 2 neighbors each\n")
    rows = read_rows(folder / "points.csv")
    assert list(rows[0])[3:] == ["neighbor1", "distance1", "neighbor2", "distance2"]
    here("export", "m.nearer", "-o", "points.json", "--neighbors", 2)
    records = json.loads((folder / "points.json").read_text(encoding="utf-8"))
    points = dict(zip(model.names_, model.embedding_, strict=True))
    for row, record, (name, point) in zip(rows, records, points.items(), strict=True):
        distances = {other: np.linalg.norm(point - place) for other, place in points.items() if other != name}
        nearest = sorted(distances, key=distances.get)[:2]
        assert [row["neighbor1"], row["neighbor2"]] == nearest
        assert float(row["distance1"]) == pytest.approx(distances[nearest[0]])
        assert record["name"] == name
        assert record["point"] == point.tolist()
        assert [other["name"] for other in record["neighbors"]] == nearest
        assert record["neighbors"][1]["distance"] == pytest.approx(distances[nearest[1]])
    here("export", "m.nearer", "-o", "points.csv", "--neighbors", 99)
    assert "neighbor5" in read_rows(folder / "points.csv")[0]
    assert "neighbor6" not in read_rows(folder / "points.csv")[0]


def test_objects_without_names_or_answers(here, folder, answers):
    gaps = Comparisons(answers.rows + 2, n_objects=9)
    OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(gaps).save("gaps.nearer")
    here("export", "gaps.nearer", "-o", "points.csv", "--neighbors", 5)
    rows = read_rows(folder / "points.csv")
    assert [row["name"] for row in rows] == ["2", "3", "4", "5", "6", "7"]
    assert {row[f"neighbor{rank}"] for row in rows for rank in range(1, 6)} == {row["name"] for row in rows}


def test_a_kernel_has_all_its_dimensions(here, folder, answers):
    kernel = ComparisonKernel(regularization=0.01, max_iter=50).fit(answers)
    kernel.save("k.nearer")
    here("export", "k.nearer", "-o", "points.json", "--neighbors", 1)
    records = json.loads((folder / "points.json").read_text(encoding="utf-8"))
    points = np.array([record["point"] for record in records])
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    wanted = np.sqrt(kernel._distances_from(np.arange(6)))
    np.testing.assert_allclose(distances, wanted, atol=1e-3 * wanted.max())


def test_models_of_features(here, refused, folder):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 3)) + np.arange(30)[:, None] % 3, np.arange(30) % 3
    lines = ["name,a,b,c", *(f"object {i},{','.join(map(str, row))}" for i, row in enumerate(X))]
    (folder / "t.csv").write_text("\n".join(lines))
    table = read_features(folder / "t.csv", names="name")
    distance = RCA().fit(table, y)
    save_model(distance, "d.nearer")
    here("export", "d.nearer", "--features", "t.csv", "-o", "points.csv", "--neighbors", 1)
    rows = read_rows(folder / "points.csv")
    assert list(rows[0]) == ["name", "x1", "x2", "x3", "neighbor1", "distance1"]
    np.testing.assert_allclose(
        [[float(row[f"x{i}"]) for i in (1, 2, 3)] for row in rows], distance.transform(table)
    )
    values, numbers = distance.neighbors(None, table, 1)
    assert [row["neighbor1"] for row in rows] == [f"object {i}" for i in numbers[:, 0]]
    assert [float(row["distance1"]) for row in rows] == values[:, 0].tolist()
    save_model(BilinearSimilarity("oasis", n_triplets=50, random_state=0).fit(table, y), "s.nearer")
    told = refused("export", "s.nearer", "--features", "t.csv", "-o", "s.csv")
    assert "s.nearer is a BilinearSimilarity without coordinates; with --neighbors K" in told
    here("export", "s.nearer", "--features", "t.csv", "-o", "s.csv", "--neighbors", 2)
    assert list(read_rows(folder / "s.csv")[0]) == ["name", "neighbor1", "similarity1", "neighbor2", "similarity2"]
    assert "it needs a table of the objects' features" in refused("export", "d.nearer", "-o", "points.csv")


def test_the_output_is_checked_first(refused, folder):
    assert "its name must end in .csv, .tsv, .json" in refused("export", "no.nearer", "-o", "points.txt")
    assert "there is no folder nowhere" in refused("export", "no.nearer", "-o", "nowhere/points.csv")
    (folder / "m.csv").write_bytes((folder / "m.nearer").read_bytes())
    assert "it is an input" in refused("export", "m.csv", "-o", "m.csv")
