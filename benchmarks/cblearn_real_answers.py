"""Held-out error of cblearn's five methods on people's answers: the figures that nearer's default must meet.

Runs in the peers' environment (`.venv-peers/bin/python benchmarks/cblearn_real_answers.py`), one fit at a
time on one core. It takes hours, so each fit is appended to the record as it ends and is not repeated when
the run is started again. On each set the first split is done with every method; the other splits follow,
cheapest method first, so that a bounded run leaves out only the dearest.
"""

import argparse
import json
import time
from pathlib import Path

import cblearn_peer  # sets one thread, so it comes before numpy
import real_data

RECORD = Path(__file__).resolve().parents[1] / "docs/benchmarks/records/cblearn_real_answers.jsonl"
DIMS = (2, 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no fit after this long")
    parser.add_argument("--limit", type=float, default=600, help="seconds that one fit may take")
    parser.add_argument("--datasets", nargs="+", default=list(real_data.DATASETS), choices=real_data.DATASETS)
    parser.add_argument("--record", type=Path, default=RECORD)
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes
    done = read_record(arguments.record)
    cblearn_peer.warm_up()
    for name in arguments.datasets:
        answers = real_data.DATASETS[name]()
        for method, dims, split in plan(name, done):
            if time.monotonic() > deadline:
                return
            train, test = answers.split(split)
            settings = {"n_objects": answers.n_objects, "dims": dims, "method": method, "seed": split}
            fit = cblearn_peer.run(train, test, **settings, limit=arguments.limit)
            record = {"dataset": name, "split": split, **fit}
            done[name, method, dims, split] = record
            with arguments.record.open("a") as file:
                file.write(json.dumps(record) + "\n")


def read_record(path):
    """Return what is already measured, by (dataset, method, dims, split)."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        return {}
    records = map(json.loads, path.read_text().splitlines())
    return {(r["dataset"], r["method"], r["dims"], r["split"]): r for r in records}


def plan(name, done):
    """Yield what is still to be fitted: split 0 of all, then each method and dimension, cheapest first."""
    kinds = [(method, dims) for dims in DIMS for method in cblearn_peer.METHODS]
    first, *others = real_data.SPLITS
    yield from ((*kind, first) for kind in kinds if (name, *kind, first) not in done)
    kinds.sort(key=lambda kind: done[(name, *kind, first)]["seconds"])
    yield from ((*kind, split) for kind in kinds for split in others if (name, *kind, split) not in done)


if __name__ == "__main__":
    main()
