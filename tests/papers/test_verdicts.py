"""The page of the papers: marks are replaced by what the records say, and every experiment has a place on it."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from extras import needs
from nearer.papers import PAPERS, experiments
from nearer.papers.records import recomputed
from nearer.papers.run import run_experiment

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def verdicts():
    """The script of the documentation."""
    spec = importlib.util.spec_from_file_location("verdicts", DOCS / "papers/verdicts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_marks_are_replaced_by_what_the_record_says(toy, log, tmp_path, verdicts):
    for scale in ("tiny", "full"):
        run_experiment("toy", toy, scale, tmp_path)
    (tmp_path / "toy-squares-full.svg").touch()
    page = verdicts.insert_records(
        "Before.\n\n<!-- verdicts: toy squares -->\n\n<!-- figure: toy squares -->\n\n<!-- table: toy -->\n",
        tmp_path,
    )
    assert page.startswith(
        f"Before.\n\n*{toy.stand_in[:1].upper()}{toy.stand_in[1:]}. Fewer numbers than the paper's.*"
    )
    assert "| squares grow & grow | holds | 20 <squares> |" in page
    assert "| ours: roots are whole | does not hold | root of 2 |" in page
    assert "| all numbers | cannot be decided here | not these |" in page
    assert "![Squares & pauses](papers/records/toy-squares-full.svg)" in page
    assert "| 19 | 361 | – |" in page
    assert re.search(r"`toy-squares-full\.json`, 20\S+, 0\.0 minutes of processor time on ", page)
    assert "<!--" not in page
    (tmp_path / "toy-squares-full.json").unlink()
    small = verdicts.insert_records("<!-- verdicts: toy -->", tmp_path)
    assert "| squares grow & grow | holds at this size | 3 <squares> |" in small
    whole = verdicts.insert_records("<!-- verdicts: toy -->", tmp_path)
    assert whole.startswith(f"### {toy.title}\n\n*")
    missing = verdicts.insert_records("<!-- verdicts: toy cubes -->", tmp_path)
    assert missing == "Not recorded yet: `nearer papers run toy cubes` measures it."


def test_the_summary_counts_verdicts(toy, log, tmp_path, verdicts):
    run_experiment("toy", toy, "full", tmp_path)
    row = verdicts.insert_records("<!-- summary -->", tmp_path).splitlines()[-1]
    assert (
        row
        == "| Squares & pauses | full, reduced, stand-in | 0.0 minutes of processor time | 1 | 0 | 1 | 1 do not hold |"
    )
    assert verdicts.insert_records("<!-- summary -->", tmp_path / "none") == "There are no records yet."


def test_records_can_be_stored_again_without_a_run(toy, log, tmp_path, verdicts, monkeypatch):
    needs("matplotlib")
    record, _ = run_experiment("toy", toy, "tiny", tmp_path)
    monkeypatch.setattr(type(toy), "table", lambda self, results: [{"number": 1, "a|b": 1e9}])
    verdicts.write_again(tmp_path)
    stored = json.loads((tmp_path / "toy-squares-tiny.json").read_text(encoding="utf-8"))
    assert stored["table"] == [{"number": 1, "a|b": 1e9}]
    assert stored["trials"] == record["trials"]
    assert (tmp_path / "toy-squares-tiny.svg").exists()
    assert log.read_text().split() == ["0", "1", "2"]


@pytest.mark.parametrize("paper", PAPERS)
def test_marks_name_experiments_and_all_have_a_place(paper):
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    marks = set(re.findall(rf"<!-- verdicts: {paper}(?: ([\w-]+))? -->", page))
    assert marks in ({""}, set(experiments(paper)))


@pytest.mark.parametrize(
    "path", [DOCS / "papers.md", *sorted((DOCS / "papers").glob("*.md"))], ids=lambda path: path.stem
)
def test_every_mark_names_a_record(path, verdicts):
    page = path.read_text(encoding="utf-8")
    for what, paper, name in verdicts.MARK.findall(page):
        assert paper in PAPERS
        assert not name or name in experiments(paper), f"{what}: {paper} {name}"
        assert list((DOCS / "papers/records").glob(f"{paper}-{name or '*'}-*.json"))


@pytest.mark.parametrize("path", sorted((DOCS / "papers/records").glob("*.json")), ids=lambda path: path.stem)
def test_records_are_of_experiments_that_there_are(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    experiment = experiments(record["paper"])[record["experiment"]]
    assert path.name == f"{record['paper']}-{experiment.name}-{record['scale']}.json"
    assert path.stat().st_size < 2_000_000
    assert path.with_suffix(".svg").exists() == experiment.has_figure
    assert recomputed(experiment, record).get("earlier protocol") is None


@pytest.mark.parametrize("path", sorted((DOCS / "papers/records").glob("*-full.json")), ids=lambda path: path.stem)
def test_the_listed_cost_is_that_of_the_record(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    experiment = experiments(record["paper"])[record["experiment"]]
    trials = experiment.trials(**experiment.sizes["full"])
    share = len(record["trials"]) / len(trials)  # of a record of fewer seeds
    seconds = record.get("processor seconds", 0.0) + record.get("seconds", 0.0)
    minutes = seconds / 60 / share / (1 if experiment.timed else 2)  # on two cores
    assert minutes / 4 <= experiment.minutes["full"] <= 4 * minutes
