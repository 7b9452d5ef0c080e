"""LORETA: the experiments of the paper.

Two tasks. In 7.1 a similarity of low rank is learned from triplets of documents, and judged by how well documents
retrieve those of their newsgroup (Figure 3). In 7.2 labels are ranked by W x with W of low rank, and judged by the mean
average precision of rankings (Figures 4 and 5).

The paper chooses step sizes by cross-validation, in 7.2 with five folds. Here each model, at its own rank, has its step
size and its number of steps chosen anew for each split, on one inner split of its training part. The grid of step sizes
1, 3, 10, … is extended until the best one is not at its end, at most from 1e-6 to 1e4. A size with which a model
diverges counts as a mAP of 0. The largest number of steps is what can be afforded, and often the best one.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from nearer import LEGO, BilinearSimilarity, InformationGain, LabelRanker, LowRankSimilarity
from nearer.datasets import load_corel5k, load_delicious, load_newsgroups_counts
from nearer.iterative import DivergedError
from nearer.metrics import label_ranking_map, mean_average_precision
from nearer.papers.experiment import Experiment, Results, Row, Trial, Verdict
from nearer.papers.figures import share_legend
from nearer.papers.grid import search_grid
from nearer.papers.statistics import (
    FEWEST,
    all_hold,
    any_holds,
    counted,
    is_higher,
    is_lower,
    mean_and_error,
    rounded,
    unless_open_ended,
)
from nearer.ranking import LORETA, GroupPerceptron, PassiveAggressive, Perceptron, baseline_scores
from nearer.similarity import OASIS
from nearer.simulate import comparisons_from_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INNER = 100  # the seed of inner splits; those of the others are 0, 1, 2, …
SHARE = 0.8  # of an inner split, to learn from
OUTER_SHARE = 0.65  # of the documents, as printed
# Test rows per training row of the random splits: see `nearer.papers.statistics`.
OVERLAP, OVERLAP_OF_DOCUMENTS = (1.0 - SHARE) / SHARE, (1.0 - OUTER_SHARE) / OUTER_SHARE
LOWEST, HIGHEST = -12, 8  # ends of the grid of step sizes, in half powers of ten: 1e-6 and 1e4
PLATEAU = 1e-3  # differences of mAP on held-out data that do not count
MATTERS = 0.005  # and between initial models, which three comparisons of each rank would find somewhere

COLORS = {
    "LORETA-PSD": "#d62728",
    "LORETA": "#1f77b4",
    "PA": "#2ca02c",
    "GD-PSD": "#9467bd",
    "GD": "#8c564b",
    "polar": "#e377c2",
    "LORETA-PSD, hard": "#ff9896",
    "OASIS": "#ff7f0e",
    "LEGO": "#17becf",
    "matrix perceptron": "#111111",
    "group perceptron": "#9467bd",
    "popularity": "#7f7f7f",
    "ridge": "#bcbd22",
}
SHADES = ("#bddf26", "#5ec962", "#21918c", "#2c728e", "#3b528b", "#440154")  # of six ranks, from light to dark


def grid_value(power: int) -> float:
    """Return a step size of the grid …, 0.1, 0.3, 1, 3, 10, …; power 0 is 1."""
    return float(f"{10 ** (power / 2):.0e}")


def beyond_on_grid(size: float, is_largest: bool) -> float | None:
    """Return the next larger or smaller step size of the grid; None at its end."""
    power = round(2 * np.log10(size)) + (1 if is_largest else -1)
    return grid_value(power) if LOWEST <= power <= HIGHEST else None


def choose(
    judge: Callable[[float, Sequence[int]], list[float]],
    middle: int,
    steps: Sequence[int],
    search_steps: Sequence[int] | None = None,
) -> Row:
    """Choose a step size and a number of steps.

    ``judge`` returns the mAP on held-out data after each of some numbers of steps. Three step sizes around the middle
    are tried first, then further ones until the best is not at an end. With ``search_steps`` the step size is chosen
    after these numbers of steps, which cost less, and then the number of steps at that size.
    """
    looks, tried = search_steps or steps, {}

    def score(size: float) -> tuple[float, float]:
        tried[size] = judge(size, looks)
        top = max(tried[size])
        return top, 0.0 if top > 0.0 else -size  # if all have diverged, smaller ones may not

    best, _ = search_grid([grid_value(middle + change) for change in (-1, 0, 1)], score, beyond_on_grid)
    values = tried[best] if looks == steps else judge(best, steps)
    tried[best] = values
    found = {f"{size:g}": rounded(tried[size]) for size in sorted(tried)}
    value = max(values)
    return {"step size": best, "steps": steps[values.index(value)], "inner mAP": value, "tried": found}


def by_split(choices: Sequence[Row]) -> Row:
    """Return what was chosen on each split, as lists."""
    return {key: [choice[key] for choice in choices] for key in choices[0]}


def chosen_columns(result: Row) -> Row:
    """Return columns of a table for what was chosen on the splits; none of it for a method without a choice."""
    if "step size" not in result:
        return {"step size": None, "steps": None, "inner mAP": None}
    counts = {key: counted(result[key]) for key in ("step size", "steps")}
    return {**counts, "inner mAP": float(np.mean(result["inner mAP"]))}


def at_most(steps: int) -> str:
    """Return up to how many steps methods are compared, for claims: more might change the order."""
    return f" (after at most {steps:,} steps)"


def compared(values: Sequence[float], others: Sequence[float]) -> str:
    """Return two means, to be read as one against the other."""
    return f"{np.mean(values):.3f} against {np.mean(others):.3f}"


# 7.1: a similarity of documents.


@dataclass(frozen=True, eq=False)
class Documents:
    """Counts of terms of documents to learn from, and of held-out ones, which retrieve each other."""

    counts: csr_array
    y: NDArray[np.int64]
    counts_held_out: csr_array
    y_held_out: NDArray[np.int64]

    @classmethod
    def split(cls, counts: csr_array, y: NDArray[np.int64], share: float, seed: int) -> "Documents":
        """Split at random."""
        order = np.random.default_rng(seed).permutation(len(y))
        learn, held_out = np.split(order, [round(share * len(y))])
        return cls(counts[learn], y[learn], counts[held_out], y[held_out])

    def inner(self) -> "Documents":
        """Split the documents to learn from once more."""
        return self.split(self.counts, self.y, SHARE, INNER)

    def features(self, n_terms: int) -> tuple[csr_array, csr_array]:
        """Return tf-idf rows of unit length over the terms of highest information gain, the best first.

        Terms are chosen and weighted by the documents to learn from.
        """
        return _features(self, n_terms)

    def judge(self, similarities: NDArray[np.float64]) -> float:
        """Return the mAP of held-out documents that retrieve each other."""
        return mean_average_precision(similarities, self.y_held_out)


@lru_cache(maxsize=2)
def _features(part: Documents, n_terms: int) -> tuple[csr_array, csr_array]:
    terms = InformationGain("all").fit(part.counts, part.y).order_[:n_terms]
    weights = TfidfTransformer().fit(part.counts[:, terms])
    learn, held_out = (
        csr_array(weights.transform(table[:, terms])) for table in (part.counts, part.counts_held_out)
    )
    return learn, held_out


class Polar:
    """Meyer, Bonnabel and Sepulchre (2011): W = U S Uᵀ with UᵀU = I and S positive definite, in polar geometry.

    With the gradient F of the loss in W, a step of size η moves both, as in their Section 4 with λ = ½:
    U ← qf(U - η(I - UUᵀ)F U S), S = RRᵀ, R ← R exp(-¼η RᵀUᵀF U R). For a triplet F = -½(q zᵀ + z qᵀ), z = p₊ - p₋.

    The first part of the new U is U (I - EΘ) + G Θ with G = [q z], E = UᵀG and Θ = ½η[Uᵀz Uᵀq]ᵀS, and qf divides by
    the Cholesky factor of its Gram matrix, which is I + Θᵀ(GᵀG - EᵀE)Θ. So U is kept as table · T, and a step changes
    only T and the rows of the table in which q and z have entries.
    """

    def __init__(self, n_features: int, rank: int) -> None:
        self.table, self.T, self.R = np.eye(n_features, rank), np.eye(rank), np.eye(rank)

    def step(self, rows: NDArray[Any], G: NDArray[np.float64], step_size: float) -> None:
        """Learn from a triplet: the rows in which q and z have entries, and these as two columns."""
        E = self.T.T @ (self.table[rows].T @ G)
        projected = self.R.T @ E
        q, z = projected.T
        if q @ z >= 1.0:
            return
        theta = 0.5 * step_size * (self.R @ projected[:, ::-1]).T
        upper = np.linalg.cholesky(np.eye(len(E)) + theta.T @ (G.T @ G - E.T @ E) @ theta).T
        change = np.linalg.solve(upper.T, (np.eye(len(E)) - E @ theta).T).T
        T, added = self.T @ change, np.linalg.solve(upper.T, (G @ theta).T).T
        inverse = np.linalg.inv(T)
        if np.linalg.norm(T) * np.linalg.norm(inverse) < 1e3 * len(T):
            self.T = T
            self.table[rows] += added @ inverse
        else:
            self.table, self.T = self.table @ T, np.eye(len(T))
            self.table[rows] += added
        # exp of the symmetric ½(q zᵀ + z qᵀ), whose eigenvectors are the sum and the difference of unit vectors
        lengths = np.linalg.norm(q) * np.linalg.norm(z)
        if lengths > 0.0:
            for sign in (1.0, -1.0):
                direction = q / np.linalg.norm(q) + sign * z / np.linalg.norm(z)
                square = direction @ direction
                if square > 1e-12:
                    growth = np.expm1(0.125 * step_size * (q @ z + sign * lengths))
                    self.R += growth / square * np.outer(self.R @ direction, direction)

    def learn(self, X: csr_array, triplets: NDArray[np.int32], step_size: float) -> None:
        """Take a step for each triplet of rows."""
        for a, b, c in triplets:
            q, near, far = (slice(X.indptr[row], X.indptr[row + 1]) for row in (a, b, c))
            places = np.concatenate([X.indices[part] for part in (q, near, far)])
            rows, inverse = np.unique(places, return_inverse=True)
            n_q, n_near = q.stop - q.start, near.stop - near.start
            G = np.zeros((len(rows), 2))
            G[inverse[:n_q], 0] = X.data[q]
            G[inverse[n_q : n_q + n_near], 1] = X.data[near]
            G[inverse[n_q + n_near :], 1] -= X.data[far]
            self.step(rows, G, step_size)

    def similarity(self, X: csr_array, items: csr_array) -> NDArray[np.float64]:
        """Return the similarities of rows."""
        factor = self.table @ (self.T @ self.R)
        similarities: NDArray[np.float64] = (X @ factor) @ (items @ factor).T
        return similarities


# By method, what differs from a LowRankSimilarity of the paper, and the middle of the first three step sizes.
LOW_RANK: dict[str, tuple[dict[str, Any], int]] = {
    "LORETA-PSD": ({"psd": True}, 3),
    "LORETA": ({"psd": False}, 2),
    "PA": ({"solver": "pa"}, 0),
    "GD-PSD": ({"solver": "gd", "psd": True}, -1),
    "GD": ({"solver": "gd", "psd": False}, -1),
    "LORETA-PSD, hard": ({"psd": True, "negatives": "hard"}, 2),
}
POLAR = 0  # and that of Meyer's method
FULL = {"OASIS": 0, "LEGO": 3}  # and those of C and η of the full matrices


def low_rank_course(
    part: Documents, method: str, terms: int, rank: int, step_size: float, stops: Sequence[int], seed: int
) -> list[float]:
    """Return the mAP of a model of low rank after so many steps each; 0 from where it diverged."""
    X, X_held_out = part.features(terms)
    if method == "polar":
        model: Any = Polar(X.shape[1], rank)
        random = np.random.default_rng(seed)
    else:
        model = LowRankSimilarity(
            rank, init="identity", normalize=False, early_stopping=False,
            **{"negatives": "random", **LOW_RANK[method][0]}, learning_rate=step_size, random_state=seed,
        )  # fmt: skip
    values: list[float] = []
    try:
        for before, stop in zip([0, *stops], stops, strict=False):
            if method == "polar":
                model.learn(X, comparisons_from_labels(part.y, stop - before, random_state=random).rows, step_size)
            else:
                model.set_params(n_steps=stop - before).partial_fit(X, part.y)
            similarities = model.similarity(X_held_out, X_held_out)
            if not np.isfinite(similarities).all():
                raise DivergedError("similarities are no longer finite")
            values.append(part.judge(similarities))
    except (DivergedError, np.linalg.LinAlgError):  # the latter from the polar method
        values += [0.0] * (len(stops) - len(values))
    return values


def full_map(part: Documents, method: str, terms: int, step_size: float, steps: int, seed: int) -> float:
    """Return the mAP of a full matrix: of OASIS after so many triplets, of LEGO after that many pairs."""
    X, X_held_out = part.features(terms)
    if method == "OASIS":
        oasis = BilinearSimilarity(OASIS(step_size), n_triplets=steps, max_iter=1, random_state=seed)
        return part.judge(oasis.fit(X, part.y).similarity(X_held_out, X_held_out))
    lego = LEGO(step_size, n_constraints=steps // 2, random_state=seed).fit(X.toarray(), part.y)
    points = lego.transform(X_held_out.toarray())
    squares = np.square(points).sum(axis=1)
    return part.judge(2 * points @ points.T - squares[:, None] - squares)


class Figure3(Experiment):
    """Similarity of documents of 20 Newsgroups, at fixed memory.

    As printed: five random splits, 65 % of the documents to learn from. Terms of highest information gain, weighted by
    tf-idf; the similarity starts from the identity truncated to the first terms, and learns from triplets of a query, a
    document of its newsgroup and one of another. Terms times rank is 500,000: 50,000 terms at rank 10, 5,000 at rank
    100. The full matrices of OASIS and LEGO have 1,000 terms, as many numbers as two factors have, and 2,000, four
    times as many. Every test document is a query among the other test documents. (a) and (b): mAP along the
    steps of LORETA. (c): mAP of all methods, after the number of steps that was best on the inner split.

    Where the paper is silent: documents have unit length. PA changes A for one triplet and B for the next. Step sizes
    (C of PA and OASIS, η of LEGO) and numbers of steps are chosen for each split on an inner 80/20 split of its training
    part, with features made anew from its first part: the step size without the last number of steps, whose cost is
    half of all, and then the number of steps at that size. A smaller step size, which learns more slowly, may be better
    in the end: most of all for gradient descent (GD-PSD), whose mAP still rises steeply.
    OASIS takes as many triplets as the others at most, LEGO 4,000 pairs of each kind, as each costs the square of the
    terms. "polar" is the method of Meyer et al. (2011), which the paper tried and set aside. In "hard", which is ours,
    the dissimilar document is the most similar of ten candidates.
    """

    name = "figure3"
    title = "LORETA, Figure 3: similarity of documents of 20 Newsgroups at fixed memory"
    data = ("newsgroups-counts",)
    sizes: ClassVar = {
        "tiny": {
            "methods": ["LORETA-PSD", "LORETA", "polar"], "ranks": [5, 10], "polar_ranks": [5], "full": ["OASIS"],
            "splits": 1, "documents": 300, "memory": 5_000, "stops": [200, 500], "pairs": 200,
        },
        "quick": {
            "methods": [*LOW_RANK, "polar"], "ranks": [10, 30, 100], "polar_ranks": [10], "full": list(FULL),
            "splits": 3, "documents": 3_000, "memory": 100_000, "stops": [1_000, 5_000, 10_000], "pairs": 1_000,
        },
        "full": {
            "methods": [*LOW_RANK, "polar"], "ranks": [10, 20, 30, 40, 50, 100], "polar_ranks": [10, 30],
            "full": list(FULL), "splits": 5, "documents": 18_846, "memory": 500_000,
            "stops": [3_000, 10_000, 30_000, 100_000, 200_000], "pairs": 8_000,
        },
    }  # fmt: skip
    minutes: ClassVar = {"quick": 2.0, "full": 35.0}
    reduced = "the polar geometry, whose steps cost more, at ranks 10 and 30 only"
    curves: ClassVar = ("LORETA-PSD", "LORETA")  # whose mAP is followed along the steps

    def trials(
        self, methods: list[str], ranks: list[int], polar_ranks: list[int], full: list[str], splits: int,
        documents: int, memory: int, stops: list[int], pairs: int,
    ) -> list[Trial]:  # fmt: skip
        """Return a trial per model: a method and its rank, or its number of terms."""
        common = {"splits": splits, "documents": documents}
        side = round((2 * memory) ** 0.5)
        found: list[Trial] = [{"method": "cosine", "terms": memory // min(ranks), "rank": None, **common}]
        found += [
            {"method": method, "terms": memory // rank, "rank": rank, "stops": stops, **common}
            for method in methods
            for rank in (polar_ranks if method == "polar" else ranks)
        ]
        found += [
            {"method": method, "terms": terms, "rank": None, "stops": [n_steps], **common}
            for method, n_steps in (("OASIS", stops[-1]), ("LEGO", pairs))
            if method in full
            for terms in (side, 2 * side)
        ]
        return found

    def run(self, trial: Trial) -> Row:
        """Choose on the inner split of each split, then learn from its training part, and judge."""
        method, terms, rank = trial["method"], trial["terms"], trial["rank"]
        X, y, *_ = load_newsgroups_counts()
        sample = np.random.default_rng(0).permutation(X.shape[0])[: trial["documents"]]
        parts = [Documents.split(X[sample], y[sample], OUTER_SHARE, seed) for seed in range(trial["splits"])]
        if method == "cosine":
            tables = [part.features(terms)[1] for part in parts]
            return {
                "mAP": [part.judge((rows @ rows.T).toarray()) for part, rows in zip(parts, tables, strict=True)]
            }
        middle = {"polar": POLAR, **FULL}[method] if method not in LOW_RANK else LOW_RANK[method][1]

        def judge(part: Documents, size: float, steps: Sequence[int], seed: int) -> list[float]:
            if method in FULL:
                return [full_map(part, method, terms, size, n_steps, seed) for n_steps in steps]
            return low_rank_course(part, method, terms, rank, size, steps, seed)

        stops = trial["stops"]
        values, courses, choices = [], [], []
        for seed, part in enumerate(parts):
            choice = choose(partial(judge, part.inner(), seed=seed), middle, stops, stops[:-1])
            looks = stops if method in self.curves else [choice["steps"]]
            course = rounded(judge(part, choice["step size"], looks, seed))
            values.append(course[looks.index(choice["steps"])])
            courses.append(course)
            choices.append(choice)
        curve = {"looks": stops, "courses": courses} if method in self.curves else {}
        return {"mAP": values, **by_split(choices), **curve}

    def table(self, results: Results) -> list[Row]:
        """Return the mean over splits of each model, with its standard error."""
        rows = []
        for trial, result in results:
            mean, error = mean_and_error(result["mAP"])
            row = {key: trial[key] for key in ("method", "terms", "rank")}
            row |= {"mAP": mean, "standard error": error}
            row |= chosen_columns(result)
            rows.append({**row, "diverged": sum(value == 0.0 for value in result["mAP"])})
        return rows

    def draw(self, figure: "Figure", results: Results) -> None:
        """Draw (a) LORETA along the steps, (b) beside LORETA-PSD, (c) all methods over the rank."""
        figure.set_size_inches(13.0, 4.4)
        along, both, over_rank = figure.subplots(1, 3, width_ratios=[1, 1, 1.25])
        courses = {(trial["method"], trial["rank"]): result for trial, result in results if "courses" in result}
        ranks = sorted({rank for method, rank in courses if method == "LORETA"})
        shades = {rank: SHADES[place * len(SHADES) // len(ranks)] for place, rank in enumerate(ranks)}
        for rank in ranks:
            _line(along, courses["LORETA", rank], color=shades[rank], label=f"rank {rank}")
        shown = [rank for rank in ranks if rank in (10, 40, 100)] or ranks
        shown = shown if len(shown) > 1 else ranks
        for method, style in (("LORETA-PSD", "-"), ("LORETA", "--")):
            for rank in shown:
                if (method, rank) in courses:
                    _line(
                        both, courses[method, rank], color=shades[rank], linestyle=style, label=f"{method}, {rank}"
                    )
        for axes, title in ((along, "(a) LORETA"), (both, "(b) LORETA and LORETA-PSD")):
            axes.set(title=title, xlabel="steps", ylabel="mAP", xscale="log")
            axes.legend(fontsize=7, loc="lower right")
        for method in dict.fromkeys(trial["method"] for trial, _ in results):
            rows = [
                (trial, mean_and_error(result["mAP"])) for trial, result in results if trial["method"] == method
            ]
            if rows[0][0]["rank"] is not None:
                rows.sort(key=lambda row: row[0]["rank"])
                over_rank.errorbar(
                    [trial["rank"] for trial, _ in rows], [mean for _, (mean, _) in rows],
                    [error or 0.0 for _, (_, error) in rows], color=COLORS[method], capsize=2, label=method,
                    marker="o", markersize=3, linestyle="--" if method in ("LORETA-PSD, hard", "polar") else "-",
                )  # fmt: skip
                continue
            for (trial, (mean, _)), style in zip(rows, ("-.", ":"), strict=False):
                name = method if method == "cosine" else f"{method}, {trial['terms']:,} terms"
                over_rank.axhline(
                    mean, color=COLORS.get(method, "#7f7f7f"), linestyle=style, linewidth=1, label=name
                )
        over_rank.set(title="(c) fixed memory: terms × rank", xlabel="rank", ylabel="mAP")
        over_rank.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))

    def verdicts(self, table: list[Row], results: Results) -> list[Verdict]:
        """Compare the methods at each rank, with differences paired by split."""
        values = {(t["method"], t["rank"] or t["terms"]): r["mAP"] for t, r in results}
        at_limit = {(t["method"], t["rank"] or t["terms"]) for t, r in results if _is_at_limit(r)}
        ranks = sorted(rank for method, rank in values if method == "LORETA")
        sides = sorted({trial["terms"] for trial, _ in results if trial["method"] in FULL})
        within = at_most(max(max(trial.get("stops", [0])) for trial, _ in results))
        found = []
        for method in self.curves:
            for other in ("PA", "GD-PSD"):
                if (other, ranks[0]) in values:
                    same_rank = {rank: (other, rank) for rank in ranks}
                    found.append(self._compare(values, method, same_rank, other, at_limit, within))
            for side, memory in zip(sides, ("the same", "four times the"), strict=False):
                best = max((key for key in values if key[1] == side), key=lambda key: np.mean(values[key]))
                name = f"{best[0]}, the best full matrix of {memory} memory,"
                found.append(self._compare(values, method, dict.fromkeys(ranks, best), name, at_limit, within))
        same_rank = {rank: ("LORETA", rank) for rank in ranks}
        found.append(self._compare(values, "LORETA-PSD", same_rank, "LORETA", at_limit, within))
        if sides:
            found.append(self._improvement(values, sides[0]))
        found.append(self._learns_faster(results, ranks))
        if {10, 30, 100} <= set(ranks):
            found += [self._best_rank(values, method) for method in self.curves]
        if ("GD", ranks[0]) in values:
            found.append(self._gradient_descent(values, results))
        found.append(self._polar(values))
        return found

    @staticmethod
    def _learns_faster(results: Results, ranks: Sequence[int]) -> Verdict:
        """Compare LORETA-PSD with LORETA along the steps."""
        courses = {(t["method"], t["rank"]): r for t, r in results if "courses" in r}
        ahead = {
            rank: [np.array(courses[method, rank]["courses"]).T for method in ("LORETA-PSD", "LORETA")]
            for rank in ranks
        }
        return Verdict(
            "LORETA-PSD learns faster than LORETA at every rank",
            all_hold(
                is_higher(*pair, OVERLAP_OF_DOCUMENTS)
                for ours, theirs in ahead.values()
                for pair in zip(ours, theirs, strict=True)
            ),
            f"difference of mAP after {', '.join(f'{n:,}' for n in courses['LORETA', ranks[0]]['looks'])} steps: "
            + "; ".join(
                f"rank {rank} " + ", ".join(f"{value:+.3f}" for value in (ours - theirs).mean(axis=1))
                for rank, (ours, theirs) in ahead.items()
            ),
        )

    @staticmethod
    def _best_rank(values: dict[Any, Any], method: str) -> Verdict:
        """Compare a rank in between with a low and a high one."""
        at = {rank: values[method, rank] for rank in (10, 30, 100)}
        return Verdict(
            f"{method} of rank 30 is better than of rank 100 with fewer terms, and of rank 10 with more",
            all_hold(is_higher(at[30], at[rank], OVERLAP_OF_DOCUMENTS) for rank in (100, 10)),
            "; ".join(f"rank {rank}: {np.mean(value):.3f}" for rank, value in at.items()),
        )

    @staticmethod
    def _gradient_descent(values: dict[Any, Any], results: Results) -> Verdict:
        """Compare gradient descent on both factors with PA, and count the step sizes with which it diverges."""
        descent = {rank: value for (method, rank), value in values.items() if method == "GD"}
        diverged = {
            name: [
                course[-1] == 0.0
                for trial, result in results
                if trial["method"] == name
                for tried in result["tried"]
                for course in tried.values()
            ]
            for name in ("GD", "GD-PSD")
        }
        return Verdict(
            "general gradient descent is too unstable to be of use: diverges or is worse than PA at all ranks",
            all_hold(
                min(value) == 0.0 or is_higher(values["PA", rank], value, OVERLAP_OF_DOCUMENTS)
                for rank, value in descent.items()
            ),
            "; ".join(
                f"rank {rank}: {compared(value, values['PA', rank])} of PA" for rank, value in descent.items()
            )
            + "; step sizes of those tried with which it diverges: "
            + ", ".join(f"{name} {sum(each)} of {len(each)}" for name, each in diverged.items() if each),
        )

    @staticmethod
    def _polar(values: dict[Any, Any]) -> Verdict:
        """Compare the polar geometry with LORETA-PSD."""
        polar = {rank: value for (method, rank), value in values.items() if method == "polar"}
        return Verdict(
            "the polar geometry of Meyer et al. is not in line with the other methods",
            all_hold(
                is_higher(values["LORETA-PSD", rank], value, OVERLAP_OF_DOCUMENTS) for rank, value in polar.items()
            ),
            "; ".join(
                f"rank {rank}: {compared(value, values['LORETA-PSD', rank])} of LORETA-PSD"
                for rank, value in polar.items()
            ),
        )

    @staticmethod
    def _improvement(values: dict[Any, Any], side: int) -> Verdict:
        """Compare the gain over full matrices of the same memory with that of the introduction, at the best ranks."""
        full = max(
            (value for (method, size), value in values.items() if size == side and method in FULL), key=np.mean
        )
        gains = {
            method: max(
                (
                    np.subtract(value, full) / np.mean(full)
                    for (name, _), value in values.items()
                    if name == method
                ),
                key=np.mean,
            ).tolist()
            for method in Figure3.curves
        }
        return Verdict(
            "LORETA or LORETA-PSD improves retrieval by 33 ± 8 % over a full-rank model of the same memory "
            "(introduction; each at its best rank)",
            any_holds(
                all_hold(
                    (
                        is_higher(gain, [0.25] * len(gain), OVERLAP_OF_DOCUMENTS),
                        is_lower(gain, [0.41] * len(gain), OVERLAP_OF_DOCUMENTS),
                    )
                )
                for gain in gains.values()
            ),
            "; ".join(f"{method} {np.mean(gain):+.1%}" for method, gain in gains.items()),
        )

    @staticmethod
    def _compare(
        values: dict[Any, Any],
        method: str,
        others: dict[int, Any],
        name: str,
        at_limit: set[Any],
        within: str = "",
    ) -> Verdict:
        """Return whether a method is better at every rank."""
        better = {
            rank: unless_open_ended(
                is_higher(values[method, rank], values[key], OVERLAP_OF_DOCUMENTS),
                (method, rank) in at_limit,
                key in at_limit,
            )
            for rank, key in others.items()
        }
        behind = [rank for rank, is_better in better.items() if not is_better]
        return Verdict(
            f"{method} is better than {name} at every rank{within}",
            all_hold(better.values()),
            "; ".join(
                f"rank {rank}: {compared(values[method, rank], values[key])}" for rank, key in others.items()
            )
            + (f"; not clearly better at {', '.join(map(str, behind))}" if behind else "")
            + ("; its best step size is at the end of the grid" if set(others.values()) & at_limit else ""),
        )


def _is_at_limit(result: Row) -> bool:
    """Whether the step size of a split is the smallest or the largest of all, and clearly better than the next one.

    If it is not, as where every step fits its triplet or pair exactly, those beyond are no better either.
    """
    for best, tried in zip(result.get("step size", ()), result.get("tried", ()), strict=True):
        if best in (grid_value(LOWEST), grid_value(HIGHEST)):
            sizes = sorted(tried, key=float)
            first, second = (sizes[0], sizes[1]) if best == grid_value(LOWEST) else (sizes[-1], sizes[-2])
            n_common = min(len(tried[first]), len(tried[second]))  # the best size has more looks
            if max(tried[first][:n_common]) > max(tried[second][:n_common]) + PLATEAU:
                return True
    return False


def _line(axes: "Axes", result: Row, **how: Any) -> None:
    """Draw mAP along the steps, with standard errors."""
    courses = np.array(result["courses"])
    errors = courses.std(axis=0, ddof=1) / np.sqrt(len(courses)) if len(courses) > 1 else None
    axes.errorbar(result["looks"], courses.mean(axis=0), errors, capsize=2, marker="o", markersize=3, **how)


# 7.2: rankings of labels.

LOADERS: dict[str, Callable[[], Any]] = {"corel5k": load_corel5k, "delicious": load_delicious}
STARTS = ("zero", "identity", "standard normal")
SCALED = "gaussian"  # of LabelRanker, not of the paper: normal factors, scaled such that scores are of size one
START_NAMES = {
    "zero": "zero start",
    "identity": "identity start",
    "standard normal": "Gaussian start",
    SCALED: "scaled Gaussian start (not in the paper)",
}
SUBGRADIENTS = ("printed", "exact")
# By method, its solver, and the middle of the first three step sizes for the printed and the exact subgradient.
RANKERS: dict[str, tuple[Any, dict[str, int]]] = {
    "LORETA": (LORETA, {"printed": 1, "exact": -2}),
    "PA": (PassiveAggressive, {"printed": -4, "exact": -3}),
    "matrix perceptron": (Perceptron, {"printed": 1, "exact": -3}),
    "group perceptron": (GroupPerceptron, {"printed": -1, "exact": -2}),
}
FACTORED = ("LORETA", "PA")
WARP = "LORETA, WARP"


@dataclass(frozen=True)
class Labelled:
    """Features and labels of rows to learn from, and of held-out rows."""

    X: csr_array
    Y: csr_array
    X_held_out: csr_array
    Y_held_out: csr_array

    @classmethod
    def split(cls, X: csr_array, Y: csr_array, seed: int) -> "Labelled":
        """Split at random, 80 % of the rows to learn from."""
        order = np.random.default_rng(seed).permutation(X.shape[0])
        learn, held_out = np.split(order, [round(SHARE * len(order))])
        return cls(X[learn], Y[learn], X[held_out], Y[held_out])

    def inner(self) -> "Labelled":
        """Split the rows to learn from once more."""
        return self.split(self.X, self.Y, INNER)

    def unit(self, method: str) -> float:
        """Return what step size 1 of the grid is: one over the mean squared length of rows, the constant counted.

        C of PA is in units of its root. Of the group perceptron the unit is larger by what its mirror shrinks.
        """
        square = 1.0 + float(np.mean(self.X.multiply(self.X).sum(axis=1)))
        if method == "PA":
            return float(square**-0.5)
        if method == "group perceptron":
            return float(np.exp(np.log(self.X.shape[1] + 1) - 2.0)) / square
        return 1.0 / square


def label_splits(trial: Trial) -> list[Labelled]:
    """Return the splits of a trial, of a random part of the rows if it names their number."""
    X, Y, *_ = LOADERS[trial["set"]]()
    sample = np.random.default_rng(0).permutation(X.shape[0])[: trial["rows"]]
    return [Labelled.split(X[sample], Y[sample], seed) for seed in range(trial["splits"])]


def label_baselines(parts: Sequence[Labelled]) -> Row:
    """Return the mAP of label popularity and of ridge regression on each split."""
    scores = [baseline_scores(part.X, part.Y, part.X_held_out, part.Y_held_out) for part in parts]
    return {name: rounded([score[name] for score in scores]) for name in ("popularity", "ridge")}


def ranker(part: Labelled, trial: Trial, init: str | None, step_size: float, steps: int, seed: int) -> LabelRanker:
    """Return a ranker, fitted to the rows to learn from."""
    how: dict[str, Any] = {"rank": trial["rank"], "n_steps": steps, "random_state": seed}
    how["learning_rate"] = step_size * part.unit(trial["method"])
    if init == "standard normal":
        random = np.random.default_rng([3, seed])
        sizes = part.Y.shape[1], part.X.shape[1] + 1  # and the constant feature
        how["init"] = tuple(random.normal(size=(size, trial["rank"])) for size in sizes)
    elif init is not None:
        how["init"] = init
    if trial["method"] == WARP:
        model = LabelRanker(**how, negatives="warp")
    else:
        solver = RANKERS[trial["method"]][0](subgradient=trial["subgradient"])
        model = LabelRanker(**how, solver=solver, negatives="all")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*labels are true of no row")  # of a part of the rows
        return model.fit(part.X, part.Y)


def time_and_map(
    part: Labelled, trial: Trial, init: str | None, step_size: float, steps: int, seed: int
) -> tuple[float, float]:
    """Return the processor seconds of a fit, and the mAP of held-out rows, which is 0 if the ranker diverged."""
    begun = time.process_time()
    try:
        model = ranker(part, trial, init, step_size, steps, seed)
    except DivergedError:
        return time.process_time() - begun, 0.0
    seconds = time.process_time() - begun
    return seconds, label_ranking_map(model.decision_function(part.X_held_out), part.Y_held_out)


def label_map(part: Labelled, trial: Trial, init: str | None, step_size: float, steps: int, seed: int) -> float:
    """Return the mAP of held-out rows; 0 if the ranker diverged."""
    return time_and_map(part, trial, init, step_size, steps, seed)[1]


def choose_for_labels(part: Labelled, trial: Trial, init: str | None, seed: int) -> Row:
    """Choose the step size and the number of steps of a ranker on the inner split of a training part."""
    inner = part.inner()
    middle = 0 if trial["method"] == WARP else RANKERS[trial["method"]][1][trial["subgradient"]]

    def judge(size: float, numbers: Sequence[int]) -> list[float]:
        return [label_map(inner, trial, init, size, steps, seed) for steps in numbers]

    return choose(judge, middle, trial["steps"])


class Figure4(Experiment):
    """Ranking of the labels of images (corel5k) over the rank.

    As printed: five random splits. LORETA and PA from each of the three initial models of 7.2.1, over the rank; that of
    Gaussian factors is "standard normal" here. The matrix perceptron and the group perceptron, whose matrices are full.
    Every step scores all labels of a row. mAP is that of the label rankings of test rows. Step sizes by validation, for
    each model at its own rank, and for each split on an inner 80/20 split of its training part.

    The G that the paper prints has the highest false label once; in the subgradient of the printed loss it counts once
    for each label that it violates. All methods run along both.

    Not in the paper: label popularity, which ignores the features; ridge regression on the label columns, its penalty
    chosen by a fifth of the training rows, which a user would take; LORETA with WARP, which the paper leaves to
    future work; and the start "gaussian", of normal factors that are scaled such that scores are of size one, which
    decides no verdict. Where it is silent: 80 % of the rows to learn from, and a constant feature. Step sizes are in
    units of one over the mean squared length of rows.
    """

    name = "figure4"
    title = "LORETA, Figure 4: ranking of labels over the rank, corel5k"
    data: ClassVar[tuple[str, ...]] = ("corel5k",)
    stand_in = (
        "the set corel5k (374 labels, 499 binary features) stands in for ImageNet 2010 (1,660 labels, 1,000 "
        "features)"
    )
    sizes: ClassVar = {
        "tiny": {"ranks": [5], "inits": ["zero", "standard normal"], "splits": 1, "steps": [300], "rows": 500},
        "quick": {"ranks": [10, 50], "inits": [*STARTS, SCALED], "splits": 3, "steps": [10_000], "rows": None},
        "full": {
            "ranks": [10, 20, 50, 100],
            "inits": [*STARTS, SCALED],
            "splits": 5,
            "steps": [10_000, 40_000],
            "rows": None,
        },
    }
    minutes: ClassVar = {"quick": 0.7, "full": 9.0}

    def trials(
        self, ranks: list[int], inits: list[str], splits: int, steps: list[int], rows: int | None
    ) -> list[Trial]:
        """Return a trial per model: a method with a subgradient, and of a factored one its start and rank."""
        common = {"set": self.data[0], "splits": splits, "rows": rows, "steps": steps}
        none = {"subgradient": None, "init": None, "rank": None}
        found = [{"method": "popularity and ridge", **none, **common}]
        found += [{**none, "method": WARP, "init": "zero", "rank": rank, **common} for rank in ranks]
        for subgradient in SUBGRADIENTS:
            for method in RANKERS:
                how = {"method": method, "subgradient": subgradient}
                kinds = (
                    [(init, rank) for init in inits for rank in ranks] if method in FACTORED else [(None, None)]
                )
                found += [{**how, "init": init, "rank": rank, **common} for init, rank in kinds]
        return found

    def run(self, trial: Trial) -> Row:
        """Choose on the inner split of each split, then learn from its training part, and judge."""
        parts = label_splits(trial)
        if trial["method"] == "popularity and ridge":
            return label_baselines(parts)
        init = trial["init"]
        choices = [choose_for_labels(part, trial, init, seed) for seed, part in enumerate(parts)]
        values = [
            label_map(part, trial, init, choice["step size"], choice["steps"], seed)
            for seed, (part, choice) in enumerate(zip(parts, choices, strict=True))
        ]
        return {"mAP": rounded(values), **by_split(choices)}

    def table(self, results: Results) -> list[Row]:
        """Return mean mAP, how far it is above popularity, and the standard errors of both."""
        baselines = results[0][1]
        found = [({"method": name}, {"mAP": values}) for name, values in baselines.items()]
        rows = []
        for trial, result in [*found, *results[1:]]:
            mean, error = mean_and_error(result["mAP"])
            above, its_error = mean_and_error(np.subtract(result["mAP"], baselines["popularity"]).tolist())
            row = {key: trial.get(key) for key in ("method", "subgradient", "init", "rank")}
            row |= {"mAP": mean, "standard error": error}
            row |= {"above popularity": above, "its standard error": its_error}
            rows.append(row | chosen_columns(result))
        return rows

    def draw(self, figure: "Figure", results: Results) -> None:
        """Draw for each subgradient the models of low rank over the rank, and beside them the full ones."""
        figure.set_size_inches(12.0, 5.0)
        axes = figure.subplots(1, 4, sharey=True, width_ratios=[3, 1.1, 3, 1.1])
        styles = {"LORETA": "-", "PA": "--", WARP: ":"}
        colors = dict(zip((*STARTS, SCALED), ("#1f77b4", "#d62728", "#9467bd", "#2ca02c"), strict=True))
        baselines = results[0][1]
        for column, subgradient in enumerate(SUBGRADIENTS):
            left, right = axes[2 * column], axes[2 * column + 1]
            lines: dict[tuple[str, str], list[Any]] = {}
            for trial, result in results[1:]:
                if trial["rank"] and trial["subgradient"] in (subgradient, None):
                    lines.setdefault((trial["method"], trial["init"]), []).append((trial["rank"], result["mAP"]))
            for (method, init), rows in lines.items():
                moments = [mean_and_error(values) for _, values in rows]
                left.errorbar(
                    [rank for rank, _ in rows], [mean for mean, _ in moments], [error or 0.0 for _, error in moments],
                    color="#e377c2" if method == WARP else colors[init], linestyle=styles[method],
                    marker="s" if method == "PA" else "o", markersize=4, capsize=2,
                    label=f"{method} (not in the paper)" if method == WARP else f"{method}, {START_NAMES[init]}",
                )  # fmt: skip
            full = [(t["method"], mean_and_error(r["mAP"])) for t, r in results[1:]
                    if not t["rank"] and t["subgradient"] == subgradient]  # fmt: skip
            for place, (method, (mean, error)) in enumerate(full):
                right.errorbar([place], [mean], [error or 0.0], color=COLORS[method], marker="D", capsize=3)
            right.set_xticks(range(len(full)), [method.replace(" ", "\n") for method, _ in full], fontsize=8)
            right.set(xlim=(-0.6, len(full) - 0.4), title="full rank")
            for panel in (left, right):
                for name, style in (("popularity", (0, (1, 1))), ("ridge", "-.")):
                    panel.axhline(np.mean(baselines[name]), color=COLORS[name], linestyle=style, label=name)
            which = "G as printed" if subgradient == "printed" else "exact subgradient"
            left.set(title=f"{self.data[0]}, {which}", xlabel="rank")
            left.set_xticks(sorted({trial["rank"] for trial, _ in results if trial["rank"]}))
            left.set_ylim(bottom=0.0)
        axes[0].set_ylabel("mAP of label rankings")
        share_legend(figure, 5)

    def verdicts(self, table: list[Row], results: Results) -> list[Verdict]:
        """Compare LORETA with the others, from the start that is best on the inner split, for both subgradients."""
        found = []
        for subgradient in SUBGRADIENTS:
            which = "with G as printed" if subgradient == "printed" else "with the exact subgradient"
            models = [(t, r) for t, r in results[1:] if t["subgradient"] == subgradient]
            printed = [(t, r) for t, r in models if t["init"] in (None, *STARTS)]
            found += self._against_others(which, printed, results[0][1])
            starts: dict[int, dict[str, list[float]]] = {}
            for trial, result in models:
                if trial["method"] == "LORETA" and trial["init"] in STARTS:
                    starts.setdefault(trial["rank"], {})[trial["init"]] = result["mAP"]
            if all(len(values) == len(STARTS) for values in starts.values()):
                found += self._of_starts(which, dict(sorted(starts.items())))
        return found

    @staticmethod
    def _against_others(which: str, models: Results, baselines: Row) -> list[Verdict]:
        """Compare LORETA with each other method at every rank."""
        within = at_most(models[0][0]["steps"][-1])
        starts_of: dict[tuple[str, Any], list[Row]] = {}
        for trial, result in models:
            starts_of.setdefault((trial["method"], trial["rank"]), []).append(result)
        best = {key: _best_inside(rows, "mAP") for key, rows in starts_of.items()}
        ours = {rank: value for (method, rank), value in sorted(best.items(), key=str) if method == "LORETA"}
        found = []
        for other in ("PA", "matrix perceptron", "group perceptron", "popularity", "ridge"):
            theirs = {
                rank: baselines.get(other) or best[other, rank if other == "PA" else None] for rank in sorted(ours)
            }
            found.append(
                Verdict(
                    f"{which}, LORETA is significantly better than {_called(other)} at every rank{within}",
                    all_hold(is_higher(ours[rank], value, OVERLAP) for rank, value in theirs.items()),
                    "; ".join(f"rank {rank}: {compared(ours[rank], value)}" for rank, value in theirs.items()),
                    ours=other in baselines,  # with which the paper does not compare
                )
            )
        return found

    @staticmethod
    def _of_starts(which: str, starts: dict[int, dict[str, list[float]]]) -> list[Verdict]:
        """Compare the initial models of LORETA at every rank."""
        found = [
            Verdict(
                f"{which}, LORETA depends significantly on the initial model, at every rank (by more than {MATTERS})",
                all_hold(
                    any_holds(_differ(a, b) for a, b in combinations(values.values(), 2))
                    for values in starts.values()
                ),
                "the largest difference between starts: "
                + ", ".join(
                    f"rank {rank} {np.ptp([np.mean(value) for value in values.values()]):.3f}"
                    for rank, values in starts.items()
                ),
            )
        ]
        low, high = ([rank for rank in starts if (rank >= 150) == above] for above in (False, True))
        for claim, ranks, best in (
            ("the identity is LORETA's best start at ranks below 150", low, "identity"),
            ("zero is LORETA's best start at ranks of 150 and more", high, "zero"),
        ):
            if not ranks:
                continue
            holds = all_hold(
                is_higher(starts[rank][best], value, OVERLAP)
                for rank in ranks
                for init, value in starts[rank].items()
                if init != best
            )
            measured = "; ".join(
                f"rank {rank}: "
                + ", ".join(f"{init} {np.mean(value):.3f}" for init, value in starts[rank].items())
                for rank in ranks
            )
            found.append(Verdict(f"{which}, {claim}", holds, measured))
        return found


def _differ(values: Sequence[float], others: Sequence[float]) -> bool | None:
    """Whether values differ from others by more than what matters; None if that is within the noise."""
    pairs = ((np.array(values), np.array(others)), (np.array(others), np.array(values)))
    is_more = [is_higher((a - MATTERS).tolist(), b.tolist(), OVERLAP) for a, b in pairs]
    return True if True in is_more else None if None in is_more else False


def _best_inside(models: Sequence[Row], key: str) -> list[Any]:
    """Return for each split a value of the model whose mAP is best on the inner split."""
    inner = np.array([model["inner mAP"] for model in models])
    return [models[best][key][split] for split, best in enumerate(inner.argmax(axis=0))]


def _called(method: str) -> str:
    return {"popularity": "label popularity", "ridge": "ridge regression", "PA": "PA"}.get(method, f"the {method}")


class Figure4Delicious(Figure4):
    """Ranking of the labels of web pages (delicious) over the rank: the protocol of Figure 4 on corel5k.

    At ranks 10, 50 and 150; the paper makes a claim about ranks below 150, and one about ranks from there on.
    """

    name = "figure4-delicious"
    title = "LORETA, Figure 4: ranking of labels over the rank, delicious"
    data: ClassVar[tuple[str, ...]] = ("delicious",)
    stand_in = (
        "the set delicious (983 labels, 500 binary features) stands in for ImageNet 2010 (1,660 labels, 1,000 "
        "features)"
    )
    sizes: ClassVar = {
        "tiny": Figure4.sizes["tiny"],
        "quick": {"ranks": [50], "inits": [*STARTS, SCALED], "splits": 3, "steps": [10_000], "rows": 4_000},
        "full": {**Figure4.sizes["full"], "ranks": [10, 50, 150]},
    }
    minutes: ClassVar = {"quick": 0.7, "full": 9.0}


class Figure5(Experiment):
    """Ranking of the labels of images (corel5k) over CPU time.

    As printed: mAP on test rows over the seconds of the processor, on one core, of LORETA and PA at each rank from the
    start that is best there, and of the two perceptrons, whose curves are repeated in every panel; and the best of each
    method at each time. Here the start is chosen with the step size, for each split on an inner split of its training
    part, for the numbers of steps of Figure 4, of which the last looks have more. The last column has for each method
    the rank whose mAP is best there, split by split. A look after so many steps is a fit of its own, whose seconds
    include the checks of its input and the initial model; loops are compiled before. The Gaussian start is the scaled
    one. Both subgradients, label popularity and ridge regression as in Figure 4. Bars are standard deviations, as
    printed.
    """

    name = "figure5"
    title = "LORETA, Figure 5: ranking of labels over CPU time, corel5k"
    data: ClassVar[tuple[str, ...]] = ("corel5k",)
    stand_in = Figure4.stand_in
    timed = True
    sizes: ClassVar = {
        "tiny": {
            "ranks": [5], "inits": ["zero"], "splits": 1, "steps": [300], "looks": [100, 300], "rows": 500,
        },
        "quick": {
            "ranks": [10, 50], "inits": ["zero", SCALED], "splits": 3, "steps": [10_000],
            "looks": [1_000, 3_000, 10_000], "rows": None,
        },
        "full": {
            "ranks": [10, 20, 50, 100], "inits": ["zero", "identity", SCALED], "splits": 5, "steps": [10_000, 40_000],
            "looks": [1_000, 3_000, 10_000, 30_000, 100_000], "rows": None,
        },
    }  # fmt: skip
    minutes: ClassVar = {"quick": 0.8, "full": 26.0}

    def trials(
        self, ranks: list[int], inits: list[str], splits: int, steps: list[int], looks: list[int], rows: int | None
    ) -> list[Trial]:
        """Return a trial per method, subgradient and rank."""
        common = {"set": self.data[0], "splits": splits, "rows": rows, "steps": steps, "looks": looks}
        found: list[Trial] = [{"method": "popularity and ridge", "subgradient": None, "rank": None, **common}]
        for subgradient in SUBGRADIENTS:
            for method in RANKERS:
                low = method in FACTORED
                how = {"method": method, "subgradient": subgradient, "inits": inits if low else [None]}
                found += [{**how, "rank": rank, **common} for rank in (ranks if low else [None])]
        return found

    def run(self, trial: Trial) -> Row:
        """Choose the start and the step size, then learn so many steps each, on every split."""
        parts = label_splits(trial)
        if trial["method"] == "popularity and ridge":
            return label_baselines(parts)
        courses, chosen = [], []
        for seed, part in enumerate(parts):
            choices = {init: choose_for_labels(part, trial, init, seed) for init in trial["inits"]}
            init, choice = max(choices.items(), key=lambda pair: pair[1]["inner mAP"])
            tried = {start or "": each["tried"] for start, each in choices.items()}
            chosen.append({**choice, "init": init, "tried": tried})
            fits = (time_and_map(part, trial, init, choice["step size"], steps, seed) for steps in trial["looks"])
            courses.append([rounded(fit) for fit in fits])
        return {**by_split(chosen), "courses": courses}

    def table(self, results: Results) -> list[Row]:
        """Return mean seconds and mAP after each number of steps."""
        rows: list[Row] = []
        for name, values in results[0][1].items():
            mean, error = mean_and_error(values)
            rows.append({"method": name, "mAP": mean, "standard error": error})
        for trial, result in results[1:]:
            courses = np.array(result["courses"])
            for place, steps in enumerate(trial["looks"]):
                mean, error = mean_and_error(courses[:, place, 1].tolist())
                row = {key: trial[key] for key in ("method", "subgradient", "rank")}
                row |= {"init": counted(result["init"]), "step size": counted(result["step size"]), "steps": steps}
                row |= {"seconds": float(courses[:, place, 0].mean()), "mAP": mean, "standard error": error}
                rows.append(row)
        return rows

    def draw(self, figure: "Figure", results: Results) -> None:
        """Draw a row of panels per subgradient: one per rank, and the best of each method."""
        ranks = sorted({trial["rank"] for trial, _ in results if trial["rank"]})
        figure.set_size_inches(2.6 * (len(ranks) + 1) + 1.0, 6.4)
        grid = figure.subplots(2, len(ranks) + 1, sharex=True, sharey=True, squeeze=False)
        for row, subgradient in zip(grid, SUBGRADIENTS, strict=True):
            models = [(t, r) for t, r in results[1:] if t["subgradient"] == subgradient]
            best = _best_by_method(models)
            for rank, axes in zip([*ranks, None], row, strict=True):
                shown = best if rank is None else [(t, r) for t, r in models if t["rank"] in (rank, None)]
                for trial, result in shown:
                    courses = np.array(result["courses"])
                    errors = courses[:, :, 1].std(axis=0, ddof=1) if len(courses) > 1 else None
                    axes.errorbar(
                        courses[:, :, 0].mean(axis=0), courses[:, :, 1].mean(axis=0), errors, label=trial["method"],
                        color=COLORS[trial["method"]], marker="o", markersize=3, capsize=2,
                    )  # fmt: skip
                for name, style in (("popularity", ":"), ("ridge", "-.")):
                    axes.axhline(np.mean(results[0][1][name]), color=COLORS[name], linestyle=style, label=name)
                axes.set_title(f"rank {rank}" if rank else "best rank of each split", fontsize=9)
                axes.set_xscale("log")
            row[0].set_ylabel("G as printed, mAP" if subgradient == "printed" else "exact subgradient, mAP")
        low, high = grid[0, 0].get_xlim()
        ticks = [grid_value(power) for power in range(LOWEST, HIGHEST) if low <= grid_value(power) <= high]
        for axes in grid[-1]:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
            axes.set_xticks([], minor=True)
            axes.set_xlabel("seconds of one core")
        share_legend(figure, 6 if len(ranks) > 1 else 3)

    def verdicts(self, table: list[Row], results: Results) -> list[Verdict]:
        """Compare the highest rank of LORETA with each other method at its best rank, early and late."""
        found = []
        for subgradient in SUBGRADIENTS:
            which = "with G as printed" if subgradient == "printed" else "with the exact subgradient"
            models = [(t, r) for t, r in results[1:] if t["subgradient"] == subgradient]
            ours = max((m for m in models if m[0]["method"] == "LORETA"), key=lambda m: m[0]["rank"])
            others = [model for model in _best_by_method(models) if model[0]["method"] != "LORETA"]
            ends = [np.mean(r["courses"], axis=0)[[0, -1], 0] for _, r in [ours, *others]]
            first, last = np.max(ends, axis=0)  # when the slowest has its first look, and its last
            for when, at in (("on the short time scale", 2.0 * first), ("on the long time scale", last)):
                value = _until(ours[1], at)
                theirs = {t["method"]: _until(r, at) for t, r in others}
                name = f"LORETA of the highest rank (here {ours[0]['rank']})"
                found.append(
                    Verdict(
                        f"{which}, {name} is better than all others {when}",
                        all_hold(is_higher(value, values, OVERLAP) for values in theirs.values()),
                        f"mAP after {at:.2f} s: LORETA {np.mean(value):.3f}, "
                        + ", ".join(f"{method} {np.mean(values):.3f}" for method, values in theirs.items()),
                    )
                )
            high = [
                (t, np.array(r["courses"])[:, :, 1])
                for t, r in models
                if t["method"] == "LORETA" and t["rank"] > 10
            ]
            fell = [_overtrains(courses, t["looks"]) for t, courses in high]
            if high:
                found.append(
                    Verdict(
                        f"{which}, some models of LORETA of higher rank overtrain at some point",
                        any_holds(fell),
                        "; ".join(
                            f"rank {t['rank']}: best {courses.mean(axis=0).max():.3f} after "
                            f"{t['looks'][int(courses.mean(axis=0).argmax())]:,} steps, "
                            f"{courses[:, -1].mean():.3f} after {t['looks'][-1]:,}"
                            for t, courses in high
                        ),
                    )
                )
        return found


def _overtrains(courses: NDArray[np.float64], looks: Sequence[int]) -> bool | None:
    """Whether the mAP at the last look is below the best; not if it is the best of all splits, after enough steps."""
    tops, last = _tops(courses), courses[:, -1].tolist()
    if is_lower(last, tops, OVERLAP):
        return True
    long_enough = looks[-1] >= 100_000 and len(courses) >= FEWEST
    return False if long_enough and (tops == last or is_higher(last, tops, OVERLAP)) else None


def _tops(courses: NDArray[np.float64]) -> list[float]:
    """Return for each split the mAP after the number of steps that is best on the other splits."""
    if len(courses) == 1:
        return [float(courses.max())]
    sums = courses.sum(axis=0)
    return [float(course[(sums - course).argmax()]) for course in courses]


def _best_by_method(models: Results) -> list[tuple[Trial, Any]]:
    """Return for each method the courses of the rank that is best on the inner split of each split."""
    found: dict[str, list[tuple[Trial, Any]]] = {}
    for trial, result in models:
        found.setdefault(trial["method"], []).append((trial, result))
    return [
        ({**rows[0][0], "rank": None}, {"courses": _best_inside([result for _, result in rows], "courses")})
        for rows in found.values()
    ]


def _until(result: Row, seconds: float) -> list[float]:
    """Return the mAP on each split at the last look within so many seconds; 0 if there is none."""
    courses = np.array(result["courses"])
    looks = np.flatnonzero(courses[:, :, 0].mean(axis=0) <= seconds)
    return courses[:, looks[-1], 1].tolist() if len(looks) else [0.0] * len(courses)


class Figure5Delicious(Figure5):
    """Ranking of the labels of web pages (delicious) over CPU time: the protocol of Figure 5 on corel5k.

    Start and step size are those that are best after 20,000 steps on the inner split.
    """

    name = "figure5-delicious"
    title = "LORETA, Figure 5: ranking of labels over CPU time, delicious"
    data: ClassVar[tuple[str, ...]] = ("delicious",)
    stand_in = Figure4Delicious.stand_in
    sizes: ClassVar = {
        "tiny": Figure5.sizes["tiny"],
        "quick": {**Figure5.sizes["quick"], "ranks": [50], "inits": ["zero"], "rows": 4_000},
        "full": {**Figure5.sizes["full"], "ranks": [10, 50, 150], "steps": [20_000]},
    }
    minutes: ClassVar = {"quick": 0.8, "full": 10.0}


EXPERIMENTS = (Figure3(), Figure4(), Figure4Delicious(), Figure5(), Figure5Delicious())
