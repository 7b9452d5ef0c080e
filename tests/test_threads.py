"""Threads: how many run at once, and that a fit does not depend on it."""

import os

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from nearer import OrdinalEmbedding
from nearer.simulate import comparisons_from_points
from nearer.threads import n_concurrent


def allowed(n):
    return n_concurrent(n)


def test_threads_inside_workers_of_joblib_are_their_share_of_the_cores():
    assert n_concurrent(4) == 4
    processes = Parallel(2)(delayed(allowed)(4) for _ in range(2))
    assert max(processes) <= max(1, (os.cpu_count() or 1) // 2)
    assert Parallel(2, backend="threading")(delayed(allowed)(4) for _ in range(2)) == [1, 1]
    assert Parallel(1)(delayed(allowed)(4) for _ in range(2)) == [4, 4]


def test_the_number_of_threads_at_once_does_not_change_a_fit():
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 2)), 3000, random_state=0)
    model = OrdinalEmbedding(2, "ste", "svrg-sbb", regularization=0.01, n_jobs=3, tol=1.0, random_state=0)
    expected = model.fit(answers).embedding_
    (found,) = Parallel(1, backend="threading")(delayed(model.fit)(answers) for _ in range(1))
    np.testing.assert_array_equal(found.embedding_, expected)
    first, _ = Parallel(2, backend="threading")(delayed(clone(model).fit)(answers) for _ in range(2))
    np.testing.assert_array_equal(first.embedding_, expected)


def test_scoring_in_threads_is_that_of_one(monkeypatch):
    monkeypatch.setattr("nearer.predict.BLOCK", 100)
    answers = comparisons_from_points(np.random.default_rng(0).normal(size=(20, 2)), 1000, random_state=0)
    model = OrdinalEmbedding(2, "ste", regularization=0.01, tol=1.0, random_state=0).fit(answers)
    scores = [model.set_params(n_jobs=n_jobs).predict_proba(answers) for n_jobs in (1, 3)]
    np.testing.assert_array_equal(*scores)
