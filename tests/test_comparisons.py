"""The container: what it refuses, and that it never cuts an answer apart."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, train_test_split
from sklearn.utils import _safe_indexing

from extras import needs
from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import as_comparisons
from strategies import comparisons, same

ODD = Comparisons.from_odd_one_out(
    [[0, 1, 2], [3, 1, 4], [2, 5, 0], [1, 5, 4], [4, 3, 0]], "last", subjects=list("aabbc")
)


def test_rows_are_int32_contiguous_and_read_only():
    given_rows = np.array([[0.0, 1.0, 2.0]])
    made = Comparisons(given_rows)
    assert made.rows.dtype == np.int32
    assert made.rows.flags.c_contiguous
    assert not made.rows.flags.writeable
    assert made.shape == (1, 3)
    assert given_rows.flags.writeable


def test_int32_rows_are_not_copied_and_stay_writable_for_their_owner():
    rows = np.array([[0, 1, 2]], dtype=np.int32)
    made = Comparisons(rows)
    assert np.shares_memory(made.rows, rows)
    assert rows.flags.writeable
    fortran = np.asfortranarray(np.array([[0, 1, 2], [1, 0, 2]], dtype=np.int32))
    assert Comparisons(fortran).rows.flags.c_contiguous


def test_frozen():
    with pytest.raises(AttributeError, match="frozen"):
        ODD.rows = None
    with pytest.raises(TypeError):
        ODD.extra["new"] = 1
    with pytest.raises(ValueError, match="read-only"):
        ODD.subjects[0] = "z"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1, 2], [4, 4, 1]], "row 1 compares object 4 with itself"),
        ([[0, 1, 2], [4, 1, 4]], "row 1 compares object 4 with itself"),
        ([[0, 1, 1]], "row 0 has object 1 both as the nearer and as the farther one"),
        ([[0, 0, 1, 2]], "row 0 compares object 0 with itself"),
        ([[0, 1, 2, 2]], "row 0 compares object 2 with itself"),
        ([[0, 1, 1, 0]], "row 0 compares the pair of object 0 and object 1 with itself"),
        ([[0, 1, 0, 1]], "row 0 compares the pair of object 0 and object 1 with itself"),
        ([[0, 1, 2], [0, 1, -1]], "row 1 names object -1"),
        ([[0, 1, 2.5]], "row 0 holds 2.5, which is not a whole number"),
        ([[0, 1, 2], [0, np.nan, 2]], "row 1 holds NaN"),
        ([[0, 1, np.inf]], "row 0 holds inf, which is not a whole number"),
        ([[0, 1, 2**31]], "row 0 names object 2147483648, which does not fit"),
        ([["0", "1", "2"], ["0", "", "1"]], "row 1 holds ''"),
        (np.array([[0, 1, None]], dtype=object), "row 0 holds"),
        ([[True, False, True]], "whole numbers; got an array of bool"),
        ([[0, 1]], r"got an array of shape \(1, 2\)"),
        ([0, 1, 2], r"got an array of shape \(3,\)"),
        ([[0, 1, 2], [0, 1]], "same number of columns"),
        ([], "3 columns"),
    ],
)
def test_bad_rows_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        Comparisons(rows)


def test_a_bad_row_far_down_is_named_by_its_own_number():
    rows = np.tile(np.array([[0, 1, 2]]), (300_000, 1))
    rows[299_998] = [1, 1, 0]
    with pytest.raises(ValueError, match="row 299998 compares object 1 with itself"):
        Comparisons(rows)
    assert Comparisons(rows, bad_rows="drop").n_dropped == 1


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"n_objects": 2}, "row 0 names object 2, but there are only 2 objects"),
        ({"n_objects": -1}, "n_objects must be"),
        ({"n_objects": 3.0}, "n_objects must be"),
        ({"names": ["a", "b"]}, "only 2 objects"),
        ({"names": ["a", "b", "c"], "n_objects": 4}, "3 names were given for 4 objects"),
        ({"names": ["a", "b", "a"]}, "'a' is given to two objects"),
        ({"names": "abc"}, "got the text 'abc'"),
        ({"weights": [-1.0, 1]}, "row 0 has weight -1"),
        ({"weights": [1, np.nan]}, "row 1 has weight nan"),
        ({"weights": [np.inf, 1]}, "row 0 has weight inf"),
        ({"weights": ["x", 1]}, "row 0 has weight 'x'; a weight is a finite number"),
        ({"weights": [1.0]}, "weights must have one value for each of the 2 rows"),
        ({"subjects": ["ann"]}, "subjects must have one value"),
        ({"answers": [1, 2, 3]}, "answers must have one value"),
        ({"answers": [1, np.nan]}, "row 1 has no answer id"),
        ({"answers": ["p", ""]}, "row 1 has no answer id"),
        ({"extra": {"rt": [1]}}, r"extra\['rt'\] must have one value"),
        ({"bad_rows": "keep"}, "bad_rows must be 'raise' or 'drop'"),
    ],
)
def test_contradictory_columns_are_refused(columns, message):
    with pytest.raises(ValueError, match=message):
        Comparisons([[0, 1, 2], [1, 0, 2]], **columns)


def test_a_triplet_in_disguise_is_a_lawful_quadruplet():
    assert len(Comparisons([[0, 1, 0, 2]])) == 1


def test_dropping_takes_the_columns_along():
    made = Comparisons(
        [[0, 1, 2], [0, 0, 1], [0, np.nan, 1], [2, 1, 0]],
        weights=[1, 2, 3, 4],
        subjects=list("abcd"),
        answers=[7, 7, 8, 7],
        extra={"rt": [0.1, 0.2, 0.3, 0.4]},
        bad_rows="drop",
    )
    assert made.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert made.n_dropped == 2
    assert made.weights.tolist() == [1, 4]
    assert made.subjects.tolist() == ["a", "d"]
    assert made.answers.tolist() == [0, 0]
    assert made.extra["rt"].tolist() == [0.1, 0.4]


def test_bad_weights_and_missing_answer_ids_are_dropped_too():
    rows = [[0, 1, 2], [9, 1, 2], [0, 1, 3], [2, 2, 1], [2, 1, 0]]
    made = Comparisons(rows, weights=[1, -1, 1, 1, 2], answers=["p", "p", "", "q", "q"], bad_rows="drop")
    assert made.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert (made.n_dropped, made.n_objects, made.weights.tolist()) == (3, 3, [1, 2])
    assert not made.rows.flags.writeable


def test_empty_is_allowed():
    empty = Comparisons(np.empty((0, 3), dtype=int), n_objects=5)
    assert len(empty) == 0
    assert empty.n_objects == 5
    assert empty.report().rows == 0
    assert str(empty.report())
    assert len(ODD[np.zeros(len(ODD), dtype=bool)]) == 0


def test_answers_are_numbered_by_first_appearance_and_made_on_demand():
    assert Comparisons([[0, 1, 2]] * 3, answers=["q", "p", "q"]).answers.tolist() == [0, 1, 0]
    plain = Comparisons([[0, 1, 2]] * 3, answers=[9, 5, 1])
    assert plain.answers.tolist() == [0, 1, 2]
    assert plain.n_answers == 3
    assert ODD.n_answers == 5


def test_columns_can_be_given_anew():
    again = Comparisons(ODD, weights=np.full(10, 2.0))
    assert again.weights.tolist() == [2.0] * 10
    assert again.subjects.tolist() == ODD.subjects.tolist()
    assert again.answers.tolist() == ODD.answers.tolist()
    assert Comparisons(Comparisons([[0, 1, 2]], n_objects=5)).n_objects == 5
    assert Comparisons(Comparisons([[0, 1, 2]], names=list("abcd")), names=list("wxyz")).names == tuple("wxyz")


def test_pickle_and_copy_stay_frozen():
    for twin in (pickle.loads(pickle.dumps(ODD)), copy.deepcopy(ODD), copy.copy(ODD)):
        assert same(twin, ODD)
        assert not twin.rows.flags.writeable
        with pytest.raises(TypeError):
            twin.extra["new"] = 1


def test_arrays_from_it():
    assert np.asarray(ODD) is ODD.rows or np.shares_memory(np.asarray(ODD), ODD.rows)
    assert np.array(ODD, dtype=float).dtype == float


def test_of_takes_what_learners_take():
    needs("pandas")
    import pandas as pd

    assert Comparisons.of(ODD) is ODD
    frame = pd.DataFrame({"far": [2], "near": [1], "anchor": [0], "rt": [0.5]})
    assert Comparisons.of(frame).rows.tolist() == [[0, 1, 2]]
    assert Comparisons.of(frame).extra["rt"].tolist() == [0.5]
    assert Comparisons.of(pd.DataFrame([[0, 1, 2]])).rows.tolist() == [[0, 1, 2]]
    named = Comparisons(pd.DataFrame({"head": ["x"], "winner": ["z"], "loser": ["y"], "subject": ["ann"]}))
    assert named.names == ("x", "y", "z")
    assert named.subjects.tolist() == ["ann"]
    with pytest.raises(ValueError, match="row 0 compares object 1 with itself"):
        Comparisons(pd.DataFrame({"anchor": [1], "near": [1], "far": [0]}))
    source = ComparisonSource((lambda: iter([ODD[:4], ODD[4:]]),), n_rows=10, n_columns=3, n_objects=6)
    assert same(Comparisons.of(source), ODD)


# Selecting ------------------------------------------------------------------------------------------------


def test_indexing_keeps_objects_and_columns():
    made = Comparisons(
        [[0, 1, 2], [1, 0, 2], [2, 1, 0]], names=list("wxyz"), weights=[1, 2, 3], extra={"t": [4, 5, 6]}
    )
    for part in (made[1:], made[np.array([False, True, True])], made[[1, 2]], made[np.array([1, -1]), ...]):
        assert isinstance(part, Comparisons)
        assert part.rows.tolist() == [[1, 0, 2], [2, 1, 0]]
        assert part.n_objects == 4
        assert part.names == ("w", "x", "y", "z")
        assert part.weights.tolist() == [2, 3]
        assert part.extra["t"].tolist() == [5, 6]
    assert made[1].tolist() == [1, 0, 2]
    assert made[::-1].rows.tolist() == [[2, 1, 0], [1, 0, 2], [0, 1, 2]]
    assert made[::-1].rows.flags.c_contiguous


@pytest.mark.parametrize("key", [[3], [-4], np.array([True]), [0.5], "a", (0, 1), [[0, 1]]])
def test_bad_keys(key):
    with pytest.raises(IndexError):
        Comparisons([[0, 1, 2]] * 3)[key]


def test_an_answer_comes_whole_with_its_first_row():
    assert ODD[[0]].answers.tolist() == [0, 0]
    assert ODD[:1].rows.tolist() == ODD.rows[:2].tolist()
    assert len(ODD[[1]]) == 0
    assert ODD[[4, 2]].rows.tolist() == ODD.rows[[4, 5, 2, 3]].tolist()


def test_bootstrap_repeats_answers_which_stay_one():
    again = ODD[[2, 0, 2]]
    assert again.rows.tolist() == ODD.rows[[2, 3, 0, 1, 2, 3]].tolist()
    assert again.answers.tolist() == [0, 0, 1, 1, 0, 0]
    plain = Comparisons([[0, 1, 2], [1, 0, 2]])[[1, 1, 0]]
    assert plain.answers.tolist() == [0, 0, 1]


SPLITTERS = [
    KFold(3, shuffle=True, random_state=0),
    KFold(2),
    ShuffleSplit(3, test_size=0.3, random_state=0),
    GroupKFold(3),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@pytest.mark.parametrize("shuffled", [False, True])
def test_scikit_learns_splitters_give_whole_answers(splitter, shuffled):
    marked = Comparisons(ODD.rows, answers=ODD.answers, extra={"row": np.arange(10), "said": ODD.answers})
    if shuffled:
        order = np.random.default_rng(1).permutation(10)
        marked = Comparisons(
            ODD.rows[order], answers=ODD.answers[order], extra={"row": order, "said": ODD.answers[order]}
        )
    for train, test in splitter.split(marked, groups=marked.answers if isinstance(splitter, GroupKFold) else None):
        parts = _safe_indexing(marked, train), _safe_indexing(marked, test)
        assert all(isinstance(part, Comparisons) for part in parts)
        rows = np.concatenate([part.extra["row"] for part in parts])
        assert sorted(rows.tolist()) == list(range(10))
        assert not set(parts[0].extra["said"].tolist()) & set(parts[1].extra["said"].tolist())


def test_train_test_split():
    train, test = train_test_split(ODD, test_size=0.4, random_state=0)
    assert len(train) + len(test) == len(ODD)
    assert train.n_answers + test.n_answers == ODD.n_answers


@given(comparisons(), st.data())
@settings(max_examples=80, deadline=None)
def test_any_partition_of_rows_is_a_partition_of_answers(made, data):
    marked = Comparisons(
        made.rows, answers=made.answers, extra={"said": made.answers, "row": np.arange(len(made))}
    )
    side = np.array(data.draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made))))
    one, two = marked[side], marked[~side]
    assert sorted([*one.extra["row"].tolist(), *two.extra["row"].tolist()]) == list(range(len(made)))
    assert not set(one.extra["said"].tolist()) & set(two.extra["said"].tolist())
    assert one.n_answers + two.n_answers == marked.n_answers


@given(comparisons(min_rows=2), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_split_is_by_answers_and_repeatable(made, seed):
    if made.n_answers < 2:
        with pytest.raises(ValueError, match="cannot split 1 answers"):
            made.split()
        return
    train, test = made.split(0.4, random_state=seed)
    assert train.n_answers + test.n_answers == made.n_answers
    assert len(train) + len(test) == len(made)
    assert test.n_answers == min(max(round(0.4 * made.n_answers), 1), made.n_answers - 1)
    again = made.split(0.4, random_state=seed)
    assert same(again[0], train)
    assert same(again[1], test)


@pytest.mark.parametrize("size", [0.0, 1.0, 0, 5, -1, 1.5])
def test_split_refuses_an_empty_part(size):
    with pytest.raises(ValueError, match="cannot split 5 answers"):
        ODD.split(size)


def test_split_by_number_of_answers():
    assert [part.n_answers for part in ODD.split(2, random_state=np.random.RandomState(0))] == [3, 2]


def people(n, n_people):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(8), (n, 1)), axis=1)[:, :3]
    names = [f"person {number % n_people}" for number in range(n)]
    return Comparisons.from_odd_one_out(rows, "last", subjects=names)


def test_a_group_is_one_answer_of_the_same_rows():
    answers = people(30, 7)
    grouped = answers.group("subjects")
    assert (answers.n_answers, grouped.n_answers) == (30, 7)
    assert grouped.rows.tolist() == answers.rows.tolist()
    assert grouped.subjects.tolist() == answers.subjects.tolist()
    assert len(grouped[:1]) == np.sum(answers.subjects == "person 0")
    by_value = answers.group(answers.subjects == "person 3")
    assert by_value.n_answers == 2


@pytest.mark.parametrize(("size", "n_test"), [(0.3, 2), (3, 3), (0.01, 1), (0.99, 6)])
def test_split_by_groups_has_no_group_in_both_parts(size, n_test):
    answers = people(30, 7)
    train, test = answers.split(size, random_state=0, groups="subjects")
    assert len(set(test.subjects.tolist())) == n_test
    assert not set(train.subjects.tolist()) & set(test.subjects.tolist())
    assert len(train) + len(test) == len(answers)
    assert train.n_answers + test.n_answers == 30  # which stay what they are


def test_groups_that_cannot_be_are_refused():
    answers = people(30, 7)
    with pytest.raises(ValueError, match=r"cannot split 7 groups with test_size=7: .* a number of groups"):
        answers.split(7, groups="subjects")
    with pytest.raises(ValueError, match="groups must be 'subjects' or one value per row; got 'people'"):
        answers.group("people")
    with pytest.raises(ValueError, match="these do not say who answered"):
        Comparisons([[0, 1, 2]]).group("subjects")
    with pytest.raises(ValueError, match="2"):
        answers.group([0, 1])


# Making others --------------------------------------------------------------------------------------------


def test_flip_turns_whole_answers():
    flipped = ODD.flip(0.4, random_state=0)
    changed = (flipped.rows != ODD.rows).any(axis=1)
    assert changed.sum() == 4
    assert set(np.bincount(ODD.answers[changed], minlength=5).tolist()) == {0, 2}
    assert flipped.rows[changed].tolist() == ODD.rows[changed][:, [0, 2, 1]].tolist()
    assert flipped.subjects.tolist() == ODD.subjects.tolist()
    assert ODD.flip(1.0).flip(1.0).rows.tolist() == ODD.rows.tolist()
    assert Comparisons([[0, 1, 2, 3]]).flip(1.0).rows.tolist() == [[2, 3, 0, 1]]
    with pytest.raises(ValueError, match="fraction"):
        ODD.flip(1.1)


def test_merge_sums_weights():
    made = Comparisons(
        [[3, 1, 2], [0, 1, 2], [3, 1, 2]], weights=[1, 2, 0.5], subjects=list("abc"), names=list("abcd")
    )
    merged = made.merge()
    assert merged.rows.tolist() == [[3, 1, 2], [0, 1, 2]]
    assert merged.weights.tolist() == [1.5, 2]
    assert merged.names == made.names
    assert merged.subjects is None
    quads = Comparisons([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1]]).merge()
    assert quads.rows.tolist() == [[0, 1, 2, 3], [2, 3, 0, 1]]
    assert len(Comparisons(np.empty((0, 3), dtype=int)).merge()) == 0


def test_merge_with_more_objects_than_fit_a_code():
    rows = np.array([[70_000, 1, 99_999], [70_000, 99_999, 1], [70_000, 1, 99_999]])
    merged = Comparisons(rows).merge()
    assert merged.rows.tolist() == rows[:2].tolist()
    assert merged.weights.tolist() == [2, 1]
    assert Comparisons(rows).report().contradictions == 1


def test_concat():
    plain = Comparisons([[0, 1, 2]], weights=[3])
    both = Comparisons.concat([plain, ODD])
    assert both.n_objects == 6
    assert both.weights.tolist() == [3] + [1] * 10
    assert both.answers.tolist() == [0, *(ODD.answers + 1).tolist()]
    assert both.subjects is None
    assert Comparisons.concat([ODD, ODD]).subjects.tolist() == ODD.subjects.tolist() * 2
    mixed = Comparisons.concat([plain, Comparisons([[0, 1, 2, 3]])])
    assert mixed.rows.tolist() == [[0, 1, 0, 2], [0, 1, 2, 3]]
    with pytest.raises(ValueError, match="cannot be matched"):
        Comparisons.concat([plain, Comparisons([[0, 1, 2]], names=list("abc"))])
    with pytest.raises(ValueError, match="no parts"):
        Comparisons.concat([])


# What people say ------------------------------------------------------------------------------------------


def test_odd_one_out_and_most_central():
    assert Comparisons.from_odd_one_out([[5, 6, 7]], "last").rows.tolist() == [[5, 6, 7], [6, 5, 7]]
    picked = Comparisons.from_odd_one_out([[5, 6, 7], [1, 2, 3]], odd=[5, 2], weights=[1, 2], extra={"t": [8, 9]})
    assert picked.rows.tolist() == [[6, 7, 5], [7, 6, 5], [1, 3, 2], [3, 1, 2]]
    assert picked.weights.tolist() == [1, 1, 2, 2]
    assert picked.extra["t"].tolist() == [8, 8, 9, 9]
    central = Comparisons.from_most_central([[5, 6, 7]], central=[6])
    assert central.rows.tolist() == [[5, 6, 7], [7, 6, 5]]
    with pytest.raises(ValueError, match=r"row 1 has odd object 9, which is none of \[1, 2, 3\]"):
        Comparisons.from_odd_one_out([[5, 6, 7], [1, 2, 3]], odd=[5, 9])
    with pytest.raises(ValueError, match="row 1 compares object 2 with itself"):
        Comparisons.from_odd_one_out([[5, 6, 7], [2, 2, 3]], "last")
    with pytest.raises(ValueError, match="weights must have one value for each of the 1 answers"):
        Comparisons.from_odd_one_out([[5, 6, 7]], "last", weights=[1, 2])
    with pytest.raises(ValueError, match="objects must be a table of at least 3 columns"):
        Comparisons.from_odd_one_out([[5, 6]], "last")


def test_which_object_was_odd_has_to_be_said():
    objects = [[5, 6, 7], [0, 1, 2]]
    for say in ({}, {"odd": [5, 0], "odd_index": [0, 0]}):
        with pytest.raises(ValueError, match="say which object was picked: odd= takes the picked objects"):
            Comparisons.from_odd_one_out(objects, **say)
    by_object = Comparisons.from_odd_one_out(objects, odd=[6, 0])
    by_column = Comparisons.from_odd_one_out(objects, odd_index=[1, 0])
    assert same(by_object, by_column)
    first, last = (Comparisons.from_odd_one_out(objects, where) for where in ("first", "last"))
    assert first.rows.tolist() == [[6, 7, 5], [7, 6, 5], [1, 2, 0], [2, 1, 0]]
    assert last.rows.tolist() == [[5, 6, 7], [6, 5, 7], [0, 1, 2], [1, 0, 2]]
    with pytest.raises(ValueError, match=r"row 0 has odd object 1, .* numbers of columns are passed as odd_index"):
        Comparisons.from_odd_one_out(objects, [1, 0])
    with pytest.raises(ValueError, match="odd_index must be 2 column numbers from 0 to 2"):
        Comparisons.from_odd_one_out(objects, odd_index=[1, 3])
    with pytest.raises(ValueError, match="central= takes the picked objects"):
        Comparisons.from_most_central(objects)
    assert Comparisons.from_most_central(objects, central_index=[0, 2]).rows[0].tolist() == [6, 5, 7]


@pytest.mark.parametrize("k", [3, 4, 6])
def test_odd_one_out_of_several_has_every_pair_of_the_others(k):
    objects = np.random.default_rng(0).permuted(np.tile(np.arange(8), (5, 1)), axis=1)[:, :k]
    odd = objects[np.arange(5), np.arange(5) % k]
    made = Comparisons.from_odd_one_out(objects, odd, n_objects=8)
    wanted = {
        (answer, x, y, odd[answer])
        for answer in range(5)
        for x in objects[answer]
        for y in objects[answer]
        if len({x, y, odd[answer]}) == 3
    }
    assert {(answer, *row) for answer, row in zip(made.answers, made.rows.tolist(), strict=True)} == wanted
    assert len(made) == len(wanted) == 5 * (k - 1) * (k - 2)
    central = Comparisons.from_most_central(objects, odd, n_objects=8)
    assert {
        (answer, x, y, c) for answer, (x, c, y) in zip(central.answers, central.rows.tolist(), strict=True)
    } == wanted


def test_multiselect():
    made = Comparisons.from_multiselect(
        ["a", "b"], [["b", "c", "d"], ["a", "c"]], [["c", "b"], "a"], subjects=[7, 8]
    )
    named = [[made.names[i] for i in row] for row in made.rows]
    assert named == [["a", "c", "d"], ["a", "b", "d"], ["b", "a", "c"]]
    assert made.answers.tolist() == [0, 0, 1]
    assert made.subjects.tolist() == [7, 7, 8]
    with pytest.raises(ValueError, match=r"row 1 has 9 selected, which is none of \[1, 2\]"):
        Comparisons.from_multiselect([0, 0], [[1, 2], [1, 2]], [[1], [9]])
    with pytest.raises(ValueError, match="row 0 has 2 of 2 objects selected; some must be, and some must not"):
        Comparisons.from_multiselect([0], [[1, 2]], [[1, 2]])
    with pytest.raises(ValueError, match="anchors, shown and selected must be as many"):
        Comparisons.from_multiselect([0], [[1, 2]], [])


def test_sparse_rows_are_refused_in_words():
    with pytest.raises(TypeError, match=r"rows must be a dense table .* got a sparse one"):
        Comparisons(csr_array(np.arange(3)[None]))


def test_rankings():
    made = Comparisons.from_rankings([0, 4], [[1, 2, 3], [0, 1]], subjects=["ann", "bob"])
    assert made.rows.tolist() == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [4, 0, 1]]
    assert made.answers.tolist() == [0, 0, 0, 1]
    assert made.subjects.tolist() == ["ann"] * 3 + ["bob"]
    with pytest.raises(ValueError, match="row 1 ranks 1 objects"):
        Comparisons.from_rankings([0, 1], [[1, 2], [3]])
    with pytest.raises(ValueError, match="row 1 compares object 1 with itself"):
        Comparisons.from_rankings([0, 1], [[1, 2], [3, 1]])


@pytest.mark.parametrize(
    "responses", [[True, False], [1, -1], [1.0, -1.0], [1, 0], [1.0, 0.0], np.array([1, -1], dtype=object)]
)
def test_yes_and_no(responses):
    assert Comparisons.from_answers([[0, 1, 2], [0, 1, 2]], responses).rows.tolist() == [[0, 1, 2], [0, 2, 1]]


def test_signed_counts_are_answers_with_weights():
    queries = [[0, 1, 2], [0, 1, 2], [3, 4, 5]]
    counted = Comparisons.from_answers(queries, [3, -2, 1], weights=[1.0, 2.0, 0.5])
    assert counted.rows.tolist() == [[0, 1, 2], [0, 2, 1], [3, 4, 5]]
    assert counted.weights.tolist() == [3.0, 4.0, 0.5]
    fitted = as_comparisons(queries, [3, -2, 1], [1.0, 2.0, 0.5])
    assert same(fitted, counted)
    assert as_comparisons(queries, [1, 0, 0]).rows.tolist() == [[0, 1, 2], [0, 2, 1], [3, 5, 4]]
    with pytest.warns(UserWarning, match="all responses are 1 or 2: both are yes"):  # they may be positions
        assert as_comparisons(queries, [1, 2, 1]).weights.tolist() == [1.0, 2.0, 1.0]


@pytest.mark.parametrize("response", [0, 0.5, np.nan, "yes"])
def test_other_responses_are_refused_by_row(response):
    with pytest.raises(ValueError, match="row 1 has response"):
        Comparisons.from_answers([[0, 1, 2], [0, 1, 2]], [-1, response])
    with pytest.raises(ValueError, match="need as many responses"):
        Comparisons.from_answers([[0, 1, 2]], [1, 1])


# The report -----------------------------------------------------------------------------------------------


def test_report():
    made = Comparisons(
        [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 2, 1], [3, 4, 5]],
        n_objects=8,
        names=list("abcdefgh"),
        subjects=["ann", "bob", "cid", "cid", "ann"],
    )
    report = made.report()
    assert (report.objects, report.rows, report.answers) == (6, 5, 5)
    assert report.repeats == 2
    assert report.contradictions == 1
    assert report.never_asked == ["g", "h"]
    assert report.groups == [["a", "b", "c"], ["d", "e", "f"]]
    # without cid's own two rows the others all say (0, 1, 2); without ann's, they divide 1 to 2
    assert report.agreement == {"ann": (0.0, 1), "bob": (0.0, 1), "cid": (0.0, 2)}
    text = str(report)
    assert "6 (2 more never asked about: g, h)" in text
    assert "contradictions  1" in text


def test_a_report_of_many_rows_has_separators():
    text = str(Comparisons([[0, 1, 2]] * 1200, n_objects=3).report())
    assert "rows            1,200\nanswers         1,200\nrepeats         1,199\n" in text


def test_report_counts_dropped_rows_and_joins_quadruplets():
    made = Comparisons([[0, 1, 2, 3], [0, 0, 1, 2]], bad_rows="drop")
    assert made.report().dropped == 1
    assert "1 impossible row" in str(made.report())
    assert made.report().groups == [[0, 1, 2, 3]]


def test_report_on_food73(data_set):
    report = data_set("food73").answers.report()
    assert report.rows - report.repeats == 72_148
    assert report.contradictions == 3_282
    assert len(report.groups) == 1


# Size -----------------------------------------------------------------------------------------------------


def test_many_rows_need_little_memory_beside_themselves():
    rows = np.tile(np.array([[0, 1, 2], [2, 1, 0]], dtype=np.int32), (1_000_000, 1))  # 24 MB
    tracemalloc.start()
    made = Comparisons(rows)
    first = made[:1_000_000]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6
    assert len(first) == 1_000_000
