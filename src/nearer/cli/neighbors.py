"""``nearer neighbors``: what lies nearest to an object on a learned map."""

from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.models import names_of, object_called


@command("nearer neighbors europe.nearer Vienna -k 5", "nearer neighbors europe.nearer 17")
def neighbors(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of nearer fit.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="An object: its name, or its number from 0.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many to list.")] = 5,
) -> None:
    """List the objects nearest to one on the map.

    The last column is the distance. Distances have no unit of their own; only their order and ratios mean
    something.
    """
    import numpy as np

    from nearer import load_model

    learned = load_model(model)
    names = names_of(learned)
    here = object_called(learned, name)
    distances = np.linalg.norm(learned.embedding_ - learned.embedding_[here], axis=1)
    order = [number for number in np.argsort(distances, kind="stable") if number != here][:k]
    width = max((len(names[number]) for number in order), default=0)
    print(f"nearest to {names[here]}")
    for rank, number in enumerate(order, start=1):
        print(f"{rank:>4}  {names[number]:<{width}}  {distances[number]:.4g}")
