"""What the choice of settings is made of: a calibrated log loss, and the scale of a start."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from nearer import Comparisons
from nearer.comparisons.rows import squared_distances
from nearer.embedding.init import rescale
from nearer.embedding.settings import MAX_SLOPE, calibrated_log_loss
from nearer.losses import LOSSES, as_loss
from nearer.simulate import comparisons_from_points


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize(("center", "weighted"), [(0.3, False), (0.05, False), (1.0, True)])
def test_the_log_loss_has_the_slope_of_the_lowest_mean(unit, center, weighted):
    random = np.random.default_rng(0)
    margins = random.normal(center, 1.0, 2000)
    weights = random.exponential(size=2000) if weighted else np.ones(2000)

    def mean(slope):
        return np.average(np.logaddexp(0.0, -slope * margins), weights=weights)

    least = minimize_scalar(mean, bounds=(1e-6, MAX_SLOPE), method="bounded", options={"xatol": 1e-9})
    losses = calibrated_log_loss(unit * margins, weights)
    assert np.average(losses, weights=weights) == pytest.approx(least.fun, rel=1e-4)
    np.testing.assert_allclose(losses, np.logaddexp(0.0, -least.x * margins), rtol=0.02, atol=0.005)


def test_margins_that_say_nothing_have_the_loss_of_a_guess():
    random = np.random.default_rng(0)
    for margins in (np.zeros(100), -np.abs(random.normal(size=100))):
        np.testing.assert_allclose(calibrated_log_loss(margins, np.ones(100)), np.log(2.0), rtol=1e-3)


def test_margins_that_are_all_right_have_a_small_finite_loss():
    margins = np.random.default_rng(0).uniform(0.5, 1.0, 100)
    losses = calibrated_log_loss(margins, np.ones(100))
    assert np.isfinite(losses).all()
    assert losses.max() < 1e-3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ridge", [0.001, 0.1])
@pytest.mark.parametrize("name", list(LOSSES))
def test_a_start_gets_the_scale_of_the_lowest_objective(name, ridge, weighted):
    random = np.random.default_rng(0)
    points = random.normal(size=(20, 2))
    answers = comparisons_from_points(points, 1000, random_state=0).flip(0.1, random_state=1)
    weights = random.exponential(size=1000) if weighted else np.ones(1000)
    if weighted:
        answers = Comparisons(answers, weights=1e9 * weights)
    loss = as_loss(name, 2)
    near, far = squared_distances(points, answers.rows)

    def objective(scale):
        mean = np.average(loss.value(scale**2 * near, scale**2 * far), weights=weights)
        return mean + ridge * scale**2 * np.vdot(points, points) / len(points)

    scales = np.geomspace(0.01, 100.0, 2000)
    scaled = rescale(points, answers, loss, ridge)
    found = scaled[0, 0] / points[0, 0]
    np.testing.assert_allclose(scaled, found * points)
    least = min(objective(scale) for scale in scales)
    assert objective(found) <= least + 0.01 * (objective(0.01) - least)


def test_a_start_keeps_its_precision():
    points = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    answers = comparisons_from_points(points, 500, random_state=0)
    assert rescale(points, answers, as_loss("soe", 2), 0.01).dtype == np.float32
