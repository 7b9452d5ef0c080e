"""FeatureMap: KernelRidge, objects left out one by one, and objects that nobody was asked about."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from extras import needs
from nearer import ComparisonKernel, OrdinalEmbedding, load_model
from nearer.features import FeatureMap
from nearer.features.feature_map import ALPHAS, leave_one_out_errors, select_alpha
from nearer.metrics import triplet_error
from nearer.simulate import all_triplets, comparisons_from_points, flip


def features_and_points(n=40, seed=0):
    """Features far from the origin, and points that depend on them by a curve, with some noise."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)) * [1, 2, 1, 1] + 5
    points = np.column_stack([np.sin(X[:, 0]), X[:, 1] / 3]) + 0.1 * random.normal(size=(n, 2)) + [3, -7]
    return X, points


def mean_squared_distance(X):
    i, j = np.triu_indices(len(X), 1)
    return ((X[i] - X[j]) ** 2).sum(axis=1).mean()


@given(st.integers(0, 999), st.sampled_from([0.001, 0.1, 10.0]), st.sampled_from([None, 0.3]))
@settings(max_examples=20, deadline=None)
def test_it_is_kernel_ridge_regression_of_centred_points(seed, alpha, gamma):
    X, points = features_and_points(seed=seed)
    new = features_and_points(15, seed + 1)[0]
    model = FeatureMap(alpha=alpha, gamma=gamma).fit(X, points)
    width = 1 / mean_squared_distance(X) if gamma is None else gamma
    assert model.gamma_ == pytest.approx(width)
    literal = KernelRidge(alpha=alpha, kernel="rbf", gamma=width).fit(X, points - points.mean(axis=0))
    np.testing.assert_allclose(model.predict(new), literal.predict(new) + points.mean(axis=0), atol=1e-8)
    np.testing.assert_array_equal(model.transform(new), model.predict(new))


def test_the_linear_kernel_is_of_centred_features():
    X, points = features_and_points()
    model = FeatureMap("linear", alpha=2.0).fit(X, points)
    middle = X.mean(axis=0)
    literal = KernelRidge(alpha=2.0, kernel="linear").fit(X - middle, points - points.mean(axis=0))
    np.testing.assert_allclose(model.predict(X + 1), literal.predict(X + 1 - middle) + points.mean(axis=0))
    assert model.gamma_ is None


def test_one_number_an_object():
    X, points = features_and_points()
    model = FeatureMap().fit(X, points[:, 0])
    assert model.predict(X).shape == (40,)
    assert model.transform(X).shape == (40, 1)
    np.testing.assert_allclose(model.predict(X), FeatureMap().fit(X, points).predict(X)[:, 0])


@pytest.mark.parametrize("shape", [(12, 2), (12,)])
def test_leaving_out_in_closed_form_is_leaving_out(shape):
    X, points = features_and_points(12)
    points = points if len(shape) == 2 else points[:, 0]
    model = FeatureMap().fit(X, points)
    alphas = np.array([10.0, 0.1, 0.001])
    found = leave_one_out_errors(model._kernel(model.X_fit_), points, alphas)
    for alpha, errors in zip(alphas, found, strict=True):
        for i in range(12):
            rest = np.arange(12) != i
            without = FeatureMap(alpha=alpha, gamma=model.gamma_).fit(X[rest], points[rest])
            missed = np.atleast_1d(points[i] - without.predict(X[[i]])[0])
            assert errors[i] == pytest.approx((missed**2).sum(), rel=1e-6)


def test_auto_takes_the_smallest_that_is_hardly_worse_than_the_best():
    X, points = features_and_points()
    model = FeatureMap(alpha="auto").fit(X, points)
    errors = leave_one_out_errors(model._kernel(model.X_fit_), points, np.array(ALPHAS))
    means = errors.mean(axis=1)
    best = np.argmin(means)
    good = [
        alpha
        for alpha, mean, excess in zip(ALPHAS, means, errors - errors[best], strict=True)
        if mean - means[best] <= excess.std(ddof=1) / np.sqrt(40)
    ]
    assert model.alpha_ == min(good) <= ALPHAS[best]
    np.testing.assert_allclose(model.predict(X), FeatureMap(alpha=model.alpha_).fit(X, points).predict(X))


def test_auto_follows_noise_and_the_scale_of_a_linear_kernel():
    X, points = features_and_points(100)
    noise = np.random.default_rng(1).normal(size=points.shape)
    assert (
        FeatureMap(alpha="auto").fit(X, points + 3 * noise).alpha_ > FeatureMap(alpha="auto").fit(X, points).alpha_
    )
    small, large = (FeatureMap("linear", alpha="auto").fit(scale * X, points) for scale in (1e-3, 1e3))
    np.testing.assert_allclose(small.predict(1e-3 * X), large.predict(1e3 * X))


def test_features_and_points_without_spread():
    same = FeatureMap(alpha="auto").fit(np.ones((5, 2)), np.arange(5.0))
    assert same.gamma_ == 1
    np.testing.assert_allclose(same.predict([[1.0, 1.0]]), [2.0])
    assert select_alpha(np.zeros((3, 3)), np.zeros(3)) == min(ALPHAS)


def test_blocks_of_new_objects_give_the_same(monkeypatch):
    X, points = features_and_points()
    model = FeatureMap().fit(X, points)
    whole = model.predict(X)
    monkeypatch.setattr("nearer.features.feature_map.BLOCK", 3 * 40)
    np.testing.assert_allclose(model.predict(X), whole, rtol=1e-12)


