"""The certificate: a lower bound of every kernel's objective, from tangents of a convex loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearer import ComparisonKernel, Comparisons
from nearer.certificate import certify, hinge_lines, laplacian, lower_bound, smallest_eigenpair, tangents
from nearer.comparisons.rows import squared_distances
from nearer.losses import CKL, GNMDS, STE, TSTE
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(20, 3))
ANSWERS = comparisons_from_points(POINTS, 800, random_state=0).flip(0.1, random_state=0)


def centre(points):
    return points - points.mean(axis=0)


def objective(points, answers, loss, ridge):
    values = loss.value(*squared_distances(points, answers.rows))
    return np.average(values, weights=answers.weights) + ridge * np.sum(points**2) / len(points)


def factor(kernel):
    values, vectors = np.linalg.eigh(kernel)
    return vectors * np.sqrt(np.maximum(values, 0))


@pytest.fixture(scope="module")
def optima():
    return {
        name: ComparisonKernel(name, regularization=0.05, tol=1e-7, max_iter=400).fit(ANSWERS)
        for name in ("ste", "gnmds")
    }


@pytest.mark.parametrize("loss", [STE(), GNMDS()])
def test_the_bound_holds_for_every_map_and_is_tight_at_the_optimum(loss, optima):
    best = optima[type(loss).__name__.lower()]
    random = np.random.default_rng(1)
    for scale in (0.0, 0.1, 1.0, 3.0):
        X = centre(scale * random.normal(size=(20, 2)))
        bound = certify(X, ANSWERS, loss, 0.05)
        assert bound.lower_bound <= best.objective_
        excess = objective(X, ANSWERS, loss, 0.05) - best.objective_
        assert bound.excess >= excess
        assert bound.excess == pytest.approx(objective(X, ANSWERS, loss, 0.05) - bound.lower_bound)
    at_best = certify(factor(best.kernel_), ANSWERS, loss, 0.05)
    assert at_best.excess < 1e-3
    assert at_best.eigenvalue > -1e-2 * 0.05 / 20


def test_it_is_no_looser_than_the_textbooks_bound():
    for scale in (0.3, 1.0, 2.0):
        X = centre(scale * POINTS)
        near, far = squared_distances(X, ANSWERS.rows)
        slopes = STE().slopes(near, far)
        S = laplacian(ANSWERS.rows, slopes[0] / 800, slopes[1] / 800, 20).toarray() + 0.05 / 20 * np.eye(20)
        mu = np.linalg.eigvalsh(S)[0]
        value = objective(X, ANSWERS, STE(), 0.05)
        textbook = np.vdot(S, X @ X.T) + max(0, -mu) * 20 * value / 0.05
        bound = certify(X, ANSWERS, STE(), 0.05)
        assert bound.excess <= textbook + 1e-12
        assert bound.eigenvalue == pytest.approx(mu, abs=1e-12)


def test_the_direction_leads_down():
    X = centre(POINTS[:, :1])
    bound = certify(X, ANSWERS, STE(), 0.05)
    assert bound.eigenvalue < 0
    assert np.linalg.norm(bound.direction) == pytest.approx(1)
    wider = np.column_stack([X, 1e-3 * bound.direction])
    fall = objective(X, ANSWERS, STE(), 0.05) - objective(wider, ANSWERS, STE(), 0.05)
    assert fall == pytest.approx(-1e-6 * bound.eigenvalue, rel=1e-2)


def test_ones_own_lines_are_used_and_a_better_map_of_the_hinge_has_a_better_bound(optima):
    X = factor(optima["gnmds"].kernel_)
    short = 1.0 + np.subtract(*squared_distances(X, ANSWERS.rows))
    plain = certify(X, ANSWERS, GNMDS(), 0.05, lines=hinge_lines((short > 0).astype(float), 1.0))
    assert certify(X, ANSWERS, GNMDS(), 0.05).excess < 0.1 * plain.excess


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**16), st.floats(0.01, 1), st.integers(3, 4))
def test_no_kernel_is_below_the_bound(seed, ridge, width):
    random = np.random.default_rng(seed)
    rows = np.array([random.permutation(6)[:width] for _ in range(20)])
    answers = Comparisons(rows, n_objects=6, weights=random.uniform(0.1, 2, 20))
    for loss in (STE(), GNMDS()):
        bound = certify(random.normal(size=(6, 2)), answers, loss, ridge)
        for scale in (0.0, 0.3, 1.0, 3.0):
            other = centre(scale * random.normal(size=(6, 6)))
            assert objective(other, answers, loss, ridge) >= bound.lower_bound - 1e-12


@settings(max_examples=50, deadline=None)
@given(*[st.floats(0, 20)] * 4)
def test_tangents_lie_below(near, far, other_near, other_far):
    for loss in (STE(), GNMDS()):
        line = tangents(loss, np.array([near]), np.array([far]))
        there = line.height + line.near_slope * other_near + line.far_slope * other_far
        assert there <= loss.value(other_near, other_far) + 1e-12


def test_the_laplacian_is_the_literal_sum():
    for width in (3, 4):
        rows = np.array([[0, 1, 2, 3], [4, 0, 1, 3], [2, 3, 4, 0]])[:, :width]
        near, far = np.array([1.0, 2.0, 3.0]), np.array([-0.5, 0.0, 7.0])
        wanted = np.zeros((5, 5))
        for row, s, t in zip(rows, near, far, strict=True):
            second = 0 if width == 3 else 2
            for i, j, slope in ((row[0], row[1], s), (row[second], row[-1], t)):
                apart = np.eye(5)[i] - np.eye(5)[j]
                wanted += slope * np.outer(apart, apart)
        np.testing.assert_allclose(laplacian(rows, near, far, 5).toarray(), wanted, atol=1e-15)


def test_the_smallest_eigenvalue_is_bounded_from_below():
    matrix = np.random.default_rng(0).normal(size=(50, 50))
    matrix = matrix + matrix.T
    value, vector = smallest_eigenpair(matrix)
    true = np.linalg.eigvalsh(matrix)[0]
    assert true - 1e-10 < value <= true
    np.testing.assert_allclose(matrix @ vector, true * vector, atol=1e-10)


def test_steep_lines_are_lowered_and_sunken_ones_say_nothing():
    assert lower_bound(0.5, -0.001, 0.1, 10) == 0.5
    assert lower_bound(0.5, -0.1, 0.1, 10) == pytest.approx(0.05)
    assert lower_bound(-0.5, -0.1, 0.1, 10) == 0.0


class Lowered(STE):
    """Convex, but below zero where a comparison is met."""

    def value(self, near, far):
        return super().value(near, far) - 0.5


def test_a_negative_loss_proves_nothing():
    with pytest.raises(ValueError, match="never negative"):
        certify(POINTS, ANSWERS, Lowered(), 0.1)
    model = ComparisonKernel(Lowered(), regularization=0.1).fit(ANSWERS)
    assert model.gap_ is None
    assert model.converged_
    assert model.objective_ == pytest.approx(
        ComparisonKernel("ste", regularization=0.1).fit(ANSWERS).objective_ - 0.5, abs=1e-5
    )


def test_what_cannot_be_certified_is_refused():
    for loss in (TSTE(alpha=1.0), CKL(), object()):
        with pytest.raises(ValueError, match="only a convex loss"):
            certify(POINTS, ANSWERS, loss, 0.1)
    for ridge in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="regularization must be a number above 0"):
            certify(POINTS, ANSWERS, STE(), ridge)
    with pytest.raises(ValueError, match="20 objects need as many points"):
        certify(POINTS[:5], ANSWERS, STE(), 0.1)
    with pytest.raises(ValueError, match="nothing to certify"):
        certify(POINTS, np.empty((0, 3), dtype=int), STE(), 0.1)
