"""Maps on a Dask cluster whose workers are processes of this machine: quality, passes, seconds, and workers that fail.

Everything starts from the same points. One process without Dask is the reference. With more workers than cores the
seconds say nothing about a cluster; quality and passes do. Seconds also depend on what else runs, of which the load of
the last minute is a hint: so one and two workers take turns, and beside the seconds stand those that the busiest worker
computed, which the seconds come to on an idle machine, with the overhead of a round.
"""

import os
import signal
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
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
SETS, ROUNDS = 3, 5  # of rounds that are timed: sets take turns
REPETITIONS = 3
TRANSPORTED = (10_000, 100_000, 300_000, 1_000_000)  # objects
HALF_SPEED = 0.02  # seconds for which a slow worker is stopped, and goes on


def main():
    rows = []

    def measured(row):
        rows.append({**row, "load": os.getloadavg()[0]})
        write("cluster_maps", "Maps on a Dask cluster: 10,000 objects, 5 dimensions, 5 million triplets", rows)

    points = np.random.default_rng(0).normal(size=(N_OBJECTS, DIMS))
    answers = comparisons_from_points(points, N_ROWS, random_state=1).flip(NOISE, 2)
    test = comparisons_from_points(points, N_HELD_OUT, random_state=3).flip(NOISE, 4)
    random = np.random.default_rng(5)
    start = unfold(
        answers, DIMS, dtype="float64", n_jobs=1, random=random, monitor=Monitor(MAX_ITER), engine=CPUProblem
    )
    start = rescale(start, answers, STE(), RIDGE)
    lowest = {}
    for name in SOLVERS:
        problem = CPUProblem(answers, STE(), RIDGE, 1, np.random.default_rng(6))
        found, _ = run(problem, name, start, test)
        lowest[name] = found["loss"] * (1.0 + NEAR)
        measured({"what": "one process without Dask", "solver": name, "workers": 0, **found})
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(np.array_split(answers.rows, N_FILES)):
            np.save(Path(folder, f"part-{number:02}.npy"), part)
        del answers
        source = scan(folder, n_objects=N_OBJECTS)
        with opened(1, source) as one, opened(2, source) as two:
            compare_rounds({1: one, 2: two}, start, measured)
            compare_fits({1: one, 2: two}, start, test, lowest, REPETITIONS, measured)
            for client, _ in (one, two):
                measure_overhead(client, source, start, measured)
            measure_faults(*two, start, test, measured)
        with opened(8, source) as eight:
            compare_fits({8: eight}, start, test, lowest, 1, measured)
            measure_overhead(eight[0], source, start, measured)
    measure_transport()


def run(problem, name, start, test, after=None):
    """Return what a fit came to, and its history."""
    problem.random = np.random.default_rng(6)
    with Monitor(max_iter=MAX_ITER, tol=TOL * baseline_loss(STE())) as monitor:
        monitor.callback = after
        begun = time.perf_counter()
        result = SOLVERS[name].solve(problem, start, monitor)
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


@contextmanager
def opened(n_workers, source):
    """Yield the client of a cluster, and the problem on it."""
    with ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0")
        )
        client = stack.enter_context(Client(cluster, set_as_default=False))
        with client.as_current():
            yield client, stack.enter_context(DaskProblem(source, STE(), RIDGE, 1, np.random.default_rng(6)))


