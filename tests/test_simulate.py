"""Simulated answers are true where they should be, and wrong as often as they should be."""

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from nearer import simulate
from nearer.comparisons.rows import question_codes
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


@pytest.mark.parametrize(
    "noise", [simulate.logistic(0.5), simulate.logistic(2.0), simulate.student(1.0), simulate.gaussian(1.0)]
)
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
    "make",
    [
        lambda: simulate.flip(1.5),
        lambda: simulate.logistic(0),
        lambda: simulate.student(-1),
        lambda: simulate.gaussian(0),
    ],
)
def test_bad_noise(make):
    with pytest.raises(ValueError, match="must"):
        make()


@pytest.mark.parametrize("quadruplets", [False, True])
def test_questions_without_answers(quadruplets):
    asked = simulate.random_questions(5, 10_000, quadruplets=quadruplets, random_state=0)
    assert asked.shape == (10_000, 4 if quadruplets else 3)
    n_different = 10 * 9 // 2 if quadruplets else 5 * 6
    codes, _ = question_codes(asked, 5)
    counts = np.bincount(codes)
    assert len(counts) == n_different
    assert counts.max() < 2 * counts.min()  # all of them, about as often
    once = simulate.random_questions(5, n_different, quadruplets=quadruplets, unique=True, random_state=0)
    assert len(np.unique(question_codes(once, 5)[0])) == n_different
    with pytest.raises(ValueError, match=f"there are {n_different} different questions; got n={n_different + 1}"):
        simulate.random_questions(5, n_different + 1, quadruplets=quadruplets, unique=True)
    with pytest.raises(ValueError, match="at least 3 objects"):
        simulate.random_questions(2, 1)


def test_questions_are_answered_in_their_order():
    asked = simulate.random_questions(20, 500, random_state=0)
    answers = simulate.answer_questions(asked, POINTS)
    assert triplet_error(POINTS, answers) == 0
    assert (np.sort(answers.rows[:, 1:]) == np.sort(asked[:, 1:])).all()
    wrong = simulate.answer_questions(asked, POINTS, noise=simulate.flip(0.3), random_state=0)
    assert abs(triplet_error(POINTS, wrong) - 0.3) < 0.06
    tied = simulate.answer_questions([[0, 1, 2]] * 400, [[0.0], [1.0], [-1.0]], random_state=0)
    assert 150 < (tied.rows[:, 1] == 1).sum() < 250


def test_distances_in_place_of_points():
    distances = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    for quadruplets in (False, True):
        of_points, of_distances = (
            simulate.comparisons_from_points(
                X, 300, quadruplets=quadruplets, metric=metric, noise=simulate.gaussian(0.5), random_state=0
            )
            for X, metric in ((POINTS, "euclidean"), (distances, "precomputed"))
        )
        np.testing.assert_array_equal(of_points.rows, of_distances.rows)
    few = simulate.all_triplets(distances[:6, :6], metric="precomputed")
    np.testing.assert_array_equal(few.rows, simulate.all_triplets(POINTS[:6]).rows)
    for wrong in (POINTS, -distances, np.triu(distances)):
        with pytest.raises(ValueError, match="distances must be a symmetric table of numbers >= 0"):
            simulate.comparisons_from_points(wrong, 3, metric="precomputed")
    with pytest.raises(ValueError, match="metric must be 'euclidean' or 'precomputed'; got 'cosine'"):
        simulate.comparisons_from_points(POINTS, 3, metric="cosine")


def test_points_are_seen_with_gaussian_noise():
    """Of three points on a line the difference of the distances to the anchor, c - b, has a variance of 2σ²."""
    line, scale = [[0.0], [10.0], [10.5]], 0.4
    made = simulate.answer_questions([[0, 1, 2]] * 20_000, line, jitter=scale, random_state=0)
    expected = ndtr(-0.5 / (np.sqrt(2) * scale))
    assert abs((made.rows[:, 1] == 2).mean() - expected) < 0.01
    assert triplet_error(POINTS, simulate.comparisons_from_points(POINTS, 2000, jitter=0.3, random_state=0)) > 0.02
    for wrong in ({"jitter": -1.0}, {"jitter": 1.0, "metric": "precomputed"}):
        with pytest.raises(ValueError, match="jitter must be a number of at least 0, and 0 with distances"):
            simulate.comparisons_from_points(np.zeros((3, 3)), 3, **wrong)


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


@pytest.mark.parametrize("sampling", ["instances", "classes"])
def test_objects_are_drawn_in_proportion_to_their_weights(sampling):
    y = np.array(["b", "a", "b", "c", "a", "b"])
    weights = np.array([2.0, 1.0, 1.0, 3.0, 4.0, 1.0])
    with pytest.warns(UserWarning, match="1 of 3 classes have one member only and are skipped as anchors: c"):
        rows = simulate.comparisons_from_labels(y, 40_000, 0, sampling=sampling, sample_weight=weights).rows
    a, b, c = rows.T
    assert (y[a] == y[b]).all()
    assert (y[a] != y[c]).all()
    assert (a != b).all()
    expected = {}
    for triplet in itertools.permutations(range(6), 3):
        i, j, k = triplet
        if y[i] != y[j] or y[i] == y[k]:
            continue
        of = {label: weights[y == label].sum() for label in "abc"}
        if sampling == "instances":
            first, last = weights[i] / (of["a"] + of["b"]), weights[k] / (weights.sum() - of[y[i]])
        else:
            first, last = weights[i] / of[y[i]] / 2, weights[k] / of[y[k]] / 2
        expected[triplet] = first * weights[j] / (of[y[i]] - weights[i]) * last
    assert sum(expected.values()) == pytest.approx(1.0)
    found = Counter(map(tuple, rows.tolist()))
    assert max(abs(found[triplet] / 40_000 - chance) for triplet, chance in expected.items()) < 0.01


def test_weights_of_any_size_draw_triplets_that_are_true():
    y, weights = np.array([0, 0, 1, 1, 2, 2]), np.array([1e-300, 1.0, 1e300, 1e-9, 1.0, 1e200])
    a, b, c = simulate.comparisons_from_labels(y, 1000, 0, sample_weight=weights).rows.T
    assert ((y[a] == y[b]) & (y[a] != y[c]) & (a != b)).all()
    with pytest.raises(ValueError, match="sample_weight must be 6 positive numbers"):
        simulate.comparisons_from_labels(y, 5, 0, sample_weight=[0, 1, 1, 1, 1, 1])
