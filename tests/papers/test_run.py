"""Runs of experiments: they resume after a kill and after Ctrl-C, trust no results but their own, and end in records."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path

import pytest
import toy_experiment
from typer.testing import CliRunner

from extras import needs
from nearer import __version__, datasets
from nearer.cli.app import app
from nearer.papers import Verdict, lock, provenance, run, sdca
from nearer.papers.records import duration_of, partial_path, read_record, record_path
from nearer.papers.report import (
    figure_of,
    markdown,
    markdown_table,
    notes_of,
    read_records,
    report,
    verdict_text,
    write_figure,
    write_report,
)
from nearer.papers.run import TrialError, run_experiment, set_aside

PARTIAL = "toy-squares-quick.jsonl"


def numbers_in(log):
    return [int(line) for line in log.read_text().split()]


def without_time(record):
    """Return a record without what differs between two runs."""
    return {
        key: value
        for key, value in record.items()
        if key not in ("processor seconds", "date", "load at the start", "n_jobs")
    }


def start(folder, n_jobs, pause=None):
    """Start the toy at its quick scale as a process of its own, with pauses of other lengths if they are given."""
    here = str(Path(toy_experiment.__file__).parent)
    paths = os.pathsep.join([here, *(path for path in sys.path if path)])
    return subprocess.Popen(
        [
            sys.executable,
            toy_experiment.__file__,
            str(folder),
            str(n_jobs),
            *([] if pause is None else [str(pause)]),
        ],
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


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_does_not_wait_for_the_trials_that_are_under_way(toy, log, tmp_path, n_jobs):
    process = start(tmp_path, n_jobs, pause=60.0)
    end = time.monotonic() + 60
    while len(numbers_in(log)) < n_jobs:
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)  # until all who hold its output have ended
    assert process.returncode != 0


def numbers_run_after(tear, toy, log, path):
    """Run the toy, change the file of its results as if it had not ended, and return which trials run again."""
    record, _ = run_experiment("toy", toy, "tiny", path)
    lines = [
        json.dumps({key: record[key] for key in ("paper", "experiment", "scale", "sizes", "code", "machine")})
    ]
    lines += [json.dumps({**line, "processor seconds": 0.0}) for line in record["trials"]]
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


def test_of_damaged_lines_only_these_are_run_again(toy, log, tmp_path):
    def damage(text):
        lines = text.splitlines()
        return "\n".join([lines[0], lines[1], "\0\0" + lines[2], '{"trial": 0}', lines[3]]) + "\n"

    assert numbers_run_after(damage, toy, log, tmp_path) == [1]
    with pytest.warns(UserWarning, match="it was renamed to"):  # of what they are is not known
        assert numbers_run_after(lambda text: "{" + text, toy, log, tmp_path) == [0, 1, 2]


def test_results_of_other_code_or_sizes_are_set_aside(toy, log, tmp_path):
    first, _ = run_experiment("toy", toy, "tiny", tmp_path)
    with pytest.warns(
        UserWarning, match=r"has results of other code.*it was renamed to toy-squares-tiny\.jsonl\.old$"
    ):
        assert numbers_run_after(lambda text: text.replace(first["code"], "0"), toy, log, tmp_path) == [0, 1, 2]
    with pytest.warns(UserWarning, match=r"it was renamed to toy-squares-tiny\.jsonl\.old2$"):
        assert numbers_run_after(lambda text: text.replace('"n": 3', '"n": 4'), toy, log, tmp_path) == [0, 1, 2]
    for name in ("toy-squares-tiny.jsonl.old", "toy-squares-tiny.jsonl.old2"):
        assert len((tmp_path / name).read_text().splitlines()) == 4


def test_a_record_of_the_same_trials_is_not_run_again(toy, log, tmp_path, monkeypatch):
    first, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert run_experiment("toy", toy, "tiny", tmp_path) == (first, False)
    monkeypatch.setattr(run, "code_hash", lambda experiment: "other")
    with pytest.warns(
        UserWarning, match=r"measured with other code, or another Python \(.*, now other\); --again"
    ):
        assert run_experiment("toy", toy, "tiny", tmp_path) == (first, False)
    assert numbers_in(log) == [0, 1, 2]


def test_a_record_of_other_trials_or_results_is_set_aside(toy, log, tmp_path, monkeypatch):
    path = record_path(tmp_path, "toy", toy, "tiny")
    run_experiment("toy", toy, "tiny", tmp_path)
    old = path.read_text()
    monkeypatch.setitem(toy.sizes, "tiny", {"n": 2, "pause": 0.0})  # one trial less
    with pytest.warns(UserWarning, match=r"has other trials.*it was renamed to toy-squares-tiny\.json\.old$"):
        assert run_experiment("toy", toy, "tiny", tmp_path)[1]
    assert path.with_name("toy-squares-tiny.json.old").read_text() == old
    path.write_text("{")
    with pytest.warns(UserWarning, match=r"is not the record of an experiment.*\.json\.old2$"):
        assert run_experiment("toy", toy, "tiny", tmp_path)[1]
    assert numbers_in(log) == [0, 1, 2, 0, 1, 0, 1]


def test_a_record_that_the_code_cannot_evaluate_is_an_error_and_stays(toy, log, tmp_path, monkeypatch):
    run_experiment("toy", toy, "tiny", tmp_path)
    path = record_path(tmp_path, "toy", toy, "tiny")
    old = path.read_text()

    def broken(self, results):
        return [{"number": trial["numbr"]} for trial, _ in results]

    monkeypatch.setattr(type(toy), "table", broken)
    with pytest.raises(ValueError, match=r"tiny\.json: its trials cannot.*KeyError: 'numbr'; --again sets"):
        run_experiment("toy", toy, "tiny", tmp_path)
    assert path.read_text() == old
    assert numbers_in(log) == [0, 1, 2]


def test_a_record_of_fewer_trials_is_extended(toy, log, tmp_path, monkeypatch):
    first, _ = run_experiment("toy", toy, "tiny", tmp_path)
    path = record_path(tmp_path, "toy", toy, "tiny")
    monkeypatch.setitem(toy.sizes, "tiny", {"n": 5, "pause": 0.0})
    with monkeypatch.context() as patch:
        patch.setattr(run, "code_hash", lambda experiment: "other")
        with pytest.warns(UserWarning, match="measured with other code, or another Python"):
            second, fresh = run_experiment("toy", toy, "tiny", tmp_path)
    assert fresh
    assert numbers_in(log) == list(range(5))
    assert [line["trial"]["number"] for line in second["trials"]] == list(range(5))
    assert second["trials"][:3] == first["trials"]
    assert [row["a|b"] for row in second["table"]] == [0, 1, 4, 9, 16]
    kept = {key: first[key] for key in ("code", "date", "machine")} | {"trials": 3}
    assert (second["code"], second["earlier runs"]) == ("other", [kept])
    assert second["processor seconds"] >= first["processor seconds"]
    assert f"3 of the 5 trials: {first['date']}, code {first['code']}" in markdown(second)
    assert "3 of the 5 trials were run with earlier code" in notes_of(second)
    assert not any("earlier code" in note for note in notes_of(first))
    assert read_record(path) == second

    monkeypatch.setitem(toy.sizes, "tiny", {"n": 6, "pause": 0.0})
    with pytest.warns(UserWarning, match="measured with other code"):
        third, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert [(earlier["code"], earlier["trials"]) for earlier in third["earlier runs"]] == [
        (first["code"], 3),
        ("other", 2),
    ]
    assert numbers_in(log) == list(range(6))
    assert not list(tmp_path.glob("*.old"))


def test_an_extension_that_is_interrupted_resumes(toy, log, tmp_path, monkeypatch):
    run_experiment("toy", toy, "tiny", tmp_path)
    old = record_path(tmp_path, "toy", toy, "tiny").read_text()
    monkeypatch.setitem(toy.sizes, "tiny", {"n": 6, "pause": 0.0})
    squares = type(toy).run

    def interrupted(self, trial):
        if trial["number"] == 4:
            raise KeyboardInterrupt
        return squares(self, trial)

    with monkeypatch.context() as patch:
        patch.setattr(type(toy), "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_experiment("toy", toy, "tiny", tmp_path)
    assert record_path(tmp_path, "toy", toy, "tiny").read_text() == old
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert len(record["trials"]) == 6
    assert numbers_in(log) == list(range(6))


def test_times_of_another_machine_are_not_extended(toy, log, tmp_path, monkeypatch):
    monkeypatch.setattr(type(toy), "timed", True)
    run_experiment("toy", toy, "tiny", tmp_path)
    monkeypatch.setitem(toy.sizes, "tiny", {"n": 4, "pause": 0.0})
    assert len(run_experiment("toy", toy, "tiny", tmp_path)[0]["earlier runs"]) == 1
    monkeypatch.setitem(toy.sizes, "tiny", {"n": 5, "pause": 0.0})
    monkeypatch.setattr(run, "describe_machine", lambda: {"processor": "another"})
    with pytest.warns(UserWarning, match=r"has times of another machine.*tiny\.json\.old$"):
        record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert "earlier runs" not in record
    assert numbers_in(log) == [0, 1, 2, 3, 0, 1, 2, 3, 4]


def test_the_trials_of_a_record_decide_what_is_shown(toy, log, tmp_path, monkeypatch):
    run_experiment("toy", toy, "tiny", tmp_path)
    path = record_path(tmp_path, "toy", toy, "tiny")
    stored = json.loads(path.read_text())
    stored["table"], stored["verdicts"] = [{"number": "of long ago"}], []
    path.write_text(json.dumps(stored))
    monkeypatch.setattr(type(toy), "title", "Squares")  # as it was when it was run
    ((_, record, _),) = read_records(tmp_path)
    assert [row["a|b"] for row in record["table"]] == [0, 1, 4]
    assert len(record["verdicts"]) == 3
    assert notes_of(record) == [toy.stand_in, "run at the scale 'tiny'"]
    assert run_experiment("toy", toy, "tiny", tmp_path) == (record, False)
    assert read_record(path) == record
    assert numbers_in(log) == [0, 1, 2]


@pytest.mark.parametrize("change", ['"number": 2', '"square"', '"n"'], ids=["trials", "results", "sizes"])
def test_a_record_of_an_earlier_protocol_is_shown_as_stored_and_said_to_be(change, toy, log, tmp_path):
    run_experiment("toy", toy, "tiny", tmp_path)
    path = record_path(tmp_path, "toy", toy, "tiny")
    stored = json.loads(path.read_text())
    stored["table"] = [{"number": "of long ago"}]
    path.write_text(json.dumps(stored).replace(change, '"m"' if change == '"n"' else change.replace("u", "v")))
    path.with_suffix(".svg").write_text("<?xml?><svg>as it was drawn</svg>")
    ((_, record, _),) = read_records(tmp_path)
    assert len(record["table"]) == 1
    assert "of an earlier protocol" in notes_of(record)[-1]
    assert "**Of an earlier protocol" in markdown(record)
    page = report(read_records(tmp_path))
    assert "<td>tiny, stand-in, earlier protocol</td>" in page
    assert "<svg>as it was drawn</svg>" in page
    assert page.count("<svg") == 1


SOURCE = '"""Loops."""\n\n\ndef double(x):\n    """Return twice x."""\n    return 2 * x\n'


def test_the_hash_is_of_code_without_comments_and_docstrings(tmp_path):
    source = tmp_path / "loops.py"

    def hash_of(text, name="loops.py"):
        source.write_text(text)
        path = source.rename(tmp_path / name)
        return provenance.hash_code([path], tmp_path)

    first = hash_of(SOURCE)
    assert hash_of(SOURCE.replace("Return twice", "Return the double of")) == first
    assert hash_of(SOURCE.replace("return", "# a comment\n    return")) == first
    assert hash_of(SOURCE.replace("2 *", "3 *")) != first
    assert hash_of(SOURCE, "other.py") != first
    method = "class Table({}):\n    size = 3\n    def {}(self):\n        return {}\n"
    assert hash_of(method.format("Experiment", "draw", 1)) == hash_of(method.format("Experiment", "draw", 2))
    assert hash_of(method.format("Experiment", "run", 1)) != hash_of(method.format("Experiment", "run", 2))
    assert hash_of(method.format("Kernel", "draw", 1)) != hash_of(method.format("Kernel", "draw", 2))


def test_the_hash_is_of_what_trials_depend_on(tmp_path, toy, monkeypatch):
    for name in ("losses/core.py", "datasets/cars.py", "papers/sdca.py", "cli/app.py", "datasets/source.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SOURCE)
    found = {path.relative_to(tmp_path).as_posix() for path in provenance._related(tmp_path)}
    assert found == {"losses/core.py", "datasets/cars.py"}
    assert all((provenance.LIBRARY / name).exists() for name in provenance.UNRELATED)
    hashes = {provenance.code_hash(experiment) for experiment in (toy, *sdca.EXPERIMENTS)}
    assert len(hashes) == 2  # of the toy's file, and of sdca.py


def test_what_is_set_aside_is_run_anew_and_kept(toy, log, tmp_path):
    run_experiment("toy", toy, "tiny", tmp_path)
    record = record_path(tmp_path, "toy", toy, "tiny")
    old = record.read_text()
    partial_path(record).write_text("left over\n")
    with pytest.warns(UserWarning, match="it was renamed to") as told:
        set_aside("toy", toy, "tiny", tmp_path)
    assert run_experiment("toy", toy, "tiny", tmp_path)[1]
    assert [str(warning.message).rsplit(" ", 1)[1] for warning in told] == [
        "toy-squares-tiny.json.old",
        "toy-squares-tiny.jsonl.old",
    ]
    assert numbers_in(log) == [0, 1, 2] * 2
    assert not partial_path(record).exists()
    assert record.with_name("toy-squares-tiny.json.old").read_text() == old
    assert partial_path(record).with_name("toy-squares-tiny.jsonl.old").read_text() == "left over\n"


def test_a_record_is_tied_to_the_code_and_the_state_of_the_machine(toy, log, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (0.254, 0.0, 0.0), raising=False)
    record, _ = run_experiment("toy", toy, "tiny", tmp_path, n_jobs=2)
    assert (record["version"], record["n_jobs"], record["load at the start"]) == (__version__, 2, 0.25)
    assert record["commit"] is None or re.fullmatch(r"[\w.-]+", record["commit"])
    assert record["code"] == provenance.code_hash(toy)


def test_no_commit_is_recorded_where_there_is_no_checkout_or_no_git(tmp_path, monkeypatch):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "provenance.py").touch()
    monkeypatch.setattr(provenance, "LIBRARY", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance._commit.__wrapped__() is None
    monkeypatch.setenv("PATH", "")
    assert provenance._commit.__wrapped__() is None


def test_the_time_of_trials_is_processor_time(toy, log, tmp_path):
    record, _ = run_experiment("toy", toy, "quick", tmp_path, n_jobs=1)  # 20 pauses of 0.1 s
    assert 0 < record["processor seconds"] < 1
    assert duration_of(record) == "0.0 minutes of processor time"
    assert duration_of({"seconds": 90.0}) == "1.5 minutes of trials"
    both = {"seconds": 90.0, "processor seconds": 30.0}
    assert duration_of(both) == "1.5 minutes of trials and 0.5 minutes of processor time"
    assert run._time_of([{"processor seconds": 10.0}], {"seconds": 90.0}) == {
        "seconds": 90.0,
        "processor seconds": 10.0,
    }


def test_a_record_says_of_what_it_is(toy, log, tmp_path):
    record, _ = run_experiment("toy", toy, "full", tmp_path)
    assert record["sizes"] == toy.sizes["full"]
    assert (record["reduced"], record["stand-in"]) == (toy.reduced, toy.stand_in)
    assert {"processor", "cores", "python", "numpy"} <= set(record["machine"])
    assert [line["trial"]["number"] for line in record["trials"]] == list(range(20))
    assert run_experiment("toy", toy, "tiny", tmp_path)[0]["reduced"] == "run at the scale 'tiny'"


def test_a_record_has_a_line_per_trial(toy, log, tmp_path):
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    lines = record_path(tmp_path, "toy", toy, "tiny").read_text(encoding="utf-8").splitlines()
    place = lines.index(' "trials": [')
    assert [json.loads(line.rstrip(",")) for line in lines[place + 1 : place + 4]] == record["trials"]
    assert lines[place + 4 :] == [" ]", "}"]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"paper": "toy"}', "\xff"])
def test_what_is_no_record_is_said_so(tmp_path, text):
    path = tmp_path / "toy-squares-tiny.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"toy-squares-tiny\.json is damaged or not the record"):
        read_record(path)


def test_numbers_that_json_does_not_have_end_a_run(toy, log, tmp_path, monkeypatch):
    monkeypatch.setattr(type(toy), "run", lambda self, trial: {"square": float("nan"), "root": 0.0})
    with pytest.raises(TrialError, match=r'^toy squares, trial \{"number": 0, .*\}: ValueError: .*JSON'):
        run_experiment("toy", toy, "tiny", tmp_path)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_names_its_trial_and_the_other_results_are_kept(toy, log, tmp_path, monkeypatch, n_jobs):
    squares = type(toy).run

    def fails(self, trial):
        if trial["number"] == 2:
            time.sleep(0.5)
            raise ZeroDivisionError("no square")
        return squares(self, trial)

    with monkeypatch.context() as patch:
        patch.setattr(type(toy), "run", fails)
        with pytest.raises(TrialError, match=r'trial \{"number": 2, .*: ZeroDivisionError: no square$') as raised:
            run_experiment("toy", toy, "tiny", tmp_path, n_jobs=n_jobs)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    run_experiment("toy", toy, "tiny", tmp_path, n_jobs=n_jobs)
    assert sorted(numbers_in(log)) == [0, 1, 2]


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
    assert "- ours: roots are whole: **does not hold at this size**. root of 2" in text


def test_a_verdict_below_the_full_scale_is_about_that_size():
    assert verdict_text(True, "full") == "holds"
    assert verdict_text(False, "full") == "does not hold"
    assert verdict_text(True, "quick") == "holds at this size"
    assert verdict_text(False, "tiny") == "does not hold at this size"
    assert verdict_text(None, "full") == verdict_text(None, "quick") == "cannot be decided here"


def test_a_figure_says_its_size_and_stand_in(toy, log, tmp_path, monkeypatch):
    needs("matplotlib")
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    draw = type(toy).draw

    def with_legend(self, figure, results):
        figure.set_size_inches(4.0, 3.0)
        draw(self, figure, results)
        figure.legend(figure.axes[0].lines, ["squares"], loc="outside lower center")

    monkeypatch.setattr(type(toy), "draw", with_legend)
    figure = figure_of(toy, record)
    text = figure.texts[0].get_text()
    assert text.replace("\n", " ") == "Numbers below <20> replace all numbers. Run at the scale 'tiny'."
    for stand_in in (toy.stand_in, " ".join(["numbers"] * 60)):
        figure = figure_of(toy, record | {"stand-in": stand_in})
        figure.savefig(tmp_path / "figure.png")
        caption, legend = figure.texts[0].get_window_extent(), figure.legends[0].get_window_extent()
        assert caption.y1 < legend.y0
        assert legend.y1 < figure.axes[0].get_tightbbox().y0
        assert figure.bbox.contains(caption.x0, caption.y0)
        assert figure.bbox.contains(caption.x1, caption.y1)
    assert figure_of(toy, record | {"stand-in": "", "reduced": ""}).texts == []


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
        assert ("ours: " if verdict["ours"] else "") + verdict["claim"] in text
        assert verdict["measured"] in text
        assert f"'{json.dumps(verdict['holds'])}'>{verdict_text(verdict['holds'], 'tiny')}<" in page
    assert page.count("<td>tiny, stand-in</td>") == len(record["verdicts"]) + 1  # and in the summary
    assert record["stand-in"] in text
    assert record["reduced"] in text
    assert "Each after a pause, so that there is time to interrupt it. Where <this> is silent" in text
    assert page.count("<svg") == 1
    assert report(read_records(tmp_path)).count("<h3") == 1


def test_the_report_names_the_data_and_says_whether_the_code_has_changed(toy, log, tmp_path, monkeypatch):
    monkeypatch.setattr(type(toy), "data", ("cars",))
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    assert record["data"] == {"cars": datasets.source_of("cars").sha256}
    page = report(read_records(tmp_path))
    assert "Data cars: Kleindessner and von Luxburg" in page
    assert "License: MIT" in page
    assert "has changed since" not in page
    monkeypatch.setattr("nearer.papers.report.code_hash", lambda experiment: "other")
    assert " · the library, or Python, has changed since" in report(read_records(tmp_path))


def test_a_record_gives_the_same_figure_again(toy, log, tmp_path):
    needs("matplotlib")
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    pictures = [write_figure(toy, record, tmp_path / name)[1].read_bytes() for name in ("one", "two")]
    assert pictures[0] == pictures[1]


def test_a_record_says_of_its_data_what_the_experiment_says_now(toy, log, tmp_path, monkeypatch):
    run_experiment("toy", toy, "tiny", tmp_path)
    monkeypatch.setattr(type(toy), "stand_in", "other numbers")
    ((_, record, _),) = read_records(tmp_path)
    assert record["stand-in"] == "other numbers"


def test_a_record_says_of_its_size_what_the_experiment_says_now_unless_the_size_has_changed(
    toy, log, tmp_path, monkeypatch
):
    run_experiment("toy", toy, "full", tmp_path)
    monkeypatch.setattr(type(toy), "reduced", "no large numbers")
    assert read_records(tmp_path)[0][1]["reduced"] == "no large numbers"
    monkeypatch.setattr(type(toy), "sizes", {**toy.sizes, "full": {"n": 30, "pause": 0.0}})
    monkeypatch.setattr(type(toy), "reduced", "30 numbers")
    assert read_records(tmp_path)[0][1]["reduced"] == "fewer numbers than the paper's"


def test_the_report_shows_the_protocol_that_was_run(toy, log, tmp_path, monkeypatch):
    run_experiment("toy", toy, "tiny", tmp_path)
    monkeypatch.setattr(type(toy), "__doc__", "Another protocol.")
    assert "Where &lt;this&gt; is silent" in report(read_records(tmp_path))


def test_a_second_process_at_the_same_record_is_refused(toy, log, tmp_path):
    needs("fcntl")
    process = start(tmp_path, 1)
    try:
        wait_for_results(tmp_path / PARTIAL, 1)
        for attempt in (run_experiment, set_aside):
            with pytest.raises(
                OSError, match=f"{PARTIAL} is in use by another process that runs this exp.*: wait"
            ):
                attempt("toy", toy, "quick", tmp_path)
    finally:
        process.kill()
        process.communicate(timeout=30)
    record, _ = run_experiment("toy", toy, "quick", tmp_path)
    assert len(record["trials"]) == 20
    assert not list(tmp_path.glob("*.lock"))


def test_a_lock_that_was_removed_while_it_was_opened_is_no_lock(tmp_path, monkeypatch):
    needs("fcntl")
    path, flock, calls = tmp_path / "results.jsonl", lock.fcntl.flock, []

    def lock_what_is_removed_at_first(file, how):
        flock(file, how)
        calls.append(how)
        if len(calls) == 1:
            path.with_suffix(".lock").unlink()  # as whoever held it before does

    monkeypatch.setattr(lock.fcntl, "flock", lock_what_is_removed_at_first)
    with lock.exclusive_lock(path):
        assert len(calls) == 2
        assert path.with_suffix(".lock").exists()
        with pytest.raises(OSError, match="in use by another process"), lock.exclusive_lock(path):
            pass
    assert not path.with_suffix(".lock").exists()


@pytest.mark.parametrize(("number", "raises"), [(errno.ENOLCK, False), (errno.EIO, True)])
def test_only_a_file_system_without_locks_does_without(tmp_path, monkeypatch, number, raises):
    needs("fcntl")

    def refuses(file, how):
        raise OSError(number, "no")

    monkeypatch.setattr(lock.fcntl, "flock", refuses)
    with (
        pytest.raises(OSError, match="no") if raises else nullcontext(),
        lock.exclusive_lock(tmp_path / "a.jsonl"),
    ):
        pass


def test_the_report_takes_the_largest_scale(toy, log, tmp_path):
    for scale in ("tiny", "full"):
        run_experiment("toy", toy, scale, tmp_path)
    assert [record["scale"] for _, record, _ in read_records(tmp_path)] == ["full"]


def test_a_damaged_record_is_left_out_of_the_report(toy, log, tmp_path):
    run_experiment("toy", toy, "tiny", tmp_path)
    (tmp_path / "toy-squares-full.json").write_text('{"paper": "toy"')
    with pytest.warns(UserWarning, match=r"left out: .*toy-squares-full\.json is damaged"):
        assert [record["scale"] for _, record, _ in read_records(tmp_path)] == ["tiny"]


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
    assert "  holds: squares grow & grow\n      20 <squares>\n" in done.output
    assert "  does not hold: ours: roots are whole\n" in done.output
    for note in (toy.stand_in, toy.reduced):
        assert f"note: {note}." in done.output
    assert done.output.index("note:") < done.output.index("holds:")
    assert {path.suffix for path in tmp_path.glob("toy-squares-full.*")} == {".json", ".md", ".png", ".svg"}
    assert (tmp_path / "toy-squares-full.png").read_bytes().startswith(b"\x89PNG")
    assert "recorded: full (0.0 minutes of processor time)" in nearer("list", "-o", tmp_path).output
    assert "(recorded before)" in nearer("run", "all", "--scale", "full", "--quiet", "-o", tmp_path).output
    assert numbers_in(log) == list(range(20))
    nearer("run", "all", "--scale", "full", "--again", "--quiet", "-o", tmp_path, "--jobs", 1)
    assert numbers_in(log) == list(range(20)) * 2
    assert "report.html: 1 experiments" in nearer("report", "-o", tmp_path).output
    (tmp_path / "toy-squares-full.json").write_text("{")
    assert "recorded: full (damaged: remove toy-squares-full.json)" in nearer("list", "-o", tmp_path).output


def test_the_command_makes_tables_of_records_by_the_code_as_it_is_now(toy, log, tmp_path, monkeypatch):
    needs("matplotlib")
    nearer("run", "toy", "--scale", "tiny", "--quiet", "-o", tmp_path, "--jobs", 1)
    monkeypatch.setattr(type(toy), "table", lambda self, results: [{"number": "new", "a|b": 1}])
    monkeypatch.setattr(type(toy), "verdicts", lambda self, table, results: [Verdict("new claim", True, "it")])
    done = nearer("run", "toy", "--scale", "tiny", "--quiet", "-o", tmp_path, "--jobs", 1)
    assert "  holds at this size: new claim\n      it\n" in done.output
    assert "| new | 1 |" in (tmp_path / "toy-squares-tiny.md").read_text()
    assert numbers_in(log) == [0, 1, 2]


def test_the_bar_of_a_run_begins_with_its_name(toy, log, tmp_path, capfd):
    run_experiment("toy", toy, "tiny", tmp_path, verbose=True)
    shown = capfd.readouterr().err
    assert "toy squares: 100%" in shown
    assert "fit" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "needs a paper, one of toy, or all"),
        (["run", "tyo"], "unknown paper 'tyo'; the papers are toy"),
        (["run", "toy", "squares", "cubes"], "toy has no experiment 'cubes'; it has squares"),
        (["run", "toy", "--scale", "large"], "--scale is quick or full; got 'large'"),
        (["walk"], "unknown action 'walk'; use list, run or report"),
        (["report", "-o", "nowhere"], "there are no records in nowhere: nearer papers run writes them"),
    ],
)
def test_unknown_names_are_answered_with_those_that_there_are(toy, arguments, message):
    assert message in " ".join(nearer(*arguments, code=2).output.split())


@pytest.fixture
def no_data(toy, tmp_path, monkeypatch):
    """The toy with two data sets that are not there, and another experiment that needs one of them."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("NEARER_DATA", str(folder))
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path / "cache"))

    class Roots(type(toy)):
        name, data = "roots", ("music",)

    monkeypatch.setattr(type(toy), "data", ("caltech101", "music"))
    monkeypatch.setattr(toy_experiment, "EXPERIMENTS", (toy, Roots()))
    return folder


