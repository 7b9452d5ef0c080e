"""The steps of every solver are those of plain numpy, dense and sparse; WARP draws what it says."""

import literal_ranking as literal
import numpy as np
import pytest
from literal_ranking import LOSSES, problem, untidy
from scipy.sparse import csr_array

from nearer import LabelRanker
from nearer.features.validation import validate_features
from nearer.jit import bind
from nearer.lowrank import Factor, Rows, Workspace
from nearer.ranking import SOLVERS, loops, violations
from nearer.ranking.init import initial_factors
from nearer.ranking.models import Draws
from nearer.ranking.targets import Labels, TrainingSet

SEED = 2**62 + 12345


def factors_of(d, L, k=4, seed=1):
    random = np.random.default_rng(seed)
    return random.normal(size=(L, k)), random.normal(size=(d, k))


def tables(X):
    """Return the table dense, and sparse as a learner has it of one that was not tidy."""
    return {"dense": X, "sparse": validate_features(LabelRanker(), untidy(X), sparse=True, reset=True)}


def stepped(solver, X, Y, rate, warp, start=(), kind="dense", cuts=()):
    """Return W after a pass, taken in pieces, and the losses."""
    d, L = X.shape[1], Y.shape[1]
    learner = SOLVERS[solver].model(*(start or [np.zeros((d, L))]), warp=warp is True, seed=SEED)
    learner.printed = warp == "printed"
    lessons = TrainingSet(tables(X)[kind], csr_array(Y))
    losses, taken = [], 0
    for stop in (*cuts, len(X)):
        losses.append(learner.take(lessons.rows, lessons.labels, np.arange(taken, stop), taken, rate))
        taken = stop
    return learner.scores(np.eye(d)).T, np.concatenate(losses)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("warp", [False, True, "printed"])
@pytest.mark.parametrize("solver", ["loreta", "pa"])
def test_factors_step_as_in_the_paper(solver, warp, kind):
    X, Y = problem(sparse=kind == "sparse")
    A, B = factors_of(X.shape[1], Y.shape[1])
    W, losses = stepped(solver, X, Y, 0.02, warp, (A, B), kind)
    expected, met = getattr(literal, solver)(X, Y, A, B, 0.02, LOSSES[warp], SEED)
    assert np.count_nonzero(met) > 100
    np.testing.assert_allclose(losses, met, atol=1e-9)
    np.testing.assert_allclose(W, expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("warp", [False, True, "printed"])
@pytest.mark.parametrize("solver", ["perceptron", "group-perceptron"])
def test_matrices_step_as_in_the_papers(solver, warp, kind):
    X, Y = problem(sparse=kind == "sparse", seed=1)  # without labels that tie but for rounding
    W, losses = stepped(solver, X, Y, 0.1, warp, kind=kind)
    expected, met = getattr(literal, solver.replace("-", "_"))(X, Y, 0.1, LOSSES[warp], SEED)
    assert np.count_nonzero(met) > 100
    np.testing.assert_allclose(losses, met, atol=1e-9)
    np.testing.assert_allclose(W, expected, atol=1e-9)


@pytest.mark.parametrize("warp", [False, True])
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "popularity"])
def test_a_pass_in_pieces_is_a_pass(solver, warp):
    X, Y = problem(sparse=True)
    start = factors_of(X.shape[1], Y.shape[1]) if solver in ("loreta", "pa") else ()
    whole, losses = stepped(solver, X, Y, 0.05, warp, start, "sparse")
    pieces, met = stepped(solver, X, Y, 0.05, warp, start, "sparse", cuts=(1, 2, 77, 200))
    np.testing.assert_allclose(pieces, whole, atol=1e-10)
    np.testing.assert_allclose(met, losses, atol=1e-10)


def test_loreta_keeps_its_rank_where_a_matrix_of_lower_rank_would_do():
    X, Y = problem(n=3000, d=3, L=3)
    Y[:, 1] = ~Y[:, 0].astype(bool)
    Y[:, 2] = 0
    A, B = factors_of(3, 3, k=3)
    learner = SOLVERS["loreta"].model(A, B, warp=False, seed=0)
    lessons = TrainingSet(X, csr_array(Y))
    for turn in range(5):
        learner.take(lessons.rows, lessons.labels, np.arange(3000), 3000 * turn, 1.0)
    values = np.linalg.svd(learner.scores(np.eye(3)), compute_uv=False)
    assert values[-1] > 1e-8
    assert np.isfinite(values).all()


def draw(scores, true, seed, steps, most=1000):
    """Return true label, false label, weight and loss of a pair for each of some steps, by the loop itself."""
    L = len(scores)
    Y = Labels(np.array([0, len(true)]), np.asarray(true, dtype=np.int32))
    draws = Draws.of(seed, 0, L)._replace(most=most)
    steps_of_pa = {"prepare": loops.prepare_pa, "take_step": loops.step_pa, **violations.BY_FACTOR}
    loop = bind(loops.take_steps, find_violation=violations.draw_violation, **steps_of_pa)
    rows, pairs = Rows.of(np.array([[1.0]])), []
    for step in range(steps):
        work, losses = Workspace.of(1, Y.most + 1, rows.longest, L), np.empty(1)
        model = Factor.plain(np.array(scores)[:, None]), Factor.plain(np.array([[1.0]]))
        lesson = rows, Y, np.array([0]), draws._replace(before=step)
        loop(lesson, np.zeros(1), (0, 1, step), (np.inf, np.inf), model, work, losses)
        pairs.append((*work.columns[:2].tolist(), -work.values[1], losses[0]) if losses[0] else None)
    return pairs


