"""The other commands, as processes of their own on real files."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import nearer as library
from extras import installed
from nearer.cli import COMMANDS
from nearer.cli.app import app

HEAVY = {"numpy", "scipy", "numba", "sklearn", "tqdm", "matplotlib", "pandas"}


def test_help_is_quick_and_plain(nearer):
    done = nearer("--help", env={"TERM": "xterm-256color", "COLUMNS": "80"})
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(f"\n  {command} " in done.stdout for command in COMMANDS)
    assert "..." not in done.stdout.split("Commands:")[1]  # no description is cut off
    code = f"import sys, nearer.cli; print(sorted({HEAVY} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command):
    told = CliRunner().invoke(app, [command, "--help"], prog_name="nearer").output
    assert f"  For example:\n    nearer {command}" in told


def test_version_and_wrong_usage(nearer, refused):
    assert nearer("--version").stdout == f"nearer {library.__version__}\n"
    assert "No such command 'fti'" in refused("fti")
    assert "there is no file a.csv" in refused("fit", "a.csv")
    assert "-o" in refused("simulate", "--objects", 5)


def test_score_counts_objects_that_the_model_does_not_know(here, refused, europe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = here("score", europe.model, europe.file).stdout
    assert "of 3,000 rows" in known
    assert "67 in the answers, 0 of them unknown" in known
    rows = "Vienna,Prague,Lisbon,3\nVienna,Lisbon,Prague,1\nVienna,Atlantis,Rome,1\n"
    (tmp_path / "more.csv").write_text("anchor,near,far,weight\n" + rows)
    told = refused("score", europe.model, "more.csv")
    assert "more.csv has 1 row about objects unknown to the model: Atlantis. --unknown skip leaves" in told
    told = here("score", europe.model, "more.csv", "--unknown", "skip").stdout
    assert "satisfied       75.0 % of 2 rows\n" in told
    assert "5 in the answers, 1 of them unknown" in told
    assert "Atlantis; 1 row about them left out" in told
    (tmp_path / "new.csv").write_text("anchor,near,far\nAtlantis,Lemuria,Mu\n")
    assert "nothing to score" in refused("score", europe.model, "new.csv", "--unknown", "skip")
    assert "--unknown must be raise or skip; got 'drop'" in refused(
        "score", europe.model, "new.csv", "--unknown", "drop"
    )
    wrong = refused("score", europe.file, europe.model)
    assert "is not a model file of nearer" in wrong


def test_score_leaves_out_rows_about_strangers_even_of_answers_in_part_known(here, refused, europe, tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [("Vienna", "Prague", "Lisbon"), ("Vienna", "Atlantis", "Rome")]
    records = [dict(zip(("anchor", "near", "far"), row, strict=True), answer=1, weight=1) for row in rows]
    path.write_text("\n".join(map(json.dumps, records)))
    told = here("score", europe.model, path, "--unknown", "skip").stdout
    assert "satisfied       100.0 % of 1 row\n" in told
    assert "Atlantis; 1 row about them left out" in told
    path.write_text(json.dumps({**records[0], "weight": 0}))
    assert "the weights of all 1 row to score are 0" in refused("score", europe.model, path)


def test_an_input_is_never_replaced(refused, europe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "anchor,near,far\n0,1,2\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text)
    (tmp_path / "link.csv").symlink_to("a.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "a.csv")
    for same in ("a.csv", "./a.csv", "link.csv", "hard.csv"):
        said = refused("fit", "b.csv", "a.csv", "-o", same)
        assert said.endswith(".csv: it is an input, which would be lost; name another file\n")
        assert "it is an input" in refused("convert", "a.csv", same)
    (tmp_path / "groups.html").write_text("name,group\nVienna,x\n")
    assert "it is an input" in refused("map", europe.model, "-o", "groups.html", "--groups", "groups.html")
    assert "it is an input" in refused("map", "a.csv", "-o", "a.csv")
    assert (tmp_path / "a.csv").read_text() == text


def test_neighbors_by_name_and_number(here, refused, europe):
    lines = here("neighbors", europe.model, "Vienna", "-k", 3).stdout.splitlines()
    assert lines[0] == "nearest to Vienna"
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]
    distances = [float(line.split()[-1]) for line in lines[1:]]
    assert distances == sorted(distances)
    names = sorted(library.load_model(europe.model).names_)
    assert here("neighbors", europe.model, 0).stdout.startswith(f"nearest to {names[0]}\n")
    wrong = refused("neighbors", europe.model, "tromso")
    assert wrong == "nearer: error: the model has no object called 'tromso'; did you mean Tromsø?\n"


def test_map_in_every_kind(here, refused, europe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "regions.csv").write_text("name,group\nVienna,centre\nTromsø,north\n", encoding="utf-8")
    here("map", europe.model, "-o", "m.html", "--title", "Städte", "--groups", "regions.csv")
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert "<title>Städte</title>" in page
    assert "centre" in page
    if installed("matplotlib"):
        here("map", europe.model, "-o", "m.png")
        assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    wrong = refused("map", europe.model, "-o", "m.gif")
    assert ".png, .svg" in wrong
    wrong = refused("map", europe.model, "-o", "no/m.html")
    assert wrong == "nearer: error: cannot write no/m.html: there is no folder no\n"
    (tmp_path / "bad.csv").write_text("name,group\nVienna,centre\nAtlantis,sea\n")
    wrong = refused("map", europe.model, "-o", "m.html", "--groups", "bad.csv")
    assert "bad.csv, line 3 is of no use: the model has no object called 'Atlantis'" in wrong
    assert (tmp_path / "m.html").read_text(encoding="utf-8") == page


def test_map_options_for_labels_and_tables_of_groups(here, refused, europe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here("map", europe.model, "-o", "m.html", "--labels", "all")
    assert '"labels":"all"' in (tmp_path / "m.html").read_text(encoding="utf-8")
    here("map", europe.model, "-o", "m.html", "--labels", "some", code=2)
    # As a spreadsheet writes it: capital letters, semicolons, a byte order mark.
    (tmp_path / "g.csv").write_text("\ufeffName;Group;Weight\nVienna;centre;3\nOslo;north;1,5\n", encoding="utf-8")
    here("map", europe.model, "-o", "m.html", "--groups", "g.csv")
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    assert '"groupOrder":["centre","north","other"]' in page
    assert '"scale":[' in page
    for text, told in [
        (
            "name,colour\nVienna,red\n",
            "wanted a header with the column name, and group, weight or both; got 'name', 'colour'",
        ),
        ("name,weight\nVienna,much\n", "g.csv, line 2 is of no use: a weight must be a number; got 'much'"),
        (
            "name,group\n1,centre\n",
            "line 2 is of no use: the model has no object called '1'; its objects have names",
        ),
        ("name,weight\nVienna,-1\n", "expected finite numbers of at least 0"),
        ("name,group\n", "g.csv has a header only"),
    ]:
        (tmp_path / "g.csv").write_text(text)
        assert told in refused("map", europe.model, "-o", "m.html", "--groups", "g.csv")


def test_check_reports_bad_rows_and_goes_on(here, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text("anchor,near,far\na,b,c\na,c,b\na,b\na,a,b\n")
    told = here("check", "bad.csv", code=2)
    assert told.stderr.endswith(
        "has 2 impossible rows: correct the file, or leave them out with --drop-bad-rows\n"
    )
    told = here("check", "bad.csv", "--drop-bad-rows").stdout
    assert "contradictions  1\n" in told
    assert "dropped         2 impossible rows\n" in told
    assert "first bad row   bad.csv, line 4 has 2 cells where 3 are wanted\n" in told
    (tmp_path / "weights.csv").write_text("anchor,near,far,weight\na,b,c,1\na,c,b,-1\na,c,b,x\n")
    told = here("check", "weights.csv", code=2).stdout
    assert "dropped         2 impossible rows\n" in told
    assert "first bad row   weights.csv, line 3 has weight" in told
    (tmp_path / "mute.csv").write_bytes(b"\xff\xfe\x00")
    assert refused("check", "mute.csv").count("\n") == 1
    assert here("check", "no.csv", code=2).stderr == "nearer: error: there is no file no.csv\n"


def test_convert_keeps_answers_together_and_old_files_safe(here, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.csv").write_text("first,second,odd\nRome,Naples,Oslo\nRome,Rome,Oslo\n")
    wrong = refused("convert", "odd.csv", "rows.jsonl")
    assert "odd.csv, line 3" in wrong
    done = here("convert", "odd.csv", "rows.jsonl", "--drop-bad-rows")
    assert done.stdout.startswith("wrote rows.jsonl: 2 rows about 3 objects; ")
    made = library.read(tmp_path / "rows.jsonl")
    assert (len(made), made.n_answers) == (2, 1)
    wrong = refused("convert", "odd.csv", "rows.docx", "--drop-bad-rows")
    assert "must end in .csv, .tsv, .jsonl" in wrong
    # Names 0, 1, … would come back from a csv as numbers: refused, and the old file stays.
    names = library.Comparisons([[0, 1, 2]], names=["0", "1", "2"])
    library.write(names, tmp_path / "numbers.npz")
    (tmp_path / "old.csv").write_text("old")
    refused("convert", "numbers.npz", "old.csv")
    assert (tmp_path / "old.csv").read_text() == "old"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_simulate_is_repeatable_and_has_that_many_errors(here, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    size = ["--objects", 12, "--answers", 400, "--dims", 3]
    for name, errors in [("true.npz", 0), ("noisy.npz", 0.25), ("again.npz", 0.25)]:
        here("simulate", *size, "--errors", errors, "--seed", 5, "-o", name)
    true, noisy, again = (library.read(tmp_path / name) for name in ("true.npz", "noisy.npz", "again.npz"))
    assert (noisy.rows == again.rows).all()
    assert int((true.rows != noisy.rows).any(axis=1).sum()) == 100
    wrong = refused("simulate", "--europe", "--objects", 5, "-o", "x.csv")
    assert "leave --objects and --dims out" in wrong


def test_cache_is_shown_and_cleared(nearer, tmp_path):
    loops = tmp_path / "loops"
    loops.mkdir()
    (loops / "loop_abc.1.nbc").write_bytes(b"x" * 2000)
    cache = {"NEARER_CACHE": str(tmp_path)}
    shown = nearer("cache", env=cache).stdout.split("\n")
    assert shown == [f"folder          {loops}", "loops           1", "size            2 kB", ""]
    assert nearer("cache", "--clear", env=cache).stdout == f"removed 1 loop (2 kB) from {loops}\n"
    assert not list(loops.glob("*"))


def test_demo_finds_europe_and_leaves_its_files(nearer, tmp_path):
    done = nearer("demo", "--folder", "the demo", cwd=tmp_path)
    folder = tmp_path / "the demo"
    left = {"europe.html", "europe.csv", "europe.nearer"}
    if installed("matplotlib"):
        left.add("europe.png")
    assert set(os.listdir(folder)) == left
    assert max(map(len, done.stdout.splitlines())) <= max(80, len(str(folder)) + 5)
    held_out = float(done.stdout.partition("held out")[2].split()[0])
    disparity = float(done.stdout.partition("Procrustes disparity")[2].split()[0])
    assert held_out > 88
    assert disparity < 0.03
    assert len(library.read(folder / "europe.csv")) == 8000
    assert "reference" in (folder / "europe.html").read_text(encoding="utf-8")
    assert json.dumps("Tromsø") in (folder / "europe.html").read_text(encoding="utf-8")


def test_what_is_no_regular_file_is_not_replaced_by_one(refused, europe, tmp_path):
    pipe = tmp_path / "pipe.csv"  # stands for /dev/null, which a failing test had better not touch
    os.mkfifo(pipe)
    said = refused("convert", europe.file, pipe)
    assert said == f"nearer: error: cannot write {pipe}: it is not a regular file\n"
    assert pipe.is_fifo()
