"""LMNN: objective and gradient against plain loops over all triplets, and what a fit promises."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearer.similarity.lmnn import LMNN, solver
from nearer.similarity.lmnn import impostors as impostors_module
from nearer.similarity.lmnn.impostors import Search
from nearer.similarity.lmnn.problem import LargeMargin, target_neighbors


def literal_targets(X, y, k):
    """The k nearest rows of the same class of each row, by sorting all distances."""
    targets = []
    for i in range(len(X)):
        own = [j for j in range(len(X)) if j != i and y[j] == y[i]]
        targets.append(sorted(own, key=lambda j: ((X[i] - X[j]) ** 2).sum())[:k])
    return targets


def literal(L, X, y, targets, share):
    """The objective of the paper and its gradient, over all triplets, one after the other."""
    value, gradient = 0.0, np.zeros_like(L)
    for i, own in enumerate(targets):
        for j in own:
            near = X[i] - X[j]
            pull = L @ near
            value += (1 - share) * pull @ pull
            gradient += (1 - share) * 2 * np.outer(pull, near)
            for l in range(len(X)):  # noqa: E741 - the paper's name
                far = X[i] - X[l]
                push = L @ far
                hinge = 1 + pull @ pull - push @ push
                if y[l] != y[i] and hinge > 0:
                    value += share * hinge
                    gradient += share * 2 * (np.outer(pull, near) - np.outer(push, far))
    return value, gradient


def noisy_classes(n=240, noise_dims=6, classes=4, seed=0):
    """Classes that two columns tell apart, hidden among louder columns that tell nothing."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(n) % classes)
    angle = 2 * np.pi * y / classes
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.25 * random.normal(size=(n, 2))
    X = np.hstack([X, 1.5 * random.normal(size=(n, noise_dims))])
    return X, y


def sorted_problem(n=60, d=4, k=3, share=0.4, seed=0, **options):
    random = np.random.default_rng(seed)
    y = np.sort(random.integers(0, 3, n))
    X = random.normal(size=(n, d)) + 0.7 * random.normal(size=(3, d))[y]
    X -= X.mean(axis=0)
    targets = target_neighbors(X, y, k)
    return LargeMargin(X, y, targets, share, **options), X, y, [[t for t in row if t >= 0] for row in targets]


def test_targets_are_the_nearest_of_the_class():
    _, X, y, targets = sorted_problem()
    assert targets == literal_targets(X, y, 3)


@pytest.mark.parametrize("rows", [2, 4])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_value_and_gradient_are_the_literal_ones(share, rows):
    problem, X, y, targets = sorted_problem(share=share)
    for seed in range(3):
        L = np.random.default_rng(seed).normal(size=(rows, 4)) * 0.7
        value, gradient = problem.value_and_gradient(L)
        wanted, slope = literal(L, X, y, targets, share)
        assert value == pytest.approx(wanted, rel=1e-10)
        np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10 * np.abs(slope).max())


@pytest.mark.parametrize("rows", [3, 8])
@pytest.mark.parametrize("memory", [200_000_000, 8_000, 0])
def test_no_impostor_is_missed_however_the_map_moves(rows, memory, monkeypatch):
    monkeypatch.setattr(impostors_module, "BLOCK", 4_000)  # several blocks
    random = np.random.default_rng(1)
    kept, X, y, _ = sorted_problem(n=150, d=8, memory=memory)
    L = random.normal(size=(rows, 8)) * 0.5
    searches = 0
    for size in np.repeat([0.3, 0.01, 1e-3, 0.1], 8):
        fresh = LargeMargin(X, y, kept.targets, kept.push_share)
        value, gradient = kept.value_and_gradient(L)
        wanted, slope = fresh.value_and_gradient(L)
        assert kept.n_active == fresh.n_active
        assert value == pytest.approx(wanted, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10 * np.abs(slope).max())
        searches += 1
        L = L * (1 + size * random.normal(size=L.shape))
    assert kept.impostors.n_listed <= memory // 4
    if memory == 200_000_000:
        assert kept.impostors.n_searches < searches  # small moves are told apart from large ones


def test_what_is_not_listed_is_at_least_as_far_as_the_bound_says():
    problem, X, _, _ = sorted_problem(n=120, d=6)
    random = np.random.default_rng(2)
    for rows, size in [(6, 0.2), (6, 0.02), (2, 0.1)]:
        old = random.normal(size=(rows, 6))
        new = old + size * random.normal(size=old.shape)
        problem.impostors._searched = None
        value = problem.value_and_gradient(old)[0]
        assert value > 0
        before = np.linalg.norm((X[:, None] - X) @ old.T, axis=2)
        after = np.linalg.norm((X[:, None] - X) @ new.T, axis=2)
        outside = before >= problem.impostors._radii[:, None]
        for pull in impostors_module.PULLS:
            bounds = problem.impostors._bounds(new, pull)
            assert (after >= bounds[:, None] - 1e-12)[outside].all()


