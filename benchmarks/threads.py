"""What threads bring: gradient and epoch of SVRG on one and two threads, and what two processes reach at most.

Two processes that run the same loop at once, with data of their own, share nothing but the machine: memory, caches and
clock. They are the ceiling for two threads. Also the cost of a gradient as objects and dimensions grow, on one core,
for the model of cost.
"""

import subprocess
import sys
import time

import numpy as np

from nearer import Comparisons, OrdinalEmbedding
from nearer.embedding.engines.cpu import CPUProblem
from nearer.losses import STE
from nearer.simulate import comparisons_from_points
from record import best_of, write

N_TRIPLETS = 5_000_000
SIZES = ((1_000, 10), (10_000, 10), (100_000, 10), (1_000_000, 10), (1_000_000, 32))
SECONDS = 8.0  # that a process of the ceiling repeats a loop
TIMES = 5


def triplets(n_objects: int, n: int, random: np.random.Generator) -> Comparisons:
    """Return random triplets."""
    first = random.integers(n_objects, size=n)
    steps = random.integers(1, n_objects // 2, size=(n, 2)) + np.array([0, n_objects // 2])
    return Comparisons(np.column_stack([first, (first[:, None] + steps) % n_objects]), n_objects=n_objects)


def loops(problem: CPUProblem, points: np.ndarray) -> dict:
    """Return what is timed: a gradient, and the stochastic steps of an epoch."""
    _, gradient = problem.value_and_gradient(points)
    steps = problem.n_rows // problem.n_parallel
    return {
        "gradient": lambda: problem.value_and_gradient(points),
        "SVRG": lambda: problem.svrg_run(points, gradient, 1e-9, steps),
    }


def one_process(what: str, n_objects: int, d: int) -> None:
    """Repeat a loop for some seconds, from a common time on, and print how often it ran per second."""
    random = np.random.default_rng(0)
    comparisons, points = triplets(n_objects, N_TRIPLETS, random), random.standard_normal((n_objects, d))
    run = loops(CPUProblem(comparisons, STE(), 0.01, 1, random), points)[what]
    run()
    print("ready", flush=True)
    sys.stdin.readline()
    begun, n = time.perf_counter(), 0
    while time.perf_counter() - begun < SECONDS:
        run()
        n += 1
    print(n / (time.perf_counter() - begun), flush=True)


def rate_of_processes(n_processes: int, *arguments: object) -> float:
    """Return the sum of the rates of processes that run at once."""
    command = [sys.executable, __file__, *map(str, arguments)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(n_processes)]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return sum(float(process.communicate()[0]) for process in processes)


def two_threads() -> list[dict]:
    """Return the speed-up by a second thread, and by a second process."""
    rows = []
    for n_objects, d in ((1_000, 10), (10_000, 10)):
        random = np.random.default_rng(0)
        comparisons, points = triplets(n_objects, N_TRIPLETS, random), random.standard_normal((n_objects, d))
        seconds: dict = {}
        problems = {n_jobs: CPUProblem(comparisons, STE(), 0.01, n_jobs, random) for n_jobs in (1, 2)}
        with problems[1], problems[2]:
            runs = {n_jobs: loops(problem, points) for n_jobs, problem in problems.items()}
            for _ in range(TIMES):  # in turn, so that both see the same machine
                for n_jobs, what in ((1, "gradient"), (2, "gradient"), (1, "SVRG"), (2, "SVRG")):
                    taken = best_of(1, runs[n_jobs][what])
                    seconds[n_jobs, what] = min(taken, seconds.get((n_jobs, what), np.inf))
        for what in ("gradient", "SVRG"):
            ceiling = rate_of_processes(2, what, n_objects, d) / rate_of_processes(1, what, n_objects, d)
            rows.append({
                "what": what,
                "objects": n_objects,
                "dims": d,
                "triplets": N_TRIPLETS,
                "one thread s": seconds[1, what],
                "two threads s": seconds[2, what],
                "speed-up": seconds[1, what] / seconds[2, what],
                "two processes": ceiling,
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def same_error() -> list[dict]:
    """Return the held-out error of fits with one and two threads."""
    points = np.random.default_rng(0).standard_normal((10_000, 10))
    answers = comparisons_from_points(points, 1_200_000, random_state=0)
    train, test = answers.split(200_000 / 1_200_000, random_state=0)
    rows = []
    for solver in ("lbfgs", "svrg-sbb"):
        for n_jobs in (1, 2):
            model = OrdinalEmbedding(
                10, "ste", solver, regularization=0.0, n_jobs=n_jobs, random_state=0, max_iter=60
            )
            begun = time.perf_counter()
            model.fit(train)
            seconds = time.perf_counter() - begun
            error = 1.0 - model.score(test)
            row = {"solver": solver, "threads": n_jobs, "iterations": model.n_iter_, "seconds": seconds}
            rows.append(row | {"held_out_error": error})
            print(rows[-1], flush=True)
    return rows


def gradient_cost() -> list[dict]:
    """Return the nanoseconds per triplet of a gradient on one core."""
    rows = []
    for n_objects, d in SIZES:
        random = np.random.default_rng(0)
        comparisons = triplets(n_objects, N_TRIPLETS, random)
        for dtype in ("float64", "float32"):
            points = random.standard_normal((n_objects, d)).astype(dtype)
            problem = CPUProblem(comparisons, STE(), 0.01, 1, random)
            problem.value_and_gradient(points)
            seconds = best_of(3, lambda problem=problem, points=points: problem.value_and_gradient(points))
            row = {"objects": n_objects, "dims": d, "dtype": dtype, "triplets": N_TRIPLETS}
            rows.append(row | {"ns per triplet": 1e9 * seconds / N_TRIPLETS})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    write("two_threads", "A second thread beside a second process: gradient and epoch of SVRG", two_threads())
    write("threads_error", "Fits of a million triplets with one and two threads", same_error())
    write("gradient_cost", "A gradient on one core as objects and dimensions grow", gradient_cost())


if __name__ == "__main__":
    if sys.argv[1:]:
        one_process(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
