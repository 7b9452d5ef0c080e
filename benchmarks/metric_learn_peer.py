"""Fit one of metric-learn's supervised learners on rows and labels from a file; runs in its own environment.

    python metric_learn_peer.py job.npz --memory BYTES --limit SECONDS

A job holds `X` and `y`, and as JSON the `learner`, its `options` and how often to fit at most. One line of JSON
goes to standard output: the shortest time of a fit, its map, the peak memory of the process, and what went wrong,
if anything. A fit of LMNN past the limit is stopped, and its best map until then is given.
"""

import argparse
import contextlib
import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # one core, set before numpy starts its threads
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from metric_learn import LMNN, ITML_Supervised, RCA_Supervised  # noqa: E402

ENOUGH = 2.0  # seconds of fits after which no further one is timed


class TimeLimitError(Exception):
    """The fit ran longer than it was allowed to."""


class WatchedLMNN(LMNN):
    """metric-learn's LMNN, which remembers its best map, so that a fit that is stopped has something to show."""

    def fit(self, X, y):
        self.best_ = np.inf
        return super().fit(X, y)

    def _loss_grad(self, X, L, *others):
        found = super()._loss_grad(X, L, *others)
        if found[1] < self.best_:
            self.best_, self.components_ = found[1], L
        return found


LEARNERS = {"LMNN": WatchedLMNN, "RCA": RCA_Supervised, "ITML": ITML_Supervised}


def run(X, y, learner, options, times, limit):
    """Fit up to some times, as long as that is quick; give the shortest time."""
    record, seconds = {"stopped": None, "iterations": None}, []
    model = LEARNERS[learner](**options)
    while len(seconds) < times and sum(seconds) < ENOUGH and record["stopped"] is None:
        begun = time.perf_counter()
        try:
            with time_limit(limit):
                model.fit(X, y)
                record["iterations"] = int(getattr(model, "n_iter_", 0)) or None
        except TimeLimitError:
            record["stopped"] = "time"
        except MemoryError:
            record["stopped"] = "memory"
        except (ValueError, np.linalg.LinAlgError) as error:
            record["stopped"] = f"{type(error).__name__}: {error}"
        seconds.append(time.perf_counter() - begun)
    found = getattr(model, "components_", None)
    usable = found is not None and np.isfinite(found).all() and record["stopped"] in (None, "time")
    record |= {"seconds": min(seconds), "fits": len(seconds), "components": found.tolist() if usable else None}
    return record


def warm_up(learner):
    """Fit once on a toy, so that no timed fit pays for imports and first calls."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    run(X, np.arange(60) % 3, learner, {"n_chunks": 20} if learner == "RCA" else {}, 1, 60)


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeLimitError in the running fit; its loop is Python, so the signal reaches it soon."""

    def stop(*_):
        raise TimeLimitError(f"no result after {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def peak_megabytes():
    """Return the most memory that this process has used; getrusage would count its parent's as well."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job")
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (arguments.memory, arguments.memory))
    with np.load(arguments.job) as job:
        X, y, how = job["X"], job["y"], json.loads(str(job["how"]))
    warm_up(how["learner"])
    record = run(X, y, how["learner"], how["options"], how["times"], arguments.limit)
    record["peak MB"] = peak_megabytes()
    json.dump(record, sys.stdout)


if __name__ == "__main__":
    main()
