"""Pipelines in a file: every step comes back, and what is wrong is told by the step."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import nearer
from model_files import damage, npy, rewritten
from nearer import RCA, BilinearSimilarity, FeatureMap, InformationGain, load_model
from nearer.features import TextFeatures
from nearer.models import save_model

TEXTS = [
    "ship sea wind",
    "sea ship sail",
    "sail the sea",
    "bank price",
    "price bank trade",
    "trade at a price",
] * 3
Y = np.array(["sea", "land"]).repeat(3).tolist() * 3


def learned():
    """Texts to a similarity: the pipeline that the file is for."""
    steps = [("words", TextFeatures(6)), ("alike", BilinearSimilarity("sdca", n_triplets=200, random_state=0))]
    return Pipeline(steps).fit(TEXTS, Y)


@pytest.fixture(scope="module")
def pipeline():
    return learned()


@pytest.fixture
def path(tmp_path, pipeline):
    path = tmp_path / "two steps.nearer"
    save_model(pipeline, path)
    return path


def similarities(pipeline):
    X = pipeline[:-1].transform(TEXTS)
    return pipeline[-1].similarity(X, X)


def test_round_trip(path, pipeline, tmp_path):
    again = load_model(path)
    assert type(again) is Pipeline
    assert list(again.named_steps) == ["words", "alike"]
    np.testing.assert_array_equal(similarities(again), similarities(pipeline))
    assert again["words"].terms_.tolist() == pipeline["words"].terms_.tolist()
    assert again["alike"].get_params() == pipeline["alike"].get_params()
    save_model(again, tmp_path / "again.nearer")
    assert (tmp_path / "again.nearer").read_bytes() == path.read_bytes()


def test_steps_of_every_kind(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(40, 5)), np.arange(40) % 4
    X[:, 0] *= y > 1
    for made, target in [
        (make_pipeline(InformationGain(3), RCA()), y),
        (make_pipeline(InformationGain("all"), FeatureMap()), y),
        (make_pipeline(RCA(2)), y),
    ]:
        made.fit(X, target)
        save_model(made, tmp_path / "p.nearer")
        again = load_model(tmp_path / "p.nearer")
        np.testing.assert_array_equal(again.transform(X), made.transform(X))


def test_the_file_says_which_array_is_of_which_step(path):
    with np.load(path, allow_pickle=False) as file:
        assert {"0.terms_", "0.idf_", "1.matrix_"} <= set(file)
    with zipfile.ZipFile(path) as file:
        record = json.loads(file.read("model.json"))
    assert (record["format"], record["nearer"], record["model"]) == (2, nearer.__version__, "Pipeline")
    assert [(name, step["model"]) for name, step in record["steps"]] == [
        ("words", "TextFeatures"),
        ("alike", "BilinearSimilarity"),
    ]


def test_parameters_of_a_step_are_given_by_its_name(path):
    assert load_model(path, alike__verbose=True, words__max_features=3)["alike"].verbose is True
    for key in ("verbose", "other__verbose", "words"):
        with pytest.raises(ValueError, match=f"is a pipeline of words, alike: .* as step__parameter; got {key}"):
            load_model(path, **{key: 1})
    with pytest.raises(ValueError, match=r"\(step 'words'\) .*: TextFeatures .* has no parameter colour"):
        load_model(path, words__colour="red")


def test_an_object_of_ones_own_in_a_step_is_asked_for_by_the_step(path):
    own = {"part": None, "custom": "mine:Loss"}
    rewritten(path, lambda record: record["steps"][1][1]["params"].update(solver=own))
    with pytest.raises(ValueError, match=r'load_model\("two steps.nearer", alike__solver=Loss\(\.\.\.\)\)'):
        load_model(path)
    assert load_model(path, alike__solver="oasis")["alike"].solver == "oasis"


def test_strangers_are_named(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 3)), np.arange(30) % 3
    made = Pipeline([("scale", StandardScaler()), ("alike", RCA())]).fit(X, y)
    with pytest.raises(
        TypeError, match="cannot save step 'scale' of the pipeline, a StandardScaler: model files hold"
    ):
        save_model(made, tmp_path / "p.nearer")
    made = Pipeline([("nothing", "passthrough"), ("alike", RCA())]).fit(X, y)
    with pytest.raises(TypeError, match="cannot save step 'nothing' of the pipeline, a str"):
        save_model(made, tmp_path / "p.nearer")
    inner = Pipeline([("inner", make_pipeline(RCA())), ("alike", RCA())]).fit(X, y)
    with pytest.raises(TypeError, match="cannot save step 'inner' of the pipeline, a Pipeline"):
        save_model(inner, tmp_path / "p.nearer")
    for other in (type("Pipeline", (Pipeline,), {})([("alike", RCA())]), FeatureUnion([("alike", RCA())])):
        with pytest.raises(TypeError, match=f"cannot save a {type(other).__name__}: model files hold"):
            save_model(other.fit(X, y), tmp_path / "p.nearer")
    with pytest.raises(NotFittedError, match="step 'rca' of the pipeline, a RCA, has learned nothing yet"):
        save_model(make_pipeline(RCA()), tmp_path / "p.nearer")
    assert not list(tmp_path.iterdir())


def words(record):
    return record["steps"][0][1]


CHANGES = {
    "is damaged: model.json lacks steps": lambda r: r.pop("steps"),
    "is damaged: model.json lacks params, learned, arrays": lambda r: r.update(model="TextFeatures"),
    "is damaged: the list of steps": lambda r: r.update(steps=[3]),
    "is damaged: the list of steps in model.json is not": lambda r: r.update(steps=[]),
    "is damaged: the list of steps in model.json": lambda r: r["steps"][0].insert(0, "words"),
    "is damaged: the list of steps in": lambda r: r["steps"][1].__setitem__(0, "words"),
    "is damaged: the list of steps in model": lambda r: r["steps"][1].__setitem__(0, "a__b"),
    "is damaged: model.json of step 'words' lacks model, params": lambda r: r["steps"][0].__setitem__(1, "ab"),
    "is damaged: model.json of step 'words' lacks learned": lambda r: words(r).pop("learned"),
    r"\(step 'words'\) holds a model called 'Oracle'": lambda r: words(r).update(model="Oracle"),
    r"\(step 'words'\) holds a model called 'Pipeline'": lambda r: words(r).update(model="Pipeline"),
    r"\(step 'words'\) is damaged: the list of arrays": lambda r: words(r).update(arrays=[3]),
    r"\(step 'words'\) is not .*: it holds no 0.other.npy": lambda r: words(r)["arrays"].append({"name": "other"}),
    r"\(step 'words'\) is damaged: parameter max_features": lambda r: words(r)["params"].update(
        max_features={"python": "1"}
    ),
    r"\(step 'words'\) is damaged: max_features must be": lambda r: words(r)["params"].update(max_features="many"),
    r"\(step 'words'\) is damaged: .*terms_": lambda r: words(r).update(arrays=[]),
    "was written in format 3 by nearer": lambda r: r.update(format=3),
}


@pytest.mark.parametrize("message", CHANGES)
def test_a_changed_record_is_named(path, message):
    rewritten(path, CHANGES[message])
    with pytest.raises(ValueError, match=f"^two steps.nearer {message}"):
        load_model(path)


ARRAYS = {
    "0.idf_ holds NaN": ("0.idf_", np.full(6, np.nan)),
    "6 terms and idf or scores of shape .* do not fit": ("0.idf_", np.ones(5)),
    "the terms are not a list of different words": ("0.terms_", np.array(["sea"] * 6)),
}


@pytest.mark.parametrize("message", ARRAYS)
def test_a_bad_array_is_named(path, message):
    member, array = ARRAYS[message]
    rewritten(path, add={f"{member}.npy": npy(array)})
    with pytest.raises(ValueError, match=rf"^two steps\.nearer \(step 'words'\) is damaged: .*{message}"):
        load_model(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_an_error_that_names_it(path, pipeline, data):
    save_model(pipeline, path)
    path.write_bytes(damage(path.read_bytes(), data))
    message = "two steps.nearer "
    try:
        load_model(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith("two steps.nearer ")
