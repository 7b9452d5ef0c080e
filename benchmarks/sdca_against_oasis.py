"""Figures 1 and 2 and Table 3 of the SDCA paper: SDCA against OASIS step by step, and the mAP of all methods.

The paper's bag of words of 50 classes of Caltech-256 is not to be had. Two sets stand in. The easy one is
Caltech-101 by MobileNetV2: the 50 object classes of odd number in the order of their names, from Faces on (of
Faces and Faces_easy, the same pictures cropped, only one is there). The hard one is what comes nearest to the
paper's: ten classes of Caltech-256 by SURF words, 1,123 pictures. 70 % of each class to learn from, 100,000
triplets drawn from these. Rows of unit length are brought to 300 dimensions (Table 3: 100, the same for all
methods) by PCA, fitted to the training part, and to unit length again: on the inner split that was better than the
rows as they are. λ and C are chosen by mAP on an inner 80/20 split of the training part.

In the figures both methods take the same triplets in the same order. SDCA starts from M = 0, where every triplet
is a mistake with a loss of 1. OASIS as published starts from M = I, the cosine, which is better than nothing from
the start, much so on the easy set; OASIS from M = 0 stands beside it. Losses and mistakes on the way are those of
each triplet under the matrix just before its step, in the mean over all steps so far; a score of 0 or less is a
mistake. SDCA minimises the squared hinge, OASIS steps by the hinge: both are given for both. P is SDCA's
objective. mAP is that of the test rows, each as a query against the others; that of SDCA also for the paper's
output, the mean over the second half of the steps. Seconds are those of the steps alone.

The default similarity draws twenty triplets an object, 10,000 at least. ITML passes over its 200,000 pairs ten
times at most. `figures`, `choices` or `table` as an argument measures one of the three.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nearer.datasets import load_caltech101, load_office_caltech
from nearer.metrics import mean_average_precision
from nearer.similarity import ITML, BilinearSimilarity
from nearer.similarity.oasis import OASIS, oasis_steps
from nearer.similarity.problem import Problem, primal
from nearer.similarity.sdca import Ascent
from nearer.similarity.triplets import BLOCK, Triplets
from record import write
from sdca_table2 import CAPS, METHODS, RATES, Method, Part, chosen, counted, judged, paper_sdca, part, spread

TRIPLETS = 100_000
REGULARIZATIONS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  # for rows of unit length; the paper's are for columns in [-1, 1]
STOPS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SEEDS = range(2)
ONE_PASS = {
    "SDCA": Method(
        lambda value, seed: BilinearSimilarity("sdca", regularization=value, max_iter=1, tol=0, random_state=seed),
        REGULARIZATIONS,
    ),
    "OASIS": Method(lambda value, seed: BilinearSimilarity(OASIS(value), max_iter=1), CAPS),
}
TABLE = {  # LMNN is left out, as in the paper
    "Eucl": METHODS["Eucl"],
    "RCA": METHODS["RCA"],
    "ITML": Method(lambda value, seed: ITML(gamma=value, max_iter=10, random_state=seed), RATES),
    "LEGO": METHODS["LEGO"],
    "OASIS": METHODS["OASIS"],
    "SDCA": Method(paper_sdca, REGULARIZATIONS),
    "SDCA, the default": METHODS["SDCA, the default"],
    "SDCA, the default, 100,000 triplets": Method(
        lambda _, seed: BilinearSimilarity("sdca", n_triplets=TRIPLETS, random_state=seed), from_labels=True
    ),
}
PRINTED = {"Eucl": 0.0924, "RCA": 0.0957, "ITML": 0.1009, "LEGO": 0.1021, "OASIS": 0.1155, "SDCA": 0.1237}


def caltech_101() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_caltech101()[:2]
    taken = (y % 2 == 1) & (y < 100)  # 0 is the background
    return X[taken], y[taken]


def caltech_10() -> tuple[np.ndarray, np.ndarray]:
    X, y, domain, domains = load_office_caltech()
    taken = domains[domain] == "Caltech10"
    return X[taken], y[taken]


SETS = {"Caltech-101, MobileNetV2": caltech_101, "Caltech-256, ten classes, SURF": caltech_10}


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.sqrt(np.square(X).sum(axis=1, keepdims=True))


class Online:
    """One of the two methods on its way, with what it lost so far."""

    def __init__(self, triplets: Triplets) -> None:
        self.triplets = triplets
        self.lost = {"squared hinge": 0.0, "hinge": 0.0, "mistakes": 0}
        self.seconds = 0.0

    def go(self, picks: np.ndarray) -> None:
        """Take steps by blocks; what each loses just before its step is computed on the side."""
        for start in range(0, len(picks), BLOCK):
            block = picks[start : start + BLOCK]
            scores = self.scores_before(block)
            short = np.maximum(0.0, 1.0 - scores)
            self.lost["squared hinge"] += float(np.square(short).sum())
            self.lost["hinge"] += float(short.sum())
            self.lost["mistakes"] += int((scores <= 0.0).sum())
            begun = time.perf_counter()
            self.step(block)
            self.seconds += time.perf_counter() - begun

    def so_far(self, steps: int) -> dict:
        return {f"{name} so far": lost / steps for name, lost in self.lost.items()}

    def scores_before(self, picks: np.ndarray) -> np.ndarray:
        """Return the score of each triplet under the matrix as the steps before it leave it."""
        x, z = self.triplets.gather(picks)
        scores = np.einsum("ij,ij->i", x @ self.matrix, z)
        products = (x @ x.T) * (z @ z.T)
        rule = self.rule()
        for now, pick in enumerate(picks):
            scores[now + 1 :] += rule(pick, scores[now]) * products[now, now + 1 :]
        return scores


class Sdca(Online):
    title = "SDCA"

    def __init__(self, triplets: Triplets, regularization: float) -> None:
        super().__init__(triplets)
        self.ascent = Ascent(triplets, regularization)

    @property
    def matrix(self) -> np.ndarray:
        return self.ascent.matrix

    def step(self, picks: np.ndarray) -> None:
        self.ascent.ascend(picks)

    def rule(self) -> Callable[[int, float], float]:
        alpha, weight, curvature = self.ascent.alpha.copy(), self.ascent.weight, self.ascent.curvature

        def coefficient(pick: int, score: float) -> float:
            change = max((1.0 - score - 0.5 * alpha[pick]) / curvature[pick], -alpha[pick])
            alpha[pick] += change
            return weight[pick] * change

        return coefficient


class Oasis(Online):
    def __init__(self, triplets: Triplets, aggressiveness: float, start: float) -> None:
        super().__init__(triplets)
        self.title = f"OASIS from M = {'I' if start else '0'}"
        self.matrix = start * np.eye(triplets.n_features)
        self.caps = np.full(len(triplets), aggressiveness)

    def step(self, picks: np.ndarray) -> None:
        oasis_steps(self.triplets, self.matrix, picks, self.caps, symmetric=False)

    def rule(self) -> Callable[[int, float], float]:
        return lambda pick, score: min(self.caps[pick], max(0.0, 1.0 - score) / self.triplets.squares[pick])


def figures(given: Part, regularization: float, aggressiveness: float) -> Iterator[dict]:
    """Yield a row for each method at each number of steps."""
    triplets = Triplets(given.X, given.triplets)
    picks = np.random.default_rng(1).integers(len(triplets), size=STOPS[-1], dtype=np.int32)
    sdca = Sdca(triplets, regularization)
    oasis = [Oasis(triplets, aggressiveness, start) for start in (1.0, 0.0)]
    done = 0
    for stop in STOPS:
        for run in (sdca, *oasis):
            half = stop // 2
            run.go(picks[done:half])
            if run is sdca:
                sdca.ascent.begin_average()
            run.go(picks[half:stop])
            averaged = Problem(triplets, regularization).matrix(sdca.ascent.average()) if run is sdca else None
            yield {
                "steps": stop,
                "method": run.title,
                "chosen": f"λ = {regularization:g}" if run is sdca else f"C = {aggressiveness:g}",
                **run.so_far(stop),
                "P": primal(triplets.shares, triplets.scores(run.matrix), run.matrix, regularization),
                "mAP": precision(run.matrix, given),
                "mAP, averaged": None if averaged is None else precision(averaged, given),
                "seconds": run.seconds,
            }
        done = stop


def precision(matrix: np.ndarray, given: Part) -> float:
    return mean_average_precision(given.X_held_out @ matrix @ given.X_held_out.T, given.y_held_out)


def parts(name: str, dims: int, seed: int) -> tuple[Part, Part]:
    """Return the whole, and the inner split of its training part."""
    X, y = SETS[name]()
    whole = part(unit(X), y, 0.7, TRIPLETS, seed)
    return reduced(whole, dims), reduced(part(whole.X, whole.y, 0.8, TRIPLETS, seed), dims)


def reduced(given: Part, dims: int) -> Part:
    mean = given.X.mean(axis=0)
    axes = np.linalg.svd(given.X - mean, full_matrices=False)[2][:dims]
    X, X_held_out = (unit((table - mean) @ axes.T) for table in (given.X, given.X_held_out))
    return Part(X, given.y, given.triplets, X_held_out, given.y_held_out)


def write_figures(dims: int = 300) -> None:
    rows = []
    for name in SETS:
        whole, inner = parts(name, dims, seed=0)
        ridge, cap = (chosen(method, inner, 0) for method in ONE_PASS.values())
        start = {"set": name, "steps": 0, "method": "cosine, or Eucl"}
        rows.append({**start, "chosen": None, "mAP": precision(np.eye(dims), whole)})
        for row in figures(whole, ridge, cap):
            rows.append({"set": name, **row})
            write("sdca_against_oasis", "Figures 1 and 2 of the SDCA paper: SDCA against OASIS", rows)


def write_choices(dims: int = 300, steps: int = 100_000) -> None:
    """Write what both lose on the way for every λ and C, since the figures are about one of each."""
    rows = []
    for name in SETS:
        whole, _ = parts(name, dims, seed=0)
        triplets = Triplets(whole.X, whole.triplets)
        picks = np.random.default_rng(1).integers(len(triplets), size=steps, dtype=np.int32)
        runs = [(Sdca(triplets, ridge), f"λ = {ridge:g}") for ridge in REGULARIZATIONS]
        runs += [(Oasis(triplets, cap, 1.0), f"C = {cap:g}") for cap in CAPS]
        for run, value in runs:
            run.go(picks)
            row = {"set": name, "method": run.title, "with": value, **run.so_far(steps)}
            rows.append({**row, "mAP": precision(run.matrix, whole)})
            write("sdca_online", f"Figures 1 and 2 at {steps:,} steps, for every λ and C", rows)


def write_table(dims: int = 100) -> None:
    rows = []
    for name in SETS:
        found = {title: [] for title in TABLE}
        values = {title: [] for title in TABLE}
        for seed in SEEDS:
            whole, inner = parts(name, dims, seed)
            for title, method in TABLE.items():
                value = chosen(method, inner, seed)
                model = method.fitted(whole, value, seed)
                found[title].append(judged(model, whole))
                values[title].append(getattr(model, "regularization_", None) if value is None else value)
        for title in TABLE:
            measured = {**spread(found[title]), "paper, its 50 classes": PRINTED.get(title)}
            rows.append({"set": name, "method": title, **measured, "chosen": counted(values[title])})
        question = f"Table 3 of the SDCA paper, on other pictures: mean average precision, {len(SEEDS)} seeds"
        write("sdca_table3", question, rows)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    questions = {"figures": write_figures, "choices": write_choices, "table": write_table}
    for what in sys.argv[1:] or questions:
        questions[what]()


if __name__ == "__main__":
    main()
