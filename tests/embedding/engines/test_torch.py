"""What only the engine of GPUs does: segments, minibatches, kernels of Triton, devices, and losses it cannot run."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from extras import needs
from nearer import Comparisons, OrdinalEmbedding
from nearer.comparisons import ComparisonSource
from nearer.embedding.engines import memory_engine
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.engines.expressions import write_source
from nearer.losses import STE, Loss
from nearer.simulate import comparisons_from_points

N, D = 40, 5
POINTS = np.random.default_rng(0).normal(size=(N, D))
DEVICES = ["cpu", "cuda"]


def problem_on(device, comparisons, loss, ridge=0.1, seed=0):
    needs("torch")
    import torch

    from nearer.embedding.engines.torch import TorchProblem

    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return TorchProblem(comparisons, loss, ridge, 1, np.random.default_rng(seed), device=device)


def some_rows(width, weighted=False, m=400, n=N):
    random = np.random.default_rng(width)
    rows = np.array([random.choice(n, width, replace=False) for _ in range(m)])
    return Comparisons(rows, n_objects=n + 3, weights=random.random(m) if weighted else None)


def points_of(dtype):
    return np.vstack([POINTS, np.zeros((3, D))]).astype(dtype)


def test_kernels_of_triton_are_right():
    """In Triton's interpreter, which runs them without a GPU; a process of its own, since it is chosen at import."""
    needs("torch", "triton")
    tests = Path(__file__).parents[1] / "test_engines.py"
    some = "those_of_the_formula and torch and typed"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", some, str(tests)]
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "4 passed" in done.stdout


@pytest.mark.parametrize("device", DEVICES)
def test_segments_of_an_anchor_of_many_triplets(device, monkeypatch):
    """One object that is in every triplet, and anchors without any."""
    needs("torch")
    monkeypatch.setattr("nearer.embedding.engines.torch.SEGMENT", 7)
    random = np.random.default_rng(0)
    others = np.array([1 + random.choice(N - 1, 2, replace=False) for _ in range(100)])
    rows = np.column_stack([np.where(np.arange(100) % 4 == 0, 39, 0), others])
    rows = rows[(rows[:, 1] != rows[:, 0]) & (rows[:, 2] != rows[:, 0])]
    comparisons = Comparisons(rows, n_objects=N)
    problem = problem_on(device, comparisons, STE())
    bounds, anchors = problem.bounds.cpu().numpy(), problem.anchors.cpu().numpy()
    assert np.diff(bounds).max() == 7
    np.testing.assert_array_equal(np.repeat(anchors, np.diff(bounds)), np.sort(rows[:, 0]))
    found = problem.to_numpy(problem.value_and_gradient(problem.from_numpy(POINTS))[1])
    _, expected = CPUProblem(comparisons, STE(), 0.1, 1, random).value_and_gradient(POINTS)
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("width", [3, 4])
def test_a_run_of_svrg_is_that_of_the_formula(width, monkeypatch):
    """Line 9 of Algorithm 1 with minibatches, whose rows are read off."""
    comparisons, ridge, step = some_rows(width, weighted=True), 0.2, 0.05
    problem = problem_on("cpu", comparisons, STE(), ridge)
    snapshot, batches = points_of(np.float64), []
    _, gradient = problem.value_and_gradient(problem.from_numpy(snapshot))
    draw = problem._random_rows

    def drawn(n):
        batches.append(draw(n))
        return batches[-1]

    monkeypatch.setattr(problem, "_random_rows", drawn)
    end, middle = problem.svrg_run(problem.from_numpy(snapshot), gradient, step, 4, 30, stop_at=2)

    x, visited = snapshot.copy(), []
    for (i, j, l, k), weights in batches:  # noqa: E741
        rows = np.column_stack([i, j, k] if width == 3 else [i, j, l, k])
        assert {*map(tuple, rows.tolist())} <= {*map(tuple, comparisons.rows.tolist())}
        pulls = []
        for points in (x, snapshot):
            pull = np.zeros_like(x)
            for row, weight in zip(rows, weights.numpy(), strict=True):
                one = CPUProblem(Comparisons([row], n_objects=len(x)), STE(), 0.0, 1, np.random.default_rng())
                pull += weight * one.value_and_gradient(points)[1]
            pulls.append(pull)
        x = x - step * ((pulls[0] - pulls[1]) / 30 + gradient.numpy() + problem.ridge * (x - snapshot))
        visited.append(x)
    np.testing.assert_allclose(end.numpy(), x, atol=1e-12)
    np.testing.assert_allclose(middle.numpy(), visited[1], atol=1e-12)


def source_of(n_rows, *chunks):
    return ComparisonSource((lambda: iter(chunks),), n_rows=n_rows, n_columns=3, n_objects=N + 3)


def test_a_source_with_other_rows_than_it_says_is_refused():
    """What is not filled of the memory on the device would be any numbers."""
    made = some_rows(3)
    with pytest.raises(ValueError, match="a source of 500 rows have only 400"):
        problem_on("cpu", source_of(500, made), STE())
    with pytest.raises(ValueError, match="a source of 300 rows have more"):
        problem_on("cpu", source_of(300, made[:200], made[200:]), STE())


