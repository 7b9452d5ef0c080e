"""ComparisonKernel as its users meet it."""

import os
import pickle
import signal
import warnings

import numpy as np
import pytest
from literal_convex import Softplus
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from nearer import ComparisonKernel, Comparisons, OrdinalEmbedding, load_model
from nearer.certificate import certify
from nearer.losses import CKL, GNMDS, SOE, STE, TSTE, baseline_loss
from nearer.metrics import procrustes
from nearer.simulate import comparisons_from_points

POINTS = np.random.default_rng(0).normal(size=(25, 2))
ANSWERS = comparisons_from_points(POINTS, 2500, random_state=0)
NOISY = ANSWERS.flip(0.1, random_state=0)


@pytest.mark.parametrize("loss", ["gnmds", "ste", "ckl"])
def test_the_default_survives_wrong_answers(loss):
    train, test = NOISY.split(random_state=0)
    model = ComparisonKernel(loss, random_state=0).fit(train)
    assert model.converged_
    assert model.score(test) > 0.82  # 0.9 is the most that ten percent of wrong answers allow
    assert procrustes(model.embed(2), POINTS).disparity < 0.15


def test_what_is_learned():
    names, seen = [f"object {i}" for i in range(26)], []
    model = ComparisonKernel(regularization=0.05, callback=lambda record: seen.append(record["kernel"])).fit(
        Comparisons(NOISY.rows, names=names)
    )
    K = model.kernel_
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * np.trace(K)
    np.testing.assert_allclose(K.sum(axis=0), 0, atol=1e-8)
    np.testing.assert_array_equal(K[25], 0)  # never asked about
    assert isinstance(model.loss_, GNMDS)
    assert (model.names_, model.regularization_, model.n_features_in_) == (tuple(names), 0.05, 3)
    assert len(model.history_) == len(seen) == model.n_iter_ + 1
    assert set(model.history_[0]) == {"iteration", "loss", "step_size", "rank", "gap", "seconds"}
    assert (model.stop_reason_, model.selection_) == ("converged", None)
    assert model.history_[-1]["loss"] == model.objective_
    assert model.history_[-1]["gap"] == model.gap_ <= 1e-5
    np.testing.assert_allclose(seen[-1], K, atol=1e-14)
    ckl = ComparisonKernel("ckl", regularization=0.05).fit(NOISY)
    assert ckl.gap_ is None
    assert "residual" in ckl.history_[-1]


def test_it_is_a_lower_bound_of_every_map():
    kernel = ComparisonKernel("ste", regularization=0.02).fit(NOISY)
    for d in (2, 10):
        points = OrdinalEmbedding(d, "ste", regularization=0.02, random_state=0).fit(NOISY).embedding_
        objective = certify(points, NOISY, STE(), 0.02)
        assert objective.lower_bound <= kernel.objective_
        assert objective.lower_bound + objective.excess > kernel.objective_ - kernel.gap_
    assert objective.lower_bound + objective.excess < kernel.objective_ + 0.01  # ten dimensions are nearly enough


@pytest.mark.parametrize("loss", ["gnmds", "ste"])
def test_renaming_objects_renames_the_kernel(loss):
    order = np.random.default_rng(1).permutation(25)
    how = {"regularization": 0.05, "tol": 1e-7, "max_iter": 500}
    plain = ComparisonKernel(loss, **how).fit(NOISY)
    renamed = ComparisonKernel(loss, **how).fit(Comparisons(order[NOISY.rows], n_objects=25))
    np.testing.assert_allclose(renamed.kernel_[np.ix_(order, order)], plain.kernel_, atol=5e-3)
    assert renamed.objective_ == pytest.approx(plain.objective_, abs=2e-7)


def test_weight_two_is_the_same_as_saying_it_twice_and_triplets_are_quadruplets():
    rows, how = NOISY.rows[:600], {"regularization": 0.05, "tol": 1e-7}
    twice = ComparisonKernel("ste", **how).fit(Comparisons(np.vstack([rows, rows[:200]]), n_objects=25))
    heavy = ComparisonKernel("ste", **how).fit(rows, sample_weight=np.where(np.arange(600) < 200, 2.0, 1.0))
    np.testing.assert_allclose(twice.kernel_, heavy.kernel_, atol=5e-3)
    answers = Comparisons(rows, n_objects=25)
    three, four = (ComparisonKernel("ste", **how).fit(given) for given in (answers, answers.as_quadruplets()))
    np.testing.assert_allclose(three.kernel_, four.kernel_, atol=1e-10)
    assert four.n_features_in_ == 4
    turned = ComparisonKernel("ste", **how).fit(rows[:, [0, 2, 1]], y=-np.ones(600))
    np.testing.assert_allclose(turned.kernel_, three.kernel_, atol=1e-10)


