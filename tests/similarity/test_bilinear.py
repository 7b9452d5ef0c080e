"""BilinearSimilarity as its users meet it: labels or comparisons, dense or sparse, alone or in a search."""

import pickle
import signal
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from test_logdet import labelled

from extras import needs
from nearer import BilinearSimilarity, Comparisons, load_model
from nearer.metrics import mean_average_precision, retrieval_map_scorer
from nearer.similarity import OASIS, SDCA, regularization
from nearer.similarity.problem import Solution
from nearer.simulate import comparisons_from_labels
from nearer.solver import Solver

FAST = {"solver": "sdca", "n_triplets": 500, "regularization": 0.01}


@pytest.fixture(scope="module")
def data():
    X, y = labelled(n=150)
    return X / np.abs(X).max(axis=0), y


@pytest.fixture(scope="module")
def model(data):
    return BilinearSimilarity("sdca", random_state=0).fit(*data)


def test_it_learns_what_tells_classes_apart(data, model):
    X, y = labelled(n=150, seed=9)
    X = X / np.abs(X).max(axis=0)
    learned = mean_average_precision(model.similarity(X, X), y)
    plain = mean_average_precision(X @ X.T, y)
    assert learned > plain + 0.1
    assert model.gap_ <= 1e-3
    assert model.converged_
    assert model.score_comparisons(X, comparisons_from_labels(y, 2000, 1)) > 0.7


def test_sparse_is_dense(data):
    X, y = data
    for given in (
        FAST,
        {**FAST, "psd": True},
        {**FAST, "solver": "oasis"},
    ):
        dense = BilinearSimilarity(**given, random_state=0).fit(X, y)
        for kind in (csr_array, csr_matrix):
            sparse = BilinearSimilarity(**given, random_state=0).fit(kind(X), y)
            np.testing.assert_allclose(sparse.matrix_, dense.matrix_, atol=1e-8)
        S = kind(X)
        np.testing.assert_allclose(sparse.similarity(S, X), dense.similarity(X, X), atol=1e-7)
        assert (sparse.neighbors(S[:9], S, 4)[1] == dense.neighbors(X[:9], X, 4)[1]).all()
        np.testing.assert_allclose(
            sparse.pair_score((S[:3], S[3:6])), dense.pair_score((X[:3], X[3:6])), atol=1e-7
        )


def test_unsorted_and_repeated_entries_of_a_csr_table_are_taken_and_left_alone(data):
    X, y = data
    table = csr_array(X)
    turned = csr_array((table.data[::-1].copy(), table.indices[::-1].copy(), table.indptr), shape=X.shape)
    turned.has_sorted_indices = False
    dense = turned.toarray()
    before = turned.indices.copy()
    found = BilinearSimilarity(**FAST, random_state=0).fit(turned, y).matrix_
    np.testing.assert_array_equal(turned.indices, before)
    np.testing.assert_allclose(found, BilinearSimilarity(**FAST, random_state=0).fit(dense, y).matrix_, atol=1e-9)


def test_comparisons_index_rows(data):
    X, y = data
    rows = comparisons_from_labels(y, 500, 3)
    a = BilinearSimilarity("sdca", regularization=0.01, random_state=0).fit(X, comparisons=rows)
    b = BilinearSimilarity("sdca", regularization=0.01, random_state=0).fit(X, comparisons=rows.rows)
    np.testing.assert_array_equal(a.matrix_, b.matrix_)
    assert a.score_comparisons(X, rows) == (a.predict_comparisons(X, rows) == 1).mean() > 0.8
    scores = a.similarity(X, X)
    r = rows.rows
    np.testing.assert_array_equal(
        a.predict_comparisons(X, rows), np.where(scores[r[:, 0], r[:, 1]] > scores[r[:, 0], r[:, 2]], 1, -1)
    )


def test_weights_count_like_repeats(data):
    X, y = data
    rows = comparisons_from_labels(y, 60, 3).rows
    repeated = np.concatenate([rows, rows[:30]])
    weights = np.where(np.arange(60) < 30, 2.0, 1.0)
    settings = {"solver": "sdca", "regularization": 0.05, "tol": 1e-10, "max_iter": 2000, "random_state": 0}
    a = BilinearSimilarity(**settings).fit(X, comparisons=repeated)
    b = BilinearSimilarity(**settings).fit(X, comparisons=Comparisons(rows, weights=weights))
    np.testing.assert_allclose(a.matrix_, b.matrix_, atol=1e-4)
    c = BilinearSimilarity(**settings).fit(X, comparisons=Comparisons(repeated, weights=[1.0] * 60 + [0.0] * 30))
    d = BilinearSimilarity(**settings).fit(X, comparisons=rows)
    np.testing.assert_array_equal(c.matrix_, d.matrix_)


