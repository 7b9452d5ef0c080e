"""``nearer check``: what there is to know about a file of answers before anything is learned from it."""

from pathlib import Path

from nearer.cli.app import command, count, print_facts
from nearer.cli.options import ANSWERS
from nearer.cli.reading import COLUMNS, DROP_BAD_ROWS, ENCODING, parse_columns, read_answers


@command(
    "nearer check answers.csv",
    "nearer check answers.csv --drop-bad-rows",
    "nearer check trials.csv --columns anchor=probe,near=picked,far=other",
)
def check(
    answers: Path = ANSWERS,
    columns: str | None = COLUMNS,
    encoding: str | None = ENCODING,
    drop_bad_rows: bool = DROP_BAD_ROWS,
) -> None:
    """Report on a file of answers.

    Prints which columns are read, and how; the number of objects, rows and answers; repeats; contradictions (a
    question answered both ways, of which a map can satisfy only one); objects never asked about; names that differ
    only in case, blanks or leading zeros; groups of objects that no comparison links, whose distance from each other
    is arbitrary; how far people agree, if there is a subject column; and impossible rows, with an explanation of the
    first one.

    What nearer fit refuses is an error here too, with exit code 2: a file that cannot be read, or impossible rows,
    unless --drop-bad-rows leaves them out as it does in nearer fit.
    """
    from nearer.comparisons.coerce import drop_zero_weights
    from nearer.comparisons.objects import NUMBER
    from nearer.formats.io import describe_columns
    from nearer.formats.tables import BadLineError

    problem = None
    try:
        comparisons = read_answers(answers, columns, encoding, drop_bad_rows=False)
    except BadLineError as error:
        problem = str(error).partition("; --drop-bad-rows")[0].partition("\n")[0]
        comparisons = read_answers(answers, columns, encoding, drop_bad_rows=True)
    used = describe_columns(answers, parse_columns(columns), encoding)
    if used is not None:
        print_facts([("columns", used)])
    print(comparisons.report())
    names = comparisons.names
    if names is not None and all(map(NUMBER.fullmatch, names)):
        print_facts([("names", "numbers: not all of 0, 1, … occur, so each is the name of an object")])
    if problem is not None:
        print_facts([("first bad row", problem)])
    if not len(drop_zero_weights(comparisons)):
        raise ValueError(f"{answers}: there is nothing to learn from: no answers, or all weights are zero")
    if problem is not None and not drop_bad_rows:
        bad = count(comparisons.n_dropped, "impossible row")
        raise ValueError(f"{answers} has {bad}: correct the file, or leave them out with --drop-bad-rows")