def test_warp_finds_real_violations_and_weighs_them_by_their_rank():
    L, true = 40, [3, 17]
    scores = np.linspace(0.0, 3.9, L)
    scores[true] = 2.45, 3.45  # 25 and 15 violate the margin
    found = [f for f in draw(scores, true, SEED, 4000) if f]
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, L))])
    possible = {harmonic[38 // n] / harmonic[38] for n in range(1, 39)}
    for y, other, weight, loss in found:
        assert y in true
        assert other not in true
        short = scores[other] - scores[y] + 1
        assert short > 0
        assert loss == pytest.approx(weight * short)
        assert min(abs(weight - p) for p in possible) < 1e-12
    for y in true:
        others = [other for at, other, *_ in found if at == y]
        violating = [j for j in range(L) if j not in true and scores[j] - scores[y] + 1 > 0]
        assert set(others) == set(violating)  # every one of them, and about as often
        counts = np.bincount(others)[violating]
        assert counts.min() > 0.5 * counts.mean()
        # The first draw is one of those with chance v / 38, and then weighs 1.
        share = np.mean([weight == pytest.approx(1.0) for at, _, weight, _ in found if at == y])
        assert share == pytest.approx(len(violating) / 38, abs=0.05)


def test_warp_gives_up_after_as_many_draws_as_it_may_make():
    assert draw([5.0, 0.0, 0.0, 0.0], [0], SEED, 50) == [None] * 50
    scores = np.zeros(1000)
    scores[0], scores[999] = 5.0, 5.0  # one of 999 violates
    assert sum(f is not None for f in draw(scores, [0], SEED, 300, most=10)) < 20


def test_the_first_subgradients_make_the_start():
    X, Y = problem(n=60, d=20, L=30)
    lessons = TrainingSet(X, csr_array(Y))
    A, B = initial_factors("zero", 5, lessons, 0.01, np.random.default_rng(0))
    W, losses = literal.perceptron(X[:10], Y[:10], 0.01, literal.all_labels)
    assert np.all(losses)
    left, values, right = np.linalg.svd(W)
    np.testing.assert_allclose(A @ B.T, left[:, :5] * values[:5] @ right[:5], atol=1e-12)


def test_the_first_subgradients_as_printed_make_the_start():
    X, Y = problem(n=60, d=20, L=30)
    lessons = TrainingSet(X, csr_array(Y))
    A, B = initial_factors("zero", 5, lessons, 0.01, np.random.default_rng(0), printed=True)
    W, losses = literal.perceptron(X[:10], Y[:10], 0.01, literal.printed_labels)
    assert np.all(losses)
    left, values, right = np.linalg.svd(W)
    np.testing.assert_allclose(A @ B.T, left[:, :5] * values[:5] @ right[:5], atol=1e-12)


@pytest.mark.parametrize("solver", ["loreta", "pa", "perceptron", "group-perceptron"])
def test_a_solver_has_its_model_take_the_subgradient_that_it_names(solver):
    X, Y = problem()
    kind = type(SOLVERS[solver]())
    one, other, same = (
        LabelRanker(
            4, kind(subgradient=name), negatives=negatives, learning_rate=0.01, random_state=0, n_steps=300
        )
        .fit(X, Y)
        .decision_function(X)
        for name, negatives in (("exact", "all"), ("printed", "all"), ("printed", "all"))
    )
    assert np.abs(one - other).max() > 1e-3
    np.testing.assert_array_equal(other, same)
    with pytest.raises(ValueError, match="subgradient must be 'exact' or 'printed'; got 'true'"):
        LabelRanker(4, kind(subgradient="true"), negatives="all").fit(X, Y)


def test_a_start_of_too_low_a_rank_is_filled_up():
    X, Y = np.ones((50, 6)), np.tile([1, 0, 0, 0, 0, 0, 0], (50, 1))  # all subgradients are the same matrix
    A, B = initial_factors("zero", 4, TrainingSet(X, csr_array(Y)), 0.1, np.random.default_rng(0))
    values = np.linalg.svd(A @ B.T, compute_uv=False)
    assert (values[:4] > 0.01).all()
    assert values[4] < 1e-12


def test_other_starts():
    X, Y = problem()
    lessons, random = TrainingSet(X, csr_array(Y)), np.random.default_rng(0)
    A, B = initial_factors("identity", 3, lessons, 1.0, random)
    np.testing.assert_array_equal(A @ B.T, np.eye(15, 12) * (np.arange(12) < 3))
    A, B = initial_factors("gaussian", 3, lessons, 1.0, random)
    assert 0.5 < np.sqrt(np.mean((X @ B @ A.T) ** 2)) < 2
