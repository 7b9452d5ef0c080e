"""One registry: public names, model files and commands come from it, and a new estimator is one line there."""

import pkgutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import nearer
from nearer.models import SavedModel
from nearer.registry import REGISTRY, Entry, commands, load, public_names


class Mean(SavedModel, BaseEstimator):
    """An estimator of somebody who contributes one."""

    _learned_arrays = ("mean_",)

    def __init__(self, weight=1.0):
        self.weight = weight

    def fit(self, X, y=None):
        self.mean_ = self.weight * np.mean(X, axis=0)
        return self


def test_every_name_is_where_the_registry_says():
    for name, entry in REGISTRY.items():
        thing = load(name)
        assert thing.__name__ == name
        assert name in sys.modules[entry.module].__all__
        assert hasattr(thing, "save") == entry.saved or not isinstance(thing, type)


def test_docstrings_of_classes_name_the_parameters_of_the_constructor():
    validate = pytest.importorskip("numpydoc.validate", reason="numpydoc comes with the extra check").validate

    settings = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    checks = tomllib.loads(settings)["tool"]["numpydoc_validation"]["checks"]
    for module in pkgutil.walk_packages(nearer.__path__, "nearer."):
        for name, kind in vars(import_module(module.name)).items():
            if isinstance(kind, type) and kind.__module__ == module.name and name[0] != "_":
                errors = validate(f"{module.name}.{name}")["errors"]
                assert [error for error in errors if error[0] in checks] == [], name


def test_the_names_of_nearer_are_those_of_the_registry():
    assert set(nearer.__all__) == {"__version__", *public_names()}
    assert set(public_names()) <= set(dir(nearer))
    assert nearer.LMNN is load("LMNN")
    with pytest.raises(AttributeError, match="has no attribute 'Euclid'; it has BilinearSimilarity, "):
        _ = nearer.Euclid


def test_importing_nearer_imports_nothing_heavy():
    heavy = {"numpy", "numba", "scipy", "sklearn", "typer", "tqdm"}
    program = f"import sys, nearer; print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_new_estimator_is_one_line(monkeypatch, tmp_path):
    package = ModuleType("nearer_mean")
    package.Mean = Mean
    monkeypatch.setitem(sys.modules, "nearer_mean", package)
    monkeypatch.setitem(REGISTRY, "Mean", Entry("nearer_mean", "Means", command="mean"))
    assert nearer.Mean is Mean
    assert commands()["mean"] == "Mean"
    nearer.Mean(weight=2.0).fit([[1.0], [3.0]]).save(tmp_path / "mean.nearer")
    again = nearer.load_model(tmp_path / "mean.nearer")
    assert isinstance(again, Mean)
    assert (again.weight, again.mean_.tolist()) == (2.0, [4.0])
