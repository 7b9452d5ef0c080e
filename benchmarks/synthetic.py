"""The three sizes at which speed is measured, as files that both sides of a comparison read.

Points are drawn as in the SVRG-SBB paper's simulation, N(0, I/20), and every answer is right (so that their
scale says nothing); the first size is the paper's own. No question is asked twice: held-out ones are new to
every learner. The files lie in .cache/benchmarks and are made on first use. Only numpy is imported, so that
both environments can make them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

CACHE = Path(__file__).resolve().parents[1] / ".cache/benchmarks"
N_HELD_OUT = 20_000


@dataclass(frozen=True)
class Cell:
    """One size: so many objects in so many dimensions, and so many triplets to learn from."""

    name: str
    n_objects: int
    dims: int
    n_train: int


CELLS = {
    cell.name: cell
    for cell in (
        Cell("small", 100, 10, 10_000),
        Cell("medium", 1_000, 2, 50_000),
        Cell("large", 5_000, 5, 500_000),
    )
}


def load(cell: Cell, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows and held-out rows of a cell, from the cache where they are there."""
    path = CACHE / f"{cell.name}-{seed}.npz"
    if not path.exists():
        train, test = make(cell, seed)
        _save(path, train=train, test=test)
    with np.load(path) as file:
        return file["train"], file["test"]


def make(cell: Cell, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw points and ask distinct questions about them."""
    rng = np.random.default_rng(seed)
    points = rng.normal(scale=np.sqrt(1 / 20), size=(cell.n_objects, cell.dims))
    questions = _distinct_questions(cell.n_objects, cell.n_train + N_HELD_OUT, rng)
    a, b, c = points[questions.T]
    turned = ((a - b) ** 2).sum(axis=1) > ((a - c) ** 2).sum(axis=1)
    rows = np.where(turned[:, None], questions[:, [0, 2, 1]], questions).astype(np.int32)
    return rows[: cell.n_train], rows[cell.n_train :]


def write_job(cell: Cell, method: str, seed: int = 0) -> Path:
    """Write a cell as a job for cblearn_peer.py and return its path; `seed` also starts the peer."""
    train, test = load(cell, seed)
    path = CACHE / f"{cell.name}-{seed}-{method}.npz"
    _save(path, train=train, test=test, n_objects=cell.n_objects, dims=cell.dims, method=method, seed=seed)
    return path


def _distinct_questions(n_objects: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return `size` triplets (a, b, c) with b < c, in random order, each at most once."""
    drawn = rng.integers(n_objects, size=(int(1.2 * size) + 1000, 3))
    drawn[:, 1:].sort(axis=1)
    a, b, c = drawn.T
    drawn = drawn[(a != b) & (a != c) & (b != c)]
    _, first = np.unique(drawn, axis=0, return_index=True)
    questions = drawn[np.sort(first)]
    if len(questions) < size:
        raise ValueError(f"only {len(questions)} of {size} distinct questions about {n_objects} objects")
    return questions[:size]


def _save(path: Path, **arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)


if __name__ == "__main__":
    for each in CELLS.values():
        train_rows, test_rows = load(each)
        print(f"{each.name}: {each.n_objects} objects, {len(train_rows)} triplets, {len(test_rows)} held out")