def test_missing_data_are_said_before_anything_runs(no_data, log, tmp_path):
    told = nearer("run", "toy", "squares", "--scale", "full", "-o", tmp_path, code=2).output
    assert told.splitlines() == [
        "nearer: error: these data sets are needed:",
        "  caltech101: not on this machine; it cannot be downloaded",
        "  music: not on this machine",
        "nearer data NAME says where a data set comes from and where to put it.",
        "--download at the end of this command downloads music.",
    ]
    told = nearer("run", "all", "-o", tmp_path, code=2).output
    assert told.count("not on this machine") == 2
    assert "skipped toy squares: it needs caltech101, music" in told
    assert "skipped toy roots: it needs music" in told
    assert numbers_in(log) == []


def test_all_goes_on_after_a_failure_and_again_is_said_once(toy, log, tmp_path, monkeypatch):
    needs("matplotlib")

    class Roots(type(toy)):
        name = "roots"

    monkeypatch.setattr(toy_experiment, "EXPERIMENTS", (toy, Roots()))
    command = ("run", "all", "--scale", "tiny", "--quiet", "-o", tmp_path, "--jobs", 1)
    nearer(*command)
    squares = type(toy).run

    def fails(self, trial):
        if self.name == "squares" and trial["number"] == 1:
            raise ZeroDivisionError("no square")
        return squares(self, trial)

    with monkeypatch.context() as patch:
        patch.setattr(type(toy), "run", fails)
        told = nearer(*command, "--again", code=2).output
    assert "toy roots: " in told
    assert 'failed: toy squares, trial {"number": 1' in told
    nearer(*command)  # runs what is left, and nothing of roots again
    assert numbers_in(log) == [0, 1, 2] * 2 + [0] + [0, 1, 2] + [1, 2]

    def fails_to_draw(self, figure, results):
        if self.name == "squares":
            raise ZeroDivisionError("no lines")

    monkeypatch.setattr(type(toy), "draw", fails_to_draw)
    told = nearer(*command, code=2).output
    assert "failed: toy squares, its figure or its table as text: ZeroDivisionError: no lines" in told
    assert "toy roots: " in told


