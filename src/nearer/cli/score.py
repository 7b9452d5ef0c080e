"""``nearer score``: how well a model predicts answers, and which answers are about unknown objects."""

from pathlib import Path

from nearer.cli.app import command, count, percent, print_facts, some
from nearer.cli.models import known_objects, load_with_table
from nearer.cli.options import ANSWERS, FEATURES, MODEL, NAMES


@command(
    "nearer score europe.nearer new-answers.csv", "nearer score shoes.nearer answers.csv --features shoes.csv"
)
def score(
    model: Path = MODEL, answers: Path = ANSWERS, features: Path | None = FEATURES, names: str | None = NAMES
) -> None:
    """Print the share of answers that a model satisfies, by weight.

    Objects are matched by name if both files have names, otherwise by number. Answers about objects that the model
    does not know are counted apart. The objects of a model of features are those of --features; a model of texts
    reads the column that it was fitted on.
    """
    from nearer import Comparisons, read
    from nearer.formats.features import find_objects, match_rows

    learned, table = load_with_table(model, features, names)
    n, known, _ = known_objects(learned, table)
    asked = read(answers)
    if table is not None:
        asked, places = match_rows(asked, table, answers)
    elif asked.names is not None and known is None:
        raise ValueError(f"{answers} names its objects and {model} numbers them: they cannot be matched")
    else:
        places = find_objects(asked, known, n)
    unknown = [asked.names[i] if asked.names else i for i, place in enumerate(places) if place < 0]
    # Rows, not whole answers: only some rows of an answer may be about unknown objects.
    kept = (places[asked.rows] >= 0).all(axis=1)
    weights = None if asked.weights is None else asked.weights[kept]
    part = Comparisons(places[asked.rows[kept]], n_objects=n, weights=weights)
    n_rows = count(len(part), "row")
    if not len(part):
        satisfied = "nothing to score"
    elif weights is not None and not weights.any():
        raise ValueError(f"{answers}: the weights of all {n_rows} to score are 0")
    else:
        share = learned.score(part) if table is None else learned.score_comparisons(table, part)
        satisfied = f"{percent(share)} of {n_rows}"
    owner = "the model" if table is None else "the features"
    facts = [
        ("satisfied", satisfied),
        ("objects", f"{len(places):,} in the answers, {len(unknown):,} of them unknown to {owner}"),
    ]
    if unknown:
        left_out = count(len(asked) - len(part), "row")
        facts.append(("unknown", f"{some(unknown)}; {left_out} about them left out of the score"))
    if asked.names is None and known is not None:
        facts.append(("matched", "by number: the answers have no names"))
    print_facts(facts)
