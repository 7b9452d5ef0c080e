"""How well ERKLE predicts: 5.1 of the paper row by row, ten trials, and the convex programs beside it.

100 points in R⁵⁰, 10,000 answers of the 485,100 that there are, the others to be judged by. The convex programs
choose their ridge on their training answers alone ("auto").
"""

import numpy as np

from nearer import ComparisonKernel, OnlineKernel
from nearer.simulate import all_triplets
from record import write

PRINTED = {  # a literal transcription of the algorithm, ten trials (three with ten passes)
    "PA": 0.193,
    "PA, ten passes": 0.151,
    "STE, step 1": 0.213,
    "STE, step 1, ten passes": 0.155,
    "STE, step 1/sqrt(t)": 0.265,
    "STE, step 1/t": 0.370,
    "PA after 1,000": 0.321,
}
METHODS = {
    "PA": {"aggressiveness": None},
    "PA, ten passes": {"aggressiveness": None, "steps_per_answer": 10},
    "STE, step 1": {"loss": "ste", "learning_rate": 1.0},
    "STE, step 1, ten passes": {"loss": "ste", "learning_rate": 1.0, "steps_per_answer": 10},
    "STE, step 1/sqrt(t)": {"loss": "ste", "learning_rate": "1/sqrt(t)"},
    "STE, step 1/t": {"loss": "ste", "learning_rate": "1/t"},
    "PA, default cap": {},
}
TRIALS = 10


def trial(seed: int) -> dict[str, float]:
    random = np.random.default_rng(seed)
    answers = all_triplets(random.normal(size=(100, 50)))
    order = random.permutation(len(answers))
    train, test = answers.rows[order[:10_000]], answers.rows[order[10_000:]]
    errors = {}
    for name, parameters in METHODS.items():
        model = OnlineKernel(**parameters, n_objects=100, random_state=seed).fit(train[:1000])
        if name == "PA":
            errors["PA after 1,000"] = 1 - model.score(test)
        errors[name] = 1 - model.partial_fit(train[1000:]).score(test)
    for loss in ("ste", "gnmds"):
        errors[f"convex, {loss}"] = 1 - ComparisonKernel(loss, random_state=seed).fit(train).score(test)
    return errors


def main() -> None:
    trials: list[dict[str, float]] = []
    for seed in range(TRIALS):
        trials.append(trial(seed))
        write("online_errors", f"Held-out error, 5.1 of the ERKLE paper: {len(trials)} trials", summary(trials))


def summary(trials: list[dict[str, float]]) -> list[dict]:
    rows = []
    for name in trials[0]:
        found = np.array([one[name] for one in trials])
        spread = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None
        row = {"method": name, "error": float(found.mean()), "standard error": spread}
        printed = PRINTED.get(name)
        difference = None if printed is None else float(found.mean()) - printed
        rows.append({**row, "transcription": printed, "difference": difference})
    return rows


if __name__ == "__main__":
    main()
