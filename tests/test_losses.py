"""Each loss against a formula written independently, in numpy and compiled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer import ComparisonKernel, OnlineKernel, OrdinalEmbedding
from nearer.certificate import certify
from nearer.jit import bind
from nearer.losses import (
    CKL,
    GNMDS,
    LOSSES,
    SOE,
    STE,
    TSTE,
    Loss,
    as_loss,
    baseline_loss,
    loss_trait,
    losses_with,
    ops,
)
from nearer.simulate import comparisons_from_points


def student(d2, alpha):
    return (1 + d2 / alpha) ** (-(alpha + 1) / 2)


# The definitions of the papers, with the signs that make them losses, as naively as possible.
FORMULAS = {
    "gnmds": (GNMDS(margin=0.7), lambda n, f: np.maximum(0, 0.7 + n - f)),
    "ckl": (CKL(delta=0.1), lambda n, f: -np.log((f + 0.1) / (n + f + 0.2))),
    "ste": (STE(), lambda n, f: -np.log(np.exp(-n) / (np.exp(-n) + np.exp(-f)))),
    "tste": (TSTE(alpha=3.5), lambda n, f: -np.log(student(n, 3.5) / (student(n, 3.5) + student(f, 3.5)))),
    "soe": (SOE(margin=0.4), lambda n, f: np.maximum(0, 0.4 + np.sqrt(n) - np.sqrt(f)) ** 2),
}
distances = st.floats(1e-3, 50.0)


def test_every_loss_of_the_table_is_tested_here():
    assert set(FORMULAS) == set(LOSSES)


@pytest.mark.parametrize("name", FORMULAS)
@given(near=distances, far=distances)
def test_value_equals_the_formula(name, near, far):
    loss, formula = FORMULAS[name]
    np.testing.assert_allclose(loss.value(near, far), formula(near, far), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@given(near=distances, far=distances)
def test_slopes_equal_finite_differences(name, near, far):
    loss, formula = FORMULAS[name]
    h = 1e-6
    kinks = {"gnmds": 0.7 + near - far, "soe": 0.4 + np.sqrt(near) - np.sqrt(far)}
    if abs(kinks.get(name, 1.0)) < 1e-4:
        return  # no derivative at the hinge
    near_slope, far_slope = loss.slopes(near, far)
    np.testing.assert_allclose(
        near_slope, (formula(near + h, far) - formula(near - h, far)) / (2 * h), rtol=1e-4, atol=1e-7
    )
    np.testing.assert_allclose(
        far_slope, (formula(near, far + h) - formula(near, far - h)) / (2 * h), rtol=1e-4, atol=1e-7
    )


@pytest.mark.parametrize("name", FORMULAS)
@given(near=distances, far=distances, more=st.floats(0.01, 10))
def test_probability_rises_with_far_and_falls_with_near(name, near, far, more):
    loss, _ = FORMULAS[name]
    p = loss.probability(near, far)
    assert 0 <= p <= 1
    assert loss.probability(near, far + more) >= p >= loss.probability(near + more, far)
    assert loss.probability(near, near) == pytest.approx(0.5)
    assert loss.probability(1.0, 4.0) > 0.6 > 0.4 > loss.probability(4.0, 1.0)


@pytest.mark.parametrize("name", ["ckl", "ste", "tste"])
@given(near=distances, far=distances)
def test_the_value_is_minus_the_logarithm_of_the_probability(name, near, far):
    loss, _ = FORMULAS[name]
    if (p := loss.probability(near, far)) > 1e-12:
        assert loss.value(near, far) == pytest.approx(-np.log(p), rel=1e-6, abs=1e-9)


def both(near, far, values, near_slopes, far_slopes):
    for p in range(near.size):
        values[p] = value(near[p], far[p])  # noqa: F821
        near_slopes[p], far_slopes[p] = slopes(near[p], far[p])  # noqa: F821


@pytest.mark.parametrize("name", FORMULAS)
def test_compiled_equals_plain(name):
    loss, _ = FORMULAS[name]
    near, far = np.random.default_rng(0).exponential(5, size=(2, 200))
    out = np.empty((3, 200))
    bind(both, loss)(near, far, *out)
    np.testing.assert_allclose(out, [loss.value(near, far), *loss.slopes(near, far)], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("near", [0.0, 1e-300, 1e4, 1e12])
@pytest.mark.parametrize("far", [0.0, 1e-300, 1e4, 1e12])
def test_extremes_stay_finite_and_honest(name, near, far):
    loss, _ = FORMULAS[name]
    out = np.empty((3, 1))
    bind(both, loss)(np.array([near]), np.array([far]), *out)
    assert np.isfinite(out).all()
    bind(both, loss)(np.array([np.nan]), np.array([far]), *out)
    assert np.isnan(out[0, 0]), "a NaN must stay visible"


def test_alpha_is_settled_by_the_dimensions():
    assert as_loss("tste", 2).alpha == 1.0
    assert as_loss("tste", 5).alpha == 4.0
    assert as_loss(TSTE(alpha=7.0), 5).alpha == 7.0
    assert baseline_loss(GNMDS(margin=2.0)) == loss_trait(GNMDS(margin=2.0), "hinge_margin") == 2.0
    assert not loss_trait(object(), "convex")


@pytest.mark.parametrize("wrong", ["tsne", STE, object(), None])
def test_an_unknown_loss_is_refused_with_the_known_ones(wrong):
    with pytest.raises(ValueError, match=", ".join(map(repr, sorted(LOSSES)))):
        as_loss(wrong, 2)


class SquaredHinge(Loss):
    """A new loss: convex, with a logistic probability."""

    convex = True
    logistic = True

    def value(self, near, far):
        short = ops.maximum(0.0, 1.0 + near - far)
        return short * short

    def slopes(self, near, far):
        short = ops.maximum(0.0, 1.0 + near - far)
        return 2.0 * short, -2.0 * short

    def probability(self, near, far):
        return 1.0 / (1.0 + ops.exp(near - far))


class OtherHinge(GNMDS):
    """A hinge under another name and with another attribute."""

    def __init__(self, gap=1.0):
        self.gap = gap

    @property
    def hinge_margin(self):
        return self.gap

    def value(self, near, far):
        return ops.maximum(0.0, self.gap + near - far)

    def slopes(self, near, far):
        inside = ops.where(self.gap + near - far > 0.0, 1.0, 0.0)
        return inside, -inside


def test_a_new_loss_is_a_class_and_one_line_of_the_table(monkeypatch):
    monkeypatch.setitem(LOSSES, "squared-hinge", SquaredHinge)
    points = np.random.default_rng(0).normal(size=(12, 2))
    answers = comparisons_from_points(points, 400, random_state=0).flip(0.1, random_state=0)
    model = OrdinalEmbedding(2, loss="squared-hinge", regularization=0.05, random_state=0).fit(answers)
    kernel = ComparisonKernel("squared-hinge", regularization=0.05).fit(answers)
    assert 0 <= kernel.gap_ < 1e-2
    bound = certify(model.embedding_, answers, as_loss("squared-hinge", 2), 0.05)
    assert bound.lower_bound <= kernel.objective_ < bound.lower_bound + bound.excess + 1e-9
    online = OnlineKernel(loss="squared-hinge", probability=0.8, random_state=0).fit(answers)
    assert online.score(answers) > 0.6
    for trait in ("convex", "logistic", "kernel_form"):
        assert "squared-hinge" in losses_with(trait)


def test_a_hinge_is_known_by_its_margin_and_not_by_its_type():
    points = np.random.default_rng(0).normal(size=(10, 2))
    answers = comparisons_from_points(points, 300, random_state=0).flip(0.1, random_state=0)
    same = [ComparisonKernel(loss, regularization=0.1).fit(answers) for loss in (GNMDS(1.0), OtherHinge(1.0))]
    np.testing.assert_array_equal(same[0].kernel_, same[1].kernel_)
    bounds = [certify(points, answers, loss, 0.1) for loss in (GNMDS(1.0), OtherHinge(1.0))]
    assert bounds[0].excess == bounds[1].excess


def test_a_subclass_with_another_value_is_no_hinge():
    class Bent(GNMDS):
        def value(self, near, far):
            return ops.log1p(super().value(near, far))

    assert GNMDS(0.5).hinge_margin == 0.5
    assert Bent(0.5).hinge_margin is None
