"""The file of a learned model: a zip in the layout of npz, arrays as .npy members beside one ``model.json``.

No pickle: reading a file (`nearer.models.loading`) never runs what is in it. A file can only name a model of
the registry and parts (losses, solvers) of `PARTS`, and only the members that its JSON lists are read. Members are
stored, not compressed, so that a small file cannot claim a large array.

Plain JSON values stand for themselves. Everything else is an object with one key that says what it is: ``{"array":
member}``, ``{"tuple": [...]}``, ``{"dict": {...}}`` or, with numbers as keys, ``{"items": [[key, value], ...]}``,
``{"float": "nan"}``, ``{"dtype": "float32"}``, and ``{"part": "TSTE", "module": "nearer.losses", "params": {...}}``
for a loss or solver of the library. An object of the user's own is stored by name and cannot be rebuilt.

A scikit-learn Pipeline whose steps are such models is one file of format 2: its JSON has the name and the record
of each step, and the members of the first step begin with ``0.``, those of the second with ``1.``. A single model
is written in format 1, which every nearer reads.

An estimator has two tuples: ``_learned_arrays`` names the attributes that hold arrays (or None),
``_learned_values`` those that JSON can hold; a ``loss_`` of the user's own is left out. It may have ``_loaded()``,
called after reading, to derive further attributes and to raise ValueError if what was read is inconsistent.
Constructor parameters come from ``get_params(deep=False)``.
"""

import json
import math
import os
import zipfile
from importlib import import_module
from typing import Any

import numpy as np

from nearer import __version__
from nearer.files import replacing
from nearer.registry import PARTS, load, saved_models

FORMAT = 2  # of a pipeline, and the newest that is read
FORMAT_OF_ONE = 1  # of a single model
PIPELINE = "Pipeline"
RECORD = "model.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: the same model is the same bytes


class SavedModel:
    """The mixin that gives an estimator its ``save``; see the top of this file for its two tuples."""

    _learned_arrays: tuple[str, ...] = ()
    _learned_values: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learned model to one file, for `nearer.load_model`.

        Parameters
        ----------
        path : path
            Any name; the documentation uses the suffix ``.nearer``. An existing file is replaced in one step.
        """
        save_model(self, path)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a learned model to one file.

    Parameters
    ----------
    model : estimator
        A fitted model of this library, or a scikit-learn ``Pipeline`` whose steps all are.
    path : path
        Any name; the documentation uses the suffix ``.nearer``. An existing file is replaced in one step.

    Notes
    -----
    A ``callback`` and the state of a random generator are not stored: after loading these parameters are None. A
    parameter that is an object of your own (such as a loss) is stored by its name only; see `load_model`. Of a
    pipeline only the steps are stored, not its ``memory``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from nearer import OrdinalEmbedding, load_model
    >>> from nearer.models import save_model
    >>> model = OrdinalEmbedding(n_components=1, random_state=0).fit([[0, 1, 2], [2, 1, 0]])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/tiny.nearer")
    ...     again = load_model(f"{folder}/tiny.nearer")
    >>> bool((again.embedding_ == model.embedding_).all())
    True
    """
    record, arrays = _record_of_steps(model) if _is_pipeline(model) else _record(model)
    number = FORMAT if _is_pipeline(model) else FORMAT_OF_ONE
    record = {"format": number, "nearer": __version__, **record}
    with replacing(path) as aside, zipfile.ZipFile(aside, "w", zipfile.ZIP_STORED) as file:
        file.writestr(zipfile.ZipInfo(RECORD, _EPOCH), json.dumps(record, indent=1, allow_nan=False))
        for member, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{member}.npy", _EPOCH), "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def _is_pipeline(model: Any) -> bool:
    if not hasattr(model, "steps"):
        return False
    from sklearn.pipeline import Pipeline

    return type(model) is Pipeline


