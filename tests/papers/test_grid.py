"""The search on a grid that is extended."""

import numpy as np
import pytest

from nearer.papers.grid import by_factor, is_at_end, search_grid


@pytest.mark.parametrize(("best", "found", "end"), [(20.0, 16.0, 32.0), (0.3, 0.25, 0.125), (2.0, 2.0, 4.0)])
def test_the_grid_is_extended_until_the_best_is_inside(best, found, end):
    value, scores = search_grid((1.0, 2.0, 4.0), lambda x: -abs(x - best), by_factor(2.0))
    assert value == found
    assert end in scores
    assert min(scores) < value < max(scores)


def test_without_more_values_the_best_may_be_at_the_end():
    assert search_grid((1.0, 2.0), lambda x: x) == (2.0, {1.0: 1.0, 2.0: 2.0})
    assert search_grid((3.0,), lambda x: x, by_factor(2.0)) == (3.0, {3.0: 3.0})


def test_the_search_ends_at_its_bounds():
    value, scores = search_grid((1.0, 10.0), lambda x: x, by_factor(10.0, 1e-3, 1e4))
    assert (value, max(scores)) == (1e4, 1e4)
    value, scores = search_grid((1.0, 10.0), lambda x: -x, by_factor(10.0, 1e-3, 1e4))
    assert (value, min(scores)) == (1e-3, 1e-3)


def test_of_equal_scores_the_first_counts_and_scores_may_be_tuples():
    assert search_grid((2.0, 1.0, 3.0), lambda x: 0.0)[0] == 2.0
    assert search_grid((1.0, 2.0, 3.0), lambda x: (-np.inf, -abs(x - 2.0)), by_factor(2.0))[0] == 2.0


def test_zero_is_no_end():
    assert search_grid((0.0, 1.0), lambda x: -x, by_factor(10.0)) == (0.0, {0.0: -0.0, 1.0: -1.0})
    assert not is_at_end(0.0, (0.0, 1.0))
    assert is_at_end(1.0, (0.0, 1.0))
    assert not is_at_end(1.0, (1.0,))
