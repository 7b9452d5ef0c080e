"""L-BFGS: the compiled loops against a literal version, and the conditions that every step must meet."""

import numpy as np
import pytest
from scipy.optimize import minimize

from nearer.jit import bind
from nearer.lbfgs import CURVATURE, DECREASE, Changes, LimitedMemory, find_direction


def literal_direction(gradient, pairs):
    """Nocedal's two loops as in the textbook: pairs of changes, oldest first."""
    q, weights = gradient.copy(), []
    for s, y in reversed(pairs):
        weights.append(s @ q / (s @ y))
        q -= weights[-1] * y
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for s, y in pairs:
        q += s * (weights.pop() - y @ q / (s @ y))
    return -q


def quartic(points):
    scales = np.arange(1, points.size + 1, dtype=points.dtype).reshape(points.shape)
    return float((scales * points**2 + points**4).sum()), 2 * scales * points + 4 * points**3


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 11])
def test_the_direction_is_that_of_the_two_loops(count):
    random = np.random.default_rng(count)
    pairs = [(s, s * random.uniform(0.5, 2.0, 6)) for s in random.normal(size=(count, 6))]
    moved, turned, bends = np.empty((4, 6)), np.empty((4, 6)), np.empty(4)
    for number, (s, y) in enumerate(pairs):
        moved[number % 4], turned[number % 4], bends[number % 4] = s, y, s @ y
    gradient, direction = random.normal(size=6), np.empty(6)
    slope = bind(find_direction)(gradient, direction, moved, turned, bends, count)
    expected = literal_direction(gradient, pairs[-4:])
    np.testing.assert_allclose(direction, expected, rtol=1e-10)
    np.testing.assert_allclose(slope, expected @ gradient, rtol=1e-10)


def test_every_step_meets_the_weak_wolfe_conditions_and_the_end_is_that_of_scipy():
    start = np.random.default_rng(0).normal(size=(10, 3))
    state = LimitedMemory(quartic, start, Changes(start, 5))
    for _ in range(60):
        points, value, gradient = state.points, state.value, state.gradient
        if not state.step():
            break
        move = state.points - points
        slope = np.vdot(move, gradient)
        assert slope < 0.0
        assert state.value <= value + DECREASE * slope
        assert np.vdot(move, state.gradient) >= CURVATURE * slope
    peer = minimize(lambda x: quartic(x)[0], start.ravel(), jac=lambda x: quartic(x)[1], method="L-BFGS-B")
    assert state.value <= peer.fun + 1e-8
    np.testing.assert_allclose(state.gradient, 0.0, atol=1e-5)


def test_it_stays_at_a_minimum():
    state = LimitedMemory(quartic, np.zeros((3, 2)), Changes(np.zeros((3, 2)), 5))
    assert not state.step()
    assert not state.points.any()


def test_a_hinge_is_lowered_to_its_minimum():
    def hinge(points):
        return float(np.abs(points - 1.0).sum()), np.sign(points - 1.0)

    state = LimitedMemory(hinge, np.array([[3.7, -5.2]]), Changes(np.array([[3.7, -5.2]]), 10))
    while state.step():
        pass
    assert state.value < 1e-6


def test_steps_beyond_where_the_objective_is_finite_are_shortened():
    def barrier(points):
        with np.errstate(invalid="ignore", divide="ignore"):
            return float((points**2 - 0.01 * np.log(1.5 - points)).sum()), 2 * points + 0.01 / (1.5 - points)

    state = LimitedMemory(barrier, np.array([[1.49]]), Changes(np.array([[1.49]]), 3))
    while state.step():
        assert np.isfinite(state.value)
    assert abs(state.gradient).max() < 1e-6


def test_single_precision_stays_single():
    state = LimitedMemory(quartic, np.ones((4, 2), np.float32), Changes(np.ones((4, 2), np.float32), 3))
    while state.step() and state.n_evaluations < 200:
        assert state.points.dtype == np.float32
    assert state.value < 1e-6


def test_the_start_is_left_as_it_was():
    start = np.ones((4, 2))
    LimitedMemory(quartic, start, Changes(start, 3)).step()
    assert (start == 1.0).all()
