"""What a flat map shows of points in any number of dimensions."""

import numpy as np
import pytest

from nearer.maps.labels import place_labels, spread
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


def test_labels_do_not_overlap_where_there_is_room():
    rng = np.random.default_rng(0)
    points = rng.uniform(50, 950, size=(60, 2))
    sizes = np.column_stack([rng.uniform(30, 70, 60), np.full(60, 12.0)])
    corners = place_labels(points, sizes, (1000, 1000), keep_all=False)
    placed = [(c, c + s) for c, s in zip(corners, sizes, strict=True) if c is not None]
    assert len(placed) > 50
    for i, (low, high) in enumerate(placed):
        assert np.all(low >= 0)
        assert np.all(high <= 1000)
        for other_low, other_high in placed[:i]:
            assert np.any(low >= other_high) or np.any(other_low >= high)


def test_every_label_is_kept_when_asked_for():
    corners = place_labels(np.full((20, 2), 50.0), np.full((20, 2), 10.0), (100, 100))
    assert all(corner is not None for corner in corners)
    assert place_labels(np.empty((0, 2)), np.empty((0, 2)), (100, 100)) == []


def test_spread_moves_apart_and_keeps_order():
    moved = spread(np.array([5.0, 1.0, 5.1, 20.0]), 2.0)
    assert np.all(np.diff(np.sort(moved)) >= 2 - 1e-12)
    np.testing.assert_array_equal(np.argsort(moved), [1, 0, 2, 3])
    assert moved[3] == 20
    np.testing.assert_allclose(moved[[0, 2]], [4.05, 6.05])
