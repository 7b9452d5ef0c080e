"""Parts to learn from and to judge by: whole answers and whole groups, of few and of many."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.selection import answer_folds, subsample, thin
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(20, 2))


def rankings(n, length=5):
    """Answers of `length - 1` choose 2 rows each."""
    orders = np.random.default_rng(1).permuted(np.tile(np.arange(20), (n, 1)), axis=1)
    return Comparisons.from_rankings(orders[:, 0], orders[:, 1:length], n_objects=20)


def groups_of(n_rows, n_groups):
    """Comparisons of people, whose numbers are also kept beside the rows."""
    people = np.random.default_rng(2).integers(n_groups, size=n_rows)
    people[:n_groups] = np.arange(n_groups)
    return Comparisons(comparisons_from_points(POINTS, n_rows, random_state=3), subjects=people).group("subjects")


def numbered(comparisons):
    """The same with a number per row, to find it again."""
    return Comparisons(comparisons, extra={"row": np.arange(len(comparisons))})


@pytest.mark.parametrize(("n_groups", "n_folds"), [(2, 2), (3, 3), (4, 4), (12, 5)])
def test_groups_never_straddle(n_groups, n_folds):
    folds = answer_folds(groups_of(400, n_groups), np.random.default_rng(0))
    assert len(folds) == n_folds
    for train, held_out in folds:
        assert not set(train.subjects.tolist()) & set(held_out.subjects.tolist())
        assert len(train) + len(held_out) == 400
    tested = [person for _, held_out in folds for person in set(held_out.subjects.tolist())]
    assert sorted(tested) == list(range(n_groups))


def test_every_row_is_held_out_once():
    answers = numbered(rankings(50))
    folds = answer_folds(answers, np.random.default_rng(0), n_folds=10)
    assert len(folds) == 10
    held_out = np.concatenate([test.extra["row"] for _, test in folds])
    np.testing.assert_array_equal(np.sort(held_out), np.arange(len(answers)))
    for train, test in folds:
        np.testing.assert_array_equal(
            np.sort(np.concatenate([train.extra["row"], test.extra["row"]])), np.arange(len(answers))
        )
        assert test.n_answers == 5


@pytest.mark.parametrize("n_rows", [1, 4])
def test_fewer_than_five_answers_have_no_folds(n_rows):
    answers = comparisons_from_points(POINTS, n_rows, random_state=0)
    assert answer_folds(answers, np.random.default_rng(0)) == []


def test_one_group_has_no_folds():
    assert answer_folds(groups_of(400, 1), np.random.default_rng(0)) == []


def test_of_many_answers_some_are_learned_from_and_some_are_held_out_once(monkeypatch):
    monkeypatch.setattr("nearer.selection.folds.MAX_HELD_OUT_ROWS", 300)
    answers = numbered(rankings(400))
    rows = len(answers) // 400
    assert rows > 1
    ((train, held_out),) = answer_folds(answers, np.random.default_rng(0), enough=600)
    assert 600 <= len(train) < 600 + rows
    assert 300 <= len(held_out) < 300 + rows
    assert not set(train.extra["row"].tolist()) & set(held_out.extra["row"].tolist())
    for part in (train, held_out):
        assert len(part) == rows * part.n_answers  # whole answers


def test_large_groups_are_held_out_in_turn_and_thinned():
    folds = answer_folds(groups_of(4000, 6), np.random.default_rng(0), enough=3100)
    assert len(folds) == 5
    held_out_groups = [set(held_out.subjects.tolist()) for _, held_out in folds]
    assert sum(map(len, held_out_groups)) == 6
    for (train, _), groups in zip(folds, held_out_groups, strict=True):
        assert set(train.subjects.tolist()) == set(range(6)) - groups
        assert 0 < len(train) <= 3100


def test_a_sample_of_few_large_groups_has_at_least_one():
    part = subsample(groups_of(4000, 2), 100, np.random.default_rng(0))
    assert len(set(part.subjects.tolist())) == 1
    assert 1500 < len(part) < 2500
    assert len(thin(groups_of(4000, 2), 100, np.random.default_rng(0))) == 100
