"""Fast steps equal the printed algorithms; the retraction is what the paper says it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_loreta import (
    loreta_1,
    loreta_1_psd,
    loreta_r,
    projected,
    rank_one_pseudoinverse_update,
    retracted,
    retracted_psd,
)
from scipy.sparse import csc_array

from nearer.lowrank import FixedRank, FixedRankPSD, factors

N, M, RANK = 60, 50, 7


def start(seed):
    random = np.random.default_rng(seed)
    return random, random.normal(size=(N, RANK)), random.normal(size=(M, RANK))


def thin(random, n, r=None):
    """Draw a gradient's factor of which about a fifth is there."""
    shape = n if r is None else (n, r)
    return random.normal(size=shape) * (random.random(shape) < 0.2)


def close(found, wanted, tolerance):
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()


def sparse(G):
    return csc_array(G if G.ndim == 2 else G[:, None])


@pytest.fixture(params=[np.asarray, sparse], ids=["dense", "sparse"])
def kind(request):
    return request.param


def test_500_steps_of_algorithm_4(kind):
    random, A, B = start(0)
    A_pinv, B_pinv, model = np.linalg.pinv(A), np.linalg.pinv(B), FixedRank(A, B)
    for _ in range(500):
        p, q = 0.3 * thin(random, N), thin(random, M)
        A, B, A_pinv, B_pinv = loreta_1(A, B, A_pinv, B_pinv, p, q)
        model.step(kind(p), kind(q))
    close(model.A, A, 1e-10)
    close(model.B, B, 1e-10)


@pytest.mark.parametrize("r", [2, 3, 5, 9])  # by loops, and by blocks; more columns than the rank, too
def test_500_steps_of_algorithm_3(kind, r):
    random, A, B = start(1)
    model = FixedRank(A, B)
    for _ in range(500):
        G1, G2 = 0.1 * thin(random, N, r), thin(random, M, r)
        A, B = loreta_r(A, B, G1, G2)
        model.step(kind(G1), kind(G2))
    close(model.A, A, 1e-10)
    close(model.B, B, 1e-10)


def test_500_steps_of_algorithm_5(kind):
    random, Y, _ = start(2)
    Y_pinv, model = np.linalg.pinv(Y), FixedRankPSD(Y)
    for _ in range(500):
        p, q = 0.3 * thin(random, N), thin(random, N)
        Y, Y_pinv = loreta_1_psd(Y, Y_pinv, p, q)
        model.step(kind(np.column_stack([p, q])), [[0.0, 0.5], [0.5, 0.0]])
    close(model.Y, Y, 1e-10)


def test_5000_steps_with_folds(monkeypatch):
    monkeypatch.setattr(factors, "MIN_STEPS", 250)
    random, A, B = start(3)
    target = random.normal(size=(N, RANK)) @ random.normal(size=(RANK, M)) / RANK
    goal = random.normal(size=(N, RANK)) / 3
    goal = goal @ goal.T
    A_pinv, B_pinv, model = np.linalg.pinv(A), np.linalg.pinv(B), FixedRank(A, B)
    Y, psd = A.copy(), FixedRankPSD(A)
    Y_pinv = np.linalg.pinv(Y)
    for t in range(5_000):
        x, y = thin(random, N), thin(random, M)
        p = 0.02 * (x @ target @ y - (x @ A) @ (B.T @ y) + 0.1 * random.normal()) * x
        A, B, A_pinv, B_pinv = loreta_1(A, B, A_pinv, B_pinv, p, y)
        model.step(csc_array(p[:, None]), csc_array(y[:, None]))
        z = thin(random, N)
        p = 0.02 * (x @ goal @ z - (x @ Y) @ (Y.T @ z)) * x
        Y, Y_pinv = loreta_1_psd(Y, Y_pinv, p, z)
        psd.step(csc_array(np.column_stack([p, z])), [[0.0, 0.5], [0.5, 0.0]])
        if t % 250 == 249:  # the printed update of the pseudo-inverse drifts
            A_pinv, B_pinv, Y_pinv = (np.linalg.pinv(factor) for factor in (A, B, Y))
    assert model.n_reorthogonalizations >= 20
    close(model.A, A, 1e-8)
    close(model.B, B, 1e-8)
    close(psd.Y, Y, 1e-8)
    assert np.linalg.matrix_rank(model.A @ model.B.T) == RANK
    assert np.linalg.matrix_rank(psd.Y @ psd.Y.T) == RANK
    for factor in (*model.factors, *psd.factors):
        whole = factor.matrix
        close(factor.C @ (whole.T @ whole), np.eye(RANK), 1e-9)


