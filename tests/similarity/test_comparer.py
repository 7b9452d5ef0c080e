"""What all similarities and distances of features share: score, cross-validation, metadata routing, set_output."""

import signal
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_logdet import labelled

from extras import needs
from nearer import ITML, LEGO, LMNN, RCA, BilinearSimilarity, Comparisons, LowRankSimilarity
from nearer.metrics import retrieval_map_scorer
from nearer.similarity import ComparisonEstimator, Euclidean
from nearer.simulate import comparisons_from_labels

FAST = {"n_triplets": 500, "regularization": 0.01, "random_state": 0}
FROM_COMPARISONS = [
    BilinearSimilarity(**FAST),
    BilinearSimilarity("sdca", **FAST),
    BilinearSimilarity("oasis", random_state=0),
    LowRankSimilarity(rank=2, n_steps=500, random_state=0),
    ITML(random_state=0),
    LEGO(random_state=0),
    Euclidean(),
]
ALL = [*FROM_COMPARISONS, LMNN(), RCA(random_state=0)]


def name_of(model):
    return type(model).__name__


@pytest.fixture(scope="module")
def data():
    X, y = labelled(n=150)
    return X / np.abs(X).max(axis=0), y


@pytest.fixture(scope="module")
def answers(data):
    rows = comparisons_from_labels(data[1], 600, 3).rows
    return Comparisons(rows, n_objects=150, answers=np.repeat(np.arange(200), 3), subjects=np.arange(600) // 30)


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_score_is_mean_average_precision_or_the_share_satisfied(data, answers, model):
    X, y = data
    model = clone(model).fit(X, y)
    assert model.score(X, y) == retrieval_map_scorer(model, X, y)
    assert model.score(X, comparisons=answers) == model.score_comparisons(X, answers)
    assert model.score(X, y, comparisons=answers) == model.score_comparisons(X, answers)
    weights = np.arange(600) % 2
    weighted = Comparisons(answers.rows, weights=weights)
    assert model.score(X, comparisons=answers.rows, sample_weight=weights) == model.score(X, comparisons=weighted)
    ones = (np.arange(150) == 7).astype(float)
    alone = np.delete(model.distance(X, X) if hasattr(model, "distance") else -model.similarity(X, X), 7, axis=1)
    precision = average_precision_score(np.delete(y, 7) == y[7], -alone[7])
    assert model.score(X, y, sample_weight=ones) == pytest.approx(precision)
    with pytest.raises(ValueError, match="score needs labels y, or comparisons"):
        model.score(X)


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_cross_validation_needs_no_scorer(data, model):
    X, y = data
    by_scorer = cross_val_score(model, X, y, cv=2, scoring=retrieval_map_scorer)
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=2), by_scorer)


@pytest.mark.parametrize("model", FROM_COMPARISONS, ids=name_of)
def test_comparisons_win_over_labels(data, answers, model):
    X, y = data
    both = clone(model).fit(X, y, comparisons=answers)
    np.testing.assert_array_equal(both._basis, clone(model).fit(X, comparisons=answers)._basis)


def test_cross_validation_slices_comparisons(data, answers):
    X, _ = data
    model = ComparisonEstimator(BilinearSimilarity("sdca", regularization=0.01, random_state=0), X)
    scores = cross_val_score(model, answers, cv=KFold(4), error_score="raise")
    expected = []
    for train, test in KFold(4).split(answers):
        fitted = BilinearSimilarity("sdca", regularization=0.01, random_state=0).fit(X, comparisons=answers[train])
        expected.append(fitted.score_comparisons(X, answers[test]))
    np.testing.assert_array_equal(scores, expected)
    assert scores.mean() > 0.7
    by_person = cross_val_score(model, answers, groups=answers.subjects, cv=GroupKFold(4), error_score="raise")
    assert np.isfinite(by_person).all()


def test_every_fold_has_whole_answers(data, answers):
    X, _ = data
    seen = []

    class Watching(Euclidean):
        def fit(self, X, y=None, *, comparisons=None):
            seen.append(comparisons)
            return super().fit(X)

        def score(self, X, y=None, *, comparisons=None):
            seen.append(comparisons)
            return super().score(X, comparisons=comparisons)

    cross_val_score(ComparisonEstimator(Watching(), X), answers, cv=KFold(7), error_score="raise")
    for train, test in zip(seen[::2], seen[1::2], strict=True):
        assert len(train) + len(test) == 600
        assert all((np.bincount(part.answers) == 3).all() for part in (train, test))


