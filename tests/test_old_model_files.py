"""Models that were saved by nearer 0.1.0 load, answer as they did, and learn on.

``data/models-0.1`` holds one file per estimator and variant, and ``expected.npz`` with inputs and with what nearer
0.1.0 returned for them; ``data/write_models_0_1.py`` wrote both. The files are never written again: where a
parameter or a learned attribute gets another name, the loader translates the old one.
"""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse

from nearer import Comparisons, load_model

FOLDER = Path(__file__).parent / "data" / "models-0.1"
NAMES = ("Vienna", "Rome", "Paris", "Tromsø", "Bern", "Oslo", "Kyiv", "Riga", "Prague", "Porto", "Malta", "Minsk")


def named(rows):
    return Comparisons(rows, n_objects=len(NAMES), names=NAMES)


# What is asked of a model: the name of an output, and how to get it from the model and the inputs.
ANSWERS = {
    "predict": lambda model, data: model.predict(named(data["questions"])),
    "predict_proba": lambda model, data: model.predict_proba(named(data["questions"])),
}
EMBEDDING = ANSWERS | {"transform": lambda model, data: model.transform(NAMES[3:6])}
KERNEL = ANSWERS | {"kernel": lambda model, data: model.kernel_}
POINTS = {"transform": lambda model, data: model.transform(data["X_new"])}
SIMILARITY = {
    "similarity": lambda model, data: model.similarity(data["X_new"], data["X"]),
    "pair_score": lambda model, data: model.pair_score((data["X_new"], data["X"][: len(data["X_new"])])),
}
DISTANCE = POINTS | {"distance": lambda model, data: model.distance(data["X_new"], data["X"])}
RANKER = {
    "predict": lambda model, data: model.predict(data["X_new"]),
    "decision_function": lambda model, data: model.decision_function(data["X_new"]),
    "top_k": lambda model, data: np.array(model.top_k(data["X_new"], 2), dtype=float),
}
TERMS = {"transform": lambda model, data: model.transform(data["texts"])}


def similarity_of_texts(model, data):
    X = model[:-1].transform(data["texts"])
    return model[-1].similarity(X, X)


OUTPUTS = {
    "embedding": EMBEDDING,
    "embedding-svrg": EMBEDDING,
    "embedding-float32": EMBEDDING,
    "embedding-cli": EMBEDDING,
    "comparison-kernel": KERNEL,
    "comparison-kernel-ste": KERNEL,
    "online-kernel": KERNEL,
    "online-kernel-step": KERNEL,
    "online-kernel-probability": KERNEL,
    "bilinear-sdca": SIMILARITY,
    "bilinear-sdca-psd": SIMILARITY | POINTS,
    "bilinear-oasis": SIMILARITY,
    "bilinear-oasis-psd": SIMILARITY | POINTS,
    "bilinear-cli": SIMILARITY,
    "low-rank": SIMILARITY | POINTS,
    "low-rank-general": SIMILARITY,
    "low-rank-gd": SIMILARITY | POINTS,
    "low-rank-pa": SIMILARITY,
    "low-rank-ste": DISTANCE,
    "ranker": RANKER,
    "ranker-all": RANKER,
    "ranker-pa": RANKER,
    "ranker-perceptron": RANKER,
    "ranker-group-perceptron": RANKER,
    "ranker-popularity": RANKER,
    "ranker-classes": RANKER,
    "lego": DISTANCE,
    "itml": DISTANCE,
    "rca": DISTANCE,
    "lmnn": DISTANCE,
    "euclidean": DISTANCE,
    "feature-map": POINTS | {"predict": lambda model, data: model.predict(data["X_new"])},
    "information-gain": POINTS,
    "text-features": TERMS,
    "pipeline-cli": TERMS | {"similarity": similarity_of_texts},
}

# How a model learns on.
LEARN_ON = {
    "embedding": lambda model, data: model.partial_fit(named(data["answers"])),
    "online-kernel": lambda model, data: model.partial_fit(named(data["answers"])),
    "bilinear-oasis": lambda model, data: model.partial_fit(data["X"], data["y"]),
    "low-rank": lambda model, data: model.partial_fit(data["X"], data["y"]),
    "lego": lambda model, data: model.partial_fit(data["X"], data["y"]),
    "ranker": lambda model, data: model.partial_fit(data["X"], data["Y"]),
    "ranker-classes": lambda model, data: model.partial_fit(data["X"], data["y"]),
}
LEARN_ON |= dict.fromkeys(["embedding-svrg", "embedding-float32", "embedding-cli"], LEARN_ON["embedding"])
LEARN_ON |= dict.fromkeys(["online-kernel-step", "online-kernel-probability"], LEARN_ON["online-kernel"])
LEARN_ON |= {"bilinear-oasis-psd": LEARN_ON["bilinear-oasis"]}
LEARN_ON |= dict.fromkeys([f"low-rank-{kind}" for kind in ("general", "gd", "pa", "ste")], LEARN_ON["low-rank"])
LEARN_ON |= dict.fromkeys(
    [f"ranker-{kind}" for kind in ("all", "pa", "perceptron", "group-perceptron", "popularity")],
    LEARN_ON["ranker"],
)


def outputs(name, model, data):
    """Return what a model answers, by the names of its outputs."""
    with warnings.catch_warnings():
        # A model of a table's columns is asked about a plain array.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        answers = {key: ask(model, data) for key, ask in OUTPUTS[name].items()}
    return {key: value.toarray() if issparse(value) else np.asarray(value) for key, value in answers.items()}


@pytest.fixture(scope="module")
def expected():
    with np.load(FOLDER / "expected.npz") as file:
        return dict(file)


def check(actual, expected, prefix, rtol):
    for key, value in actual.items():
        desired = expected[f"{prefix}/{key}"]
        assert value.shape == desired.shape
        if desired.dtype.kind == "f":
            atol = rtol * np.abs(desired).max()
            np.testing.assert_allclose(value, desired, rtol=rtol, atol=atol, err_msg=f"{prefix}/{key}")
        else:
            np.testing.assert_array_equal(value, desired, err_msg=f"{prefix}/{key}")


def test_every_file_is_asked():
    assert sorted(path.stem for path in FOLDER.glob("*.nearer")) == sorted(OUTPUTS)


@pytest.mark.parametrize("name", OUTPUTS)
def test_answers_as_before(name, expected):
    model = load_model(FOLDER / f"{name}.nearer")
    check(outputs(name, model, expected), expected, name, 1e-12)


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name != "pipeline-cli"])
def test_saved_again(name, expected, tmp_path):
    load_model(FOLDER / f"{name}.nearer").save(tmp_path / "again.nearer")
    check(outputs(name, load_model(tmp_path / "again.nearer"), expected), expected, name, 1e-12)


@pytest.mark.parametrize("name", LEARN_ON)
def test_learns_on_as_before(name, expected):
    """Parameters, learned state and the state of the random draws are loaded: the next steps are the same."""
    model = load_model(FOLDER / f"{name}.nearer")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        LEARN_ON[name](model, expected)
    check(outputs(name, model, expected), expected, f"{name}/on", 1e-6 if name == "embedding-float32" else 1e-9)
