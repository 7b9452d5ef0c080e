"""The fast solvers against the literal algorithms, and the paper's claims about its step size and its rate."""

import literal
import numpy as np
import pytest

from nearer import Comparisons, losses
from nearer.embedding import LBFGS, SGD, SOLVERS, SVRG, Batch
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.problem import Problem
from nearer.losses import CKL, STE, TSTE
from nearer.monitor import Monitor
from nearer.solver import as_solver

LOSSES = [TSTE(alpha=1.5) if kind is TSTE else kind() for kind in losses.LOSSES.values()]
SMOOTH = [CKL(), STE(), TSTE(alpha=1.5)]
N_OBJECTS, REGULARIZATION = 9, 0.4
RIDGE = 2 * REGULARIZATION / N_OBJECTS  # lambda of lambda / 2 * |X|²


def some_comparisons(columns=3, weighted=False, n=40, seed=0):
    random = np.random.default_rng(seed)
    rows = np.array([random.choice(N_OBJECTS, columns, replace=False) for _ in range(n)])
    weights = random.uniform(0.1, 3.0, n) if weighted else None
    return Comparisons(rows, n_objects=N_OBJECTS, weights=weights)


def start(seed=1, d=3):
    return np.random.default_rng(seed).normal(size=(N_OBJECTS, d))


def solve(solver, comparisons, loss, regularization=0.0, epochs=2, seed=5, dtype=float, n_jobs=1, **watch):
    monitor = Monitor(max_iter=epochs, tol=0.0, view=lambda points: {"points": points}, **watch)
    monitor.tol = -np.inf  # run all epochs
    with CPUProblem(comparisons, loss, regularization, n_jobs, np.random.default_rng(seed)) as problem:
        return solver.solve(problem, start().astype(dtype), monitor).solution, monitor


