"""How far a map is from the best of all kernels, and the way out of a bad minimum."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from nearer import Comparisons, OrdinalEmbedding
from nearer.embedding import LBFGS
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.escape import steepest_direction, widen
from nearer.losses import STE, TSTE
from nearer.simulate import comparisons_from_points

LINE = np.random.default_rng(5).normal(size=(25, 1))
ON_A_LINE = comparisons_from_points(LINE, 5000, random_state=5)


def stuck(**parameters):
    """A fit on a line that starts in a wrong order and cannot leave it."""
    start = np.random.default_rng(2).normal(size=(25, 1))
    how = {"regularization": 0.003, "init": start, "random_state": 0, **parameters}
    return OrdinalEmbedding(1, "tste", "svrg-sbb", **how).fit(ON_A_LINE)


def test_escape_leaves_a_bad_minimum():
    plain, free = stuck(), stuck(escape=True)
    assert plain.history_[-1]["loss"] > free.history_[-1]["loss"] + 0.1
    assert free.score(ON_A_LINE) > 0.97 > plain.score(ON_A_LINE)
    assert free.embedding_.shape == (25, 1)
    assert [record["iteration"] for record in free.history_] == list(range(len(free.history_)))
    assert free.n_iter_ == len(free.history_) - 1
    seconds = [record["seconds"] for record in free.history_]
    assert seconds == sorted(seconds)


def test_escape_never_ends_higher():
    points = np.random.default_rng(0).normal(size=(20, 2))
    answers = comparisons_from_points(points, 1500, random_state=0)
    for loss in ("ste", "tste", "ckl", "gnmds", "soe"):
        values = []
        for escape in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = OrdinalEmbedding(
                    loss=loss, regularization=0.01, escape=escape, max_iter=50, random_state=0
                ).fit(answers)
            values.append(model.history_[-1]["loss"])
        assert values[1] <= values[0] + 1e-12, loss


def test_the_further_coordinate_leads_down():
    """Its square is a step along the slope over kernels: the fall is that slope, to first order."""
    random = np.random.default_rng(0)
    points = random.normal(size=(25, 1))
    problem = CPUProblem(ON_A_LINE, TSTE(1.0), 0.003, 1, random)
    direction = steepest_direction(problem, ON_A_LINE, points)
    value = problem.value_and_gradient(points)[0]
    assert problem.value_and_gradient(widen(problem, ON_A_LINE, points))[0] < value
    small = 1e-3
    wider = np.column_stack([points, small * direction])
    random_wider = np.column_stack([points, small * np.linalg.qr(random.normal(size=(25, 1)))[0]])
    fall = value - problem.value_and_gradient(wider)[0]
    assert fall > 0
    assert fall > value - problem.value_and_gradient(random_wider)[0], "no other direction falls faster"


def test_a_callback_stops_an_escape_too():
    seen = []
    stuck(escape=True, callback=lambda record: seen.append(record) or len(seen) == 3)
    assert len(seen) == 3


@pytest.mark.parametrize("loss", ["ste", "gnmds"])
def test_the_gap_closes_with_dimensions(loss):
    points = np.random.default_rng(1).normal(size=(12, 2))
    answers = comparisons_from_points(points, 600, random_state=1).flip(0.1, random_state=0)
    gaps, values = [], []
    for dims in (1, 2, 11):
        model = OrdinalEmbedding(
            dims, loss, LBFGS(), regularization=0.5, max_iter=2000, tol=1e-13, n_init=2, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(answers)
        gaps.append(model.optimality_gap(answers))
        values.append(model.history_[-1]["loss"])
    best = min(values)
    for gap, value in zip(gaps, values, strict=True):
        assert gap >= value - best - 1e-9, "an upper bound of what a better map would bring"
    assert gaps[0] > 10 * gaps[-1]
    assert gaps[-1] < (1e-6 if loss == "ste" else 0.01)


def test_the_gap_is_about_named_objects_and_weights():
    points = np.random.default_rng(1).normal(size=(8, 2))
    answers = comparisons_from_points(points, 200, random_state=1)
    names = list("abcdefgh")
    named = Comparisons(answers, names=names)
    model = OrdinalEmbedding(2, "ste", regularization=0.05, random_state=0).fit(named)
    turned = Comparisons(7 - answers.rows, names=names[::-1])
    assert model.optimality_gap(turned) == pytest.approx(model.optimality_gap(named))
    twice = model.optimality_gap(Comparisons(named, weights=np.full(len(named), 2.0)))
    assert twice == pytest.approx(model.optimality_gap(named))


def test_gaps_that_cannot_be_known():
    answers = [[0, 1, 2], [2, 1, 0], [1, 0, 2]]
    with pytest.raises(NotFittedError):
        OrdinalEmbedding(loss="ste").optimality_gap(answers)
    model = OrdinalEmbedding(1, "tste", regularization=0.1, random_state=0).fit(answers)
    with pytest.raises(ValueError, match="convex"):
        model.optimality_gap(answers)
    model = OrdinalEmbedding(1, STE(), regularization=0.0, random_state=0, max_iter=500).fit(answers)
    with pytest.raises(ValueError, match="above 0"):
        model.optimality_gap(answers)
    model = OrdinalEmbedding(1, STE(), regularization=0.1, random_state=0).fit(answers)
    with pytest.raises(ValueError, match="not fitted to"):
        model.optimality_gap([[0, 1, 5]])
    with pytest.raises(ValueError, match="escape must be True or False; got 'yes'"):
        OrdinalEmbedding(1, escape="yes").fit(answers)


def test_escape_keeps_to_the_epochs_given():
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = stuck(escape=True, max_iter=6, callback=lambda record: seen.append(record["iteration"]) and False)
    assert model.n_iter_ <= 6
    assert max(seen) <= 6
