"""What one answer costs an OnlineKernel: against ERKLE as printed, with more objects, and as a user calls it.

The limit: a projection has to find an eigenvector of an n × n matrix, so it reads that matrix at least once, and
a product with it is bound by memory traffic (half the matrix, 4n² bytes). "Traffic" says how many times that the
median answer took. The printed algorithm leaves the eigenvector to scipy's eigsh, as the paper leaves it to
MATLAB's eigs.
"""

import time
import tracemalloc

import numpy as np
from scipy.linalg import blas
from scipy.sparse.linalg import eigsh

from nearer import OnlineKernel
from nearer.papers.erkle import printed_projections
from nearer.simulate import comparisons_from_points
from record import best_of, write


def answers_about(n_objects: int, size: int, dims: int = 50) -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(n_objects, dims))
    return comparisons_from_points(points, size, random_state=1).rows


def printed(rows: np.ndarray, n_objects: int) -> tuple[np.ndarray, int]:
    """Run passive-aggressive ERKLE as printed; return the kernel and the number of eigenproblems."""
    kernel, bound, problems = np.eye(n_objects), 1.0, 0
    for a, b, c in rows.tolist():
        near = kernel[a, a] + kernel[b, b] - 2 * kernel[a, b]
        far = kernel[a, a] + kernel[c, c] - 2 * kernel[a, c]
        step = (near - far + 1) / 10
        if step <= 0:
            continue
        kernel[a, b] += 2 * step
        kernel[b, a] += 2 * step
        kernel[a, c] -= 2 * step
        kernel[c, a] -= 2 * step
        kernel[b, b] -= step
        kernel[c, c] += step
        bound -= 3 * step
        if bound < 0:
            values, vectors = eigsh(kernel, k=1, which="SA")
            problems += 1
            if values[0] < 0:
                kernel -= values[0] * np.outer(vectors[:, 0], vectors[:, 0])
            bound = max(0.0, values[0])
    return kernel, problems


def against_the_printed_algorithm() -> list[dict]:
    found = []
    for n_objects, size in ((250, 3000), (1000, 3000)):
        rows = answers_about(n_objects, size)
        OnlineKernel(n_objects=n_objects).fit(rows[:100])  # loops are compiled
        begun = time.perf_counter()
        literal, problems = printed(rows, n_objects)
        literal_seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        model = OnlineKernel(aggressiveness=None, n_objects=n_objects).fit(rows)
        seconds = time.perf_counter() - begun
        found.append(
            {
                "objects": n_objects,
                "answers": size,
                "printed s": literal_seconds,
                "ours s": seconds,
                "times faster": literal_seconds / seconds,
                "eigenproblems printed": problems,
                "eigenproblems ours": model.n_projections_,
                "largest difference": float(np.abs(literal - model.kernel_).max()),
            }
        )
    return found


def products() -> list[dict]:
    """Count products a projection, over the last thousand, where the kernel has become singular."""
    found = []
    for n_objects in (250, 500, 1000, 2000, 4000):
        rows = answers_about(n_objects, max(2 * n_objects, 2000))
        model = OnlineKernel(aggressiveness=None, n_objects=n_objects).fit(rows)
        counts = np.array(model._state.kernel.products)[-1000:]
        found.append(
            {
                "objects": n_objects,
                "projections": len(counts),
                "median products": float(np.median(counts)),
                "mean products": float(counts.mean()),
                "worst": int(counts.max()),
                "inverses made": model._state.kernel.n_inverses,
            }
        )
    return found


def one_answer() -> list[dict]:
    """Time ``partial_fit(answer)`` in a loop, the last 1,500 of 6n answers: the kernel is singular by then."""
    found = []
    for n_objects in (100, 200, 400, 1000):
        rows = answers_about(n_objects, max(3000, 6 * n_objects))
        model = OnlineKernel(n_objects=n_objects).fit(rows[:-1500])
        seconds = []
        for row in rows[-1500:]:
            begun = time.perf_counter()
            model.partial_fit(row)
            seconds.append(time.perf_counter() - begun)
        later = 1000 * np.array(seconds)
        matrix, vector = np.eye(n_objects, order="F"), np.ones(n_objects)
        product = 1000 * best_of(20, lambda m=matrix, v=vector: blas.dsymv(1.0, m, v, lower=1))
        found.append(
            {
                "objects": n_objects,
                "median ms": float(np.median(later)),
                "99 of 100 below ms": float(np.quantile(later, 0.99)),
                "longest ms": float(later.max()),
                "one product ms": product,
                "traffic": float(np.median(later)) / product,
            }
        )
    return found


def skipped() -> list[dict]:
    """Count the projections that λ̂ saves if each eigenproblem renews it, as printed, and if it is left at zero.

    Large kernels leave it at zero. They only decide whether the smallest eigenvalue is negative, for which a few
    products with the inverse are enough; to renew λ̂ they would need the eigenvalue itself. "products" are those of
    a Lanczos method on K that finds it to three digits, with the last eigenvector to start from; and those with
    which a large kernel decides, and projects.
    """
    found = []
    for n_objects, size in ((250, 2000), (1000, 2000), (5000, 1000)):
        rows = answers_about(n_objects, size)
        model = OnlineKernel(aggressiveness=None, n_objects=n_objects).fit(rows)
        counts = np.array(model._state.kernel.products)
        n_steps, products = printed_projections(rows, n_objects)
        row = {"objects": n_objects, "answers": size, "steps": n_steps}
        row |= {"skipped as printed": 1 - len(products) / n_steps, "products as printed": float(np.mean(products))}
        row |= {"skipped, ours": model.n_skipped_ / model.n_updates_, "products, ours": float(counts.mean())}
        found.append(row)
    return found


def memory() -> list[dict]:
    n_objects = 2000
    rows = answers_about(n_objects, 2500)
    OnlineKernel(n_objects=n_objects).fit(rows[:10])
    tracemalloc.start()
    model = OnlineKernel(n_objects=n_objects).fit(rows)
    model.score(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [{"objects": n_objects, "answers": len(rows), "numbers at the peak, in n²": peak / 8 / n_objects**2}]


def main() -> None:
    write("online_one_answer", "One answer's update of an online kernel, as a user calls it", one_answer())
    write("online_against_printed", "ERKLE against the algorithm as printed", against_the_printed_algorithm())
    write("online_skipped", "Projections of ERKLE that its bound saves, renewed as printed and not", skipped())
    write("online_memory", "Memory of an online kernel", memory())
    write("online_products", "Products with an n × n matrix that a projection takes", products())


if __name__ == "__main__":
    main()
