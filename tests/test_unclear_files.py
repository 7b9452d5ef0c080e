"""What only a whole file can tell, whether numbers are names and what a response means; and damaged files."""

import gzip
import json
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exported_files import workbook
from extras import needs
from nearer import Comparisons, read, scan, write
from nearer.comparisons.responses import READINGS
from nearer.formats import records
from strategies import same

# Damaged files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".xlsx", ".csv.gz"])
def test_a_damaged_file_is_a_value_error_that_names_it_or_makes_sense(tmp_path, suffix):
    made = Comparisons([[0, 1, 2], [2, 1, 0], [1, 2, 0]] * 20)
    whole = tmp_path / f"whole{suffix}"
    if suffix == ".csv.gz":
        whole.write_bytes(gzip.compress(b"anchor,near,far\n" + b"0,1,2\n2,1,0\n" * 30))
    elif suffix == ".xlsx":
        whole.write_bytes(workbook([["anchor", "near", "far"], *made.rows.tolist()]))
    else:
        needs("pyarrow") if suffix == ".parquet" else None
        write(made, whole)
    content, random = whole.read_bytes(), np.random.default_rng(0)
    path = tmp_path / f"damaged{suffix}"
    for number in range(15 if suffix == ".xlsx" else 60):
        damaged = bytearray(content[: random.integers(len(content))] if number % 4 == 0 else content)
        for place in random.integers(max(len(damaged), 1), size=3 * bool(damaged)):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome = str(read(path).shape[1])
        except ValueError as error:
            outcome = str(error)
        assert path.name in outcome or outcome == "3"


# Numbers and responses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@given(
    ids=st.lists(st.integers(0, 9) | st.integers(0, 10**6), min_size=3, max_size=6, unique=True), data=st.data()
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_in_files_make_no_objects_that_do_not_occur(tmp_path, suffix, ids, data):
    rows = data.draw(st.lists(st.permutations(ids).map(lambda order: order[:3]), min_size=1, max_size=5))
    occurring = sorted({number for row in rows for number in row})
    path = tmp_path / f"answers{suffix}"
    if suffix == ".csv":
        path.write_text("anchor,near,far\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        needs("pyarrow")
        import pyarrow
        import pyarrow.parquet

        columns = dict(zip(("anchor", "near", "far"), map(list, zip(*rows, strict=True)), strict=True))
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    is_dense = occurring == list(range(len(occurring)))
    for made in (read(path), Comparisons.of(scan(path, chunk_rows=1))):
        assert made.names == (None if is_dense else tuple(map(str, occurring)))
        assert np.array(occurring)[made.rows].tolist() == rows


def literal_words(reading, columns, place, row):
    """Return what a program writes that records the chosen one of the objects of a row in this way."""
    if reading == "sign":
        return ["1", "-1"][place]
    return {"value": row[place], "column": columns[place], "position": place + 1, "index": place}[reading]


@pytest.mark.parametrize(
    ("kind", "reading"),
    [("choice", reading) for reading in READINGS] + [("odd one out", reading) for reading in READINGS[:-1]],
)
def test_a_response_is_read_as_it_was_recorded(tmp_path, kind, reading):
    random, path = np.random.default_rng(0), tmp_path / "answers.csv"
    objects = np.array([f"s{number}" for number in range(8)])
    triples = [objects[random.permutation(8)[:3]].tolist() for _ in range(30)]
    options = ["left", "right"] if kind == "choice" else ["first", "second", "third"]
    places = random.integers(len(options), size=30).tolist()
    shown = [triple[-len(options) :] for triple in triples]
    words = [literal_words(reading, options, place, row) for place, row in zip(places, shown, strict=True)]
    header = ["target", *options, "response"] if kind == "choice" else [*options, "odd"]
    lines = [header, *([*triple, word] for triple, word in zip(triples, words, strict=True))]
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    made = read(path)
    expected = []
    for (first, *_), row, place in zip(triples, shown, places, strict=True):
        others = [name for name in row if name != row[place]]
        if kind == "choice":
            expected.append([first, row[place], *others])
        else:
            expected += [[others[0], others[1], row[place]], [others[1], others[0], row[place]]]
    assert np.array(made.names)[made.rows].tolist() == expected
    role = "response" if kind == "choice" else "odd"
    given_reading = read(path, columns={f"{role}_{reading}": role})
    assert same(given_reading, made)


@pytest.mark.parametrize("block", [1, 2, 100])
def test_a_file_is_the_same_however_much_of_it_is_read_at_once(tmp_path, monkeypatch, block):
    monkeypatch.setattr(records, "BLOCK", block)
    path = tmp_path / "answers.csv"
    rows = ["Rome,Oslo,Bonn,1.5", "Oslo,Rome,Bonn,", "Bonn,Rome,Oslo,x", "Rome,Bonn,Oslo,1.5", "Rome,Bonn,Oslo,2"]
    path.write_text("anchor,near,far,note\n" + "\n".join(rows) + "\n")
    made = read(path)
    assert made.names == ("Bonn", "Oslo", "Rome")
    assert made.rows.tolist() == [[2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [2, 0, 1]]
    assert made.extra["note"].tolist() == ["1.5", "", "x", "1.5", "2"]
    path.write_text("anchor,near,far,note\n" + "\n".join([*rows, "Rome,Rome,Oslo,"]) + "\n")
    with pytest.raises(ValueError, match="line 7 compares 'Rome' with itself"):
        read(path)
