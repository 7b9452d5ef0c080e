"""Files: what is written comes back, what cannot be kept is refused, what is wrong is named by line."""

import builtins
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extras import needs
from nearer import Comparisons, read, scan, write
from nearer.comparisons.layouts import LAYOUTS, OPTIONAL, OptionalColumn, number_column, understand
from nearer.comparisons.objects import NUMBER
from nearer.datasets import source_of
from nearer.files import replacing
from nearer.formats import jsonl
from strategies import comparisons, same

HERE = Path(__file__).parent / "data"
BRIEF = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Words that text files give back as they are: not blank at either end, and no number, boolean or nothing.
words = st.text("abcü, ;\"'\t#", min_size=1, max_size=6).map(lambda word: "x" + word.strip() + "y")
padded = st.tuples(st.sampled_from(["", " ", "  "]), words, st.sampled_from(["", " "])).map("".join)


@pytest.fixture
def file(tmp_path):
    """Write a text into a file and return its path."""

    def make(text, name="answers.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


# Round trips ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npz", ".jsonl", ".parquet"])
@given(made=comparisons())
@BRIEF
def test_these_keep_everything(tmp_path, suffix, made):
    if suffix == ".parquet":
        needs("pyarrow")
    write(made, tmp_path / f"answers{suffix}")
    assert same(read(tmp_path / f"answers{suffix}"), made)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@given(made=comparisons(words=words, cells=padded))
@BRIEF
def test_delimited_text_keeps_all_but_unasked_objects_and_the_order_of_names(tmp_path, suffix, made):
    write(made, tmp_path / f"answers{suffix}")
    back = read(tmp_path / f"answers{suffix}")
    asked = np.unique(made.rows)
    if made.names is None:  # numbers are names unless all of 0, 1, … were asked about
        assert back.names == (None if len(asked) == asked.max() + 1 else tuple(map(str, asked)))
        assert back.n_objects == len(asked)
        assert asked[back.rows].tolist() == made.rows.tolist()
    else:
        assert back.names == tuple(sorted(made.names[number] for number in asked))
        assert np.array(back.names)[back.rows].tolist() == np.array(made.names)[made.rows].tolist()
    plain = {"n_objects": back.n_objects, "names": back.names}
    columns = {
        "weights": made.weights,
        "subjects": made.subjects,
        "answers": made.answers,
        "extra": made.extra,
    }
    assert same(back, Comparisons(back.rows, **plain, **columns))


@given(made=comparisons())
@BRIEF
def test_npy_keeps_the_rows_and_refuses_to_lose_more(tmp_path, made):
    path = tmp_path / "answers.npy"
    bare = Comparisons(made.rows, n_objects=made.n_objects)
    write(bare, path)
    assert read(path).rows.tolist() == made.rows.tolist()
    if not same(made, bare):
        with pytest.raises(ValueError, match="npy keeps the rows alone"):
            write(made, path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
@given(made=comparisons(words=words), chunk_rows=st.integers(1, 5))
@BRIEF
def test_scan_says_what_read_says(tmp_path, suffix, made, chunk_rows):
    if suffix == ".parquet":
        needs("pyarrow")
    order = np.argsort(made.answers, kind="stable")  # the rows of an answer stand together
    grouped = Comparisons(
        made.rows[order], names=made.names, n_objects=made.n_objects, answers=made.answers[order],
        weights=None if made.weights is None else made.weights[order],
    )  # fmt: skip
    path = tmp_path / f"answers{suffix}"
    write(grouped, path)
    whole = read(path)
    source = scan(path, chunk_rows=chunk_rows)
    assert (len(source), source.n_objects, source.names) == (len(whole), whole.n_objects, whole.names)
    assert source.shape == whole.shape
    assert same(Comparisons.of(source), whole)
    assert all(chunk.n_objects == whole.n_objects for chunk in source.chunks())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["0", "1", "2"], "names that are all numbers"),
        (["1", "2.0", "3"], "names that are all numbers"),
        (["NA", "b", "c"], "read from .csv as a missing value"),
        ([" a", "b", "c"], "the name ' a' cannot be kept"),
        (["", "b", "c"], "the name '' cannot be kept"),
        (["a\nb", "b", "c"], "cannot be kept"),
    ],
)
def test_csv_refuses_names_that_would_not_come_back(tmp_path, names, message):
    with pytest.raises(ValueError, match=message):
        write(Comparisons([[0, 1, 2]], names=names), tmp_path / "answers.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".npz", ".parquet"])
def test_a_name_that_ends_in_nul_is_refused(tmp_path, suffix):
    if suffix == ".parquet":
        needs("pyarrow")
    with pytest.raises(ValueError, match="NUL character cannot be kept"):
        write(Comparisons([[0, 1, 2]], names=["a\0", "b", "c"]), tmp_path / f"answers{suffix}")


@pytest.mark.parametrize("column", ["subject", "answer", "id"])
def test_long_numbers_are_never_rounded(file, tmp_path, column):
    ids = ["1234567890123456788", "1234567890123456789"]
    for more in (ids, [*ids, "9" * 30], [*ids, "0.5"], [*ids, "x"]):
        text = f"anchor,near,far,{column}\n" + "".join(f"0,1,2,{cell}\n" for cell in more)
        made = read(file(text))
        for suffix in (".csv", ".jsonl", ".npz"):
            write(made, tmp_path / f"again{suffix}")
            again = read(tmp_path / f"again{suffix}")
            assert same(again, made)
            kept = {"subject": again.subjects, "answer": again.answers}.get(column, again.extra.get(column))
            assert len(set(kept.tolist())) == len(more)
            if column != "answer":
                assert [str(cell) for cell in kept.tolist()] == more
    lines = [json.dumps({"anchor": 0, "near": 1, "far": 2, column: value}) for value in (2**64, 2**64 + 1)]
    made = read(file("\n".join(lines), "answers.jsonl"))
    kept = {"subject": made.subjects, "answer": made.answers}.get(column, made.extra.get(column))
    assert len(set(kept.tolist())) == 2


def test_csv_keeps_or_refuses_blanks(tmp_path):
    subjects = [" ann", "ann", "ann ", "a\rb"]
    write(Comparisons([[0, 1, 2]] * 4, subjects=subjects, extra={"rt": [1.5] * 4}), tmp_path / "a.csv")
    back = read(tmp_path / "a.csv")
    assert back.subjects.tolist() == subjects
    assert back.extra["rt"].tolist() == [1.5] * 4
    with pytest.raises(ValueError, match="the column ' rt' cannot be kept"):
        write(Comparisons([[0, 1, 2]], extra={" rt": [1]}), tmp_path / "b.csv")


def test_a_column_of_nan_stays_one(tmp_path):
    write(Comparisons([[0, 1, 2]] * 2, extra={"rt": [np.nan] * 2}), tmp_path / "a.jsonl")
    assert np.isnan(read(tmp_path / "a.jsonl").extra["rt"]).tolist() == [True, True]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_ranking_that_is_a_list_stays_one(tmp_path, suffix):
    path = tmp_path / f"answers{suffix}"
    table = {"anchor": ["Folk", "Jazz"], "ranking": [["Rock; Pop", "Jazz"], ["Folk", "Rock; Pop"]]}
    if suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(table, row))) for row in zip(*table.values())))  # noqa: B905
    else:
        needs("pyarrow")
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(table), path)
    made = read(path)
    assert made.names == ("Folk", "Jazz", "Rock; Pop")
    assert made.rows.tolist() == [[0, 2, 1], [1, 0, 2]]
    assert same(Comparisons.of(scan(path, chunk_rows=1)), Comparisons(made, answers=[0, 1]))


