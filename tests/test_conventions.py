"""What scikit-learn's users expect of learners of answers: unfitted calls, routing, pipelines, containers."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from extras import needs
from nearer import (
    ITML,
    LEGO,
    BilinearSimilarity,
    ComparisonKernel,
    Comparisons,
    LowRankSimilarity,
    OnlineKernel,
    OrdinalEmbedding,
)
from nearer.similarity import ComparisonEstimator
from nearer.simulate import comparisons_from_labels, comparisons_from_points

LEARNERS = [
    OrdinalEmbedding(2, loss="ste", regularization=0.01, random_state=0),
    ComparisonKernel(regularization=0.1),
    OnlineKernel(),
]


def name_of(model):
    return type(model).__name__


@pytest.mark.parametrize("kind", [type(model) for model in LEARNERS])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "score", "neighbors", "transform"])
def test_a_call_before_fit_says_so(kind, method):
    with pytest.raises(NotFittedError):
        getattr(kind(), method)([0] if method in ("neighbors", "transform") else [[0, 1, 2]])


@pytest.mark.parametrize("model", LEARNERS, ids=name_of)
def test_comparisons_are_no_metadata(model):
    requests = model.get_metadata_routing()
    for method in ("fit", "predict", "predict_proba", "score", "transform"):
        found = set(getattr(requests, method).requests)
        assert found <= {"sample_weight", "groups", "unknown"}, method
    cross_validated = ComparisonEstimator(ITML(), np.eye(3)).get_metadata_routing()
    assert "comparisons" not in {*cross_validated.fit.requests, *cross_validated.predict.requests}
    assert type(model)().fit(X=[[0, 1, 2]]).score(X=[[0, 1, 2]]) == 1.0


GROUPS = np.repeat([0, 1, 2], 4)
ANSWERS = comparisons_from_points(
    4 * np.eye(3)[GROUPS] + np.random.default_rng(0).normal(size=(12, 3)), 400, random_state=0
)


@pytest.mark.parametrize("model", LEARNERS, ids=name_of)
def test_points_of_answers_go_into_a_pipeline(model):
    pipeline = make_pipeline(clone(model), KMeans(3, n_init=10, random_state=0)).fit(ANSWERS)
    clusters = pipeline.predict(ANSWERS)
    assert clusters.shape == (12,)
    assert adjusted_rand_score(GROUPS, clusters) == 1.0
    points = pipeline[0].transform(ANSWERS)
    np.testing.assert_array_equal(points, pipeline[0].transform(np.arange(12)))
    np.testing.assert_allclose(points, clone(model).fit_transform(ANSWERS), atol=1e-12)
    distances, neighbors = pipeline[0].neighbors([5], k=3)
    np.testing.assert_allclose(np.linalg.norm(points[5] - points[neighbors[0]], axis=1), distances[0], atol=1e-6)


@pytest.mark.parametrize("model", LEARNERS, ids=name_of)
def test_output_in_a_frame_has_the_names_of_objects(model):
    needs("pandas")
    import pandas

    names = [f"o{i}" for i in range(12)]
    framed = clone(model).set_output(transform="pandas")
    named = Comparisons(ANSWERS, names=names)
    table = framed.fit_transform(named)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.index) == names
    assert list(table.columns) == list(framed.get_feature_names_out())
    assert table.columns[0] == f"{type(model).__name__.lower()}0"
    assert list(framed.transform(["o3", "o1"]).index) == ["o3", "o1"]
    frame = pandas.DataFrame(ANSWERS.rows[:50], columns=["anchor", "near", "far"])
    assert framed.fit(named).transform(frame).shape[0] == 12


METRICS = [
    LEGO(random_state=0),
    ITML(random_state=0),
    LowRankSimilarity(random_state=0, psd=True),
    BilinearSimilarity(),
]


@pytest.mark.parametrize("metric", METRICS, ids=name_of)
def test_a_metric_from_comparisons_precedes_a_classifier(metric):
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    X = random.normal(size=(45, 3)) + 4 * np.eye(3)[y]
    answers = comparisons_from_labels(y, 200, random_state=0)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(metric.set_fit_request(comparisons=True), KNeighborsClassifier(3))
        pipeline.fit(X, y, comparisons=answers)
    alone = metric.fit(X, comparisons=answers)
    np.testing.assert_array_equal(pipeline[0].transform(X), alone.transform(X))
    assert pipeline.score(X, y) > 0.9