def test_a_grid_search_over_comparisons(data, answers):
    X, _ = data
    model = ComparisonEstimator(BilinearSimilarity("sdca", random_state=0), X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(model, {"estimator__regularization": [1e-6, 1.0]}, cv=3).fit(answers)
        for ridge, score in zip([1e-6, 1.0], search.cv_results_["mean_test_score"], strict=True):
            model.set_params(estimator__regularization=ridge)
            assert cross_val_score(model, answers, cv=3).mean() == pytest.approx(score)
    assert search.best_estimator_.X is X
    assert search.score(answers) == search.best_estimator_.estimator_.score_comparisons(X, answers)
    np.testing.assert_array_equal(
        search.predict(answers), search.best_estimator_.estimator_.predict_comparisons(X, answers)
    )


def test_questions_with_answers_are_taken(data, answers):
    X, _ = data
    rows, said = answers.rows.copy(), np.ones(600, dtype=int)
    rows[::2], said[::2] = rows[::2][:, [0, 2, 1]], -1
    model = ComparisonEstimator(LEGO(random_state=0), X)
    told = clone(model).fit(rows, said)
    np.testing.assert_array_equal(told.estimator_.components_, model.fit(answers).estimator_.components_)
    assert told.score(rows, said) == model.score(answers)
    with pytest.raises(NotFittedError):
        clone(model).predict(answers)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", FROM_COMPARISONS, ids=name_of)
def test_a_pipeline_routes_comparisons(data, answers, model):
    X, _ = data
    last = clone(model).set_fit_request(comparisons=True).set_score_request(comparisons=True)
    pipeline = make_pipeline(StandardScaler(), last).fit(X, comparisons=answers)
    scaled = StandardScaler().fit_transform(X)
    alone = clone(model).fit(scaled, comparisons=answers)
    np.testing.assert_array_equal(pipeline[-1]._basis, alone._basis)
    assert pipeline.score(X, comparisons=answers) == alone.score(scaled, comparisons=answers)
    # scikit-learn 1.6 wants params under routing, if only empty ones.
    held_out = cross_val_score(ComparisonEstimator(pipeline, X), answers, cv=3, error_score="raise", params={})
    assert held_out.min() > 0.5


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", [ITML(random_state=0), LEGO(random_state=0)], ids=name_of)
def test_a_distance_from_comparisons_goes_before_a_classifier(data, answers, model):
    X, y = data
    pipeline = make_pipeline(clone(model).set_fit_request(comparisons=True), KNeighborsClassifier(3))
    pipeline.fit(X, y, comparisons=answers)
    alone = clone(model).fit(X, comparisons=answers)
    np.testing.assert_array_equal(pipeline[0].components_, alone.components_)
    assert pipeline.score(X, y) == KNeighborsClassifier(3).fit(alone.transform(X), y).score(alone.transform(X), y)


@pytest.mark.parametrize("model", [ALL[0], *ALL[3:], BilinearSimilarity("sdca", psd=True, **FAST)], ids=name_of)
def test_points_come_in_the_container_asked_for(data, model):
    needs("pandas")
    X, y = data
    model = clone(model).set_output(transform="pandas")
    made = model.fit_transform(X, y)
    assert made.columns.tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(model.transform(X).to_numpy(), made.to_numpy())
    model.set_output(transform="default")
    np.testing.assert_array_equal(model.transform(X), made.to_numpy())


def test_methods_that_make_no_sense_are_not_there(data):
    distance, similarity = Euclidean().fit(data[0]), BilinearSimilarity("sdca", **FAST).fit(*data)
    of_distances = ("distance", "pair_distance", "get_metric", "get_mahalanobis_matrix", "mahalanobis_matrix_")
    of_projections = ("transform", "fit_transform", "set_output", "get_feature_names_out")
    for name in of_distances:
        assert hasattr(distance, name)
        assert not hasattr(similarity, name)
    for name in of_projections:
        assert hasattr(distance, name)
        assert not hasattr(similarity, name)
    assert not hasattr(distance, "similarity")
    with pytest.raises(AttributeError, match="has no attribute 'distance'") as told:
        _ = similarity.distance
    assert "this model is a similarity" in str(told.value.__cause__)


LONG = [
    BilinearSimilarity("sdca", n_triplets=500, regularization=1e-6, tol=0.0, random_state=0),
    ITML(max_iter=10**6, tol=0.0, random_state=0),
    LEGO(max_iter=10**6, random_state=0),
    LMNN(max_iter=10**6, tol=0.0),
    LMNN(n_components=2, max_iter=10**6, tol=0.0),
]


@pytest.mark.parametrize("model", LONG, ids=name_of)
def test_fits_that_iterate_are_watched_alike(data, model, capsys):
    X, y = data
    seen = []

    def press(record):
        seen.append(record)
        if len(seen) == 3:
            signal.raise_signal(signal.SIGINT)

    stopped = clone(model).set_params(callback=press, verbose=True).fit(X, y)
    assert capsys.readouterr().err
    assert stopped.stop_reason_ == "interrupted"
    assert not stopped.converged_
    assert len(stopped.history_) in (3, 4)
    assert stopped.history_[-1]["iteration"] == stopped.n_iter_
    assert stopped.score(X, y) > 0.4
    assert clone(model).set_params(max_seconds=1e-6).fit(X, y).stop_reason_ == "time"
    told = clone(model).set_params(callback=lambda record: record["iteration"] == 1).fit(X, y)
    assert told.stop_reason_ == "callback"
    assert told.n_iter_ == 1