def test_a_map_is_carried_to_objects_nobody_was_asked_about():
    random = np.random.default_rng(0)
    truth = random.normal(size=(80, 2))
    X = np.tanh(truth @ random.normal(size=(2, 10))) + 0.05 * random.normal(size=(80, 10))
    answers = comparisons_from_points(truth[:60], 4000, noise=flip(0.05), random_state=0)
    model = OrdinalEmbedding(2, random_state=0).fit(answers)
    questions = all_triplets(truth[60:])
    for feature_map in (FeatureMap(), FeatureMap(alpha="auto"), make_pipeline(StandardScaler(), FeatureMap())):
        points = feature_map.fit(X[:60], model).transform(X[60:])
        assert triplet_error(points, questions) < 0.2


def test_objects_the_model_was_never_asked_about_are_left_out():
    X, points = features_and_points()
    answers = comparisons_from_points(points[:30], 3000, random_state=0)
    rows = np.where(answers.rows >= 10, answers.rows + 10, answers.rows)  # nothing about objects 10 to 19
    model = OrdinalEmbedding(2, random_state=0).fit(rows)
    assert not model.embedding_[10:20].any()
    asked = np.r_[0:10, 20:40]
    carried = FeatureMap().fit(X, model)
    np.testing.assert_allclose(
        carried.predict(X), FeatureMap().fit(X[asked], model.embedding_[asked]).predict(X), rtol=1e-12
    )


def test_inputs_are_left_alone_and_data_frames_taken():
    X, points = features_and_points()
    given_X, given_points = X.copy(), points.copy()
    model = FeatureMap().fit(X, points)
    np.testing.assert_array_equal(X, given_X)
    np.testing.assert_array_equal(points, given_points)
    needs("pandas")
    from pandas import DataFrame

    table = DataFrame(X, columns=list("abcd"))
    framed = FeatureMap().fit(table, DataFrame(points))
    np.testing.assert_array_equal(framed.predict(table), model.predict(X))


def test_in_a_grid_search():
    X, points = features_and_points()
    search = GridSearchCV(FeatureMap(), {"alpha": [0.1, 1e4]}, cv=3).fit(X, points)
    assert search.best_params_ == {"alpha": 0.1}
    assert search.best_score_ > 0.5


@pytest.mark.parametrize("framed", [False, True])
def test_save_and_load(tmp_path, framed):
    X, points = features_and_points()
    if framed:
        needs("pandas")
        from pandas import DataFrame

        X = DataFrame(X, columns=list("abcd"))
    for model in (FeatureMap(alpha="auto"), FeatureMap("linear"), FeatureMap(gamma=0.5)):
        for y in (points, points[:, 0]):
            model.fit(X, y).save(tmp_path / "map.nearer")
            again = load_model(tmp_path / "map.nearer")
            assert again.get_params() == model.get_params()
            assert (again.alpha_, again.gamma_) == (model.alpha_, model.gamma_)
            np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(NotFittedError, match="learned nothing yet"):
        clone(model).save(tmp_path / "none.nearer")


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("dual_coef_", np.ones((39, 2))),
        ("intercept_", np.ones(3)),
        ("feature_mean_", np.ones(3)),
        ("gamma_", None),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(tmp_path, attribute, value):
    model = FeatureMap().fit(*features_and_points())
    setattr(model, attribute, value)
    model.save(tmp_path / "map.nearer")
    with pytest.raises(ValueError, match=r"is damaged: .* do not fit together"):
        load_model(tmp_path / "map.nearer")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones((39, 2)), r"X has 40 rows, but y has points of shape \(39, 2\)"),
        (np.empty((0, 2)), r"X has 40 rows, but y has points of shape \(0, 2\)"),
        (None, "requires y to be passed"),
        (np.full((40, 2), np.nan), "y contains NaN"),
        (OrdinalEmbedding(), "a OrdinalEmbedding without points .*: fit it first"),
        (ComparisonKernel(), r"a ComparisonKernel without points .* or give the points themselves"),
    ],
)
def test_points_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        FeatureMap().fit(features_and_points()[0], y)


def test_a_model_of_other_objects_is_refused():
    X, _ = features_and_points()
    model = OrdinalEmbedding(2, random_state=0).fit([[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    with pytest.raises(ValueError, match=r"X has 40 rows, but y has points of shape \(3, 2\)"):
        FeatureMap().fit(X, model)
    model.embedding_[:] = 0
    with pytest.raises(ValueError, match="fewer than two of the 3 objects of the OrdinalEmbedding have a point"):
        FeatureMap().fit(X[:3], model)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "cosine"}, "kernel must be 'rbf' or 'linear'; got 'cosine'"),
        ({"kernel": None}, "kernel must be 'rbf' or 'linear'; got None"),
        ({"alpha": 0}, "alpha must be a number > 0 or 'auto'; got 0"),
        ({"alpha": "best"}, "alpha must be a number > 0 or 'auto'; got 'best'"),
        ({"gamma": -1}, "gamma must be None or a number > 0; got -1"),
    ],
)
def test_parameters_that_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        FeatureMap(**parameters).fit(*features_and_points())


def name_of(part):
    return f"alpha={part.alpha}" if isinstance(part, FeatureMap) else getattr(part, "func", part).__name__


def checks():
    for model in (FeatureMap(), FeatureMap(alpha="auto")):
        yield from estimator_checks_generator(model, legacy=True)


@pytest.mark.parametrize(("estimator", "check"), list(checks()), ids=name_of)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_refused_fit_leaves_the_map_as_it_was():
    random = np.random.default_rng(0)
    X, points = random.normal(size=(20, 3)), random.normal(size=(20, 2))
    model = FeatureMap().fit(X, points)
    before = model.predict(X)
    with pytest.raises(ValueError, match="10"):
        model.fit(X[:, :2], points[:10])
    np.testing.assert_array_equal(model.predict(X), before)
