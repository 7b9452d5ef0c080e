"""Single values of a model file: parameters and learned attributes to JSON and back.

Plain JSON values stand for themselves. Everything else is an object with one telling key: ``{"array":
member}``, ``{"tuple": [...]}``, ``{"dict": {...}}``, ``{"float": "nan"}``, ``{"dtype": "float32"}``, and
``{"part": "TSTE", "module": "nearer.losses", "params": {...}}`` for a loss or solver of the house. Parts
are rebuilt from the modules of `PARTS` only; an object of the user's own is kept by name and cannot be
rebuilt.
"""

import math
from importlib import import_module
from typing import Any

import numpy as np

from nearer.registry import PARTS


class Custom(Exception):
    """Raised on reading where an object of the user's own stood; carries ``module:Class``."""

    def __init__(self, name: str) -> None:
        super().__init__(f"an object of {name} cannot be read from a file")
        self.name = name


def encode(value: Any, where: str, arrays: dict[str, np.ndarray], *, custom: bool = True) -> Any:
    """JSON for a value; arrays in it are put into `arrays` under names that begin with `where`.

    Examples
    --------
    >>> arrays = {}
    >>> encode((1, None, np.float32(0.5)), "params.pair", arrays)
    {'tuple': [1, None, 0.5]}
    >>> encode([0.0, math.inf], "params.range", arrays)
    [0.0, {'float': 'inf'}]
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list | tuple):
        items = [encode(item, f"{where}.{i}", arrays, custom=custom) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{where}: a dict in a model file has strings as keys, got {value!r}")
        return {"dict": {k: encode(v, f"{where}.{k}", arrays, custom=custom) for k, v in value.items()}}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).str}
    if hasattr(value, "__array__"):
        arrays[where] = plain_array(value, where)
        return {"array": where}
    return _encode_part(value, where, arrays, custom)


def home_of(kind: type) -> str | None:
    """Return the module of `PARTS` that a class of the house is read from; None for a class of the user's own."""
    if kind.__module__.startswith("nearer."):
        for module in PARTS:
            if getattr(import_module(module), kind.__name__, None) is kind:
                return module
    return None


def _encode_part(value: Any, where: str, arrays: dict[str, np.ndarray], custom: bool) -> Any:
    kind = type(value)
    module = home_of(kind)
    if module is not None:
        params = {
            key: encode(item, f"{where}.{key}", arrays) for key, item in value.get_params(deep=False).items()
        }
        return {"part": kind.__name__, "module": module, "params": params}
    if not custom:
        raise TypeError(f"{where}: a model file cannot hold a {kind.__qualname__}")
    named = value if hasattr(value, "__qualname__") else kind  # a function or class has a name of its own
    return {"part": None, "custom": f"{named.__module__}:{named.__qualname__}"}


def decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value that `encode` turned into this JSON.

    Examples
    --------
    >>> decode({"tuple": [1, {"float": "inf"}]}, {})
    (1, inf)
    >>> decode({"part": "TSTE", "module": "nearer.losses", "params": {"alpha": 2.0}}, {})
    TSTE(alpha=2.0)
    """
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"part": None, "custom": str(name)}:
            raise Custom(name)
        case {"part": str(name), "module": str(module), "params": dict(params)}:
            return _part(name, module)(**{key: decode(item, arrays) for key, item in params.items()})
        case {"array": str(member)}:
            return arrays[member]
        case {"tuple": list(items)}:
            return tuple(decode(item, arrays) for item in items)
        case {"dict": dict(items)}:
            return {key: decode(item, arrays) for key, item in items.items()}
        case {"float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"dtype": str(text)}:
            return np.dtype(text)
    raise ValueError(f"no known kind of value: {sorted(value)}")


def _part(name: str, module: str) -> Any:
    """The class of a part: from a module of the list, a class of the house, made for being a parameter."""
    if module not in PARTS:
        raise ValueError(f"parts are read from {', '.join(PARTS)}, not from {module!r}")
    kind = getattr(import_module(module), name, None)
    if not (isinstance(kind, type) and kind.__module__.startswith("nearer.") and hasattr(kind, "get_params")):
        raise ValueError(f"{module} has no part called {name!r}")
    return kind


def plain_array(value: Any, what: str) -> np.ndarray:
    """An array that .npy can hold without pickle: numbers (finite ones), truth values or text.

    Examples
    --------
    >>> plain_array(np.array(["Vienna", "Rome"], dtype=object), "names_").dtype.kind
    'U'
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        items = array.ravel().tolist()
        if array.dtype.kind not in "OT" or not all(isinstance(item, str) for item in items):
            raise TypeError(
                f"{what}: a model file holds arrays of numbers, truth values or text, got {array.dtype}"
            )
        array = np.array(items, dtype=str).reshape(array.shape)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{what} holds NaN or infinity: a model file does not")
    return np.asarray(array, order="C")
