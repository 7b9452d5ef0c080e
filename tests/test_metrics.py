"""Triplet error and Procrustes against plain definitions."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes as scipy_procrustes

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.metrics import agreement, procrustes, triplet_error
from nearer.simulate import comparisons_from_points, flip
from strategies import comparisons

SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])


@given(comparisons(), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_triplet_error_is_the_weighted_share_of_rows_not_satisfied(made, seed):
    points = np.random.default_rng(seed).integers(0, 3, size=(made.n_objects, 2)).astype(float)
    weights = np.ones(len(made)) if made.weights is None else made.weights
    wrong = 0.0
    for row, weight in zip(made.as_quadruplets().rows, weights, strict=True):
        i, j, l, k = points[row]  # noqa: E741
        wrong += weight * (not ((i - j) ** 2).sum() < ((l - k) ** 2).sum())
    if weights.sum() == 0:
        with pytest.raises(ValueError, match="nothing to score"):
            triplet_error(points, made)
    else:
        assert triplet_error(points, made) == pytest.approx(wrong / weights.sum())


def test_ties_are_errors_and_sources_are_scored():
    assert triplet_error(SQUARE, [[0, 1, 3]]) == 1
    assert triplet_error(SQUARE, [[0, 1, 2], [0, 2, 1]]) == 0.5
    part = Comparisons([[0, 1, 2], [0, 2, 1]], weights=[3, 1])
    source = ComparisonSource((lambda: iter([part]), lambda: iter([part])), n_rows=4, n_columns=3, n_objects=3)
    assert triplet_error(SQUARE, source) == 0.25


def test_triplet_error_refuses():
    with pytest.raises(ValueError, match="name object 5, but there are only 4 points"):
        triplet_error(SQUARE, [[0, 1, 5]])
    with pytest.raises(ValueError, match="nothing to score"):
        triplet_error(SQUARE, np.empty((0, 3), dtype=int))
    with pytest.raises(ValueError, match="points must be a table"):
        triplet_error(SQUARE[0], [[0, 1, 2]])


def test_triplet_error_needs_little_memory():
    rows = np.tile(np.array([[0, 1, 2]], dtype=np.int32), (1_000_000, 1))
    points = np.random.default_rng(0).normal(size=(3, 10))
    tracemalloc.start()
    triplet_error(points, rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7


@given(st.integers(0, 999), st.integers(1, 4), st.integers(4, 12))
@settings(max_examples=50, deadline=None)
def test_disparity_is_scipys(seed, dims, n):
    random = np.random.default_rng(seed)
    points, reference = random.normal(size=(2, n, dims))
    fit = procrustes(points, reference)
    assert fit.disparity == pytest.approx(scipy_procrustes(reference, points)[2], abs=1e-10)
    spread = ((reference - reference.mean(axis=0)) ** 2).sum()
    assert fit.disparity == pytest.approx(((fit.aligned - reference) ** 2).sum() / spread, abs=1e-10)


def test_the_same_shape_fits_exactly():
    random = np.random.default_rng(0)
    reference = random.normal(size=(10, 3))
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    for mirror in (1, -1):
        fit = procrustes(0.1 * (reference * [mirror, 1, 1]) @ turn + 7, reference)
        assert fit.disparity < 1e-12
        assert np.allclose(fit.aligned, reference)


def test_different_numbers_of_dimensions():
    flat = np.column_stack([SQUARE, np.zeros(4)])
    assert procrustes(flat, SQUARE).disparity < 1e-12
    assert procrustes(SQUARE, flat).aligned.shape == (4, 3)
    assert procrustes(flat, SQUARE).aligned.shape == (4, 2)


@pytest.mark.parametrize(
    ("points", "reference", "message"),
    [
        (SQUARE, SQUARE[:3], "as many rows"),
        (SQUARE, SQUARE[0], "as many rows"),
        (SQUARE * np.nan, SQUARE, "finite"),
        (SQUARE * 0, SQUARE, "two different points"),
    ],
)
def test_procrustes_refuses(points, reference, message):
    with pytest.raises(ValueError, match=message):
        procrustes(points, reference)


def literal_agreement(first, second):
    """The mean over common questions of the share of pairs of answers, one of each set, that are the same."""

    def by_question(rows):
        found = {}
        for a, b, c in rows:
            found.setdefault((a, min(b, c), max(b, c)), []).append(b < c)
        return found

    one, other = by_question(first), by_question(second)
    common = one.keys() & other.keys()
    return np.mean([np.mean([x == y for x in one[q] for y in other[q]]) for q in common]), len(common)


@pytest.mark.parametrize("seed", range(3))
def test_agreement_of_two_sets_of_answers(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(6, 2))
    first, second = (comparisons_from_points(points, n, noise=flip(0.3), random_state=random) for n in (60, 90))
    share, n_questions = agreement(first, second)
    assert (share, n_questions) == (pytest.approx(literal_agreement(first.rows, second.rows)[0]), n_questions)
    assert n_questions == literal_agreement(first.rows, second.rows)[1]
    assert agreement(second, first) == (pytest.approx(share), n_questions)
    merged = agreement(first.merge(), second)  # the weights of merged rows count as their number did
    assert merged == (pytest.approx(share), n_questions)


def test_agreement_of_answers_about_named_objects():
    assert agreement([["a", "b", "c"], ["c", "a", "b"]], [["c", "a", "b"], ["a", "c", "b"], ["d", "a", "b"]]) == (
        0.5,
        2,
    )
    assert agreement([[0, 1, 2, 3]], [[3, 2, 1, 0]]) == (0.0, 1)
    with pytest.raises(ValueError, match="no question is answered in both sets"):
        agreement([[0, 1, 2]], [[1, 0, 2]])
