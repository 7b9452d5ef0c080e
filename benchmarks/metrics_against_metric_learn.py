"""How quick RCA, LMNN and ITML are beside metric-learn 0.7, and how good: accuracy of three nearest neighbours.

Four sets of the UCI repository, scaled to [-1, 1], constant columns left out (metric-learn's RCA cannot have
them), 30 % of each class held out. Every fit has a process of its own on one core, after a small one that
compiles; short fits are repeated and the shortest time counts. Learners have their defaults, except that our RCA
does not shrink, as metric-learn's, and that metric-learn's LMNN is also run with larger learning rates: its default
of 1e-7 takes hundreds of steps to grow to a useful size. It is stopped after five minutes, with the best map it had,
and may use 12 GB.

"seconds to its accuracy" is the time until nearer's map is first as good on held-out rows as metric-learn's
finished one, in the mean over those splits where it gets there. "objective" is that of LMNN over all triplets of
the training rows, for both sides by the same code. Rows of letter have many equally near neighbours, of
which either side may have chosen others as targets: there it tells no more than half a percent. Give names of
learners to run only these.
"""

import json
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import feature_sets
import peer_environment
from nearer.similarity import ITML
from nearer.similarity.lmnn import LMNN
from nearer.similarity.lmnn.problem import LargeMargin, target_neighbors
from nearer.similarity.rca import RCA
from record import rows_of, write

NAME = "metrics_against_metric_learn"
QUESTION = "Fit time, memory and 3-NN accuracy of learned distances beside metric-learn 0.7, one core"
LEARNERS = {"RCA": partial(RCA, shrinkage=0), "LMNN": LMNN, "ITML": ITML}
SEEDED = ("RCA", "ITML")
PEER_OPTIONS = {"RCA": [{}], "LMNN": [{}, {"learn_rate": 1e-5}, {"learn_rate": 1e-3}], "ITML": [{}]}
SPLITS = {"vehicle": 3, "vowel": 3, "segment": 3, "letter": 1}
TIMES, ENOUGH = 5, 2.0  # fits timed at most, and seconds after which there is no further one
LIMIT, MEMORY = 300.0, 12_000_000_000


def main() -> None:
    warnings.simplefilter("ignore")
    python = peer_environment.build("metric-learn")
    for learner in sys.argv[1:] or LEARNERS:
        for data in SPLITS:
            rows = [r for r in rows_of(NAME) if (r["learner"], r["data"]) != (learner, data)]
            cells = [split(data, seed) for seed in range(SPLITS[data])]
            mine = [in_process([sys.executable, __file__, "--fit"], learner, cell) for cell in cells]
            if learner == "LMNN" and data == "letter":
                rows.append(whole(data))
            for options in PEER_OPTIONS[learner]:
                script = [python, peer_environment.HERE / "metric_learn_peer.py"]
                limits = ["--memory", str(MEMORY), "--limit", str(LIMIT)]
                theirs = [in_process(script, learner, cell, options, limits) for cell in cells]
                rows.append(measured(learner, data, cells, mine, theirs, options))
                write(NAME, QUESTION, rows)


def load(data) -> tuple[np.ndarray, np.ndarray]:
    X, y = feature_sets.load(data)
    X = X[:, np.ptp(X, axis=0) > 0]
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / (high - low) - 1, y


def split(data, seed, test_size=0.3) -> dict:
    """Return features and labels with 30 % of each class held out."""
    X, y = load(data)
    random, held_out = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = random.permutation(np.flatnonzero(y == label))
        held_out[members[: round(test_size * len(members))]] = True
    return {"X": X[~held_out], "y": y[~held_out], "test_X": X[held_out], "test_y": y[held_out], "seed": seed}


def in_process(command, learner, cell, options=None, limits=()) -> dict:
    """Fit in a process of its own; return its record with the map as an array."""
    options = {**(options or {}), **({"random_state": cell["seed"]} if learner in SEEDED else {})}
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.npz"
        how = json.dumps({"learner": learner, "options": options, "times": TIMES})
        np.savez(job, X=cell["X"], y=cell["y"], how=how)
        done = subprocess.run([*command, job, *limits], check=True, capture_output=True, text=True)
    record = json.loads(done.stdout)
    components = record.pop("components")
    return {**record, "map": None if components is None else np.array(components)}


