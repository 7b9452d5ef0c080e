"""The call as a user types it, `OrdinalEmbedding(d).fit(answers)`, beside cblearn's defaults in the same run.

The default chooses its loss and ridge; cblearn's methods have one loss each. "Fastest" is the method of cblearn that
took the least time, "best" the one with the lowest held-out error, which a user would have to know. The fit of a given
loss and ridge is STE with a small ridge, timed to convergence, beside cblearn's STE. Wall clock, n_jobs=-1, loops
compiled before.

    python speed_as_typed.py [SET ...]
"""

import sys
import time
import warnings

import numpy as np

import peer_environment
import real_data
import synthetic
from nearer import Comparisons, OrdinalEmbedding
from record import rows_of, write
from speed_against_cblearn import METHODS, run_peer

RIDGE = 1e-4
LEFT_OUT = {"large": ("TSTE", "CKL")}  # they take minutes, and their errors are twice as large
SETS = (*synthetic.CELLS, "music", "food73")
QUESTION = "The default call as typed: seconds and held-out error beside cblearn's defaults"


def main() -> None:
    warnings.simplefilter("ignore")
    python = peer_environment.build()
    for name in sys.argv[1:] or SETS:
        train, test, n_objects, dims, jobs = load(name)
        peers = {method: peer(python, jobs[method]) for method in jobs if method not in LEFT_OUT.get(name, ())}
        rows = [row for row in rows_of("speed_as_typed") if row["set"] != name]
        write("speed_as_typed", QUESTION, [*rows, measured(name, train, test, n_objects, dims, peers)])


def load(name) -> tuple:
    """Return rows to learn from and to score on, sizes, and a job of cblearn per method."""
    if name in synthetic.CELLS:
        cell = synthetic.CELLS[name]
        jobs = {method: synthetic.write_job(cell, method) for method in METHODS}
        return *synthetic.load(cell), cell.n_objects, cell.dims, jobs
    answers = real_data.DATASETS[name]()
    train, test = answers.split(0)
    jobs = {}
    for method in METHODS:
        jobs[method] = synthetic.CACHE / f"{name}-{method}.npz"
        synthetic.CACHE.mkdir(parents=True, exist_ok=True)
        np.savez(jobs[method], train=train, test=test, n_objects=answers.n_objects, dims=2, method=method, seed=0)
    return train, test, answers.n_objects, 2, jobs


def peer(python, job) -> dict:
    """Run cblearn: the best of three fits where they are short, one where they are long."""
    records = run_peer(python, [str(job)])
    if records[0]["seconds"] < 5:
        records += run_peer(python, [str(job)] * 2)
    return {**records[0], "seconds": min(record["seconds"] for record in records)}


def measured(name, train, test, n_objects, dims, peers) -> dict:
    train = Comparisons(train.astype(np.int32), n_objects=n_objects)
    default, seconds = timed(OrdinalEmbedding(dims, random_state=0, n_jobs=-1), train)
    given, given_seconds = timed(
        OrdinalEmbedding(dims, "ste", regularization=RIDGE, random_state=0, n_jobs=-1), train
    )
    final = default.history_[-1]["seconds"] - default.history_[0]["seconds"]
    fastest = min(peers, key=lambda method: peers[method]["seconds"])
    best = min(peers, key=lambda method: peers[method]["error"])
    return {
        "set": name,
        "objects": n_objects,
        "dims": dims,
        "rows": len(train),
        "default seconds": seconds,
        "default loss": type(default.loss_).__name__,
        "default error": 1.0 - default.score(test),
        "share that is not the final fit": 1.0 - final / seconds,
        "cblearn's fastest": fastest,
        "its seconds": peers[fastest]["seconds"],
        "its error": peers[fastest]["error"],
        "times faster than the fastest": peers[fastest]["seconds"] / seconds,
        "cblearn's best": best,
        "the best's seconds": peers[best]["seconds"],
        "the best's error": peers[best]["error"],
        "times faster than the best": peers[best]["seconds"] / seconds,
        "STE given, seconds": given_seconds,
        "STE given, error": 1.0 - given.score(test),
        "cblearn's STE, seconds": peers["STE"]["seconds"],
        "cblearn's STE, error": peers["STE"]["error"],
        "STE given, times faster": peers["STE"]["seconds"] / given_seconds,
    }


def timed(model, train) -> tuple:
    """Return the fitted model and the shortest of three times; the first call, which compiles, is not timed."""
    model.fit(train)
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        model.fit(train)
        seconds.append(time.perf_counter() - begun)
    return model, min(seconds)


if __name__ == "__main__":
    main()