def test_null_is_no_object_in_parquet(tmp_path):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    for table in (
        {"anchor": ["x", None], "near": ["y", "y"], "far": ["z", "z"]},
        {"anchor": ["x", None], "ranking": [["y", "z"], ["y", "z"]]},
        {"anchor": ["x", "x"], "ranking": [["y", "z"], ["y", None]]},
    ):
        path = tmp_path / "answers.parquet"
        pyarrow.parquet.write_table(pyarrow.table(table), path)
        for reader in (read, scan):
            with pytest.raises(ValueError, match=r"answers\.parquet, row 1 "):
                reader(path)
            left = reader(path, bad_rows="drop")
            assert (len(left), left.names) == (1, ("x", "y", "z"))


@pytest.mark.parametrize("name", ["near", "weight", "Subject", "odd", "answer"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_extra_columns_that_mean_something_else_are_refused(tmp_path, suffix, name):
    headers = {"odd": ("anchor", "near", "far", "a", "b")}.get(name, ("anchor",))
    extra = {header: [1] for header in headers[3:]} | {name: [1]}
    with pytest.raises(ValueError, match="cannot be called"):
        write(Comparisons([[0, 1, 2]], extra=extra), tmp_path / f"answers{suffix}")


# Layouts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("anchor,near,far\n0,1,2\n", [[0, 1, 2]]),
        ("far,Near,ANCHOR\n2,1,0\n", [[0, 1, 2]]),
        ("head,winner,loser\n0,1,2\n", [[0, 1, 2]]),
        ("a,b,c\n0,1,2\n", [[0, 1, 2]]),
        ("i,j,l,k\n0,1,2,3\n", [[0, 1, 2, 3]]),
        ("i,j,k,l\n0,1,3,2\n", [[0, 1, 2, 3]]),
        ("a,b,odd\n0,1,2\n", [[0, 1, 2], [1, 0, 2]]),
        ("object1,object2,Odd one-out\n0,1,2\n", [[0, 1, 2], [1, 0, 2]]),
        ("first,second,third,odd\n3,0,1,3\n2,0,1,0\n", [[0, 1, 3], [1, 0, 3], [2, 1, 0], [1, 2, 0]]),
        ("a,b,central\n0,1,2\n", [[0, 2, 1], [1, 2, 0]]),
        ("a,b,c,central\n3,0,1,3\n2,0,1,0\n", [[0, 3, 1], [1, 3, 0], [2, 0, 1], [1, 0, 2]]),
        ("anchor,rank1,rank2,rank3\n0,1,2,3\n1,0,2,\n", [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 0, 2]]),
        ("anchor,ranking\n0,1;2;3\n1,0;2\n", [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 0, 2]]),
        ("0,1,2\n2,1,0\n", [[0, 1, 2], [2, 1, 0]]),
        ("0\t1\t2\t3\n", [[0, 1, 2, 3]]),
        ("0.0,1.0,2.0\n3,1,2\n", [[0, 1, 2], [3, 1, 2]]),
        ("anchor;near;far\n0;1;2\n", [[0, 1, 2]]),
        ("anchor\tnear\tfar\n0\t1\t2\n", [[0, 1, 2]]),
        ("\ufeffanchor,near,far\r\n\r\n0, 1, 2\r\n\r\n", [[0, 1, 2]]),
        ("anchor,near,far,,\n0,1,2,,\n0,2,1\n", None),
    ],
)
def test_headers_and_dialects(file, text, rows):
    if rows is None:
        with pytest.raises(ValueError, match=r"answers\.csv"):
            read(file(text))
    else:
        assert read(file(text)).rows.tolist() == rows