def test_a_turn_that_loses_its_condition_is_folded():
    _, A, B = start(4)
    model = FixedRank(A, B)
    for steps in range(1, 11):  # the turn grows by 1 - ½s + ⅜s² = 5 along one direction, and not along the others
        left, values, right = np.linalg.svd(A @ B.T)
        G1, G2 = 4 * values[0] * left[:, :1], right[:1].T
        A, B = loreta_r(A, B, G1, G2)
        model.step(G1, G2)
        assert model.n_reorthogonalizations == 0 or steps > 2
    assert model.n_reorthogonalizations >= 1
    assert max(factor.growth for factor in model.factors) < factors.GROWTH
    close(model.A @ model.B.T, A @ B.T, 1e-8)


@pytest.mark.parametrize("more", [0, 3], ids=["by the loop", "by blocks"])
def test_a_step_that_would_make_the_turn_singular_is_taken_densely(more):
    # I + QΩ = I - ½Q + ⅜Q² is singular where Q has an eigenvalue that solves 1 - ½q + ⅜q² = 0: a complex one.
    root = np.roots([0.375, -0.5, 1.0])[0]
    Q = np.array([[root.real, -root.imag], [root.imag, root.real]])
    A, B = np.eye(6, 3), np.eye(5, 3)
    G1, G2 = np.zeros((6, 2)), np.zeros((5, 2))
    G1[:2], G2[:2] = Q, np.eye(2)
    G1[4:], G2[3:] = 0.5 * np.eye(2), np.eye(2)
    G1, G2 = np.pad(G1, ((0, 0), (0, more))), np.pad(G2, ((0, 0), (0, more)))  # columns of nothing
    model = FixedRank(A, B)
    model.step(G1, G2)
    A, B = loreta_r(A, B, G1, G2)
    close(model.A, A, 1e-12)
    close(model.B, B, 1e-12)
    assert model.n_reorthogonalizations == 1
    model.step(G1, G2)
    A, B = loreta_r(A, B, G1, G2)
    close(model.A @ model.B.T, A @ B.T, 1e-9)


def onto(A, g):
    """Return A†g, computed anew."""
    return np.linalg.solve(A.T @ A, A.T @ g)


def dense_psd_step(Y, P, D):
    """Take a step of Algorithm 5, in the form of the derivation, with a pseudo-inverse that is computed anew."""
    H = onto(Y, P)
    N = H.T @ H
    return Y + (Y @ H @ (3 / 8 * D @ N @ D - D / 2) + P @ (D - D @ N @ D / 2)) @ H.T


def toward(size, A, B, x, y):
    """Return the step along xyᵀ that brings xᵀABᵀy nearer to its size, within the range of the retraction.

    Also return A†x and B†y, computed anew.
    """
    a, b = onto(A, x), onto(B, y)
    step = 0.1 * (size - (x @ A) @ (B.T @ y)) / (x @ x * (y @ y))
    return step / max(1.0, abs(step) * np.sqrt(a @ a * (b @ b))), a, b


def dense_step_toward(size, A, B, x, y):
    """Take the step of Algorithm 4 along xyᵀ with pseudo-inverses that are computed anew."""
    step, a, b = toward(size, A, B, x, y)
    a = step * a
    s = a @ b
    return (
        A + np.outer((3 / 8 * s - 1 / 2) * (A @ a) + (1 - s / 2) * step * x, b),
        B + np.outer((3 / 8 * s - 1 / 2) * (B @ b) + (1 - s / 2) * y, a),
    )


@pytest.mark.parametrize("psd", [False, True], ids=["general", "psd"])
@pytest.mark.parametrize("rank", [1, 2, 7])
def test_20000_steps_from_1e_8_to_1e8_and_back(rank, psd):
    random = np.random.default_rng(0)
    n, m = 10, 10 if psd else 9
    goal = random.normal(size=(n, rank)), random.normal(size=(m, rank))
    goal = goal[0] @ goal[0 if psd else 1].T
    A = 1e-4 * random.normal(size=(n, rank))
    B = A if psd else 1e-4 * random.normal(size=(m, rank))
    model = FixedRankPSD(A) if psd else FixedRank(A, B)
    off_diagonal = np.array([[0.0, 0.5], [0.5, 0.0]])
    for t in range(20_000):
        kind = sparse if t % 4 == 0 else np.asarray  # one stream of both
        x, y = random.normal(size=n), random.normal(size=m)
        size = 10.0 ** (8 - 16 * abs(t / 10_000 - 1)) * (x @ goal @ y + 0.1 * random.normal())
        found = [factor.matrix for factor in model.factors]
        step = toward(size, found[0], found[-1], x, y)[0]
        if psd:
            P = np.column_stack([x, y])
            A = B = dense_psd_step(A, P, toward(size, A, A, x, y)[0] * off_diagonal)
            model.step(kind(P), step * off_diagonal)
        else:
            A, B = dense_step_toward(size, A, B, x, y)
            model.step(kind(step * x), kind(y))
        if t % 1000 == 999:
            found = [factor.matrix for factor in model.factors]
            close(found[0] @ found[-1].T, A @ B.T, 1e-8)
    for factor in model.factors:
        whole = factor.matrix
        close(factor.C @ (whole.T @ whole), np.eye(rank), 1e-9)