def test_noise_calls_for_more_ridge():
    ridges = [
        ComparisonKernel("ste", random_state=0).fit(ANSWERS.flip(share, random_state=2)).regularization_
        for share in (0.0, 0.35)
    ]
    assert ridges[0] < ridges[1]
    few = ComparisonKernel("ste", random_state=0).fit([[0, 1, 2], [1, 2, 0]])
    assert few.regularization_ == 0.01
    assert few.selection_ == []


def test_the_search_for_the_ridge_is_recorded_and_can_be_stopped():
    seen = []
    model = ComparisonKernel("ste", random_state=0, callback=lambda record: seen.append(record)).fit(NOISY)
    tried = [record["regularization"] for record in model.selection_]
    assert tried == sorted(tried, reverse=True)
    assert [r["regularization"] for r in model.selection_ if r["chosen"]] == [model.regularization_]
    trials = [record["regularization"] for record in seen if record["stage"] == "choosing regularization"]
    assert trials == np.repeat(tried, 5).tolist()
    stopped = ComparisonKernel("ste", random_state=0, callback=lambda r: r["iteration"] == 7).fit(NOISY)
    assert (stopped.stop_reason_, stopped.n_iter_, len(stopped.selection_)) == ("callback", 0, 1)
    assert stopped.kernel_.shape == (25, 25)


def test_time_and_an_interruption_end_a_fit_with_the_best_so_far():
    late = ComparisonKernel("ste", regularization=0.01, tol=0.0, max_seconds=1e-9).fit(NOISY)
    assert (late.stop_reason_, late.n_iter_, late.converged_) == ("time", 0, False)

    def interrupt(record):
        if record["iteration"] == 2:
            os.kill(os.getpid(), signal.SIGINT)

    model = ComparisonKernel("ste", regularization=0.01, tol=0.0, callback=interrupt).fit(NOISY)
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 2)
    assert model.history_[-1]["loss"] == model.objective_


def test_a_loss_of_ones_own(tmp_path):
    how = {"regularization": 0.05, "tol": 1e-7}
    own, house = (ComparisonKernel(loss, **how).fit(NOISY) for loss in (Softplus(), "ste"))
    np.testing.assert_allclose(own.kernel_, house.kernel_, atol=5e-3)
    assert own.gap_ < 1e-7
    own.save(tmp_path / "own.nearer")
    with pytest.raises(ValueError, match="object of your own"):
        load_model(tmp_path / "own.nearer")
    again = load_model(tmp_path / "own.nearer", loss=Softplus())
    np.testing.assert_array_equal(again.predict_proba(NOISY), own.predict_proba(NOISY))


def test_a_callback_can_stop_and_a_short_fit_warns():
    with pytest.warns(ConvergenceWarning, match=r"3 iterations with a gap of .*: raise max_iter or tol"):
        short = ComparisonKernel(regularization=0.1, max_iter=3).fit(NOISY)
    assert not short.converged_
    assert short.n_iter_ == 3
    best = ComparisonKernel(regularization=0.1).fit(NOISY)
    assert short.objective_ - best.objective_ <= short.gap_
    with pytest.warns(ConvergenceWarning, match="a residual of"):
        ComparisonKernel("ckl", regularization=0.0, max_iter=1, tol=0.0).fit(NOISY)
    # tol is a share of the loss with all objects at one place, log 2 for STE: the warning says what that is.
    with pytest.warns(ConvergenceWarning, match=r"a gap of .* \(tol=0\.001 asks for 0\.00069\)"):
        ComparisonKernel("ste", regularization=0.001, max_iter=1, tol=0.001).fit(NOISY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopped = ComparisonKernel(regularization=0.01, callback=lambda r: r["iteration"] == 2).fit(NOISY)
    assert not stopped.converged_
    assert stopped.n_iter_ == 2


def test_the_bar_is_shown(capsys):
    ComparisonKernel("ste", regularization=0.1, verbose=True).fit(NOISY)
    assert "fit: 100%" in capsys.readouterr().err


def test_save_load_and_pickle(tmp_path):
    model = ComparisonKernel(GNMDS(margin=2.0), regularization=0.1).fit(NOISY)
    model.save(tmp_path / "kernel.nearer")
    for again in (load_model(tmp_path / "kernel.nearer"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.kernel_, model.kernel_)
        np.testing.assert_array_equal(again.predict(NOISY), model.predict(NOISY))
        assert (again.gap_, again.converged_, again.history_) == (model.gap_, model.converged_, model.history_)
        assert again.loss_.margin == 2.0
    model.save(tmp_path / "same.nearer")
    assert (tmp_path / "same.nearer").read_bytes() == (tmp_path / "kernel.nearer").read_bytes()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda K: K - np.eye(len(K)), "not positive semidefinite"),
        (lambda K: K + np.triu(np.ones_like(K), 1), "not symmetric"),
        (lambda K: K[:-1], "square"),
        (lambda K: K[:-1, :-1], "25 names of 24"),
    ],
)
def test_a_file_that_holds_no_kernel_is_refused(tmp_path, spoil, words):
    names = [f"o{i}" for i in range(25)]
    model = ComparisonKernel("ste", regularization=0.1).fit(Comparisons(NOISY.rows, names=names))
    model.kernel_ = spoil(model.kernel_)
    model.save(tmp_path / "bad.nearer")
    with pytest.raises(ValueError, match=rf"bad\.nearer is damaged: .*{words}"):
        load_model(tmp_path / "bad.nearer")


