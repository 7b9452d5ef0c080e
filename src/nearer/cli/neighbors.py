"""``nearer neighbors``: what is nearest to an object by a learned model, or most similar to it."""

from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.models import find_object, load_with_table, n_objects
from nearer.cli.options import FEATURES, MODEL, NAMES


@command(
    "nearer neighbors europe.nearer Vienna -k 5",
    "nearer neighbors europe.nearer 17",
    "nearer neighbors shoes.nearer --features shoes.csv pump",
)
def neighbors(
    model: Annotated[Path, MODEL],
    name: Annotated[str, typer.Argument(metavar="NAME", help="An object: its name, or its number from 0.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many to list.")] = 5,
    features: Annotated[Path | None, FEATURES] = None,
    names: Annotated[str | None, NAMES] = None,
) -> None:
    """List the objects that are nearest to one in a model.

    The last column is the distance. Distances have no unit of their own; only their order and ratios mean
    something.

    A model of features has no objects of its own: they are those of --features, whether it was fitted on them or
    not. A bilinear similarity lists similarities, the largest first, and says so. A model of texts reads the
    column of --features that it was fitted on.
    """
    learned, table = load_with_table(model, features, names)
    if table is None:
        n, known, owner = n_objects(learned), learned.names_, "the model"
    else:
        n, known, owner = len(table), table.names, str(table.path)
    place = find_object(name, known, n, owner)
    heading = "nearest to {}"
    if n == 1:
        numbers, values = [], []
    elif table is None:
        distances, found = learned.neighbors([place], min(k, n - 1))
        numbers, values = found[0].tolist(), distances[0].tolist()
    else:
        heading = "nearest to {}, by distance" if hasattr(learned, "distance") else "most like {}, by similarity"
        # One more, since the object itself is usually among them; by a similarity it need not be.
        distances, found = learned.neighbors(table[[place]], table, min(k + 1, n))
        others = [pair for pair in zip(found[0].tolist(), distances[0].tolist(), strict=True) if pair[0] != place]
        numbers, values = map(list, zip(*others[: min(k, n - 1)], strict=True))
    listed = [str(number) if known is None else known[number] for number in numbers]
    print(heading.format(str(place) if known is None else known[place]))
    width = max(map(len, listed), default=0)
    for rank, (other, value) in enumerate(zip(listed, values, strict=True), start=1):
        print(f"{rank:>4}  {other:<{width}}  {value:.4g}")
