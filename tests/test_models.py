"""Model files: what is saved comes back, what is wrong is named, and nothing in a file is ever run."""

import json
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import nearer
from model_files import damage, npy, rewritten
from nearer.embedding import SVRG
from nearer.losses import TSTE
from nearer.models import FORMAT, SavedModel, load_model, loading, save_model
from nearer.models.loading import decode
from nearer.models.saving import encode
from nearer.registry import REGISTRY, Entry

FIXTURE = Path(__file__).parent / "data" / "model-format-1.nearer"


class Learner(SavedModel, BaseEstimator):
    """A small estimator that keeps the protocol."""

    _learned_arrays = ("embedding_", "names_", "weights_")
    _learned_values = ("n_iter_", "history_")

    def __init__(self, n_components=2, loss="tste", init=None, random_state=None, callback=None, tol=1e-3):
        self.n_components = n_components
        self.loss = loss
        self.init = init
        self.random_state = random_state
        self.callback = callback
        self.tol = tol

    def fit(self):
        self.embedding_ = np.arange(6.0).reshape(3, 2)
        self.names_ = np.array(["Zürich", "</script>", ""], dtype=object)
        self.weights_ = None
        self.n_iter_ = np.int64(7)
        self.history_ = [{"loss": 0.5, "step_size": np.float64(0.1)}, {"loss": float("nan")}]
        return self

    def _loaded(self):
        if self.embedding_.ndim != 2 or len(self.names_) != len(self.embedding_):
            raise ValueError(f"embedding_ of shape {self.embedding_.shape} for {len(self.names_)} names")