def test_names_are_matched_with_a_frame(data):
    needs("pandas")
    import pandas as pd

    X, y = data
    names = [f"object {i:03}" for i in range(len(X))]
    rows = comparisons_from_labels(y, 300, 3).rows
    named = Comparisons(rows, n_objects=len(X), names=names)
    order = np.random.default_rng(0).permutation(len(X))
    frame = pd.DataFrame(X[order], index=[names[i] for i in order], columns=list("abcd"))
    by_name = BilinearSimilarity("sdca", regularization=0.01, random_state=0).fit(frame, comparisons=named)
    by_number = BilinearSimilarity("sdca", regularization=0.01, random_state=0).fit(X, comparisons=rows)
    np.testing.assert_allclose(by_name.matrix_, by_number.matrix_, atol=1e-12)
    assert by_name.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="'object 000', which is not in the index of X"):
        by_name.score_comparisons(frame.drop(index="object 000"), named)
    with pytest.raises(ValueError, match="the 150 rows of X have no names"):
        BilinearSimilarity("sdca").fit(X, comparisons=named)
    with pytest.raises(ValueError, match="the index of X has 'object 003' more than once"):
        by_name.score_comparisons(pd.concat([frame, frame.loc[["object 003"]]]), named)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "pass labels y or comparisons"),
        ({"y": [0, 1]}, "150 rows and y 2 labels"),
        ({"y": [0] * 150}, "single class"),
        ({"y": range(150)}, "every label occurs only once"),
        ({"comparisons": [[0, 1, 150]]}, "comparison 0 is about object 150, but X has only 150 rows"),
        ({"comparisons": [[0, 1, 2, 3]]}, "quadruplets"),
        ({"comparisons": np.empty((0, 3), dtype=int)}, "nothing to learn from"),
        ({"comparisons": [[0, 0, 2]]}, "row 0"),
    ],
)
def test_what_was_given_is_checked(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        BilinearSimilarity("sdca").fit(data[0], **arguments)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"solver": "sgd"},
            "solver must be 'lbfgs', 'sdca', 'oasis' or an object with the method solve; got 'sgd'",
        ),
        (
            {"solver": SDCA},
            "solver must be 'lbfgs', 'sdca', 'oasis' or an object with the method solve; got <class",
        ),
        ({"regularization": 0}, "regularization must be 'auto', a number > 0 or infinity; got 0"),
        ({"regularization": "none"}, "regularization must be"),
        ({"solver": OASIS(aggressiveness=-1)}, "OASIS's aggressiveness must be a number > 0; got -1"),
        ({"solver": OASIS(symmetric=1)}, "OASIS's symmetric must be True or False; got 1"),
        ({"n_triplets": 0}, "n_triplets must be"),
        ({"sampling": "pairs"}, "sampling must be 'instances' or 'classes'; got 'pairs'"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
        ({"tol": -1}, "tol must be"),
        ({"solver": SDCA(output="first")}, "SDCA's output must be 'average', 'last' or 'random'; got 'first'"),
        ({"callback": 3}, "callback must be"),
    ],
)
def test_parameters_are_checked(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        BilinearSimilarity(**parameters).fit(*data)


def test_tables_are_checked(data, model):
    X, y = data
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        BilinearSimilarity("sdca").fit(bad, y)
    with pytest.raises(ValueError, match="3 features, but BilinearSimilarity is expecting 4 features"):
        model.similarity(X[:, :3], X)
    with pytest.raises(ValueError, match=r"got shape \(150, 4\)"):
        model.pair_score(X)
    with pytest.raises(ValueError, match="2 and 3 rows"):
        model.pair_score((X[:2], X[:3]))
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 150"):
        model.neighbors(X, X, 151)
    with pytest.raises(ValueError, match="k must be a whole number from 1 to 149"):
        model.neighbors(None, X, 150)
    with pytest.raises(NotFittedError):
        BilinearSimilarity("sdca").similarity(X, X)
    with pytest.raises(ValueError, match="at most 32,768"):
        BilinearSimilarity("sdca").fit(csr_array((6, 40_000)), [0, 0, 0, 1, 1, 1])


def test_constant_columns_do_no_harm(data):
    X, y = data
    X = np.column_stack([X, np.zeros(len(X)), np.ones(len(X))])
    for settings in ({}, {"solver": "sdca"}, {"solver": "sdca", "psd": True}, {"solver": "oasis"}):
        found = BilinearSimilarity(n_triplets=500, random_state=0, **settings).fit(X, y)
        assert np.isfinite(found.matrix_).all()
        assert found.score_comparisons(X, comparisons_from_labels(y, 500, 1)) > 0.7


def test_lonely_classes_are_skipped_with_a_warning(data):
    X, y = data
    y = y.copy()
    y[0] = 77
    with pytest.warns(UserWarning, match="1 of 4 classes have one member only and are skipped as anchors: 77"):
        BilinearSimilarity(**FAST, random_state=0).fit(X, y)


@pytest.mark.parametrize("queries", ["others", None])
def test_neighbors_are_those_of_the_whole_table(data, model, queries, monkeypatch):
    X, _ = data
    monkeypatch.setattr("nearer.similarity.neighbors.ENTRIES", 700)  # several blocks
    scores = model.similarity(X, X)
    if queries is None:
        np.fill_diagonal(scores, -np.inf)
        values, numbers = model.neighbors(None, X, 7)
    else:
        values, numbers = model.neighbors(X, X, 7)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_allclose(values, np.take_along_axis(scores, expected, axis=1), atol=1e-12)


def test_ties_go_to_the_first():
    X = np.ones((30, 2))
    model = BilinearSimilarity("oasis").fit(np.array([[1.0, 0], [0, 1], [1, 1]]), comparisons=[[0, 1, 2]])
    assert model.neighbors(X[:2], X, 5)[1].tolist() == [[0, 1, 2, 3, 4]] * 2
    assert model.neighbors(None, X, 3)[1][:5].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]]