def given(comparisons):
    weights = np.ones(len(comparisons)) if comparisons.weights is None else comparisons.weights
    return comparisons.rows, weights


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("columns", [3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient_equal_the_literal_ones(loss, columns, weighted):
    comparisons = some_comparisons(columns, weighted)
    rows, weights = given(comparisons)
    with CPUProblem(comparisons, loss, REGULARIZATION, 1, np.random.default_rng()) as problem:
        value, gradient = problem.value_and_gradient(start())
    assert value == pytest.approx(literal.objective(loss, rows, weights, RIDGE, start()), abs=1e-12)
    np.testing.assert_allclose(gradient, literal.full_gradient(loss, rows, weights, RIDGE, start()), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("columns", [3, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("regularization", [0.0, REGULARIZATION])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_lazy_svrg_is_algorithm_1(loss, columns, weighted, regularization, batch_size):
    comparisons = some_comparisons(columns, weighted)
    solver = SVRG(epsilon=0.005, initial_step_size=0.01, inner_steps=60, batch_size=batch_size)
    fast, _ = solve(solver, comparisons, loss, regularization)
    random = np.random.default_rng(5)
    size = 60 if batch_size == 1 else (60, batch_size)
    picks = [random.integers(len(comparisons), size=size, dtype=np.int32) for _ in range(2)]
    ridge = 2 * regularization / N_OBJECTS
    slow = literal.svrg_sbb(loss, *given(comparisons), ridge, start(), picks, 0.01, 0.005)
    assert np.abs(start() - slow).max() > 0.01, "the test must move the points"
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_quadruplets_may_share_objects(batch_size):
    rows = [[0, 1, 0, 2], [3, 0, 2, 0], [1, 2, 2, 4], [4, 3, 1, 4]] * 10
    comparisons = Comparisons(rows, n_objects=N_OBJECTS)
    solver = SVRG(epsilon=0.005, initial_step_size=0.01, inner_steps=60, batch_size=batch_size)
    fast, _ = solve(solver, comparisons, STE(), REGULARIZATION)
    random = np.random.default_rng(5)
    size = 60 if batch_size == 1 else (60, batch_size)
    picks = [random.integers(40, size=size, dtype=np.int32) for _ in range(2)]
    slow = literal.svrg_sbb(STE(), *given(comparisons), RIDGE, start(), picks, 0.01, 0.005)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


def test_debts_of_more_than_4096_steps_are_paid_exactly():
    """The tables of powers and sums are split at 4096 steps: go beyond, with an object that is left alone."""
    comparisons = Comparisons([[0, 1, 2], [1, 2, 0], [2, 0, 1]], n_objects=N_OBJECTS)
    fast, _ = solve(
        SVRG(epsilon=0.005, initial_step_size=1e-4, inner_steps=9000), comparisons, STE(), REGULARIZATION, 1
    )
    picks = [np.random.default_rng(5).integers(3, size=9000, dtype=np.int32)]
    slow = literal.svrg_sbb(STE(), *given(comparisons), RIDGE, start(), picks, 1e-4, 0.005)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("columns", [3, 4])
def test_sgd_is_the_literal_one(loss, columns):
    comparisons = some_comparisons(columns, weighted=True)
    fast, _ = solve(SGD(step_size=0.01, decay=0.5), comparisons, loss, REGULARIZATION)
    random = np.random.default_rng(5)
    picks = [random.integers(len(comparisons), size=len(comparisons), dtype=np.int32) for _ in range(2)]
    slow = literal.sgd(loss, *given(comparisons), RIDGE, start(), picks, 0.01, 0.5)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_batch_is_the_rule_of_the_toolbox(loss):
    comparisons = some_comparisons(weighted=True)
    fast, monitor = solve(Batch(), comparisons, loss, REGULARIZATION, epochs=8)
    slow = literal.toolbox_batch(loss, *given(comparisons), RIDGE, start(), epochs=8)
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-8)
    assert len({record["step_size"] for record in monitor.history}) > 1


def test_batch_starts_where_it_is_told():
    _, monitor = solve(Batch(initial_step_size=0.05), some_comparisons(), STE(), epochs=2)
    assert [record["step_size"] for record in monitor.history] == pytest.approx([0.05, 0.0505, 0.051005])


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
@pytest.mark.parametrize("epsilon", [0.005, 0.5])
def test_the_step_is_formula_8_and_keeps_the_bounds_9(loss, epsilon):
    comparisons, seen, steps = some_comparisons(), [], 40
    rows, weights = given(comparisons)
    solver = SVRG(epsilon=epsilon, initial_step_size=0.02, inner_steps=steps)
    _, monitor = solve(
        solver, comparisons, loss, epochs=6, callback=lambda r: seen.append(r["points"].copy()) and None
    )
    gradients = [literal.full_gradient(loss, rows, weights, 0.0, X) for X in seen]
    for s in range(1, len(seen)):
        moved, turned = seen[s] - seen[s - 1], gradients[s] - gradients[s - 1]
        step = monitor.history[s]["step_size"]
        assert step == pytest.approx(literal.sbb_step(moved, turned, steps, epsilon), rel=1e-6)
        lipschitz = max(
            np.linalg.norm(hessian(loss, rows, weights, seen[s - 1] + share * moved), 2)
            for share in (0.0, 0.5, 1.0)
        )
        assert 1 / (steps * (lipschitz * 1.01 + epsilon)) <= step <= 1 / (steps * epsilon)


def hessian(loss, rows, weights, X, h=1e-5):
    columns = []
    for c in range(X.size):
        nudge = np.zeros(X.size)
        nudge[c] = h
        nudge = nudge.reshape(X.shape)
        up, down = (literal.full_gradient(loss, rows, weights, 0.0, X + sign * nudge) for sign in (1, -1))
        columns.append(((up - down) / (2 * h)).ravel())
    return np.array(columns)


@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_the_squared_gradient_falls_with_the_epochs_as_theorem_1_says(loss):
    """(12) bounds the mean over all iterates by a constant over the epochs: their sum must stay bounded."""
    comparisons = some_comparisons(n=60)
    squares = []

    def watch(record):
        with CPUProblem(comparisons, loss, REGULARIZATION, 1, np.random.default_rng()) as problem:
            squares.append(np.sum(problem.value_and_gradient(record["points"])[1] ** 2))

    solve(SVRG(epsilon=0.05, inner_steps=60), comparisons, loss, REGULARIZATION, epochs=80, callback=watch)
    total = np.cumsum(squares)
    assert total[-1] <= 1.05 * total[20]
    assert total[-1] / 80 <= total[10] / 10 / 4


def test_the_random_output_is_closer_to_a_stationary_point_after_more_epochs():
    def gradient_square(epochs, seed):
        solver = SVRG(epsilon=0.05, inner_steps=60, output="random")
        end, _ = solve(solver, some_comparisons(n=60), STE(), REGULARIZATION, epochs, seed=seed)
        with CPUProblem(some_comparisons(n=60), STE(), REGULARIZATION, 1, np.random.default_rng()) as problem:
            return np.sum(problem.value_and_gradient(end)[1] ** 2)

    few, many = (np.mean([gradient_square(epochs, seed) for seed in range(30)]) for epochs in (3, 60))
    assert many < few / 4


class Tagged(Problem):
    """A problem that only records which iterate was asked for."""

    n_rows = 10
    energies = mentioned = None

    def __init__(self, seed):
        super().__init__(None, 0.0, 1, np.random.default_rng(seed))
        self.epoch = 0

    def value_and_gradient(self, points):
        return 1.0 / (1 + self.epoch), points

    def svrg_run(self, points, gradient, step_size, steps, batch_size, stop_at):
        self.epoch += 1
        return points * 0.5, np.full(1, (self.epoch - 1) * steps + stop_at - 1.0)


def test_the_random_output_is_uniform_over_all_iterates():
    drawn = []
    for seed in range(3000):
        monitor = Monitor(max_iter=4, tol=-np.inf)
        drawn.append(
            SVRG(epsilon=0.0, inner_steps=5, output="random").solve(Tagged(seed), np.ones(1), monitor).solution[0]
        )
    counts = np.bincount(np.array(drawn, dtype=int), minlength=20)
    assert len(counts) == 20
    assert np.abs(counts - 150).max() < 5 * np.sqrt(150)


def test_an_objective_that_rises_sends_the_default_back():
    solver = SVRG(initial_step_size=50.0)
    _, monitor = solve(solver, some_comparisons(), STE(), REGULARIZATION, epochs=30)
    losses = [record["loss"] for record in monitor.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("columns", [3, 4])
def test_every_solver_lowers_every_loss(loss, name, columns):
    comparisons = some_comparisons(columns, weighted=True, n=200)
    _, monitor = solve(as_solver(name, SOLVERS), comparisons, loss, REGULARIZATION, epochs=15)
    first, last = (monitor.history[place]["loss"] for place in (0, -1))
    _, best = solve(LBFGS(), comparisons, loss, REGULARIZATION, epochs=300)
    assert first - last > 0.5 * (first - best.history[-1]["loss"])  # most of what there is to gain


def test_smooth_losses_end_where_lbfgs_ends():
    """From the same start in a problem with one minimum up to rotation, the objective is the same."""
    comparisons = some_comparisons(n=300)
    values = [
        solve(s, comparisons, STE(), REGULARIZATION, epochs=400)[1].history[-1]["loss"] for s in (SVRG(), LBFGS())
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_same_seed_and_threads_give_the_same_points(name, n_jobs):
    ends = [
        solve(as_solver(name, SOLVERS), some_comparisons(n=500), STE(), 0.1, 3, n_jobs=n_jobs)[0] for _ in range(2)
    ]
    np.testing.assert_array_equal(*ends)


def test_threads_change_the_sums_by_rounding_only():
    values = []
    for n_jobs in (1, 3):
        with CPUProblem(some_comparisons(n=500), STE(), 0.1, n_jobs, np.random.default_rng()) as problem:
            values.append(problem.value_and_gradient(start())[1])
    np.testing.assert_allclose(*values, atol=1e-14)


@pytest.mark.parametrize("name", SOLVERS)
def test_float32_stays_float32_and_agrees(name):
    single, _ = solve(as_solver(name, SOLVERS), some_comparisons(n=200), STE(), 0.1, 2, dtype=np.float32)
    double, _ = solve(as_solver(name, SOLVERS), some_comparisons(n=200), STE(), 0.1, 2)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=5e-5)


@pytest.mark.parametrize(
    ("solver", "word"),
    [
        (SVRG(step_size="bb"), "step_size"),
        (SVRG(step_size=-1.0), "step_size"),
        (SVRG(epsilon=-0.1), "epsilon"),
        (SVRG(output="mean"), "output"),
        (SVRG(batch_size=0), "batch_size"),
        (SVRG(inner_steps=2.5), "inner_steps"),
        (SVRG(initial_step_size=0.0), "initial_step_size"),
        (SGD(step_size=0.0), "step_size"),
        (SGD(decay=-1.0), "decay"),
        (Batch(step_size="armijo"), "step_size"),
        (LBFGS(memory=0), "memory"),
    ],
)
def test_a_wrong_parameter_is_named(solver, word):
    with pytest.raises(ValueError, match=f"{type(solver).__name__}'s {word} must be"):
        solve(solver, some_comparisons(), STE())


@pytest.mark.parametrize("wrong", ["adam", SVRG, None])
def test_an_unknown_solver_is_refused_with_the_known_ones(wrong):
    with pytest.raises(ValueError, match=", ".join(map(repr, sorted(SOLVERS)))):
        as_solver(wrong, SOLVERS)


def test_evaluations_are_counted_as_the_paper_counts_them():
    _, monitor = solve(SVRG(), some_comparisons(), STE(), epochs=3)
    spent = np.diff([record["gradient_evaluations"] for record in monitor.history])
    assert (spent == 40 + 2 * 40).all()
    _, monitor = solve(SGD(step_size=0.01), some_comparisons(), STE(), epochs=3)
    assert [record["gradient_evaluations"] for record in monitor.history] == [0, 40, 80, 120]
    _, monitor = solve(SGD(), some_comparisons(), STE(), epochs=1)
    assert [record["gradient_evaluations"] for record in monitor.history] == [80, 120]  # a gradient and a probe


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_random_iterate_is_one_of_a_thread_and_no_mean(n_jobs):
    answers, points = some_comparisons(), start()
    with CPUProblem(answers, STE(), 0.0, n_jobs, np.random.default_rng(1)) as problem:
        _, gradient = problem.value_and_gradient(points)
        _, middle = problem.svrg_run(points, gradient, 0.1, 20, stop_at=2)
    # The first step is along the full gradient; the second differs from that for the objects of one comparison.
    differs = np.abs(middle - (points - 0.2 * gradient)).max(axis=1) > 1e-12
    assert differs.sum() == 3
