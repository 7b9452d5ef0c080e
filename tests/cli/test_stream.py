"""`nearer stream`, as a process of its own: answers through a pipe, signals, and what is saved when."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from nearer import Comparisons, OnlineKernel, OrdinalEmbedding, load_model, write
from nearer.cli.prequential import PrequentialModel
from nearer.simulate import comparisons_from_points

KERNEL = ["--model", "kernel"]
CITIES = ["Rome", "Oslo", "Bern", "Cork", "Gent", "Kyiv", "Nice", "Riga", "Turin", "Vienna"]


def some_answers(n=240):
    """Lines of several layouts, as text."""
    points = np.random.default_rng(0).normal(size=(len(CITIES), 2))
    rows = comparisons_from_points(points, n, random_state=1).rows
    lines = []
    for number, (a, b, c) in enumerate(rows):
        anchor, near, far = (CITIES[i] for i in (a, b, c))
        lines.append(
            [
                {"anchor": anchor, "near": near, "far": far, "weight": 0.5, "subject": "ann"},
                {"Head": anchor, "winner": near, "loser": far, "rt": 1.5},
                [anchor, near, far],
                {"anchor": anchor, "ranking": [near, far]},
                {"i": anchor, "j": near, "l": anchor, "k": far},
                {"first": anchor, "second": near, "odd": far},
            ][number % 6]
        )
    return [json.dumps(line) for line in lines]


def learned(model):
    return model.embedding_ if isinstance(model, OrdinalEmbedding) else model.kernel_


@pytest.fixture
def stream(here, tmp_path, monkeypatch):
    """Run the command with these lines on standard input, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run_here(lines, *options, out="live.nearer", code=0):
        return here("stream", "-o", out, *options, code=code, input="\n".join(lines))

    return run_here


def test_learns_a_stream_of_names_and_says_how_well_it_predicted(nearer, tmp_path):
    done = nearer("stream", "-o", "live.nearer", input="\n".join([*some_answers(), "", "  "]), cwd=tmp_path)
    facts = done.facts
    assert (facts["answers"], facts["objects"], facts["saved"]) == ("240", "10", "live.nearer")
    assert "% of all answers before they were learned" in facts["predicted"]
    reports = done.stderr.splitlines()
    assert [line.split()[0] for line in reports] == ["100", "200"]
    assert "% of the last 200 predicted  10 objects, " in reports[1]
    assert max(map(len, (done.stdout + done.stderr).splitlines())) <= 80
    model = load_model(tmp_path / "live.nearer")
    assert isinstance(model, OrdinalEmbedding)
    assert sorted(model.names_) == sorted(CITIES)
    assert facts["map"] == f"2 dimensions, loss TSTE, regularization {model.regularization_:.3g}"
    assert "nearest to Oslo" in nearer("neighbors", "live.nearer", "Oslo", cwd=tmp_path).stdout


def test_a_kernel_says_what_it_took(stream, tmp_path):
    done = stream(some_answers(), "--model", "kernel")
    model = load_model(tmp_path / "live.nearer")
    assert isinstance(model, OnlineKernel)
    assert f"{model.n_updates_:,}, with {model.n_projections_:,} eigenproblems solved" in done.facts["updates"]


@pytest.mark.parametrize(
    ("name", "model"), [("map", OrdinalEmbedding(random_state=0)), ("kernel", OnlineKernel(random_state=0))]
)
def test_accuracy_is_of_the_model_before_the_answer(stream, name, model):
    answers = comparisons_from_points(np.random.default_rng(2).normal(size=(12, 2)), 400, random_state=3).rows
    right = 0
    for number, answer in enumerate(answers):
        n_known = model._n_known if number else 0
        right += n_known > answer.max() and model.predict([answer])[0] == 1
        model.partial_fit(answer)
    done = stream([str(answer.tolist()) for answer in answers], "--model", name)
    assert done.facts["predicted"].startswith(f"{100 * right / 400:.1f} % of all answers")


