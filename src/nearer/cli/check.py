"""``nearer check``: what there is to know about a file of answers before anything is learned from it."""

from pathlib import Path

from nearer.cli.app import command, print_facts
from nearer.cli.options import ANSWERS


@command("nearer check answers.csv")
def check(answers: Path = ANSWERS) -> None:
    """Report on a file of answers.

    Prints the number of objects, rows and answers; repeats; contradictions (a question answered both ways, of
    which a map can satisfy only one); objects never asked about; groups of objects that no comparison links,
    whose distance from each other is arbitrary; how far people agree, if there is a subject column; and
    impossible rows, with an explanation of the first one.

    Bad rows are part of the report, not an error. Exit code 2 means that the file could not be read at all.
    """
    from nearer import read

    comparisons = read(answers, bad_rows="drop")
    print(comparisons.report())
    if comparisons.n_dropped:
        try:
            read(answers)
        except ValueError as error:
            print_facts([("first bad row", str(error).partition("\n")[0])])
