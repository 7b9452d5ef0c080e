"""Reading the file of a learned model, as `nearer.models.saving` describes it. Nothing in a file is run.

Everything that a file claims is checked before it is used: which model it is, how large an array is, whether
numbers are finite, and at the end, by the model itself, whether its parts are consistent. An error names the file.
"""

import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from nearer import __version__
from nearer.models.saving import FORMAT, PIPELINE, RECORD
from nearer.registry import PARTS, load, saved_models

Record = dict[str, Any]  # what the JSON says of a model or pipeline
MODEL_FIELDS: dict[str, type] = {"model": str, "params": dict, "learned": dict, "arrays": list}
PIPELINE_FIELDS: dict[str, type] = {"model": str, "steps": list}

# Parameters and learned attributes that files of nearer 0.1 have under another name. For each class of a model, loss or
# solver: the old name and the new one; "" if it is dropped, "OASIS.symmetric" if it is now a parameter of the solver
# OASIS; with a function, if the value has to be converted too: "TextFeatures": {"weights_": ("idf_", np.exp)}
RENAMED: dict[str, dict[str, str | tuple[str, Callable[[Any], Any]]]] = {
    "OrdinalEmbedding": {"max_epochs": "max_iter"},
    "OnlineKernel": {"step": "learning_rate", "passes": "steps_per_answer", "n_seen_": "n_samples_seen_"},
    "LEGO": {"max_epochs": "max_iter"},
    "LowRankSimilarity": {
        "sampling": "negatives",
        "drawing": "sampling",
        "asking_components_": "query_components_",
    },
    "LabelRanker": {"sampling": "negatives", "n_labels_": "n_predicted_"},
    "BilinearSimilarity": {
        "max_epochs": "max_iter",
        "drawing": "sampling",
        "aggressiveness": "OASIS.aggressiveness",
        "symmetric": "OASIS.symmetric",
        "output": "SDCA.output",
    },
    "SVRG": {"step": "step_size", "initial_step": "initial_step_size"},
    "SGD": {"step": "step_size"},
    "Batch": {"step": "step_size"},
    "TextFeatures": {"n_terms": "max_features", "min_documents": "min_df", "weights_": "idf_"},
}


def _current_name(kind: str, name: str, record: dict[str, Any] | None = None) -> tuple[str, Callable[[Any], Any]]:
    """Return the current name of a parameter or attribute, and the function that converts its value."""
    old = record is None or str(record.get("nearer")).startswith("0.1.")  # parts have no version of their own
    entry = RENAMED.get(kind, {}).get(name, name) if old else name
    return entry if isinstance(entry, tuple) else (entry, lambda value: value)


def load_model(path: str | os.PathLike[str], **overrides: Any) -> Any:
    """Read a learned model from a file that ``save`` wrote.

    Parameters
    ----------
    path : path
        The file.
    **overrides
        Constructor parameters to use in place of the stored ones. Needed for a parameter that is an object
        of your own: ``load_model("mine.nearer", loss=MyLoss())``; in a step of a pipeline
        ``load_model("mine.nearer", step__loss=MyLoss())``.

    Returns
    -------
    estimator
        The model, or the pipeline of models, fitted as it was. Nothing in the file is ever run.

    Raises
    ------
    ValueError
        When the file is not a model file, is damaged, or was written in a newer format; it says which.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from nearer import OrdinalEmbedding, load_model
    >>> model = OrdinalEmbedding(n_components=1, random_state=0).fit([[0, 1, 2], [2, 1, 0]])
    >>> with TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/tiny.nearer")
    ...     load_model(f"{folder}/tiny.nearer", n_jobs=2).n_jobs
    2
    """
    name = Path(path).name
    try:
        with zipfile.ZipFile(path) as file:
            record = _read_record(file)
            read = _pipeline if record["model"] == PIPELINE else _model
            return read(file, record, overrides, f'load_model("{name}", ')
    except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{name} is not a model file of nearer, or is damaged: {error}") from error
    except _Unreadable as error:
        raise ValueError(f"{name} {error}") from error.__cause__


class _Unreadable(Exception):
    """What is wrong with the file, as the rest of a sentence that begins with its name."""


