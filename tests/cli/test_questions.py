"""nearer questions: from a list of names to a table that, with responses, nearer fit reads."""

import csv

import pytest

from nearer import read

NAMES = ["espresso", "café, au lait", "Köln", "1001", "tea", "cocoa"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("\ufeff" + "\r\n".join([*NAMES, "", ""]), encoding="utf-8", newline="")
    return tmp_path


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("response", ["name", "position"])
def test_the_table_with_responses_is_a_file_of_answers(here, folder, suffix, response):
    said = here("questions", "names.txt", "-n", 40, "-o", f"survey{suffix}").stdout
    assert said == f"wrote survey{suffix}: 40 questions about 6 objects\n"
    delimiter = "\t" if suffix == ".tsv" else ","
    with (folder / f"survey{suffix}").open(encoding="utf-8", newline="") as file:
        asked = list(csv.DictReader(file, delimiter=delimiter))
    assert list(asked[0]) == ["anchor", "choice1", "choice2"]
    for number, row in enumerate(asked):
        choice = f"choice{number % 2 + 1}"
        row |= {"response": row[choice] if response == "name" else choice[-1], "subject": "ann"}
    with (folder / f"answers{suffix}").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(asked[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(asked)
    answers = read(folder / f"answers{suffix}")
    names = [[answers.names[number] for number in row] for row in answers.rows]
    sides = [("choice1", "choice2"), ("choice2", "choice1")]
    assert names == [[row["anchor"], *(row[s] for s in sides[i % 2])] for i, row in enumerate(asked)]
    assert set(answers.names) == set(NAMES)


def test_seeds_and_standard_input(here, folder):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        here("questions", "names.txt", "-n", 20, "--seed", seed, "-o", f"{name}.csv")
    here("questions", "-", "-n", 20, "-o", "d.csv", input="\n".join(NAMES))
    a, b, c, d = ((folder / f"{name}.csv").read_bytes() for name in "abcd")
    assert a == b == d != c


def test_questions_without_responses_are_no_answers(here, refused, folder):
    here("questions", "names.txt", "-n", 20, "-o", "survey.csv")
    said = refused("fit", "survey.csv")
    assert "'anchor', 'choice1', 'choice2' are questions without answers; add a column response" in said


def test_what_cannot_be_drawn_or_written(refused, folder):
    def ask(names, n=1, out="out.csv"):
        (folder / "list.txt").write_text(names, encoding="utf-8")
        return refused("questions", "list.txt", "-n", n, "-o", out)

    assert "a question needs 3 objects; list.txt has 2 names: a, b" in ask("a\nb\n")
    assert "list.txt has 0 names\n" in ask("")
    assert "list.txt, line 4: 'a' is there twice, first in line 1" in ask("a\nb\n\na \n")
    assert "list.txt, line 2: the name 'NA' would be read as a missing value" in ask("a\nNA\nb\nc")
    assert "about 4 objects there are 12 different questions; got n=13" in ask("a\nb\nc\nd", 13)
    assert "questions are written to .csv or .tsv; got out.xlsx" in ask("a\nb\nc", out="out.xlsx")
    assert "there is no folder no" in ask("a\nb\nc", out="no/out.csv")
    assert "there is no file none.txt" in refused("questions", "none.txt", "-n", 1, "-o", "out.csv")
    (folder / "names.csv").write_text("a\nb\nc\n")
    assert "it is an input" in refused("questions", "names.csv", "-n", 1, "-o", "names.csv")
    assert not (folder / "out.csv").exists()
