"""The objects of a fitted model as maps and tables show them: those that an answer was about."""

from typing import Any, NamedTuple

import numpy as np

from nearer.maps.draw import plot
from nearer.maps.plane import Points

FLAT = 1e-6  # a dimension of a kernel narrower than this share of the widest is not shown


class LearnedObjects(NamedTuple):
    """Points and names of objects, and their numbers in the model."""

    points: Points
    names: list[str]
    numbers: np.ndarray


def learned_objects(model: Any) -> LearnedObjects:
    """Return the objects of a map or kernel; the others, all at the origin, only if there are no such objects."""
    asked = np.flatnonzero(model._asked())
    points = _points(model)
    numbers = asked if len(asked) else np.arange(len(points))
    names = [str(number) if model.names_ is None else model.names_[number] for number in numbers]
    return LearnedObjects(points[numbers], names, numbers)


def _points(model: Any) -> Points:
    """Return the points of a map, or of a kernel in all its dimensions, the widest first."""
    points = np.asarray(model._points(), dtype=np.float64)
    if hasattr(model, "embedding_"):
        return points
    widths = np.linalg.norm(points, axis=0)
    return points[:, : max(2, int((widths > FLAT * widths[0]).sum()))]


def plot_model(model: Any, *, groups: Any = None, weights: Any = None, **options: Any) -> Any:
    """Draw the objects of a model; `groups` and `weights` have one value per object of the model."""
    shown, n = learned_objects(model), len(model._asked())
    given = {"groups": groups, "weights": weights}
    for name, values in given.items():
        if values is not None:
            values = list(values)
            if len(values) != n:
                raise ValueError(f"{name}: {len(values)} for {n} objects; expected one per object of the model")
            given[name] = [values[number] for number in shown.numbers]
    return plot(shown.points, shown.names, **given, **options)
