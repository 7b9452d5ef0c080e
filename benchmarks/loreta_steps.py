"""What one step of LORETA costs: against Algorithms 4 and 5 typed in numpy, as features grow, and against memory.

Steps are those of `LowRankSimilarity`: a triplet is scored, and where it has a loss both factors change. Features,
labels and starts are random and steps small, so that practically every triplet has a loss; "active" says how many
had, and a step's time is that of all triplets divided by the active ones. The printed algorithms (with Algorithm 7
for the pseudo-inverses, in tests/lowrank/literal_loreta.py) get their gradients as dense vectors, ready made, and
need not score them.

As features grow at equal non-zeros, what a step reads moves out of the caches: 300 rows of the factors, each of 80
bytes and in a place of its own. "fetching rows" is the time that numpy takes to gather as many such rows from a
table as large, and the step may be expected to grow by as much. The turn is folded into the factors every n steps;
that is timed by itself and added, divided by n.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dgemv, dger
from scipy.sparse import csr_array

from nearer.lowrank import Rows
from nearer.similarity.low_rank.model import FactorModel
from record import best_of, write

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/lowrank"))
from literal_loreta import loreta_1, loreta_1_psd

RATE = 1e-3
SMALL = 0.01  # of the entries of a start, so that losses are about one


def rows_of_text(n_rows: int, n_features: int, entries: int) -> csr_array:
    """Return rows of unit length with so many entries each, in random places."""
    random = np.random.default_rng(0)
    width = n_features // entries  # one entry in each of as many bands: no place occurs twice
    places = np.arange(entries) * width + random.integers(width, size=(n_rows, entries))
    values = random.uniform(0.5, 1.5, size=(n_rows, entries))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    starts = np.arange(n_rows + 1, dtype=np.int32) * entries
    return csr_array((values.ravel(), places.ravel().astype(np.int32), starts), shape=(n_rows, n_features))


def start(n_features: int, rank: int, psd: bool) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(1)
    return tuple(SMALL * random.normal(size=(n_features, rank)) for _ in range(1 if psd else 2))


def triplets_of(n_rows: int, size: int) -> np.ndarray:
    return np.random.default_rng(2).integers(n_rows, size=(size, 3), dtype=np.int32)


def timed(model: FactorModel, triplets: np.ndarray, times: int = 3) -> tuple[float, float]:
    """Return seconds for an active step, and the share of steps that were active."""
    steps, losses = np.full(len(triplets), RATE), []
    model.take(triplets[:100], steps[:100])  # compiles
    seconds = best_of(times, lambda: losses.append(model.take(triplets, steps)))
    active = float(np.mean(np.concatenate(losses) > 0))
    return seconds / (active * len(triplets)), active


def literally(factors: tuple[np.ndarray, ...], directions: np.ndarray) -> tuple[np.ndarray, ...]:
    """Take the printed steps along given directions; return the factors."""
    if len(factors) == 1:
        Y, Y_pinv = factors[0], np.linalg.pinv(factors[0])
        for p, q in directions:
            Y, Y_pinv = loreta_1_psd(Y, Y_pinv, p, q)
        return (Y,)
    A, B = factors
    A_pinv, B_pinv = np.linalg.pinv(A), np.linalg.pinv(B)
    for p, q in directions:
        A, B, A_pinv, B_pinv = loreta_1(A, B, A_pinv, B_pinv, p, q)
    return A, B


def directions_of(X, triplets: np.ndarray) -> np.ndarray:
    a, b, c = (X[part] for part in triplets.T)
    p, q = (part.toarray() if hasattr(part, "toarray") else part for part in (RATE * a, b - c))
    return np.stack([p, q], axis=1)


def against_printed(X, rank: int, size: int, few: int, psd: bool) -> dict:
    """Time steps and printed steps, and compare factors after the same ones."""
    n_features = X.shape[1]
    given = start(n_features, rank, psd)
    triplets = triplets_of(X.shape[0], size)
    directions = directions_of(X, triplets[:few])
    same = FactorModel("loreta", None, given, Rows.of(X))
    assert (same.take(triplets[:few], np.full(few, RATE)) > 0).all()  # the printed ones take every step
    wanted = literally(given, directions)
    difference = max(
        float(abs(ours - theirs).max() / abs(theirs).max())
        for ours, theirs in zip(same.factors, wanted, strict=True)
    )
    step, active = timed(FactorModel("loreta", None, given, Rows.of(X)), triplets)
    # What finds the first pseudo-inverse is no step.
    before = best_of(3, lambda: literally(given, directions[:0]))
    literal = (best_of(3, lambda: literally(given, directions)) - before) / few
    return {
        "features": n_features,
        "rank": rank,
        "entries a row": X.nnz / X.shape[0] if hasattr(X, "nnz") else n_features,
        "model": "PSD, Algorithm 5" if psd else "general, Algorithm 4",
        "active": active,
        "step us": step * 1e6,
        "as printed, numpy us": literal * 1e6,
        "speed-up": literal / step,
        "largest difference, share": difference,
    }


def sparse_against_printed() -> list[dict]:
    X = rows_of_text(2_000, 50_000, 100)
    rows = [against_printed(X, 10, 100_000, 30, psd) for psd in (False, True)]
    # Section 5 of the paper; a step here is a triplet, one of LORETA for ten of the small matrix.
    model = FactorModel("loreta", None, start(50_000, 10, psd=False), Rows.of(X), identify=True)
    step, active = timed(model, triplets_of(2_000, 22_000))
    row = {"features": 50_000, "rank": 10, "entries a row": 100, "model": "identification, Algorithm 6"}
    return [*rows, {**row, "active": active, "step us": step * 1e6}]


def as_features_grow(rank: int = 10, entries: int = 100, size: int = 200_000) -> list[dict]:
    """Time general steps on 100,000 rows, so that they touch all of the factors."""
    rows = []
    for n_features in (5_000, 50_000, 500_000, 5_000_000):
        model = FactorModel(
            "loreta", None, start(n_features, rank, psd=False), Rows.of(rows_of_text(100_000, n_features, entries))
        )
        manifold = model._model
        triplets = triplets_of(100_000, size)
        before = manifold.n_reorthogonalizations
        step, active = timed(model, triplets)
        folds = (manifold.n_reorthogonalizations - before) / (3 * active * size)
        fold = best_of(3, manifold.reorthogonalize)
        step += fold * (1 / manifold._between - folds)
        fetching = 3 * entries * fetched(n_features, rank)
        row = {"features": n_features, "active": active, "step us": step * 1e6}
        row |= {"of it folds us": fold / manifold._between * 1e6, "fetching rows us": fetching * 1e6}
        rows.append(row)
    first = rows[0]
    grown = [{"growth": row["step us"] / first["step us"]} for row in rows]
    for row, more in zip(rows, grown, strict=True):
        expected = (first["step us"] - first["fetching rows us"] + row["fetching rows us"]) / first["step us"]
        row |= more | {"growth that fetching explains": expected}
    return rows


def fetched(n_features: int, rank: int, count: int = 30_000) -> float:
    """Return the seconds in which a random row of a table is gathered, one of many."""
    table, found = np.ones((n_features, rank)), np.empty((count, rank))
    picks = np.random.default_rng(3).integers(n_features, size=(100, count))

    def run() -> None:
        for some in picks:
            np.take(table, some, axis=0, out=found, mode="clip")

    return best_of(3, run) / picks.size


def dense(n_features: int = 1_000, rank: int = 100) -> list[dict]:
    """A dense step against the printed one, and against what its reads and writes of the factors cost by BLAS."""
    random = np.random.default_rng(0)
    X = random.normal(size=(2_000, n_features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = [against_printed(X, rank, 5_000, 100, psd) for psd in (False, True)]
    A, B = (np.asfortranarray(part.T) for part in start(n_features, rank, psd=False))  # tables as BLAS sees them
    vector, short, other = random.normal(size=n_features), random.normal(size=rank), np.empty_like(A)

    def through_blas() -> None:
        for table in (A, B):
            dgemv(1.0, table, vector)
            dger(1e-9, short, vector, a=table, overwrite_a=1)

    assert np.shares_memory(dger(1e-9, short, vector, a=A, overwrite_a=1), A)
    least = best_of(300, through_blas)
    copy = best_of(300, lambda: (np.copyto(other, A), np.copyto(other, B)))
    flops = 8 * n_features * rank + 44 * rank**2  # four passes over a factor, and what is small
    general = rows[0] | {
        "factors read and changed by BLAS us": least * 1e6,
        "factors copied us": copy * 1e6,
        "step over BLAS": rows[0]["step us"] / (least * 1e6),
        "GFlop a second": flops / rows[0]["step us"] / 1e3,
    }
    return [general, rows[1]]


def main() -> None:
    printed = "A step of LORETA on sparse rows against the printed algorithms in numpy"
    write("loreta_against_printed", printed, sparse_against_printed())
    write("loreta_dense", "A step of LORETA on dense rows against the printed ones and against BLAS", dense())
    write(
        "loreta_as_features_grow",
        "A step of LORETA at rank 10 and 100 non-zeros per row, as features grow",
        as_features_grow(),
    )


if __name__ == "__main__":
    main()