@pytest.mark.parametrize("rank", [1, 2, 7])
def test_a_growing_turn_of_a_factor_that_keeps_its_size(rank, kind):
    """An error of C grows by ‖R‖², and there is nothing else to be seen of it: a condition of R is 1 at rank 1."""
    random = np.random.default_rng(0)
    Y = random.normal(size=(10, rank))
    model = FixedRankPSD(Y)
    for _ in range(2000):
        x, z = Y @ random.normal(size=rank), random.normal(size=10)  # x changes R alone
        z -= 0.5 * Y @ onto(Y, z)
        P, D = np.column_stack([x, z]), np.diag([0.2 / (x @ x), -0.2 / (z @ z)]) * (Y**2).sum() / rank
        Y = dense_psd_step(Y, P, D)
        model.step(kind(P), D)
        close(model.Y, Y, 1e-8)
    assert model.n_reorthogonalizations > 0


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_one_step_that_makes_a_factor_large(size):
    """C is what it was less its change: if that is nearly all of it, only rounding is left."""
    random = np.random.default_rng(1)
    Y = random.normal(size=(10, 1))
    model = FixedRankPSD(Y)
    for step in (size, 0.1, 0.1, 0.1):
        outside, g = random.normal(size=10), Y[:, 0]
        outside -= g * (g @ outside) / (g @ g)
        P, D = np.column_stack([outside, g]), np.array([[0.0, step], [step, 0.0]])
        Y = dense_psd_step(Y, P, D)
        model.step(P, D)
        close(model.Y, Y, 1e-9)


def test_meyers_update_in_all_four_cases():
    random = np.random.default_rng(5)
    A = random.normal(size=(6, 3))
    A_pinv = np.linalg.pinv(A)
    d = random.normal(size=3)
    out = random.normal(size=6)
    out -= A @ (A_pinv @ out)
    inside = A @ random.normal(size=3)
    exact = inside * (-1.0 / (d @ A_pinv @ inside))  # makes β zero
    for c in (inside + out, exact + out, inside, exact):
        found = rank_one_pseudoinverse_update(A, A_pinv, c, d)
        np.testing.assert_allclose(found, np.linalg.pinv(A + np.outer(c, d), rcond=1e-9), atol=1e-9)


def test_centring():
    random, A, B = start(6)
    np.testing.assert_allclose(retracted(A, B, np.zeros((N, M))), A @ B.T, atol=1e-12)
    model, psd = FixedRank(A, B), FixedRankPSD(A)
    model.step(np.zeros(N), random.normal(size=M))
    psd.step(np.zeros((N, 1)), [[1.0]])
    np.testing.assert_array_equal(model.A @ model.B.T, A @ B.T)
    np.testing.assert_array_equal(psd.Y, A)


def moved(A, B, G1, G2, tau):
    model = FixedRank(A, B)
    model.step(tau * G1, G2)
    return model.A @ model.B.T


def moved_psd(Y, P, D, tau):
    model = FixedRankPSD(Y)
    model.step(P, tau * D)
    return model.Y @ model.Y.T


@pytest.mark.parametrize("seed", range(3))
def test_the_step_is_a_retraction_of_second_order(seed):
    random = np.random.default_rng(seed)
    A, B = random.normal(size=(9, 3)), random.normal(size=(7, 3))
    G1, G2 = random.normal(size=(9, 2)), random.normal(size=(7, 2))
    tangent = sum(projected(A, B, G1 @ G2.T))
    np.testing.assert_allclose(moved(A, B, G1, G2, 0.1), retracted(A, B, 0.1 * tangent), atol=1e-12)
    h = 1e-4
    ahead, back, here = (moved(A, B, G1, G2, tau) for tau in (h, -h, 0.0))
    np.testing.assert_allclose((ahead - back) / (2 * h), tangent, atol=1e-5 * np.abs(tangent).max())  # rigidity
    second = (ahead - 2 * here + back) / h**2
    assert np.abs(sum(projected(A, B, second))).max() < 1e-4 * np.abs(second).max()  # no acceleration within


