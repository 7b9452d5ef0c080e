"""WARP against scoring all of 10,000 labels: seconds to equal test mAP.

The simulated set has 20,000 rows of twenty topics, with 50 of 5,000 features and five of 10,000 labels each. A
label is most often one of the topic's own 500, by Zipf's law. Both samplings have rank 20 and their step size from
a ladder, by the mAP of rows held out of the training part after a pass. Step sizes are given in units of one over the
mean squared length of rows. Seconds are those of the steps until the test mAP is a share of the lower of their two
best; best means the best on the way to 16 passes.
"""

import warnings

import numpy as np
from scipy.sparse import csr_array

from nearer import LabelRanker
from nearer.metrics import label_ranking_map
from record import write

LADDER, PASSES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03), (0.01, 0.03, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16)


def split(X, Y, seed: int) -> tuple:
    """Return features and labels to learn from, and to be judged by."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    learn, held_out = np.split(order, [round(0.8 * len(order))])
    return X[learn], Y[learn], X[held_out], Y[held_out]


def fitted(X, Y, negatives: str, rate: float, n_steps: int) -> LabelRanker:
    unit = 1.0 / (1.0 + float(np.mean(X.multiply(X).sum(axis=1))))  # the constant feature counted
    how = {"rank": 20, "init": "zero", "negatives": negatives, "learning_rate": rate * unit, "n_steps": n_steps}
    return LabelRanker(**how, random_state=0).fit(X, Y)


def found(parts: tuple, negatives: str, rate: float, n_steps: int) -> float:
    X, Y, X_held_out, Y_held_out = parts
    try:
        model = fitted(X, Y, negatives, rate, n_steps)
    except ValueError:  # diverged
        return 0.0
    return label_ranking_map(model.decision_function(X_held_out), Y_held_out)


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


def main() -> None:
    warnings.simplefilter("ignore")  # labels that no row of a part has
    X, Y, X_test, Y_test = split(*simulated(), 0)
    X_test, Y_test = X_test[:1_000], Y_test[:1_000]
    inner = [part[:1_000] if place > 1 else part for place, part in enumerate(split(X, Y, 100))]
    popular = label_ranking_map(LabelRanker(solver="popularity").fit(X, Y).decision_function(X_test), Y_test)
    courses, rates = {}, {}
    for sampling in ("warp", "all"):
        fitted(X[:500], Y[:500], sampling, 0.1, 100)  # compiles
        tried = {rate: found(inner, sampling, rate, X.shape[0]) for rate in LADDER}
        rates[sampling] = max(tried, key=tried.get)
        courses[sampling] = []
        for passes in PASSES:
            model = fitted(X, Y, sampling, rates[sampling], round(passes * X.shape[0]))
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


if __name__ == "__main__":
    main()
