"""Four sets of people's answers and their splits, for held-out error side by side with peers.

Splits come from numpy's own generator, so that nearer's environment and the peers' make the very same ones. The
loaders are those of this checkout, also in the peers' environment. Splits are by answer, never by row: an
odd-one-out or most-central answer is two rows, and a row whose twin is in the training part would flatter every
method.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))  # needs numpy and scipy only

from nearer import datasets

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
    rows = datasets.load_music().answers.rows
    artists, relabelled = np.unique(rows, return_inverse=True)
    relabelled = np.ascontiguousarray(relabelled.reshape(rows.shape), dtype=np.int32)
    return RealAnswers("music", relabelled, np.arange(len(rows)), len(artists))


def food73() -> RealAnswers:
    """Return 95,183 answers about the taste of 73 foods, with repeats and contradictions."""
    return _as_loaded("food73", datasets.load_food73().answers)


def cars() -> RealAnswers:
    """Return 7,097 answers about 60 cars. Centre c of {c, x, y} says (x, c, y) and (y, c, x)."""
    return _as_loaded("cars", datasets.load_cars().answers)


def things() -> RealAnswers:
    """Return 127,304 answers about 1,854 things. Odd one k of {i, j, k} says (i, j, k) and (j, i, k)."""
    return _as_loaded("things", datasets.load_things().answers)


WHOLE = {"music": music, "cars": cars, "food73": food73, "things": things}


def _quarter(name):
    """Return a function that makes the set of a name with a quarter of its training answers."""
    return lambda: replace(WHOLE[name](), name=f"{name}-quarter", learned=0.25)


DATASETS = WHOLE | {f"{name}-quarter": _quarter(name) for name in WHOLE}


def _as_loaded(name: str, answers) -> RealAnswers:
    return RealAnswers(name, answers.rows, np.asarray(answers.answers), answers.n_objects)