def test_an_index_finds_nearly_all(data):
    needs("usearch")
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 12))
    y = np.argmax(X[:, :3], axis=1)
    model = BilinearSimilarity("sdca", n_triplets=500, regularization=1.0, random_state=0).fit(X, y)
    index = model.index(X)
    assert index.recall_ > 0.8
    assert repr(index) == f"SearchIndex(3000 objects, recall at 10: {index.recall_:.3f})"
    values, numbers = model.neighbors(X[:50], index, 10)
    best, true = model.neighbors(X[:50], X, 10)
    assert np.mean([np.isin(t, f).mean() for t, f in zip(true, numbers, strict=True)]) > 0.8
    np.testing.assert_allclose(values[:, 0], model.pair_score((X[:50], X[numbers[:, 0]])))
    assert (values <= best + 1e-6).all()
    with pytest.raises(ValueError, match="dense features"):
        model.index(csr_array(X))
    with pytest.raises(ValueError, match="pass their features"):
        model.neighbors(None, index, 3)


def test_memory_of_a_search_is_bounded(model):
    import tracemalloc

    X = np.random.default_rng(0).normal(size=(20_000, 4))
    model.neighbors(X[:10], X[:100], 3)
    tracemalloc.start()
    model.neighbors(None, X, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6  # the table of all similarities would take 3.2 GB


def test_psd_is_a_projection(data):
    X, y = data
    model = BilinearSimilarity(psd=True, **FAST, random_state=0)
    points = model.fit_transform(X, y)
    np.testing.assert_allclose(points @ points.T, model.similarity(X, X), atol=1e-10)
    assert not hasattr(BilinearSimilarity("sdca"), "transform")
    assert not hasattr(BilinearSimilarity("sdca"), "partial_fit")
    assert not hasattr(BilinearSimilarity("sdca"), "fit_transform")
    assert model.get_feature_names_out()[0] == "bilinearsimilarity0"


def test_in_pipelines_and_searches(data):
    X, y = data
    pipeline = make_pipeline(MinMaxScaler((-1, 1)), BilinearSimilarity("sdca", n_triplets=500, random_state=0))
    scores = cross_val_score(pipeline, X, y, cv=3, scoring=retrieval_map_scorer)
    assert scores.shape == (3,)
    assert scores.min() > 0.5
    search = GridSearchCV(
        BilinearSimilarity("sdca", n_triplets=500, random_state=0),
        {"regularization": [1e-3, 100.0]},
        scoring=retrieval_map_scorer,
        cv=3,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    assert retrieval_map_scorer(search, X, y) == retrieval_map_scorer(search.best_estimator_, X, y)
    found = search.cv_results_["mean_test_score"]
    assert search.best_score_ == found.max()
    assert found[0] != found[1]


def test_the_chosen_regularization_follows_the_units(data):
    X, y = data
    a = BilinearSimilarity("sdca", random_state=0).fit(X, y)
    b = BilinearSimilarity("sdca", random_state=0).fit(10 * X, y)
    assert b.regularization_ == pytest.approx(1e4 * a.regularization_, rel=1e-6)
    assert (a.neighbors(None, X, 5)[1] == b.neighbors(None, 10 * X, 5)[1]).mean() > 0.95


def test_the_regularization_is_chosen_by_comparisons_too(data):
    X, y = data
    noisy = comparisons_from_labels(y, 400, 5).flip(0.3, random_state=0)
    model = BilinearSimilarity("sdca", random_state=0).fit(X, comparisons=noisy)
    test = comparisons_from_labels(y, 4000, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        little = BilinearSimilarity("sdca", regularization=1e-5 * model.regularization_, random_state=0).fit(
            X, comparisons=noisy
        )
    assert model.score_comparisons(X, test) >= little.score_comparisons(X, test) - 0.01
    few = BilinearSimilarity("sdca", random_state=0).fit(X, comparisons=noisy[:3])
    assert few.regularization_ > 0


def test_history_callback_and_warning(data):
    X, y = data
    seen = []

    def two(record):
        seen.append(record)
        return len(seen) == 3

    model = BilinearSimilarity(**FAST, tol=0.0, callback=two, random_state=0).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.converged_
    assert [record["iteration"] for record in model.history_] == [0, 1, 2]
    assert {"loss", "gap", "dual", "n_steps", "seconds"} <= set(model.history_[-1])
    with pytest.warns(
        ConvergenceWarning, match="after 3 iterations with a gap of .* raise max_iter, tol or regularization"
    ):
        BilinearSimilarity(**FAST, tol=1e-12, max_iter=3, random_state=0).fit(X, y)


def test_the_same_seed_gives_the_same_model(data):
    X, y = data
    a, b, c = (BilinearSimilarity("sdca", n_triplets=500, random_state=seed).fit(X, y) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.matrix_, b.matrix_)
    assert (a.matrix_ != c.matrix_).any()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"shrinkage": None},
        {"solver": "sdca"},
        {"solver": "sdca", "psd": True},
        {"solver": "sdca", "normalize": True},
        {"solver": "oasis"},
        {"solver": OASIS(0.01, symmetric=True)},
        {"solver": SDCA("last")},
    ],
)
def test_saved_loaded_and_pickled(data, settings, tmp_path):
    X, y = data
    model = BilinearSimilarity(n_triplets=500, random_state=0, **settings).fit(X, y)
    model.save(tmp_path / "m.nearer")
    load_model(tmp_path / "m.nearer").save(tmp_path / "again.nearer")
    assert (tmp_path / "again.nearer").read_bytes() == (tmp_path / "m.nearer").read_bytes()
    for again in (load_model(tmp_path / "m.nearer"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.similarity(X, X), model.similarity(X, X))
        assert str(again.get_params()) == str(model.get_params())
        assert again.history_ == model.history_
        assert again.selection_ == model.selection_
    if hasattr(model, "partial_fit"):
        np.testing.assert_array_equal(again.partial_fit(X, y).matrix_, model.partial_fit(X, y).matrix_)


def refused(model, X, y):
    with pytest.raises(ValueError, match="labels"):
        model.fit(X, y)


def interrupted(model, X, y):
    def stop(record):
        raise KeyboardInterrupt

    model.set_params(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    model.set_params(callback=None)


@pytest.mark.parametrize("failing", [refused, interrupted])
def test_a_fit_that_fails_leaves_the_model_as_it_was(data, failing, tmp_path):
    X, y = data
    labels = y[:-1] if failing is refused else y
    model = BilinearSimilarity(**FAST, random_state=0)
    failing(model, X, labels)
    with pytest.raises(NotFittedError):
        model.neighbors(X, X, 2)
    with pytest.raises(NotFittedError):
        model.save(tmp_path / "m.nearer")
    model.fit(X, y)
    before = model.similarity(X, X)
    failing(model, X[:, :2], labels)
    np.testing.assert_array_equal(model.similarity(X, X), before)


@pytest.mark.parametrize("kind", [list, tuple])
def test_labels_of_several_kinds_are_refused(data, kind):
    X, _ = data
    with pytest.raises(ValueError, match="labels of one kind, such as words or numbers; got NoneType and str"):
        BilinearSimilarity("sdca").fit(X, kind(["a", None] * 75))


@pytest.mark.parametrize("scale", [1e-81, 1e80])
def test_features_beyond_the_range_of_numbers_are_refused(data, scale):
    X, y = data
    with pytest.raises(ValueError, match="Rescale the features"):
        BilinearSimilarity("sdca").fit(scale * X, y)


def test_psd_may_be_turned_on_and_off(data, tmp_path):
    X, y = data
    model = BilinearSimilarity(psd=True, **FAST, random_state=0).fit(X, y)
    model.set_params(psd=False).fit(X, y)
    assert not hasattr(model, "components_")
    model.set_params(psd=True)
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.save(tmp_path / "m.nearer")
    np.testing.assert_array_equal(load_model(tmp_path / "m.nearer").matrix_, model.matrix_)
    with pytest.raises(ValueError, match="psd must be True or False; got 'no'"):
        BilinearSimilarity("sdca", psd="no").fit(X, y)


def test_a_psd_similarity_goes_with_frames(data):
    needs("pandas")
    X, y = data
    pipeline = make_pipeline(MinMaxScaler((-1, 1)), BilinearSimilarity(psd=True, **FAST, random_state=0))
    made = pipeline.set_output(transform="pandas").fit(X, y).transform(X)
    assert made.columns[0] == "bilinearsimilarity0"
    for name in ("set_output", "get_feature_names_out"):
        assert not hasattr(BilinearSimilarity("sdca"), name)


def test_an_index_is_of_one_model_only(data):
    needs("usearch")
    X, y = data
    model = BilinearSimilarity("oasis", n_triplets=300, random_state=0).fit(X, y)
    index = model.index(X)
    model.neighbors(X[:1], index, 3)
    with pytest.raises(ValueError, match="made by another model, or before this one was fitted further"):
        model.partial_fit(X, y).neighbors(X[:1], index, 3)


def test_an_index_that_finds_too_few_is_helped_out(data):
    needs("usearch")
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 6))
    model = BilinearSimilarity("oasis", n_triplets=300, random_state=0).fit(X, random.integers(3, size=1500))
    values, numbers = model.neighbors(X[:3], model.index(X), 1500)
    assert all(len(set(row)) == 1500 for row in numbers.tolist())
    np.testing.assert_allclose(values[:, 0], model.similarity(X[:3], X).max(axis=1))


