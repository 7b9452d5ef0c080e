"""Retrieval: scikit-learn's average precision query by query, and plain definitions by all orders of ties."""

import tracemalloc
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_matrix
from sklearn.base import BaseEstimator
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from extras import needs
from nearer.metrics import (
    average_precisions,
    mean_average_precision,
    precision_at_k,
    recall_at_k,
    retrieval_map_scorer,
)

UNIT = np.eye(3)


def random_scores(seed, n_queries, n_objects, n_values):
    """Scores with many ties, and labels such that some queries have nothing relevant."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, n_values, size=(n_queries, n_objects)) / 4
    return scores, random.integers(0, 4, n_queries), random.integers(0, 3, n_objects)


def places(query_scores):
    """The groups of equal score, best first, as lists of object numbers."""
    return [np.flatnonzero(query_scores == value) for value in np.unique(query_scores)[::-1]]


def literal_average_precision(query_scores, relevant, cutoff):
    """Group by group: each enters at once; the one that the cutoff divides by its expected number of relevant."""
    total, passed, found = 0.0, 0, 0.0
    for group in places(query_scores):
        room = min(len(group), cutoff - passed)
        if room <= 0:
            break
        entering = relevant[group].sum() * room / len(group)
        passed, found = passed + room, found + entering
        total += entering * found / passed
    return total / min(cutoff, relevant.sum())


def orders(query_scores):
    """All rankings that the scores allow; random choice among them is what an expectation is over."""
    objects = permutations(range(len(query_scores)))
    return [order for order in objects if all(np.diff(query_scores[list(order)]) <= 0)]


sizes = st.tuples(st.integers(0, 9999), st.integers(1, 6), st.integers(1, 12), st.integers(1, 8))


@given(sizes)
@settings(max_examples=200, deadline=None)
def test_without_a_cutoff_each_query_is_scikit_learns(size):
    scores, y, y_objects = random_scores(*size)
    for row, label, found in zip(scores, y, average_precisions(scores, y, y_objects), strict=True):
        if (y_objects == label).any():
            assert found == pytest.approx(average_precision_score(y_objects == label, row), rel=1e-13)
        else:
            assert np.isnan(found)


@given(sizes, st.integers(1, 15))
@settings(max_examples=200, deadline=None)
def test_with_a_cutoff_it_is_the_sum_over_groups(size, cutoff):
    scores, y, y_objects = random_scores(*size)
    found = average_precisions(scores, y, y_objects, cutoff)
    for row, label, value in zip(scores, y, found, strict=True):
        relevant = y_objects == label
        if relevant.any():
            assert value == pytest.approx(literal_average_precision(row, relevant, cutoff), rel=1e-13)
    if cutoff >= scores.shape[1]:
        np.testing.assert_array_equal(found, average_precisions(scores, y, y_objects))


def test_a_cutoff_without_ties_is_the_textbooks():
    scores = -np.arange(6.0)[None, :]
    y_objects = ["a", "b", "a", "a", "b", "a"]
    assert mean_average_precision(scores, ["a"], y_objects, cutoff=3) == pytest.approx((1 + 2 / 3) / 3)
    assert mean_average_precision(scores, ["b"], y_objects, cutoff=3) == pytest.approx((1 / 2) / 2)
    assert mean_average_precision(scores, ["b"], y_objects, cutoff=1) == 0


@given(st.integers(0, 9999), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_precision_and_recall_are_expectations_over_all_orders_of_equal_scores(seed, n_objects, n_values):
    scores, _, y_objects = random_scores(seed, 1, n_objects, n_values)
    y_objects[0] = 0
    for k in range(1, n_objects + 1):
        hits = [sum(y_objects[i] == 0 for i in order[:k]) for order in orders(scores[0])]
        expected = Fraction(sum(map(int, hits)), len(hits))
        assert precision_at_k(scores, [0], k, y_objects) == pytest.approx(float(expected / k))
        assert recall_at_k(scores, [0], k, y_objects) == pytest.approx(float(expected / int(sum(y_objects == 0))))


def test_means_are_over_queries_with_something_relevant():
    scores = [[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]]
    y, y_objects = ["a", "nothing has this", "b"], ["a", "b"]
    np.testing.assert_array_equal(average_precisions(scores, y, y_objects), [1, np.nan, 1])
    assert mean_average_precision(scores, y, y_objects) == 1
    assert precision_at_k(scores, y, 2, y_objects) == 0.5
    assert recall_at_k(scores, y, 1, y_objects) == 1


@given(st.integers(0, 9999), st.integers(2, 9), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_the_query_itself_is_left_out(seed, n, n_values):
    scores, y, _ = random_scores(seed, n, n, n_values)
    y[:2] = 0
    wanted = []
    for i in range(n):
        rest = np.arange(n) != i
        wanted.append(average_precisions(scores[i : i + 1, rest], y[i : i + 1], y[rest])[0])
    np.testing.assert_array_equal(average_precisions(scores, y), wanted)
    for diagonal in (-np.inf, np.inf):
        np.fill_diagonal(scores, diagonal)
        np.testing.assert_array_equal(average_precisions(scores, y), wanted)


def test_blocks_give_the_same_as_one_block(monkeypatch):
    scores, y, y_objects = random_scores(0, 40, 40, 6)
    whole = average_precisions(scores, y, y_objects, 7)
    square = average_precisions(scores, y)
    at_k = precision_at_k(scores, y, 5), recall_at_k(scores, y, 5)
    for size in (1, 130):  # one query a block, and three
        monkeypatch.setattr("nearer.metrics.ranks.BLOCK", size)
        np.testing.assert_array_equal(average_precisions(scores, y, y_objects, 7), whole)
        np.testing.assert_array_equal(average_precisions(scores, y), square)
        assert (precision_at_k(scores, y, 5), recall_at_k(scores, y, 5)) == at_k


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool, object])
def test_scores_of_any_number_type(dtype):
    scores = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 1]])
    assert mean_average_precision(scores.astype(dtype), [0, 1, 0]) == mean_average_precision(scores, [0, 1, 0])


def test_labels_of_any_kind():
    scores, y, y_objects = random_scores(3, 6, 9, 5)
    for names in (np.array(["x", "yy", "z", "w"]), np.array(["x", "yy", "z", "w"], dtype=object), np.arange(4.0)):
        got = average_precisions(scores, names[y], names[y_objects].tolist())
        np.testing.assert_array_equal(got, average_precisions(scores, y, y_objects))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((UNIT[0], [0]), r"one row per query; got shape \(3,\)"),
        ((UNIT[:2], [0, 0]), r"shape \(2, 3\): without y_objects .* square"),
        ((UNIT, [0, 0]), r"one label per query: scores have shape \(3, 3\), y has shape \(2,\)"),
        ((UNIT, [0, 0, 0], [0, 0]), r"one label per object: .*, y_objects has shape \(2,\)"),
        ((UNIT, [[0, 0, 0]]), r"y has shape \(1, 3\)"),
        ((UNIT, [0, 0, 0], ["a", "b", "c"]), r"int\d+ and those of objects <U1"),
        ((UNIT, [0, np.nan, 0]), "labels must not be NaN"),
        ((UNIT * [1, np.nan, 1], [0, 0, 0]), "query 0 and object 1 is NaN"),
        ((UNIT, [0, 1, 2]), "nothing is relevant: none of the 3 queries"),
        ((np.empty((0, 0)), []), "nothing is relevant: none of the 0 queries"),
        ((np.empty((2, 0)), [0, 1], np.empty(0)), "nothing is relevant: none of the 2 queries"),
        ((UNIT, [0, 0, 0], None, 0), "cutoff must be a positive whole number; got 0"),
        ((UNIT, [0, 0, 0], None, 2.0), "cutoff must be a positive whole number; got 2.0"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        mean_average_precision(*arguments)


@pytest.mark.parametrize("at_k", [precision_at_k, recall_at_k])
def test_k_is_within_the_ranking(at_k):
    for k in (0, 3, True, 1.0):
        with pytest.raises(
            ValueError, match=rf"k must be a whole number from 1 to 2, the objects ranked; got {k}"
        ):
            at_k(UNIT, [0, 0, 0], k)
    with pytest.raises(ValueError, match="from 1 to 3"):
        at_k(UNIT, [0, 0, 0], 4, [0, 0, 0])


def test_little_memory_is_needed():
    random = np.random.default_rng(0)
    scores, y = random.normal(size=(3000, 3000)).astype(np.float32), random.integers(0, 26, 3000)
    tracemalloc.start()
    mean_average_precision(scores, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3e7


class Weighted(BaseEstimator):
    """A similarity with a parameter: the first feature counts so much."""

    def __init__(self, weight=1.0):
        self.weight = weight

    def fit(self, X, y):
        self.weights_ = np.r_[self.weight, np.ones(X.shape[1] - 1)]
        return self

    def _points(self, X):
        return (X.toarray() if hasattr(X, "toarray") else np.asarray(X)) * np.sqrt(self.weights_)


class Similar(Weighted):
    def similarity(self, A, B):
        return self._points(A) @ self._points(B).T


class Distant(Weighted):
    def distance(self, A, B):
        return np.sqrt(((self._points(A)[:, None] - self._points(B)) ** 2).sum(axis=-1))


class Projecting(Weighted):
    def transform(self, X):
        return self._points(X)


def labelled(n=60):
    """Labels that the first of three features tells, on a scale too small to notice."""
    random = np.random.default_rng(1)
    y = random.integers(0, 3, n)
    X = random.normal(size=(n, 3))
    X[:, 0] = (y + 0.1 * X[:, 0]) / 100
    return X, y


@pytest.mark.parametrize("small_blocks", [False, True])
def test_the_scorer_ranks_by_what_the_model_has(small_blocks, monkeypatch):
    if small_blocks:
        monkeypatch.setattr("nearer.metrics.scorer.BLOCK", 7 * 60)
    X, y = labelled()
    apart = ((X[:, None] - X) ** 2).sum(axis=-1)
    for model, scores in ((Similar(), X @ X.T), (Distant(), -apart), (Projecting(), -apart)):
        assert retrieval_map_scorer(model.fit(X, y), X, y) == pytest.approx(mean_average_precision(scores, y))


def test_the_scorer_takes_sparse_matrices_and_data_frames():
    X, y = labelled()
    X[X < 0] = 0
    for kind in (Similar, Distant, Projecting):
        model = kind().fit(X, y)
        wanted = retrieval_map_scorer(model, X, y)
        for given_as in (csr_matrix, coo_array):
            assert retrieval_map_scorer(model, given_as(X), y) == pytest.approx(wanted)
    sparse = make_pipeline("passthrough").fit(X, y)  # points that stay sparse
    assert retrieval_map_scorer(sparse, csr_matrix(X), y) == pytest.approx(wanted)
    needs("pandas")
    from pandas import DataFrame, Series

    assert retrieval_map_scorer(model, DataFrame(X), Series(y)) == pytest.approx(wanted)


@pytest.mark.parametrize("kind", [Similar, Distant, Projecting])
def test_the_scorer_of_a_pipeline_asks_its_last_step(kind):
    X, y = labelled()
    model = make_pipeline(StandardScaler(), kind(weight=9.0)).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    assert retrieval_map_scorer(model, X, y) == retrieval_map_scorer(model[-1], scaled, y)
    nested = make_pipeline(StandardScaler(), make_pipeline(model[-1]))
    nested[:-1].fit(X)
    assert retrieval_map_scorer(nested, X, y) == retrieval_map_scorer(model, X, y)
    assert retrieval_map_scorer(model, X, y) > 2 * retrieval_map_scorer(kind().fit(X, y), X, y)


def test_the_scorer_in_cross_validation_and_grid_search():
    X, y = labelled()
    model = make_pipeline(StandardScaler(), Similar())
    scores = cross_val_score(model, X, y, scoring=retrieval_map_scorer, cv=3, error_score="raise")
    assert scores.shape == (3,)
    search = GridSearchCV(model, {"similar__weight": [0.0, 100.0]}, scoring=retrieval_map_scorer, cv=3)
    assert search.fit(X, y).best_params_ == {"similar__weight": 100.0}


def test_the_scorer_refuses():
    X, y = labelled()
    with pytest.raises(
        TypeError, match=r"similarity\(A, B\), distance\(A, B\) or transform\(X\); Weighted has none"
    ):
        retrieval_map_scorer(Weighted().fit(X, y), X, y)
    with pytest.raises(ValueError, match=r"X has shape \(60, 3\), y has shape \(59,\)"):
        retrieval_map_scorer(Similar().fit(X, y), X, y[1:])

    class Odd(Similar):
        def similarity(self, A, B):
            return super().similarity(A, B).T[1:]

    with pytest.raises(ValueError, match=r"Odd returned scores of shape \(59, 60\) for 60 queries and 60 objects"):
        retrieval_map_scorer(Odd().fit(X, y), X, y)
