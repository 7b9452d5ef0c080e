"""``nearer neighbors``: what is nearest to an object by a learned model, or most similar to it."""

from pathlib import Path

import typer

from nearer.cli.app import command
from nearer.cli.models import find_object, known_objects, load_with_table
from nearer.cli.options import FEATURES, MODEL, NAMES


@command(
    "nearer neighbors europe.nearer Vienna -k 5",
    "nearer neighbors europe.nearer 17",
    "nearer neighbors shoes.nearer --features shoes.csv pump",
)
def neighbors(
    model: Path = MODEL,
    name: str = typer.Argument(..., metavar="NAME", help="An object: its name, or its number from 0."),
    k: int = typer.Option(5, "-k", min=1, help="How many to list."),
    features: Path | None = FEATURES,
    names: str | None = NAMES,
) -> None:
    """List the objects that are nearest to one in a model.

    The last column is the distance. Distances have no unit of their own; only their order and ratios mean
    something.

    A model of features has no objects of its own: they are those of --features, whether it was fitted on them or
    not. A bilinear similarity lists similarities, the largest first, and says so. A model of texts reads the
    column of --features that it was fitted on.
    """
    learned, table = load_with_table(model, features, names)
    n, known, owner = known_objects(learned, table)
    place = find_object(name, known, n, owner)
    heading = "nearest to {}"
    if table is None:
        others = int(learned._asked().sum()) - 1
        asked = place if known is None else known[place]
        values, nearest = learned.neighbors(asked, min(k, others)) if others > 0 else ([[]], [[]])
        numbers = nearest if known is None else [[known.index(name) for name in nearest[0]]]
    else:
        heading = "nearest to {}, by distance" if hasattr(learned, "distance") else "most like {}, by similarity"
        # One more, since the object itself is usually among them; by a similarity it need not be.
        values, numbers = learned.neighbors(table[[place]], table, min(k + 1, n))
    pairs = [(number, value) for number, value in zip(numbers[0], values[0], strict=True) if number != place][:k]
    names_of = [str(number) for number in range(n)] if known is None else known
    print(heading.format(names_of[place]))
    width = max((len(names_of[number]) for number, _ in pairs), default=0)
    for rank, (number, value) in enumerate(pairs, start=1):
        print(f"{rank:>4}  {names_of[number]:<{width}}  {value:.4g}")
