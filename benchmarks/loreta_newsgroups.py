"""Figure 3 of the LORETA paper: similarities of low rank on 20 Newsgroups, at fixed memory.

Five random splits of all 18,846 documents, 65 % to learn from. Terms are chosen by information gain and weighted
by tf-idf, both fitted to the training part, and documents are brought to unit length (the paper does not say
whether it did). Features times rank is 500,000: 50,000 terms at rank 10, 5,000 at rank 100. OASIS and LEGO learn
full matrices of 1,000 and of 2,000 terms. Every test document is a query among the other test documents; mAP is
the mean over splits, with its standard error.

As in the paper, models start from the identity truncated to the most informative terms and triplets are drawn
evenly (negatives="random"). "hard" is ours: of ten candidates for the third document the one most like the first.
The step size of each method (C of PA and OASIS, η of LEGO) and how many steps it takes, 20,000, 60,000 or 200,000,
were chosen by mAP on an inner 80/20 split of the training part of the first split, with features fitted anew to
the inner part: at rank 30 or 1,000 terms, and used for all ranks and splits. OASIS takes 200,000 triplets. LEGO,
each of whose steps costs the square of the terms, takes 8,000 pairs. Where a size diverges it is no choice; where
a fit with the chosen one does, the row says so. Nothing here is timed, and two splits run at a time. `choices`,
`ranks` or `curves` as an argument measures one of the three; ranks and curves need the choices.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer

from nearer import LEGO, BilinearSimilarity, InformationGain, LowRankSimilarity
from nearer.datasets import load_newsgroups_counts
from nearer.metrics import mean_average_precision
from nearer.similarity import OASIS
from record import rows_of, write

MEMORY = 500_000
STEPS, PAIRS = (20_000, 60_000, 200_000), 4_000  # steps to choose among; pairs of each kind for LEGO
SEEDS = range(5)
RANKS, SOME = (10, 20, 30, 40, 50, 100), (10, 30, 100)
STOPS = (3_000, 10_000, 30_000, 100_000, 200_000, 400_000)
LOW_RANK = {
    "LORETA-PSD": ({}, (1.0, 3.0, 10.0, 30.0), RANKS),
    "LORETA": ({"psd": False}, (1.0, 3.0, 10.0, 30.0), RANKS),
    "PA": ({"solver": "pa"}, (0.03, 0.1, 0.3, 1.0, 3.0), RANKS),
    "GD-PSD": ({"solver": "gd"}, (0.03, 0.1, 0.3, 1.0), RANKS),
    "GD": ({"solver": "gd", "psd": False}, (0.03, 0.1, 0.3, 1.0), SOME),
    "LORETA-PSD, hard": ({"negatives": "hard"}, (1.0, 3.0, 10.0, 30.0), SOME),
}
FULL = {"OASIS": (0.01, 0.1, 1.0), "LEGO": (0.5, 2.0, 8.0, 32.0)}


class Part:
    """Counts to learn from and to be judged by."""

    def __init__(self, counts: csr_array, y: np.ndarray, share: float, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(y))
        learn, held_out = np.split(order, [round(share * len(y))])
        self.counts, self.y = counts[learn], y[learn]
        self.held_out, self.y_held_out = counts[held_out], y[held_out]
        self.gain = InformationGain("all").fit(self.counts, self.y)

    def inner(self) -> "Part":
        return Part(self.counts, self.y, 0.8, seed=100)

    @cache  # noqa: B019  # few parts, which live as long as the run
    def features(self, n_terms: int) -> tuple[csr_array, csr_array]:
        """Return tf-idf rows of unit length over the best terms, best first."""
        terms = self.gain.order_[:n_terms]
        learn, held_out = (table[:, terms] for table in (self.counts, self.held_out))
        weights = TfidfTransformer().fit(learn)
        return tuple(csr_array(weights.transform(table)) for table in (learn, held_out))

    def judged(self, similarities: np.ndarray) -> float:
        return mean_average_precision(similarities, self.y_held_out)


@cache
def split(seed: int) -> Part:
    counts, y = load_newsgroups_counts()[:2]
    return Part(counts, y, 0.65, seed)


def low_rank(title: str, rank: int, rate: float, n_steps: int, seed: int) -> LowRankSimilarity:
    paper = {"normalize": False, "init": "identity", "early_stopping": False, "negatives": "random"}
    how = {**paper, **LOW_RANK[title][0]}
    return LowRankSimilarity(rank, **how, learning_rate=rate, n_steps=n_steps, random_state=seed)


def on_the_way(part: Part, title: str, rank: int, rate: float, stops: tuple[int, ...]) -> list[float | None]:
    """Return the mAP of one model after so many steps each, None from where it diverged."""
    X, X_held_out = part.features(MEMORY // rank)
    model, values = low_rank(title, rank, rate, 1, 0), []
    try:
        for before, stop in zip((0, *stops), stops, strict=False):
            model.set_params(n_steps=stop - before).partial_fit(X, part.y)
            values.append(part.judged(model.similarity(X_held_out, X_held_out)))
    except ValueError:
        values += [None] * (len(stops) - len(values))
    return values


def found(part: Part, title: str, rank: int, rate: float, n_steps: int, seed: int) -> float | None:
    """Return the mAP of a low-rank model, None where it diverged."""
    X, X_held_out = part.features(MEMORY // rank)
    try:
        model = low_rank(title, rank, rate, n_steps, seed).fit(X, part.y)
    except ValueError:
        return None
    return part.judged(model.similarity(X_held_out, X_held_out))


def found_full(part: Part, title: str, n_terms: int, rate: float, seed: int) -> float:
    X, X_held_out = part.features(n_terms)
    if title == "OASIS":
        model = BilinearSimilarity(OASIS(rate), n_triplets=STEPS[-1], max_iter=1, random_state=seed).fit(X, part.y)
        return part.judged(model.similarity(X_held_out, X_held_out))
    model = LEGO(rate, n_constraints=PAIRS, random_state=seed).fit(X.toarray(), part.y)
    points = model.transform(X_held_out.toarray())
    squares = np.square(points).sum(axis=1)
    return part.judged(2 * points @ points.T - squares[:, None] - squares)


def tried(title: str) -> list[dict]:
    """Try a method's step sizes on the inner split of the first split."""
    inner, rows = split(0).inner(), []
    for rate in FULL[title] if title in FULL else LOW_RANK[title][1]:
        if title in FULL:
            values = {None: found_full(inner, title, 1_000, rate, 0)}
        else:
            values = dict(zip(STEPS, on_the_way(inner, title, 30, rate, STEPS), strict=True))
        rows += [
            {"method": title, "step size": rate, "steps": steps, "inner mAP": value, "chosen": ""}
            for steps, value in values.items()
        ]
    max(rows, key=lambda row: row["inner mAP"] or 0.0)["chosen"] = "yes"
    return rows


