"""`LabelRanker()` as typed against what a user would pick instead: popularity, ridge, one-vs-rest logistic regression.

corel5k (374 labels), corel16k (153) and delicious (983), each with about 500 binary features, in five random splits
of 80 % to learn from and 20 % to judge by. mAP is that of label rankings of test rows, as a mean over splits with its
standard error; differences to ridge are paired by split. Ridge is scikit-learn's `Ridge` on indicator columns, dense,
where it is fastest. Its alpha is chosen by mAP on an inner 80/20 split of the training rows; seconds are those of the
one fit, and with the choice of alpha. One-vs-rest logistic regression (liblinear) has its C chosen in the same
way, and is measured on the first split only. WARP from zero is `LabelRanker(50, init="zero")`, the default of nearer
before. Seconds are those of the processor, since the machine was shared; everything runs on one thread, and compilation
is not counted. `real` or `simulated` as an argument measures one of the two.

The simulated set has 10,000 labels and 100,000 sparse features, where a matrix of features by features would take
80 GB. A row mixes two of 100 topics: 60 features and five labels. A feature is one of a topic's own 1,000, by Zipf's
law, with chance 0.3, a label one of a topic's own 100 with chance 0.8; the others are any. There are 40,000 rows to
learn from and 1,000 to judge by.
"""

import resource
import sys
import time
import warnings

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier

from nearer import LabelRanker, datasets
from nearer.metrics import label_ranking_map
from record import write

SETS = ("corel5k", "corel16k001", "delicious")
LOADERS = {name: getattr(datasets, f"load_{name}") for name in SETS}
SEEDS = range(5)
ALPHAS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
CS = (0.01, 0.1, 1.0)
N_TOPICS, N_ROWS, N_TEST = 100, 40_000, 1_000


def load(name: str) -> tuple[csr_array, csr_array]:
    return LOADERS[name]()[:2]


def split(X, Y, seed: int) -> tuple:
    """Return features and labels to learn from, and to be judged by."""
    order = np.random.default_rng(seed).permutation(X.shape[0])
    learn, held_out = np.split(order, [round(0.8 * len(order))])
    return X[learn], Y[learn], X[held_out], Y[held_out]


def timed(run) -> tuple:
    """Return what a function returns, and the seconds of the processor that it took."""
    begun = time.process_time()
    result = run()
    return result, time.process_time() - begun


def tuned(fit_and_score, candidates: tuple, X, Y) -> float:
    """Return the candidate that is best on an inner split of the training rows."""
    X, Y, X_held_out, Y_held_out = split(X, Y, 100)
    found = {value: label_ranking_map(fit_and_score(value, X, Y)(X_held_out), Y_held_out) for value in candidates}
    return max(found, key=found.get)


def ridge(alpha: float, X, Y):
    model = Ridge(alpha).fit(X.toarray(), Y.toarray())
    return lambda table: model.predict(table.toarray())


def logistic(C: float, X, Y):
    seen = np.flatnonzero(Y.sum(axis=0))
    model = OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear")).fit(X, Y[:, seen].toarray())

    def scores(table) -> np.ndarray:
        found = np.full((table.shape[0], Y.shape[1]), -np.inf)
        found[:, seen] = model.decision_function(table)
        return found

    return scores


def judged(name: str, seed: int) -> list[dict]:
    """Return mAP and seconds of every method on a split."""
    X, Y, X_test, Y_test = split(*load(name), seed)

    def row(method: str, scores: np.ndarray, seconds: float, **more) -> dict:
        return {"method": method, "mAP": label_ranking_map(scores, Y_test), "seconds": seconds, **more}

    popular, seconds = timed(lambda: LabelRanker(solver="popularity").fit(X, Y))
    rows = [row("popularity", popular.decision_function(X_test), seconds)]
    others = {"Ridge": (ridge, ALPHAS)} | ({"one-vs-rest logistic": (logistic, CS)} if seed == 0 else {})
    for method, (fit, candidates) in others.items():
        value, tuning = timed(lambda fit=fit, candidates=candidates: tuned(fit, candidates, X, Y))
        model, seconds = timed(lambda fit=fit, value=value: fit(value, X, Y))
        rows.append(row(method, model(X_test), seconds, **{"seconds with tuning": seconds + tuning}))
    for method, model in (
        ("WARP from zero", LabelRanker(50, init="zero", random_state=seed)),
        ("LabelRanker()", LabelRanker(random_state=seed)),
    ):
        _, seconds = timed(lambda model=model: model.fit(X, Y))
        rows.append(row(method, model.decision_function(X_test), seconds))
    return rows


