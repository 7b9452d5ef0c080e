"""The convex programs at 500 objects: rounds against plain accelerated projected gradient, and against a map.

A map with more dimensions than the optimal kernel has rank has the same optimum, and no eigenvalues to find. "To
the objective" is the time until the objective is within 1e-6 of the lowest that any of them found.
"""

import time
import warnings

import numpy as np
from scipy.linalg import eigh

from nearer import ComparisonKernel, OrdinalEmbedding
from nearer.embedding import LBFGS
from nearer.kernel.convex import KernelProblem
from nearer.losses import STE
from nearer.simulate import comparisons_from_points
from record import write

N_OBJECTS, ROWS, CLOSE = 500, 50_000, 1e-6


def fista(comparisons, regularization: float, seconds: float) -> list[tuple[float, float]]:
    """Run accelerated projected gradient with backtracking and restart; return seconds and objectives."""
    problem = KernelProblem(comparisons, STE(), regularization)
    kernel = ahead = np.zeros((N_OBJECTS, N_OBJECTS))
    step_size, momentum, last, seen = 2.0 * N_OBJECTS, 1.0, np.inf, []
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        value, gradient = problem.value_and_gradient(ahead)
        while True:
            values, vectors = eigh(ahead - step_size * gradient, check_finite=False)
            kept = np.maximum(values - step_size * problem.ridge, 0.0)
            new = (vectors * kept) @ vectors.T
            move = new - ahead
            promised = value + np.vdot(gradient, move) + np.vdot(move, move) / (2 * step_size)
            if problem.value(new) <= promised + 1e-13:
                break
            step_size *= 0.5
        objective = problem.objective(new)
        seen.append((time.perf_counter() - begun, objective))
        if objective > last:  # restart
            momentum, ahead, last = 1.0, kernel, np.inf
            continue
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        ahead = new + (momentum - 1) / following * (new - kernel)
        kernel, momentum, last = new, following, objective
        step_size *= 1.1
    return seen


def first_close(seen: list[tuple[float, float]], target: float) -> float | None:
    return next((seconds for seconds, objective in seen if objective <= target + CLOSE), None)


def main() -> None:
    points = np.random.default_rng(0).normal(size=(N_OBJECTS, 10))
    answers = comparisons_from_points(points, ROWS, random_state=1)
    warnings.simplefilter("ignore")
    OrdinalEmbedding(3, "ste", LBFGS(), regularization=0.1, max_iter=3).fit(answers)  # loops are compiled
    rows = []
    for ridge in (0.1, 0.01):
        kernel = ComparisonKernel("ste", regularization=ridge, tol=1e-7, max_iter=60).fit(answers)
        rank = int(np.linalg.matrix_rank(kernel.kernel_, tol=1e-6 * np.trace(kernel.kernel_)))
        embedding = OrdinalEmbedding(
            rank + 5, "ste", LBFGS(), regularization=ridge, max_iter=2000, tol=1e-10, random_state=0
        ).fit(answers)
        seen = {
            "rounds (ComparisonKernel)": [(one["seconds"], one["loss"]) for one in kernel.history_],
            f"a map of {rank + 5} dimensions": [(one["seconds"], one["loss"]) for one in embedding.history_],
            "accelerated projected gradient": fista(answers, ridge, seconds=90.0),
        }
        target = min(objective for each in seen.values() for _, objective in each)
        ours = first_close(seen["rounds (ComparisonKernel)"], target)
        for method, each in seen.items():
            seconds = first_close(each, target)
            gap = {"rounds (ComparisonKernel)": kernel.gap_}.get(method)
            if "map" in method:
                gap = embedding.optimality_gap(answers)
            rows.append(
                {
                    "ridge": ridge,
                    "rank": rank,
                    "method": method,
                    "objective": min(objective for _, objective in each),
                    "above the lowest": min(objective for _, objective in each) - target,
                    "seconds to the objective": seconds,
                    "times the rounds": None if seconds is None or ours is None else seconds / ours,
                    "gap proved": gap,
                }
            )
    write("convex_against_map", "STE's convex program at 500 objects and 50,000 triplets", rows)


if __name__ == "__main__":
    main()