def chosen() -> dict[str, tuple[float, int]]:
    rows = rows_of("loreta_newsgroups_choices")
    return {row["method"]: (row["step size"], row["steps"]) for row in rows if row["chosen"]}


def of_split(choices: dict[str, tuple], seed: int) -> dict[tuple, float | None]:
    """Return the mAP of all methods on one split, by method and (terms, rank)."""
    part = split(seed)
    cosine = part.features(MEMORY // RANKS[0])[1]
    values = {("cosine", MEMORY // RANKS[0], None): part.judged((cosine @ cosine.T).toarray())}
    for title, (_, _, ranks) in LOW_RANK.items():
        for rank in ranks:
            values[title, MEMORY // rank, rank] = found(part, title, rank, *choices[title], seed)
    for title in FULL:
        for n_terms in (1_000, 2_000):
            values[title, n_terms, n_terms] = found_full(part, title, n_terms, choices[title][0], seed)
    return values


def curve(choices: dict[str, tuple], given: tuple[str, int]) -> list[dict]:
    """Return the mAP of a model on its way, on the first split."""
    title, rank = given
    rate = choices[title][0]
    values = on_the_way(split(0), title, rank, rate, STOPS)
    return [
        {"method": title, "rank": rank, "step size": rate, "steps": steps, "mAP": value}
        for steps, value in zip(STOPS, values, strict=True)
    ]


def write_choices(pool: ProcessPoolExecutor) -> None:
    question = "Step sizes and steps on 20 Newsgroups, by mAP on an inner split: rank 30, or 1,000 terms"
    rows = [row for part in pool.map(tried, [*LOW_RANK, *FULL]) for row in part]
    write("loreta_newsgroups_choices", question, rows)


def write_ranks(pool: ProcessPoolExecutor) -> None:
    choices = chosen()
    of_splits = list(pool.map(partial(of_split, choices), SEEDS))
    rows = []
    for title, n_terms, rank in of_splits[0]:
        values = [part[title, n_terms, rank] for part in of_splits]
        there = [value for value in values if value is not None]
        error = float(np.std(there, ddof=1) / np.sqrt(len(there))) if len(there) > 1 else None
        rate, steps = choices.get(title, (None, None))
        row = {"method": title, "terms": n_terms, "rank": rank, "step size": rate, "steps": steps}
        row |= {"mAP": float(np.mean(there)) if there else None, "standard error": error}
        rows.append({**row, "diverged": len(values) - len(there) or None})
    write("loreta_newsgroups", f"Figure 3c of the LORETA paper: 20 Newsgroups, {len(SEEDS)} splits", rows)


def write_curves(pool: ProcessPoolExecutor) -> None:
    given = [(title, rank) for rank in (10, 40, 100) for title in ("LORETA-PSD", "LORETA")]
    rows = [row for part in pool.map(partial(curve, chosen()), given) for row in part]
    write("loreta_newsgroups_curves", "Figures 3a and 3b of the LORETA paper: test mAP along the steps", rows)


def main() -> None:
    questions = {"choices": write_choices, "ranks": write_ranks, "curves": write_curves}
    with ProcessPoolExecutor(2) as pool:
        for what in sys.argv[1:] or questions:
            questions[what](pool)


if __name__ == "__main__":
    main()
