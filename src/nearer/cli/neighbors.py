"""``nearer neighbors``: what is nearest to an object by a learned model, or most like it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli.app import command
from nearer.cli.features import FEATURES, NAMES, features_for
from nearer.cli.models import check_features, last_step, n_objects, names_of, number_called, object_called

if TYPE_CHECKING:
    from nearer.formats import FeatureTable


@command(
    "nearer neighbors europe.nearer Vienna -k 5",
    "nearer neighbors europe.nearer 17",
    "nearer neighbors shoes.nearer --features shoes.csv pump",
)
def neighbors(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of nearer fit or stream.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="An object: its name, or its number from 0.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many to list.")] = 5,
    features: Annotated[Path | None, FEATURES] = None,
    names: Annotated[str | None, NAMES] = None,
) -> None:
    """List the objects that a model puts nearest to one.

    The last column is the distance. Distances have no unit of their own; only their order and ratios mean
    something.

    A model of features has no objects of its own: they are those of --features, be they the ones that it was
    fitted on or others. A bilinear similarity lists similarities, the largest first, and says so. A model of texts
    reads the column of --features that it was fitted on.
    """
    from nearer import load_model

    before, learned = last_step(load_model(model))
    check_features(learned, model, features, names)
    if features is None:
        _of_model(learned, name, k)
    else:
        _of_table(learned, features_for(learned, before, features, names), name, k)


def _of_model(model: Any, name: str, k: int) -> None:
    names = names_of(model)
    here = object_called(model, name)
    most = n_objects(model) - 1
    found, distances = model.neighbors([here], min(k, most)) if most else ([[]], [[]])
    print(f"nearest to {names[here]}")
    _list([names[number] for number in found[0]], distances[0])


def _of_table(model: Any, table: "FeatureTable", name: str, k: int) -> None:
    names = [str(row) for row in range(len(table))] if table.names is None else list(table.names)
    here = number_called(name, names, table.names is not None, str(table.path))
    # One more, since the object itself may be among them; it need not be, by a similarity.
    values, found = model.neighbors(table.X[[here]], table.X, min(k + 1, len(table)))
    others = [place for place, number in enumerate(found[0]) if number != here][: min(k, len(table) - 1)]
    is_distance = hasattr(model, "distance")
    print(f"nearest to {names[here]}, by distance" if is_distance else f"most like {names[here]}, by similarity")
    _list([names[found[0, place]] for place in others], values[0, others])


def _list(names: list[str], values: Any) -> None:
    width = max(map(len, names), default=0)
    for rank, (name, value) in enumerate(zip(names, values, strict=True), start=1):
        print(f"{rank:>4}  {name:<{width}}  {value:.4g}")
