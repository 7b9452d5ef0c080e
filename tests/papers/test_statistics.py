"""The rule by which verdicts are decided."""

import numpy as np
import pytest

from nearer.papers.statistics import all_hold, is_higher, is_lower, mean_and_error, rounded, unless_open_ended


def test_a_difference_within_the_noise_decides_nothing():
    random = np.random.default_rng(0)
    level = random.normal(size=10)  # of the splits, which both share
    assert is_higher(level + 0.1, level + 0.01 * random.normal(size=10)) is True
    assert is_higher(level + 0.01 * random.normal(size=10), level + 0.1) is False
    assert is_lower(level, level + 0.1 + 0.01 * random.normal(size=10)) is True
    assert is_higher([0.5, 0.6], [0.1, 0.2]) is None
    assert is_higher([0.5, 0.6, 0.7], [0.5, 0.6, 0.7]) is None


def test_noise_alone_is_called_a_difference_in_five_percent():
    random = np.random.default_rng(1)
    decided = [is_higher(*random.normal(size=(2, 5))) for _ in range(4000)]
    assert np.mean([one is not None for one in decided]) == pytest.approx(0.05, abs=0.012)


def test_splits_of_the_same_rows_decide_less_than_new_data():
    values, others = [0.50, 0.52, 0.51, 0.53, 0.52], [0.50, 0.50, 0.50, 0.51, 0.50]
    assert is_higher(values, others) is True
    assert is_higher(values, others, overlap=0.5) is None
    assert is_lower(np.add(others, -0.1), values, overlap=0.5) is True


def test_means_of_few_rows_vary_more_than_their_overlapping_splits_say():
    """Two constant predictions of 60 rows: the correction keeps false decisions near 5 %, the plain rule does not."""
    random = np.random.default_rng(0)
    decided = {0.0: 0, 0.5: 0}
    for _ in range(400):
        gains = random.normal(size=60)  # of one method over another on each row; none on average
        splits = [gains[random.permutation(60)[:20]].mean() for _ in range(5)]
        for overlap in decided:
            decided[overlap] += is_higher(splits, [0.0] * 5, overlap) is not None
    assert decided[0.5] / 400 < 0.12 < decided[0.0] / 400


def test_whoever_is_behind_at_the_end_of_a_grid_may_be_better_beyond_it():
    assert unless_open_ended(True, ours=True, theirs=False) is True
    assert unless_open_ended(True, ours=False, theirs=True) is None
    assert unless_open_ended(False, ours=True, theirs=False) is None
    assert unless_open_ended(False, ours=False, theirs=True) is False
    assert unless_open_ended(None, ours=False, theirs=False) is None


def test_a_claim_of_several_parts():
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([True, None, False]) is False
    assert all_hold([]) is None


def test_means_and_digits():
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)
    assert mean_and_error([1.0]) == (1.0, None)
    assert rounded([1.234567, 0.0]) == [1.2346, 0.0]
