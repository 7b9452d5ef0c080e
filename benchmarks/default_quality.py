"""The default map against the best fixed loss and ridge, on simulated answers.

For every setting (objects, dimensions, noise, answers per object) and split, points and answers are drawn, the default
is fitted as a user types it, and so is every fixed pair of loss and ridge. All are scored on 20,000 fresh answers with
the same noise. The best fixed pair is the one with the lowest mean error on these very answers: an oracle, which nobody
could have known. Each split is appended to a file as it ends and is not repeated when the run is started again.

    python default_quality.py OBJECTS SPLITS [MINUTES]
    python default_quality.py default      # the default anew, in every split that is there: the pairs do not change
"""

import json
import sys
import time
import warnings
from itertools import product

import numpy as np

from nearer import OrdinalEmbedding
from nearer.losses import LOSSES
from nearer.simulate import comparisons_from_points, flip, logistic
from record import RECORDS, write

DETAILS = RECORDS.parent / "default_quality.jsonl"  # not a record: one line per split
NOISE = {"none": None, "5 % flipped": flip(0.05), "20 % flipped": flip(0.2), "logistic": logistic(1.0)}
DIMENSIONS, PER_OBJECT = (2, 5, 10), (10, 30, 100)
RIDGES = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
QUESTION = "Error of the default map above that of the best fixed loss and ridge, simulated answers"


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["default"]:
        rows = [row | measured_default(*answers_of(*key(row))) for row in details()]
        DETAILS.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return write("default_quality", QUESTION, summary())
    n_objects, n_splits = (int(argument) for argument in sys.argv[1:3]) if len(sys.argv) > 2 else (60, 10)
    deadline = time.monotonic() + 60 * (float(sys.argv[3]) if len(sys.argv) > 3 else float("inf"))
    done = {key(row) for row in details()}
    for split, per_object, dims, noise in product(range(n_splits), PER_OBJECT, DIMENSIONS, NOISE):
        setting = {
            "objects": n_objects,
            "dims": dims,
            "noise": noise,
            "answers per object": per_object,
            "split": split,
        }
        if key(setting) in done:
            continue
        if time.monotonic() > deadline:
            break
        with DETAILS.open("a") as file:
            file.write(json.dumps(setting | measured(*answers_of(*key(setting)))) + "\n")
        write("default_quality", QUESTION, summary())


def answers_of(objects, dims, noise, answers_per_object, split) -> tuple:
    points = np.random.default_rng([split, objects, dims]).normal(size=(objects, dims))
    train = comparisons_from_points(points, objects * answers_per_object, noise=NOISE[noise], random_state=split)
    test = comparisons_from_points(points, 20_000, noise=NOISE[noise], random_state=10_000 + split)
    return train, test, dims, split


def measured_default(train, test, dims, split) -> dict:
    begun = time.process_time()
    default = OrdinalEmbedding(dims, random_state=split).fit(train)
    seconds = time.process_time() - begun
    return {
        "default": 1.0 - default.score(test),
        "loss": type(default.loss_).__name__,
        "regularization": default.regularization_,
        "cpu seconds": seconds,
    }


def measured(train, test, dims, split) -> dict:
    fixed = {
        loss: [
            1.0 - OrdinalEmbedding(dims, loss, regularization=ridge, random_state=split).fit(train).score(test)
            for ridge in RIDGES
        ]
        for loss in LOSSES
    }
    return measured_default(train, test, dims, split) | {"fixed": fixed}


def key(row) -> tuple:
    return tuple(row[name] for name in ("objects", "dims", "noise", "answers per object", "split"))


def details() -> list[dict]:
    return [json.loads(line) for line in DETAILS.read_text().splitlines()] if DETAILS.exists() else []


def summary() -> list[dict]:
    settings: dict[tuple, list[dict]] = {}
    for row in details():
        settings.setdefault(key(row)[:-1], []).append(row)
    rows = []
    for (objects, dims, noise, per_object), splits in sorted(settings.items(), key=str):
        errors = np.mean([[row["fixed"][loss] for loss in LOSSES] for row in splits], axis=0)
        loss, ridge = np.unravel_index(errors.argmin(), errors.shape)
        default = float(np.mean([row["default"] for row in splits]))
        rows.append({
            "objects": objects, "dims": dims, "noise": noise, "answers per object": per_object, "splits": len(splits),
            "best fixed loss": list(LOSSES)[loss], "best fixed ridge": RIDGES[ridge],
            "best fixed error": float(errors.min()), "default error": default,
            "default above best": default - float(errors.min()),
        })  # fmt: skip
    return rows


if __name__ == "__main__":
    main()
