"""What commands share in reading answers and writing results: standard input, bad rows, a bar, outputs first."""

import errno
import gzip
import io
import os
import sys
from pathlib import Path

import pytest

from nearer import load_model, read
from nearer.formats import text

ROWS = "Vienna,Prague,Rome\nRome,Naples,Oslo\nOslo,Rome,Vienna\n"
PLAIN = "anchor,near,far\n" + ROWS
BAD = PLAIN + "Rome,NA,Oslo\n"
QUICK = ["--loss", "ste", "--regularization", 0.01, "--dims", 1, "--quiet"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("content", [PLAIN, '["Vienna", "Prague", "Rome"]\n' * 3, BAD])
def test_standard_input(here, refused, content):
    drop = ["--drop-bad-rows"] if content == BAD else []
    assert "rows            3\n" in here("check", "-", *drop, input=content).stdout
    here("convert", "-", "a.npz", *drop, input=content)
    assert read("a.npz").shape == (3, 3)
    here("fit", "-", *drop, *QUICK, "-o", "a.nearer", input=content)
    here("score", "a.nearer", "-", *drop, input=content)
    assert "name the model file to write with -o" in refused("fit", "-", input=content)
    assert "standard input is empty" in refused("check", "-", input="")


def test_check_and_fit_refuse_and_drop_the_same_rows(here, refused, folder):
    (folder / "bad.csv").write_text(BAD)
    for command in (["check"], ["fit", *QUICK, "-o", "a.nearer"], ["convert"], ["score", "a.nearer"]):
        files = ["bad.csv", "b.jsonl"] if command[0] == "convert" else ["bad.csv"]
        said = here(*command, *files, "--drop-bad-rows").stdout
        assert ("1 impossible" in said) or ("1 bad row" in said) or command[0] == "score"
        assert "--drop-bad-rows" in refused(*command, *files)
    assert load_model("a.nearer").names_ == ("Naples", "Oslo", "Prague", "Rome", "Vienna")


def test_columns_are_named_in_every_command(here, refused, folder):
    (folder / "a.csv").write_text(PLAIN.replace("anchor,near,far", "Ziel,x,y"))
    columns = ["--columns", "anchor=Ziel, near=x, far=y"]
    here("fit", "a.csv", *columns, *QUICK, "-o", "a.nearer")
    assert "of 3 rows" in here("score", "a.nearer", "a.csv", *columns).stdout
    here("convert", "a.csv", "b.csv", *columns)
    assert (folder / "b.csv").read_text() == PLAIN
    for wrong in ("anchor", "anchor=", "=x", ""):
        assert "--columns must be like anchor=target" in refused("check", "a.csv", "--columns", wrong)


def test_check_says_how_a_response_is_read_and_which_names_are_alike(here, folder):
    trials = "target,left,right,response\nBern,BERN,Köln,2\nBern,ber n,Köln,1\nBern,007,7,2\n"
    (folder / "a.csv").write_text(trials, encoding="utf-8")
    told = here("check", "a.csv").facts
    assert (
        told["columns"] == "target, left, right, response: choice; response is the chosen one's position, from 1"
    )
    (folder / "b.csv").write_text("anchor,near,far,response,participant\nBern,Rome,Oslo,Oslo,ann\n")
    assert here("check", "b.csv").facts["columns"] == "anchor, near, far: triplets; not used: response"
    assert told["similar names"] == "'007', '7' · 'BERN', 'Bern', 'ber n'"
    (folder / "a.csv").write_text("anchor,near,far\n1001,1002,1003\n")
    assert "names           numbers: not all of 0, 1, … occur" in here("check", "a.csv").stdout


@pytest.mark.parametrize("header", ["name,group", "Name;Group", "NAME\tGROUP"])
def test_groups_are_read_like_any_table(here, refused, folder, header):
    (folder / "a.csv").write_text(PLAIN)
    here("fit", "a.csv", *QUICK[:-3], "--quiet", "-o", "a.nearer")
    delimiter = header[4]
    rows = [f"{name}{delimiter}Süden" for name in ("Rome", "Naples")]
    (folder / "groups.csv").write_text("\n".join([header, *rows]), encoding="cp1252")
    here("map", "a.nearer", "-o", "m.html", "--groups", "groups.csv")
    assert "S\\u00fcden" in (folder / "m.html").read_text(encoding="utf-8")
    (folder / "groups.csv").write_text("a,b\n1,2\n")
    said = refused("map", "a.nearer", "-o", "m.html", "--groups", "groups.csv")
    assert "groups.csv: wanted a header with the column name, and group, weight or both; got 'a', 'b'" in said


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "a.csv", "-o", "out.nearer"],
        ["convert", "a.csv", "out.npz"],
        ["map", "a.csv", "-o", "out.html"],
        ["simulate", "-o", "out.csv"],
        ["stream", "-o", "out.nearer"],
    ],
    ids=lambda command: command[0],
)
def test_an_output_that_cannot_be_written_is_found_before_the_work(refused, folder, monkeypatch, command):
    def read_only(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    (folder / "a.csv").write_text("not even read")
    monkeypatch.setattr(Path, "touch", read_only)
    said = refused(*command)
    assert said.startswith("nearer: error: cannot write out.")
    assert said.endswith(": Read-only file system\n")


def test_names_of_outputs_are_checked_first_and_made_from_inputs(here, refused, folder):
    (folder / "a.csv").write_text("not even read")
    assert "its name must end in .csv" in refused("convert", "a.csv", "out.docx")
    assert "its name must end in .csv" in refused("simulate", "-o", "out.docx")
    (folder / "b.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    here("fit", "b.csv.gz", *QUICK)
    assert (folder / "b.nearer").is_file()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz"])
def test_a_bar_shows_how_far_a_large_file_is_read(folder, monkeypatch, name):
    lines = PLAIN if "csv" in name else '["Vienna", "Prague", "Rome"]\n' * 3
    content = lines.encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    bar = io.StringIO()
    monkeypatch.setattr(sys, "stderr", bar)
    assert len(read(name, verbose=True)) == 3
    assert bar.getvalue() == ""
    monkeypatch.setattr(text, "LARGE", 1)
    assert len(read(name, verbose=True)) == 3
    assert f"read {name}: 100%" in bar.getvalue()
    assert len(read(name)) == 3
