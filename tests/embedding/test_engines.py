"""What every engine promises: values, gradients and runs of the formulas, wherever the comparisons are.

The engines of the registry run the same tests, against the literal numpy version of the objective. What only one of
them does is in a file of its own. Engines whose package, or GPU, is not there are skipped.
"""

from contextlib import contextmanager
from functools import cache
from itertools import pairwise

import literal
import numpy as np
import pytest

from extras import needs
from nearer import Comparisons
from nearer.comparisons import ComparisonSource
from nearer.embedding import LBFGS, SVRG, Batch
from nearer.embedding.engines import ENGINES, engine_by_name, files
from nearer.losses import LOSSES, STE, Loss, as_loss, ops
from nearer.metrics import procrustes
from nearer.monitor import Monitor
from nearer.simulate import comparisons_from_points

N, D, RIDGE = 40, 5, 0.1
POINTS = np.vstack([np.random.default_rng(0).normal(size=(N, D)), np.zeros((3, D))])  # three are never mentioned
POINTS = POINTS.astype(np.float32).astype(np.float64)  # the same numbers in both precisions
PLACES = ["cpu", "two threads", "files", "torch", "cuda", "dask"]


class Typed(Loss):
    """As a user would write it, with a parameter, a helper, a power and every function of ops."""

    def __init__(self, scale=1.5):
        self.scale = scale

    def value(self, near, far):
        root = ops.sqrt(1.0 + near) ** self.scale
        return ops.log1p(ops.exp(ops.maximum(root - abs(far), -3.0))) + squared(ops.where(near > far, 0.3, far))

    def slopes(self, near, far):
        return 0.7, -(2.0**self.scale) / (1.0 + far) ** near

    def probability(self, near, far):
        return 1.0 / (1.0 + ops.exp(near - far))


def squared(x):
    return x**2


class Part:
    """A part of a source that is in memory, and that another process can have."""

    def __init__(self, chunk):
        self.chunk = chunk

    def __call__(self):
        yield self.chunk


def some_rows(width, weighted=False, m=400):
    random = np.random.default_rng(width)
    rows = np.array([random.choice(N, width, replace=False) for _ in range(m)])
    return Comparisons(rows, n_objects=len(POINTS), weights=random.random(m) if weighted else None)


def loss_of(name):
    return Typed() if name == "typed" else as_loss(name, D)


@cache
def reference(name, width, weighted):
    """Value and gradient by the literal formula."""
    comparisons = some_rows(width, weighted)
    arguments = loss_of(name), comparisons.rows, comparisons.weights, 2 * RIDGE / len(POINTS), POINTS
    return literal.objective(*arguments), literal.full_gradient(*arguments)


def source_of(comparisons):
    bounds = np.linspace(0, len(comparisons), 4).astype(int)
    parts = tuple(Part(comparisons[a:b]) for a, b in pairwise(bounds))
    sizes = {"n_rows": len(comparisons), "n_columns": comparisons.shape[1], "n_objects": comparisons.n_objects}
    return ComparisonSource(parts, **sizes)


@pytest.fixture(scope="module")
def cluster():
    """A cluster in this process, that of the current client while the tests of this file run."""
    needs("distributed")
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(params=PLACES)
def problem_of(request, monkeypatch):
    """A function of comparisons, loss, ridge and seed that opens the problem of an engine."""
    place = request.param
    if place in ("torch", "cuda"):
        needs("torch")
        import torch

        if place == "cuda" and not torch.cuda.is_available():
            pytest.skip("there is no GPU")
    monkeypatch.setattr(files, "BLOCK_ROWS", 128)
    monkeypatch.setattr(files, "PIECE_ROWS", 16)
    client = request.getfixturevalue("cluster") if place == "dask" else None
    if place == "dask":
        monkeypatch.setattr("nearer.embedding.engines.dask.FEWEST_ROWS", 50)

    @contextmanager
    def opened(comparisons, loss, ridge=RIDGE, seed=0):
        name = {"two threads": "cpu", "cuda": "torch"}.get(place, place)
        data = source_of(comparisons) if name in ("files", "dask") else comparisons
        options = {"device": "cuda" if place == "cuda" else "cpu"} if name == "torch" else {}
        n_jobs = 2 if place == "two threads" else 1
        arguments = data, loss, ridge, n_jobs, np.random.default_rng(seed)
        if client is None:
            with engine_by_name(name)(*arguments, **options) as problem:
                yield problem
        else:
            with client.as_current(), engine_by_name(name)(*arguments) as problem:
                yield problem

    opened.place = place
    return opened


def test_every_engine_is_tested():
    assert set(ENGINES) <= set(PLACES)


