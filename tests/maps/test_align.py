"""Turning maps: distances stay, the way they lay before does not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.maps import align, orient


def turned(points, seed, reflect=False):
    """The same map, lying some other way."""
    rng = np.random.default_rng(seed)
    q, r = np.linalg.qr(rng.normal(size=(points.shape[1],) * 2))
    q *= np.sign(np.diag(r))
    if (np.linalg.det(q) < 0) != reflect:
        q[:, 0] *= -1
    return points @ q + rng.normal(size=points.shape[1])


def distances(points):
    return np.linalg.norm(points[:, None] - points[None], axis=2)


@given(seed=st.integers(0, 99), dims=st.integers(1, 4), reflect=st.booleans(), scale=st.floats(0.01, 100))
def test_align_undoes_reflection_rotation_scale_and_translation(seed, dims, reflect, scale):
    reference = np.random.default_rng(seed).normal(size=(9, dims))
    np.testing.assert_allclose(align(scale * turned(reference, seed, reflect), reference), reference, atol=1e-8)


def test_align_without_scale_keeps_distances():
    points = np.random.default_rng(0).normal(size=(8, 2))
    moved = align(points, 5 * turned(points, 1), scale=False)
    np.testing.assert_allclose(distances(moved), distances(points))


def test_align_pads_the_narrower():
    points = np.random.default_rng(0).normal(size=(8, 3))
    assert align(points, points[:, :2]).shape == (8, 3)
    assert align(points[:, :1], points[:, :2]).shape == (8, 2)


def test_align_is_no_worse_than_any_other_turn():
    rng = np.random.default_rng(3)
    points, reference = rng.normal(size=(10, 2)), rng.normal(size=(10, 2))
    reference -= reference.mean(axis=0)
    best = np.sum((align(points, reference) - reference) ** 2)
    for seed in range(20):
        other = turned(points, seed, reflect=bool(seed % 2))
        other -= other.mean(axis=0)
        other *= np.sum(other * reference) / np.sum(other**2)
        assert best <= np.sum((other - reference) ** 2) + 1e-12


@given(seed=st.integers(0, 99), dims=st.integers(1, 4), reflect=st.booleans())
def test_orient_does_not_depend_on_how_the_points_lay(seed, dims, reflect):
    points = np.random.default_rng(seed).normal(size=(9, dims)) * np.array([8, 4, 2, 1])[:dims]
    shown = orient(points)
    np.testing.assert_allclose(orient(turned(points, seed, reflect)), shown, atol=1e-8)
    np.testing.assert_allclose(distances(shown), distances(points), atol=1e-9)
    assert np.all(np.diff(np.var(shown, axis=0)) <= 1e-9)


def test_points_that_cannot_be_turned_still_have_a_map():
    assert orient([[1.0, 2.0]]).tolist() == [[0.0, 0.0]]
    assert np.all(orient(np.ones((4, 3))) == 0)
    np.testing.assert_allclose(align(np.ones((3, 2)), [[0, 0], [3, 0], [0, 3]]), np.ones((3, 2)))


def test_input_is_left_alone():
    points = np.arange(6.0).reshape(3, 2)
    align(points, points)
    orient(points)
    assert points.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0, 1.0], [np.nan, 2.0]], r"points: row 1 is \[nan, 2.0\]; expected finite numbers"),
        ([[0.0, np.inf]], "points: row 0"),
        (np.zeros((2, 2, 2)), r"points: .* got shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), "points: there are none"),
        (np.zeros((3, 0)), r"points: .* got shape \(3, 0\)"),
    ],
)
def test_bad_points_are_named(points, message):
    with pytest.raises(ValueError, match=message):
        orient(points)


def test_a_reference_of_another_length():
    with pytest.raises(ValueError, match="reference: 2 rows for 3 points"):
        align(np.eye(3), np.eye(3)[:2])
