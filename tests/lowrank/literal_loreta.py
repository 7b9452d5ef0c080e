"""LORETA as printed: Algorithms 3, 4, 5 and 7 of the paper, and its retraction, in plain numpy."""

import numpy as np


def loreta_r(A, B, G1, G2):
    """Take a step of Algorithm 3."""
    A_pinv = np.linalg.inv(A.T @ A) @ A.T
    B_pinv = np.linalg.inv(B.T @ B) @ B.T
    a1, b1 = A_pinv @ G1, B_pinv @ G2
    a2 = A @ a1
    Q = b1.T @ a1
    a3 = -a2 / 2 + 3 / 8 * a2 @ Q + G1 - G1 @ Q / 2
    Z1 = A + a3 @ b1.T
    b2 = (G2.T @ B) @ B_pinv
    b3 = -b2 / 2 + 3 / 8 * Q @ b2 + G2.T - Q @ G2.T / 2
    Z2t = B.T + a1 @ b3
    return Z1, Z2t.T


def loreta_1(A, B, A_pinv, B_pinv, p, q):
    """Take a step of Algorithm 4."""
    a1, b1 = A_pinv @ p, B_pinv @ q
    a2 = A @ a1
    s = b1 @ a1
    a3 = a2 * (-1 / 2 + 3 / 8 * s) + p * (1 - s / 2)
    Z1 = A + np.outer(a3, b1)
    b2 = (q @ B) @ B_pinv
    b3 = b2 * (-1 / 2 + 3 / 8 * s) + q * (1 - s / 2)
    Z2 = B + np.outer(b3, a1)
    Z1_pinv = rank_one_pseudoinverse_update(A, A_pinv, a3, b1)
    Z2_pinv = rank_one_pseudoinverse_update(B, B_pinv, b3, a1)
    return Z1, Z2, Z1_pinv, Z2_pinv


def loreta_1_psd(Y, Y_pinv, p, q):
    """Take a step of Algorithm 5."""
    h1, h2 = Y_pinv @ p, Y_pinv @ q
    n1, n2 = h1 @ h1, h2 @ h2
    h1_hat, h2_hat = Y @ h1, Y @ h2
    s = h1 @ h2
    l1 = (-1 / 4 + 3 / 32 * s) * h1_hat + (1 / 2 - s / 8) * p + 3 / 32 * n1 * h2_hat - n1 / 8 * q
    l2 = (-1 / 4 + 3 / 32 * s) * h2_hat + (1 / 2 - s / 8) * q + 3 / 32 * n2 * h1_hat - n2 / 8 * p
    P1, P2 = np.outer(l1, h2), np.outer(l2, h1)
    Z = Y + P1 + P2
    between = rank_one_pseudoinverse_update(Y, Y_pinv, l1, h2)
    return Z, rank_one_pseudoinverse_update(Y + P1, between, l2, h1)


def rank_one_pseudoinverse_update(A, A_pinv, c, d, zero=1e-12):
    """Return the pseudo-inverse of A + c dᵀ by Algorithm 7 (Meyer), A of full column rank."""
    v = A_pinv @ c
    beta = 1 + d @ v
    n = A_pinv.T @ d
    n_hat = A_pinv @ n
    w = c - A @ v
    ww, nn, vv = w @ w, n @ n, v @ v
    outside = np.sqrt(ww) > zero * (1 + np.linalg.norm(c))
    if abs(beta) > zero and outside:
        G = np.outer(n_hat, w) / beta
        s = beta / (ww * nn + beta**2)
        t = ww / beta * n_hat + v
        G = G - s * np.outer(t, nn / beta * w + n)
    elif outside:
        G = -np.outer(A_pinv @ n / nn, n)
        G = G - np.outer(v, w) / ww
    elif abs(beta) > zero:
        G = -np.outer(v, n) / beta
    else:
        v_hat = np.outer(v, v @ A_pinv) / vv
        n_hat = np.outer(A_pinv @ n, n) / nn
        G = (v @ A_pinv @ n) / (vv * nn) * np.outer(v, n) - v_hat - n_hat
    return A_pinv + G


def projected(A, B, Z):
    """Project a matrix onto the tangent space at ABᵀ; return its three parts."""
    P_A, P_B = A @ np.linalg.pinv(A), B @ np.linalg.pinv(B)
    return P_A @ Z @ P_B, P_A @ Z @ (np.eye(len(B)) - P_B), (np.eye(len(A)) - P_A) @ Z @ P_B


def retracted(A, B, xi):
    """Return the retraction of Theorem 3 of a tangent vector at W = ABᵀ."""
    inside, right, left = projected(A, B, xi)
    W = A @ B.T
    W_pinv = np.linalg.pinv(W)
    V1 = W + inside / 2 + left - inside @ W_pinv @ inside / 8 - left @ W_pinv @ inside / 2
    V2 = W + inside / 2 + right - inside @ W_pinv @ inside / 8 - inside @ W_pinv @ right / 2
    return V1 @ W_pinv @ V2


def retracted_psd(Y, xi):
    """Return the retraction of Theorem 6 (with Vᵀ at its end) of a tangent vector at W = YYᵀ."""
    P = Y @ np.linalg.pinv(Y)
    symmetric = (xi + xi.T) / 2
    inside = P @ symmetric @ P
    others = np.eye(len(Y)) - P
    outside = others @ symmetric @ P  # as in the printed V, which is no symmetric matrix
    W = Y @ Y.T
    W_pinv = np.linalg.pinv(W)
    V = W + inside / 2 + outside - inside @ W_pinv @ inside / 8 - outside @ W_pinv @ inside / 2
    return V @ W_pinv @ V.T