def write_real() -> None:
    rows = []
    for name in SETS:
        X, Y = load(name)
        LabelRanker(random_state=0).fit(X[:500], Y[:500])  # compiles
        splits = [judged(name, seed) for seed in SEEDS]
        ridges = [row["mAP"] for found in splits for row in found if row["method"] == "Ridge"]
        for method in [row["method"] for row in splits[0]]:
            found = [row for rows_here in splits for row in rows_here if row["method"] == method]
            values = np.array([row["mAP"] for row in found])
            row = {"set": name, "method": method, "splits": len(found), "mAP": float(values.mean())}
            row["standard error"] = error_of(values)
            above = values - ridges[: len(values)]
            row |= {"above Ridge": float(above.mean()), "its standard error": error_of(above)}
            for key in ("seconds", "seconds with tuning"):
                if key in found[0]:
                    row[key] = float(np.mean([entry[key] for entry in found]))
            rows.append(row)
        write(
            "label_ranking_defaults", "LabelRanker() as typed: mAP of label rankings, and seconds of a fit", rows
        )


def error_of(values: np.ndarray) -> float | None:
    """Return the standard error of a mean, None of a single value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def simulated(n_rows: int) -> tuple[csr_array, csr_array]:
    """Return rows of two topics each: 60 of 100,000 features and five of 10,000 labels, some of them the topics' own."""
    random = np.random.default_rng(0)
    topics = random.integers(N_TOPICS, size=(n_rows, 2))

    def drawn(size: int, n_columns: int, n_own: int, share: float) -> csr_array:
        weights = np.cumsum(1 / np.arange(1, n_own + 1))
        topic = np.take_along_axis(topics, random.integers(2, size=(n_rows, size)), axis=1)
        own = topic * n_own + np.searchsorted(weights, weights[-1] * random.random((n_rows, size)))
        any_column = random.integers(n_columns, size=(n_rows, size))
        place = np.where(random.random((n_rows, size)) < share, own, any_column)
        entries = np.ones(place.size), place.ravel(), np.arange(n_rows + 1) * size
        table = csr_array(entries, shape=(n_rows, n_columns))
        table.sum_duplicates()
        table.data[:] = 1.0
        return table

    return drawn(60, 100_000, 1_000, 0.3), drawn(5, 10_000, 100, 0.8)


def write_simulated() -> None:
    X, Y = simulated(N_ROWS + N_TEST)
    X, Y, X_test, Y_test = X[:N_ROWS], Y[:N_ROWS], X[N_ROWS:], Y[N_ROWS:]
    LabelRanker(random_state=0).fit(X[:200, :100], Y[:200])  # compiles
    rows = []
    for method, model in (
        ("popularity", LabelRanker(solver="popularity")),
        ("LabelRanker()", LabelRanker(random_state=0)),
    ):
        _, seconds = timed(lambda model=model: model.fit(X, Y))
        row = {"method": method, "mAP": model.score(X_test, Y_test), "seconds": seconds}
        if model.selection_:
            chosen = next(record for record in model.selection_ if record["chosen"])
            row |= {key: chosen[key] for key in ("power", "ridge", "rank", "n_steps")}
            row["peak memory in GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append(row)
    question = "LabelRanker() as typed on 10,000 labels and 100,000 sparse features: mAP and seconds of a fit"
    write("label_ranking_wide", question, rows)


def main() -> None:
    warnings.simplefilter("ignore")  # labels that no row of a part has
    questions = {"real": write_real, "simulated": write_simulated}
    for what in sys.argv[1:] or questions:
        questions[what]()


if __name__ == "__main__":
    main()
