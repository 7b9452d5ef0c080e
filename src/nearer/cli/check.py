"""``nearer check``: what there is to know about a file of answers before anything is learned from it."""

from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.console import facts


@command("nearer check answers.csv")
def check(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="A file of answers.")],
) -> None:
    """Report on a file of answers.

    Prints how many objects, rows and answers there are; repeats; contradictions (a question answered both
    ways, of which any map satisfies one at most); objects never asked about; groups of objects that no
    comparison links, whose distance from each other is arbitrary; how far people agree, where there is a
    subject column; and rows that say nothing, with the first of them explained.

    Bad rows are part of the report, not an error. Exit code 2 means that the file could not be read at all.
    """
    from nearer import read

    given = read(answers, bad_rows="drop")
    print(given.report())
    if given.n_dropped:
        facts([("first bad row", _first_bad_row(answers))])


def _first_bad_row(path: Path) -> str:
    from nearer import read

    try:
        read(path)
    except ValueError as error:
        return str(error).partition("\n")[0]
    return "not found on a second reading"
