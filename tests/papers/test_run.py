"""Runs of experiments: they resume after a kill and after Ctrl-C, trust no results but their own, and end in records."""

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import toy_experiment
from typer.testing import CliRunner

from extras import needs
from nearer.cli.app import app
from nearer.papers import run
from nearer.papers.report import HOLDS, markdown, markdown_table, read_records, report, write_report
from nearer.papers.run import partial_path, read_record, record_path, run_experiment

PARTIAL = "toy-squares-quick.jsonl"


def numbers_in(log):
    return [int(line) for line in log.read_text().split()]


def without_time(record):
    return {key: value for key, value in record.items() if key not in ("seconds", "date")}


def start(folder, n_jobs):
    """Start the toy at its quick scale as a process of its own."""
    here = str(Path(toy_experiment.__file__).parent)
    paths = os.pathsep.join([here, *(path for path in sys.path if path)])
    return subprocess.Popen(
        [sys.executable, toy_experiment.__file__, str(folder), str(n_jobs)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_results(path, n):
    """Wait until a run has kept some results."""
    end = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") <= n:
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_run_that_was_killed_goes_on_and_ends_with_the_same_record(toy, log, tmp_path, n_jobs):
    whole, fresh = run_experiment("toy", toy, "quick", tmp_path / "whole", n_jobs=2)
    assert fresh
    assert sorted(numbers_in(log)) == list(range(20))
    log.write_text("")
    process = start(tmp_path / "killed", n_jobs)
    partial = tmp_path / "killed" / PARTIAL
    wait_for_results(partial, 3)
    process.kill()
    process.communicate(timeout=30)  # until all who hold its output have ended: no worker is left behind
    record = partial.with_suffix(".json")
    assert not record.exists()
    there = partial.read_bytes().count(b"\n") - 1
    assert 3 <= there < 20
    begun = len(numbers_in(log))
    resumed, fresh = run_experiment("toy", toy, "quick", tmp_path / "killed", n_jobs=n_jobs)
    assert fresh
    assert len(numbers_in(log)) == begun + 20 - there
    assert not partial.exists()
    assert without_time(resumed) == without_time(whole) == without_time(read_record(record))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_results_so_far(toy, log, tmp_path, n_jobs):
    process = start(tmp_path, n_jobs)
    wait_for_results(tmp_path / PARTIAL, 3)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=30)[1]
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in errors
    there = (tmp_path / PARTIAL).read_bytes().count(b"\n") - 1
    assert 3 <= there < 20
    before = len(numbers_in(log))
    run_experiment("toy", toy, "quick", tmp_path)
    assert len(numbers_in(log)) == before + 20 - there


def numbers_run_after(tear, toy, log, path):
    """Run the toy, change the file of its results as if it had not ended, and return which trials run again."""
    record, _ = run_experiment("toy", toy, "tiny", path)
    lines = [
        json.dumps({key: record[key] for key in ("paper", "experiment", "scale", "sizes", "code", "machine")})
    ]
    lines += [json.dumps({**line, "seconds": 0.0}) for line in record["trials"]]
    record_path(path, "toy", toy, "tiny").unlink()
    partial = partial_path(record_path(path, "toy", toy, "tiny"))
    partial.write_text(tear("\n".join(lines) + "\n"))
    log.write_text("")
    again, _ = run_experiment("toy", toy, "tiny", path)
    assert without_time(again) == without_time(record)
    return numbers_in(log)


def test_a_torn_last_line_is_run_again(toy, log, tmp_path):
    assert numbers_run_after(lambda text: text, toy, log, tmp_path) == []
    assert numbers_run_after(lambda text: text[:-1], toy, log, tmp_path) == []
    assert numbers_run_after(lambda text: text[:-9], toy, log, tmp_path) == [2]
    assert numbers_run_after(lambda text: text[: text.index("\n") // 2], toy, log, tmp_path) == [0, 1, 2]
    assert numbers_run_after(lambda text: "", toy, log, tmp_path) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:results of other code")
def test_results_of_other_code_or_sizes_are_set_aside(toy, log, tmp_path, monkeypatch):
    first, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert numbers_run_after(lambda text: text.replace(first["code"], "0" * 16), toy, log, tmp_path) == [0, 1, 2]
    assert numbers_run_after(lambda text: text.replace('"n": 3', '"n": 4'), toy, log, tmp_path) == [0, 1, 2]
    assert len((tmp_path / "toy-squares-tiny.jsonl.old").read_text().splitlines()) == 4
    log.write_text("")
    assert not run_experiment("toy", toy, "tiny", tmp_path)[1]
    assert numbers_in(log) == []
    monkeypatch.setattr(run, "code_hash", lambda: "other")
    record, fresh = run_experiment("toy", toy, "tiny", tmp_path)
    assert fresh
    assert (record["code"], numbers_in(log)) == ("other", [0, 1, 2])


def test_the_hash_changes_with_every_source_file_and_its_name(tmp_path):
    (tmp_path / "inner").mkdir()
    source = tmp_path / "inner" / "loops.py"
    source.write_text("x = 1\n")
    hashes = [run.hash_source(tmp_path)]
    source.write_text("x = 2\n")
    hashes.append(run.hash_source(tmp_path))
    source.rename(tmp_path / "loops.py")
    hashes.append(run.hash_source(tmp_path))
    assert len(set(hashes)) == 3
    (tmp_path / "notes.txt").write_text("not code")
    assert run.hash_source(tmp_path) == hashes[-1]


def test_again_runs_everything_anew(toy, log, tmp_path):
    run_experiment("toy", toy, "tiny", tmp_path)
    record = record_path(tmp_path, "toy", toy, "tiny")
    partial_path(record).write_text("left over\n")
    assert run_experiment("toy", toy, "tiny", tmp_path, again=True)[1]
    assert numbers_in(log) == [0, 1, 2] * 2
    assert not partial_path(record).exists()


def test_a_record_says_of_what_it_is(toy, log, tmp_path):
    record, _ = run_experiment("toy", toy, "full", tmp_path)
    assert record["sizes"] == toy.sizes["full"]
    assert (record["reduced"], record["stand-in"]) == (toy.reduced, toy.stand_in)
    assert {"processor", "cores", "python", "numpy"} <= set(record["machine"])
    assert [line["trial"]["number"] for line in record["trials"]] == list(range(20))
    assert run_experiment("toy", toy, "tiny", tmp_path)[0]["reduced"] == "run at the scale 'tiny'"


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"paper": "toy"}'])
def test_what_is_no_record_is_said_so(tmp_path, text):
    path = tmp_path / "toy-squares-tiny.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"toy-squares-tiny\.json is not the record"):
        read_record(path)


def test_numbers_that_json_does_not_have_end_a_run(toy, log, tmp_path, monkeypatch):
    monkeypatch.setattr(type(toy), "run", lambda self, trial: {"square": float("nan"), "root": 0.0})
    with pytest.raises(ValueError, match="JSON"):
        run_experiment("toy", toy, "tiny", tmp_path)


def test_cells_of_markdown(toy, log, tmp_path):
    table = markdown_table([{"a|b": 0.123456, "n": 10}, {"a|b": None, "n": 1234.5, "list": [1, 2]}])
    assert table.splitlines() == [
        "| a\\|b | n | list |",
        "| --- | --- | --- |",
        "| 0.123 | 10 |  |",
        "| – | 1,234 | [1, 2] |",
    ]
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    text = markdown(record)
    assert text.startswith("## Squares & pauses\n\n**Numbers below <20> replace all numbers.**")
    assert "- roots are whole: **does not hold**. root of 2" in text


class Outline(HTMLParser):
    """Check that elements are closed in the order in which they were opened; keep the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_one_well_formed_page_with_every_verdict(toy, log, tmp_path):
    needs("matplotlib")
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert write_report(tmp_path, tmp_path / "report.html") == 1
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(page)
    outline.close()
    assert outline.open == []
    text = " ".join("".join(outline.text).split())
    for verdict in record["verdicts"]:
        assert verdict["claim"] in text
        assert verdict["measured"] in text
        assert f"'{json.dumps(verdict['holds'])}'>{HOLDS[verdict['holds']]}<" in page
    assert record["stand-in"] in text
    assert record["reduced"] in text
    assert "Each after a pause, so that there is time to interrupt it. Where <this> is silent" in text
    assert page.count("<svg") == 1
    assert report(read_records(tmp_path)).count("<h3") == 1


def test_the_report_shows_the_protocol_that_was_run(toy, log, tmp_path, monkeypatch):
    run_experiment("toy", toy, "tiny", tmp_path)
    monkeypatch.setattr(type(toy), "__doc__", "Another protocol.")
    assert "Where &lt;this&gt; is silent" in report(read_records(tmp_path))


def test_a_second_process_at_the_same_record_is_refused(toy, log, tmp_path):
    needs("fcntl")
    process = start(tmp_path, 1)
    try:
        wait_for_results(tmp_path / PARTIAL, 1)
        with pytest.raises(OSError, match=f"another process is at .*{PARTIAL}: wait for it"):
            run_experiment("toy", toy, "quick", tmp_path)
    finally:
        process.kill()
        process.communicate(timeout=30)
    record, _ = run_experiment("toy", toy, "quick", tmp_path)
    assert len(record["trials"]) == 20
    assert not list(tmp_path.glob("*.lock"))


def test_the_report_takes_the_largest_scale(toy, log, tmp_path):
    for scale in ("tiny", "full"):
        run_experiment("toy", toy, scale, tmp_path)
    assert [record["scale"] for _, record, _ in read_records(tmp_path)] == ["full"]


def nearer(*arguments, code=0):
    """Run a command in this process, where there is the toy."""
    done = CliRunner().invoke(app, ["papers", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done


def test_the_command_lists_runs_and_reports(toy, log, tmp_path):
    needs("matplotlib")
    listed = nearer("list", "-o", tmp_path).output
    for text in ("toy: Nobody, Of Numbers, never", "squares", toy.title, toy.stand_in, "quick 6 s, full 3 min"):
        assert text in listed
    assert "recorded" not in listed
    done = nearer("run", "toy", "squares", "--scale", "full", "--quiet", "-o", tmp_path, "--jobs", 1)
    assert "holds: squares grow & grow. 20 <squares>" in done.output
    assert "does not hold: roots are whole" in done.output
    assert {path.suffix for path in tmp_path.glob("toy-squares-full.*")} == {".json", ".md", ".png", ".svg"}
    assert (tmp_path / "toy-squares-full.png").read_bytes().startswith(b"\x89PNG")
    assert "recorded: full" in nearer("list", "-o", tmp_path).output
    assert "(recorded before)" in nearer("run", "all", "--scale", "full", "--quiet", "-o", tmp_path).output
    assert numbers_in(log) == list(range(20))
    nearer("run", "all", "--scale", "full", "--again", "--quiet", "-o", tmp_path, "--jobs", 1)
    assert numbers_in(log) == list(range(20)) * 2
    assert "report.html: 1 experiments" in nearer("report", "-o", tmp_path).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "needs a paper, one of toy, or all"),
        (["run", "tyo"], "there is no paper 'tyo'; there are toy"),
        (["run", "toy", "squares", "cubes"], "toy has no experiment 'cubes'; it has squares"),
        (["run", "toy", "--scale", "large"], "--scale is quick or full; got 'large'"),
        (["walk"], "got 'walk'"),
        (["report", "-o", "nowhere"], "there are no records in nowhere: nearer papers run writes them"),
    ],
)
def test_unknown_names_are_answered_with_those_that_there_are(toy, arguments, message):
    assert message in " ".join(nearer(*arguments, code=2).output.split())


def test_missing_data_are_said_before_anything_runs(toy, log, tmp_path, monkeypatch):
    monkeypatch.setenv("NEARER_DATA", str(tmp_path))
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path))
    monkeypatch.setattr(type(toy), "data", ("caltech101",))
    assert (
        "the data set 'caltech101' is not on this machine" in nearer("run", "toy", "-o", tmp_path, code=2).output
    )
    assert "skipped toy squares: the data set 'caltech101'" in nearer("run", "all", "-o", tmp_path, code=2).output
    assert numbers_in(log) == []