def test_every_header_of_the_list_is_understood():
    assert all(understand(list(choice)).kind == kind for kind, choices in LAYOUTS.items() for choice in choices)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npz", ".parquet"])
def test_a_new_optional_column_is_one_line(file, tmp_path, monkeypatch, suffix):
    confidence = OptionalColumn(("confidence", "sure"), number_column("confidence", 0, 1))
    monkeypatch.setitem(OPTIONAL, "confidence", confidence)
    if suffix == ".parquet":
        needs("pyarrow")
    odd = read(file("first,second,odd,sure\nVienna,Prague,Rome,0.5\nRome,Oslo,Prague,1\n"))
    assert odd.extra["confidence"].tolist() == [0.5, 0.5, 1, 1]
    write(odd, tmp_path / f"again{suffix}")
    assert read(tmp_path / f"again{suffix}")[2:].extra["confidence"].tolist() == [1, 1]
    bad = file("anchor,near,far,confidence\na,b,c,1\na,c,b,2\n")
    with pytest.raises(ValueError, match=r"line 3 has confidence 2.0; a confidence is a number from 0 to 1"):
        read(bad)
    assert np.isnan(read(bad, bad_rows="drop").extra["confidence"]).tolist() == [False, True]


def test_odd_one_out_rows_share_an_answer_and_its_columns(file):
    made = read(file("a,b,odd,subject,weight,rt\nx,y,z,ann,2,0.5\nz,x,y,bob,1,\n"))
    assert made.answers.tolist() == [0, 0, 1, 1]
    assert made.subjects.tolist() == ["ann", "ann", "bob", "bob"]
    assert made.weights.tolist() == [2, 2, 1, 1]
    assert np.isnan(made.extra["rt"]).tolist() == [False, False, True, True]
    assert made.names == ("x", "y", "z")


def test_names_are_sorted_whatever_the_order_of_rows(file):
    made = read(file('anchor,near,far\nRome,"Bonn, old",Oslo\n Oslo ,Rome,7\n'))
    assert made.names == ("7", "Bonn, old", "Oslo", "Rome")
    assert made.rows.tolist() == [[3, 1, 2], [2, 3, 0]]


def test_salmons_responses():
    made = read(HERE / "salmon_responses.csv")
    assert made.rows.tolist() == [[0, 1, 2], [3, 1, 0], [2, 0, 3]]
    assert made.names is None
    assert made.subjects.tolist() == ["ann", "ann", "bob"]
    assert made.extra["response_time"].tolist() == [1.31, 0.92, 2.75]
    assert made.extra["head_html"][0] == '<img src="a.png" alt="a, first">'
    assert set(made.extra) >= {"alg_ident", "left", "right", "winner_object", "network_latency"}


