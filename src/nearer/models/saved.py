"""The file of a learned model: a zip in the layout of npz, arrays as .npy members beside one ``model.json``.

No pickle, so opening a file never runs what is in it: a file can only name a model of `MODELS` and parts
(losses, solvers) of `PARTS`, and only the members that its JSON lists are read. Members are stored, not
compressed, so a small file cannot claim a large array. How single values become JSON and come back is in
`nearer.models.values`, how a file is read in `nearer.models.loading`.

A scikit-learn Pipeline whose steps are such models is one file too, of format 2: its JSON has the name and the
record of each step, and the members of the first step begin with ``0.``, those of the second with ``1.``. A model
by itself is written in format 1, which every nearer reads.

The protocol with an estimator is two tuples: ``_learned_arrays`` names the attributes that hold arrays (or
None), ``_learned_values`` those that JSON can hold; a ``loss_`` of the user's own is left out. It may have
``_loaded()``, called after reading, to derive further attributes and to raise ValueError when what was read
does not fit together. Constructor parameters come from ``get_params(deep=False)``.
"""

import json
import os
import zipfile
from importlib import import_module
from typing import Any

import numpy as np

from nearer import __version__
from nearer.files import replacing
from nearer.models.values import encode, home_of
from nearer.registry import REGISTRY

__all__ = ["FORMAT", "MODELS", "SavedModel", "save_model"]

FORMAT = 2  # the newest that is read: that of a pipeline
FORMAT_OF_ONE = 1  # of a model by itself
MODELS = {name: entry.module for name, entry in REGISTRY.items() if entry.saved}
PIPELINE = "Pipeline"
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
        A fitted model of this library, or a scikit-learn ``Pipeline`` whose steps all are.
    path : path
        Any name; the documentation uses the suffix ``.nearer``. A file that is there is replaced in one step.

    Notes
    -----
    A ``callback`` and the state of a random generator are not stored: after loading these
    parameters are None. A parameter that is an object of your own (a loss, say) is stored by its name only;
    see `load_model`. Of a pipeline the steps are stored and nothing else: not its ``memory``.

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
    """The JSON of a pipeline, and the arrays of all its steps, each with the place of its step before its name."""
    steps: list[Any] = []
    arrays: dict[str, np.ndarray] = {}
    for place, (name, model) in enumerate(pipeline.steps):
        record, own = _record(model, f"step {name!r} of the pipeline, ")
        steps.append([name, record])
        arrays |= {f"{place}.{key}": array for key, array in own.items()}
    return {"model": PIPELINE, "steps": steps}, arrays


def _record(model: Any, which: str = "") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON of a model, and its arrays by the names of their members."""
    name = type(model).__name__
    if name not in MODELS or getattr(import_module(MODELS[name]), name, None) is not type(model):
        raise TypeError(
            f"cannot save {which}a {type(model).__qualname__}: model files hold {', '.join(sorted(MODELS))}"
        )
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