def _pipeline(file: zipfile.ZipFile, record: Record, overrides: dict[str, Any], call: str) -> Any:
    """Read the steps of a pipeline, each as the model that it is."""
    from sklearn.pipeline import Pipeline

    records = _steps(record)
    parameters: dict[str, dict[str, Any]] = {name: {} for name, _ in records}
    for key, value in overrides.items():
        name, _, parameter = key.partition("__")
        if name not in parameters or not parameter:
            steps = ", ".join(parameters)
            raise _Unreadable(f"is a pipeline of {steps}: parameters are given as step__parameter; got {key}")
        parameters[name][parameter] = value
    models = []
    for place, (name, of_step) in enumerate(records):
        try:
            models.append(_model(file, of_step, parameters[name], f"{call}{name}__", f"{place}."))
        except _Unreadable as error:
            raise _Unreadable(f"(step {name!r}) {error}") from error.__cause__
    return Pipeline(list(zip(parameters, models, strict=True)))


def _steps(record: Record) -> list[tuple[str, Record]]:
    try:
        steps = [(name, of_step) for name, of_step in record["steps"]]
        if not steps or len({name for name, _ in steps if name and "__" not in name}) < len(steps):
            raise ValueError("names of steps")
    except (TypeError, ValueError) as error:
        raise _Unreadable(f"is damaged: the list of steps in {RECORD} is not one") from error
    for name, of_step in steps:
        _check_record(of_step, MODEL_FIELDS, f" of step {name!r}")
    return [(name, {**of_step, "nearer": record.get("nearer")}) for name, of_step in steps]


def _model(file: zipfile.ZipFile, record: Record, overrides: dict[str, Any], call: str, prefix: str = "") -> Any:
    """Read a model from its record and the members with this prefix."""
    try:
        listed = [str(entry["name"]) for entry in record["arrays"]]
    except (TypeError, KeyError) as error:
        raise _Unreadable(f"is damaged: the list of arrays in {RECORD} is not one") from error
    arrays = {key: _read_array(file, prefix + key) for key in listed}
    models = saved_models()
    if record["model"] not in models:
        known = ", ".join(sorted(models))
        raise _Unreadable(f"holds a model called {record['model']!r}; this nearer {__version__} knows {known}")
    kind = load(record["model"])
    params, known_params = _params(record, arrays, overrides, call), set(kind().get_params(deep=False))
    if unknown := sorted(set(params) - known_params):
        raise _Unreadable(
            f"(written by nearer {record.get('nearer')}): {kind.__name__} of this nearer {__version__} "
            f"has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known_params))}"
        )
    model = kind(**params)
    _restore(model, record, arrays)
    return model


def _member(file: zipfile.ZipFile, member: str) -> bytes:
    try:
        info = file.getinfo(member)
    except KeyError:
        raise _Unreadable(f"is not a model file of nearer, or is damaged: it holds no {member}") from None
    if info.compress_type != zipfile.ZIP_STORED:
        raise _Unreadable(f"is not as nearer writes it: {member} is compressed")
    try:
        return file.read(info)
    except (ValueError, struct.error, OSError) as error:  # OSError: a place before the beginning of the file
        raise _Unreadable(f"is damaged: {member} cannot be read ({error})") from error


def _read_record(file: zipfile.ZipFile) -> Record:
    content = _member(file, RECORD)
    try:
        record = json.loads(content)
        number = record["format"]
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"format {number!r} is not a number")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _Unreadable(f"is damaged: {RECORD} says nothing readable ({error})") from error
    if not 1 <= number <= FORMAT:
        raise _Unreadable(
            f"was written in format {number} by nearer {record.get('nearer', 'of unknown version')}; "
            f"this nearer {__version__} reads formats up to {FORMAT}: upgrade nearer"
        )
    _check_record(record, PIPELINE_FIELDS if record.get("model") == PIPELINE else MODEL_FIELDS)
    return record


def _check_record(record: Any, fields: dict[str, type], which: str = "") -> None:
    record = record if isinstance(record, dict) else {}
    wrong = [key for key, kind in fields.items() if not isinstance(record.get(key), kind)]
    if wrong:
        raise _Unreadable(f"is damaged: {RECORD}{which} lacks {', '.join(wrong)}")


