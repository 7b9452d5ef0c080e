"""Similarities as typed beside what a user would pick instead: mean average precision on known and on new classes.

`feature_sets` has the splits. Settings are chosen on the training part alone, of the alternatives too: by mean average
precision of held-out objects, or for new classes of held-out classes (``validation="classes"`` of ours). Alternatives
are compared by the cosine: features as they are, whitened principal components (of which share of the variance is
chosen), LDA, LDA shrunken by a chosen share, logistic regression with a chosen C (probabilities; for new classes also
decision values), and scikit-learn's NCA where it is quick. "Best" and "ours" are the best means over the splits of the
alternatives and of our learners; the distances (RCA, and of narrow tables ITML, LMNN and LEGO) are compared by their own
distance.

    python similarity_defaults.py [--learner NAME] [SPLITS [SET ...]]

With ``--learner`` only that learner of ours is measured anew, in rows that are there, on the splits that they have.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import normalize

from feature_sets import SETS, split
from nearer import ITML, LEGO, LMNN, RCA, BilinearSimilarity, LowRankSimilarity, SoftmaxSimilarity
from nearer.similarity.validation import make_folds, retrieval_losses
from record import rows_of, write

QUESTION = (
    "Mean average precision and CPU time of similarities as typed, on known and new classes, beside alternatives"
)
MAX_NCA, MAX_NCA_COLUMNS = 1_500, 50
MAX_DISTANCE_COLUMNS = 100


def cosine(X, y, setting):
    return lambda table: table


def whitened(X, y, share):
    if issparse(X):
        model = TruncatedSVD(int(share * 500), random_state=0).fit(X)
        scale = model.singular_values_
        return lambda table: model.transform(table) / scale
    return PCA(share, whiten=True, svd_solver="full").fit(X).transform


def discriminant(X, y, shrinkage):
    if issparse(X):
        axes = TruncatedSVD(200, random_state=0).fit(X)
        inner = discriminant(axes.transform(X), y, shrinkage)
        return lambda table: inner(axes.transform(table))
    solver = {"solver": "svd"} if shrinkage is None else {"solver": "eigen", "shrinkage": shrinkage}
    return LinearDiscriminantAnalysis(**solver).fit(X, y).transform


def probabilities(X, y, C):
    return LogisticRegression(C=C, max_iter=300).fit(X, y).predict_proba


def decision_values(X, y, C):
    model = LogisticRegression(C=C, max_iter=300).fit(X, y)

    def values(table):
        scores = np.reshape(model.decision_function(table), (table.shape[0], -1))
        return scores - scores.mean(axis=1, keepdims=True) if scores.shape[1] > 1 else scores

    return values


def components(X, y, setting):
    return NeighborhoodComponentsAnalysis(random_state=0, max_iter=50).fit(X, y).transform


ALTERNATIVES = {
    "cosine": (cosine, (None,)),
    "whitened PCA": (whitened, (0.5, 0.7, 0.9, 0.99)),
    "LDA": (discriminant, (None,)),
    "shrunken LDA": (discriminant, (0.01, 0.03, 0.1, 0.3, 0.6, 0.9)),
    "logistic": (probabilities, (1e-3, 1e-2, 0.1, 1.0, 10.0)),
    "logistic scores": (decision_values, (1e-3, 1e-2, 0.1, 1.0, 10.0)),
    "NCA": (components, (None,)),
}
OURS = {
    "BilinearSimilarity": BilinearSimilarity,
    "SoftmaxSimilarity": SoftmaxSimilarity,
    "LowRankSimilarity": LowRankSimilarity,
    "RCA": RCA,
    "ITML": ITML,
    "LMNN": LMNN,
    "LEGO": LEGO,
}
DISTANCES = ("RCA", "ITML", "LMNN", "LEGO")


def precision(transform, table, labels) -> float:
    return float(1.0 - retrieval_losses(normalize(transform(table)), labels).mean())


def alternative(fit, settings, X, y, folds):
    """Return the transform of the setting that is best on the folds, learned from all."""
    if len(settings) > 1:
        means = [
            np.mean([precision(fit(f.table, f.labels, s), f.held_out, f.held_out_labels) for f in folds[:2]])
            for s in settings
        ]
        settings = [settings[int(np.argmax(means))]]
    return fit(X, y, settings[0])


def measure(name, kind, seed, learner=None) -> dict:
    """Return mean average precision and CPU seconds of every method, or of one learner of ours."""
    X, y, test, labels = split(name, kind, seed)
    validation = "objects" if kind == "seen" else "classes"
    folds = make_folds(X, y, None, np.random.default_rng(seed), validation=validation)
    found = {}
    for method, (fit, settings) in ALTERNATIVES.items():
        wide = issparse(X) or X.shape[1] > MAX_NCA_COLUMNS or len(X) > MAX_NCA
        if learner or (method == "NCA" and wide) or (method == "logistic scores" and kind == "seen"):
            continue
        begun = time.process_time()
        transform = alternative(fit, settings, X, y, folds)
        found[method] = precision(transform, test, labels), time.process_time() - begun
    for method, kind_of_model in OURS.items():
        if learner not in (None, method):
            continue
        if method in DISTANCES and (issparse(X) or (method != "RCA" and X.shape[1] > MAX_DISTANCE_COLUMNS)):
            continue
        options = {"validation": validation} if method == "RCA" or method not in DISTANCES else {}
        options |= {} if method == "LMNN" else {"random_state": seed}
        begun = time.process_time()
        model = kind_of_model(**options).fit(X, y)
        seconds = time.process_time() - begun
        found[method] = model.score(test, labels), seconds
    return found


def summary(row) -> dict:
    """Return the best alternative and the best of ours in a row."""
    means = {key.removesuffix(" mAP"): value for key, value in row.items() if key.endswith(" mAP")}
    best = max(ALTERNATIVES.keys() & means.keys(), key=means.get)
    own = max(OURS.keys() & means.keys(), key=means.get)
    found = {"best alternative": best, "its mAP": means[best], "our best": own, "our mAP": means[own]}
    return found | {"difference": means[own] - means[best]}


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--learner", choices=OURS)
    parser.add_argument("splits", type=int, nargs="?", default=5)
    parser.add_argument("sets", nargs="*", default=SETS)
    arguments = parser.parse_args()
    for name in arguments.sets or SETS:
        for kind in ("seen", "unseen"):
            there = rows_of("similarity_defaults")
            place = next((n for n, r in enumerate(there) if (r["set"], r["classes"]) == (name, kind)), len(there))
            row = {"set": name, "classes": kind, "splits": arguments.splits}
            if arguments.learner:
                row = there[place]
            results = [measure(name, kind, seed, arguments.learner) for seed in range(row["splits"])]
            methods = results[0]
            row |= {f"{m} mAP": float(np.mean([r[m][0] for r in results])) for m in methods}
            row |= {f"{m} CPU seconds": float(np.mean([r[m][1] for r in results])) for m in methods}
            there[place : place + 1] = [row | summary(row)]
            write("similarity_defaults", QUESTION, there)


if __name__ == "__main__":
    main()
