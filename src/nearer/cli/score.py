"""``nearer score``: how well a model predicts answers, and which of them it cannot know."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli.app import command
from nearer.cli.models import n_objects
from nearer.cli.saying import count, facts, percent, some

if TYPE_CHECKING:
    import numpy as np

    from nearer import Comparisons


@command("nearer score europe.nearer new-answers.csv")
def score(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of nearer fit or stream.")],
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="A file of answers.")],
) -> None:
    """Print the share of answers that a model satisfies, by weight.

    Objects are matched by name where both files have names, by number where not. Answers about objects that
    the model has never seen are counted apart.
    """
    from nearer import Comparisons, load_model, read

    learned, asked = load_model(model), read(answers)
    if asked.names is not None and learned.names_ is None:
        raise ValueError(f"{answers} names its objects and {model} numbers them: they cannot be matched")
    known = _known(learned, asked)
    n_unknown = len(known) - int(known.sum())
    rows = known[asked.rows].all(axis=1)
    # Rows, not whole answers: one row of an answer may be about a stranger and another not.
    weights = None if asked.weights is None else asked.weights[rows]
    met = Comparisons(asked.rows[rows], n_objects=asked.n_objects, names=asked.names, weights=weights)
    if len(met) and weights is not None and not weights.any():
        raise ValueError(f"{answers}: the weights of all {count(len(met), 'row')} to score are 0")
    share = f"{percent(learned.score(met))} of {count(len(met), 'row')}" if len(met) else "nothing to score"
    said = [
        ("satisfied", share),
        ("objects", f"{len(known):,} in the answers, {n_unknown:,} of them unknown to the model"),
    ]
    if n_unknown:
        names = asked.names or range(asked.n_objects)
        strangers = some(name for name, is_known in zip(names, known, strict=True) if not is_known)
        left_out = count(len(asked) - len(met), "row")
        said.append(("unknown", f"{strangers}; {left_out} about them left out of the score"))
    if asked.names is None and learned.names_ is not None:
        said.append(("matched", "by number: the answers have no names"))
    facts(said)


def _known(model: Any, answers: "Comparisons") -> "np.ndarray":
    """Which of the answers' objects the model knows."""
    import numpy as np

    if answers.names is None:
        return np.arange(answers.n_objects) < n_objects(model)
    names = set(model.names_)
    return np.array([name in names for name in answers.names])
