"""Time to equal loss of streamed steps of `FixedRank` beside pymanopt's `FixedRankEmbedded`: y ≈ Wx, W of rank 10.

Rows x have length one; outputs have variance one, and noise of variance 0.09 on top. Dense: 10,000 rows of 1,000
features, 1,000 outputs. Sparse: 60,000 rows of 20,000 features, 100 of them not zero, 100 outputs. `FixedRank`
takes a step for each batch of rows as they come, pass by pass, along their gradient of as many columns. What
pymanopt does, and on whose advice, is told in pymanopt_peer.py. Both start from the same point.

The time is that of learning alone until the mean squared error of test rows first falls to so many times the
noise. Where a method has a step size, that with the shortest time for other rows, held out of the training part,
was taken. A run ends after 12 seconds: an empty cell was not reached in that time.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import peer_environment
from nearer.lowrank import FixedRank
from record import write

RANK, NOISE = 10, 0.3
TARGETS = (2.0, 1.5, 1.2)  # times the variance of the noise
LIMIT = 12.0
RATES, BATCHES = (0.5, 1.0), (1, 10, 100)
PEER = [
    *({"method": "manifold", "batch": batch, "rate": rate} for batch in (1, 10, 100) for rate in RATES),
    {"method": "descent on batches", "batch": 100},
    {"method": "descent on batches", "batch": 1_000},
    {"method": "conjugate gradient", "batch": None},
]


def dense(random: np.random.Generator, n_rows: int, n_features: int = 1_000) -> np.ndarray:
    return random.normal(size=(n_rows, n_features)) / np.sqrt(n_features)


def sparse(random: np.random.Generator, n_rows: int, n_features: int = 20_000, entries: int = 100) -> csr_array:
    width = n_features // entries
    places = np.arange(entries) * width + random.integers(width, size=(n_rows, entries))
    values = random.choice([-1.0, 1.0], size=n_rows * entries) / np.sqrt(entries)
    return csr_array((values, places.ravel(), np.arange(n_rows + 1) * entries), shape=(n_rows, n_features))


PROBLEMS = {"dense": (dense, 10_000, 1_000), "sparse": (sparse, 60_000, 100)}


def problem(name: str) -> dict:
    """Return rows and outputs to learn from and to watch, and a start."""
    make, n_rows, n_outputs = PROBLEMS[name]
    random = np.random.default_rng(0)
    X, A = make(random, n_rows + 2_000), random.normal(size=(n_outputs, RANK))
    B = random.normal(size=(X.shape[1], RANK)) / np.sqrt(RANK)
    Y = (X @ B) @ A.T + NOISE * random.normal(size=(X.shape[0], n_outputs))
    parts = {"": slice(2_000, None), "_validation": slice(1_000), "_test": slice(1_000, 2_000)}
    found = {
        f"{which}{part}": table[rows] for part, rows in parts.items() for which, table in (("X", X), ("Y", Y))
    }
    u, v = (np.linalg.qr(random.normal(size=(n, RANK)))[0] for n in (n_outputs, X.shape[1]))
    s = 0.1 * np.sqrt(n_outputs * X.shape[1] / RANK) * np.linspace(1.1, 0.9, RANK)
    return found | {"u": u, "s": s, "vt": v.T}


def ours(given: dict, batch: int, rate: float, limit: float = LIMIT) -> list[list[float]]:
    """Return seconds of steps and both errors, on the way."""
    X, Y = given["X"], given["Y"]
    root = np.sqrt(given["s"])
    model = FixedRank(given["u"] * root, given["vt"].T * root)
    random, seconds, looks, done = np.random.default_rng(0), 0.0, [], 0
    order = random.permutation(len(Y))
    starts = range(0, len(order) - batch + 1, batch)
    rows = [X[order[start : start + batch]].T for start in starts]
    targets = [Y[order[start : start + batch]].T for start in starts]
    while True:
        begun = time.perf_counter()
        for i in range(done, done + 1 + done // 50):
            x, y = rows[i % len(rows)], targets[i % len(rows)]
            A, B = model.factors
            missed = y - A.table @ (A.R @ (B.R.T @ (x.T @ B.table).T))
            try:
                model.step(rate * missed, x)
            except ValueError:  # the steps are too large, and the rank is lost
                return looks
        done += 1 + done // 50
        seconds += time.perf_counter() - begun
        A, B = model.A, model.B
        errors = [
            float(np.square((given[f"X_{part}"] @ B) @ A.T - given[f"Y_{part}"]).mean())
            for part in ("validation", "test")
        ]
        looks.append([seconds, *errors])
        if max(errors) < TARGETS[-1] * NOISE**2 or seconds > limit or not np.isfinite(errors).all():
            return looks


def theirs(python: Path, given: dict, how: dict) -> list[list[float]]:
    job = {}
    for name, table in given.items():
        if hasattr(table, "indptr"):
            job |= {f"{name}_{part}": getattr(table, part) for part in ("data", "indices", "indptr", "shape")}
        else:
            job[name] = table
    how = {**how, "limit": LIMIT, "enough": TARGETS[-1] * NOISE**2}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "job.npz", **job, how=json.dumps(how))
        command = [python, peer_environment.HERE / "pymanopt_peer.py", Path(folder) / "job.npz"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def reached(looks: list[list[float]], target: float, which: int) -> float | None:
    """Return the seconds until the error of validation rows (1) or of test rows (2) is down at the target."""
    return next((look[0] for look in looks if look[which] <= target * NOISE**2), None)


def summed(name: str, side: str, how: dict, runs: dict) -> dict:
    """Return a row: for each target the run that was quickest for validation rows, as it was for test rows."""
    row = {"rows": name, "side": side, **how}
    for target in TARGETS:
        times = {rate: reached(looks, target, 1) for rate, looks in runs.items()}
        rate = min(times, key=lambda one: np.inf if times[one] is None else times[one])
        row[f"seconds to {target:g} × noise"] = reached(runs[rate], target, 2)
        row[f"step size, {target:g}"] = None if times[rate] is None else rate
    row["lowest error, × noise"] = min(look[2] for looks in runs.values() for look in looks) / NOISE**2
    return row


def main() -> None:
    python, rows = peer_environment.build("pymanopt"), []
    for name in PROBLEMS:
        given = problem(name)
        ours(given, 1, RATES[0], limit=0.0)  # compiles
        here = [
            summed(name, "nearer, FixedRank", {"batch": batch}, {rate: ours(given, batch, rate) for rate in RATES})
            for batch in BATCHES
        ]
        methods = dict.fromkeys((how["method"], how["batch"]) for how in PEER)
        for method, batch in methods:
            same = [how for how in PEER if (how["method"], how["batch"]) == (method, batch)]
            runs = {how.get("rate"): theirs(python, given, how) for how in same}
            here.append(summed(name, f"pymanopt, {method}", {"batch": batch}, runs))
        for target in TARGETS:
            key = f"seconds to {target:g} × noise"
            best = min((row[key] for row in here[: len(BATCHES)] if row[key]), default=None)
            for row in here[len(BATCHES) :]:
                row[f"times our best, {target:g}"] = row[key] / best if row[key] and best else None
        rows += here
        write(
            "loreta_against_pymanopt", "Matrix regression of rank ten: seconds to equal loss beside pymanopt", rows
        )


if __name__ == "__main__":
    main()