def _record_of_steps(pipeline: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the JSON of a pipeline, and the arrays of all its steps, prefixed with the position of the step."""
    steps: list[Any] = []
    arrays: dict[str, np.ndarray] = {}
    for place, (name, model) in enumerate(pipeline.steps):
        record, own = _record(model, f"step {name!r} of the pipeline, ")
        steps.append([name, record])
        arrays |= {f"{place}.{key}": array for key, array in own.items()}
    return {"model": PIPELINE, "steps": steps}, arrays


def _record(model: Any, which: str = "") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the JSON of a model, and its arrays by the names of their members."""
    name = type(model).__name__
    models = saved_models()
    if name not in models or load(name) is not type(model):
        kind = type(model).__qualname__
        raise TypeError(f"cannot save {which}a {kind}: model files hold {', '.join(sorted(models))}")
    if not hasattr(model, model._learned_arrays[0]):
        from sklearn.exceptions import NotFittedError

        whose = f"{which}a {name}," if which else f"this {name}"
        raise NotFittedError(f"{whose} has learned nothing yet: call fit before save")
    arrays: dict[str, np.ndarray] = {}
    notes: dict[str, str] = {}
    params: dict[str, Any] = {}
    for key, value in model.get_params(deep=False).items():
        if isinstance(value, np.random.Generator | np.random.RandomState):
            value, notes[key] = None, f"a {type(value).__name__} is not stored"
        elif key == "callback" and value is not None:
            value, notes[key] = None, "a callback is not stored"
        params[key] = encode(value, f"params.{key}", arrays)
    values: dict[str, Any] = {}
    for key in model._learned_values:
        if hasattr(model, key) and not (key == "loss_" and home_of(type(model.loss_)) is None):
            values[key] = encode(getattr(model, key), key, arrays, custom=False)
    for key in model._learned_arrays:
        value = getattr(model, key, None)
        if value is not None:
            encode(np.asarray(value), key, arrays)
        elif hasattr(model, key):
            values[key] = None
    listed = [{"name": key, "dtype": str(a.dtype), "shape": list(a.shape)} for key, a in arrays.items()]
    return {"model": name, "params": params, "learned": values, "arrays": listed, "notes": notes}, arrays


def encode(value: Any, where: str, arrays: dict[str, np.ndarray], *, custom: bool = True) -> Any:
    """Return JSON for a value; arrays in it are put into `arrays` under names that begin with `where`."""
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
            if not all(isinstance(key, str | int | float | np.generic) for key in value):
                raise TypeError(f"{where}: a dict in a model file has strings or numbers as keys, got {value!r}")
            return {"items": [encode(list(pair), where, arrays, custom=custom) for pair in value.items()]}
        return {"dict": {k: encode(v, f"{where}.{k}", arrays, custom=custom) for k, v in value.items()}}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).str}
    if hasattr(value, "__array__"):
        arrays[where] = plain_array(value, where)
        return {"array": where}
    return _encode_part(value, where, arrays, custom)


def home_of(kind: type) -> str | None:
    """Return the module of `PARTS` that a class of the library is read from; None for a user's own class."""
    if kind.__module__.startswith("nearer."):
        for module in PARTS:
            if getattr(import_module(module), kind.__name__, None) is kind:
                return module
    return None


def _encode_part(value: Any, where: str, arrays: dict[str, np.ndarray], custom: bool) -> Any:
    kind = type(value)
    module = home_of(kind)
    if module is not None:
        parameters = value.get_params(deep=False)
        params = {key: encode(item, f"{where}.{key}", arrays) for key, item in parameters.items()}
        return {"part": kind.__name__, "module": module, "params": params}
    if not custom:
        raise TypeError(f"{where}: a model file cannot hold a {kind.__qualname__}")
    named = value if hasattr(value, "__qualname__") else kind  # a function or class has a name of its own
    return {"part": None, "custom": f"{named.__module__}:{named.__qualname__}"}


def plain_array(value: Any, what: str) -> np.ndarray:
    """Return an array that .npy can hold without pickle: finite numbers, booleans or text."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        items = array.ravel().tolist()
        if array.dtype.kind not in "OT" or not all(isinstance(item, str) for item in items):
            raise TypeError(f"{what}: a model file holds arrays of numbers, booleans or text, got {array.dtype}")
        array = np.array(items, dtype=str).reshape(array.shape)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{what} holds NaN or infinity: a model file does not")
    return np.asarray(array, order="C")