@pytest.mark.parametrize("model", [OrdinalEmbedding(random_state=0), OnlineKernel()])
def test_strangers_are_missed_and_rows_of_one_answer_are_predicted_together(model):
    stream = PrequentialModel(model)
    assert stream.learn(["Rome", "Nice", "Oslo"])
    assert stream.learn(["Rome", "Bern", "Oslo"])  # to put a stranger at the origin would make it nearer
    assert stream.accuracy == 0.0
    assert stream.learn({"anchor": "Rome", "near": "Nice", "far": "Oslo", "weight": 2, "answer": 7})
    assert stream.accuracy == 0.5
    # The same answer goes on: learned, not counted.
    assert not stream.learn({"anchor": "Nice", "near": "Rome", "far": "Oslo", "answer": 7})
    assert (stream.n_answers, stream.accuracy, stream.model.n_samples_seen_) == (3, 0.5, 4)
    assert stream.learn({"first": "Rome", "second": "Nice", "odd": "Kyiv"})  # two rows, one answer
    assert (stream.n_answers, stream.accuracy, stream.n_objects) == (4, 2 / 6, 5)


def test_a_file_written_by_nearer_streams_as_it_is(stream, tmp_path):
    rows = comparisons_from_points(np.random.default_rng(2).normal(size=(10, 2)), 50, random_state=3).rows
    write(Comparisons(rows, names=CITIES), tmp_path / "answers.jsonl")
    stream((tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines(), "--model", "kernel")
    kernel = load_model(tmp_path / "live.nearer")
    assert kernel.names_ == tuple(CITIES)
    assert (kernel.kernel_ == OnlineKernel().fit(rows).kernel_).all()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--dims", 3, "--loss", "ste", "--seed", 5],
        [*KERNEL, "--steps-per-answer", 3, "--seed", 5],
        [*KERNEL, "--loss", "ste", "--learning-rate", "1/sqrt(t)"],
    ],
)
def test_resumed_is_as_never_stopped(stream, tmp_path, options):
    lines = some_answers()
    stream(lines, *options, out="whole.nearer")
    stream(lines[:100], *options)
    done = stream(lines[100:], "--resume")
    assert done.facts["answers"].startswith("140, after ")
    whole, parts = (load_model(tmp_path / name) for name in ("whole.nearer", "live.nearer"))
    assert whole.names_ == parts.names_
    assert (learned(whole) == learned(parts)).all()


def test_a_bad_line_stops_after_saving_and_is_named(stream, tmp_path):
    lines = some_answers(20)
    done = stream([*lines, '{"anchor": "Rome", "near": "Rome", "far": "Oslo"}', *lines], code=2)
    assert done.stderr == "nearer: error: standard input, line 21 compares 'Rome' with itself\n"
    assert done.facts["answers"] == "20"
    stream(lines, out="same.nearer")
    first, same = (load_model(tmp_path / name) for name in ("live.nearer", "same.nearer"))
    assert (learned(first) == learned(same)).all()


def test_a_table_gets_the_command_that_converts_it(stream):
    told = stream(["anchor,near,far", "Rome,Bonn,Oslo"], code=2).stderr
    assert told.startswith("nearer: error: standard input, line 1 is not JSON: ")
    assert told.endswith("make such lines of a table by: nearer convert answers.csv answers.jsonl\n")


BAD = {
    "{oops": " is not JSON: ",
    "7": " is neither a JSON object nor a list of three or four objects",
    '["Rome", "Oslo"]': " is neither a JSON object nor a list of three or four objects",
    "[" * 100_000: " is not JSON: ",
    '{"x": 1}': " has 'x', which says nothing",
    "{}": " has no fields, which says nothing",
    '{"anchor": "Rome", "near": "Oslo"}': " has 'anchor', 'near', which says nothing",
    '{"anchor": "Rome", "near": "Oslo", "far": null}': " has no 'far'",
    '{"anchor": "Rome", "ranking": ["Oslo"]}': " ",
    '{"anchor": "Rome", "near": "Oslo", "far": "Nice", "weight": -1}': " has weight -1.0",
    "[0, 1, 2]": ": the model's objects have names, these comparisons' have none",
    '{"anchor": 0, "ranking": [1, 2]}': ": the model's objects have names, these comparisons' have none",
}


def test_bad_lines_are_left_out_on_demand(stream, tmp_path):
    lines = some_answers(12)
    bad = list(BAD)
    done = stream([lines[0], *bad, *lines[1:]], "--skip-bad")
    assert done.facts["bad lines"] == f"{len(bad)} left out"
    complaints = done.stderr.splitlines()
    for number, (complaint, message) in enumerate(zip(complaints, BAD.values(), strict=True), start=2):
        assert complaint.startswith(f"nearer: left out standard input, line {number}{message}")
    stream(lines, out="good.nearer")
    good, live = (load_model(tmp_path / name) for name in ("good.nearer", "live.nearer"))
    assert (learned(good) == learned(live)).all()