@pytest.mark.parametrize("far", [0.0, 3e4])
def test_a_search_in_single_precision_misses_nobody(far):
    random = np.random.default_rng(3)
    y = np.repeat([0, 1], 100)
    points = random.normal(size=(200, 5)) + far * random.normal(size=5) * y[:, None]
    points -= points.mean(axis=0)
    reach = random.uniform(1.0, 9.0, 200)
    lows, highs = np.searchsorted(y, y, "left"), np.searchsorted(y, y, "right")
    search = Search(points, reach, lows, highs)
    assert search.left.dtype == (np.float64 if far else np.float32)
    found, kept = search.block(slice(0, 200), 0)
    assert not kept
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    for i in range(200):
        listed = set(found.others[found.starts[i] : found.starts[i + 1]].tolist())
        assert set(np.flatnonzero((distances[i] < reach[i]) & (y != y[i])).tolist()) <= listed


@pytest.mark.parametrize("n_components", [None, 2])
def test_the_loss_of_a_fit_is_the_literal_objective_of_its_components(n_components):
    X, y = noisy_classes(90)
    X[:, 4] = 7.25  # a column that tells nothing at all
    model = LMNN(2, n_components=n_components, regularization=0.4).fit(X, y)
    targets = literal_targets(X, y, 2)
    wanted, _ = literal(model.components_, X, y, targets, 0.6)
    assert model.history_[-1]["loss"] == pytest.approx(wanted, rel=1e-10)
    unit = np.sqrt(np.mean([((X[i] - X[j]) ** 2).sum() for i, own in enumerate(targets) for j in own]))
    if n_components is None:
        plain, _ = literal(np.eye(8) / unit, X, y, targets, 0.6)
        assert model.history_[0]["loss"] == pytest.approx(plain, rel=1e-10)
    assert wanted < 0.8 * model.history_[0]["loss"]
    losses = [record["loss"] for record in model.history_]
    assert (np.diff(losses) <= 1e-12 * losses[0]).all()
    assert not model.components_[:, 4].any()


@pytest.mark.parametrize(
    ("n_components", "noise_dims", "most"), [(None, 6, 300), (2, 6, 300), (2, 6, 7), (2, 2, 300)]
)
def test_neighbours_are_better_in_the_learned_space(n_components, noise_dims, most, monkeypatch):
    monkeypatch.setattr(solver, "MAX_DIRECTIONS", most)
    X, y = noisy_classes(1200, noise_dims)
    model = LMNN(n_components=n_components).fit(X[::2], y[::2])
    plain = KNeighborsClassifier(3).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    learned = KNeighborsClassifier(3).fit(model.transform(X[::2]), y[::2])
    assert model.converged_
    assert model.components_.shape == (n_components or X.shape[1], X.shape[1])
    assert learned.score(model.transform(X[1::2]), y[1::2]) > max(plain, 0.97)


def test_the_optimum_is_that_of_another_start():
    X, y = noisy_classes(200, noise_dims=2)
    order = np.argsort(y, kind="stable")
    rows, numbers = X[order] - X.mean(axis=0), y[order]
    problem = LargeMargin(rows, numbers, target_neighbors(rows, numbers, 3), 0.5)
    from scipy.optimize import minimize

    def objective(flat):
        value, gradient = problem.value_and_gradient(flat.reshape(4, 4))
        return value, gradient.ravel()

    random = np.random.default_rng(0).normal(size=16)
    best = minimize(objective, random, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).fun
    assert LMNN(tol=1e-7).fit(X, y).history_[-1]["loss"] == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_the_units_of_X_make_no_difference(unit):
    X, y = noisy_classes(150)
    here, there = LMNN().fit(X, y), LMNN().fit(unit * X, y)
    assert there.history_[-1]["loss"] == pytest.approx(here.history_[-1]["loss"], rel=1e-4)
    np.testing.assert_allclose(there.distance(unit * X, unit * X), here.distance(X, X), rtol=0.02, atol=0.02)