def _read_array(file: zipfile.ZipFile, key: str) -> np.ndarray:
    """Return an array, after a check of its header against the bytes that are there, and of its numbers."""
    content = _member(file, f"{key}.npy")
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in readers:
            raise ValueError(f"npy version {version} is not used here")
        shape, _, dtype = readers[version](stream)
        if dtype.kind not in "biufU":
            raise ValueError(f"arrays of {dtype} are not read")
        if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
            raise ValueError(f"shape {shape} does not fit its {len(content) - stream.tell()} bytes")
        stream.seek(0)
        array = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, TypeError, SyntaxError, EOFError) as error:
        raise _Unreadable(f"is damaged: array {key}: {error}") from error
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise _Unreadable(f"is damaged: array {key} holds NaN or infinity")
    return array


def _params(record: Record, arrays: dict[str, Any], overrides: dict[str, Any], call: str) -> dict[str, Any]:
    params = {}
    for key, value in record["params"].items():
        name, convert = _current_name(record["model"], key, record)
        if not name or name in overrides:
            continue
        try:
            params[name] = convert(decode(value, arrays))
        except Custom as custom:
            what = str(custom).rpartition(":")[2].rpartition(".")[2]
            raise _Unreadable(
                f"was saved with an object of your own as {name} ({custom}), which a file does not hold: "
                f"{call}{name}={what}(...))"
            ) from None
        except (ValueError, TypeError, KeyError) as error:
            raise _Unreadable(f"is damaged: parameter {name}: {error}") from error
    _move_to_solver(record["model"], params)
    return params | overrides


def _move_to_solver(kind: str, params: dict[str, Any]) -> None:
    """Replace the name of a solver by the solver object if it has parameters that were the estimator's."""
    moved = {name: params.pop(name) for name in list(params) if "." in name}
    for name, value in moved.items():
        solver, _, parameter = name.partition(".")
        if params.get("solver") == solver.lower():
            params["solver"] = getattr(import_module(saved_models()[kind]), solver)()
        if type(params.get("solver")).__name__ == solver:
            params["solver"].set_params(**{parameter: value})


def _restore(model: Any, record: Record, arrays: dict[str, np.ndarray]) -> None:
    """Set the learned attributes: only those that the class declares, whatever else the file may hold."""
    try:
        for key, value in [*record["learned"].items(), *arrays.items()]:
            name, convert = _current_name(record["model"], key, record)
            if name in model._learned_arrays:
                setattr(model, name, convert(value) if isinstance(value, np.ndarray) else None)
            elif name in model._learned_values and key in record["learned"]:
                setattr(model, name, convert(decode(record["learned"][key], arrays)))
        if hasattr(model, "_loaded"):
            model._loaded()
    except (ValueError, TypeError, KeyError, AttributeError, Custom) as error:
        raise _Unreadable(f"is damaged: {error}") from error


class Custom(Exception):
    """Raised for an object of the user's own; its argument is the name as ``module:Class``."""


def decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value that `nearer.models.saving.encode` turned into this JSON."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"part": None, "custom": str(name)}:
            raise Custom(name)
        case {"part": str(name), "module": str(module), "params": dict(params)}:
            current = {key: _current_name(name, key) for key in params}
            return _part(name, module)(
                **{new: convert(decode(params[key], arrays)) for key, (new, convert) in current.items() if new}
            )
        case {"array": str(member)}:
            return arrays[member]
        case {"tuple": list(items)}:
            return tuple(decode(item, arrays) for item in items)
        case {"dict": dict(items)}:
            return {key: decode(item, arrays) for key, item in items.items()}
        case {"items": list(pairs)} if all(isinstance(key, str | int | float) for key, _ in pairs):
            return {key: decode(item, arrays) for key, item in pairs}
        case {"float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"dtype": str(text)}:
            return np.dtype(text)
    raise ValueError(f"unknown kind of value: {sorted(value)}")


def _part(name: str, module: str) -> Any:
    """Return the class of a part: a class of the library, from a module of the list, with parameters."""
    if module not in PARTS:
        raise ValueError(f"parts are read from {', '.join(PARTS)}, not from {module!r}")
    kind = getattr(import_module(module), name, None)
    if not (isinstance(kind, type) and kind.__module__.startswith("nearer.") and hasattr(kind, "get_params")):
        raise ValueError(f"{module} has no part called {name!r}")
    return kind