@pytest.mark.parametrize(("text", "message"), BAD.items(), ids=range(len(BAD)))
def test_says_what_is_wrong_with_a_line(stream, text, message):
    said = stream([*some_answers(2), text], code=2).stderr
    assert said.startswith(f"nearer: error: standard input, line 3{message}")
    assert load_model("live.nearer").n_samples_seen_ == 2


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "standard input has no answers"),
        ("\n\n", [], "standard input has no answers"),
        ('{"nearer": 1, "n_objects": 5}', [], "standard input has no answers"),
        ("oops\noops\n", ["--skip-bad"], "standard input has no answers, only 2 bad lines"),
        ('{"nearer": 2}\n[0, 1, 2]', [], "line 1 is of version 2"),
        ('{"nearer": 1, "names": 5}\n[0, 1, 2]', [], "line 1 has names that are no list"),
        ('{"nearer": 1, "n_objects": 2}\n[0, 1, 2]', [], "names object 2, but there"),
        ('{"nearer": 1, "names": ["a", "b", "c"]}\n["a", "b", "d"]', [], "names 'd', which is none"),
        ("[0, 1, 9]", ["--objects", 5], "line 1 names object 9, but there are only 5 objects"),
        ("[0, 1, 2000000000]", [], "line 1"),
        ("[0, 1, 9]", ["--objects", 5, "--model", "kernel"], "line 1 names object 9, but there are only 5 objects"),
        ("[0, 1, 2000000000]", ["--model", "kernel"], "line 1"),
        ("", ["--model", "tree"], "--model must be map or kernel; got 'tree'"),
        ("", ["--margin", 2], "--margin is for --model kernel: --model map has no such option"),
        ("", [*KERNEL, "--dims", 2], "--dims is for --model map: --model kernel has no such option"),
        ("", [*KERNEL, "--learning-rate", "fast"], "passive-aggressive, 1/t, 1/sqrt(t) or a number; got 'fast'"),
        ("", [*KERNEL, "--learning-rate", -1], "--learning-rate must be"),
        ("", [*KERNEL, "--learning-rate", "1/t", "--margin", 2], "margin and probability are for passive-aggressive"),
        ("", ["--loss", "no"], "unknown loss 'no'"),
        ("", ["--resume"], "there is no live.nearer to continue"),
    ],
)  # fmt: skip
def test_refuses_and_writes_nothing(stream, tmp_path, text, options, message):
    said = stream([text], *options, code=2).stderr
    assert said.splitlines()[-1].startswith("nearer: error: ")
    assert message in said
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_replaced(stream, europe, tmp_path):
    OnlineKernel().fit([[0, 1, 2]]).save(tmp_path / "live.nearer")
    before = (tmp_path / "live.nearer").read_bytes()

    def said(*lines_and_options, **options):
        return stream(*lines_and_options, **options, code=2).stderr.removeprefix("nearer: error: ")

    there = "live.nearer exists already: continue it with --resume, or name another file\n"
    assert said(["[0, 1, 2]"]) == there
    in_file = "--margin is in the model file: leave it out with --resume\n"
    assert said(["[0, 1, 2]"], "--resume", "--margin", 2) == in_file
    assert said([], "--resume") == "standard input has no answers\n"
    assert (tmp_path / "live.nearer").read_bytes() == before
    model = "--model is in the model file: leave it out with --resume\n"
    assert said(["[0, 1, 2]"], "--resume", "--model", "kernel") == model
    other = "is a map without its answers: only a model of nearer stream can be continued\n"
    assert said(["[0, 1, 2]"], "--resume", out=europe.model).endswith(other)


@pytest.mark.parametrize("model", ["map", "kernel"])
def test_names_have_their_limit_too(stream, model):
    lines = ['["a", "b", "c"]', '["a", "b", "d"]', '["a", "d", "e"]']
    done = stream(lines, "--objects", 4, "--model", model, code=2)
    message = "line 3 names 'e', but there are only 4 objects, and they have other names"
    assert done.stderr == f"nearer: error: standard input, {message}\n"
    assert done.facts["objects"] == "4"


