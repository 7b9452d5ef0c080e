"""`nearer fit --model label-ranker`: several labels per object, ranked by features."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from nearer import LabelRanker, load_model
from nearer.cli.training_data import Tagged
from nearer.formats import read_features
from nearer.ranking import baseline_scores

TAGS = np.array(["car", "cat", "dog", "man", "sea", "sky"])


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A file of 150 photos with any number of tags, some with none; their features and tags."""
    X, Y = make_multilabel_classification(150, n_features=8, n_classes=6, n_labels=2, random_state=0)
    assert (Y.sum(axis=1) == 0).any()
    file = tmp_path_factory.mktemp("photos") / "photos.csv"
    cells = [" ; ".join(TAGS[row == 1][::-1]) for row in Y]
    lines = [",".join(map(str, [*x, tags, "k"])) for x, tags in zip(X, cells, strict=True)]
    file.write_text("\n".join([",".join([*(f"x{i}" for i in range(8)), "tags", "other"]), *lines]) + "\n")
    return file, X, Y


def test_cells_of_several_labels_are_an_indicator_matrix(photos):
    file, X, Y = photos
    data = Tagged.of(read_features(file, labels="tags", ignored=["other"], unlabeled=True))
    assert data.names.tolist() == TAGS.tolist()
    assert (data.indicator.toarray() == Y).all()
    assert (data.table.X == X).all()
    train, test = data.split(0.2, seed=1)
    assert len(test.table) == round(0.2 * Y.any(axis=1).sum())
    assert len(train.table) + len(test.table) == 150
    assert np.diff(test.indicator.indptr).all()


def test_says_whether_learning_helped(here, photos, tmp_path):
    file, X, Y = photos
    model = tmp_path / "m.nearer"
    said = here(
        "fit", file, "--model", "label-ranker", "--labels", "tags", "--ignore", "other", "--seed", 3, "-o", model
    ).facts
    assert (said["objects"], said["features"]) == ("150", "8")
    assert said["labels"] == f"6; {Y.sum() / 150:.1f} per object"
    data = Tagged.of(read_features(file, labels="tags", ignored=["other"], unlabeled=True))
    train, test = data.split(0.1, seed=3)
    trial = LabelRanker(random_state=3).fit(train.table.X, train.indicator)
    wanted = f"mean average precision {trial.score(test.table.X, test.indicator):.3f} of {len(test.table)} objects"
    assert said["held out"] == f"{wanted} that this fit was not shown"
    told = re.fullmatch(r"(.*) by popularity, (.*) by ridge regression", said["baselines"])
    plain = baseline_scores(train.table.X, train.indicator, test.table.X, test.indicator)
    assert told.groups() == tuple(f"{plain[name]:.3f}" for name in ("popularity", "ridge"))
    # The saved model is what the library gives for all objects, and knows features and labels by name.
    learned, same = load_model(model), LabelRanker(random_state=3).fit(X, Y)
    assert said["rank"] == f"{same.label_factors_.shape[1]}, chosen by auto"
    assert learned.classes_.tolist() == TAGS.tolist()
    assert learned.feature_names_in_.tolist() == [f"x{i}" for i in range(8)]
    np.testing.assert_allclose(learned.label_factors_, same.label_factors_)


def test_options_are_those_of_the_ranker(here, refused, photos, tmp_path):
    file, *_ = photos
    base = ["fit", file, "--model", "label-ranker", "--labels", "tags", "--ignore", "other", "-o", tmp_path / "m"]
    here(*base, "--rank", 2, "--steps", 30, "--solver", "pa", "--learning-rate", 0.5, "--held-out", 0)
    learned = load_model(tmp_path / "m")
    assert (learned.rank, learned.n_steps_, learned.solver, learned.learning_rate) == (2, 30, "pa", 0.5)
    assert "--comparisons is for --model" in refused(*base, "--comparisons", "a.csv")
    assert "unknown solver 'gd'" in refused(*base, "--solver", "gd")
    few = tmp_path / "few.csv"
    few.write_text("x,tags\n1,a\n2,b\n3,a;b\n4,a\n")
    done = here("fit", few, "--model", "label-ranker", "--labels", "tags", "-o", tmp_path / "n")
    assert done.facts["held out"] == "none: 4 objects with labels are too few"
    few.write_text("x,tags\n1,a\n2,a\n")
    assert "at least two labels" in refused(
        "fit", few, "--model", "label-ranker", "--labels", "tags", "-o", tmp_path / "n"
    )
