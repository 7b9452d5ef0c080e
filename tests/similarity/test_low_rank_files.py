"""Files of models of low rank: what does not fit together is refused by name."""

import numpy as np
import pytest

from model_files import npy, rewritten
from nearer import LowRankSimilarity, load_model


@pytest.fixture
def path(tmp_path):
    random = np.random.default_rng(0)
    y = random.integers(3, size=60)
    X = random.normal(size=(60, 8)) + np.eye(8)[y]
    model = LowRankSimilarity(2, psd=False, n_steps=50, learning_rate=0.1, random_state=0).fit(X, y)
    model.set_params(rank=3).save(tmp_path / "a.nearer")  # set anew after the fit: that is no damage
    assert load_model(tmp_path / "a.nearer").components_.shape == (2, 8)
    return tmp_path / "a.nearer"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_steps_", -1),
        ("n_steps_", 2.5),
        ("n_steps_", True),
        ("n_steps_", None),
        ("learning_rate_", "auto"),
        ("learning_rate_", 0.0),
        ("learning_rate_", None),
    ],
)
def test_values_that_cannot_be(path, name, value):
    rewritten(path, lambda record: record["learned"].update({name: value}))
    with pytest.raises(ValueError, match=rf"^a\.nearer is damaged: {name} is {value!r}"):
        load_model(path)


@pytest.mark.parametrize("name", ["n_steps_", "learning_rate_", "history_", "kind_", "n_features_in_"])
def test_values_that_are_missing(path, name):
    rewritten(path, lambda record: record["learned"].pop(name))
    with pytest.raises(ValueError, match=rf"^a\.nearer is damaged: .*{name}"):
        load_model(path)


def test_a_history_that_is_none(path):
    rewritten(path, lambda record: record["learned"].update(history_=7))
    with pytest.raises(ValueError, match=r"^a\.nearer is damaged: history_ is 7, not a list"):
        load_model(path)


@pytest.mark.parametrize("name", ["components_", "query_components_"])
def test_arrays_that_do_not_fit(path, name):
    rewritten(path, add={f"{name}.npy": npy(np.ones((3, 8)))})
    with pytest.raises(ValueError, match=r"^a\.nearer is damaged: components of 8 features have shapes"):
        load_model(path)
