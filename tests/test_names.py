"""Objects given by name: in every constructor of Comparisons, and in the methods of models of answers."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from extras import needs
from nearer import LEGO, ComparisonKernel, Comparisons, OnlineKernel, OrdinalEmbedding
from nearer.similarity.inputs import match_comparisons

CITIES = ("Prague", "Rome", "Vienna")
ROWS = [["Vienna", "Prague", "Rome"], ["Prague", "Vienna", "Rome"]]
NUMBERS = [[2, 0, 1], [0, 2, 1]]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        tuple(map(tuple, ROWS)),
        np.array(ROWS),
        np.array(ROWS, dtype=object),
        np.array(ROWS, dtype="S"),
        [[f" {name}" for name in row] for row in ROWS],
    ],
    ids=["lists", "tuples", "text array", "object array", "bytes", "blanks"],
)
def test_rows_of_names_are_rows_of_objects_with_names(rows):
    given = Comparisons(rows, names=CITIES)
    assert given.rows.tolist() == NUMBERS
    found = Comparisons(rows)
    assert [[found.names[i].strip() for i in row] for row in found.rows] == ROWS


def test_names_are_sorted_as_those_of_files_are():
    assert Comparisons(ROWS).names == CITIES
    assert Comparisons(ROWS).rows.tolist() == NUMBERS
    assert Comparisons(ROWS, names=["Rome", "Vienna", "Prague"]).rows.tolist() == [[1, 2, 0], [2, 1, 0]]


def test_text_that_spells_numbers_is_numbers_unless_names_are_spelled_like_that():
    assert Comparisons([["0", "1", "2"]]).names is None
    named = Comparisons([["10", "20", "30"]], names=["30", "20", "10"])
    assert named.rows.tolist() == [[2, 1, 0]]
    assert Comparisons([["0", "1", "2"]], names=["a", "b", "c"]).rows.tolist() == [[0, 1, 2]]
    gaps = Comparisons([["30", "10", "20"]])  # as in a file: no objects that do not occur
    assert (gaps.names, gaps.rows.tolist()) == (("10", "20", "30"), [[2, 0, 1]])
    assert Comparisons([["3", "1", "2"]], n_objects=5).names is None


def test_names_that_are_numbers_are_rows_of_features():
    X = np.random.default_rng(0).normal(size=(20, 3))
    expected = LEGO(random_state=0).fit(X, comparisons=[[5, 7, 9], [6, 8, 10]]).components_
    gaps = Comparisons([["5", "7", "9"], ["6", "8", "10"]])
    assert (LEGO(random_state=0).fit(X, comparisons=gaps).components_ == expected).all()
    assert (LEGO(random_state=0).fit(X.tolist(), comparisons=gaps).components_ == expected).all()
    with pytest.raises(ValueError, match="about object 21, but X has only 20 rows"):
        LEGO(random_state=0).fit(X, comparisons=[["5", "7", "21"]])
    needs("pandas")
    import pandas as pd

    assert (LEGO(random_state=0).fit(pd.DataFrame(X), comparisons=gaps).components_ == expected).all()
    moved = pd.DataFrame(np.roll(X, -1, axis=0), index=[*range(1, 20), 0])
    assert match_comparisons(moved, gaps).rows.tolist() == [[4, 6, 8], [5, 7, 9]]


def test_a_name_that_no_object_has_is_reported_with_its_row():
    with pytest.raises(ValueError, match="row 1 names 'Oslo', which is none of the 3 objects"):
        Comparisons([*ROWS[:1], ["Oslo", "Rome", "Vienna"]], names=CITIES)
    with pytest.raises(ValueError, match="row 0 has an empty cell where an object is expected"):
        Comparisons(np.array([["Rome", None, "Vienna"]], dtype=object))
    with pytest.raises(ValueError, match=r"row 0 compares .*Rome.* with itself"):
        Comparisons([["Rome", "Rome", "Vienna"]])
    kept = Comparisons([*ROWS, ["Rome", "", "Vienna"], ["Rome", "Rome", "Prague"]], bad_rows="drop")
    assert (len(kept), kept.n_dropped, kept.names) == (2, 2, CITIES)


def test_every_constructor_takes_names():
    def named(answers):
        return [[answers.names[i] for i in row] for row in answers.rows]

    triple = [["Rome", "Vienna", "Prague"]]
    odd = [["Vienna", "Prague", "Rome"], ["Prague", "Vienna", "Rome"]]
    assert named(Comparisons.from_odd_one_out(triple, odd=["Rome"])) == odd
    central = [["Rome", "Vienna", "Prague"], ["Prague", "Vienna", "Rome"]]
    assert named(Comparisons.from_most_central(triple, central=["Vienna"])) == central
    ranking = Comparisons.from_rankings(["Vienna", "Rome"], [["Prague", "Rome", "Oslo"], ("Vienna", "Prague")])
    assert named(ranking) == [
        ["Vienna", "Prague", "Rome"],
        ["Vienna", "Prague", "Oslo"],
        ["Vienna", "Rome", "Oslo"],
        ["Rome", "Vienna", "Prague"],
    ]
    assert named(Comparisons.from_answers(triple, [False])) == [["Rome", "Prague", "Vienna"]]
    assert Comparisons.of(ROWS).names == CITIES


MODELS = [
    OrdinalEmbedding(1, loss="ste", regularization=0.01, random_state=0),
    ComparisonKernel(regularization=0.1),
    OnlineKernel(),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_take_names_and_answer_in_names(model):
    model.fit(ROWS)
    assert model.names_ == CITIES
    assert model.predict(ROWS).tolist() == model.predict(NUMBERS).tolist() == [1, 1]
    assert model.predict(np.array([["Vienna", "Rome", "Prague"]])).tolist() == [-1]
    assert model.score(ROWS) == 1.0
    assert model.score(ROWS, [True, False]) == 0.5
    _, neighbors = model.neighbors("Vienna", k=1)
    assert neighbors.tolist() == [["Prague"]]
    assert model.neighbors(2, k=1)[1].tolist() == [["Prague"]]
    model.fit(NUMBERS)
    assert model.neighbors([2, 0], k=1)[1].tolist() == [[0], [2]]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_the_columns_of_predict_proba_are_in_the_order_of_classes(model):
    model.fit(ROWS)
    probabilities = model.predict_proba([["Vienna", "Prague", "Rome"], ["Vienna", "Rome", "Prague"]])
    assert model.classes_[probabilities.argmax(axis=1)].tolist() == [1, -1]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_unknown_objects_are_an_error_unless_skipped(model):
    model.fit(ROWS)
    asked = [["Vienna", "Prague", "Rome"], ["Vienna", "Rome", "Prague"], ["Vienna", "Oslo", "Rome"]]
    for method in (model.predict, model.predict_proba, model.score):
        with pytest.raises(ValueError, match="row 2 is about object 'Oslo', which the model does not know"):
            method(asked)
        with pytest.raises(ValueError, match="row 0 is about object 7, which the model does not know"):
            method([[0, 7, 1]])
        with pytest.raises(ValueError, match="unknown must be 'raise' or 'skip'; got 'ignore'"):
            method(asked, unknown="ignore")
    assert model.predict(asked, unknown="skip").tolist() == [1, -1, 0]
    assert np.isnan(model.predict_proba(asked, unknown="skip")).any(axis=1).tolist() == [False, False, True]
    assert model.score(asked, unknown="skip") == 0.5
    assert model.score(asked, sample_weight=[3.0, 1.0, 5.0], unknown="skip") == 0.75
    with pytest.raises(ValueError, match="nothing to score: no comparisons of objects that the model knows"):
        model.score([["Oslo", "Bergen", "Rome"]], unknown="skip")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_array_can_be_cross_validated_though_a_part_lacks_the_last_object(model):
    folds = [(np.arange(2), np.arange(2, 5))]  # the last row is about object 3, which no other row mentions
    rows = np.array([*NUMBERS, *NUMBERS, [2, 0, 3]])
    with pytest.warns(
        UserWarning, match="1 of 3 rows are about objects of higher numbers than those of the model"
    ):
        assert cross_val_score(model, rows, cv=folds, error_score="raise").tolist() == [1.0]
    model.fit(NUMBERS)
    with pytest.raises(ValueError, match="row 0 is about object 7, which the model does not know"):
        model.predict([[0, 7, 1]])
    with pytest.raises(ValueError, match="nothing to score: no comparisons of objects that the model knows"):
        model.score([[0, 7, 1]])


def test_a_frame_of_questions_is_no_frame_of_answers():
    needs("pandas")
    import pandas as pd

    frame = pd.DataFrame({"choice2": ["c", "b"], "choice1": ["b", "c"], "anchor": ["a", "a"], "subject": [1, 2]})
    model = OrdinalEmbedding(1, loss="ste", regularization=0.01, random_state=0)
    for table in (frame, frame.assign(key=["f", "j"])):
        with pytest.raises(ValueError, match="questions without answers; add a column response"):
            model.fit(table)
        model.fit(table, [True, False])
        assert model.predict(table).tolist() == [1, -1]
        with pytest.raises(ValueError, match="are questions without answers"):
            model.score(table)
        assert model.score(table, [True, True]) == 0.5
    assert model.fit(frame.assign(response=["b", "b"])).predict(frame).tolist() == [1, -1]


def test_numbers_are_names_where_all_names_are_numbers():
    model = OrdinalEmbedding(1, loss="ste", regularization=0.01, random_state=0)
    model.fit(Comparisons(NUMBERS, names=["1001", "1002", "1003"]))
    assert model.predict([[1003, 1001, 1002], ["1003", "1002", "1001"]]).tolist() == [1, -1]
    assert model.neighbors(1003, k=1)[1].tolist() == [["1001"]]
    with pytest.raises(ValueError, match="row 0 is about object 0, which the model does not know"):
        model.predict([[0, 1, 2]])


def test_a_few_names_move_a_map_that_has_them():
    model = OrdinalEmbedding(1, loss="ste", regularization=0.01, random_state=0).fit(ROWS)
    model.partial_fit([["Vienna", "Oslo", "Rome"]])
    assert model.names_ == (*CITIES, "Oslo")
