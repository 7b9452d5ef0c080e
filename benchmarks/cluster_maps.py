"""Maps on a Dask cluster whose workers are processes of this machine: quality, passes, seconds, and a worker killed.

Everything starts from the same points. One process without Dask is the reference. With more workers than cores the
seconds say nothing about a cluster; quality and passes do.
"""

import os
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from nearer import scan
from nearer.embedding import LBFGS, SVRG
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.engines.dask import DaskProblem
from nearer.embedding.init import rescale, unfold
from nearer.losses import STE, baseline_loss
from nearer.metrics import triplet_error
from nearer.monitor import Monitor
from nearer.simulate import comparisons_from_points
from record import write

N_OBJECTS, DIMS, N_ROWS, N_HELD_OUT, N_FILES = 10_000, 5, 5_000_000, 200_000, 16
NOISE, RIDGE = 0.1, 1e-4  # share of the answers that are flipped
SOLVERS = {"lbfgs": LBFGS(), "svrg-sbb": SVRG()}
MAX_ITER, TOL = 200, 1e-5  # of the loss of a map that knows nothing
NEAR = 0.01  # how near to the lowest loss the seconds are counted to, relative to it
ROUNDS = 30
REPETITIONS = 3


def run(problem, solver, start, test, after=None):
    """Return what a fit came to, and its history."""
    with Monitor(max_iter=MAX_ITER, tol=TOL * baseline_loss(STE())) as monitor:
        monitor.callback = after
        begun = time.perf_counter()
        result = solver.solve(problem, start, monitor)
        seconds = time.perf_counter() - begun
    found = {
        "iterations": result.n_iter,
        "passes": result.history[-1]["gradient_evaluations"] / problem.n_rows,
        "loss": result.history[-1]["loss"],
        "held-out error": triplet_error(result.solution, test),
        "seconds": seconds,
        "ended": result.reason,
    }
    return found, result.history


def seconds_to(loss, history, begun):
    """Return when a fit had come to a loss, after its start; None if it never did."""
    return next((record["seconds"] - begun for record in history if record["loss"] <= loss), None)


def main():
    points = np.random.default_rng(0).normal(size=(N_OBJECTS, DIMS))
    answers = comparisons_from_points(points, N_ROWS, random_state=1).flip(NOISE, 2)
    test = comparisons_from_points(points, N_HELD_OUT, random_state=3).flip(NOISE, 4)
    random = np.random.default_rng(5)
    quiet = Monitor(max_iter=MAX_ITER)
    start = unfold(answers, DIMS, dtype="float64", n_jobs=1, random=random, monitor=quiet, engine=CPUProblem)
    start = rescale(start, answers, STE(), RIDGE)
    rows = []

    def measured(row):
        rows.append({**row, "load": os.getloadavg()[0]})
        write("cluster_maps", "Maps on a Dask cluster: 10,000 objects, 5 dimensions, 5 million triplets", rows)

    lowest = {}
    for name, solver in SOLVERS.items():
        found, _ = run(CPUProblem(answers, STE(), RIDGE, 1, np.random.default_rng(6)), solver, start, test)
        lowest[name] = found["loss"] * (1.0 + NEAR)
        measured({"what": "one process", "solver": name, "workers": 0, **found})
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(np.array_split(answers.rows, N_FILES)):
            np.save(Path(folder, f"part-{number:02}.npy"), part)
        del answers
        source = scan(folder, n_objects=N_OBJECTS)
        for n_workers in (1, 2, 8):
            with (
                LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                measure_cluster(client, source, n_workers, start, test, lowest, measured)


def first_rows(part, size):
    """Yield the first rows of a part."""
    yield next(part())[:size]


def measure_cluster(client, source, n_workers, start, test, lowest, measured):
    begun = time.perf_counter()
    with DaskProblem(source, STE(), RIDGE, 1, np.random.default_rng(6)) as problem:
        loading = time.perf_counter() - begun
        _, gradient = problem.value_and_gradient(start)
        problem.svrg_run(start, gradient, 1e-12, 10)  # loops are compiled
        for name, solver in SOLVERS.items():
            times = []
            for _ in range(REPETITIONS if n_workers <= 2 else 1):
                problem.random = np.random.default_rng(6)
                found, history = run(problem, solver, start, test)
                times.append(seconds_to(lowest[name], history, history[0]["seconds"]))
            measured(
                {
                    "what": "cluster",
                    "solver": name,
                    "workers": n_workers,
                    **found,
                    "seconds to 1 % of the lowest loss": min(times, key=lambda value: value or np.inf),
                    "all of these": times,
                    "seconds to load": loading,
                }
            )
        if n_workers == 2:
            problem.random = np.random.default_rng(6)
            victim = next(iter(client.run(os.getpid).values()))

            def kill(record):
                if record["iteration"] == 5:
                    threading.Timer(0.05, os.kill, (victim, 9)).start()

            found, _ = run(problem, SOLVERS["svrg-sbb"], start, test, kill)
            measured({"what": "one of two workers killed", "solver": "svrg-sbb", "workers": 2, **found})
    few = replace(
        source, parts=(partial(first_rows, source.parts[0], 2_000 * n_workers),), n_rows=2_000 * n_workers
    )
    with DaskProblem(few, STE(), RIDGE, 1, np.random.default_rng(6)) as problem:
        problem.value_and_gradient(start)
        begun = time.perf_counter()
        for _ in range(ROUNDS):
            problem.value_and_gradient(start)
        seconds = (time.perf_counter() - begun) / ROUNDS
    measured({"what": "a round with almost nothing to compute", "workers": n_workers, "ms": 1e3 * seconds})


if __name__ == "__main__":
    main()