def test_the_order_of_rows_and_the_names_of_classes_make_no_difference():
    X, y = noisy_classes(150)
    order = np.random.default_rng(0).permutation(150)
    names = np.array(["d", "a", "c", "b"])[y]
    here, there = LMNN().fit(X, y), LMNN().fit(X[order], names[order])
    assert there.history_[-1]["loss"] == pytest.approx(here.history_[-1]["loss"], rel=1e-4)


def test_small_classes_use_what_they_have():
    X = np.random.default_rng(0).normal(size=(23, 3))
    y = np.array([0] * 10 + [1] * 10 + [2] * 2 + [3])
    targets_of_two = target_neighbors(X[:22], y[:22], 3)
    assert targets_of_two[20].tolist() == [21, -1, -1]
    with pytest.warns(UserWarning, match="1 of 4 classes have one member"):
        model = LMNN().fit(X, y)
    assert np.isfinite(model.components_).all()
    wanted, _ = literal(model.components_, X, y, literal_targets(X, y, 3), 0.5)
    assert model.history_[-1]["loss"] == pytest.approx(wanted, rel=1e-10)


def test_rows_and_columns_that_say_nothing_new():
    X, y = noisy_classes(120, noise_dims=2)
    doubled = np.hstack([X, X[:, :1] + X[:, 1:2], np.zeros((120, 1))])
    model = LMNN().fit(doubled, y)
    assert model.components_.shape == (4, 6)
    assert not model.components_[:, 5].any()
    for n_components in (None, 2):  # all targets at distance 0
        same = LMNN(n_components=n_components).fit(np.repeat(X[:8], 4, axis=0), np.repeat(np.arange(8), 4))
        assert np.isfinite(same.components_).all()
    wide = np.random.default_rng(0).normal(size=(20, 50))
    assert LMNN().fit(wide, np.arange(20) % 2).components_.shape == (19, 50)


def test_the_callback_sees_every_iteration_and_can_stop():
    X, y = noisy_classes(120)
    seen = []

    def watch(record):
        seen.append(record)
        return record["iteration"] == 3

    model = LMNN(callback=watch).fit(X, y)
    assert [record["iteration"] for record in seen] == [0, 1, 2, 3]
    assert model.n_iter_ == 3
    assert not model.converged_
    assert set(model.history_[0]) == {"iteration", "loss", "active", "seconds"}
    np.testing.assert_allclose(np.abs(seen[-1]["components"]), np.abs(model.components_))


def test_a_fit_that_is_cut_short_says_so():
    X, y = noisy_classes(120)
    with pytest.warns(ConvergenceWarning, match="after 2 iterations"):
        model = LMNN(max_iter=2).fit(X, y)
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer; got 0"),
        ({"regularization": 1.0}, "regularization must be a number between 0 and 1; got 1.0"),
        ({"n_components": 9}, "n_components must be at most 8, the columns of X; got 9"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1}, "tol must be"),
        ({"callback": 3}, "callback must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
    ],
)
def test_parameters_that_cannot_be(options, said):
    X, y = noisy_classes(40)
    with pytest.raises(ValueError, match=said):
        LMNN(**options).fit(X, y)


def test_data_that_cannot_be():
    X, y = noisy_classes(40)
    with pytest.raises(ValueError, match="y has 1 class"):
        LMNN().fit(X, np.zeros(40))
    with pytest.raises(ValueError, match="each of the 40 classes has one member"):
        LMNN().fit(X, np.arange(40))
    with pytest.raises(ValueError, match="all 40 rows of X are the same"):
        LMNN().fit(np.ones((40, 3)), y)
    with pytest.raises(TypeError, match="dense data is required"):
        LMNN().fit(csr_array(X), y)


def test_verbose_shows_a_bar(capsys):
    X, y = load_wine(return_X_y=True)
    LMNN(max_iter=50, verbose=True).fit(X[:, :4], y)
    assert "fit: 100%" in capsys.readouterr().err


MEMORY_OF_A_FIT = """
import numpy as np
from nearer.similarity.lmnn import LMNN
random = np.random.default_rng(0)
def fit(n):
    y = np.arange(n) % 10
    X = random.normal(size=(n, 6)) + 2 * random.normal(size=(10, 6))[y]
    LMNN(max_iter=3, callback=lambda record: record["iteration"] == 3).fit(X, y)
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
before = fit(500)
print(fit(12_000) - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_grows_with_the_rows_not_with_their_square():
    done = subprocess.run([sys.executable, "-c", MEMORY_OF_A_FIT], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 300  # MB; a table of all distances would be 1,150


@parametrize_with_checks([LMNN()])
def test_sklearn_checks(estimator, check):
    check(estimator)
