"""Quadruplets (i, j, l, k) of features, i and j are more similar than l and k: learned from and judged by."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from nearer import ITML, LEGO, RCA, BilinearSimilarity, Comparisons, LowRankSimilarity, SoftmaxSimilarity
from nearer.similarity.prior import Refinement
from nearer.similarity.triplets import Quadruplets


@pytest.fixture(scope="module")
def data():
    """Features, of which the last two say nothing, classes, and quadruplets of pairs within and across classes."""
    random = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = np.hstack([2.0 * np.eye(3)[y] + 0.5 * random.normal(size=(90, 3)), 3.0 * random.normal(size=(90, 2))])
    pairs = random.integers(90, size=(3000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    rows = np.hstack([pairs[same][:600], pairs[~same][:600]])
    return (
        X,
        y,
        Comparisons(rows, n_objects=90),
        Comparisons(np.hstack([pairs[same][600:800], pairs[~same][600:800]])),
    )


def literal_score(similarity, rows):
    """The share of quadruplets that a function of two rows satisfies."""
    return np.mean([similarity(i, j) > similarity(m, n) for i, j, m, n in rows])


def test_scores_and_sums_are_the_literal_ones(data):
    X, _, quadruplets, _ = data
    random = np.random.default_rng(1)
    problem, M = Quadruplets(X, quadruplets.rows), random.normal(size=(5, 5))
    expected = [X[i] @ M @ X[j] - X[m] @ M @ X[n] for i, j, m, n in quadruplets.rows]
    np.testing.assert_allclose(problem.scores(M), expected, atol=1e-10)
    coefficients = random.normal(size=len(expected))
    total = sum(
        c * (np.outer(X[i], X[j]) - np.outer(X[m], X[n]))
        for c, (i, j, m, n) in zip(coefficients, quadruplets.rows, strict=True)
    )
    np.testing.assert_allclose(problem.matrix(coefficients), total, atol=1e-8)


def test_the_gradient_is_that_of_the_objective(data):
    X, _, quadruplets, _ = data
    problem = Refinement(X / np.linalg.norm(X, axis=1, keepdims=True), quadruplets)

    def symmetric(vector):
        matrix = vector.reshape(5, 5)
        return 0.5 * (matrix + matrix.T)

    error = check_grad(
        lambda v: problem.value_and_gradient(symmetric(v), 0.1)[0],
        lambda v: problem.value_and_gradient(symmetric(v), 0.1)[1].ravel(),
        np.random.default_rng(0).normal(size=25),
    )
    assert error < 1e-5


def test_a_triplet_is_a_quadruplet_with_an_object_in_both_pairs(data):
    X, _, quadruplets, _ = data
    rows = quadruplets.rows[:, [0, 1, 3]]
    rows = rows[(rows[:, 0] != rows[:, 2]) & (rows[:, 1] != rows[:, 2])]
    settings = {"shrinkage": 0.3, "regularization": 0.01, "random_state": 0}
    three = BilinearSimilarity(**settings).fit(X, comparisons=rows)
    four = BilinearSimilarity(**settings).fit(X, comparisons=rows[:, [0, 1, 0, 2]])
    np.testing.assert_allclose(four.matrix_, three.matrix_, atol=1e-8)


@pytest.mark.parametrize("model", [BilinearSimilarity(random_state=0), LEGO(random_state=0), ITML(random_state=0)])
def test_learning_from_quadruplets_helps(data, model):
    X, _, quadruplets, unseen = data
    model.fit(X, comparisons=quadruplets)
    plain = literal_score(lambda a, b: -np.linalg.norm(X[a] - X[b]), unseen.rows)
    assert model.score(X, comparisons=unseen) > plain + 0.1


@pytest.mark.parametrize("model", [RCA(), SoftmaxSimilarity(random_state=0)])
def test_every_model_is_judged_by_quadruplets(data, model):
    X, y, _, unseen = data
    model.fit(X, y)
    sign = -1.0 if isinstance(model, RCA) else 1.0
    table = sign * (model.distance(X, X) if isinstance(model, RCA) else model.similarity(X, X))
    assert model.score(X, comparisons=unseen) == literal_score(lambda a, b: table[a, b], unseen.rows)
    satisfied = [table[i, j] > table[m, n] for i, j, m, n in unseen.rows]
    assert (model.predict_comparisons(X, unseen) == np.where(satisfied, 1, -1)).all()


@pytest.mark.parametrize(
    "model", [BilinearSimilarity("sdca"), BilinearSimilarity("oasis"), LowRankSimilarity(2)], ids=str
)
def test_others_refuse_quadruplets(data, model):
    X, _, quadruplets, _ = data
    with pytest.raises(
        ValueError, match=r"takes triplets \(a, b, c\); these are quadruplets, from which Bilinear"
    ):
        model.fit(X, comparisons=quadruplets)