@pytest.mark.parametrize(
    ("arrays", "rows", "weights"),
    [
        ({"X": [[0, 1, 2], [2, 1, 0]]}, [[0, 1, 2], [2, 1, 0]], None),
        ({"triplets": [[0, 1, 2], [2, 1, 0]], "responses": [True, False]}, [[0, 1, 2], [2, 0, 1]], None),
        ({"X": [[0, 1, 2], [2, 1, 0]], "y": [1, -1]}, [[0, 1, 2], [2, 0, 1]], None),
        ({"queries": [[0, 1, 2], [2, 1, 0]], "y": [3, -1]}, [[0, 1, 2], [2, 0, 1]], [3, 1]),
    ],
)
def test_cblearns_arrays(tmp_path, arrays, rows, weights):
    np.savez(tmp_path / "answers.npz", **arrays)
    made = read(tmp_path / "answers.npz")
    assert made.rows.tolist() == rows
    assert (None if made.weights is None else made.weights.tolist()) == weights


def test_jsonl_of_others(file):
    made = read(file("[0, 1, 2]\n\n[2, 1, 0]\n", "answers.jsonl"))
    assert made.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
    lines = [
        {"head": "x", "winner": "y", "loser": "z", "puid": 3},
        {"head": "z", "winner": "y", "loser": "x", "rt": 2},
    ]
    made = read(file("\n".join(map(json.dumps, lines)), "answers.jsonl"))
    assert made.names == ("x", "y", "z")
    assert made.rows.tolist() == [[0, 1, 2], [2, 1, 0]]
    ranked = read(file('{"anchor": 0, "ranking": [3, 1, 2]}', "answers.jsonl"))
    assert ranked.rows.tolist() == [[0, 3, 1], [0, 3, 2], [0, 1, 2]]


@pytest.mark.parametrize(
    ("line", "names", "rows"),
    [
        ({"anchor": "y", "near": "x", "far": "z", "subject": "ann", "rt": None}, ("x", "y", "z"), [[1, 0, 2]]),
        (["y", "x", "y", "z"], ("x", "y", "z"), [[1, 0, 1, 2]]),
        ({"Odd": "z", "first": "x", "second": "y"}, ("x", "y", "z"), [[0, 1, 2], [1, 0, 2]]),
        ({"anchor": "w", "rank1": "x", "rank2": "y", "rank3": None}, ("w", "x", "y"), [[0, 1, 2]]),
        ({"anchor": 0, "ranking": [1, 2]}, None, [[0, 1, 2]]),
        (["2", "1", "0"], None, [[2, 1, 0]]),
    ],
)
def test_a_line_of_jsonl_by_itself_says_what_a_file_of_it_would(file, line, names, rows):
    made = jsonl.parse_answer(line)[0]
    assert (made.names, made.rows.tolist(), made.n_answers) == (names, rows, 1)
    whole = read(file(json.dumps(line), "answers.jsonl"))
    assert (whole.names, whole.rows.tolist()) == (names, rows)


def test_a_line_of_jsonl_knows_what_came_before():
    line = {"anchor": "3", "near": "1", "far": "2", "weight": "0.5", "answer": "p"}
    made, answer_id = jsonl.parse_answer(line, named=True)
    assert (made.names, made.weights.tolist(), answer_id) == (("1", "2", "3"), [0.5], "p")
    assert jsonl.parse_answer([3, 1, 2], named=True)[0].names is None
    assert jsonl.parse_answer(["b", "a", "c"], names=["c", "b", "a"])[0].rows.tolist() == [[1, 2, 0]]
    with pytest.raises(ValueError, match="names object 3, but there are only 3 objects"):
        jsonl.parse_answer([3, 1, 2], n_objects=3)
    with pytest.raises(ValueError, match="has weight 'heavy'"):
        jsonl.parse_answer({**line, "weight": "heavy"})


def test_parquet_of_others(tmp_path):
    needs("pandas", "pyarrow")
    import pandas as pd

    frame = pd.DataFrame(
        {"a": ["x", "z"], "b": ["y", "x"], "odd": ["z", "y"], "subject": [1, 2], "rt": [0.5, 0.7]}
    )
    frame.to_parquet(tmp_path / "answers.parquet")
    made = read(tmp_path / "answers.parquet")
    assert made.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1]]
    assert made.subjects.tolist() == [1, 1, 2, 2]


