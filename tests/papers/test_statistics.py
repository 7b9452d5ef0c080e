"""The rule by which verdicts are decided."""

import numpy as np
import pytest

from nearer.papers.statistics import all_hold, is_higher, is_lower, mean_and_error, rounded


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


def test_a_claim_of_several_parts():
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([True, None, False]) is False
    assert all_hold([]) is None


def test_means_and_digits():
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)
    assert mean_and_error([1.0]) == (1.0, None)
    assert rounded([1.234567, 0.0]) == [1.2346, 0.0]
