"""The file of a learned model: a zip in the layout of npz, arrays as .npy members beside one ``model.json``.

No pickle, so opening a file never runs what is in it: a file can only name a model of `MODELS` and parts
(losses, solvers) of `PARTS`, and only the members that its JSON lists are read. Members are stored, not
compressed, so a small file cannot claim a large array. How single values become JSON and come back is in
`nearer.models.values`.

The protocol with an estimator is two tuples: ``_learned_arrays`` names the attributes that hold arrays (or
None), ``_learned_values`` those that JSON can hold; a ``loss_`` of the user's own is left out. It may have
``_loaded()``, called after reading, to derive further attributes and to raise ValueError when what was read
does not fit together. Constructor parameters come from ``get_params(deep=False)``.
"""

import io
import json
import math
import os
import struct
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from nearer import __version__
from nearer.files import replacing
from nearer.models.values import Custom, decode, encode, home_of

__all__ = ["FORMAT", "MODELS", "SavedModel", "load_model", "save_model"]

FORMAT = 1
MODELS = {
    "BilinearSimilarity": "nearer.similarity",
    "ComparisonKernel": "nearer.kernel",
    "Euclidean": "nearer.similarity",
    "FeatureMap": "nearer.features",
    "ITML": "nearer.similarity",
    "LEGO": "nearer.similarity",
    "LMNN": "nearer.similarity",
    "OnlineKernel": "nearer.kernel",
    "OrdinalEmbedding": "nearer.embedding",
    "RCA": "nearer.similarity",
}
RECORD = "model.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: the same model is the same bytes


class SavedModel:
    """Gives an estimator its ``save``.

    Examples
    --------
    >>> from nearer.models import SavedModel
    >>> class Learner(SavedModel):
    ...     _learned_arrays = ("embedding_",)
    ...     _learned_values = ("n_iter_",)
    """

    _learned_arrays: tuple[str, ...] = ()
    _learned_values: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learned model to one file, for `nearer.load_model`.

        Parameters
        ----------
        path : path
            Any name; the documentation uses the suffix ``.nearer``. A file that is there is replaced in one
            step.
        """
        save_model(self, path)


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a learned model to one file.

    Parameters
    ----------
    model : estimator
        A fitted model of this library.
    path : path
        Any name; the documentation uses the suffix ``.nearer``. A file that is there is replaced in one step.

    Notes
    -----
    A ``callback`` and the state of a random generator are not stored: after loading these
    parameters are None. A parameter that is an object of your own (a loss, say) is stored by its name only;
    see `load_model`.

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
    name = type(model).__name__
    if name not in MODELS or getattr(import_module(MODELS[name]), name, None) is not type(model):
        raise TypeError(f"cannot save a {type(model).__qualname__}: model files hold {', '.join(sorted(MODELS))}")
    if not hasattr(model, model._learned_arrays[0]):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {name} has learned nothing yet: call fit before save")
    record, arrays = _record(model, name)
    with replacing(path) as aside, zipfile.ZipFile(aside, "w", zipfile.ZIP_STORED) as file:
        file.writestr(zipfile.ZipInfo(RECORD, _EPOCH), json.dumps(record, indent=1, allow_nan=False))
        for member, array in arrays.items():
            with file.open(zipfile.ZipInfo(f"{member}.npy", _EPOCH), "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def _record(model: Any, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON of a model, and its arrays by the names of their members."""
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
    record = {"format": FORMAT, "nearer": __version__, "model": name, "params": params, "learned": values}
    return {**record, "arrays": listed, "notes": notes}, arrays


def load_model(path: str | os.PathLike[str], **overrides: Any) -> Any:
    """Read a learned model from a file that ``save`` wrote.

    Parameters
    ----------
    path : path
        The file.
    **overrides
        Constructor parameters to use in place of the stored ones. Needed for a parameter that is an object
        of your own: ``load_model("mine.nearer", loss=MyLoss())``.

    Returns
    -------
    estimator
        The model, fitted as it was. Nothing in the file is ever run.

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
            arrays = {key: _read_array(file, key) for key in _listed(record)}
        kind, params = _model_class(record), _params(record, arrays, overrides, name)
        model = _build(kind, params, record)
        _restore(model, record, arrays)
    except (zipfile.BadZipFile, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"{name} is not a model file of nearer, or is damaged: {error}") from error
    except _Unreadable as error:
        raise ValueError(f"{name} {error}") from error.__cause__
    return model


class _Unreadable(Exception):
    """What is wrong with the file, as the rest of a sentence that begins with its name."""


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


def _read_record(file: zipfile.ZipFile) -> dict[str, Any]:
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
    wanted = {"model": str, "params": dict, "learned": dict, "arrays": list}
    wrong = [key for key, kind in wanted.items() if not isinstance(record.get(key), kind)]
    if wrong:
        raise _Unreadable(f"is damaged: {RECORD} lacks {', '.join(wrong)}")
    return record


def _listed(record: dict[str, Any]) -> list[str]:
    try:
        return [str(entry["name"]) for entry in record["arrays"]]
    except (TypeError, KeyError) as error:
        raise _Unreadable(f"is damaged: the list of arrays in {RECORD} is not one") from error


def _read_array(file: zipfile.ZipFile, key: str) -> np.ndarray:
    """An array, after its header was held against the bytes that are there, and its numbers found finite."""
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


def _model_class(record: dict[str, Any]) -> Any:
    name = record["model"]
    if name not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise _Unreadable(f"holds a model called {name!r}; this nearer {__version__} knows {known}")
    return getattr(import_module(MODELS[name]), name)


def _params(
    record: dict[str, Any], arrays: dict[str, Any], overrides: dict[str, Any], name: str
) -> dict[str, Any]:
    params = {}
    for key, value in record["params"].items():
        if key in overrides:
            continue
        try:
            params[key] = decode(value, arrays)
        except Custom as custom:
            what = custom.name.rpartition(":")[2].rpartition(".")[2]
            raise _Unreadable(
                f"was saved with an object of your own as {key} ({custom.name}), which a file does not hold: "
                f'load_model("{name}", {key}={what}(...))'
            ) from None
        except (ValueError, TypeError, KeyError) as error:
            raise _Unreadable(f"is damaged: parameter {key}: {error}") from error
    return params | overrides


def _build(kind: Any, params: dict[str, Any], record: dict[str, Any]) -> Any:
    known = set(kind().get_params(deep=False))
    unknown = sorted(set(params) - known)
    if unknown:
        raise _Unreadable(
            f"(written by nearer {record.get('nearer')}): {kind.__name__} of this nearer {__version__} "
            f"has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}"
        )
    return kind(**params)


def _restore(model: Any, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Set what was learned: only attributes that the class declares, whatever else the file may hold."""
    try:
        for key in model._learned_values:
            if key in record["learned"]:
                setattr(model, key, decode(record["learned"][key], arrays))
        for key in model._learned_arrays:
            if key in arrays:
                setattr(model, key, arrays[key])
            elif key in record["learned"]:
                setattr(model, key, None)
        if hasattr(model, "_loaded"):
            model._loaded()
    except (ValueError, TypeError, KeyError, AttributeError, Custom) as error:
        raise _Unreadable(f"is damaged: {error}") from error