# What is wrong is named -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("anchor,near,far\n", "is empty"),
        (
            "foo,bar,baz\n1,2,3\n",
            "cannot tell what the columns 'foo', 'bar', 'baz' mean; understood are\n.*anchor,near,far",
        ),
        ("Rome,Oslo,Bonn\nRome,Bonn,Oslo\n", "your first line, 'Rome', 'Oslo', 'Bonn', looks like data"),
        ("1,2,3,4,5\n", "looks like data"),
        ("anchor,near,far\n0,1,2\n\n0,1\n", "line 4 has 2 cells where 3 are wanted"),
        ("anchor,near,far\n0,1,2,5\n", "line 2 has 4 cells where 3 are wanted"),
        ('anchor,near,far,note\n0,1,2,"two\nlines"\n4,4,2,x\n', "line 4 compares '4' with itself"),
        ("anchor,near,far\nx,y,z\nx,z,z\n", r"line 3 has 'z' both"),
        ("anchor,near,far\n0,1,2\n0,NA,2\n", "line 3 has NA, a missing value, where an object"),
        ("anchor,near,far\n0,1,2\n0,,2\n", "line 3 has an empty cell"),
        ("anchor,near,far\nx,y,z\nx,,z\n", "line 3 has an empty cell"),
        ("0,1,2\n0,1,nan\n", "line 2 has nan, a missing value"),
        ("anchor,near,far,weight\n0,1,2,1\n0,1,2,heavy\n", "line 3 has weight 'heavy'"),
        ("anchor,near,far,weight\n0,1,2,1\n0,1,2,-3\n", "line 3 has weight -3"),
        ("anchor,near,far,weight\n0,1,2,1\n0,1,2,\n", "line 3 has weight"),
        ("a,b,c,odd\n0,1,2,2\n0,1,2,7\n", "line 3 has odd object 7, which is none of 0, 1, 2"),
        ("a,b,odd\n0,1,2\n1,1,2\n", "line 3 compares object 1 with itself"),
        ("anchor,ranking\n0,1;2\n0,1\n", "line 3 ranks 1 objects"),
        ("anchor,ranking\n0,1;2\n0,1;;2\n", "line 3 ranks ''"),
        ("anchor,ranking\n0,1;2\n,1;2\n", "line 3 has an empty cell"),
        ("anchor,near,far,near\n0,1,2,3\n", "two columns are called 'near'"),
        (b"anchor,near,far\nx,y,z\nK\xf6\x81ln,y,z\n", "line 3 is not text in UTF-8"),
    ],
)
def test_bad_csv(file, text, message):
    path = file(text)
    with pytest.raises(ValueError, match=f"(?s)answers.csv.*{message}"):
        read(path)
    with pytest.raises(ValueError, match=f"(?s)answers.csv.*{message}"):
        scan(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ('{"nearer": 1, "n_objects": 3}\n', "is empty"),
        ('{"nearer": 2}\n[0, 1, 2]\n', "version 2"),
        ('{"nearer": 1, "names": 3}\n[0, 1, 2]\n', "line 1 has names that are no list: 3"),
        ('{"nearer": 1, "n_objects": "3"}\n[0, 1, 2]\n', "line 1 has n_objects='3', which is no number"),
        ("[0, 1, 2]\n{oops\n", "line 2 is not JSON"),
        ('[0, 1, 2]\n"x"\n', "line 2 is neither"),
        ('{"anchor": 0, "near": 1, "far": 2}\n{"anchor": 0, "near": 1}\n', "line 2 has no 'far'"),
        ('{"x": 0}\n', "cannot tell what the columns 'x' mean"),
        ("[0, 1, 2]\n[0, 0, 1]\n", "line 2 compares object 0 with itself"),
        ('{"nearer": 1, "n_objects": 2}\n[0, 1, 2]\n', "line 2 names object 2, but there are only 2"),
        (
            '{"nearer": 1, "names": ["x", "y", "z"]}\n["x", "y", "w"]\n',
            "line 2 names 'w', which is none of the 3",
        ),
        (b"[0, 1, 2]\n\x81\n", "line 2 is not text in UTF-8"),
        ('{"anchor": 0, "ranking": [1, 2]}\n{"anchor": 0, "ranking": [1, null]}\n', "line 2 ranks ''"),
        ('["x", "y", "z"]\n["x", ["y"], "z"]\n', "line 2 has an empty cell"),
    ],
)
def test_bad_jsonl(file, text, message):
    with pytest.raises(ValueError, match=message):
        read(file(text, "answers.jsonl"))


