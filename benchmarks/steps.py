"""What one step of SVRG costs: against a gradient, as the number of objects grows, against the printed algorithm.

The limit: a step reads and writes the points of three objects and evaluates the loss's slopes twice, where a
gradient evaluation does it once. So 2 is what the arithmetic asks for, and memory latency takes over once the
points no longer fit the caches.
"""

import numpy as np

from nearer import Comparisons
from nearer.embedding.engines.cpu import CPUProblem
from nearer.jit import bind
from nearer.losses import STE, TSTE, ops
from record import best_of, write


def triplets(n_objects: int, size: int, random: np.random.Generator) -> np.ndarray:
    rows = random.integers(n_objects, size=(size, 3), dtype=np.int32)
    rows[:, 1] = (rows[:, 0] + 1 + rows[:, 1] % (n_objects // 2 - 1)) % n_objects
    rows[:, 2] = (rows[:, 0] + n_objects // 2 + rows[:, 2] % (n_objects // 2 - 1)) % n_objects
    return rows


def step_and_gradient(n_objects: int, dims: int, loss, size: int) -> tuple[float, float]:
    """Return nanoseconds of one step and of one gradient evaluation, value included."""
    random = np.random.default_rng(0)
    comparisons = Comparisons(triplets(n_objects, size, random), n_objects=n_objects)
    points = random.standard_normal((n_objects, dims))
    problem = CPUProblem(comparisons, loss, 0.01, 1, random)
    _, gradient = problem.value_and_gradient(points)
    problem.svrg_run(points, gradient, 1e-9, 10)
    evaluation = best_of(5, lambda: problem.value_and_gradient(points))
    step = best_of(5, lambda: problem.svrg_run(points, gradient, 1e-9, size))
    return step / size * 1e9, evaluation / size * 1e9


def against_a_gradient() -> list[dict]:
    rows = []
    for n_objects, dims, size in (
        (100, 10, 100_000),
        (1_000, 2, 200_000),
        (1_000, 10, 500_000),
        (5_000, 5, 500_000),
    ):
        for loss in (STE(), TSTE(float(max(1, dims - 1)))):
            step, evaluation = step_and_gradient(n_objects, dims, loss, size)
            rows.append(
                {
                    "objects": n_objects,
                    "dims": dims,
                    "loss": type(loss).__name__,
                    "step ns": step,
                    "gradient ns": evaluation,
                    "ratio": step / evaluation,
                }
            )
    return rows


class TypedIn:
    """STE as a user would type it: a plain class, no parameters, no base."""

    def value(self, near, far):
        short = near - far
        return ops.maximum(short, 0.0) + ops.log(1.0 + ops.exp(-ops.maximum(short, -short)))

    def slopes(self, near, far):
        short = near - far
        small = ops.exp(-ops.maximum(short, -short))
        wrong = ops.where(short > 0.0, 1.0, small) / (1.0 + small)
        return wrong, -wrong

    def probability(self, near, far):
        return 1.0 / (1.0 + ops.exp(near - far))


def a_loss_of_ones_own() -> list[dict]:
    rows = []
    for loss in (STE(), TypedIn()):
        step, evaluation = step_and_gradient(1_000, 10, loss, 500_000)
        rows.append(
            {"loss": type(loss).__name__, "objects": 1_000, "dims": 10, "step ns": step, "gradient ns": evaluation}
        )
    return rows


def as_objects_grow() -> list[dict]:
    rows = []
    for n_objects in (1_000, 10_000, 100_000, 1_000_000):
        step, _ = step_and_gradient(n_objects, 10, STE(), 2_000_000)
        rows.append(
            {
                "objects": n_objects,
                "dims": 10,
                "step ns": step,
                "times the first": step / (rows or [{"step ns": step}])[0]["step ns"],
            }
        )
    return rows


def against_the_printed_algorithm(n_objects: int = 10_000, dims: int = 10, steps: int = 200) -> list[dict]:
    """Time line 9 of Algorithm 1 as printed, the dense gradient added to all points at every step."""
    random = np.random.default_rng(0)
    rows = triplets(n_objects, 100_000, random)
    points = random.standard_normal((n_objects, dims))
    problem = CPUProblem(Comparisons(rows, n_objects=n_objects), STE(), 0.0, 1, random)
    _, gradient = problem.value_and_gradient(points)
    loss = STE()

    def literal() -> None:
        current = points.copy()
        for p in random.integers(len(rows), size=steps):
            step = gradient.copy()
            for sign, at in ((1, current), (-1, points)):
                a, b, c = at[rows[p]]
                near_slope, far_slope = loss.slopes(((a - b) ** 2).sum(), ((a - c) ** 2).sum())
                near_pull, far_pull = 2 * sign * near_slope * (a - b), 2 * sign * far_slope * (a - c)
                step[rows[p, 0]] += near_pull + far_pull
                step[rows[p, 1]] -= near_pull
                step[rows[p, 2]] -= far_pull
            current -= 1e-9 * step

    printed = best_of(5, literal) / steps
    lazy = best_of(5, lambda: problem.svrg_run(points, gradient, 1e-9, 100_000)) / 100_000
    compiled = bind(dense_steps, loss)
    picks = random.integers(len(rows), size=steps)
    compiled(points.copy(), points, gradient, rows, picks, 1e-9)
    dense = best_of(5, lambda: compiled(points.copy(), points, gradient, rows, picks, 1e-9)) / steps
    return [
        {
            "objects": n_objects,
            "dims": dims,
            "how": "as printed, numpy",
            "step us": printed * 1e6,
            "times lazy": printed / lazy,
        },
        {
            "objects": n_objects,
            "dims": dims,
            "how": "as printed, compiled",
            "step us": dense * 1e6,
            "times lazy": dense / lazy,
        },
        {"objects": n_objects, "dims": dims, "how": "lazy", "step us": lazy * 1e6, "times lazy": 1.0},
    ]


def dense_steps(points, snapshot, gradient, rows, picks, step_size):
    for p in picks:
        a, b, c = rows[p, 0], rows[p, 1], rows[p, 2]
        near, far, near_then, far_then = 0.0, 0.0, 0.0, 0.0
        for d in range(points.shape[1]):
            near += (points[a, d] - points[b, d]) ** 2
            far += (points[a, d] - points[c, d]) ** 2
            near_then += (snapshot[a, d] - snapshot[b, d]) ** 2
            far_then += (snapshot[a, d] - snapshot[c, d]) ** 2
        near_slope, far_slope = slopes(near, far)  # noqa: F821
        near_slope_then, far_slope_then = slopes(near_then, far_then)  # noqa: F821
        for d in range(points.shape[1]):
            near_pull = near_slope * (points[a, d] - points[b, d]) - near_slope_then * (
                snapshot[a, d] - snapshot[b, d]
            )
            far_pull = far_slope * (points[a, d] - points[c, d]) - far_slope_then * (
                snapshot[a, d] - snapshot[c, d]
            )
            points[a, d] -= 2.0 * step_size * (near_pull + far_pull)
            points[b, d] += 2.0 * step_size * near_pull
            points[c, d] += 2.0 * step_size * far_pull
        for r in range(points.shape[0]):
            for d in range(points.shape[1]):
                points[r, d] -= step_size * gradient[r, d]


def main() -> None:
    write("step_against_gradient", "One SVRG step over one gradient evaluation of a triplet", against_a_gradient())
    write("own_loss", "The same loss, built-in and written by a user", a_loss_of_ones_own())
    write("step_as_objects_grow", "The cost of an SVRG step as the number of objects grows", as_objects_grow())
    write(
        "lazy_against_printed", "A lazy SVRG step against Algorithm 1 as printed", against_the_printed_algorithm()
    )


if __name__ == "__main__":
    main()