def test_scikit_learn_selects_and_validates():
    assert cross_val_score(ComparisonKernel("ste", regularization=0.1), NOISY, cv=3).min() > 0.8
    search = GridSearchCV(ComparisonKernel(GNMDS(), regularization=0.3), {"loss__margin": [0.5, 2.0]}, cv=2)
    assert search.fit(NOISY).best_estimator_.kernel_.shape == (25, 25)
    copy = clone(ComparisonKernel(STE(), regularization=0.5))
    assert isinstance(copy.loss, STE)
    assert copy.get_params()["regularization"] == 0.5


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"loss": "tste"}, r'no convex form over kernels: loss must be "gnmds", "ste", "ckl", or an object'),
        ({"loss": TSTE(alpha=1.0)}, "no convex form"),
        ({"loss": SOE()}, "no convex form"),
        ({"loss": "hinge"}, "unknown loss 'hinge'"),
        ({"loss": CKL}, "loss must be"),
        ({"regularization": -1.0}, "regularization must be 'auto' or a number >= 0; got -1.0"),
        ({"regularization": "some"}, "regularization must be"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": -1e-3}, "tol must be"),
        ({"callback": 3}, "callback must be"),
    ],
)
def test_a_wrong_parameter_is_named(how, words):
    model = ComparisonKernel(**how)
    with pytest.raises(ValueError, match=words):
        model.fit(NOISY)
    assert not hasattr(model, "kernel_")


def test_wrong_rows_and_unfitted_models():
    for rows, words in (([[0, 0, 1]], "row 0 compares object 0 with itself"), ([[0, 1]], "columns")):
        with pytest.raises(ValueError, match=words):
            ComparisonKernel().fit(rows)
    with pytest.raises(ValueError, match="nothing to learn from"):
        ComparisonKernel().fit(NOISY, sample_weight=np.zeros(len(NOISY)))
    for name in ("predict", "predict_proba", "score", "neighbors"):
        with pytest.raises(NotFittedError):
            getattr(ComparisonKernel(), name)([[0, 1, 2]])


@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl"])
def test_a_strong_ridge_is_not_called_converged_before_it_is(loss):
    """All objects at one place are the optimum: the start is far above, and may not pass for it."""
    points = np.random.default_rng(0).normal(size=(15, 2))
    model = ComparisonKernel(loss, regularization=100.0).fit(comparisons_from_points(points, 400, random_state=0))
    assert model.converged_
    assert model.objective_ == pytest.approx(baseline_loss(model.loss_), rel=1e-4)


class Steep:
    """A loss of plain distances, whose slope is infinite where objects meet."""

    def value(self, near, far):
        return np.sqrt(near) - np.sqrt(far) + 5.0

    def slopes(self, near, far):
        return 0.5 / np.sqrt(near), -0.5 / np.sqrt(far)

    def probability(self, near, far):
        return 1.0 / (1.0 + np.exp(near - far))


def test_a_slope_that_is_not_finite_is_told():
    points = np.random.default_rng(0).normal(size=(15, 2))
    with pytest.raises(ValueError, match="not finite"):
        ComparisonKernel(Steep(), regularization=1.0).fit(comparisons_from_points(points, 400, random_state=0))
