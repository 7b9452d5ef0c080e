"""Figures 4 and 5 of the LORETA paper: ranking of labels; and WARP against scoring all of 10,000 labels.

ImageNet 2010 is not to be had: corel5k (374 labels) and delicious (983) stand in, both with binary features and a
constant one. No split comes with them: five random ones, 80 % to learn from. mAP is that of label rankings of test
rows, as a mean over splits with its standard error. Label popularity alone is the yardstick: what is not above it
has learned nothing from features.

LORETA and PA as in the paper score all labels in every step, here with the exact subgradient of the loss. LORETA with
WARP draws a violating pair. Step size (C of PA) and how many steps, 10,000 or 40,000, were chosen for each method and
start by mAP on an inner 80/20 split of the training part of the first split, at rank 50, and used for all ranks
and splits. Step sizes are given in units of one over the mean squared length of rows (PA: its root; the group
perceptron: the unit of `LabelRanker`). Two models are measured at a time.

Figure 5 has the best of each method, by the same inner split, on the first split: test mAP over the seconds of its
steps alone, early (1,000 steps) to late (100,000), one model at a time.

The simulated set has 20,000 rows of twenty topics, with 50 of 5,000 features and five of 10,000 labels each. A
label is most often one of the topic's own 500, by Zipf's law. Both samplings have rank 20 and their step size from
a ladder, by the mAP of rows held out of the training part after a pass. Seconds are those of the steps until the
test mAP is a share of the lower of their two best; best means the best on the way to 16 passes.

`subgradients` compares steps along the exact subgradient of the loss, in which the highest false label counts once per
violated label, with those along the G that the paper prints, in which it counts once. The protocol is that of
figure4, but the ladder of step sizes is extended until the best on the inner split is not at its end.

`figure4`, `figure5`, `subgradients` or `warp` as an argument measures one of the four; figure5 needs the record of
figure4.
"""

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from nearer import LabelRanker, datasets
from nearer.metrics import label_ranking_map
from nearer.ranking import LORETA, GroupPerceptron, PassiveAggressive, Perceptron
from record import rows_of, write

SEEDS = range(5)
LADDER = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
STEPS, STOPS = (10_000, 40_000), (1_000, 3_000, 10_000, 30_000, 100_000)
RANKS = {"corel5k": (10, 20, 50, 100), "delicious": (10, 20, 50, 100, 150)}
MIDDLE = 50  # the rank at which step sizes are chosen
STARTS = ("zero", "identity", "gaussian")
WARP_LADDER, WARP_PASSES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03), (0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16)


def models(name: str) -> dict[tuple, dict]:
    """Return what is compared: by method, start and rank, the parameters of a ranker."""
    found = {("popularity", None, None): {"solver": "popularity"}}
    for rank in RANKS[name]:
        for start in STARTS:
            found["LORETA", start, rank] = {"rank": rank, "init": start, **exact(LORETA)}
        found["LORETA, WARP", "zero", rank] = {"rank": rank, "init": "zero", "negatives": "warp"}
        found["PA", "zero", rank] = {"rank": rank, "init": "zero", **exact(PassiveAggressive)}
    found["matrix perceptron", None, None] = exact(Perceptron)
    found["group perceptron", None, None] = exact(GroupPerceptron)
    return found


def exact(solver: Any) -> dict:
    """Return the parameters of a ranker that steps along the exact subgradient, all labels scored."""
    return {"solver": solver(subgradient="exact"), "negatives": "all"}


LOADERS = {
    "corel5k": datasets.load_corel5k,
    "corel16k001": datasets.load_corel16k001,
    "delicious": datasets.load_delicious,
}


@cache
def load(name: str) -> tuple[csr_array, csr_array]:
    return LOADERS[name]()[:2]


