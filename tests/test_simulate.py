"""Simulated answers are true where they should be, and wrong as often as they should be."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearer import simulate
from nearer.metrics import triplet_error

POINTS = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize("quadruplets", [False, True])
def test_without_noise_every_row_is_true(quadruplets):
    made = simulate.comparisons_from_points(POINTS, 5_000, quadruplets=quadruplets, random_state=1)
    assert made.shape == (5_000, 4 if quadruplets else 3)
    assert made.n_objects == 20
    assert triplet_error(POINTS, made) == 0
    again = simulate.comparisons_from_points(POINTS, 5_000, quadruplets=quadruplets, random_state=1)
    assert (again.rows == made.rows).all()


def test_questions_are_asked_evenly():
    made = simulate.comparisons_from_points(POINTS, 40_000, random_state=2)
    asked = np.bincount(made.rows[:, 0], minlength=20)
    assert asked.min() > 1_700
    assert asked.max() < 2_300


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=30, deadline=None)
def test_ties_are_never_asked(seed, quadruplets):
    grid = np.random.default_rng(seed).integers(0, 3, size=(6, 1)).astype(float)
    if len(np.unique(grid)) < 2:
        return
    made = simulate.comparisons_from_points(grid, 200, quadruplets=quadruplets, random_state=seed)
    assert triplet_error(grid, made) == 0
    assert triplet_error(grid, made.flip(1.0)) == 1


def test_points_without_any_answer_are_refused():
    with pytest.raises(ValueError, match="all their distances seem to be equal"):
        simulate.comparisons_from_points(np.zeros((4, 2)), 3)
    with pytest.raises(ValueError, match="at least 3 objects"):
        simulate.comparisons_from_points(np.zeros((2, 2)), 3)
    with pytest.raises(ValueError, match="finite"):
        simulate.comparisons_from_points([[np.nan], [1], [2]], 3)
    with pytest.raises(ValueError, match="n must be"):
        simulate.comparisons_from_points(POINTS, -1)
    assert len(simulate.comparisons_from_points(POINTS, 0)) == 0


def test_flips_as_often_as_asked():
    made = simulate.comparisons_from_points(POINTS, 20_000, noise=simulate.flip(0.2), random_state=0)
    assert abs(triplet_error(POINTS, made) - 0.2) < 0.02


@pytest.mark.parametrize("noise", [simulate.logistic(0.5), simulate.logistic(2.0), simulate.student(1.0)])
def test_noise_errs_where_distances_are_close(noise):
    near, far = np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0001, 2.0, 1e6, 1e300])
    wrong = noise(near, far)
    assert np.isfinite(wrong).all()
    assert (np.diff(wrong) <= 0).all()
    assert abs(wrong[0] - 0.5) < 1e-3
    assert wrong[-1] < 1e-3
    made = simulate.comparisons_from_points(POINTS, 20_000, noise=noise, random_state=0)
    true = np.array(
        [np.linalg.norm(POINTS[made.rows[:, 0]] - POINTS[made.rows[:, c]], axis=1) ** 2 for c in (1, 2)]
    )
    expected = noise(true.min(axis=0), true.max(axis=0)).mean()
    assert abs(triplet_error(POINTS, made) - expected) < 0.02


@pytest.mark.parametrize(
    "make", [lambda: simulate.flip(1.5), lambda: simulate.logistic(0), lambda: simulate.student(-1)]
)
def test_bad_noise(make):
    with pytest.raises(ValueError, match="must"):
        make()


def test_all_triplets():
    made = simulate.all_triplets(POINTS[:7])
    assert len(made) == 7 * 6 * 5 // 2
    assert len(made.merge()) == len(made)
    assert triplet_error(POINTS[:7], made) == 0
    assert made.report().contradictions == 0
    square = simulate.all_triplets([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert len(square) == 4 * 2  # of three questions an anchor one is a tie


@given(st.lists(st.integers(0, 3), min_size=3, max_size=12), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_labels(y, seed):
    counts = np.bincount(y)
    if counts.max() < 2 or np.count_nonzero(counts) < 2:
        with pytest.raises(ValueError, match="no triplet can be drawn"):
            simulate.comparisons_from_labels(y, 5, seed)
        return
    label = np.array(y)
    for sampling in ("instances", "classes"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = simulate.comparisons_from_labels(y, 300, seed, sampling=sampling).rows
        assert bool(caught) == (counts == 1).any()
        assert (rows[:, 0] != rows[:, 1]).all()
        assert (label[rows[:, 0]] == label[rows[:, 1]]).all()
        assert (label[rows[:, 0]] != label[rows[:, 2]]).all()


@pytest.mark.filterwarnings("ignore:2 of 4 classes have one member")
def test_labels_are_drawn_evenly():
    made = simulate.comparisons_from_labels(list("aaabbbcd"), 30_000, random_state=0)
    assert set(np.unique(made.rows[:, 0])) == set(range(6))
    partners = np.bincount(made.rows[made.rows[:, 0] == 1, 1], minlength=8)
    assert partners[[0, 2]].min() > 2_200
    assert np.bincount(made.rows[made.rows[:, 0] == 1, 2], minlength=8)[3:].min() > 800