def compare_rounds(clusters, start, measured):
    """Time full gradients and epochs of SVRG."""
    _, gradient = clusters[1][1].value_and_gradient(start)
    steps = {n: -(-problem.n_rows // problem.n_parallel) for n, (_, problem) in clusters.items()}
    rounds = {
        "gradient": lambda n: clusters[n][1].value_and_gradient(start),
        "epoch of svrg": lambda n: clusters[n][1].svrg_run(start, gradient, 1e-12, steps[n]),
    }
    for what, play in rounds.items():
        seconds, computed = {n: [] for n in clusters}, {n: [] for n in clusters}
        for turn in range(SETS + 1):
            for n, (client, _) in clusters.items():
                before = client.run(time.process_time)
                for _ in range(ROUNDS):
                    begun = time.perf_counter()
                    play(n)
                    seconds[n].append(time.perf_counter() - begun)
                after = client.run(time.process_time)
                computed[n].append(max(after[worker] - before[worker] for worker in after) / ROUNDS)
                if turn == 0:  # loops are compiled or loaded
                    seconds[n], computed[n] = [], []
        for n in clusters:
            measured(
                {
                    "what": what,
                    "workers": n,
                    "shortest ms": 1e3 * min(seconds[n]),
                    "median ms": 1e3 * float(np.median(seconds[n])),
                    "computed by the busiest worker, ms": 1e3 * min(computed[n]),
                }
            )


def compare_fits(clusters, start, test, lowest, repetitions, measured):
    """Fit with both solvers, in turns."""
    for name in SOLVERS:
        found, times = {}, {n: [] for n in clusters}
        for _ in range(repetitions):
            for n, (_, problem) in clusters.items():
                found[n], history = run(problem, name, start, test)
                times[n] += [r["seconds"] - history[0]["seconds"] for r in history if r["loss"] <= lowest[name]][
                    :1
                ]
        for n in clusters:
            near = {"seconds to 1 % of the lowest loss": min(times[n]), "all of these": times[n]}
            measured({"what": "cluster", "solver": name, "workers": n, **found[n], **near})


def measure_faults(client, problem, start, test, measured):
    """Fit with two workers, of which one is slow, or is killed."""

    def pids():
        return list(client.run(os.getpid).values())

    is_done, slow = threading.Event(), pids()[0]

    def slow_down():
        while not is_done.is_set():
            os.kill(slow, signal.SIGSTOP)
            time.sleep(HALF_SPEED)
            os.kill(slow, signal.SIGCONT)
            time.sleep(HALF_SPEED)

    thread = threading.Thread(target=slow_down)
    thread.start()
    found, _ = run(problem, "svrg-sbb", start, test)
    is_done.set()
    thread.join()
    measured({"what": "one of two workers at half speed", "solver": "svrg-sbb", "workers": 2, **found})
    victim = pids()[0]

    def kill(record):
        if record["iteration"] == 4:
            threading.Timer(0.05, os.kill, (victim, signal.SIGKILL)).start()

    found, _ = run(problem, "svrg-sbb", start, test, kill)
    measured({"what": "one of two workers killed", "solver": "svrg-sbb", "workers": 2, **found})


def first_rows(part, size):
    """Yield the first rows of a part."""
    yield next(part())[:size]


def measure_overhead(client, source, start, measured):
    """Time rounds with almost nothing to compute."""
    size = 2_000 * len(client.nthreads())
    few = replace(source, parts=(partial(first_rows, source.parts[0], size),), n_rows=size)
    seconds = []
    with client.as_current(), DaskProblem(few, STE(), RIDGE, 1, np.random.default_rng(6)) as problem:
        for _ in range(30):
            begun = time.perf_counter()
            problem.value_and_gradient(start)
            seconds.append(time.perf_counter() - begun)
    measured(
        {
            "what": "a round with almost nothing to compute",
            "workers": len(client.nthreads()),
            "shortest ms": 1e3 * min(seconds[5:]),
            "median ms": 1e3 * float(np.median(seconds[5:])),
        }
    )


def measure_transport():
    """Time rounds in which points and gradients travel and next to nothing is computed, for the model of cost."""
    rows = []
    for n_objects in TRANSPORTED:
        triplets = np.random.default_rng(0).permuted(np.tile(np.arange(9, dtype=np.int32), (20_000, 1)), axis=1)
        points = np.random.default_rng(1).normal(size=(n_objects, 10))
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder, "triplets.npy"), triplets[:, :3])
            with opened(2, scan(folder, n_objects=n_objects)) as (_, problem):
                seconds = []
                for _ in range(9):
                    begun = time.perf_counter()
                    problem.value_and_gradient(points)
                    seconds.append(time.perf_counter() - begun)
        row = {"objects": n_objects, "dims": 10, "workers": 2, "megabytes of points": points.nbytes / 1e6}
        rows.append(row | {"shortest s": min(seconds[2:]), "median s": float(np.median(seconds[2:]))})
    write("cluster_rounds", "Rounds of a Dask cluster on one machine with almost nothing to compute", rows)


if __name__ == "__main__":
    main()