def split(X, Y, seed: int) -> tuple:
    """Return features and labels to learn from, and to be judged by."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    learn, held_out = np.split(order, [round(0.8 * len(order))])
    return X[learn], Y[learn], X[held_out], Y[held_out]


def unit(X, solver: Any) -> float:
    """Return the step size 1 of the ladder in units of the data, the constant feature counted."""
    solver = {PassiveAggressive: "pa", GroupPerceptron: "group-perceptron"}.get(type(solver), solver)
    square = 1.0 + float(np.mean(X.multiply(X).sum(axis=1)))
    if solver == "pa":
        return square**-0.5
    if solver == "group-perceptron":
        return float(np.exp(np.log(X.shape[1] + 1) - 2.0)) / square
    return 1.0 / square


def fitted(X, Y, how: dict, rate: float, n_steps: int, seed: int) -> LabelRanker:
    if how.get("solver") != "popularity":
        how = how | {"learning_rate": rate * unit(X, how.get("solver", "loreta"))}
        how |= {"n_steps": n_steps}
    return LabelRanker(**how, random_state=seed).fit(X, Y)


def found(parts: tuple, how: dict, rate: float, n_steps: int, seed: int) -> float:
    X, Y, X_held_out, Y_held_out = parts
    try:
        model = fitted(X, Y, how, rate, n_steps, seed)
    except ValueError:  # diverged
        return 0.0
    return label_ranking_map(model.decision_function(X_held_out), Y_held_out)


def chosen(name: str, given: tuple) -> tuple[float | None, int | None]:
    """Return the step size and number of steps that are best on the inner split."""
    (method, _, _), how = given
    warnings.simplefilter("ignore")  # labels that no row of a part has
    inner = split(*split(*load(name), 0)[:2], 100)
    if method == "popularity":
        return None, None
    tried = {(rate, steps): found(inner, how, rate, steps, 0) for rate in LADDER for steps in STEPS}
    return max(tried, key=tried.get)


def measured(name: str, choices: dict[tuple, tuple], given: tuple) -> dict:
    """Judge a model on all splits, and on the inner one."""
    (method, start, rank), how = given
    warnings.simplefilter("ignore")
    outer = [split(*load(name), seed) for seed in SEEDS]
    rate, steps = choices[method, start]
    values = [found(parts, how, rate, steps, seed) for seed, parts in enumerate(outer)]
    return {
        "set": name,
        "method": method,
        "start": start,
        "rank": rank,
        "step size": rate,
        "steps": steps,
        "inner mAP": found(split(*outer[0][:2], 100), how, rate, steps, 0),
        "mAP": float(np.mean(values)),
        "standard error": float(np.std(values, ddof=1) / np.sqrt(len(values))),
        "values": values,
    }


def write_figure4(pool: ProcessPoolExecutor) -> None:
    rows = []
    for name in RANKS:
        given = models(name)
        middle = {key: how for key, how in given.items() if key[2] in (None, MIDDLE)}
        choices = dict(
            zip([key[:2] for key in middle], pool.map(partial(chosen, name), middle.items()), strict=True)
        )
        found_here = list(pool.map(partial(measured, name, choices), given.items()))
        popular = next(row["values"] for row in found_here if row["method"] == "popularity")
        for row in found_here:
            above = np.subtract(row.pop("values"), popular)
            row["above popularity"] = float(above.mean())
            row["its standard error"] = float(above.std(ddof=1) / np.sqrt(len(above)))
        rows += found_here
        question = f"Figure 4 of the LORETA paper: mAP of label rankings, {len(SEEDS)} splits"
        write("loreta_labels", question, rows)


def both_subgradients(name: str) -> dict[tuple, dict]:
    """Return what is compared: by method, subgradient and rank, the parameters of a ranker."""
    solvers = {"PA": PassiveAggressive, "matrix perceptron": Perceptron, "group perceptron": GroupPerceptron}
    found: dict[tuple, dict] = {("popularity", None, None): {"solver": "popularity"}}
    for subgradient in ("exact", "printed"):
        how = {"negatives": "all", "init": "zero"}
        for rank in (10, MIDDLE, 100):
            found["LORETA", subgradient, rank] = {**how, "rank": rank, "solver": LORETA(subgradient=subgradient)}
        for method, solver in solvers.items():
            rank = MIDDLE if method == "PA" else None
            found[method, subgradient, rank] = {**how, "rank": rank, "solver": solver(subgradient=subgradient)}
    return found


def chosen_inside(name: str, given: tuple) -> tuple[float | None, int | None]:
    """Return the best step size and number of steps of the inner split, no step size at the end of its ladder."""
    (method, _, _), how = given
    warnings.simplefilter("ignore")
    if method == "popularity":
        return None, None
    inner, tried = split(*split(*load(name), 0)[:2], 100), {}
    rates = [0.3, 0.1, 0.03]
    while True:
        for rate in rates:
            for steps in STEPS:
                if (rate, steps) not in tried:
                    tried[rate, steps] = found(inner, how, rate, steps, 0)
        best = max(tried, key=tried.get)
        if best[0] == rates[0] and best[0] < 1e3:
            rates.insert(
                0, float(f"{rates[0] * 10 / 3:.0e}" if f"{rates[0]:.0e}"[0] == "3" else f"{rates[0] * 3:.0e}")
            )
        elif best[0] == rates[-1] and best[0] > 1e-6:
            rates.append(float(f"{rates[-1] / 3:.0e}"))
        else:
            return best


def write_subgradients(pool: ProcessPoolExecutor) -> None:
    rows = []
    for name in RANKS:
        given = both_subgradients(name)
        middle = {key: how for key, how in given.items() if key[2] in (None, MIDDLE)}
        choices = dict(
            zip([key[:2] for key in middle], pool.map(partial(chosen_inside, name), middle.items()), strict=True)
        )
        measured_here = list(pool.map(partial(measured, name, choices), given.items()))
        popular = next(row["values"] for row in measured_here if row["method"] == "popularity")
        for row in measured_here:
            row["subgradient"] = row.pop("start")
            above = np.subtract(row.pop("values"), popular)
            row["above popularity"] = float(above.mean())
            row["its standard error"] = float(above.std(ddof=1) / np.sqrt(len(above)))
        rows += measured_here
        question = f"Label ranking by the exact subgradient and by the printed one: mAP, {len(SEEDS)} splits"
        write("loreta_labels_subgradients", question, rows)


def over_time(name: str) -> list[dict]:
    """Return test mAP over seconds for the best of each method."""
    warnings.simplefilter("ignore")
    X, Y, X_test, Y_test = split(*load(name), 0)
    rows = []
    for method in ("LORETA", "LORETA, WARP", "PA", "matrix perceptron", "group perceptron"):
        choices = [row for row in rows_of("loreta_labels") if (row["set"], row["method"]) == (name, method)]
        best = max(choices, key=lambda row: row["inner mAP"])
        how = models(name)[method, best["start"], best["rank"]]
        for steps in STOPS:
            model = fitted(X, Y, how, best["step size"], steps, 0)
            row = {key: best[key] for key in ("set", "method", "start", "rank", "step size")}
            value = label_ranking_map(model.decision_function(X_test), Y_test)
            rows.append({**row, "steps": steps, "seconds": model.history_[-1]["seconds"], "mAP": value})
    return rows


def write_figure5(pool: ProcessPoolExecutor) -> None:
    rows = [row for name in RANKS for row in over_time(name)]
    write("loreta_labels_over_time", "Figure 5 of the LORETA paper: mAP of label rankings over CPU time", rows)


def simulated(n_rows: int = 20_000, n_topics: int = 20) -> tuple[csr_array, csr_array]:
    """Return rows of some topics: 50 of 5,000 features and five of 10,000 labels, most of them the topic's own."""
    random = np.random.default_rng(0)
    topics = random.integers(n_topics, size=(n_rows, 1))

    def drawn(size: int, n_columns: int, share: float) -> csr_array:
        own = n_columns // n_topics
        weights = np.cumsum(1 / np.arange(1, own + 1))
        place = np.searchsorted(weights, weights[-1] * random.random((n_rows, size))) * n_topics + topics
        place = np.where(
            random.random((n_rows, size)) < share, place, random.integers(n_columns, size=place.shape)
        )
        entries = np.ones(place.size), place.ravel(), np.arange(n_rows + 1) * size
        table = csr_array(entries, shape=(n_rows, n_columns))
        table.sum_duplicates()
        table.data[:] = 1.0
        return table

    return drawn(50, 5_000, 0.3), drawn(5, 10_000, 0.9)


