"""InformationGain: entropies column by column, scikit-learn's mutual information, and the best columns first."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, csr_matrix, issparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import mutual_info_classif
from sklearn.utils.estimator_checks import estimator_checks_generator

from extras import needs
from nearer import InformationGain, load_model


def entropy(labels):
    _, counts = np.unique(labels, return_counts=True)
    shares = counts / counts.sum()
    return -(shares * np.log2(shares)).sum()


def literal(X, y):
    """H(class) − Σ P(·) H(class | ·) over present and absent, a column at a time."""
    gains = []
    for column in np.asarray(X).T:
        rest = 0.0
        for part in (column != 0, column == 0):
            if part.any():
                rest += part.mean() * entropy(y[part])
        gains.append(entropy(y) - rest)
    return np.array(gains)


def words(seed, n=60, d=15, classes=4):
    """Small whole numbers, negative ones among them, some of which depend on the class."""
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, n)
    there = random.random((n, d)) < random.random((classes, d))[y] ** 2
    return there * random.integers(-2, 4, (n, d)), y


@given(st.integers(0, 9999), st.integers(2, 60), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_the_gains_are_those_of_the_entropies(seed, n, classes):
    X, y = words(seed, n, classes=classes)
    model = InformationGain("all").fit(X, y)
    np.testing.assert_allclose(model.scores_, literal(X, y), atol=2e-12)
    assert (np.diff(model.scores_[model.order_]) <= 0).all()
    assert (model.scores_ >= 0).all()
    in_nats = mutual_info_classif(X != 0, y, discrete_features=True)
    np.testing.assert_allclose(model.scores_, in_nats / np.log(2), atol=2e-12)


@pytest.mark.parametrize("kind", [csr_array, csc_array, csr_matrix])
def test_sparse_is_as_dense_and_an_explicit_zero_is_absent(kind):
    X, y = words(3)
    wanted = InformationGain(5).fit(X, y)
    table = kind(X)
    table.data[::3] = 0
    zeros = InformationGain(5).fit(table, y)
    np.testing.assert_array_equal(zeros.scores_, InformationGain(5).fit(table.toarray(), y).scores_)
    table = kind(X)
    before = table.copy()
    found = InformationGain(5).fit(table, y)
    np.testing.assert_array_equal(found.scores_, wanted.scores_)
    np.testing.assert_array_equal(found.order_, wanted.order_)
    chosen = found.transform(table)
    assert issparse(chosen)
    assert chosen.has_sorted_indices
    np.testing.assert_array_equal(chosen.toarray(), wanted.transform(X))
    np.testing.assert_array_equal(
        found.inverse_transform(chosen).toarray(), wanted.inverse_transform(chosen.toarray())
    )
    assert (table != before).nnz == 0


def test_entries_in_one_place_are_one_and_the_table_stays_as_it_was():
    parts = np.array([1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 1, 0]), np.array([0, 2, 3, 4, 4])
    table = csr_array(parts, shape=(4, 2))  # the first row has 1 and −1 in one place, and that is nothing
    model = InformationGain(2).fit(table, [0, 0, 1, 1])
    np.testing.assert_allclose(model.scores_, literal(table.toarray(), np.array([0, 0, 1, 1])), atol=2e-12)
    assert table.nnz == 4


def test_the_best_columns_come_first_and_of_equal_ones_the_first():
    y = np.array(["a", "a", "b", "b", "c", "c"])
    X = np.zeros((6, 5))
    X[0, 0] = 1
    X[4:, 1] = -3  # by one class each, 1, 3 and 4 tell as much
    X[:2, 3] = 2
    X[2:4, 4] = 5
    model = InformationGain(3).fit(X, y)
    assert model.order_.tolist() == [1, 3, 4, 0, 2]
    np.testing.assert_array_equal(model.transform(X), X[:, [1, 3, 4]])
    model = InformationGain(4).fit(X[:, ::-1], y)
    assert model.order_.tolist() == [0, 1, 3, 4, 2]
    np.testing.assert_array_equal(model.get_support(), [True, True, False, True, True])
    np.testing.assert_array_equal(model.get_support(indices=True), [0, 1, 3, 4])


def test_support_names_and_the_way_back_follow_the_order():
    X, y = words(1)
    names = [f"word{column}" for column in range(X.shape[1])]
    model = InformationGain(6).fit(X, y)
    best = model.get_support(indices=True)
    assert best.tolist() != sorted(best)
    np.testing.assert_array_equal(best, model.order_[:6])
    np.testing.assert_array_equal(np.flatnonzero(model.get_support()), np.sort(best))
    assert model.get_feature_names_out(names).tolist() == [names[column] for column in best]
    assert model.get_feature_names_out().tolist() == [f"x{column}" for column in best]
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_array_equal(back[:, best], X[:, best])
    assert not np.delete(back, best, axis=1).any()
    with pytest.raises(ValueError, match=r"X has shape \(60, 15\); expected one column for each of the 6"):
        model.inverse_transform(X)


def test_tables_with_headers():
    needs("pandas")
    import pandas

    X, y = words(2)
    table = pandas.DataFrame(X, columns=[f"word{column}" for column in range(X.shape[1])])
    model = InformationGain(4).set_output(transform="pandas").fit(table, pandas.Series(y))
    found = model.transform(table)
    assert found.columns.tolist() == model.get_feature_names_out().tolist()
    assert found.equals(table[found.columns])


def test_it_can_be_saved(tmp_path):
    X, y = words(5)
    model = InformationGain(4).fit(X, y)
    model.save(tmp_path / "m.nearer")
    again = load_model(tmp_path / "m.nearer")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_a_large_table_takes_no_time():
    random = np.random.default_rng(0)
    columns = random.integers(0, 50_000, (11_000, 100)).ravel()
    X = csr_array((np.ones(1_100_000), columns, np.arange(0, 1_100_001, 100)), shape=(11_000, 50_000))
    y = np.arange(11_000) % 20
    begun = time.process_time()
    InformationGain().fit(X, y)
    assert time.process_time() - begun < 2.0  # a tenth of a second; slow machines may be busy


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "best", None])
def test_what_k_cannot_be(k):
    with pytest.raises(ValueError, match=f"k must be 'auto', a positive integer or 'all'; got {k!r}"):
        InformationGain(k).fit(*words(0))


def test_by_default_at_most_a_thousand_columns():
    X, y = words(0)
    assert InformationGain().fit_transform(X, y).shape == X.shape
    wide = np.tile(X, 80)
    model = InformationGain().fit(wide, y)
    np.testing.assert_array_equal(model.transform(wide), wide[:, model.order_[:1000]])


def test_says_what_is_wrong():
    X, y = words(0)
    with pytest.raises(ValueError, match="k=16 is more than the n_features=15 columns of X: use a smaller k"):
        InformationGain(16).fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        InformationGain(2).fit(X, y + 0.5)
    with pytest.raises(NotFittedError):
        InformationGain(2).transform(X)
    model = InformationGain(2).fit(X, y)
    with pytest.raises(ValueError, match="k=16"):
        model.set_params(k=16).fit(X[:, ::-1], y)
    assert model.n_features_in_ == 15


def name_of(part):
    return f"k={part.k}" if isinstance(part, InformationGain) else getattr(part, "func", part).__name__


def checks():
    for model in (InformationGain(), InformationGain(k=1), InformationGain(k="all")):
        yield from estimator_checks_generator(model, legacy=True)


@pytest.mark.parametrize(("estimator", "check"), list(checks()), ids=name_of)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