def fit(path) -> dict:
    """Fit one of ours as often as is quick; the peer's script does the same."""
    with np.load(path) as job:
        X, y, how = job["X"], job["y"], json.loads(str(job["how"]))
    toy = np.random.default_rng(0).normal(size=(60, 3))
    LEARNERS[how["learner"]]().fit(toy, np.arange(60) % 3)
    model, seconds = LEARNERS[how["learner"]](**how["options"]), []
    while len(seconds) < how["times"] and sum(seconds) < ENOUGH:
        begun = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - begun)
    found = model.components_.tolist()
    return {"seconds": min(seconds), "fits": len(seconds), "peak MB": peak_megabytes(), "components": found}


def peak_megabytes() -> float:
    """Return the most memory that this process has used; getrusage would count its parent's as well."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measured(learner, data, cells, mine, theirs, options) -> dict:
    first = cells[0]
    row = {"data": data, "rows": len(first["X"]), "features": first["X"].shape[1], "splits": len(cells)}
    row |= {"learner": learner, "metric-learn options": options}
    row["Euclidean accuracy"] = mean([accuracy(np.eye(row["features"]), cell) for cell in cells])
    for side, records in (("nearer", mine), ("metric-learn", theirs)):
        done = [(record["map"], cell) for record, cell in zip(records, cells, strict=True)]
        usable = all(found is not None for found, _ in done)
        row |= {
            f"{side} seconds": mean([record["seconds"] for record in records]),
            f"{side} accuracy": mean([accuracy(*pair) for pair in done]) if usable else None,
            f"{side} peak MB": max(record["peak MB"] for record in records),
        }
        if learner == "LMNN" and usable:
            row[f"{side} objective"] = mean([objective(*pair) for pair in done])
    row["metric-learn stopped"] = [record["stopped"] for record in theirs if record["stopped"]] or None
    row["times faster"] = row["metric-learn seconds"] / row["nearer seconds"]
    if learner == "LMNN":
        pairs = [(record["map"], cell) for record, cell in zip(theirs, cells, strict=True)]
        there = [seconds_to(accuracy(*pair), pair[1]) for pair in pairs if pair[0] is not None]
        reached = [seconds for seconds in there if seconds is not None]
        row |= {"splits with its accuracy": len(reached), "seconds to its accuracy": mean(reached)}
    return row


def whole(data) -> dict:
    """Fit LMNN on all rows of a set: what it takes at full size."""
    X, y = load(data)
    record = in_process([sys.executable, __file__, "--fit"], "LMNN", {"X": X, "y": y})
    row = {"data": data, "rows": len(X), "features": X.shape[1], "splits": 0, "learner": "LMNN"}
    return {**row, "nearer seconds": record["seconds"], "nearer peak MB": record["peak MB"]}


def accuracy(components, cell) -> float:
    neighbours = KNeighborsClassifier(3).fit(cell["X"] @ components.T, cell["y"])
    return float(neighbours.score(cell["test_X"] @ components.T, cell["test_y"]))


def objective(components, cell) -> float:
    order = np.argsort(cell["y"], kind="stable")
    X, y = cell["X"][order], cell["y"][order]
    return LargeMargin(X - X.mean(axis=0), y, target_neighbors(X, y, 3), 0.5).value_and_gradient(components)[0]


def seconds_to(target, cell) -> float | None:
    """Return after how many seconds of a fit its map is as good as the target; watching does not count."""
    reached = []

    def watch(record) -> bool:
        if accuracy(record["components"], cell) >= target:
            reached.append(record["seconds"])
        return bool(reached)

    LMNN(callback=watch).fit(cell["X"], cell["y"])
    return reached[0] if reached else None


def mean(values) -> float | None:
    return float(np.mean(values)) if values else None


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        warnings.simplefilter("ignore")
        print(json.dumps(fit(sys.argv[2])))
    else:
        main()
