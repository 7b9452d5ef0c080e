"""What the commands that take a model file share, whatever the model: its objects and their points."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

ALL_BUT_FLAT = 1e-6  # a dimension of a kernel narrower than this share of the widest is none


def last_step(loaded: Any) -> tuple[Any, Any]:
    """Return the steps of a pipeline before its last, None where there are none, and the model at its end."""
    steps = getattr(loaded, "steps", None)
    if steps is None:
        return None, loaded
    return loaded[:-1] if len(steps) > 1 else None, steps[-1][1]


def check_features(model: Any, path: Path, features: Path | None, names: str | None = None) -> None:
    """Hold a command to --features for a model that compares features, to none for one that has its objects."""
    if not hasattr(model, "score_comparisons"):
        check_objects(model, path)
        for option, value in (("features", features), ("names", names)):
            if value is not None:
                raise ValueError(f"--{option} is for models of features: {path} has objects of its own")
    elif features is None:
        raise ValueError(
            f"{path} compares objects by their features and has none of its own: it needs a table of the objects' "
            "features, with --features FILE"
        )


def check_objects(model: Any, path: Path) -> None:
    """Raise a ValueError for a model without objects of its own."""
    if not (hasattr(model, "embedding_") or hasattr(model, "kernel_")):
        raise ValueError(
            f"{path} is a {type(model).__name__}: such a model has no objects of its own to compare or map"
        )


def n_objects(model: Any) -> int:
    """How many objects a model knows."""
    return len(model.embedding_ if hasattr(model, "embedding_") else model.kernel_)


def points_of(model: Any) -> "np.ndarray":
    """The objects as points: those of a map, or a kernel's in all its dimensions, the widest first.

    A map of them shows the first two, ``model.embed(2)``, and says how much of the kernel that is.
    """
    import numpy as np

    if hasattr(model, "embedding_"):
        return np.asarray(model.embedding_)
    points = np.asarray(model.embed(n_objects(model)))
    width = np.linalg.norm(points, axis=0)
    n_wide = int((width > ALL_BUT_FLAT * width[0]).sum())
    return points[:, : max(2, n_wide)]


def names_of(model: Any) -> list[str]:
    """One name an object; its number where the model knows no names."""
    return list(model.names_) if model.names_ is not None else [str(i) for i in range(n_objects(model))]


def object_called(model: Any, text: str) -> int:
    """The number of the object that a person means; ValueError with the names that come close."""
    return number_called(text, names_of(model), model.names_ is not None, "the model")


def number_called(text: str, names: Sequence[str], named: bool, whose: str) -> int:
    """The number of the name that a person means; ValueError with the names that come close.

    Parameters
    ----------
    text : str
        A name, or a number from 0.
    names : sequence of str
        Of all objects.
    named : bool
        Whether these are names, and not numbers in their place.
    whose : str
        Who has these objects, for the error.
    """
    if text in names:
        return names.index(text)
    if text.isdecimal() and int(text) < len(names):
        return int(text)
    plain = {name.casefold(): name for name in names}
    close = [plain[match] for match in get_close_matches(text.casefold(), plain, n=3, cutoff=0.65)]
    if not named:
        hint = f"its {len(names)} objects are numbered 0 to {len(names) - 1}"
    elif close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"it has {len(names)}, such as {', '.join(names[:3])}"
    raise ValueError(f"{whose} has no object called {text!r}; {hint}")
