"""RCA against the formulas of the paper, its chunks, what is singular, and the Euclidean baseline."""

import warnings

import numpy as np
import pytest
from scipy.linalg import eig, inv
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearer.similarity.euclidean import Euclidean
from nearer.similarity.rca import RCA, covariance_within, draw_chunks


def literal_covariance(X, chunks):
    """The sum over chunks and members of (x - mean)(x - mean)ᵀ, over the number of members."""
    total, count = np.zeros((X.shape[1], X.shape[1])), 0
    for chunk in set(chunks) - {-1}:
        members = X[chunks == chunk]
        for x in members:
            total += np.outer(x - members.mean(axis=0), x - members.mean(axis=0))
        count += len(members)
    return total / count


def some_chunks(n=80, d=5, seed=0):
    random = np.random.default_rng(seed)
    chunks = random.integers(-1, 8, n)
    X = random.normal(size=(n, d)) @ random.normal(size=(d, d)) + 3 * random.normal(size=(9, d))[chunks]
    return X, chunks


def test_the_matrix_is_the_inverse_of_the_literal_covariance():
    X, chunks = some_chunks()
    wanted = literal_covariance(X, chunks)
    np.testing.assert_allclose(covariance_within(X, chunks), wanted, atol=1e-12)
    model = RCA().fit(X, chunks=chunks)
    assert model.components_.shape == (5, 5)
    np.testing.assert_allclose(model.mahalanobis_matrix_, inv(wanted), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_within_chunks_the_covariance_becomes_the_identity(n_components):
    X, chunks = some_chunks()
    points = RCA(n_components).fit(X, chunks=chunks).transform(X)
    np.testing.assert_allclose(covariance_within(points, chunks), np.eye(n_components or 5), atol=1e-10)


def test_few_components_are_fishers():
    X, chunks = some_chunks()
    within, total = literal_covariance(X, chunks), np.cov(X[chunks >= 0].T, bias=True)
    ratios, vectors = eig(total, within)
    A = vectors[:, np.argsort(-ratios.real)[:2]].real
    wanted = A @ inv(A.T @ within @ A) @ A.T
    np.testing.assert_allclose(RCA(2).fit(X, chunks=chunks).mahalanobis_matrix_, wanted, rtol=1e-8, atol=1e-10)


def test_labels_make_a_chunk_of_every_class():
    X, _ = some_chunks()
    names = np.array(["a", "b", "c", "d"])[np.arange(80) % 4]
    by_labels, by_chunks = RCA().fit(X, names), RCA().fit(X, chunks=np.arange(80) % 4)
    np.testing.assert_array_equal(by_labels.components_, by_chunks.components_)


def test_drawn_chunks_are_of_one_class_each():
    labels = np.random.default_rng(0).integers(0, 4, 100)
    chunks = draw_chunks(labels, 20, 3, np.random.default_rng(1))
    assert set(chunks) == set(range(-1, 20))
    for chunk in range(20):
        assert (chunks == chunk).sum() == 3
        assert len(set(labels[chunks == chunk])) == 1
    X = np.random.default_rng(2).normal(size=(100, 3))
    same, again, other = (RCA(n_chunks=20, random_state=seed).fit(X, labels).components_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(same, again)
    assert not np.array_equal(same, other)
    with pytest.raises(ValueError, match=r"make at most \d+ chunks of 3 members; n_chunks=90"):
        RCA(n_chunks=90, chunk_size=3).fit(X, labels)


@pytest.mark.parametrize("n_components", [None, 2])
def test_a_constant_column_gets_no_weight(n_components):
    X, chunks = some_chunks()
    flat = np.insert(X, 2, 0.1, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCA(n_components).fit(flat, chunks=chunks)
    assert not model.components_[:, 2].any()
    assert model.components_.shape == (n_components or 6, 6)
    plain = RCA(n_components).fit(X, chunks=chunks)
    np.testing.assert_allclose(model.distance(flat, flat), plain.distance(X, X), rtol=1e-8, atol=1e-10)


def test_a_column_that_depends_on_others_changes_nothing():
    X, chunks = some_chunks()
    more = np.column_stack([X, X @ np.arange(1.0, 6.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCA().fit(more, chunks=chunks)
    np.testing.assert_allclose(model.distance(more, more), RCA().fit(X, chunks=chunks).distance(X, X), rtol=1e-6)


@pytest.mark.parametrize("n_components", [None, 2])
def test_a_direction_that_never_varies_within_chunks_is_shrunk_with_a_warning(n_components):
    X, chunks = some_chunks()
    X[:, 1] = chunks
    with pytest.warns(UserWarning, match="do not differ in 1 of 5 directions"):
        model = RCA(n_components).fit(X, chunks=chunks)
    assert np.isfinite(model.components_).all()
    apart = model.distance(X, X)
    assert apart[chunks[:, None] != chunks].min() > apart[(chunks[:, None] == chunks) & (chunks >= 0)].mean()


def test_units_of_columns_make_no_difference():
    X, chunks = some_chunks()
    units = 10.0 ** np.array([-9, 0, 6, -3, 3])
    plain, scaled = RCA().fit(X, chunks=chunks), RCA().fit(X * units, chunks=chunks)
    np.testing.assert_allclose(scaled.distance(X * units, X * units), plain.distance(X, X), rtol=1e-8, atol=1e-9)


def test_what_cannot_be():
    X, chunks = some_chunks()
    with pytest.raises(ValueError, match="pass labels y or chunks"):
        RCA().fit(X)
    both = RCA().fit(X, np.arange(80), chunks=chunks)
    np.testing.assert_array_equal(both.components_, RCA().fit(X, chunks=chunks).components_)
    with pytest.raises(ValueError, match="chunks must be 80 integers"):
        RCA().fit(X, chunks=chunks[:-1])
    with pytest.raises(ValueError, match="chunks must be 80 integers"):
        RCA().fit(X, chunks=chunks + 0.5)
    with pytest.raises(ValueError, match="row 3 has -2"):
        RCA().fit(X, chunks=np.where(np.arange(80) == 3, -2, chunks))
    with pytest.raises(ValueError, match="of 80 chunks none has two members"):
        RCA().fit(X, chunks=np.arange(80))
    with pytest.raises(ValueError, match="n_components must be at most 5"):
        RCA(6).fit(X, chunks=chunks)
    with pytest.raises(ValueError, match="chunk_size must be an integer > 1; got 1"):
        RCA(n_chunks=3, chunk_size=1).fit(X, chunks)
    with pytest.raises(TypeError, match="dense data is required"):
        RCA().fit(csr_array(X), chunks=chunks)


def test_euclidean_is_the_distance_as_it_is():
    X, y = some_chunks()
    model = Euclidean().fit(X, y)
    np.testing.assert_array_equal(model.transform(X), X)
    np.testing.assert_allclose(model.distance(X[:3], X[3:5]), np.linalg.norm(X[:3, None] - X[3:5], axis=2))


@parametrize_with_checks([RCA(), Euclidean()])
def test_sklearn_checks(estimator, check):
    check(estimator)
