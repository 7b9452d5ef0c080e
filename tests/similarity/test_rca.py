"""RCA against the formulas of the paper, its chunks, its shrinkage, what is singular, and the Euclidean baseline."""

import warnings

import numpy as np
import pytest
from scipy.linalg import eig, inv
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

from nearer import BilinearSimilarity, load_model
from nearer.similarity import baseline_scores
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
    model = RCA(shrinkage=0).fit(X, chunks=chunks)
    assert model.components_.shape == (5, 5)
    np.testing.assert_allclose(model.mahalanobis_matrix_, inv(wanted), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_within_chunks_the_covariance_becomes_the_identity(n_components):
    X, chunks = some_chunks()
    points = RCA(n_components, shrinkage=0).fit(X, chunks=chunks).transform(X)
    np.testing.assert_allclose(covariance_within(points, chunks), np.eye(n_components or 5), atol=1e-10)


def test_few_components_are_fishers():
    X, chunks = some_chunks()
    within, total = literal_covariance(X, chunks), np.cov(X[chunks >= 0].T, bias=True)
    ratios, vectors = eig(total, within)
    A = vectors[:, np.argsort(-ratios.real)[:2]].real
    wanted = A @ inv(A.T @ within @ A) @ A.T
    np.testing.assert_allclose(
        RCA(2, shrinkage=0).fit(X, chunks=chunks).mahalanobis_matrix_, wanted, rtol=1e-8, atol=1e-10
    )


def test_labels_make_a_chunk_of_every_class():
    X, _ = some_chunks()
    names = np.array(["a", "b", "c", "d"])[np.arange(80) % 4]
    by_labels, by_chunks = RCA(shrinkage=0).fit(X, names), RCA(shrinkage=0).fit(X, chunks=np.arange(80) % 4)
    np.testing.assert_array_equal(by_labels.components_, by_chunks.components_)


def test_drawn_chunks_are_of_one_class_each():
    labels = np.random.default_rng(0).integers(0, 4, 100)
    chunks = draw_chunks(labels, 20, 3, np.random.default_rng(1))
    assert set(chunks) == set(range(-1, 20))
    for chunk in range(20):
        assert (chunks == chunk).sum() == 3
        assert len(set(labels[chunks == chunk])) == 1
    X = np.random.default_rng(2).normal(size=(100, 3))
    same, again, other = (
        RCA(n_chunks=20, shrinkage=0, random_state=seed).fit(X, labels).components_ for seed in (0, 0, 1)
    )
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
        model = RCA(n_components, shrinkage=0).fit(flat, chunks=chunks)
    assert not model.components_[:, 2].any()
    assert model.components_.shape == (n_components or 6, 6)
    plain = RCA(n_components, shrinkage=0).fit(X, chunks=chunks)
    np.testing.assert_allclose(model.distance(flat, flat), plain.distance(X, X), rtol=1e-8, atol=1e-10)


def test_a_column_that_depends_on_others_changes_nothing():
    X, chunks = some_chunks()
    more = np.column_stack([X, X @ np.arange(1.0, 6.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCA(shrinkage=0).fit(more, chunks=chunks)
    np.testing.assert_allclose(
        model.distance(more, more), RCA(shrinkage=0).fit(X, chunks=chunks).distance(X, X), rtol=1e-6
    )


@pytest.mark.parametrize("n_components", [None, 2])
def test_a_direction_that_never_varies_within_chunks_is_shrunk_with_a_warning(n_components):
    X, chunks = some_chunks()
    X[:, 1] = chunks
    with pytest.warns(UserWarning, match="do not differ in 1 of 5 directions"):
        model = RCA(n_components, shrinkage=0).fit(X, chunks=chunks)
    assert np.isfinite(model.components_).all()
    apart = model.distance(X, X)
    assert apart[chunks[:, None] != chunks].min() > apart[(chunks[:, None] == chunks) & (chunks >= 0)].mean()


def test_units_of_columns_make_no_difference():
    X, chunks = some_chunks()
    units = 10.0 ** np.array([-9, 0, 6, -3, 3])
    plain, scaled = RCA(shrinkage=0).fit(X, chunks=chunks), RCA(shrinkage=0).fit(X * units, chunks=chunks)
    np.testing.assert_allclose(scaled.distance(X * units, X * units), plain.distance(X, X), rtol=1e-8, atol=1e-9)


def test_what_cannot_be():
    X, chunks = some_chunks()
    with pytest.raises(ValueError, match="pass labels y or chunks"):
        RCA(shrinkage=0).fit(X)
    both = RCA(shrinkage=0).fit(X, np.arange(80), chunks=chunks)
    np.testing.assert_array_equal(both.components_, RCA(shrinkage=0).fit(X, chunks=chunks).components_)
    with pytest.raises(ValueError, match="chunks must be 80 integers"):
        RCA(shrinkage=0).fit(X, chunks=chunks[:-1])
    with pytest.raises(ValueError, match="chunks must be 80 integers"):
        RCA(shrinkage=0).fit(X, chunks=chunks + 0.5)
    with pytest.raises(ValueError, match="row 3 has -2"):
        RCA(shrinkage=0).fit(X, chunks=np.where(np.arange(80) == 3, -2, chunks))
    with pytest.raises(ValueError, match="of 80 chunks none has two members"):
        RCA(shrinkage=0).fit(X, chunks=np.arange(80))
    with pytest.raises(ValueError, match="n_components must be at most 5"):
        RCA(6).fit(X, chunks=chunks)
    with pytest.raises(ValueError, match="chunk_size must be an integer > 1; got 1"):
        RCA(n_chunks=3, chunk_size=1).fit(X, chunks)
    with pytest.raises(TypeError, match="dense data is required"):
        RCA(shrinkage=0).fit(csr_array(X), chunks=chunks)


def test_euclidean_is_the_distance_as_it_is():
    X, y = some_chunks()
    model = Euclidean().fit(X, y)
    np.testing.assert_array_equal(model.transform(X), X)
    np.testing.assert_allclose(model.distance(X[:3], X[3:5]), np.linalg.norm(X[:3, None] - X[3:5], axis=2))


def literal_shrunken(X, chunks, shrinkage):
    """(1 - s) C + s c I of standardized columns, back in units of X: c is the mean variance within chunks."""
    deviations = X.std(axis=0)
    within = literal_covariance((X - X.mean(axis=0)) / deviations, chunks)
    shrunken = (1 - shrinkage) * within + shrinkage * np.trace(within) / X.shape[1] * np.eye(X.shape[1])
    return shrunken * np.outer(deviations, deviations)


@pytest.mark.parametrize("shrinkage", [0.0, 0.01, 0.3, 1.0])
def test_the_covariance_is_shrunken_as_written(shrinkage):
    X, chunks = some_chunks()
    X *= [1, 10, 1e3, 1e-3, 5]
    found = RCA(shrinkage=shrinkage).fit(X, chunks=chunks)
    np.testing.assert_allclose(
        found.mahalanobis_matrix_, inv(literal_shrunken(X, chunks, shrinkage)), rtol=1e-9, atol=1e-12
    )
    assert found.shrinkage_ == shrinkage
    assert found.normalize_ is False
    assert found.mean_ is None
    assert found.selection_ is None


def test_few_components_are_fishers_of_the_shrunken_covariance():
    X, chunks = some_chunks()
    within, total = literal_shrunken(X, chunks, 0.3), np.cov(X[chunks >= 0].T, bias=True)
    ratios, vectors = eig(total, within)
    A = vectors[:, np.argsort(-ratios.real)[:2]].real
    wanted = A @ inv(A.T @ within @ A) @ A.T
    model = RCA(2, shrinkage=0.3).fit(X, chunks=chunks)
    np.testing.assert_allclose(model.mahalanobis_matrix_, wanted, rtol=1e-8, atol=1e-10)


def noisy(n=240, d=60, seed=0):
    """Four classes that differ in four columns, and columns of noise of a low rank within classes."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 4
    X = random.normal(size=(n, 10)) @ random.normal(size=(10, d)) + 0.1 * random.normal(size=(n, d))
    X[:, :4] += 4 * random.normal(size=(4, 4))[y]
    return X * np.exp(random.normal(size=(n, 1))), y


@pytest.mark.parametrize("name", ["isolet", "coil20"])
def test_the_default_is_better_than_the_plain_cosine_of_many_columns(name, data_set):
    data = data_set(name)
    random = np.random.default_rng(0)
    rows = random.permutation(len(data.y))[:800]
    X, y = np.asarray(data.X, dtype=float)[rows], data.y[rows]
    X = StandardScaler().fit(X[:500]).transform(X)
    model = RCA(random_state=0).fit(X[:500], y[:500])
    plain = baseline_scores(X[:500], y[:500], X[500:], y[500:])["cosine"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = RCA(shrinkage=0).fit(X[:500], y[:500]).score(X[500:], y[500:])
    assert model.score(X[500:], y[500:]) > max(plain, raw)


def test_settings_are_those_that_are_best_on_held_out_rows():
    X, y = noisy()
    model = RCA(random_state=0).fit(X, y)
    chosen = next(record for record in model.selection_ if record["chosen"])
    assert (model.shrinkage_, model.normalize_) == (chosen["shrinkage"], chosen["normalize"])
    assert len(model.selection_) == 20
    assert model.normalize_  # rows of one class differ in length
    assert chosen["error"] == min(record["error"] for record in model.selection_)
    same = RCA(shrinkage=model.shrinkage_, normalize=True).fit(X, y)
    np.testing.assert_array_equal(same.components_, model.components_)
    lengths = RCA(normalize=False, random_state=0).fit(X, y)
    assert {record["normalize"] for record in lengths.selection_} == {False}
    few = RCA(2, random_state=0).fit(X, y)
    assert few.components_.shape == (2, 60)


def test_points_of_unit_length_are_compared_everywhere():
    X, y = noisy()
    model = RCA(shrinkage=0.3, normalize=True).fit(X, y)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    points = (X - X.mean(axis=0)) @ model.components_.T
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(X), points, atol=1e-12)
    apart = np.linalg.norm(points[:5, None] - points[5:9], axis=2)
    np.testing.assert_allclose(model.distance(X[:5], X[5:9]), apart, atol=1e-12)
    metric = model.get_metric()
    assert metric(X[0], X[5]) == pytest.approx(apart[0, 0])
    assert metric(X[0], X[5], squared=True) == pytest.approx(apart[0, 0] ** 2)
    np.testing.assert_allclose(model.neighbors(X[:1], X, 3)[0][0, 0], 0.0, atol=1e-7)
    assert model.pair_distance(X[None, [0, 5]])[0] == pytest.approx(apart[0, 0])


def test_a_saved_distance_is_the_same(tmp_path):
    X, y = noisy()
    model = RCA(random_state=0).fit(X, y)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.distance(X, X), model.distance(X, X))
    assert (again.shrinkage_, again.normalize_) == (model.shrinkage_, model.normalize_)


def test_chunks_are_held_out_where_they_are_small_or_asked_for():
    X, y = noisy()
    pairs = np.where(np.arange(240) < 120, np.arange(240) // 8 * 4 + y, -1)  # two rows each
    model = RCA(random_state=0).fit(X, chunks=np.unique(pairs, return_inverse=True)[1] - 1)
    assert model.selection_[0]["n_folds"] == 3
    by_class = RCA(validation="classes", random_state=0).fit(X, y)
    assert by_class.selection_[0]["n_folds"] != RCA(random_state=0).fit(X, y).selection_[0]["n_folds"]


def test_a_shrinkage_of_0_that_held_out_rows_chose_is_not_warned_of():
    X, y = noisy(120, 410)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCA(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="directions in which X varies"):
        RCA(shrinkage=0).fit(X, y)


def test_what_cannot_be_judged_has_a_default():
    X, y = noisy(8)
    with pytest.warns(UserWarning, match="single class"):
        model = RCA().fit(X, np.zeros(8))
    assert (model.shrinkage_, model.normalize_, model.selection_) == (0.1, False, None)
    with pytest.raises(ValueError, match="shrinkage must be 'auto' or a number from 0 to 1; got 2"):
        RCA(shrinkage=2).fit(X, y)


@pytest.mark.parametrize("kind", [RCA, BilinearSimilarity])
def test_of_new_classes_all_are_judged_also_of_wide_tables(kind):
    X, y = noisy(120, 410)
    model = kind(validation="classes", random_state=0).fit(X, y)
    assert {record["n_folds"] for record in model.selection_} == {4}  # one per class
    assert min(record["n_folds"] for record in kind(random_state=0).fit(X, y).selection_) == 2