def test_a_map_is_as_good_as_a_fitted_one(stream, tmp_path):
    points = np.random.default_rng(2).normal(size=(20, 2))
    rows, test = (comparisons_from_points(points, 1000, random_state=seed).rows for seed in (3, 4))
    lines = [str(row.tolist()) for row in rows]
    stream(lines[:500])
    stream(lines[500:], "--resume", "--objects", 20)
    streamed, fitted = load_model(tmp_path / "live.nearer"), OrdinalEmbedding(random_state=0).fit(rows)
    assert streamed.score(test) > fitted.score(test) - 0.01
    assert streamed.n_samples_seen_ == 1000


def test_text_that_spells_numbers_is_a_name_where_there_are_names(stream, tmp_path):
    stream(['["x", "1", "2"]', '["1", "2", "3"]'])
    assert load_model(tmp_path / "live.nearer").names_ == ("1", "2", "x", "3")
    stream(['["1", "2", "0"]', "[1, 2, 3]"], out="numbers.nearer")
    assert load_model(tmp_path / "numbers.nearer").names_ is None


@contextmanager
def running(folder, *options):
    """A stream that is waiting for its next line; what it says can be read while its input is open."""
    command = [sys.executable, "-m", "nearer", "stream", "-o", "live.nearer", "--every", "1", *options]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=folder, encoding="utf-8", bufsize=1, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def test_answers_are_learned_as_they_arrive_and_saved_on_the_way(tmp_path):
    with running(tmp_path, "--save-every", "2") as process:
        for number, line in enumerate(some_answers(4), start=1):
            process.stdin.write(line + "\n")
            assert process.stderr.readline().startswith(f"{number} answer".rjust(19 - (number > 1)))
            if number == 3:  # the save of the second is done when the third is reported, the next not begun
                assert load_model(tmp_path / "live.nearer").n_samples_seen_ == 2
        facts, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert facts.startswith("answers         4\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_wait_and_saves(tmp_path, number, code):
    with running(tmp_path) as process:
        for line in some_answers(3):
            process.stdin.write(line + "\n")
            process.stderr.readline()
        process.send_signal(number)
        facts = process.stdout.read()  # to its end, while the input is still open
        said = process.stderr.read()
        assert process.wait(timeout=60) == code
    assert facts.startswith("answers         3\n")
    assert facts.endswith("saved           live.nearer\n")
    assert said == f"nearer: {'interrupted' if code == 130 else 'terminated'}\n"
    assert load_model(tmp_path / "live.nearer").n_samples_seen_ == 3
    assert [file.name for file in tmp_path.iterdir()] == ["live.nearer"]


def test_a_signal_while_lines_pour_in_loses_no_answer_that_was_counted(tmp_path):
    (tmp_path / "many.jsonl").write_text("\n".join(some_answers(240) * 200))
    command = [sys.executable, "-m", "nearer", "stream", "-o", "live.nearer", "--every", "50"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with (tmp_path / "many.jsonl").open() as lines, subprocess.Popen(
        command, cwd=tmp_path, stdin=lines, **pipes
    ) as process:  # fmt: skip
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        facts, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    answers = int(facts.split()[1].replace(",", ""))
    model = load_model(tmp_path / "live.nearer")
    assert model.n_samples_seen_ == sum(2 if number % 6 == 5 else 1 for number in range(answers))


def test_the_examples_of_its_help_work_as_pasted(nearer, tmp_path):
    nearer("simulate", "--answers", 50, "-o", "answers.jsonl", cwd=tmp_path)
    nearer("simulate", "--answers", 50, "--seed", 1, "-o", "more.jsonl", cwd=tmp_path)
    told = nearer("stream", "--help").stdout.split("For example:\n")[1].split("\n\n")[0].splitlines()
    environment = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    for example in told:
        ends = example.replace("-n +1 -f", "-n +1")  # tail -f goes on for ever
        subprocess.run(ends, shell=True, cwd=tmp_path, check=True, capture_output=True, env=environment)
    assert load_model(tmp_path / "live.nearer").n_samples_seen_ == 100
    assert load_model(tmp_path / "tail.nearer").n_samples_seen_ == 50