@pytest.mark.parametrize("r", [1, 3, 6])
def test_psd_steps_of_any_rank(kind, r):
    random, Y, _ = start(8)
    model = FixedRankPSD(Y)
    for _ in range(200):
        P, D = thin(random, N, r), 0.1 * random.normal(size=(r, r))
        D = D + D.T
        H = np.linalg.pinv(Y) @ P
        N_ = H.T @ H
        Y = Y + (Y @ H @ (3 / 8 * D @ N_ @ D - D / 2) + P @ (D - D @ N_ @ D / 2)) @ H.T
        model.step(kind(P), D)
    close(model.Y, Y, 1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_psd_step_is_a_retraction_of_second_order(seed):
    random = np.random.default_rng(seed)
    Y, P = random.normal(size=(9, 3)), random.normal(size=(9, 2))
    D = random.normal(size=(2, 2))
    D = D + D.T
    tangent = sum(projected(Y, Y, P @ D @ P.T))
    np.testing.assert_allclose(moved_psd(Y, P, D, 0.05), retracted_psd(Y, 0.05 * tangent), atol=1e-10)
    h = 1e-4
    ahead, back, here = (moved_psd(Y, P, D, tau) for tau in (h, -h, 0.0))
    np.testing.assert_allclose((ahead - back) / (2 * h), tangent, atol=1e-5 * np.abs(tangent).max())
    second = (ahead - 2 * here + back) / h**2
    assert np.abs(sum(projected(Y, Y, second))).max() < 1e-4 * np.abs(second).max()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_no_rank_one_or_psd_step_makes_the_turn_singular(seed, size):
    random = np.random.default_rng(seed)
    A, B = random.normal(size=(8, 3)), random.normal(size=(6, 3))
    for model, step in (
        (FixedRank(A, B), (size * random.normal(size=8), random.normal(size=6))),
        (FixedRankPSD(A), (random.normal(size=(8, 2)), size * random.normal(size=(2, 2)))),
    ):
        model._end_step = lambda *_: None  # look at the turn as the step left it
        model.step(*step)
        for factor in model.factors:
            assert np.abs(np.linalg.eigvals(factor.R)).min() >= 5 / 6 - 1e-6
            np.testing.assert_allclose(factor.R @ factor.R_inv, np.eye(3), atol=1e-6 * size)
        assert all(np.linalg.matrix_rank(factor.matrix) == 3 for factor in model.factors)


def test_a_low_rank_matrix_is_recovered_from_streamed_observations():
    random = np.random.default_rng(7)
    target = random.normal(size=(40, 3)) @ random.normal(size=(3, 30))
    model = FixedRank(random.normal(size=(40, 3)), random.normal(size=(30, 3)))
    for _ in range(20_000):
        x, y = random.normal(size=40), random.normal(size=30)
        error = x @ target @ y - (x @ model.A) @ (model.B.T @ y)
        model.step(error / (x @ x * (y @ y)) * x, y)
    assert np.linalg.norm(model.A @ model.B.T - target) < 1e-3 * np.linalg.norm(target)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: FixedRank(np.ones((3, 4)), np.ones((5, 4))), "rank at most n"),
        (lambda: FixedRank(np.eye(4, 2), np.eye(4, 3)), "same number of columns"),
        (lambda: FixedRankPSD(np.full((3, 1), np.nan)), "finite"),
        (lambda: FixedRankPSD(np.ones((4, 2))), "depend on each other"),
        (lambda: FixedRankPSD(np.eye(4, 2)).step([[np.nan]] * 4, [[1.0]]), "finite"),
        (lambda: FixedRank(np.eye(4, 2), np.eye(4, 2)).step(np.ones(3), np.ones(4)), "4 rows"),
        (lambda: FixedRank(np.eye(4, 2), np.eye(4, 2)).step(np.ones((4, 2)), np.ones(4)), "2 and 1 columns"),
        (lambda: FixedRankPSD(np.eye(4, 2)).step(np.ones((4, 2)), [[1.0]]), r"\(2, 2\)"),
    ],
)
def test_bad_input(build, said):
    with pytest.raises(ValueError, match=said):
        build()


def test_given_factors_are_left_as_they_are():
    A = np.eye(4, 2)
    model = FixedRankPSD(A)
    model.step(np.ones((4, 1)), [[1.0]])
    np.testing.assert_array_equal(A, np.eye(4, 2))
