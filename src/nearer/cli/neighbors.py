"""``nearer neighbors``: what lies nearest to an object by a learned model."""

from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.models import n_objects, names_of, object_called


@command("nearer neighbors europe.nearer Vienna -k 5", "nearer neighbors europe.nearer 17")
def neighbors(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of nearer fit or stream.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="An object: its name, or its number from 0.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many to list.")] = 5,
) -> None:
    """List the objects that a model puts nearest to one.

    The last column is the distance. Distances have no unit of their own; only their order and ratios mean
    something.
    """
    from nearer import load_model

    learned = load_model(model)
    names = names_of(learned)
    here = object_called(learned, name)
    most = n_objects(learned) - 1
    found, distances = learned.neighbors([here], min(k, most)) if most else ([[]], [[]])
    width = max((len(names[number]) for number in found[0]), default=0)
    print(f"nearest to {names[here]}")
    for rank, (number, distance) in enumerate(zip(found[0], distances[0], strict=True), start=1):
        print(f"{rank:>4}  {names[number]:<{width}}  {distance:.4g}")