def write_warp(pool: ProcessPoolExecutor) -> None:
    warnings.simplefilter("ignore")
    X, Y, X_test, Y_test = split(*simulated(), 0)
    X_test, Y_test = X_test[:1_000], Y_test[:1_000]
    inner = [part[:1_000] if place > 1 else part for place, part in enumerate(split(X, Y, 100))]
    popular = found((X, Y, X_test, Y_test), {"solver": "popularity"}, None, None, 0)
    courses, rates = {}, {}
    for sampling in ("warp", "all"):
        how = {"rank": 20, "init": "zero", "negatives": sampling}
        fitted(X[:500], Y[:500], how, 0.1, 100, 0)  # compiles
        tried = {rate: found(inner, how, rate, X.shape[0], 0) for rate in WARP_LADDER}
        rates[sampling] = max(tried, key=tried.get)
        courses[sampling] = []
        for passes in WARP_PASSES:
            model = fitted(X, Y, how, rates[sampling], round(passes * X.shape[0]), 0)
            value = label_ranking_map(model.decision_function(X_test), Y_test)
            courses[sampling].append((model.history_[-1]["seconds"], value, passes))
    best = {sampling: max(value for _, value, _ in looks) for sampling, looks in courses.items()}
    rows = []
    for share in (0.8, 0.9, 1.0):
        target = share * min(best.values())
        row = {"test mAP": target, "popularity": popular}
        for sampling, looks in courses.items():
            seconds, _, passes = next(look for look in looks if look[1] >= target)
            row |= {f"{sampling}: seconds": seconds, f"{sampling}: passes": passes}
        row["speed-up"] = row["all: seconds"] / row["warp: seconds"]
        for sampling in courses:
            row |= {f"{sampling}: best mAP": best[sampling], f"{sampling}: step size": rates[sampling]}
        row |= {
            f"{sampling}: us a step": looks[-1][0] / (looks[-1][2] * X.shape[0]) * 1e6
            for sampling, looks in courses.items()
        }
        rows.append(row)
    write("loreta_warp", "WARP against scoring all of 10,000 labels: seconds to equal test mAP, rank 20", rows)


def main() -> None:
    questions = {
        "figure4": write_figure4,
        "figure5": write_figure5,
        "subgradients": write_subgradients,
        "warp": write_warp,
    }
    with ProcessPoolExecutor(2) as pool:
        for what in sys.argv[1:] or questions:
            questions[what](pool)


if __name__ == "__main__":
    main()
