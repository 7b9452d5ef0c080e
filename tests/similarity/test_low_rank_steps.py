"""The loops of a low-rank similarity equal plain numpy, triplet by triplet, whatever the table looks like."""

from itertools import pairwise

import literal_low_rank as literal
import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from nearer import LowRankSimilarity
from nearer.losses import as_loss
from nearer.lowrank import Rows, factors
from nearer.similarity.low_rank import model as solvers
from nearer.similarity.low_rank.model import SMALLEST_SHARE
from nearer.similarity.low_rank.solvers import LORETA, SOLVERS
from nearer.simulate import comparisons_from_labels

D, RANK, OBJECTS = 24, 4, 40

# (solver, loss, how many factors, the loop in plain numpy, a step size)
CASES = {
    "loreta": ("loreta", None, 2, literal.loreta, 0.3),
    "loreta-psd": ("loreta", None, 1, literal.loreta_psd, 0.3),
    "loreta-ste": ("loreta", "ste", 1, literal.loreta_distance, 0.2),
    "loreta-gnmds": ("loreta", "gnmds", 1, literal.loreta_distance, 0.05),
    "gd": ("gd", None, 2, literal.gd, 0.05),
    "gd-psd": ("gd", None, 1, literal.gd_psd, 0.05),
    "gd-ste": ("gd", "ste", 1, literal.gd_distance, 0.05),
    "pa": ("pa", None, 2, literal.pa, 0.3),
    "loreta-identify": ("loreta-identify", None, 2, literal.loreta_identify, 0.1),
}