def test_ctrl_c_says_how_to_resume(toy, log, tmp_path, monkeypatch):
    needs("matplotlib")

    def interrupted(self, trial):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(toy), "run", interrupted)
    command = ("run", "toy", "--scale", "tiny", "--quiet", "-o", tmp_path, "--jobs", 1)
    assert "toy-squares-tiny.jsonl; the same command resumes" in nearer(*command, code=130).output
    assert "this command without --again resumes" in nearer(*command, "--again", code=130).output


def test_again_keeps_the_records_of_experiments_that_cannot_run(no_data, toy, log, tmp_path):
    record = tmp_path / "toy-squares-full.json"
    record.write_text("a record")
    nearer("run", "all", "--scale", "full", "--again", "-o", tmp_path, code=2)
    assert record.read_text() == "a record"


def test_an_error_in_a_verdict_says_where_and_the_results_are_kept(toy, log, tmp_path, monkeypatch):
    def broken(self, table, results):
        raise KeyError("mAP")

    with monkeypatch.context() as patch:
        patch.setattr(type(toy), "verdicts", broken)
        with pytest.raises(TrialError, match=r"^toy squares, the table or a verdict: KeyError: 'mAP'"):
            run_experiment("toy", toy, "tiny", tmp_path)
    run_experiment("toy", toy, "tiny", tmp_path)
    assert numbers_in(log) == [0, 1, 2]


def test_experiments_with_damaged_data_are_skipped(no_data, log, tmp_path):
    path = no_data / datasets.source_of("music").path
    path.parent.mkdir()
    path.write_bytes(bytes(range(256)) * 8)
    told = nearer("run", "all", "-o", tmp_path, code=2).output
    assert f"music: {path} is damaged or not a file of arrays: remove it" in told
    assert "skipped toy roots: it needs music" in told
    assert "pickle" not in told