@pytest.mark.parametrize(("width", "weighted"), [(3, False), (3, True), (4, False), (4, True)])
@pytest.mark.parametrize("name", [*LOSSES, "typed"])
def test_value_and_gradient_are_those_of_the_formula(problem_of, name, width, weighted):
    comparisons, loss = some_rows(width, weighted), loss_of(name)
    expected_value, expected = reference(name, width, weighted)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 5e-6)):
        points = POINTS.astype(dtype)
        with problem_of(comparisons, loss) as problem:
            value, gradient = problem.value_and_gradient(problem.from_numpy(points))
            found = problem.to_numpy(gradient)
            assert problem.value(points) == pytest.approx(value, rel=tolerance)
            problem.set_regularization(0.0)
            without = problem.value(points)
        assert value == pytest.approx(expected_value, rel=tolerance)
        assert without == pytest.approx(value - RIDGE * (POINTS**2).sum() / len(POINTS), rel=tolerance)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(("width", "weighted"), [(3, True), (4, False)])
def test_energies_are_sums_of_squared_pulls(problem_of, width, weighted):
    comparisons, loss = some_rows(width, weighted), as_loss("tste", D)
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    expected = np.zeros(len(POINTS))
    for row, weight in zip(comparisons.rows, weights, strict=True):
        for pair, slope in zip(literal.pairs(row), loss.slopes(*distances(row)), strict=True):
            pull = 2.0 * weight * slope * (POINTS[pair[0]] - POINTS[pair[1]])
            expected[list(pair)] += (pull**2).sum()
    with problem_of(comparisons, loss) as problem:
        np.testing.assert_allclose(problem.energies(POINTS), expected, rtol=1e-10)
        assert problem.mentioned().tolist() == [n < N for n in range(len(POINTS))]
        assert problem.n_rows == len(comparisons)


def distances(row):
    return [((POINTS[i] - POINTS[j]) ** 2).sum() for i, j in literal.pairs(row)]


@pytest.mark.parametrize("width", [3, 4])
def test_an_epoch_of_svrg_lowers_the_objective_and_is_drawn_from_the_seed(problem_of, width):
    comparisons, ends = some_rows(width, weighted=True), []
    for seed in (0, 0, 1):
        with problem_of(comparisons, STE(), seed=seed) as problem:
            start = problem.from_numpy(POINTS)
            value, gradient = problem.value_and_gradient(start)
            steps = -(-problem.n_rows // problem.n_parallel)
            end, middle = problem.svrg_run(start, gradient, 0.05, steps, stop_at=steps // 2)
            assert problem.value_and_gradient(end)[0] < value
            assert problem.value_and_gradient(middle)[0] < value
            ends.append(problem.to_numpy(end))
    if problem_of.place != "cuda":  # whose sums are added in no fixed order
        np.testing.assert_array_equal(ends[0], ends[1])
    assert np.abs(ends[0] - ends[2]).max() > 1e-6


def test_steps_of_svrg_are_right_on_average(problem_of):
    """A step from the snapshot is -step_size times the full gradient, whichever row is drawn."""
    comparisons = some_rows(3, weighted=True)
    with problem_of(comparisons, STE()) as problem:
        start = problem.from_numpy(POINTS)
        _, gradient = problem.value_and_gradient(start)
        end, _ = problem.svrg_run(start, gradient, 0.5, 1)
        expected = POINTS - 0.5 * problem.to_numpy(gradient)
        np.testing.assert_allclose(problem.to_numpy(end), expected, atol=1e-12)


@pytest.mark.parametrize("solver", [LBFGS(), SVRG(batch_size=20), Batch()])
def test_solvers_reach_the_minimum_of_the_reference(problem_of, solver):
    answers = comparisons_from_points(POINTS[:N, :2], 1500, random_state=0)
    start = 0.1 * np.random.default_rng(1).normal(size=(N, 2))
    with problem_of(answers, STE(), 0.02) as problem:
        result = solver.solve(problem, start, Monitor(max_iter=400, tol=1e-9))
    assert isinstance(result.solution, np.ndarray)
    best = solver_reference(answers, start)
    value = literal.objective(STE(), answers.rows, None, 2 * 0.02 / N, result.solution)
    assert result.history[-1]["loss"] == pytest.approx(value, rel=1e-9)
    assert value == pytest.approx(best.history[-1]["loss"], rel=1e-3)
    assert procrustes(result.solution, best.solution).disparity < 1e-2


def solver_reference(answers, start):
    with engine_by_name("cpu")(answers, STE(), 0.02, 1, np.random.default_rng(0)) as problem:
        return LBFGS().solve(problem, start, Monitor(max_iter=400, tol=1e-12))