def test_an_index_keeps_its_own_objects_and_order(data):
    needs("usearch")
    X, y = data
    model = BilinearSimilarity("oasis", n_triplets=300, random_state=0).fit(X, y)
    given = X.copy()
    index = model.index(given)
    before = model.neighbors(X[:5], index, 4)
    given[:] = 0.0
    after = model.neighbors(X[:5], index, 4)
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_array_equal(after[1], before[1])
    assert (np.diff(after[0], axis=1) <= 0).all()


def test_another_solver_goes_on_from_what_was_fitted(data):
    X, y = data
    model = BilinearSimilarity(**FAST, random_state=0).fit(X, y)
    start = model.matrix_.copy()
    model.set_params(solver=OASIS(aggressiveness=1e-9)).partial_fit(X, y)
    np.testing.assert_allclose(model.matrix_, start, atol=1e-4)
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :3], y)


def test_names_that_no_comparison_uses_are_not_asked_for(data):
    needs("pandas")
    import pandas as pd

    X, y = data
    names = [f"object {i:03}" for i in range(len(X))]
    named = Comparisons(comparisons_from_labels(y, 300, 3).rows, n_objects=len(X), names=names)
    some = named[(named.rows < 100).all(axis=1)]
    frame = pd.DataFrame(X, index=names).iloc[:100]
    frame.columns = list("abcd")
    assert len(some) > 10
    BilinearSimilarity("sdca", regularization=0.01, random_state=0).fit(frame, comparisons=some)


