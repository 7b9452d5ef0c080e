"""Four sets of people's answers and their splits, for held-out error side by side with peers.

Only numpy is imported, and splits come from numpy's own generator, so that nearer's environment and the
peers' make the very same ones. Splits are by answer, never by row: an odd-one-out or most-central answer is
two rows, and a row whose twin is in the training part would flatter every method.

The folders lie under the one that the environment variable NEARER_DATA names.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

SPLITS = tuple(range(10))
TEST_SHARE = 0.2


@dataclass(frozen=True)
class RealAnswers:
    """Rows (a, b, c), a nearer to b than to c, and the id of the answer that each row belongs to.

    Of the answers that are not held out only the share `learned` is learned from.
    """

    name: str
    rows: np.ndarray
    answers: np.ndarray
    n_objects: int
    learned: float = 1.0

    def is_held_out(self, seed: int) -> np.ndarray:
        """Return for each row whether its answer is in the fifth that is held out; the number is the seed."""
        return self._part(seed, 0.0, TEST_SHARE)

    def is_learned(self, seed: int) -> np.ndarray:
        """Return for each row whether its answer is learned from."""
        return self._part(seed, TEST_SHARE, TEST_SHARE + self.learned * (1.0 - TEST_SHARE))

    def _part(self, seed: int, begin: float, end: float) -> np.ndarray:
        n_answers = int(self.answers.max()) + 1
        part = np.zeros(n_answers, dtype=bool)
        order = np.random.default_rng(seed).permutation(n_answers)
        part[order[round(begin * n_answers) : round(end * n_answers)]] = True
        return part[self.answers]

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training rows and test rows."""
        return self.rows[self.is_learned(seed)], self.rows[self.is_held_out(seed)]


def music() -> RealAnswers:
    """Return 9,090 answers about 400 artists, without the file's 17 impossible rows and 12 unused labels."""
    rows = _arrays("music_aset400/aset400.npz")["triplets"]
    a, b, c = rows.T
    rows = rows[(a != b) & (a != c) & (b != c)]
    artists, relabelled = np.unique(rows, return_inverse=True)
    return _one_row_an_answer("music", relabelled.reshape(rows.shape), len(artists))


def food73() -> RealAnswers:
    """Return 95,183 answers about the taste of 73 foods, with repeats and contradictions."""
    return _one_row_an_answer("food73", _arrays("food73_taste/food73.npz")["triplets"], 73)


def cars() -> RealAnswers:
    """Return 7,097 answers about 60 cars. Centre c of {c, x, y} says (x, c, y) and (y, c, x)."""
    arrays = _arrays("car_similarity/cars.npz")
    query, centre = arrays["query"], arrays["chosen_center"]
    x, y = query[query != centre[:, None]].reshape(-1, 2).T
    return _two_rows_an_answer("cars", (x, centre, y), (y, centre, x), 60)


def things() -> RealAnswers:
    """Return 127,304 answers about 1,854 things. Odd one k of {i, j, k} says (i, j, k) and (j, i, k)."""
    i, j, k = _arrays("things_odd_one_out/things_ooo.npz")["triplets"].T
    return _two_rows_an_answer("things", (i, j, k), (j, i, k), 1854)


WHOLE = {"music": music, "cars": cars, "food73": food73, "things": things}


def _quarter(name):
    """Return a function that makes the set of a name with a quarter of its training answers."""
    return lambda: replace(WHOLE[name](), name=f"{name}-quarter", learned=0.25)


DATASETS = WHOLE | {f"{name}-quarter": _quarter(name) for name in WHOLE}


def _arrays(path: str) -> dict[str, np.ndarray]:
    root = os.environ.get("NEARER_DATA")
    if not root or not (Path(root) / path).exists():
        raise FileNotFoundError(f"{path} not found: set NEARER_DATA to the folder of data sets (now {root!r})")
    with np.load(Path(root) / path) as file:
        return dict(file)


def _one_row_an_answer(name: str, rows: np.ndarray, n_objects: int) -> RealAnswers:
    return RealAnswers(name, np.ascontiguousarray(rows, dtype=np.int32), np.arange(len(rows)), n_objects)


def _two_rows_an_answer(name: str, first: tuple, second: tuple, n_objects: int) -> RealAnswers:
    rows = np.stack([np.stack(first, axis=1), np.stack(second, axis=1)], axis=1).reshape(-1, 3)
    return RealAnswers(name, rows.astype(np.int32), np.repeat(np.arange(len(rows) // 2), 2), n_objects)