def test_rows_of_weight_zero_are_left_out():
    made = some_rows(3)
    weights = np.where(np.arange(400) < 300, 0.0, 2.0)
    with pytest.raises(ValueError, match="nothing to learn from"):
        problem_on("cpu", source_of(400, Comparisons(made, weights=np.zeros(400))), STE())
    problem = problem_on("cpu", source_of(400, Comparisons(made, weights=weights)), STE())
    assert problem.n_rows == 100
    _, found = problem.value_and_gradient(problem.from_numpy(points_of(np.float64)))
    _, expected = problem_on("cpu", made[300:], STE()).value_and_gradient(
        problem.from_numpy(points_of(np.float64))
    )
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-14)


def on_pytorch(monkeypatch):
    """Let a fit on device="cpu" use PyTorch."""
    needs("torch")
    from nearer.embedding import fitting
    from nearer.embedding.engines.torch import TorchProblem

    monkeypatch.setattr(fitting, "memory_engine", lambda device: partial(TorchProblem, device="cpu"))
    monkeypatch.setattr(fitting, "engine_of", lambda data, device: partial(TorchProblem, device="cpu"))


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "ste", "max_iter": 100},
        {"loss": "tste", "regularization": 0.01, "early_stopping": True, "dtype": "float32"},
        {"loss": "gnmds", "regularization": 0.01, "escape": True, "solver": "svrg-sbb"},
    ],
)
def test_a_whole_fit_is_as_good(parameters, monkeypatch):
    answers = comparisons_from_points(POINTS[:15, :2], 300, random_state=0)
    train, test = answers.split(0.3, random_state=0)
    expected = OrdinalEmbedding(random_state=0, **parameters).fit(train)
    on_pytorch(monkeypatch)
    seen = []
    model = OrdinalEmbedding(
        random_state=0, callback=lambda record: seen.append(record.get("points")), **parameters
    )
    model.fit(train)
    assert isinstance(seen[-1], np.ndarray)
    assert model.embedding_.dtype == parameters.get("dtype", "float64")
    assert model.score(test) > expected.score(test) - 0.03
    np.testing.assert_allclose(model.energy_.sum(), expected.energy_.sum(), rtol=0.5)


def test_steps_of_single_comparisons_are_refused(monkeypatch):
    on_pytorch(monkeypatch)
    with pytest.raises(ValueError, match=r"single comparisons.*lbfgs"):
        OrdinalEmbedding(solver="sgd", loss="ste", regularization=0.0).fit([[0, 1, 2], [3, 1, 2]])


def test_what_a_device_can_be():
    needs("torch")
    import torch

    with pytest.raises(ValueError, match=r"device='abacus' cannot be used.*device='auto'"):
        OrdinalEmbedding(1, device="abacus").fit([[0, 1, 2]])
    for device in ("meta", "xla"):  # one keeps no numbers, of the other PyTorch says 1,200 characters
        with pytest.raises(ValueError, match=f"device='{device}' cannot be used") as raised:
            OrdinalEmbedding(1, device=device).fit([[0, 1, 2]])
        assert len(str(raised.value)) < 300
    with pytest.raises(ValueError, match=r"device must be a device.*got 7"):
        OrdinalEmbedding(1, device=7).fit([[0, 1, 2]])
    if not torch.cuda.is_available():
        assert memory_engine("auto") is CPUProblem
        with pytest.raises(ValueError, match=r"device='cuda' cannot be used.*PyTorch"):
            OrdinalEmbedding(1, device="cuda").fit([[0, 1, 2]])


def test_without_pytorch_the_error_says_how_to_install_it():
    """In a process of its own, in which PyTorch cannot be imported; device="auto" then is the processor."""
    code = """
import sys
from importlib.abc import MetaPathFinder

class NoTorch(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            raise ImportError(name)

sys.meta_path.insert(0, NoTorch())
from nearer import OrdinalEmbedding
OrdinalEmbedding(1, device="auto").fit([[0, 1, 2]])
try:
    OrdinalEmbedding(1, device="cuda").fit([[0, 1, 2]])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "nearer[gpu]"' in done.stdout


class Branching(Loss):
    """A loss that decides, which only a processor could do."""

    def value(self, near, far):
        return near if near > far else far

    slopes = probability = value


def test_losses_that_no_engine_can_run_are_named():
    with pytest.raises(ValueError, match=r"loss Branching\(\) cannot be used on this engine.*ops.where"):
        write_source(Branching(), {}, str)
    for function, word in ((np.sin, "sin"), (np.clip, "clip|minimum"), (float, "math functions")):
        loss = Branching()
        loss.value = lambda near, far, f=function: f(near, 0.0, 1.0) if f is np.clip else f(near)
        with pytest.raises(ValueError, match=word):
            write_source(loss, {}, str)


def test_common_parts_of_a_loss_are_computed_once():
    source = write_source(STE(), {"exp": "exp", "log": "log", "maximum": "maximum", "where": "where"}, str)
    assert source.count("exp(") == 1
