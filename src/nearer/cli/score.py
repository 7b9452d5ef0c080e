"""``nearer score``: how well a model predicts answers, and which answers are about unknown objects."""

from pathlib import Path

import typer

from nearer.cli.app import command, count, percent, print_facts, some
from nearer.cli.models import known_objects, load_with_table
from nearer.cli.options import ANSWERS, FEATURES, MODEL, NAMES
from nearer.cli.reading import COLUMNS, DROP_BAD_ROWS, ENCODING, read_answers


@command(
    "nearer score europe.nearer new-answers.csv", "nearer score shoes.nearer answers.csv --features shoes.csv"
)
def score(
    model: Path = MODEL,
    answers: Path = ANSWERS,
    features: Path | None = FEATURES,
    names: str | None = NAMES,
    columns: str | None = COLUMNS,
    encoding: str | None = ENCODING,
    drop_bad_rows: bool = DROP_BAD_ROWS,
    unknown: str = typer.Option(
        "raise", help="Answers about objects that the model does not know: raise or skip."
    ),
) -> None:
    """Print the share of answers that a model satisfies, by weight.

    Objects are matched by name if both files have names, otherwise by number. Answers about objects that the model
    does not know are an error, unless --unknown skip leaves them out. The objects of a model of features are those
    of --features; a model of texts reads the column that it was fitted on.
    """
    from nearer import Comparisons
    from nearer.comparisons.objects import numbers_of_names
    from nearer.formats.features import find_objects, match_rows

    if unknown not in ("raise", "skip"):
        raise ValueError(f"--unknown must be raise or skip; got {unknown!r}")
    learned, table = load_with_table(model, features, names)
    n, known, _ = known_objects(learned, table)
    asked = read_answers(answers, columns, encoding, drop_bad_rows)
    if table is not None:
        asked, places = match_rows(asked, table, answers)
    elif asked.names is not None and known is None and numbers_of_names(asked.names) is None:
        raise ValueError(f"{answers} names its objects and {model} numbers them: they cannot be matched")
    else:
        places = find_objects(asked, known, n)
    owner = "the model" if table is None else "the features"
    strangers = [asked.names[i] if asked.names else i for i, place in enumerate(places) if place < 0]
    # Rows, not whole answers: only some rows of an answer may be about unknown objects.
    kept = (places[asked.rows] >= 0).all(axis=1)
    weights = None if asked.weights is None else asked.weights[kept]
    own_names = known if table is None else None
    part = Comparisons(places[asked.rows[kept]], names=own_names, n_objects=n, weights=weights)
    n_rows = count(len(part), "row")
    left_out = count(len(asked) - len(part), "row")
    if len(part) < len(asked) and unknown == "raise":
        problem = f"{answers} has {left_out} about objects unknown to {owner}: {some(strangers)}"
        raise ValueError(f"{problem}. --unknown skip leaves these out")
    if not len(part):
        raise ValueError(
            f"{answers}: there is nothing to score: all objects of its answers are unknown to {owner}"
        )
    if weights is not None and not weights.any():
        raise ValueError(f"{answers}: the weights of all {n_rows} to score are 0")
    share = learned.score(part) if table is None else learned.score_comparisons(table, part)
    facts = [
        ("satisfied", f"{percent(share)} of {n_rows}"),
        ("objects", f"{len(places):,} in the answers, {len(strangers):,} of them unknown to {owner}"),
    ]
    if strangers:
        facts.append(("unknown", f"{some(strangers)}; {left_out} about them left out of the score"))
    if asked.names is None and known is not None and numbers_of_names(known) is None:
        facts.append(("matched", "by number: the answers have no names"))
    print_facts(facts)