class MyLoss:
    def value(self, near, far):
        return near - far


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    room = types.ModuleType("a_package_of_tests")
    room.Learner = Learner
    monkeypatch.setitem(sys.modules, "a_package_of_tests", room)
    monkeypatch.setitem(REGISTRY, "Learner", Entry("a_package_of_tests", "Tests"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my model.nearer"


# What is saved comes back


def test_round_trip(path):
    model = Learner(n_components=np.int32(3), init=np.eye(2), tol=float("inf")).fit()
    model.save(path)
    again = load_model(path)
    assert type(again) is Learner
    assert again.n_components == 3
    assert type(again.n_components) is int
    assert again.tol == float("inf")
    np.testing.assert_array_equal(again.init, np.eye(2))
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    assert again.embedding_.flags.writeable
    assert again.names_.tolist() == ["Zürich", "</script>", ""]
    assert again.weights_ is None
    assert again.n_iter_ == 7
    assert again.history_[0] == {"loss": 0.5, "step_size": 0.1}
    assert np.isnan(again.history_[1]["loss"])


def test_a_path_may_be_a_string_and_the_suffix_is_free(tmp_path):
    Learner().fit().save(str(tmp_path / "model"))
    assert load_model(str(tmp_path / "model")).n_iter_ == 7


def test_the_same_model_is_the_same_bytes(tmp_path):
    for name in "ab":
        Learner().fit().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_file_is_an_npz_with_one_json(path):
    Learner().fit().save(path)
    with np.load(path, allow_pickle=False) as file:
        assert file["embedding_"].shape == (3, 2)
    with zipfile.ZipFile(path) as file:
        record = json.loads(file.read("model.json"))
    assert record["format"] == 1 < FORMAT  # as long as it is no pipeline, every nearer reads it
    assert record["nearer"] == nearer.__version__
    assert record["model"] == "Learner"
    assert {entry["name"] for entry in record["arrays"]} == {"embedding_", "names_"}


def test_a_loss_of_the_house_comes_back(path):
    Learner(loss=TSTE(alpha=4.0)).fit().save(path)
    loss = load_model(path).loss
    assert type(loss) is TSTE
    assert loss.alpha == 4.0


def test_a_loss_of_ones_own_must_be_given_again(path):
    Learner(loss=MyLoss()).fit().save(path)
    with pytest.raises(
        ValueError, match=r"my model.nearer was saved with .* as loss \(.*test_models:MyLoss\)"
    ) as error:
        load_model(path)
    assert 'load_model("my model.nearer", loss=MyLoss(...))' in str(error.value)
    mine = MyLoss()
    assert load_model(path, loss=mine).loss is mine


def test_a_loss_that_only_calls_itself_one_of_the_house_is_ones_own(path):
    Learner(loss=type("TSTE", (MyLoss,), {"__module__": "nearer.losses.tste"})()).fit().save(path)
    with pytest.raises(ValueError, match="load_model"):
        load_model(path)


@pytest.mark.parametrize("state", [np.random.RandomState(0), np.random.default_rng(0)])
def test_random_state_and_callback_are_not_stored(path, state):
    Learner(random_state=state, callback=print).fit().save(path)
    again = load_model(path)
    assert again.random_state is None
    assert again.callback is None
    with zipfile.ZipFile(path) as file:
        assert set(json.loads(file.read("model.json"))["notes"]) == {"random_state", "callback"}


def test_overrides(path):
    Learner().fit().save(path)
    assert load_model(path, n_components=5).n_components == 5
    with pytest.raises(ValueError, match="no parameter colour; it has callback, init"):
        load_model(path, colour="red")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(plain)
def test_values_come_back(value):
    arrays = {}
    encoded = json.loads(json.dumps(encode(value, "it", arrays), allow_nan=False))
    assert decode(encoded, arrays) == value
    assert arrays == {}


def test_dtypes_and_arrays_in_lists_come_back():
    arrays = {}
    encoded = json.loads(json.dumps(encode([np.float32, np.array(3), {"a": np.eye(2)}], "it", arrays)))
    dtype, scalar, inner = decode(encoded, arrays)
    assert dtype == np.dtype(np.float32)
    assert scalar.shape == ()
    assert inner["a"].shape == (2, 2)


# What cannot be saved


def test_an_unfitted_model(path):
    with pytest.raises(NotFittedError, match="call fit before save"):
        Learner().save(path)
    assert not path.exists()


def test_a_stranger(path):
    with pytest.raises(TypeError, match=r"cannot save a object: model files hold .*OrdinalEmbedding"):
        save_model(object(), path)
    stranger = type("Learner", (Learner,), {})().fit()
    with pytest.raises(TypeError, match="cannot save a Learner"):
        stranger.save(path)


def test_a_failed_save_leaves_the_old_file(path):
    Learner().fit().save(path)
    before = path.read_bytes()
    model = Learner().fit()
    model.embedding_ = np.array([[np.nan, 0.0]])
    with pytest.raises(ValueError, match="embedding_ holds NaN"):
        model.save(path)
    model.embedding_ = np.array([[{}]])
    with pytest.raises(TypeError, match="embedding_: a model file holds arrays of numbers"):
        model.save(path)
    model.fit().history_ = MyLoss()
    with pytest.raises(TypeError, match="history_: a model file cannot hold a MyLoss"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# What cannot be loaded


def test_a_newer_format_is_refused(path):
    Learner().fit().save(path)
    rewritten(path, lambda record: record.update(format=3, nearer="0.9"))
    with pytest.raises(ValueError, match="upgrade nearer") as error:
        load_model(path)
    assert str(error.value) == (
        f"my model.nearer was written in format 3 by nearer 0.9; this nearer {nearer.__version__} "
        "reads formats up to 2: upgrade nearer"
    )


CHANGES = {
    "holds a model called 'Oracle'": lambda r: r.update(model="Oracle"),
    "model.json says nothing readable": lambda r: r.pop("format"),
    "format True is not a number": lambda r: r.update(format=True),
    "model.json lacks params, learned": lambda r: (r.pop("params"), r.pop("learned")),
    "list of arrays": lambda r: r.update(arrays=[3]),
    "holds no other.npy": lambda r: r["arrays"].append({"name": "other"}),
    "holds no ../../etc/passwd.npy": lambda r: r["arrays"].append({"name": "../../etc/passwd"}),
    "has no parameter colour": lambda r: r["params"].update(colour=1),
    "parameter loss: parts are read from": lambda r: r["params"].update(
        loss={"part": "system", "module": "os", "params": {}}
    ),
    "nearer.losses has no part called 'ops'": lambda r: r["params"].update(
        loss={"part": "ops", "module": "nearer.losses", "params": {}}
    ),
    "nearer.losses has no part called 'Any'": lambda r: r["params"].update(
        loss={"part": "Any", "module": "nearer.losses", "params": {}}
    ),
    "parameter loss: .*unexpected keyword": lambda r: r["params"].update(
        loss={"part": "TSTE", "module": "nearer.losses", "params": {"beta": 1}}
    ),
    "parameter tol: unknown kind of value": lambda r: r["params"].update(tol={"python": "1"}),
    "parameter init: 'nowhere'": lambda r: r["params"].update(init={"array": "nowhere"}),
    "unknown kind": lambda r: r["learned"].update(n_iter_={"what": 1}),
}


@pytest.mark.parametrize("message", CHANGES)
def test_a_changed_record_is_named(path, message):
    Learner().fit().save(path)
    rewritten(path, CHANGES[message])
    with pytest.raises(ValueError, match=f"^my model.nearer .*{message}"):
        load_model(path)


ARRAYS = {
    "embedding_ holds NaN": npy(np.array([[np.nan, 1.0]])),
    "arrays of object are not read": npy(np.array([{}], dtype=object), allow_pickle=True),
    "does not fit its": npy(np.eye(3))[:-8],
    r"embedding_ of shape \(4, 2\) for 3 names": npy(np.zeros((4, 2))),
    "magic string": b"not an array at all",
    r"shape \(1000000000, 1000000\) does not fit": npy(np.eye(3)).replace(
        b"(3, 3), }" + b" " * 20, b"(1000000000, 1000000), }     "
    ),
}


@pytest.mark.parametrize("message", ARRAYS)
def test_a_bad_array_is_named(path, message):
    Learner().fit().save(path)
    rewritten(path, add={"embedding_.npy": ARRAYS[message]})
    with pytest.raises(ValueError, match=f"^my model.nearer is damaged: .*{message}"):
        load_model(path)


def test_missing_and_compressed_members(path):
    Learner().fit().save(path)
    rewritten(path, drop=["model.json"])
    with pytest.raises(ValueError, match=r"my model\.nearer is not a model file .* holds no model\.json"):
        load_model(path)
    Learner().fit().save(path)
    rewritten(path, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(
        ValueError, match=r"my model\.nearer is not as nearer writes it: model\.json is compressed"
    ):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"anchor,near,far\n1,2,3\n", b"PK\x05\x06" + b"\0" * 18])
def test_no_model_file_at_all(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^my model\.nearer is not a model file"):
        load_model(path)


def test_no_file(path):
    with pytest.raises(FileNotFoundError):
        load_model(path)


def test_members_that_are_not_listed_and_attributes_that_are_not_declared_are_left_alone(path):
    Learner().fit().save(path)
    extra = {"arrays": [{"name": "save"}], "learned": {"fit": 1}}

    def change(record):
        record["arrays"] += extra["arrays"]
        record["learned"].update(extra["learned"])

    rewritten(path, change, add={"save.npy": npy(np.eye(2)), "evil.npy": b"junk"})
    model = load_model(path)
    assert callable(model.save)
    assert callable(model.fit)


def test_a_directory_that_points_before_the_file_is_damage(path):
    Learner(loss=TSTE(alpha=1.0), init=np.eye(2)).fit().save(path)
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    place = int.from_bytes(content[end + 16 : end + 20], "little")
    content[end + 16 : end + 20] = (place + 100).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        load_model(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_an_error_that_names_it(path, data):
    Learner(loss=TSTE(alpha=1.0), init=np.eye(2)).fit().save(path)
    path.write_bytes(damage(path.read_bytes(), data))
    message = "my model.nearer "
    try:
        load_model(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith("my model.nearer ")


# Names that have changed since a file was written


def test_old_names_of_parameters_attributes_and_parts_are_read(path, monkeypatch):
    Learner(n_components=3, loss=TSTE(alpha=4.0), tol=0.5).fit().save(path)

    def as_it_was(record):
        record["nearer"] = "0.1.0"
        record["params"]["dims"] = record["params"].pop("n_components")
        record["params"]["accuracy"] = 1 / record["params"].pop("tol")
        record["params"]["colour"] = "red"
        record["params"]["loss"]["params"] = {"degrees": record["params"]["loss"]["params"]["alpha"]}
        record["learned"]["epochs_"] = record["learned"].pop("n_iter_")
        record["arrays"][0]["name"] = "points_"

    rewritten(path, as_it_was, drop=["embedding_.npy"], add={"points_.npy": npy(np.arange(6.0).reshape(3, 2))})
    with pytest.raises(ValueError, match="parameter loss"):
        load_model(path)
    model = {"dims": "n_components", "accuracy": ("tol", lambda value: 1 / value), "colour": ""}
    model |= {"epochs_": "n_iter_", "points_": ("embedding_", lambda points: points + 1.0)}
    monkeypatch.setattr(loading, "RENAMED", {"Learner": model, "TSTE": {"degrees": "alpha"}})
    again = load_model(path)
    assert (again.n_components, again.tol, again.loss.alpha, again.n_iter_) == (3, 0.5, 4.0, 7)
    assert again.embedding_[0].tolist() == [1.0, 2.0]
    assert load_model(path, tol=0.1).tol == 0.1


# The estimators themselves, through a file that was written once and stays


def test_todays_format_stays_readable():
    model = load_model(FIXTURE)
    assert type(model) is nearer.OrdinalEmbedding
    assert list(model.names_) == ["Vienna", "Rome", "Paris", "Tromsø", "</script>", "東京"]
    assert model.embedding_.shape == (6, 2)
    assert type(model.loss) is TSTE
    assert model.loss.alpha == 2.0
    assert model.predict([[0, 1, 5]]).tolist() == [1]  # Vienna is nearer to Rome than to 東京


def test_an_estimator_with_parts_comes_back(path):
    model = load_model(FIXTURE, solver=SVRG(epsilon=0.5), n_jobs=2)
    model.save(path)
    again = load_model(path)
    assert type(again.solver) is SVRG
    assert again.solver.epsilon == 0.5
    assert again.n_jobs == 2
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


def test_an_estimator_file_without_its_points_is_damaged(path):
    load_model(FIXTURE).save(path)
    rewritten(path, lambda record: record.update(arrays=[]))
    with pytest.raises(ValueError, match=r"^my model\.nearer is damaged: .*embedding_"):
        load_model(path)
