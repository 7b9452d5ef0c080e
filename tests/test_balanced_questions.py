"""Drawn questions are balanced, different and possible, whatever their number."""

import numpy as np
import pytest

from nearer.simulate import random_questions


def draw(n_objects, n, seed=0):
    return random_questions(n_objects, n, balanced=True, random_state=seed)


def check(rows, n_objects, n):
    assert rows.shape == (n, 3)
    assert all(len({a, b, c}) == 3 for a, b, c in rows.tolist())
    assert len({(a, frozenset((b, c))) for a, b, c in rows.tolist()}) == n
    for numbers in (rows[:, 0], rows[:, 1:].ravel()):
        assert np.ptp(np.bincount(numbers, minlength=n_objects)) <= 1


@pytest.mark.parametrize("n_objects", [3, 4, 5, 6])
def test_any_number_of_questions_about_few_objects(n_objects):
    for n in range(1, n_objects * (n_objects - 1) * (n_objects - 2) // 2 + 1):
        check(draw(n_objects, n, seed=n), n_objects, n)


@pytest.mark.parametrize(("n_objects", "n"), [(30, 500), (100, 37), (20, 1700), (20, 1711), (300, 20_000)])
def test_questions_about_many_objects(n_objects, n):
    check(draw(n_objects, n, seed=0), n_objects, n)


@pytest.mark.parametrize("n", [2000, 3000])
def test_sides_and_seeds(n):
    rows = draw(20, n, seed=0)
    assert (rows == draw(20, n, seed=0)).all()
    assert (rows != draw(20, n, seed=1)).any()
    assert abs(np.mean(rows[:, 1] < rows[:, 2]) - 0.5) < 0.05
    assert np.ptp(np.bincount(rows[: n // 2, 0])) < n / 20  # no object is left for the second half


def test_impossible_numbers():
    with pytest.raises(ValueError, match="questions need at least 3 objects"):
        draw(2, 1)
    with pytest.raises(ValueError, match="about 5 objects there are 30 different questions; got n=31"):
        draw(5, 31)
    with pytest.raises(ValueError, match="balanced questions are triplets"):
        random_questions(5, 3, quadruplets=True, balanced=True)
    assert draw(5, 0).shape == (0, 3)
