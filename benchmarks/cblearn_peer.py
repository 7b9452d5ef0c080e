"""Fit one cblearn method on comparisons from a file; runs in the peers' environment, without nearer.

    python cblearn_peer.py job.npz [job.npz ...] [--limit SECONDS]

A job holds `train` and `test` rows (a, b, c), a nearer to b than to c, and `n_objects`, `dims`, `method`,
`seed`. For each job one line of JSON goes to standard output. Methods keep cblearn's own defaults (scipy's
L-BFGS-B; its iteration limit is in the record), except that SOE starts once, as the other four do, and not
ten times.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import time

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # one core, set before numpy starts its threads
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from cblearn.embedding import CKL, GNMDS, SOE, STE, TSTE  # noqa: E402

METHODS = {"STE": STE, "TSTE": TSTE, "CKL": CKL, "GNMDS": GNMDS, "SOE": SOE}


class TimeLimitError(Exception):
    """The fit ran longer than it was allowed to."""


def run(train, test, *, n_objects, dims, method, seed, limit=None, n_init=1):
    """Fit, time and score one method; a fit past `limit` seconds has no error, only `timed_out`."""
    estimator = _estimator(method, dims, seed, n_init)
    record = {"method": method, "dims": dims, "max_iter": estimator.max_iter, "n_init": n_init}
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with _time_limit(limit):
            # With n_objects given cblearn places every object; one that no training row mentions stays at its
            # random starting point. Without it, fit counts objects up to the largest index it happens to see.
            estimator.fit(train, n_objects=n_objects)
    except TimeLimitError:
        points = None
    else:
        points = estimator.embedding_
    record |= {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    record["timed_out"] = points is None
    record["iterations"] = None if points is None else int(estimator.n_iter_)
    record["error"] = None if points is None else triplet_error(points, test)
    record["train_error"] = None if points is None else triplet_error(points, train)
    return record


def triplet_error(points, rows):
    """Return the share of rows that the points do not satisfy; ties and NaN do not."""
    a, b, c = points[rows.T]
    near, far = ((a - b) ** 2).sum(axis=1), ((a - c) ** 2).sum(axis=1)
    return float(np.mean(~(near < far)))


def warm_up():
    """Fit each method once on a toy, so that no timed fit pays for imports and first calls."""
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(10)[:3] for _ in range(200)])
    for method in METHODS:
        run(rows, rows, n_objects=10, dims=2, method=method, seed=0)


def _estimator(method, dims, seed, n_init):
    options = {"n_init": n_init} if method == "SOE" else {}
    return METHODS[method](n_components=dims, random_state=seed, **options)


@contextlib.contextmanager
def _time_limit(seconds):
    """Raise TimeLimitError in the running fit; the objective is Python, so the signal reaches it soon."""

    def stop(*_):
        raise TimeLimitError(f"no result after {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="+")
    parser.add_argument("--limit", type=float)
    arguments = parser.parse_args()
    warm_up()
    for path in arguments.jobs:
        with np.load(path) as job:
            settings = {
                "n_objects": int(job["n_objects"]),
                "dims": int(job["dims"]),
                "method": str(job["method"]),
                "seed": int(job["seed"]),
            }
            record = run(job["train"], job["test"], **settings, limit=arguments.limit)
        json.dump({"job": os.path.basename(path), **record}, sys.stdout)
        print(flush=True)


if __name__ == "__main__":
    main()
