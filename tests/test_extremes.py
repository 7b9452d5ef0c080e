"""Input at the limits of numbers, or from which nothing can be learned: it works, or an error or a warning says why."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris

from nearer import (
    ITML,
    LEGO,
    LMNN,
    RCA,
    BilinearSimilarity,
    ComparisonKernel,
    Comparisons,
    FeatureMap,
    LowRankSimilarity,
    OnlineKernel,
    OrdinalEmbedding,
)
from nearer.metrics import triplet_error
from nearer.similarity import OASIS
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(15, 2))
ANSWERS = comparisons_from_points(POINTS, 400, random_state=0)
X, Y = load_iris(return_X_y=True)


def weighted(weight):
    return Comparisons(ANSWERS.rows, n_objects=15, weights=np.full(len(ANSWERS), weight))


@pytest.fixture(
    scope="module",
    params=[OrdinalEmbedding(random_state=0), ComparisonKernel(random_state=0)],
    ids=["map", "kernel"],
)
def unweighted(request):
    return request.param.fit(ANSWERS)


@pytest.mark.filterwarnings("error:overflow", "error:invalid value")
@pytest.mark.parametrize("weight", [1e-308, 1e154, 1e200, 1e308])
def test_equal_weights_of_any_size_change_nothing(unweighted, weight):
    model = clone(unweighted).fit(weighted(weight))
    assert model.score(weighted(weight)) == pytest.approx(unweighted.score(ANSWERS))
    assert model.regularization_ == pytest.approx(unweighted.regularization_)


def test_a_margin_of_zero_is_refused():
    with pytest.raises(ValueError, match="margin must be a number > 0; got 0"):
        OnlineKernel(margin=0).fit(ANSWERS)


@pytest.mark.parametrize("form", [np.array, csr_array])
@pytest.mark.parametrize(
    "learner", [BilinearSimilarity(), BilinearSimilarity(OASIS()), LowRankSimilarity(2)], ids=str
)
def test_rows_that_are_all_the_same_are_refused(learner, form):
    table = form(np.tile([1.0, 2.0, 3.0], (30, 1)))
    with pytest.raises(ValueError, match="all rows of X are the same"):
        learner.fit(table, np.repeat([0, 1, 2], 10))
    with pytest.raises(ValueError, match="all rows of X are the same"):
        learner.fit(table, comparisons=[[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize("learner", [LEGO(), ITML(), RCA()], ids=str)
def test_metrics_refuse_rows_that_are_all_the_same(learner):
    with pytest.raises(ValueError, match="all rows of X are the same"):
        learner.fit(np.ones((30, 3)), np.repeat([0, 1, 2], 10))


def test_a_row_that_exceeds_all_others_is_named():
    table = X.copy()
    table[7] *= 1e8
    with pytest.warns(UserWarning, match="row 7 of X is .* times as long as most rows"):
        model = LowRankSimilarity(2, n_steps=500, random_state=0).fit(table, Y)
    assert np.isfinite(model.components_).all()


def test_rca_says_that_a_single_class_teaches_nothing():
    with pytest.warns(UserWarning, match="y has a single class: nothing is learned from it"):
        RCA().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_features_that_cannot_be_squared_are_refused(size):
    with pytest.raises(ValueError, match=r"the largest feature is .*: products of two features"):
        FeatureMap().fit(size * X, X[:, :2])


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("learner", [LEGO(), ITML(), LMNN()], ids=str)
def test_metrics_refuse_features_that_cannot_be_squared(learner, size):
    with pytest.raises(ValueError, match=r"the largest feature is .*: products of four features"):
        learner.fit(size * X, Y)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_rca_takes_features_of_any_size(size):
    plain, scaled = (RCA(random_state=0).fit(table, Y) for table in (X, size * X))
    assert scaled.shrinkage_ == plain.shrinkage_
    np.testing.assert_allclose(scaled.distance(size * X[:9], size * X), plain.distance(X[:9], X), atol=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_points_that_are_not_finite_have_no_error(wrong):
    points = POINTS.copy()
    points[3] = wrong
    with pytest.raises(ValueError, match="points must be finite; row 3"):
        triplet_error(points, ANSWERS)


def test_weights_whose_sum_overflows_are_refused():
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="the sum of the weights overflows"):
        triplet_error(POINTS, weighted(1e308))
