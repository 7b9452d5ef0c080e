"""How a fit begins: a sample, a start with room to spare, and a ridge that the answers call for."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons, OrdinalEmbedding
from nearer.embedding.init import center, project
from nearer.selection import Trial, smallest_good, subsample
from nearer.simulate import comparisons_from_points


def trial(ridge, wrong):
    return Trial({"regularization": ridge}, np.asarray(wrong, dtype=float), [])


def test_the_smallest_ridge_that_can_hardly_be_told_from_the_best_is_taken():
    best = np.zeros(1000)
    best[:100] = 1
    slightly, clearly = best.copy(), best.copy()
    slightly[95:105] = 1 - slightly[95:105]  # wrong on five other rows: as many errors
    clearly[100:130] = 1  # thirty more errors
    assert smallest_good([trial(0.01, best), trial(0.001, slightly), trial(0.1, best)]).value == 0.001
    assert smallest_good([trial(0.01, best), trial(0.001, clearly), trial(0.1, best)]).value == 0.01
    assert smallest_good([trial(0.03, best)]).value == 0.03


def test_noise_calls_for_more_ridge():
    points = np.random.default_rng(0).normal(size=(40, 2))
    ridges = []
    for share in (0.0, 0.35):
        answers = comparisons_from_points(points, 2000, random_state=1).flip(share, random_state=2)
        ridges.append(OrdinalEmbedding(5, random_state=0).fit(answers).regularization_)
    assert ridges[0] < ridges[1]


def test_more_dimensions_do_not_make_the_default_learn_by_heart():
    """The map of a plane from few, noisy answers: held-out accuracy in five dimensions is that in two."""
    points = np.random.default_rng(3).normal(size=(60, 2))
    train, test = comparisons_from_points(points, 4000, random_state=4).flip(0.15, random_state=5).split(0.25, 6)
    scores = {d: OrdinalEmbedding(d, random_state=0).fit(train).score(test) for d in (2, 5)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        by_heart = OrdinalEmbedding(5, "ste", regularization=0.0, random_state=0).fit(train).score(test)
    assert scores[5] > scores[2] - 0.02
    assert scores[5] > by_heart


def test_a_sample_takes_whole_answers():
    triples = np.random.default_rng(0).permuted(np.tile(np.arange(20), (500, 1)), axis=1)[:, :3]
    answers = Comparisons.from_odd_one_out(triples, "last", n_objects=20)
    part = subsample(answers, 300, np.random.default_rng(0))
    assert 200 < len(part) < 400
    assert len(part) == 2 * part.n_answers
    assert subsample(answers, 1000, np.random.default_rng(0)) is answers


def test_principal_axes_keep_the_most_spread():
    points = np.random.default_rng(0).normal(size=(100, 3)) * [5.0, 0.1, 2.0] + 7.0
    kept = project(points, 2)
    np.testing.assert_allclose(kept.mean(axis=0), 0, atol=1e-12)
    assert np.var(kept) * 2 == pytest.approx(np.var(points[:, [0, 2]], axis=0).sum(), rel=0.01)


def test_objects_never_asked_about_are_at_the_origin():
    moved = center(np.arange(8.0).reshape(4, 2), np.array([True, True, False, True]))
    np.testing.assert_allclose(moved[[0, 1, 3]].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(moved[2], 0)
