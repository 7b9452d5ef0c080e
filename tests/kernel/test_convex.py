"""The convex programs: problem, cone and solver against literal references, and the optimum against its proof."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_convex import Softplus, gradient, objective, projection
from scipy.optimize import linprog, minimize

from nearer import Comparisons
from nearer.certificate import smallest_eigenpair
from nearer.kernel.comparison_kernel import equidistant_points
from nearer.kernel.convex import KernelProblem, SmoothHinge
from nearer.kernel.predict import kernel_distances
from nearer.kernel.solver import ProximalLBFGS, proximal_step
from nearer.losses import CKL, GNMDS, STE, baseline_loss
from nearer.monitor import Monitor
from nearer.psd import psd_points
from nearer.simulate import comparisons_from_points


def some_rows(n, m, width=3, seed=0):
    random = np.random.default_rng(seed)
    rows = np.array([random.permutation(n)[:width] for _ in range(m)])
    return Comparisons(rows, n_objects=n, weights=random.uniform(0.1, 2, m))


def some_kernel(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n))
    return X @ X.T / n


def solved(answers, loss, ridge, tol=1e-8, max_iter=400):
    problem, monitor = KernelProblem(answers, loss, ridge), Monitor(max_iter, tol * baseline_loss(loss))
    result = ProximalLBFGS().solve(problem, equidistant_points(answers), monitor)
    return problem, result.solution, result


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("loss", [STE(), CKL(), GNMDS(margin=0.7), Softplus()])
def test_value_and_gradient_are_the_literal_ones(loss, width):
    answers, K = some_rows(7, 30, width), some_kernel(7)
    problem = KernelProblem(answers, loss, 0.3)
    wanted = gradient(loss, answers.rows, answers.weights, 0.3, K)
    slopes = loss.slopes(*kernel_distances(K, answers.rows))
    np.testing.assert_allclose(problem.gradient(*slopes) + 0.3 / 7 * np.eye(7), wanted, atol=1e-13)
    literal = objective(loss, answers.rows, answers.weights, 0.3, K)
    assert problem.objective(K) == pytest.approx(literal, rel=1e-12)
    if not isinstance(loss, GNMDS):
        value, slope = problem.value_and_gradient(K)
        assert value + 0.3 / 7 * np.trace(K) == pytest.approx(literal, rel=1e-12)
        np.testing.assert_allclose(slope + 0.3 / 7 * np.eye(7), wanted, atol=1e-13)


@pytest.mark.parametrize("loss", [STE(), CKL(), GNMDS()])
def test_the_gradient_is_that_of_finite_differences(loss):
    answers, K = some_rows(6, 40, 4), some_kernel(6)
    problem = KernelProblem(answers, loss, 0.1, multipliers=np.random.default_rng(1).random(40))
    _, slope = problem.value_and_gradient(K)
    np.testing.assert_array_equal(slope, slope.T)
    for seed in range(3):
        way = np.random.default_rng(seed).normal(size=(6, 6))
        way = way + way.T
        difference = (problem.value(K + 1e-6 * way) - problem.value(K - 1e-6 * way)) / 2e-6
        assert np.vdot(slope, way) == pytest.approx(difference, rel=1e-6, abs=1e-8)


def test_the_smooth_hinge_is_below_the_hinge_and_meets_it_at_its_multipliers():
    short = np.linspace(-3, 3, 61)
    near, far = np.maximum(short, 0), np.maximum(-short, 0)
    hinge = GNMDS().value(near, far)
    smooth = SmoothHinge(GNMDS(), np.full(61, 0.4))
    assert (smooth.value_and_slopes(near, far)[0] <= hinge + 1e-15).all()
    settled = SmoothHinge(GNMDS(), GNMDS().slopes(near, far)[0])
    np.testing.assert_allclose(settled.value_and_slopes(near, far)[0], hinge, atol=1e-15)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**16), st.floats(0, 3))  # scipy 1.11 fails on one number
def test_the_projection_is_the_literal_one_whichever_way_it_is_found(n, seed, threshold):
    matrix = np.random.default_rng(seed).normal(size=(n, n))
    matrix = matrix + matrix.T
    for expected_rank in (None, 0, n):
        points = psd_points(matrix, threshold, expected_rank)
        np.testing.assert_allclose(points @ points.T, projection(matrix - threshold * np.eye(n)), atol=1e-10)


def test_few_eigenvalues_equal_all_of_them():
    random = np.random.default_rng(0)
    X, noise = random.normal(size=(120, 4)), random.normal(size=(120, 120))
    matrix = X @ X.T + 0.1 * (noise + noise.T)
    for threshold in (0.0, 5.0, 1e4):
        few, all_of_them = (psd_points(matrix, threshold, rank) for rank in (3, 120))
        assert few.shape == all_of_them.shape
        np.testing.assert_allclose(few @ few.T, all_of_them @ all_of_them.T, atol=1e-9)


@pytest.mark.parametrize(("loss", "tol"), [(STE(), 1e-7), (GNMDS(), 1e-6), (GNMDS(margin=3.0), 1e-6)])
@pytest.mark.parametrize("width", [3, 4])
def test_the_optimum_meets_the_conditions_of_karush_kuhn_and_tucker(loss, tol, width):
    answers = some_rows(12, 150, width)
    problem, found, result = solved(answers, loss, 0.05, tol)
    assert result.converged
    K, n = found.kernel, 12
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    near, far = kernel_distances(K, answers.rows)
    lines = problem.smooth.lines(near, far)
    S = problem.gradient(lines.near_slope, lines.far_slope) + problem.ridge * np.eye(n)
    assert np.linalg.eigvalsh(S)[0] > -1e-4 * problem.ridge
    assert abs(np.vdot(S, K)) < 1e-5 * baseline_loss(loss)
    if isinstance(loss, GNMDS):  # multipliers: 1 beyond the hinge, 0 before it, between at it
        short = loss.margin + near - far
        assert (np.abs(short[(lines.near_slope > 0.01) & (lines.near_slope < 0.99)]) < 0.02 * loss.margin).all()
        assert (lines.near_slope[short > 0.05 * loss.margin] > 0.99).all()
        assert (lines.near_slope[short < -0.05 * loss.margin] < 0.01).all()


def test_the_optimum_of_ste_is_that_of_points_of_all_dimensions():
    answers = some_rows(8, 60)
    _, found, _ = solved(answers, STE(), 0.02)

    def over_points(flat):
        X = flat.reshape(8, 8)
        K = X @ X.T
        slope = gradient(STE(), answers.rows, answers.weights, 0.02, K)
        return objective(STE(), answers.rows, answers.weights, 0.02, K), (2 * slope @ X).ravel()

    how = {"maxiter": 5000, "maxfun": 5000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.random.default_rng(0).normal(size=64)
    best = minimize(over_points, start, jac=True, method="L-BFGS-B", options=how)
    assert found.objective == pytest.approx(best.fun, abs=1e-7)
    K = best.x.reshape(8, 8) @ best.x.reshape(8, 8).T
    np.testing.assert_allclose(found.kernel, K - K.mean(0) - K.mean(0)[:, None] + K.mean(), atol=2e-2)


def test_the_optimum_of_the_hinge_is_that_of_cutting_planes():
    """A linear program over symmetric K, with a cut vᵀKv >= 0 for each negative eigenvector: from below."""
    answers, n, ridge = some_rows(6, 30), 6, 0.1
    _, found, _ = solved(answers, GNMDS(), ridge, tol=1e-7)
    upper = np.triu_indices(n)

    def flat(matrix):  # <matrix, K> as a row over the upper triangle of K
        return (matrix + np.triu(matrix, 1))[upper] if np.allclose(matrix, matrix.T) else None

    share, rows, eye = answers.weights / answers.weights.sum(), answers.rows, np.eye(n)
    lines = []
    for a, b, c in rows:
        difference = np.outer(eye[a] - eye[b], eye[a] - eye[b]) - np.outer(eye[a] - eye[c], eye[a] - eye[c])
        lines.append(flat(difference))
    cost = np.concatenate([flat(ridge / n * eye), share])
    above_hinge = np.hstack([np.array(lines), -np.eye(len(rows))])  # <A, K> - s <= -1
    cuts = [np.outer(e, e) for e in eye]
    for _ in range(300):
        positive = np.array([np.concatenate([-flat(cut), np.zeros(len(rows))]) for cut in cuts])
        bounds = [(-100, 100)] * len(upper[0]) + [(0, None)] * len(rows)
        limits = np.concatenate([-np.ones(len(rows)), np.zeros(len(cuts))])
        least = linprog(cost, np.vstack([above_hinge, positive]), limits, bounds=bounds)
        K = np.zeros((n, n))
        K[upper] = least.x[: len(upper[0])]
        K = K + np.triu(K, 1).T
        values, vectors = np.linalg.eigh(K)
        if values[0] > -1e-9 or found.objective - least.fun < 1e-5:
            break
        cuts += [np.outer(v, v) for value, v in zip(values, vectors.T, strict=True) if value < -1e-9]
    assert -1e-7 < found.objective - least.fun < 2e-5


@pytest.mark.parametrize("loss", [STE(), GNMDS()])
def test_the_gap_is_an_upper_bound_and_goes_to_zero(loss):
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 3)), 600, random_state=0)
    _, best, result = solved(answers, loss, 0.03)
    for record in result.history:
        assert record["gap"] >= record["loss"] - best.objective - 1e-12
    assert result.converged
    assert result.history[-1]["gap"] <= 1e-8
    losses = [record["loss"] for record in result.history]
    assert losses == sorted(losses, reverse=True)


def test_a_strong_ridge_leaves_nothing_and_that_is_the_optimum():
    for loss in (STE(), GNMDS()):
        _, found, result = solved(some_rows(10, 50), loss, 100.0)
        assert result.converged
        assert np.abs(found.kernel).max() < 1e-6


def test_without_a_ridge_or_convexity_the_point_is_stationary():
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(15, 2)), 400, random_state=0)
    for loss, ridge in ((CKL(), 0.01), (STE(), 0.0), (GNMDS(), 0.0)):
        noisy = answers.flip(0.2, random_state=0)
        problem, found, result = solved(noisy, loss, ridge, tol=1e-5)
        assert result.converged
        assert found.gap is None
        assert "residual" in result.history[-1]
        _, _, left = proximal_step(problem, found.points, found.kernel, 1.0)
        assert left < 1e-2 * baseline_loss(loss)
        assert smallest_eigenpair(found.kernel)[0] > -1e-10


def test_answers_without_errors_are_met_by_the_hinge_without_a_ridge():
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(12, 2)), 300, random_state=0)
    _, found, _ = solved(answers, GNMDS(), 0.0, tol=1e-6)
    assert found.objective < 1e-4


def test_warm_starts_lead_to_the_same_optimum():
    answers = some_rows(10, 120)
    _, far_off, _ = solved(answers, GNMDS(), 0.5)
    _, cold, _ = solved(answers, GNMDS(), 0.02)
    problem = KernelProblem(answers, GNMDS(), 0.02, far_off.multipliers)
    warm = ProximalLBFGS().solve(problem, far_off.points, Monitor(400, 1e-7))
    assert warm.converged
    assert warm.solution.objective == pytest.approx(cold.objective, abs=1e-7)
