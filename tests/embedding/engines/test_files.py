"""Comparisons in files larger than memory: the same objective, the same maps, and nothing left behind."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearer import Comparisons, OrdinalEmbedding, scan
from nearer.comparisons import ComparisonSource, chunks
from nearer.embedding import SVRG
from nearer.embedding.engines import engine_of, files
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.engines.files import FilesProblem
from nearer.losses import STE
from nearer.monitor import Monitor
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(20, 2))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(files, "BLOCK_ROWS", 256)
    monkeypatch.setattr(files, "PIECE_ROWS", 32)
    monkeypatch.setattr(chunks, "MEMORY_ROWS", 500)


def make(n_rows=2000, weights=None, n_columns=3):
    made = comparisons_from_points(POINTS, n_rows, random_state=1).flip(0.1, random_state=1)
    made = made if n_columns == 3 else made.as_quadruplets()
    return Comparisons(made, weights=weights)


def source_of(comparisons, *cuts):
    bounds = [0, *cuts, len(comparisons)]
    parts = [comparisons[start:stop] for start, stop in pairwise(bounds)]
    return ComparisonSource(
        tuple(lambda part=part: iter([part]) for part in parts),
        n_rows=len(comparisons),
        n_columns=comparisons.shape[1],
        n_objects=comparisons.n_objects,
        names=comparisons.names,
    )


def random():
    return np.random.default_rng(0)


@settings(max_examples=25, deadline=None)
@given(
    n_rows=st.integers(1, 700),
    n_columns=st.sampled_from([3, 4]),
    weighted=st.booleans(),
    n_jobs=st.integers(1, 3),
    seed=st.integers(0, 10),
)
def test_value_gradient_and_energies_are_those_of_memory(n_rows, n_columns, weighted, n_jobs, seed):
    weights = np.random.default_rng(seed).integers(0, 3, n_rows) + (np.arange(n_rows) == 0) if weighted else None
    made = make(n_rows, weights, n_columns)
    kept = made if weights is None else made[weights > 0]
    points = np.random.default_rng(seed).normal(size=(20, 2))
    cuts = sorted(np.random.default_rng(seed).integers(0, n_rows + 1, 2))
    with (
        CPUProblem(kept, STE(), 0.01, n_jobs, random()) as memory,
        FilesProblem(source_of(made, *cuts), STE(), 0.01, n_jobs, random()) as problem,
    ):
        assert problem.n_rows == len(kept)
        for one, two in zip(memory.value_and_gradient(points), problem.value_and_gradient(points), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(memory.energies(points), problem.energies(points), rtol=1e-10)
        assert problem.mentioned().tolist() == memory.mentioned().tolist()


def test_weights_of_some_chunks_only():
    made = make(300)
    parts = [made[:100], Comparisons(made[100:], weights=np.full(200, 2.0))]
    source = ComparisonSource(
        tuple(lambda part=part: iter([part]) for part in parts), n_rows=300, n_columns=3, n_objects=20
    )
    with FilesProblem(source, STE(), 0.0, 1, random()) as problem:
        weights = np.concatenate([weights for _, weights in problem.blocks(absolute=True)])
    # blocks reuse their memory: only the last one is still there
    assert len(weights) == 300
    assert set(weights[256:]) == {2.0}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_steps_pick_every_row_about_once_per_epoch_in_random_order(n_jobs):
    made = make(2000)
    with FilesProblem(source_of(made), STE(), 0.0, n_jobs, random()) as problem:
        picked = [rows.copy() for _, rows, _ in problem._picked(random(), 0, 2000)]
    picked = np.concatenate(picked)
    assert len(picked) == 2000
    known = {tuple(row) for row in made.rows.tolist()}
    assert {tuple(row) for row in picked.tolist()} <= known
    assert len(np.unique(picked, axis=0)) > 0.55 * len(np.unique(made.rows, axis=0))


@pytest.mark.parametrize(
    "solver", ["lbfgs", "svrg-sbb", "sgd", "batch", SVRG(output="random"), SVRG(batch_size=7)]
)
def test_every_solver_reaches_what_it_reaches_in_memory(solver):
    made = make(2000)
    model = OrdinalEmbedding(2, "ste", solver, regularization=0.01, random_state=0, max_iter=40, n_jobs=2)
    with warnings.catch_warnings(action="ignore"):
        memory, of_files = model.fit(made).score(made), model.fit(source_of(made, 700)).score(made)
    assert of_files == pytest.approx(memory, abs=0.02)


def test_a_fit_chooses_settings_on_a_sample_and_fits_all():
    made = make(4000)
    model = OrdinalEmbedding(random_state=0).fit(source_of(made, 1000, 2000))
    assert model.selection_
    assert model.score(made) > 0.85
    assert model.n_samples_seen_ == 4000
    assert model.score(source_of(made, 10)) == model.score(made)
    assert model.predict(source_of(made, 10)).tolist() == model.predict(made).tolist()


def test_a_source_that_fits_into_memory_gives_the_same_map(tmp_path):
    made = make(400)
    model = OrdinalEmbedding(2, "ste", regularization=0.1, random_state=0)
    assert np.array_equal(model.fit(source_of(made)).embedding_, model.fit(made).embedding_)


def test_engines_are_found_by_where_the_rows_are():
    made = make(600)
    assert engine_of(made, "cpu") is CPUProblem
    assert engine_of(source_of(made), "cpu") is FilesProblem


def test_what_needs_all_rows_in_memory_is_refused():
    source = source_of(make(600))
    model = OrdinalEmbedding(2, "ste", regularization=0.1)
    for argument in ("y", "sample_weight", "groups"):
        with pytest.raises(
            ValueError, match=f"{argument} is for comparisons in memory, and these are read in parts"
        ):
            model.fit(source, **{argument: np.ones(600)})
    with pytest.raises(ValueError, match="early_stopping is for answers in memory, and these are read in parts"):
        OrdinalEmbedding(2, "ste", regularization=0.1, early_stopping=True).fit(source)
    for nothing in (model, OrdinalEmbedding(2)):
        with pytest.raises(ValueError, match="nothing to learn from"):
            nothing.fit(source_of(make(600, weights=np.zeros(600))))


def test_partial_fit_after_files_keeps_none_of_them():
    model = OrdinalEmbedding(2, "ste", regularization=0.1, random_state=0).fit(source_of(make(600)))
    model.partial_fit([[0, 1, 2]])
    assert model.n_samples_seen_ == 601
    with pytest.raises(ValueError, match="partial_fit learns from answers in memory"):
        model.partial_fit(source_of(make(600)))


def test_a_full_disk_is_found_before_writing(monkeypatch, tmp_path):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 10})())
    with pytest.raises(OSError, match=r"temporary file, and .* set TMPDIR"):
        FilesProblem(source_of(make(600)), STE(), 0.0, 1, random())


@pytest.mark.parametrize(("kind", "warns"), [("tmpfs", True), ("ext4", False)])
def test_a_temporary_folder_in_memory_is_warned_of(monkeypatch, tmp_path, kind, warns):
    (tmp_path / "mounts").write_text(
        f"disk / ext4 rw 0 0\nx {tmp_path} tmpfs rw 0 0\ny {tmp_path} {kind} rw 0 0\n"
    )
    monkeypatch.setattr(files, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(files, "LARGE", 1000)
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    assert files.file_system_of("/") == "ext4"
    assert files.file_system_of(str(tmp_path)) == kind
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FilesProblem(source_of(make(600)), STE(), 0.0, 1, random()).__exit__()
    assert [str(each.message)[-34:] for each in caught] == [": set TMPDIR to a folder of a disk"] * warns


def test_where_mounts_are_not_known_nothing_is_warned_of(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "MOUNTS", tmp_path / "none")
    assert files.file_system_of("/") is None


def test_nothing_is_left_in_the_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    made = make(600)

    def broken():
        yield made[:100]
        raise KeyboardInterrupt

    source = ComparisonSource((broken,), n_rows=600, n_columns=3, n_objects=20)
    with pytest.raises(KeyboardInterrupt):
        FilesProblem(source, STE(), 0.0, 1, random())
    with FilesProblem(source_of(made), STE(), 0.0, 1, random()) as problem:
        SVRG().solve(problem, POINTS, Monitor(2))
    assert list(tmp_path.iterdir()) == []


def test_a_map_of_a_folder_of_files(tmp_path):
    made = make(1200)
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", made.rows[number * 400 : (number + 1) * 400])
    source = scan(tmp_path)
    assert source.is_large
    model = OrdinalEmbedding(2, "ste", regularization=0.01, random_state=0).fit(source)
    assert model.score(source) == pytest.approx(
        OrdinalEmbedding(2, "ste", regularization=0.01, random_state=0).fit(made).score(made), abs=0.01
    )
