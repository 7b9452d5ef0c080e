"""SDCA is Algorithm 1 whatever the table, its gap is a proof, and what the paper claims of it holds."""

import literal_similarity as literal
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_similarity import problem, tables
from scipy.optimize import minimize
from scipy.sparse import csr_array

from nearer.monitor import Monitor
from nearer.psd import project_psd
from nearer.similarity import SDCA
from nearer.similarity.problem import Problem, duality_gap
from nearer.similarity.sdca import Ascent, DualLBFGS
from nearer.similarity.triplets import Triplets
from nearer.simulate import comparisons_from_labels

RIDGE = 0.05


def sdca(triplets, ridge, output, monitor, random, start=None):
    return SDCA(output).solve(Problem(triplets, ridge, random=random), start, monitor).solution


def constrained(triplets, ridge, monitor):
    return DualLBFGS().solve(Problem(triplets, ridge, psd=True), None, monitor).solution


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("d", [1, 3, 20, 79, 80, 130])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_are_those_of_algorithm_1(kind, d, weighted):
    X, rows = problem(d, sparse=kind == "sparse")
    random = np.random.default_rng(1)
    weights = random.random(len(rows)) + 0.1 if weighted else None
    shares = None if weights is None else weights / weights.sum()
    picks = random.integers(len(rows), size=300, dtype=np.int32)
    Ms, alphas = literal.sdca(X, rows, RIDGE, picks, shares)
    ascent = Ascent(Triplets(tables(X)[kind], rows, weights), RIDGE)
    ascent.ascend(picks[:130])
    np.testing.assert_allclose(ascent.matrix, Ms[130], atol=1e-12)
    ascent.begin_average()
    ascent.ascend(picks[130:])
    np.testing.assert_allclose(ascent.matrix, Ms[-1], atol=1e-12)
    np.testing.assert_allclose(ascent.alpha, alphas[-1], atol=1e-12)
    # The average of the paper is of Mᵗ⁻¹ for t = T₀ + 1, …, T.
    np.testing.assert_allclose(ascent.average(), np.mean(alphas[130:-1], axis=0), atol=1e-12)
    np.testing.assert_allclose(
        Problem(ascent.triplets, RIDGE).matrix(ascent.average()), np.mean(Ms[130:-1], axis=0), atol=1e-12
    )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_triplets_give_scores_matrices_and_norms(kind):
    X, rows = problem(7, sparse=True)
    triplets = Triplets(tables(X)[kind], rows)
    M = np.random.default_rng(2).normal(size=(7, 7))
    c = np.random.default_rng(3).normal(size=len(rows))
    matrices = [np.outer(*literal.parts(X, row)) for row in rows]
    np.testing.assert_allclose(triplets.scores(M), literal.scores(X, rows, M), atol=1e-12)
    np.testing.assert_allclose(triplets.matrix(c), np.tensordot(c, matrices, 1), atol=1e-12)
    np.testing.assert_allclose(triplets.squares, [(V**2).sum() for V in matrices], atol=1e-12)
    symmetric = [(((V + V.T) / 2) ** 2).sum() for V in matrices]
    np.testing.assert_allclose(triplets.symmetric_squares, symmetric, atol=1e-12)


