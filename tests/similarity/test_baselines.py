"""Baselines of similarities: equal to a literal version, and honest about what was held out."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import average_precision_score

from nearer import RCA, BilinearSimilarity
from nearer.similarity import baseline_scores, compare

X, y = load_wine(return_X_y=True)


def literal_score(points, labels, similarity):
    """Mean over the rows of scikit-learn's average precision of all other rows."""
    scores = []
    for row in range(len(points)):
        others = np.arange(len(points)) != row
        values = np.array([similarity(points[row], other) for other in points[others]])
        scores.append(average_precision_score(labels[others] == labels[row], values))
    return np.mean(scores)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_baselines_are_those_of_a_literal_version():
    scores = baseline_scores(X[::2], y[::2], X[1::2], y[1::2])
    points = LinearDiscriminantAnalysis().fit(X[::2], y[::2]).transform(X[1::2])
    np.testing.assert_allclose(
        scores["Euclidean"], literal_score(X[1::2], y[1::2], lambda a, b: -np.linalg.norm(a - b))
    )
    np.testing.assert_allclose(scores["cosine"], literal_score(X[1::2], y[1::2], cosine))
    np.testing.assert_allclose(scores["LDA"], literal_score(points, y[1::2], cosine))


def test_sparse_features_have_the_same_cosine():
    dense, thin = (baseline_scores(f(X[::2]), y[::2], f(X[1::2]), y[1::2]) for f in (np.asarray, csr_array))
    np.testing.assert_allclose(dense["cosine"], thin["cosine"])
    assert 0.0 < thin["LDA"] <= 1.0


def test_models_are_ranked_beside_the_baselines_and_stay_as_they_are():
    model = BilinearSimilarity(shrinkage=0.1, regularization=0.01, random_state=0)
    rows = compare({"mine": model, "RCA": RCA(random_state=0)}, X, y, random_state=0)
    assert {row["name"] for row in rows} == {"mine", "RCA", "Euclidean", "cosine", "LDA"}
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert all(row["standard_error"] >= 0.0 for row in rows)
    assert not hasattr(model, "matrix_")
    again = compare({"mine": model, "RCA": RCA(random_state=0)}, X, y, random_state=0)
    assert [row["score"] for row in rows] == [row["score"] for row in again]


def test_classes_can_be_held_out():
    features, labels = load_iris(return_X_y=True)

    class Spy(RCA):
        seen: ClassVar = []

        def fit(self, X, y):
            self.seen.append(set(y))
            return super().fit(X, y)

        def score(self, X, y, sample_weight):
            assert not set(y[sample_weight > 0]) & self.seen[-1], (
                "only classes that were not learned from are judged"
            )
            return super().score(X, y, sample_weight=sample_weight)

    compare([Spy()], features, labels, validation="classes", random_state=0)
    assert all(len(classes) == 2 for classes in Spy.seen)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"validation": "rows"}, "validation must be 'auto', 'objects' or 'classes'; got 'rows'"),
        ({"models": [RCA(), RCA(2)]}, "two models are of one kind"),
        ({"X": X[:3], "y": [0, 1, 2]}, "3 objects of 3 classes are too few"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    arguments = {"models": [RCA()], "X": X, "y": y, **arguments}
    with pytest.raises(ValueError, match=message):
        compare(**arguments)
