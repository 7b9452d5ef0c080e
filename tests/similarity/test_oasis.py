"""OASIS takes the passive-aggressive steps of its paper, in any form of table and in any chunks."""

import warnings

import literal_similarity as literal
import numpy as np
import pytest
from literal_similarity import problem, tables
from scipy.sparse import csr_array

from nearer import Comparisons
from nearer.monitor import Monitor
from nearer.similarity import OASIS, BilinearSimilarity
from nearer.similarity.oasis import oasis_steps
from nearer.similarity.problem import Problem
from nearer.similarity.triplets import Triplets


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("d", [2, 30, 100])
def test_steps_are_those_of_the_paper(kind, symmetric, d):
    X, rows = problem(d, n=200, sparse=kind == "sparse")
    caps = np.random.default_rng(0).random(len(rows))
    W = np.eye(d)
    oasis_steps(Triplets(tables(X)[kind], rows), W, np.arange(len(rows)), caps, symmetric)
    np.testing.assert_allclose(W, literal.oasis(X, rows, np.eye(d), caps, symmetric), atol=1e-11)
    if symmetric:
        np.testing.assert_allclose(W, W.T, atol=1e-13)


@pytest.mark.parametrize("symmetric", [False, True])
def test_an_uncapped_step_meets_its_triplet_by_the_smallest_change(symmetric):
    X, rows = problem(6, n=1, seed=4)
    W = np.eye(6)
    oasis_steps(Triplets(X, rows), W, np.arange(1), np.array([np.inf]), symmetric)
    x, z = literal.parts(X, rows[0])
    assert x @ W @ z == pytest.approx(1.0)
    V = np.outer(x, z)
    V = (V + V.T) / 2 if symmetric else V
    np.testing.assert_allclose(np.linalg.norm(W - np.eye(6)), (1 - x @ z) / np.linalg.norm(V))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("solver", ["oasis", OASIS(symmetric=True)])
@pytest.mark.parametrize("psd", [False, True])
def test_a_stream_in_chunks_is_a_fit(kind, solver, psd):
    X, rows = problem(20, n=500, sparse=kind == "sparse")
    X = tables(X)[kind]
    given = Comparisons(rows, weights=np.random.default_rng(0).random(500) + 0.1)
    whole = BilinearSimilarity(solver, max_iter=1, psd=psd).fit(X, comparisons=given)
    chunks = BilinearSimilarity(solver, psd=psd)
    for start in (0, 1, 8, 200, 333):
        stop = {0: 1, 1: 8, 8: 200, 200: 333, 333: 500}[start]
        chunks.partial_fit(X, comparisons=given[start:stop])
    np.testing.assert_allclose(chunks.matrix_, whole.matrix_, atol=1e-10)
    assert chunks.n_steps_ == whole.n_steps_ == 500
    assert chunks.history_[-1]["n_steps"] == whole.history_[-1]["n_steps"] == 500
    assert chunks.stop_reason_ == whole.stop_reason_ == "max_iter"


def test_called_again_it_draws_other_triplets():
    X = np.random.default_rng(0).normal(size=(30, 4))
    y = np.arange(30) % 3
    again = BilinearSimilarity("oasis", n_triplets=20, random_state=0).partial_fit(X, y).partial_fit(X, y)
    same = BilinearSimilarity("oasis", n_triplets=20, random_state=0, max_iter=2).fit(X, y)
    assert again.n_steps_ == same.n_steps_ == 40
    assert not np.allclose(again.matrix_, same.matrix_)


def test_symmetry_asked_for_later_is_given():
    X, rows = problem(5, n=100)
    model = BilinearSimilarity("oasis").fit(X, comparisons=rows)
    model.set_params(solver=OASIS(symmetric=True)).partial_fit(X, comparisons=rows[:3])
    np.testing.assert_allclose(model.matrix_, model.matrix_.T, atol=1e-14)


def test_psd_is_kept_and_is_a_projection():
    X, rows = problem(10, n=500)
    model = BilinearSimilarity("oasis", psd=True, max_iter=2).fit(X, comparisons=rows)
    assert np.linalg.eigvalsh(model.matrix_)[0] >= -1e-12
    points = model.transform(X)
    np.testing.assert_allclose(points @ points.T, model.similarity(X, X), atol=1e-10)


def test_equal_objects_teach_nothing():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])
    for table in (X, csr_array(X)):
        model = BilinearSimilarity("oasis").fit(table, comparisons=[[0, 1, 2]])
        np.testing.assert_array_equal(model.matrix_, np.eye(2))


def test_features_too_small_for_any_step_are_told():
    X, rows = problem(6, n=200)
    problem_of = lambda size: Problem(Triplets(size * X, rows))  # noqa: E731
    with pytest.warns(UserWarning, match="features are so small that steps of at most aggressiveness=0.1"):
        OASIS().solve(problem_of(1e-8), None, Monitor(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OASIS().solve(problem_of(1.0), None, Monitor(1))
        OASIS(aggressiveness=1e31).solve(problem_of(1e-8), None, Monitor(1))
