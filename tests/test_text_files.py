"""Files of texts: every kind gives the same table, and what is no text is named by its place."""

import csv
import json

import numpy as np
import pytest

from extras import needs
from nearer.formats import features, parquet, read_texts

ROWS = [("n1", 'He said "sail",\nand left.', "sea"), ("n2", "", "land"), ("n3", "Öl; Geld", "land")]
HEADERS = ("name", "body", "topic")


def written(path):
    """Write the rows into a file of the kind that its suffix says."""
    if path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(HEADERS, row, strict=True))) for row in ROWS), "utf-8")
    elif path.suffix == ".parquet":
        needs("pyarrow")
        import pyarrow
        import pyarrow.parquet

        columns = dict(zip(HEADERS, map(list, zip(*ROWS, strict=True)), strict=True))
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    elif path.suffix == ".xlsx":
        needs("openpyxl")
        import openpyxl

        book = openpyxl.Workbook()
        for row in [HEADERS, *ROWS]:
            book.active.append(row)
        book.save(path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([HEADERS, *ROWS])
    return path


@pytest.mark.parametrize("chunk", [1, 1000])
@pytest.mark.parametrize("suffix", features.TABLES)
def test_every_kind_of_file(tmp_path, monkeypatch, suffix, chunk):
    monkeypatch.setattr(features, "TEXT_ROWS", chunk)
    table = read_texts(written(tmp_path / f"news{suffix}"), "body", labels="topic")
    assert table.X.tolist() == [text for _, text, _ in ROWS]
    assert (table.labels.tolist(), table.names) == (["sea", "land", "land"], ("n1", "n2", "n3"))
    assert (len(table), table.columns) == (3, ("body",))
    assert read_texts(table.path, "body", names="name").labels is None


def test_long_texts_are_read_and_the_limit_of_csv_is_put_back(tmp_path):
    limit = csv.field_size_limit()
    long = "word " * 60_000
    (tmp_path / "long.csv").write_text(f"body,topic\n{long},sea\nshort,land\n")
    assert read_texts(tmp_path / "long.csv", "body").X.tolist() == [long, "short"]
    with pytest.raises(ValueError, match="no column 'text'"):
        read_texts(tmp_path / "long.csv", "text")
    assert csv.field_size_limit() == limit


def test_long_texts_of_parquet_take_no_more_than_their_length(tmp_path):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    bodies = ["x" * (parquet.LONG + 1), "short"]
    pyarrow.parquet.write_table(pyarrow.table({"body": bodies, "topic": ["a", "b"]}), tmp_path / "x.parquet")
    (table,) = parquet.tables(tmp_path / "x.parquet")
    assert table.columns["body"] == bodies
    assert isinstance(table.columns["topic"], np.ndarray)
    assert read_texts(tmp_path / "x.parquet", "body").X.tolist() == bodies


@pytest.mark.parametrize(
    ("file", "text", "options", "message"),
    [
        ("f.csv", "body\n", {}, "f.csv is empty: it has no rows"),
        ("f.jsonl", "", {}, "f.jsonl is empty: it has no rows"),
        ("f.csv", "text,kind\na,b\n", {}, "f.csv has no column 'body'; it has 'text', 'kind'"),
        ("f.csv", "body,kind\na,b\n", {"labels": "topic"}, "f.csv has no column 'topic'; it has 'body', 'kind'"),
        ("f.csv", "body,kind\na,b\nc,\n", {"labels": "kind"}, "f.csv, line 3 has an empty cell in column 'kind'"),
        ("f.csv", "name,body\na,b\na,c\n", {}, "f.csv, line 3 has the name 'a' in column 'name', as a row before"),
        ("f.jsonl", '{"body": "a"}\n\n{"body": null}', {}, "f.jsonl, line 3 has no text in column 'body'"),
        ("f.jsonl", '{"body": "a"}\n{"other": "b"}', {}, "f.jsonl, line 2 has no text in column 'body'"),
        ("f.jsonl", '{"body": ["a"]}', {}, r"f.jsonl, line 1 has \['a'\] and no text in column 'body'"),
        ("f.jsonl", '{"body": "a"}\n["a"]', {}, "f.jsonl, line 2 is no JSON object"),
        ("f.jsonl", '{"body": "a"}\n{"body"', {}, "f.jsonl, line 2 is not JSON"),
        (
            "f.doc",
            "a",
            {},
            r"cannot tell the format of .*f.doc: texts are read from \.csv, \.tsv, \.txt, \.jsonl, \.parquet, \.xlsx",
        ),
    ],
)
def test_says_what_is_wrong_and_where(tmp_path, file, text, options, message):
    (tmp_path / file).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_texts(tmp_path / file, "body", **options)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_texts(tmp_path / "none.csv", "body")