def problem(n=400, width=3, seed=0):
    """Return a table, mostly zeros, with an empty row and two equal ones; triplets; and a weight for each."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(OBJECTS, D)) * (random.random((OBJECTS, D)) < 0.3)
    X[7] = 0.0
    X[9] = X[8]
    rows = np.array([random.choice(OBJECTS, width, replace=False) for _ in range(n)], dtype=np.int32)
    weights = random.uniform(0.2, 1.8, size=n)
    weights[::17] = 0.0
    return X, rows, weights


def start_of(n_factors, seed=1):
    random = np.random.default_rng(seed)
    return tuple(random.normal(size=(D, RANK)) / 2 for _ in range(n_factors))


def both(case, X, table, rows, weights):
    """Return what the loop learned and what plain numpy did: factors and losses of each."""
    solver, loss, n_factors, reference, size = CASES[case]
    start = start_of(n_factors)
    more = () if loss is None else (as_loss(loss, RANK),)
    learner = SOLVERS[solver]().start(more[0] if more else None, start, Rows.of(table))
    losses = learner.take(rows, size * weights)
    if solver == "loreta-identify":
        more = (SMALLEST_SHARE,)
    return learner, losses, *reference(X, rows, size * weights, *start, *more)


def close(found, wanted, tolerance=1e-9):
    assert np.abs(np.asarray(found) - wanted).max() <= tolerance * np.abs(wanted).max()


def same_factors(learner, wanted, tolerance=1e-9):
    """See that W is the one wanted, whatever its factors; those of gradient descent are the same themselves."""
    found = learner.factors
    close(found[0] @ found[-1].T, wanted[0] @ wanted[-1].T, tolerance)
    if learner._model is None:
        for factor, same in zip(found, wanted, strict=True):
            close(factor, same)


@pytest.fixture
def nothing_raised(monkeypatch):
    """Leave small singular values as they are, but for rounding."""
    monkeypatch.setattr(solvers, "LEAST", 1e-12)


@pytest.mark.usefixtures("nothing_raised")
@pytest.mark.parametrize("width", [3, 7], ids=["one negative", "the hardest of five"])
@pytest.mark.parametrize("kind", [np.ascontiguousarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("case", CASES)
def test_400_triplets(case, kind, width):
    X, rows, weights = problem(width=width)
    learner, losses, wanted, met = both(case, X, kind(X), rows, weights)
    assert learner.n_taken == len(rows)
    close(losses, met)
    # Algorithm 6 multiplies the rounding of its small matrices into the factors, round after round.
    same_factors(learner, wanted, 5e-9 if case == "loreta-identify" else 1e-9)
    start = start_of(len(wanted))
    assert min(np.abs(factor - old).max() for factor, old in zip(wanted, start, strict=True)) > 0.1  # it learned
    assert np.count_nonzero(met) > 50


@pytest.mark.usefixtures("nothing_raised")
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("loreta")])
def test_folds_change_nothing(case, monkeypatch):
    monkeypatch.setattr(factors, "GROWTH", 1.0005)
    monkeypatch.setattr(factors, "MIN_STEPS", 50)
    X, rows, weights = problem()
    learner, losses, wanted, met = both(case, X, csr_array(X), rows, weights)
    assert learner._model.n_reorthogonalizations > len(rows) // 50 + 5
    close(losses, met)
    same_factors(learner, wanted)


@pytest.mark.parametrize("name", ["ste", "gnmds"])
def test_a_distance_takes_the_steps_of_theorem_6(name):
    X, rows, weights = problem(n=200)
    X = X / 3
    loss, (Y,), steps = as_loss(name, RANK), start_of(1), 0.1 * weights
    learner = SOLVERS["loreta"]().start(loss, (Y,), Rows.of(X))
    losses = learner.take(rows, steps)
    W, met = literal.loreta_distance_matrix(X, rows, steps, Y, loss)
    close(losses, met)
    close(learner.factors[0] @ learner.factors[0].T, W)


@pytest.mark.parametrize("case", [case for case in CASES if case != "loreta-identify"])
def test_triplets_in_runs_are_triplets_in_one(case):
    X, rows, weights = problem()
    solver, loss, n_factors, _, size = CASES[case]
    loss = None if loss is None else as_loss(loss, RANK)
    whole, parts = (SOLVERS[solver]().start(loss, start_of(n_factors), Rows.of(csr_array(X))) for _ in range(2))
    met = whole.take(rows, size * weights)
    places = [0, 1, 8, 111, len(rows)]  # runs of odd and even length
    met_in_parts = [parts.take(rows[i:j], size * weights[i:j]) for i, j in pairwise(places)]
    np.testing.assert_array_equal(np.concatenate(met_in_parts), met)
    for one, other in zip(whole.factors, parts.factors, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", CASES)
def test_a_copy_learns_by_itself(case):
    X, rows, weights = problem(n=60)
    learner, *_ = both(case, X, X, rows, weights)
    before = learner.factors
    twin = learner.copy()
    assert twin.rows is learner.rows
    met = twin.take(rows, 0.05 * weights)
    for now, old in zip(learner.factors, before, strict=True):
        np.testing.assert_array_equal(now, old)
    np.testing.assert_array_equal(learner.take(rows, 0.05 * weights), met)


@pytest.mark.usefixtures("nothing_raised")
def test_algorithm_6_with_steps_of_its_own_within():
    X, rows, weights = problem()
    start = start_of(2)
    learner = LORETA(identify=True, inner_steps=9, inner_aggressiveness=0.02).start(None, start, Rows.of(X))
    losses = learner.take(rows, 0.1 * weights)
    wanted, met = literal.loreta_identify(X, rows, 0.1 * weights, *start, SMALLEST_SHARE, 9, 0.02)
    close(losses, met)
    same_factors(learner, wanted, 5e-9)
    other, _ = literal.loreta_identify(X, rows, 0.1 * weights, *start, SMALLEST_SHARE)
    assert np.abs(other[0] @ other[1].T - wanted[0] @ wanted[1].T).max() > 0.01


def test_the_turns_of_algorithm_6_are_folded_before_they_lose_their_condition():
    X, rows, _ = problem(n=300)
    rows = rows[:3].repeat(100, axis=0)  # few triplets, so that few directions are called for
    rows = rows[np.random.default_rng(0).permutation(300)]
    learner = SOLVERS["loreta-identify"]().start(None, start_of(2), Rows.of(X))
    for _ in range(20):
        learner.take(rows, np.full(300, 5.0))
        for factor in learner._tables:
            whole = factor.matrix
            assert factor.growth < 30 * factors.GROWTH
            close(factor.R @ factor.R_inv, np.eye(RANK))
            close(factor.C @ (whole.T @ whole), np.eye(RANK), 1e-6)


def test_few_directions_do_not_ruin_algorithm_6():
    # Few directions tell most of ten digits: without folds, many such rounds leave the range of numbers.
    X, y = load_digits(return_X_y=True)
    X = normalize(X)
    rows = comparisons_from_labels(y, 12_000, 0).rows
    start = np.linalg.svd(X, full_matrices=False)[2][:5].T
    learner = SOLVERS["loreta-identify"]().start(None, (start, start), Rows.of(X))
    learner.take(rows, np.full(len(rows), 0.3))
    assert learner._model.n_reorthogonalizations > 1
    assert max(factor.growth for factor in learner._tables) < 30 * factors.GROWTH


@pytest.mark.parametrize("case", CASES)
def test_columns_that_no_row_has_cost_nothing_and_change_nothing(case):
    X, rows, weights = problem(width=4)
    table = csr_array(X)
    wide = csr_array((table.data, 10 * table.indices, table.indptr), shape=(OBJECTS, 10 * D))
    solver, loss, n_factors, _, size = CASES[case]
    loss = None if loss is None else as_loss(loss, RANK)
    start = tuple(np.roll(np.eye(D, RANK), j, axis=0) for j in range(n_factors))
    spread = tuple(np.zeros((10 * D, RANK)) for _ in start)
    for factor, few in zip(spread, start, strict=True):
        factor[::10] = few
    narrow = SOLVERS[solver]().start(loss, start, Rows.of(table))
    broad = SOLVERS[solver]().start(loss, spread, Rows.of(wide))
    np.testing.assert_array_equal(broad.take(rows, size * weights), narrow.take(rows, size * weights))
    for few, many in zip(narrow.factors, broad.factors, strict=True):
        np.testing.assert_array_equal(many[::10], few)
        assert np.count_nonzero(many) == np.count_nonzero(few)
    assert broad._work.values.size == narrow._work.values.size < D * (2 if loss is None else 4)


@pytest.mark.parametrize("case", CASES)
def test_a_loop_touches_no_row_of_a_table_but_those_of_its_triplets(case):
    X, rows, weights = problem()
    X[:, 5:9] = 0.0
    solver, loss, n_factors, _, size = CASES[case]
    start = start_of(n_factors)
    learner = SOLVERS[solver]().start(None if loss is None else as_loss(loss, RANK), start, Rows.of(csr_array(X)))
    learner.take(rows, size * weights)
    for factor, old in zip(learner._tables, start, strict=True):
        np.testing.assert_array_equal(factor.table[5:9], old[5:9])
        assert (factor.table != old).any()
    if solver.startswith("loreta"):  # what moves all rows is in the turn
        assert all(
            (factor.matrix[5:9] != old[5:9]).any() for factor, old in zip(learner._tables, start, strict=True)
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("gd")])
def test_numbers_out_of_range_are_told(case):
    X, rows, _ = problem()
    solver, loss, n_factors, _, _ = CASES[case]
    learner = SOLVERS[solver]().start(
        None if loss is None else as_loss(loss, RANK), start_of(n_factors), Rows.of(X)
    )
    with pytest.raises((FloatingPointError, ValueError)):
        learner.take(rows, np.full(len(rows), 1e200))


def test_the_given_start_is_left_as_it_is():
    X, rows, weights = problem(n=50)
    for solver, loss, n_factors, _, size in CASES.values():
        start = start_of(n_factors)
        SOLVERS[solver]().start(None if loss is None else as_loss(loss, RANK), start, Rows.of(X)).take(
            rows, size * weights
        )
        for factor, same in zip(start, start_of(n_factors), strict=True):
            np.testing.assert_array_equal(factor, same)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("loreta")])
@pytest.mark.parametrize("rate", [10.0, 1e200])
def test_steps_beyond_the_reach_of_the_retraction_are_shortened(case, rate):
    X, rows, _ = problem()
    solver, loss, n_factors, _, _ = CASES[case]
    learner = SOLVERS[solver]().start(
        None if loss is None else as_loss(loss, RANK), start_of(n_factors), Rows.of(X)
    )
    losses = learner.take(rows, np.full(len(rows), rate))
    found = learner.factors
    assert np.isfinite(losses).all()
    assert np.linalg.matrix_rank(found[0] @ found[-1].T) == RANK


@pytest.mark.parametrize("case", ["loreta", "loreta-psd", "loreta-gnmds"])
def test_a_rank_that_the_data_do_not_have_does_no_harm(case):
    """Where W has as many directions as the features, steps drive singular values to nothing, and beyond."""
    random = np.random.default_rng(4)
    X = random.normal(size=(OBJECTS, 4)) @ random.normal(size=(4, D))  # of rank 4, as W
    y = np.argmax(X @ random.normal(size=(D, 3)), axis=1)
    rows = comparisons_from_labels(y, 20_000, random_state=0).rows
    solver, loss, n_factors, _, _ = CASES[case]
    start = tuple(np.linalg.svd(X, full_matrices=False)[2][:5].T.copy() for _ in range(n_factors))
    learner = SOLVERS[solver]().start(None if loss is None else as_loss(loss, 5), start, Rows.of(X))
    rate = 0.3 / np.square(X).sum(axis=1).mean() ** 2
    first, *_, last = (
        learner.take(rows[i : i + 2000], np.full(2000, rate)).mean() for i in range(0, 20_000, 2000)
    )
    assert last < first
    values = np.linalg.svd(learner.factors[0] @ learner.factors[-1].T, compute_uv=False)[:5]
    assert (values > 0).all()


def overlapping_blobs(seed, distance):
    """Return 60 objects of three classes, rows of five features."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 20)
    return distance * random.normal(size=(3, 5))[y] + random.normal(size=(60, 5)), y