def test_pairs_need_no_names(data, recwarn):
    needs("pandas")
    import pandas as pd

    X, y = data
    model = BilinearSimilarity(**FAST, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), y)
    model.pair_score(np.stack([X[:3], X[3:6]], axis=1))
    assert not [warning for warning in recwarn if "feature names" in str(warning.message)]


def test_recall_does_not_mind_ties():
    needs("usearch")
    X = np.repeat(np.eye(3), 100, axis=0)
    model = BilinearSimilarity("oasis").fit(np.eye(3), comparisons=[[0, 1, 2]])
    assert model.index(X).recall_ == 1.0


def test_without_usearch_an_index_says_what_to_install(data, model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r'pip install "nearer\[search\]"'):
        model.index(data[0])


def test_a_large_table_is_judged_by_some_of_it():
    import tracemalloc

    random = np.random.default_rng(0)
    X, y = random.normal(size=(40_000, 3)), random.integers(4, size=40_000)
    BilinearSimilarity("sdca", n_triplets=100, random_state=0).fit(X[:100], y[:100])
    tracemalloc.start()
    BilinearSimilarity("sdca", n_triplets=1000, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # a fifth of the objects, each with each other, would take half a gigabyte


def test_sampling_over_classes_hears_small_ones():
    y = np.repeat([0, 1, 2], [2, 10, 100])
    even = np.bincount(y[comparisons_from_labels(y, 3000, 0, sampling="classes").rows[:, 0]])
    assert even.min() > 900
    other = comparisons_from_labels(y, 3000, 0, sampling="classes").rows
    assert np.bincount(y[other[y[other[:, 0]] == 2, 2]], minlength=3)[:2].min() > 400
    by_object = np.bincount(y[comparisons_from_labels(y, 3000, 0).rows[:, 0]])
    assert by_object[0] < 100


def test_verbose_shows_the_choice_and_the_fit(data, capsys):
    X, y = data
    slowly = {"callback": lambda record: time.sleep(0.02)}  # a bar changes ten times per second at most
    BilinearSimilarity("sdca", n_triplets=300, random_state=0, verbose=True, **slowly).fit(X, y)
    shown = capsys.readouterr().err
    assert "choosing regularization" in shown
    assert "fit: 100%" in shown


def test_what_the_search_tried_is_kept(data):
    X, y = data
    seen = []
    model = BilinearSimilarity("sdca", n_triplets=500, random_state=0, callback=seen.append).fit(X, y)
    chosen = [record for record in model.selection_ if record["chosen"]]
    assert [record["regularization"] for record in chosen] == [model.regularization_]
    assert chosen[0]["error"] == min(record["error"] for record in model.selection_)
    assert all(0 < record["standard_error"] < 0.1 for record in model.selection_)  # over 150 queries
    assert all((record["difference_error"] > 0) != record["chosen"] for record in model.selection_)
    trials = [record for record in seen if record["stage"] != "fit"]
    assert len(trials) == 5 * len(model.selection_)
    assert model.fit(X, y).set_params(regularization=0.1).fit(X, y).selection_ is None
    assert BilinearSimilarity("oasis", random_state=0).fit(X, y).selection_ is None


@pytest.mark.parametrize("psd", [False, True])
def test_a_search_that_is_cut_short_leaves_a_model(data, psd):
    X, y = data
    model = BilinearSimilarity("sdca", random_state=0, psd=psd, callback=lambda record: True).fit(X, y)
    assert model.stop_reason_ == "callback"
    assert not model.converged_
    assert len(model.selection_) == 1
    assert model.score(X, y) > mean_average_precision(X @ X.T, y)
    assert 0 < model.gap_ < 1


@pytest.mark.parametrize(
    "settings", [FAST, {"psd": True, **FAST}, {"solver": "oasis", "max_iter": 10**6}, {"solver": "sdca"}]
)
def test_ctrl_c_and_the_clock_keep_what_was_learned(data, settings):
    X, y = data
    timed = BilinearSimilarity(**settings, tol=0.0, random_state=0, max_seconds=1e-6).fit(X, y)
    assert timed.stop_reason_ == "time"
    told = []

    def press(record):
        told.append(record)
        if len(told) == 2:
            signal.raise_signal(signal.SIGINT)

    stopped = BilinearSimilarity(**settings, tol=0.0, random_state=0, callback=press).fit(X, y)
    assert stopped.stop_reason_ == "interrupted"
    assert len(told) in (2, 3)
    assert not stopped.converged_
    assert stopped.score(X, y) > mean_average_precision(X @ X.T, y)


def test_a_solver_may_be_written_by_anybody(data):
    X, y = data

    class Mean(Solver):
        needs = ("matrix", "evaluate")

        def _solve(self, problem, start, monitor):
            alpha = np.ones(len(problem.triplets))
            matrix = problem.matrix(alpha)
            monitor.go_on(matrix, **problem.evaluate(matrix, alpha))
            return Solution(matrix, monitor.history[-1]["gap"], alpha)

    model = BilinearSimilarity(Mean(), tol=100.0, random_state=0).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > mean_average_precision(X @ X.T, y)


@pytest.fixture(scope="module")
def wide():
    """Seven classes in 450 columns, with less and less variation along the axes."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(7), 60)
    X = (random.normal(size=(7, 60))[y] + random.normal(size=(420, 60))) / np.sqrt(1 + np.arange(60))
    return X @ random.normal(size=(60, 450)) / 20 + 0.02 * random.normal(size=(420, 450)), y


def test_wide_tables_reach_the_optimum_of_sdca_sooner(wide):
    X, y = wide
    settings = {"regularization": 0.05, "tol": 1e-5, "n_triplets": 3000, "random_state": 0}
    steps = BilinearSimilarity(SDCA(), **settings).fit(X, y)
    sooner = BilinearSimilarity("sdca", **settings).fit(X, y)
    assert "n_steps" in steps.history_[-1]
    assert "n_steps" not in sooner.history_[-1]
    assert sooner.history_[0]["gap"] < 0.5  # that of M = 0 is 1
    for model in (steps, sooner):
        assert model.converged_
        assert 0 <= model.gap_ <= 1e-5
    bound = 2 * np.sqrt(2 * 1e-5 / 0.05)  # each is as near to the optimum as its gap says
    assert np.linalg.norm(steps.matrix_ - sooner.matrix_) < bound
    assert sooner.history_[-1]["loss"] == pytest.approx(steps.history_[-1]["loss"], abs=1e-5)


def test_steps_are_taken_where_they_are_asked_for_or_few(wide):
    X, y = wide
    few = comparisons_from_labels(y, 5 * len(y), 0)
    for model in (
        BilinearSimilarity("sdca", regularization=1.0, max_iter=2, tol=0.5, random_state=0).fit(X, y),
        BilinearSimilarity("sdca", regularization=1.0, tol=0.5, random_state=0).fit(X, comparisons=few),
        BilinearSimilarity("sdca", regularization=1.0, n_triplets=2600, tol=0.5, random_state=0).fit(
            csr_array(X), y
        ),
    ):
        assert "n_steps" in model.history_[-1]


@pytest.mark.parametrize("psd", [False, True])
def test_wide_tables_choose_the_regularization_in_their_leading_axes(wide, psd):
    X, y = wide
    train = np.arange(len(y)) % 3 > 0
    model = BilinearSimilarity("sdca", random_state=0, psd=psd, n_triplets=2000).fit(X[train], y[train])
    assert model.converged_
    assert model.matrix_.shape == (450, 450)
    scores = []
    for record in model.selection_[::2]:
        again = BilinearSimilarity(
            "sdca", regularization=record["regularization"], random_state=0, n_triplets=2000
        )
        scores.append(again.fit(X[train], y[train]).score(X[~train], y[~train]))
    assert model.score(X[~train], y[~train]) > max(scores) - 0.03
    stopped = BilinearSimilarity("sdca", random_state=0, psd=psd, callback=lambda record: True).fit(
        X[train], y[train]
    )
    assert stopped.matrix_.shape == (450, 450)
    assert 0 < stopped.gap_ < 1


def test_of_many_comparisons_some_are_tried_and_the_regularization_is_scaled(data, monkeypatch):
    X, y = data
    answers = comparisons_from_labels(y, 4000, 5).flip(0.2, random_state=0)
    monkeypatch.setattr(regularization, "MIN_JUDGED", 1000)
    monkeypatch.setattr(regularization, "WORK", 1.0)
    model = BilinearSimilarity("sdca", random_state=0).fit(X, comparisons=answers)
    (tried,) = [record["regularization"] for record in model.selection_ if record["chosen"]]
    assert model.regularization_ == pytest.approx(tried / 4)
    by_labels = BilinearSimilarity("sdca", random_state=0, n_triplets=4000).fit(X, y)
    (tried,) = [record["regularization"] for record in by_labels.selection_ if record["chosen"]]
    assert by_labels.regularization_ == tried