@given(st.integers(0, 10_000), st.floats(1e-4, 10), st.integers(1, 6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_gap_is_primal_minus_dual_and_never_negative(seed, ridge, d, weighted):
    X, rows = problem(d, seed=seed)
    random = np.random.default_rng(seed)
    weights = random.random(len(rows)) + 0.01 if weighted else None
    triplets = Triplets(X, rows, weights)
    ascent = Ascent(triplets, ridge)
    ascent.ascend(random.integers(len(rows), size=int(random.integers(1, 2000)), dtype=np.int32))
    M = Problem(triplets, ridge).matrix(ascent.alpha)
    gap = duality_gap(triplets.shares, ascent.alpha, triplets.scores(M))
    P = literal.primal(X, rows, M, ridge, triplets.shares)
    D = literal.dual(X, rows, ascent.alpha, ridge, triplets.shares)
    assert gap >= 0
    assert -1e-12 * max(1, P) <= P - D
    assert gap == pytest.approx(P - D, abs=1e-9 * max(1, P))


def test_the_gap_falls_linearly():
    X, rows = problem(10, n=500, n_objects=60)
    monitor = Monitor(60, 0.0)
    sdca(Triplets(X, rows), 0.01, "last", monitor, np.random.default_rng(0))
    gaps = np.array([record["gap"] for record in monitor.history[3:]])
    gaps = gaps[gaps > 1e-20]
    epochs = np.arange(len(gaps))
    slope, intercept = np.polyfit(epochs, np.log(gaps), 1)
    left = np.log(gaps) - (slope * epochs + intercept)
    assert len(gaps) > 30
    assert slope < -0.2
    assert 1 - left.var() / np.log(gaps).var() > 0.98


@pytest.mark.parametrize("ridge", [0.02, 0.2])
def test_theorem_1_counts_enough_steps(ridge):
    X, rows = problem(4, n=60)
    triplets, n = Triplets(X, rows), len(rows)
    size = n + 2 * triplets.squares.max() / ridge  # the loss is 2‖X‖²-smooth
    for wanted in (1e-1, 1e-3, 1e-5):
        steps = int(np.ceil(size * np.log(size / wanted)))
        gaps = []
        for seed in range(20):
            ascent = Ascent(triplets, ridge)
            ascent.ascend(np.random.default_rng(seed).integers(n, size=steps, dtype=np.int32))
            gaps.append(duality_gap(triplets.shares, ascent.alpha, triplets.scores(ascent.matrix)))
        assert np.mean(gaps) <= wanted
        # (13): the average over steps beyond T₀, as many again as one size.
        more = int(np.ceil(size))
        first = int(np.ceil(max(0.0, size * np.log(size / (more * wanted)))))
        averaged = []
        for seed in range(20):
            picks = np.random.default_rng(seed).integers(n, size=first + more, dtype=np.int32)
            ascent = Ascent(triplets, ridge)
            ascent.ascend(picks[:first])
            ascent.begin_average()
            ascent.ascend(picks[first:])
            alpha = ascent.average()
            averaged.append(
                duality_gap(triplets.shares, alpha, triplets.scores(Problem(triplets, ridge).matrix(alpha)))
            )
        assert np.mean(averaged) <= wanted


def test_the_solution_is_that_of_a_generic_solver():
    X, rows = problem(5, n=80)
    x, z = X[rows[:, 0]], X[rows[:, 1]] - X[rows[:, 2]]

    def objective(flat):
        M = flat.reshape(5, 5)
        short = np.maximum(0, 1 - np.einsum("ni,ij,nj->n", x, M, z))
        slope = -2 * np.einsum("n,ni,nj->ij", short, x, z) / len(rows) + RIDGE * M
        return (short**2).mean() + RIDGE / 2 * (M**2).sum(), slope.ravel()

    best = minimize(objective, np.zeros(25), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12})
    monitor = Monitor(2000, 1e-14)
    found = sdca(Triplets(X, rows), RIDGE, "last", monitor, np.random.default_rng(0))
    np.testing.assert_allclose(found.matrix.ravel(), best.x, atol=1e-6)
    assert found.gap <= 1e-14
    # ‖M - M*‖² ≤ 2 gap / λ along the way.
    early = sdca(Triplets(X, rows), RIDGE, "last", Monitor(3, 0.0), np.random.default_rng(0))
    assert np.square(early.matrix.ravel() - best.x).sum() <= 2 * early.gap / RIDGE


@pytest.mark.parametrize("epochs", [1, 4, 5])
def test_three_outputs(epochs):
    X, rows = problem(3, n=20)
    n = len(rows)

    def run(output):
        seen = {}

        class Recording(np.random.Generator):
            def integers(self, *args, **kwargs):
                made = super().integers(*args, **kwargs)
                seen.setdefault("calls", []).append(made)
                return made

        random = Recording(np.random.PCG64(7))
        found = sdca(Triplets(X, rows), RIDGE, output, Monitor(epochs, 0.0), random)
        picks = np.concatenate([np.atleast_1d(call) for call in seen["calls"][1:]])
        return found, *literal.sdca(X, rows, RIDGE, picks), int(seen["calls"][0])

    half = epochs * n // 2
    found, Ms, _, _ = run("last")
    assert len(Ms) == epochs * n + 1
    np.testing.assert_allclose(found.matrix, Ms[-1], atol=1e-12)
    found, Ms, _, _ = run("average")
    np.testing.assert_allclose(found.matrix, np.mean(Ms[half:-1], axis=0), atol=1e-12)
    found, Ms, _, drawn = run("random")
    np.testing.assert_allclose(found.matrix, Ms[half + 1 + drawn], atol=1e-12)


def test_every_output_carries_its_own_gap():
    X, rows = problem(4, n=50)
    for output in ("last", "average", "random"):
        found = sdca(Triplets(X, rows), RIDGE, output, Monitor(4, 0.0), np.random.default_rng(0))
        gap = literal.primal(X, rows, found.matrix, RIDGE) - literal.dual(X, rows, found.alpha, RIDGE)
        assert found.gap == pytest.approx(gap, abs=1e-12)


def test_from_dual_variables_of_another_ridge_it_goes_on():
    X, rows = problem(4, n=50)
    triplets = Triplets(X, rows)
    first = sdca(triplets, 0.2, "last", Monitor(50, 1e-8), np.random.default_rng(0))
    monitor, cold = Monitor(50, 1e-8), Monitor(50, 1e-8)
    warm = sdca(triplets, 0.15, "last", monitor, np.random.default_rng(0), first.alpha)
    other = sdca(triplets, 0.15, "last", cold, np.random.default_rng(0))
    np.testing.assert_allclose(warm.matrix, other.matrix, atol=1e-3)
    assert monitor.history[0]["gap"] < cold.history[0]["gap"]


def test_the_constrained_solution_is_that_of_projected_gradients():
    X, rows = problem(4, n=60)
    x, z = X[rows[:, 0]], X[rows[:, 1]] - X[rows[:, 2]]
    M = np.zeros((4, 4))
    for _ in range(20_000):
        short = np.maximum(0, 1 - np.einsum("ni,ij,nj->n", x, M, z))
        M = literal.positive_part(M - 0.05 * (-2 * np.einsum("n,ni,nj->ij", short, x, z) / len(rows) + RIDGE * M))
    monitor = Monitor(1000, 1e-13)
    found = constrained(Triplets(X, rows), RIDGE, monitor)
    assert found.gap <= 1e-12
    np.testing.assert_allclose(found.matrix, M, atol=1e-6)
    assert np.linalg.eigvalsh(found.matrix)[0] >= -1e-12
    assert all(record["gap"] >= 0 for record in monitor.history)
    D = np.mean(found.alpha - found.alpha**2 / 4) - RIDGE / 2 * (found.matrix**2).sum()
    assert literal.primal(X, rows, found.matrix, RIDGE) - D == pytest.approx(found.gap, abs=1e-12)


def test_projecting_at_the_end_is_wrong(data_set):
    X, y, *_ = data_set("vehicle")
    X = 2 * (X - X.min(0)) / np.ptp(X, axis=0) - 1
    triplets = Triplets(X, comparisons_from_labels(y, 10_000, random_state=0).rows)
    ridge = 0.0025

    def objective(M):
        loss = np.square(np.maximum(0, 1 - triplets.scores(M))).mean()
        return loss + ridge / 2 * (M**2).sum()

    free = sdca(triplets, ridge, "last", Monitor(100, 1e-4), np.random.default_rng(0))
    kept = constrained(triplets, ridge, Monitor(200, 1e-4))
    assert objective(project_psd(free.matrix)) > 1.0  # worse than M = 0
    assert objective(kept.matrix) < 0.7
    assert objective(free.matrix) < objective(kept.matrix)


def test_compressed_triplets_are_the_same_where_the_axes_hold_all():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 50)) @ random.normal(size=(50, 500))
    rows = random.permuted(np.tile(np.arange(300), (1000, 1)), axis=1)[:, :3]
    triplets = Triplets(X, rows, random.random(1000) + 0.1)
    small = triplets.compressed
    assert small.n_features == 256
    np.testing.assert_allclose(small.squares, triplets.squares)
    np.testing.assert_array_equal(small.shares, triplets.shares)
    alpha = random.random(1000)
    gaps = [Problem(part, 1e3).evaluate(Problem(part, 1e3).matrix(alpha), alpha) for part in (triplets, small)]
    assert gaps[0] == pytest.approx(gaps[1])
    few = Triplets(X[:20], rows[:50] % 20)
    assert few.compressed.n_features == 20
    narrow = Triplets(X[:, :399], rows)
    assert narrow.compressed is narrow
    sparse = Triplets(csr_array(X), rows)
    assert sparse.compressed is sparse


def test_lbfgs_over_the_dual_finds_the_optimum_without_the_constraint_too():
    X, rows = problem(7)
    triplets = Triplets(X, rows)
    monitor = Monitor(max_iter=500, tol=1e-9)
    found = DualLBFGS().solve(Problem(triplets, RIDGE), None, monitor).solution
    exact = sdca(triplets, RIDGE, "last", Monitor(max_iter=2000, tol=1e-12), np.random.default_rng(0))
    assert found.gap <= 1e-9
    np.testing.assert_allclose(found.matrix, exact.matrix, atol=1e-3)
    np.testing.assert_allclose(Problem(triplets, RIDGE).matrix(found.alpha), found.matrix)
