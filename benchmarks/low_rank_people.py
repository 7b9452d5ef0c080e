"""People's answers about things that the model has never seen: a distance of low rank learned from CLIP features.

THINGS: 127,304 odd-one-out answers about 1,854 things, each two rows "a is nearer to b than to c", and a vector of
512 numbers by CLIP for every thing. A fifth of the things is held out: models learn from answers about three of
the others, and are tested on answers about three things that are all held out. Features have the mean of the
training things taken off and are brought to unit length; CLIP's own distances are also given for the vectors as
they come.

Two steps means a map of the training things by `OrdinalEmbedding` from the same answers, carried to the others by
`FeatureMap`. Rank and steps, and dimensions and the map's regularisation, were chosen by the share of rows
satisfied on an inner split of the things of the first split, a quarter of its training things held out. Five
splits; the mean and its standard error. Two fits run at a time.
"""

import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import real_data
from nearer import FeatureMap, LowRankSimilarity, OrdinalEmbedding
from nearer.datasets import load_things
from record import write

SEEDS = range(5)
TRIED = {
    "low rank, STE": [
        {"loss": "ste", "rank": rank, "n_steps": n_steps}
        for rank in (10, 30, 60)
        for n_steps in (30_000, 100_000, 300_000)
    ],
    "low rank, hinge similarity": [{"rank": rank, "n_steps": 100_000} for rank in (10, 30, 60)],
    "two steps": [{"dims": dims, "alpha": alpha} for dims in (5, 10, 20) for alpha in (0.1, "auto")],
}


class Part:
    """Things to learn from and things held out, with the answers about three of either."""

    def __init__(self, X: np.ndarray, rows: np.ndarray, things: np.ndarray, share: float, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(things)
        held_out, learn = np.split(order, [round(share * len(order))])
        self.raw = X[held_out]
        mean = X[learn].mean(axis=0)
        self.X, self.X_held_out = (unit(X[some] - mean) for some in (learn, held_out))
        self.things = learn
        self.rows, self.test_rows = (numbered(rows, some, len(X)) for some in (learn, held_out))

    def share(self, points: np.ndarray, similarity: bool = False) -> float:
        """Return the share of held-out rows that points of the held-out things satisfy."""
        a, b, c = (points[part] for part in self.test_rows.T)
        if similarity:
            return float(np.mean(np.einsum("ij,ij->i", a, b - c) > 0))
        return float(np.mean(np.square(a - b).sum(axis=1) < np.square(a - c).sum(axis=1)))


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def numbered(rows: np.ndarray, things: np.ndarray, n_things: int) -> np.ndarray:
    """Return the rows whose things are all among some, by their places there; twins stay side by side."""
    places = np.full(n_things, -1, dtype=np.int32)
    places[things] = np.arange(len(things))
    found = places[rows]
    return np.ascontiguousarray(found[(found >= 0).all(axis=1)])


def split(seed: int) -> Part:
    X = load_things().clip
    return Part(X, real_data.things().rows, np.arange(len(X)), 0.2, seed)


def inner() -> Part:
    X = load_things().clip
    return Part(X, real_data.things().rows, split(0).things, 0.25, 100)


def satisfied(part: Part, method: str, how: dict, seed: int) -> tuple[float, float]:
    """Return the share of held-out rows satisfied by a method, and the seconds of its fit."""
    begun = time.perf_counter()
    if method == "two steps":
        points = OrdinalEmbedding(how["dims"], random_state=seed).fit(part.rows)
        model = FeatureMap(alpha=how["alpha"]).fit(part.X, points)
    else:
        paper = {"normalize": False, "init": "svd", "early_stopping": False}
        model = LowRankSimilarity(**how, **paper, random_state=seed).fit(part.X, comparisons=part.rows)
    seconds = time.perf_counter() - begun
    return part.share(model.transform(part.X_held_out), "hinge" in method), seconds


def tried(given: tuple[str, dict]) -> float:
    warnings.simplefilter("ignore")
    return satisfied(inner(), *given, 0)[0]


def of_split(choices: dict[str, dict], seed: int) -> dict[str, tuple[float, float | None]]:
    warnings.simplefilter("ignore")
    part = split(seed)
    found = {
        "CLIP, Euclidean distance": (part.share(part.raw), None),
        "CLIP, cosine": (part.share(unit(part.raw)), None),
        "CLIP, centred, cosine": (part.share(part.X_held_out), None),
    }
    for method, how in choices.items():
        found[method] = satisfied(part, method, how, seed)
    return found


def main() -> None:
    with ProcessPoolExecutor(2) as pool:
        given = [(method, how) for method, hows in TRIED.items() for how in hows]
        shares = list(pool.map(tried, given))
        write(
            "low_rank_people_choices",
            "Choices for THINGS by things of the training part: share of rows satisfied",
            [
                {"method": method, **how, "satisfied": share}
                for (method, how), share in zip(given, shares, strict=True)
            ],
        )
        choices = {}
        for method in TRIED:
            of_method = [(share, how) for (name, how), share in zip(given, shares, strict=True) if name == method]
            choices[method] = max(of_method, key=lambda one: one[0])[1]
        of_splits = list(pool.map(partial(of_split, choices), SEEDS))
    plain = np.array([found["CLIP, centred, cosine"][0] for found in of_splits])
    rows = []
    for method in of_splits[0]:
        values = np.array([found[method][0] for found in of_splits])
        above, root = values - plain, np.sqrt(len(values))
        row = {"method": method, "chosen": choices.get(method), "satisfied": float(values.mean())}
        row |= {"standard error": float(values.std(ddof=1) / root), "above plain CLIP": float(above.mean())}
        row["its standard error"] = float(above.std(ddof=1) / root) if above.any() else None
        seconds = [found[method][1] for found in of_splits if found[method][1] is not None]
        rows.append({**row, "seconds a fit, two at a time": float(np.mean(seconds)) if seconds else None})
    question = (
        f"Held-out answers about things never seen (THINGS, CLIP features), {len(SEEDS)} splits of the things"
    )
    write("low_rank_people", question, rows)


if __name__ == "__main__":
    main()