@pytest.mark.parametrize(("seed", "distance", "rank"), [(0, 3.0, 1), (2, 1.0, 1), (5, 1.0, 2)])
def test_20000_steps_of_a_fit_equal_the_dense_formula(seed, distance, rank, monkeypatch):
    """As typed: before, rank 1 lost all digits within 500 steps and ended at 1e-152 or 1e95, without a warning."""
    X, y = overlapping_blobs(seed, distance)
    loss, learned, take = as_loss("ste", rank), [], solvers.FactorModel.take

    def take_and_compare(learner, rows, steps):
        if len(learned) == 0 or learned[-1][0] is not learner:
            learned.append((learner, []))
        losses = np.empty(len(rows))
        # Where classes overlap, errors grow a thousandfold within 100 steps, by the formula itself: a few at a time.
        for start in range(0, len(rows), 25):
            part, before = slice(start, start + 25), learner.factors[0]
            losses[part] = take(learner, rows[part], steps[part])
            if len(steps) == 1000:  # a chunk of the fit itself, not of the search for the step size
                (wanted,), _ = literal.loreta_distance(X, rows[part], steps[part], before, loss)
                found = learner.factors[0]
                close(found @ found.T, wanted @ wanted.T, 1e-8)
                learned[-1][1].append(len(rows[part]))
        return losses

    monkeypatch.setattr(solvers.FactorModel, "take", take_and_compare)
    model = LowRankSimilarity(rank, loss="ste", n_steps=20_000, random_state=0).fit(X, y)
    assert sum(learned[-1][1]) == 20_000
    assert 1e-3 < np.abs(model.components_).max() < 1.0
