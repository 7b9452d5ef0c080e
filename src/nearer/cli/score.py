"""``nearer score``: how well a model predicts answers, and which of them it cannot know."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nearer.cli.app import command
from nearer.cli.console import count, facts, percent, some
from nearer.cli.features import FEATURES, NAMES, by_row, features_for, rows_of
from nearer.cli.models import check_features, last_step, n_objects

if TYPE_CHECKING:
    import numpy as np

    from nearer import Comparisons
    from nearer.formats import FeatureTable


@command(
    "nearer score europe.nearer new-answers.csv", "nearer score shoes.nearer answers.csv --features shoes.csv"
)
def score(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of nearer fit or stream.")],
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="A file of answers.")],
    features: Annotated[Path | None, FEATURES] = None,
    names: Annotated[str | None, NAMES] = None,
) -> None:
    """Print the share of answers that a model satisfies, by weight.

    Objects are matched by name where both files have names, by number where not. Answers about objects that
    the model has never seen are counted apart. The objects of a model of features are those of --features; a model
    of texts reads the column that it was fitted on.
    """
    from nearer import load_model, read

    before, learned = last_step(load_model(model))
    check_features(learned, model, features, names)
    asked = read(answers)
    if features is not None:
        matched = _with_table(learned, asked, features_for(learned, before, features, names), answers)
    elif asked.names is not None and learned.names_ is None:
        raise ValueError(f"{answers} names its objects and {model} numbers them: they cannot be matched")
    else:
        matched = _Matched(asked, _known(learned, asked), learned.names_ is not None, "the model", learned.score)
    facts(_scored(matched, answers))


class _Matched(NamedTuple):
    """Answers, which of their objects are known, whether these have names, to whom, and the score of answers."""

    answers: "Comparisons"
    known: "np.ndarray"
    named: bool
    owner: str
    score: Callable[["Comparisons"], float]


def _known(model: Any, answers: "Comparisons") -> "np.ndarray":
    """Which of the answers' objects the model knows."""
    import numpy as np

    if answers.names is None:
        return np.arange(answers.n_objects) < n_objects(model)
    names = set(model.names_)
    return np.array([name in names for name in answers.names])


def _with_table(model: Any, asked: "Comparisons", table: "FeatureTable", path: Path) -> _Matched:
    """Match the answers' objects with the rows of a table of features."""
    places, asked = rows_of(table, asked, path)

    def scored(met: "Comparisons") -> float:
        return float(model.score_comparisons(table.X, by_row(met, places, len(table))))

    return _Matched(asked, places >= 0, table.names is not None, "the features", scored)


def _scored(matched: _Matched, path: Path) -> list[tuple[str, str]]:
    """Say which share of the answers is satisfied, and what had to be left out."""
    from nearer import Comparisons

    asked, known = matched.answers, matched.known
    n_unknown = len(known) - int(known.sum())
    rows = known[asked.rows].all(axis=1)
    # Rows, not whole answers: one row of an answer may be about a stranger and another not.
    weights = None if asked.weights is None else asked.weights[rows]
    met = Comparisons(asked.rows[rows], n_objects=asked.n_objects, names=asked.names, weights=weights)
    if len(met) and weights is not None and not weights.any():
        raise ValueError(f"{path}: the weights of all {count(len(met), 'row')} to score are 0")
    share = f"{percent(matched.score(met))} of {count(len(met), 'row')}" if len(met) else "nothing to score"
    said = [
        ("satisfied", share),
        ("objects", f"{len(known):,} in the answers, {n_unknown:,} of them unknown to {matched.owner}"),
    ]
    if n_unknown:
        names = asked.names or range(asked.n_objects)
        strangers = some(name for name, is_known in zip(names, known, strict=True) if not is_known)
        left_out = count(len(asked) - len(met), "row")
        said.append(("unknown", f"{strangers}; {left_out} about them left out of the score"))
    if asked.names is None and matched.named:
        said.append(("matched", "by number: the answers have no names"))
    return said
