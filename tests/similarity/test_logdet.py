"""ITML and LEGO: the projections and steps of their papers, and what these keep."""

import literal_similarity as literal
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer import ITML, LEGO, Comparisons
from nearer.similarity.logdet import PairProblem, Pairs, squared_distance_sample
from nearer.similarity.loops import lego_change


def labelled(n=90, d=4, seed=0):
    """Three classes that differ in two of the columns; the others are noise."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = random.normal(size=(n, d))
    X[:, 2:] *= 4
    X[:, 0] += 3 * (y == 1)
    X[:, 1] += 3 * (y == 2)
    return X, y


def pairs_of(n=12, m=40, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    pairs = np.array([random.choice(n, 2, replace=False) for _ in range(m)], dtype=np.int32)
    return X, pairs, np.where(random.random(m) < 0.5, 1, -1)


@pytest.mark.parametrize("gamma", [0.2, 1.0, 7.0])
def test_itml_is_the_printed_algorithm(gamma):
    X, pairs, signs = pairs_of()
    bounds = (0.5, 4.0)
    with pytest.warns(ConvergenceWarning):
        model = ITML(gamma, bounds=bounds, max_iter=5, tol=0).fit(X, signs, pairs=pairs)
    A, _, _ = literal.itml(X, pairs, signs, gamma, *bounds, passes=5)
    np.testing.assert_allclose(model.mahalanobis_matrix_, A, atol=1e-10)


def test_itml_ends_at_the_optimum():
    """A⁻¹ = A₀⁻¹ + Σ δλzzᵀ with λ ≥ 0, and a pair with λ > 0 lies at its slackened bound."""
    X, pairs, signs = pairs_of()
    gamma, bounds = 0.5, (0.5, 4.0)
    A, multipliers, targets = literal.itml(X, pairs, signs, gamma, *bounds, passes=3000)
    Z = X[pairs[:, 0]] - X[pairs[:, 1]]
    inverse = np.eye(3) + (Z.T * (signs * multipliers)) @ Z
    np.testing.assert_allclose(np.linalg.inv(A), inverse, atol=1e-8)
    assert (multipliers >= 0).all()
    distances = np.einsum("nd,de,ne->n", Z, A, Z)
    np.testing.assert_allclose(distances[multipliers > 1e-9], targets[multipliers > 1e-9], rtol=1e-6)
    assert (signs * (distances - targets) <= 1e-6).all()
    model = ITML(gamma, bounds=bounds, tol=1e-9, max_iter=5000).fit(X, signs, pairs=pairs)
    assert model.converged_
    np.testing.assert_allclose(model.mahalanobis_matrix_, A, atol=1e-5)


def test_itml_takes_labels_comparisons_and_pairs():
    X, y = labelled()
    by_labels = ITML(random_state=0).fit(X, y)
    weights = np.diag(by_labels.mahalanobis_matrix_)
    assert weights[:2].min() > 3 * weights[2:].max()  # the telling columns count
    rows = np.array([[0, 3, 1], [4, 1, 2], [7, 10, 0]])
    by_rows = ITML(random_state=0).fit(X, comparisons=rows)
    pairs = np.array([[0, 3], [0, 1], [4, 1], [4, 2], [7, 10], [7, 0]])
    by_pairs = ITML(random_state=0, bounds=by_rows.bounds_).fit(X, [1, -1] * 3, pairs=pairs)
    np.testing.assert_allclose(by_pairs.mahalanobis_matrix_, by_rows.mahalanobis_matrix_, atol=1e-10)


def test_itml_priors():
    X, y = labelled()
    near = ITML(gamma=1e-6, prior="covariance", random_state=0).fit(X, y)
    np.testing.assert_allclose(near.mahalanobis_matrix_, np.linalg.inv(np.cov(X.T)), rtol=0.05, atol=0.01)
    own = np.diag([1.0, 2.0, 3.0, 4.0])
    near = ITML(gamma=1e-6, prior=own, random_state=0).fit(X, y)
    np.testing.assert_allclose(near.mahalanobis_matrix_, own, atol=0.01)
    with pytest.raises(ValueError, match="prior must be 'identity', 'covariance' or a matrix; got 'none'"):
        ITML(prior="none").fit(X, y)
    with pytest.raises(ValueError, match="the smallest eigenvalue of this one is -1"):
        ITML(prior=np.diag([1.0, 1.0, 1.0, -1.0])).fit(X, y)
    with pytest.raises(ValueError, match=r"a matrix of shape \(4, 4\); got shape \(2, 2\)"):
        ITML(prior=np.eye(2)).fit(X, y)
    with pytest.raises(ValueError, match="symmetric matrix of finite numbers"):
        ITML(prior=np.triu(np.ones((4, 4)))).fit(X, y)


def test_a_covariance_prior_does_not_depend_on_units():
    X, y = labelled()
    plain = ITML(prior="covariance", random_state=0).fit(X, y)
    units = np.array([1.0, 1e-9, 1.0, 1e9])
    scaled = ITML(prior="covariance", random_state=0).fit(X * units, y)
    np.testing.assert_allclose(scaled.distance(X * units, X * units), plain.distance(X, X), rtol=1e-6)


@pytest.mark.parametrize("bounds", [3, (1.0,), (9.0, 1.0), (0.0, 1.0), "ab"])
def test_bounds_are_checked(bounds):
    with pytest.raises(ValueError, match="bounds must be None or two numbers > 0, the smaller first"):
        ITML(bounds=bounds).fit(*labelled())


def test_bounds_may_be_whole_numbers():
    X, y = labelled()
    a, b = (ITML(bounds=bounds, random_state=0).fit(X, y) for bounds in ((1, 9), (1.0, 9.0)))
    np.testing.assert_array_equal(a.components_, b.components_)


def test_constraints_of_many_classes_are_bounded():
    X = np.random.default_rng(0).normal(size=(600, 2))
    model = LEGO(random_state=0).fit(X, np.arange(600) % 300)
    assert model.n_pairs_ == 400_000  # twenty times 300² would be 1.8 million of each kind


def test_called_again_lego_draws_other_pairs():
    X, y = labelled()
    once = LEGO(random_state=0, n_constraints=5).partial_fit(X, y)
    again = LEGO(random_state=0, n_constraints=5).partial_fit(X, y).partial_fit(X, y)
    twice = LEGO(random_state=0, n_constraints=5, max_iter=2).fit(X, y)
    assert once.n_pairs_ == 10
    assert again.n_pairs_ == 20
    assert not np.allclose(again.components_, twice.components_)


def test_itml_says_what_is_wrong_with_pairs():
    X, _ = labelled()
    with pytest.raises(ValueError, match="y must be 1 or -1 for each of the 2 pairs"):
        ITML().fit(X, [1, 2], pairs=[[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"pair 1 is \[1, 90\], but X has 90 rows"):
        ITML().fit(X, [1, -1], pairs=[[0, 1], [1, 90]])
    with pytest.raises(ValueError, match="two per row"):
        ITML().fit(X, [1, -1], pairs=[[0, 1, 2], [1, 2, 3]])
    with pytest.raises(ValueError, match="got comparisons and pairs"):
        ITML().fit(X, pairs=[[0, 1]], comparisons=[[0, 1, 2]])
    with pytest.raises(ValueError, match="equal weight"):
        ITML().fit(X, comparisons=Comparisons([[0, 1, 2], [1, 2, 3]], weights=[1.0, 2.0]))


def test_a_step_of_lego_is_the_minimum_that_it_claims():
    random = np.random.default_rng(0)
    A = np.diag([1.0, 2.0, 0.5])
    for rate in (0.01, 0.125, 3.0):
        for wanted in (0.1, 5.0):
            z = random.normal(size=3)
            new, reached = literal.lego_step(A, z, wanted, rate)
            assert z @ new @ z == pytest.approx(reached)
            # The gradient of D(A', A) + ½η(zᵀA'z - y)²: A⁻¹ - A'⁻¹ + η(ŷ' - y)zzᵀ = 0.
            gradient = np.linalg.inv(A) - np.linalg.inv(new) + rate * (reached - wanted) * np.outer(z, z)
            np.testing.assert_allclose(gradient, 0, atol=1e-9)


def test_lego_is_the_printed_algorithm():
    X, pairs, signs = pairs_of(m=60)
    close, far, rate = 0.5, 2.0, 0.3
    A = np.eye(3)
    learned = 0
    for (i, j), sign in zip(pairs, signs, strict=True):
        z, wanted = X[i] - X[j], close if sign > 0 else far
        if sign * (z @ A @ z - wanted) > 0:
            A, _ = literal.lego_step(A, z, wanted, rate)
            learned += 1
    fast = np.eye(3)
    problem = PairProblem(X, Pairs(pairs, signs.astype(float)), (close, far), lego_change, rate)
    count = problem.run_pass(fast)
    np.testing.assert_allclose(fast, A, atol=1e-12)
    assert count == learned
    assert 0 < learned < 60


def test_lego_learns_and_learns_on():
    X, y = labelled()
    model = LEGO(random_state=0).fit(X, y)
    weights = np.diag(model.mahalanobis_matrix_)
    assert weights[:2].min() > 3 * weights[2:].max()
    rows = np.array([[0, 3, 1], [4, 1, 2], [7, 10, 0]])
    whole = LEGO(random_state=0).fit(X, comparisons=rows)
    parts = LEGO(random_state=0).partial_fit(X, comparisons=rows[:1]).partial_fit(X, comparisons=rows[1:])
    np.testing.assert_allclose(parts.mahalanobis_matrix_, whole.mahalanobis_matrix_, atol=1e-12)
    assert parts.n_updates_ == whole.n_updates_


@pytest.mark.parametrize("model", [LEGO(random_state=0), ITML(random_state=0)])
def test_units_do_not_matter(model):
    X, y = labelled()
    numbers = model.fit(X, y).neighbors(None, X, 5)[1]
    again = model.fit(1000 * X, y).neighbors(None, 1000 * X, 5)[1]
    assert (numbers == again).mean() > 0.99


def test_all_rows_alike_are_refused():
    with pytest.raises(ValueError, match="all rows of X are the same"):
        squared_distance_sample(np.ones((5, 2)), 0)
    with pytest.raises(ValueError, match="all rows of X are the same"):
        LEGO().fit(np.ones((4, 2)), [0, 0, 1, 1])


def test_priors_with_an_eigenvalue_of_zero_are_refused_whatever_the_round_off():
    X, y = labelled()
    random = np.random.default_rng(0)
    for _ in range(20):
        axes = np.linalg.qr(random.normal(size=(4, 4)))[0]
        prior = (axes * [0.0, *random.uniform(0.1, 100.0, 3)]) @ axes.T
        with pytest.raises(ValueError, match="a prior is positive definite; the smallest eigenvalue"):
            ITML(prior=0.5 * (prior + prior.T)).fit(X, y)
    axes = np.linalg.qr(random.normal(size=(4, 4)))[0]
    ITML(prior=(axes * [1e-8, 1.0, 2.0, 3.0]) @ axes.T, random_state=0, max_iter=20).fit(X, y)


def test_the_covariance_of_a_prior_is_that_of_the_rows_in_pairs():
    X, _ = labelled()
    pairs = np.array([[0, 3], [1, 4], [2, 5], [6, 8], [7, 9], [10, 11]])
    signs = [1, -1, 1, -1, 1, -1]
    part = ITML(prior="covariance", random_state=0, bounds=(1.0, 4.0)).fit(X[:12], signs, pairs=pairs)
    whole = ITML(prior="covariance", random_state=0, bounds=(1.0, 4.0)).fit(X, signs, pairs=pairs)
    np.testing.assert_allclose(whole.mahalanobis_matrix_, part.mahalanobis_matrix_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("model", [ITML(random_state=0), LEGO(random_state=0)], ids=["ITML", "LEGO"])
def test_quadruplets_are_a_similar_and_a_dissimilar_pair(model):
    X, _ = labelled()
    triplets = np.array([[0, 3, 1], [4, 1, 2], [7, 10, 0]])
    by_triplets = clone(model).fit(X, comparisons=triplets)
    by_quadruplets = clone(model).fit(X, comparisons=triplets[:, [0, 1, 0, 2]])
    np.testing.assert_array_equal(by_quadruplets.components_, by_triplets.components_)
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(30), (60, 1)), axis=1)[:, :4]
    i, j, k, far = rows.T
    distances = by_triplets.distance(X, X)
    wanted = np.where(distances[i, j] < distances[k, far], 1, -1)
    np.testing.assert_array_equal(by_triplets.predict_comparisons(X, rows), wanted)
    assert by_triplets.score(X, comparisons=rows) == np.mean(wanted == 1)
