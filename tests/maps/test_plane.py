"""What a flat map shows of points in any number of dimensions."""

import numpy as np
import pytest

from nearer.maps.plane import to_plane


def test_two_dimensions_are_shown_whole():
    points = np.random.default_rng(0).normal(size=(6, 2))
    shown = to_plane(points)
    assert shown.names == ["0", "1", "2", "3", "4", "5"]
    assert shown.subtitle == "6 objects"
    assert shown.nearest is None
    apart = np.linalg.norm(points[0] - points[5])
    assert np.linalg.norm(shown.points[0] - shown.points[5]) == pytest.approx(apart)


def test_one_dimension_is_a_line():
    shown = to_plane([3.0, 1.0, 7.0], names="abc")
    assert shown.is_line
    assert np.all(shown.points[:, 1] == 0)
    assert shown.names == ["a", "b", "c"]
    assert not to_plane([3.0, 1.0, 7.0], reference=np.eye(3)[:, :2]).is_line


def test_more_dimensions_say_so_and_keep_their_own_neighbours():
    points = np.random.default_rng(0).normal(size=(30, 6))
    shown = to_plane(points)
    assert "first two principal axes of 6 dimensions" in shown.subtitle
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_array_equal(shown.nearest, np.argsort(apart, axis=1)[:, :5])
    assert "nearest to the reference" in to_plane(points, reference=points[:, :2]).subtitle


def test_neighbours_where_objects_share_a_spot():
    shown = to_plane(np.zeros((9, 3)))
    assert shown.nearest.shape == (9, 5)
    assert not np.any(shown.nearest == np.arange(9)[:, None])
    assert to_plane(np.zeros((1, 3))).nearest.shape == (1, 0)


def test_the_map_is_turned_onto_the_reference():
    reference = np.random.default_rng(1).normal(size=(7, 2))
    shown = to_plane(-3 * reference[:, ::-1] + 5, reference=reference)
    np.testing.assert_allclose(shown.points, reference, atol=1e-9)
    np.testing.assert_array_equal(shown.reference, reference)


def test_groups_by_size_then_alphabet():
    assert to_plane(np.eye(4), groups=["b", 10, 9, "a"]).group_order == ["9", "10", "a", "b"]


@pytest.mark.parametrize("what", ["names", "groups"])
def test_wrong_lengths(what):
    with pytest.raises(ValueError, match=f"{what}: 2 for 3 points"):
        to_plane(np.eye(3), **{what: ["a", "b"]})


@pytest.mark.parametrize(
    ("weights", "problem"), [([1, 2], r"shape \(2,\) for 3 points"), ([1, -1, 0], "number 1 is -1.0")]
)
def test_bad_weights(weights, problem):
    with pytest.raises(ValueError, match=f"weights: {problem}"):
        to_plane(np.eye(3), weights=weights)


def test_the_area_of_a_dot_shows_its_weight():
    scale = to_plane(np.eye(3), weights=[1, 2, 3]).scale
    np.testing.assert_allclose(scale**2, [0.5, 1, 1.5])
    assert to_plane(np.eye(3)).scale.tolist() == to_plane(np.eye(3), weights=[0, 0, 0]).scale.tolist() == [1, 1, 1]
