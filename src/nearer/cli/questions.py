"""``nearer questions``: what to ask people, as a table to which their answers are added."""

import csv
from pathlib import Path

import typer

from nearer.cli.app import command, count, some, writing
from nearer.cli.options import output
from nearer.files import check_writable

DELIMITERS = {".csv": ",", ".tsv": "\t"}


@command(
    "nearer questions names.txt -n 500 -o survey.csv",
    "nearer questions names.txt -n 500 --seed 1 -o second.csv",
)
def questions(
    names: Path = typer.Argument(
        ..., metavar="NAMES", help="A text file of names, one per line; - is standard input."
    ),
    n: int = typer.Option(..., "-n", "--number", min=1, help="How many questions.", show_default=False),
    out: Path = output("The table to write: .csv or .tsv."),
    seed: int = typer.Option(0, min=0, help="The same seed gives the same questions."),
) -> None:
    """Draw questions to ask people.

    "Is the anchor nearer to the first choice or to the second?"
    The questions are random and balanced: all objects occur equally often, up to one, as the anchor and as a choice.
    No question occurs twice. Their order is random, and so is which choice comes first.

    The table has the columns anchor, choice1 and choice2. Add a column "response" with what each person chose, its
    name or 1 or 2, and one "subject" that says who it was; nearer fit reads the result.
    """
    from nearer.simulate import random_questions

    if out.suffix.lower() not in DELIMITERS:
        raise ValueError(f"questions are written to {' or '.join(DELIMITERS)}; got {out}")
    check_writable(out, [names])
    listed = _read_names(names)
    rows = random_questions(len(listed), n, balanced=True, random_state=seed)
    with writing(out):
        _write(out, [[listed[number] for number in row] for row in rows.tolist()])
    print(f"wrote {out}: {count(n, 'question')} about {count(len(listed), 'object')}")


def _read_names(path: Path) -> list[str]:
    """Return the names of a text file, one per line; ValueError unless they are at least three different ones."""
    from nearer.comparisons.objects import is_missing_text
    from nearer.formats.text import STDIN, find_encoding, read_lines

    path = STDIN if str(path) == "-" else path
    if path != STDIN and not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    lines = [line.strip() for line in read_lines(path, find_encoding(path))]
    first: dict[str, int] = {}  # the line of each name
    for number, name in enumerate(lines, start=1):
        if not name:
            continue
        if is_missing_text(name):
            raise ValueError(f"{path}, line {number}: the name {name!r} would be read as a missing value")
        if name in first:
            raise ValueError(f"{path}, line {number}: {name!r} is there twice, first in line {first[name]}")
        first[name] = number
    if len(first) < 3:
        found = f": {some(first)}" if first else ""
        raise ValueError(f"a question needs 3 objects; {path} has {count(len(first), 'name')}{found}")
    return list(first)


def _write(path: Path, rows: list[list[str]]) -> None:
    from nearer.files import replacing

    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=DELIMITERS[path.suffix.lower()], lineterminator="\n")
        writer.writerow(["anchor", "choice1", "choice2"])
        writer.writerows(rows)
