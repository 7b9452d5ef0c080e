"""Does the interval of `nearer.selection.held_out` contain the truth, and is noise called noise?

A study draws 30 points in the plane and 300 answers about them. In "15 % errors" the truth is the accuracy, on 20,000
fresh answers, of the map fitted to all 300, as a user types it. In "noise" every answer is a coin flip and the truth is
50 %. Where `held_out` says how many more answers would lead to some accuracy, so many are drawn and the map is fitted
again. Each study is appended to a file as it ends and is not repeated when the run is started again.

    python held_out_coverage.py [STUDIES [MINUTES]]
"""

import json
import sys
import time
import warnings

import numpy as np

from nearer import OrdinalEmbedding
from nearer.selection import held_out
from nearer.simulate import comparisons_from_points, flip
from record import RECORDS, write

DETAILS = RECORDS.parent / "held_out_coverage.jsonl"  # not a record: one line per study
QUESTION = "How often the 95 % interval of held_out contains the truth: 30 objects, 300 answers, defaults"
ERRORS = {"15 % errors": 0.15, "noise": 0.5}
N_OBJECTS, N_ANSWERS, N_FRESH = 30, 300, 20_000
FIRST_SEED = 1_000  # smaller ones were looked at while the interval was designed


def main() -> None:
    warnings.simplefilter("ignore")
    n_studies = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    deadline = time.monotonic() + 60 * (float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    done = {(row["answers"], row["seed"]) for row in details()}
    for seed in range(FIRST_SEED, FIRST_SEED + n_studies):
        for answers, errors in ERRORS.items():
            if (answers, seed) in done:
                continue
            if time.monotonic() > deadline:
                return
            with DETAILS.open("a") as file:
                file.write(json.dumps({"answers": answers, "seed": seed} | study(errors, seed)) + "\n")
            write("held_out_coverage", QUESTION, summary())


def study(errors: float, seed: int) -> dict:
    points = np.random.default_rng([seed, 0]).normal(size=(N_OBJECTS, 2))
    random = np.random.default_rng([seed, 1])

    def ask(n: int):
        return comparisons_from_points(points, n, noise=flip(errors), random_state=random)

    answers, fresh = ask(N_ANSWERS), ask(N_FRESH)
    estimator = OrdinalEmbedding(random_state=0)
    result = held_out(estimator, answers, random_state=0)
    truth = 0.5 if errors == 0.5 else estimator.fit(answers).score(fresh)
    row = {"truth": truth, "accuracy": result.accuracy, "interval": result.interval}
    row |= {"better": result.better_than_chance, "curve": result.learning_curve.accuracy}
    needed = result.answers_needed(result.goal)
    if needed is not None:
        more = type(answers).concat([answers, ask(needed)])
        row |= {"goal": result.goal, "needed": needed, "reached": estimator.fit(more).score(fresh)}
    return row


def details() -> list[dict]:
    return [json.loads(line) for line in DETAILS.read_text().splitlines()] if DETAILS.exists() else []


def summary() -> list[dict]:
    rows = []
    for answers in ERRORS:
        studies = [row for row in details() if row["answers"] == answers]
        if not studies:
            continue
        truth, accuracy, low, high = np.array([[s["truth"], s["accuracy"], *s["interval"]] for s in studies]).T
        advised = [study for study in studies if "goal" in study]
        rows.append({
            "answers": answers, "studies": len(studies), "truth": float(truth.mean()),
            "held out": float(accuracy.mean()), "standard deviation of the difference": float((accuracy - truth).std()),
            "interval contains the truth": float(((low <= truth) & (truth <= high)).mean()),
            "truth above": float((truth > high).mean()), "truth below": float((truth < low).mean()),
            "mean width": float((high - low).mean()),
            "called better than guessing": mean(studies, "better"),
            "advised": len(advised), **{name: mean(advised, name) for name in ("needed", "goal", "reached")},
        })  # fmt: skip
    return rows


def mean(studies: list[dict], name: str) -> float | None:
    return float(np.mean([study[name] for study in studies])) if studies else None


if __name__ == "__main__":
    main()
