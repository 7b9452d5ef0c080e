"""Objects that no answer is about stay out of neighbors, maps and counts."""

import warnings

import numpy as np
import pytest

from nearer import ComparisonKernel, Comparisons, OnlineKernel, OrdinalEmbedding, load_model, write
from nearer.comparisons.coerce import drop_unasked
from nearer.simulate import comparisons_from_points


@pytest.fixture(scope="module")
def gaps():
    """Answers about the objects 3 to 11 of 14."""
    made = comparisons_from_points(np.random.default_rng(0).normal(size=(9, 2)), 300, random_state=0)
    return Comparisons(made.rows + 3, n_objects=14)


@pytest.fixture(scope="module")
def model(gaps):
    return OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(gaps)


@pytest.mark.parametrize("kind", ["map", "kernel", "online"])
def test_are_no_neighbors(gaps, model, kind):
    if kind != "map":
        model = (
            ComparisonKernel(max_iter=20, regularization=0.01) if kind == "kernel" else OnlineKernel(n_objects=14)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a fit that has not settled
            model.partial_fit(gaps) if kind == "online" else model.fit(gaps)
    _, found = model.neighbors([3, 7], 8)
    assert set(found[0].tolist()) == set(range(4, 12))
    assert set(found[1].tolist()) == set(range(3, 12)) - {7}
    with pytest.raises(ValueError, match=r"k must be .*8"):
        model.neighbors([3], 9)
    with pytest.raises(ValueError, match="no answer was about object 13: its neighbors are not known"):
        model.neighbors([3, 13], 2)


def test_a_point_at_the_origin_is_not_one_of_them():
    centered = OrdinalEmbedding(n_components=1).fit([[0, 1, 2], [2, 1, 0]])
    centered.embedding_ = np.array([[-1.0], [0.0], [1.0]])
    assert centered._asked().tolist() == [True] * 3


def test_are_dropped_with_the_names_that_the_numbers_were(gaps):
    kept, left_out = drop_unasked(Comparisons(gaps, subjects=np.arange(len(gaps)) % 3))
    assert kept.names == tuple(map(str, range(3, 12)))
    assert left_out == ["0", "1", "2", "12", "13"]
    assert (np.array(kept.names, dtype=int)[kept.rows] == gaps.rows).all()
    assert kept.subjects.tolist() == (np.arange(len(gaps)) % 3).tolist()
    assert drop_unasked(kept) == (kept, [])


def test_fit_says_so_and_other_commands_agree(here, gaps, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(gaps, "gaps.npz")
    write(gaps[:150], "half.csv")
    told = here("fit", "gaps.npz", "--loss", "ste", "--regularization", 0.01, "-q", "-o", "gaps.nearer").facts
    assert told["objects"] == "9"
    assert told["never asked"] == "5 objects, left out of the model: 0, 1, 2, 12, 13"
    assert load_model("gaps.nearer").names_ == tuple(map(str, range(3, 12)))
    for file in ("gaps.npz", "half.csv"):
        assert "unknown to the model" in here("score", "gaps.nearer", file).stdout
        assert "by number" not in here("score", "gaps.nearer", file).stdout
    assert "0 of them unknown" in here("score", "gaps.nearer", "half.csv").stdout
    assert "has no object called '2'" in here("neighbors", "gaps.nearer", 2, code=2).stderr
    model.save("phantoms.nearer")  # from Python, where numbers are numbers
    drawn = here("map", "phantoms.nearer", "-o", "m.html").stdout
    assert drawn == "wrote m.html, a map of 9 objects; 5 objects never asked about left out\n"
    assert len(here("neighbors", "phantoms.nearer", 3, "-k", 20).stdout.splitlines()) == 9
    assert "objects         9 (5 more never asked about: 0, 1, 2, 12, 13)" in here("check", "gaps.npz").stdout


def test_numbers_and_names_that_are_numbers_match(model, gaps):
    named, _ = drop_unasked(gaps)
    assert model.score(named) == model.score(gaps)
    whole = Comparisons.concat([named, Comparisons([[0, 1, 2]])])
    assert whole.names == (*map(str, range(3, 12)), "0", "1", "2")
    with pytest.raises(ValueError, match="cannot be matched"):
        Comparisons.concat([Comparisons([[0, 1, 2]], names=list("abc")), gaps])


@pytest.mark.parametrize("make", [lambda: OnlineKernel(), lambda: OrdinalEmbedding(random_state=0)])
def test_a_model_that_grows_takes_numbers_and_names_that_are_numbers(make):
    numbered, named = Comparisons([[0, 1, 2]]), Comparisons([[0, 1, 2]], names=["2", "5", "7"])
    model = make().partial_fit(numbered).partial_fit(named)
    assert (model.names_, model._n_known) == (None, 8)
    model = make().partial_fit(named).partial_fit(numbered)
    assert model.names_ == ("2", "5", "7", "0", "1")
    model = make().partial_fit(numbered)
    with pytest.raises(ValueError, match="have names"):
        model.partial_fit(Comparisons([[0, 1, 2]], names=["a", "b", "c"]))


@pytest.mark.parametrize("kind", ["map", "kernel"])
def test_a_stream_does_not_count_them(here, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    told = here("stream", "--model", kind, "-o", "live.nearer", input="[3, 4, 6]\n[4, 3, 6]\n" * 5)
    assert told.facts["objects"] == "3 (4 more never asked about)"
    assert len(here("neighbors", "live.nearer", 3).stdout.splitlines()) == 3