def broken_in_any_way(made):
    """Rows like the first of `made` that say nothing, or are about no object that there is."""
    row = made.rows[0].tolist()
    n = made.n_objects
    pairs = [(0, 1), (0, 2), (1, 2)] if len(row) == 3 else [(0, 1), (2, 3)]
    rows = [[row[one] if at == other else cell for at, cell in enumerate(row)] for one, other in pairs]
    if len(row) == 4:
        rows += [[row[0], row[1], row[1], row[0]], [row[0], row[1], row[0], row[1]]]
    return rows + [[wrong if at == place else cell for at, cell in enumerate(row)]
                   for place in range(len(row)) for wrong in (-1, n + 5)]  # fmt: skip


@given(made=comparisons(words=words, min_rows=2), data=st.data())
@BRIEF
def test_any_bad_row_is_named_by_its_line_or_dropped(tmp_path, made, data):
    bare = Comparisons(made.rows, names=made.names, n_objects=made.n_objects)
    bad = data.draw(st.integers(0, len(made) - 1))
    broken = data.draw(st.sampled_from(broken_in_any_way(made)))
    if made.names is not None:
        broken = [made.names[number] if 0 <= number < made.n_objects else "" for number in broken]
    for suffix, delimiter in ((".csv", ","), (".jsonl", None), (".tsv", "\t")):
        if suffix != ".jsonl":  # where any number may be a name
            broken = [cell if cell in range(made.n_objects) or made.names else "" for cell in broken]
        path = tmp_path / f"answers{suffix}"
        write(bare, path)
        lines = path.read_text().splitlines()
        if suffix == ".jsonl":
            lines[bad + 1] = json.dumps(broken)
        else:
            lines[bad + 1] = delimiter.join('"' + str(cell).replace('"', '""') + '"' for cell in broken)
        path.write_text("\n".join(lines) + "\n")
        for reader in (read, scan):
            with pytest.raises(ValueError, match=f"line {bad + 2} "):
                reader(path)
        dropped = read(path, bad_rows="drop")
        assert dropped.n_dropped == 1
        assert len(dropped) == len(made) - 1
        assert len(scan(path, bad_rows="drop")) == len(made) - 1


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "anchor,near,far,weight\n0,1,2,1\n5,1,2,-3\n0,2,1,2\n", 3),
        ("a.csv", "anchor,near,far,weight\n0,1,2,1\n5,1,2,heavy\n0,2,1,2\n", 3),
        ("a.csv", "anchor,near,far,weight\n0,1,2,1\n5,1,2,\n0,2,1,2\n", 3),
        ("a.csv", "anchor,near,far,weight\n0,1,2,1\n5,1,2,inf\n0,2,1,2\n", 3),
        ("a.csv", "anchor,near,far,answer\n0,1,2,p\n5,1,2,\n0,2,1,q\n", 3),
        ("a.csv", "anchor,near,far,answer\n0,1,2,1\n5,1,2,\n0,2,1,2\n", 3),
        ("a.csv", "anchor,near,far,weight\n0,1,2,1\n5,1,2,true\n0,2,1,2\n", 3),
        ("a.jsonl", "[0, 1, 2]\n{oops\n[0, 2, 1]\n", 2),
        ("a.jsonl", '[0, 1, 2]\n"x"\n[0, 2, 1]\n', 2),
        ("a.jsonl", "".join(f'{{"a": {a}, "b": 1, "c": 2, "weight": {w}}}\n' for a, w in
                            [(0, 1), (5, "null"), (3, 2)]), 2),
    ],
)  # fmt: skip
def test_bad_cells_beside_the_objects_make_bad_rows(file, name, text, line):
    path = file(text, name)
    for reader in (read, scan):
        with pytest.raises(ValueError, match=f"line {line} "):
            reader(path)
    left = read(path, bad_rows="drop")
    assert (len(left), left.n_dropped) == (2, 1)
    assert 5 not in left.rows
    assert left.n_answers == 2
    assert len(scan(path, bad_rows="drop")) == 2


def test_of_bad_rows_of_many_kinds_the_first_is_named(file):
    bad = ["x,x,z,1,p", "x,y,z,-1,p", "x,,z,1,p", "x,y,z,heavy,p", "x,y,z,1,"]
    for first in range(len(bad)):
        text = "\n".join(["anchor,near,far,weight,answer", "7,8,-9,1,q", *bad[first:], *bad[:first]])
        with pytest.raises(ValueError, match="line 3 "):
            read(file(text))


