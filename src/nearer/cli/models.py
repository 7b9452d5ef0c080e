"""What the commands that take a model file share: the objects of a model, or the table that it is asked about."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer.cli.console import print_note, some
from nearer.cli.estimators import last_step

if TYPE_CHECKING:
    import numpy as np

    from nearer.formats import FeatureTable

FLAT = 1e-6  # a dimension of a kernel narrower than this share of the widest is not shown

MODEL: Any = typer.Argument(metavar="MODEL", help="A model file of nearer fit or stream.")
FEATURES: Any = typer.Option(
    "--features", help="For a model of features: the table of the objects' features.", show_default=False
)
NAMES: Any = typer.Option(
    "--names", metavar="COLUMN", help="The column of --features that holds names.", show_default="name"
)


def load_with_table(path: Path, features: Path | None, names: str | None) -> tuple[Any, "FeatureTable | None"]:
    """Load a model; with the table of features that it compares objects by, if it does."""
    from nearer import load_model
    from nearer.formats.matching import read_table_for

    loaded = load_model(path)
    before, model = last_step(loaded)
    if not hasattr(model, "score_comparisons"):
        check_objects(model, path)
        for option, value in (("features", features), ("names", names)):
            if value is not None:
                raise ValueError(f"--{option} is for models of features: {path} has objects of its own")
        return model, None
    if features is None:
        raise ValueError(
            f"{path} compares objects by their features and has none of its own: it needs a table of the objects' "
            "features, with --features FILE"
        )
    table = read_table_for(loaded, features, names)
    if table.others:
        print_note(f"left out of {features}, as the model was fitted without: {some(table.others)}")
    return model, table if before is None else replace(table, X=before.transform(table), columns=None)


def check_objects(model: Any, path: Path) -> None:
    """Raise a ValueError for a model that has no objects of its own."""
    if not (hasattr(model, "embedding_") or hasattr(model, "kernel_")):
        raise ValueError(
            f"{path} is a {type(model).__name__}: such a model has no objects of its own to compare or map"
        )


def points_of(model: Any) -> "np.ndarray":
    """Return the points of a map, or of a kernel in all its dimensions, the widest first."""
    import numpy as np

    if hasattr(model, "embedding_"):
        return np.asarray(model.embedding_)
    points = np.asarray(model.embed(len(model.kernel_)))
    widths = np.linalg.norm(points, axis=0)
    return points[:, : max(2, int((widths > FLAT * widths[0]).sum()))]


def n_objects(model: Any) -> int:
    """Return how many objects a model knows."""
    return len(model.embedding_ if hasattr(model, "embedding_") else model.kernel_)


def find_object(text: str, names: Sequence[str] | None, n: int, owner: str) -> int:
    """Return the number of the object that a person means by a name or number.

    Parameters
    ----------
    text : str
        A name, or a number from 0.
    names : sequence of str, or None
        The names of all objects, if they have names.
    n : int
        How many objects there are.
    owner : str
        What has these objects, for the error message, which lists similar names.
    """
    if names is not None and text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < n:
        return int(text)
    by_case = {name.casefold(): name for name in names or ()}
    similar = [by_case[match] for match in get_close_matches(text.casefold(), by_case, n=3, cutoff=0.65)]
    if names is None:
        hint = f"its {n} objects are numbered 0 to {n - 1}"
    elif similar:
        hint = f"did you mean {' or '.join(similar)}?"
    else:
        hint = f"it has {n}, such as {', '.join(names[:3])}"
    raise ValueError(f"{owner} has no object called {text!r}; {hint}")