def test_drop_counts_short_and_impossible_rows(file):
    made = read(file("anchor,near,far\n0,1,2\n0,1\n3,3,1\n0,,1\n"), bad_rows="drop")
    assert len(made) == 1
    assert made.report().dropped == 3
    for nothing in ("0,1\n", "1,1,2\n"):
        left = read(file("anchor,near,far\n" + nothing), bad_rows="drop")
        assert (len(left), left.n_dropped) == (0, 1)
    odd = read(file("a,b,c,odd\n0,1,2,2\n0,1,2,7\nx,y,x,y\n"), bad_rows="drop")
    assert odd.n_answers == 1
    nothing = read(file('{"anchor": 0, "ranking": null}\n', "answers.jsonl"), bad_rows="drop")
    assert (len(nothing), nothing.n_dropped) == (0, 1)
    ranked = read(file("anchor,ranking\n0,1;2\n0,1\n,1;2\n"), bad_rows="drop")
    assert ranked.rows.tolist() == [[0, 1, 2]]


def test_bad_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 1, 2], [1, 1, 2]]))
    with pytest.raises(ValueError, match=r"a\.npy, row 1 compares object 1 with itself"):
        read(tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"a\.npy, row 1 compares object 1 with itself"):
        scan(tmp_path / "a.npy", chunk_rows=1)
    np.save(tmp_path / "b.npy", np.array([[0, 1, {}]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", rows=np.array([[0, 1, {}]], dtype=object))
    for path in (tmp_path / "b.npy", tmp_path / "b.npz"):
        with pytest.raises(ValueError, match="never unpickled"):
            read(path)
    np.savez(tmp_path / "c.npz", stuff=[1])
    with pytest.raises(ValueError, match=r"no array of comparisons under rows, triplets.*it has stuff"):
        read(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", X=[[0, 1, 2]] * 2, y=[0, -1])
    with pytest.raises(ValueError, match="row 0 has response 0"):
        read(tmp_path / "d.npz")
    np.save(tmp_path / "e.npy", np.empty((0, 3), dtype=int))
    with pytest.raises(ValueError, match="is empty"):
        read(tmp_path / "e.npy")
    (tmp_path / "f.npz").write_text("no zip")
    (tmp_path / "f.npy").write_text("")
    for path in (tmp_path / "f.npy", tmp_path / "f.npz"):
        with pytest.raises(ValueError, match="cannot be read"):
            read(path)


def test_arrays_with_bad_rows_of_other_kinds(tmp_path):
    path = tmp_path / "a.npz"
    triplets = [[0, 1, 2], [5, 1, 2]]
    for more in ({"y": [2, 0]}, {"y": [1.0, np.nan]}, {"weights": [1, -1]}, {"weights": ["1", "x"]}):
        np.savez(path, X=np.array(triplets, dtype=np.uint8), **more)
        left = read(path, bad_rows="drop")
        assert (left.rows.tolist(), left.n_dropped, left.n_objects) == ([[0, 1, 2]], 1, 3)
        with pytest.raises(ValueError, match=r"a\.npz"):
            read(path)
    for shapeless in ({"rows": 3}, {"rows": [[0, 1, 2]], "n_objects": [3, 4]}):
        np.savez(path, **shapeless)
        with pytest.raises(ValueError, match=r"a\.npz.* single "):
            read(path)


def test_signed_counts_and_weights_are_multiplied(tmp_path):
    np.savez(tmp_path / "a.npz", X=[[0, 1, 2], [2, 1, 0]], y=[3, -1], weights=[0.5, 2])
    assert read(tmp_path / "a.npz").weights.tolist() == [1.5, 2]


def test_unknown_files(tmp_path):
    with pytest.raises(
        ValueError, match=r"must end in \.csv, .*, \.parquet, \.xlsx; save or export the table as \.csv"
    ):
        read(tmp_path / "answers.xls")
    with pytest.raises(ValueError, match="must end in"):
        write(Comparisons([[0, 1, 2]]), tmp_path / "answers")
    with pytest.raises(FileNotFoundError, match="no file"):
        read(tmp_path / "answers.csv")
    with pytest.raises(ValueError, match="bad_rows"):
        read(tmp_path / "answers.csv", bad_rows="keep")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "nearer\[parquet\]"'):
        write(Comparisons([[0, 1, 2]]), tmp_path / "answers.parquet")
    assert list(tmp_path.iterdir()) == []


# Scanning -------------------------------------------------------------------------------------------------


def test_scan_several_files_by_name(file, tmp_path):
    one = file("anchor,near,far\nx,y,z\n", "one.csv")
    two = file("head\twinner\tloser\nw\ty\tx\n1\tx\ty\n", "two.tsv")
    source = scan([one, two], chunk_rows=1)
    assert source.names == ("1", "w", "x", "y", "z")
    assert [chunk.rows.tolist() for chunk in source.chunks()] == [[[2, 3, 4]], [[1, 3, 2]], [[0, 2, 3]]]
    np.save(tmp_path / "three.npy", np.array([[0, 1, 2]]))
    with pytest.raises(ValueError, match="cannot be matched"):
        scan([one, tmp_path / "three.npy"])
    with pytest.raises(ValueError, match="npz files cannot be read in chunks"):
        scan(tmp_path / "x.npz" if write(Comparisons([[0, 1, 2]]), tmp_path / "x.npz") is None else "")
    with pytest.raises(ValueError, match="no files"):
        scan([])
    with pytest.raises(ValueError, match="chunk_rows"):
        scan(one, chunk_rows=0)


def test_scan_numbers(tmp_path):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(5), (1000, 1)), axis=1)[:, :3]
    np.save(tmp_path / "rows.npy", rows)
    source = scan(tmp_path / "rows.npy", chunk_rows=300)
    assert (len(source), source.n_objects, source.names) == (1000, 5, None)
    assert [len(chunk) for chunk in source.chunks()] == [300, 300, 300, 100]
    assert Comparisons.of(source).rows.tolist() == rows.tolist()


def test_scan_never_cuts_an_answer(file):
    text = "anchor,near,far,answer\n" + "".join(f"0,1,2,{answer}\n" for answer in "aabbbbbccd")
    chunks = list(scan(file(text), chunk_rows=2).chunks())
    assert [chunk.n_answers for chunk in chunks] == [1, 1, 1, 1]
    assert [len(chunk) for chunk in chunks] == [2, 5, 2, 1]


def test_scan_takes_numbers_among_names_for_names(file):
    path = file('[1, 2, 3]\n["x", 1, 2]\n[2, 3, 1]\n', "answers.jsonl")
    source = scan(path, chunk_rows=1)
    assert source.names == ("1", "2", "3", "x")
    assert same(Comparisons.of(source), read(path))


def test_scan_fills_what_some_rows_leave_out(file):
    records = [{"anchor": 0, "near": 1, "far": 2, "answer": answer} for answer in "pqqr"]
    records[1]["rt"] = 0.5
    for order in (records, records[::-1]):
        path = file("\n".join(map(json.dumps, order)), "answers.jsonl")
        assert Comparisons.of(scan(path, chunk_rows=2)).answers.tolist() == read(path).answers.tolist()


def test_scan_counts_what_it_drops_beside_answers(file):
    path = file("anchor,near,far,answer\n0,1,2,p\n0,1\n0,2,1,p\n1,0,2,q\n1,1,2,q\n", "answers.csv")
    for chunk_rows in (1, 2, 9):
        chunks = scan(path, chunk_rows=chunk_rows, bad_rows="drop").chunks()
        assert sum(chunk.n_dropped for chunk in chunks) == 2


def test_scan_takes_names_that_look_like_numbers_for_names(file):
    path = file("anchor,near,far\n-1,-2,1.5\nx,-1,-2\n-1,-1,x\n")
    with pytest.raises(ValueError, match="line 4 compares"):
        scan(path, chunk_rows=1)
    source = scan(path, chunk_rows=1, bad_rows="drop")
    whole = read(path, bad_rows="drop")
    assert (len(source), source.names) == (2, whole.names) == (2, ("-1", "-2", "1.5", "x"))
    assert same(Comparisons.of(source), whole)


# Writing --------------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="cannot be kept"):
        write(Comparisons([[0, 1, 2]], names=["a", " ", "c"]), path)
    with pytest.raises(UnicodeEncodeError), replacing(path) as aside:
        aside.write_text("half \ud800", encoding="utf-8")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["answers.csv"]


def test_replacing_keeps_permissions_and_links(tmp_path):
    path, link = tmp_path / "answers.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replacing(link) as aside:
        assert aside.parent == tmp_path
        assert aside.suffix == ".csv"
        aside.write_text("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    with pytest.raises(FileNotFoundError, match="no folder"), replacing(tmp_path / "none" / "x"):
        pass
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"), replacing(tmp_path / "pipe"):
        pass
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass


# Real files -----------------------------------------------------------------------------------------------


def test_music_has_seventeen_impossible_rows(data_set):
    data_set("music")
    path = source_of("music").find()
    with pytest.raises(ValueError, match=r"compares object .* with itself"):
        read(path)
    made = read(path, bad_rows="drop")
    assert made.n_dropped == 17
    assert made.report().contradictions == 0


def test_numbers_are_what_they_look_like():
    assert all(NUMBER.fullmatch(text) for text in ("1", "-1", "1.5", ".5", "1e-3", "NaN", "-inf", "1."))
    assert not any(NUMBER.fullmatch(text) for text in ("", ".", "1_0", "0x1", "1,5", "e5", "١"))
