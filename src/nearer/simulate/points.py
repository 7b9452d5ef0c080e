"""Random questions about objects, and their answers by points or distances.

A question whose two distances are equal has no true answer and is never drawn.
"""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons import Comparisons
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import (
    BLOCK,
    blocks,
    compares_with_itself,
    flip_rows,
    question_codes,
    squared_distances,
)
from nearer.simulate.noise import Noise
from nearer.simulate.questions import balanced_questions


def random_questions(
    n_objects: int,
    n: int,
    *,
    quadruplets: bool = False,
    unique: bool = False,
    balanced: bool = False,
    random_state: RandomState = None,
) -> NDArray[np.int32]:
    """Draw questions without answers, "is a nearer to b or to c?", such as for a survey.

    Parameters
    ----------
    n_objects : int
        Number of objects, at least 3.
    n : int
        Number of questions.
    quadruplets : bool
        Whether to ask which of two pairs of objects is nearer together.
    unique : bool
        Whether no question may occur twice, also not in another order of b and c, or of the pairs and their objects.
    balanced : bool
        Whether all objects shall occur equally often, up to one, as a, and equally often as b or c. Implies `unique`;
        not for quadruplets. ``nearer questions`` draws such questions.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    array of shape (n, 3) or (n, 4)
        Numbers of objects. `answer_questions` answers them, and so does ``predict`` of a model.

    Examples
    --------
    >>> random_questions(10, 4, random_state=0).shape
    (4, 3)
    """
    if n_objects < 3 or n < 0:
        raise ValueError(f"questions need at least 3 objects, and n of at least 0; got {n_objects} and n={n}")
    random, width = as_generator(random_state), 4 if quadruplets else 3
    pairs = n_objects * (n_objects - 1) // 2
    n_different = pairs * (pairs - 1) // 2 if quadruplets else n_objects * ((n_objects - 1) * (n_objects - 2) // 2)
    if balanced and quadruplets:
        raise ValueError("balanced questions are triplets; got balanced=True and quadruplets=True")
    if (unique or balanced) and n > n_different:
        raise ValueError(f"about {n_objects} objects there are {n_different} different questions; got n={n}")
    if balanced:
        return balanced_questions(n_objects, n, random)
    questions = np.empty((0, width), dtype=np.int32)
    while len(questions) < n:
        drawn = random.integers(n_objects, size=(2 * (n - len(questions)) + 16, width), dtype=np.int32)
        questions = np.concatenate([questions, drawn[~compares_with_itself(drawn)]])
        if unique:
            _, first = np.unique(question_codes(questions, n_objects)[0], return_index=True)
            questions = questions[np.sort(first)]
    return questions[:n]


def answer_questions(
    questions: ArrayLike,
    X: ArrayLike,
    *,
    metric: str = "euclidean",
    noise: Noise | None = None,
    jitter: float = 0.0,
    random_state: RandomState = None,
) -> Comparisons:
    """Answer questions by points or distances.

    Parameters
    ----------
    questions : array-like of int, shape (n, 3) or (n, 4)
        As `random_questions` draws them.
    X, metric, noise, jitter, random_state
        As for `comparisons_from_points`.

    Returns
    -------
    Comparisons
        One row per question, in the same order; one whose two distances are equal is answered at random.

    Examples
    --------
    >>> answer_questions([[0, 2, 1], [2, 0, 1]], [[0.0], [1.0], [3.0]]).rows.tolist()
    [[0, 1, 2], [2, 1, 0]]
    """
    space, random = _Space(X, metric, jitter), as_generator(random_state)
    rows = Comparisons(questions, n_objects=space.n_objects).rows
    parts = [np.empty((0, rows.shape[1]), dtype=np.int32)]
    for block in blocks(len(rows)):
        answers, tied = space.answer(rows[block], noise, random)
        coin = tied & (random.random(len(answers)) < 0.5)
        parts.append(np.where(coin[:, None], flip_rows(answers), answers))
    return Comparisons(np.concatenate(parts), n_objects=space.n_objects)


def comparisons_from_points(
    X: ArrayLike,
    n: int,
    *,
    quadruplets: bool = False,
    metric: str = "euclidean",
    noise: Noise | None = None,
    jitter: float = 0.0,
    random_state: RandomState = None,
) -> Comparisons:
    """Ask `n` random questions about points.

    Parameters
    ----------
    X : array-like, shape (n_objects, n_dims)
        Points; with ``metric="precomputed"`` the distances of all objects, shape (n_objects, n_objects).
    n : int
        Number of answers; questions may occur more than once.
    quadruplets : bool
        Whether to compare two pairs of objects instead of the distances of two objects to a third.
    metric : {"euclidean", "precomputed"}
        Whether X holds points or distances.
    noise : callable, optional
        ``noise(near, far)`` returns the probability of a wrong answer, of two squared distances; see `flip`,
        `gaussian`, `logistic`, `student`.
    jitter : float
        Standard deviation of Gaussian noise on each coordinate of each point, drawn anew for every question.
    random_state : int, Generator, RandomState or None

    Examples
    --------
    >>> from nearer.simulate import comparisons_from_points, flip
    >>> comparisons_from_points([[0.0], [1.0], [3.0]], 100, noise=flip(0.1), random_state=0)
    Comparisons(100 triplets, 3 objects)
    """
    space = _Space(X, metric, jitter)
    if n < 0:
        raise ValueError(f"n must be at least 0; got {n}")
    random = as_generator(random_state)
    width = 4 if quadruplets else 3
    rows = np.empty((n, width), dtype=np.int32)
    done, idle = 0, 0
    while done < n:
        size = min(BLOCK, 2 * (n - done) + 16)
        questions = random.integers(space.n_objects, size=(size, width), dtype=np.int32)
        questions = space.without_ties(questions[~compares_with_itself(questions)])[: n - done]
        answers, _ = space.answer(questions, noise, random)
        rows[done : done + len(answers)] = answers
        done += len(answers)
        idle = 0 if len(answers) else idle + 1
        if idle == 100:
            raise ValueError("no question about these points has an answer: all their distances seem to be equal")
    return Comparisons(rows, n_objects=space.n_objects)


class _Space:
    """Objects with distances: points, which may be seen with noise, or a table of distances."""

    def __init__(self, X: ArrayLike, metric: str = "euclidean", jitter: float = 0.0) -> None:
        if metric not in ("euclidean", "precomputed"):
            raise ValueError(f"metric must be 'euclidean' or 'precomputed'; got {metric!r}")
        self.table = np.asarray(X, dtype=np.float64)
        self.jitter, self.is_precomputed = jitter, metric == "precomputed"
        shape = self.table.shape
        if self.table.ndim != 2 or not np.isfinite(self.table).all():
            raise ValueError(f"X must be a table of finite numbers, one row per object; got shape {shape}")
        if len(self.table) < 3:
            raise ValueError(f"comparisons need at least 3 objects; got {len(self.table)}")
        if not 0 <= jitter < np.inf or (jitter and self.is_precomputed):
            raise ValueError(f"jitter must be a number of at least 0, and 0 with distances; got {jitter!r}")
        if self.is_precomputed and not (
            shape[0] == shape[1] and (self.table >= 0).all() and np.allclose(self.table, self.table.T)
        ):
            raise ValueError(f"distances must be a symmetric table of numbers >= 0; got shape {shape}")

    @property
    def n_objects(self) -> int:
        return len(self.table)

    def squared_distances(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the squared distance of the near pair and of the far pair of each row."""
        if not self.is_precomputed:
            return squared_distances(self.table, rows)
        second = 0 if rows.shape[1] == 3 else 2
        return self.table[rows[:, 0], rows[:, 1]] ** 2, self.table[rows[:, second], rows[:, -1]] ** 2

    def without_ties(self, questions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the questions whose two distances differ."""
        near, far = self.squared_distances(questions)
        return questions[near != far]

    def answer(
        self, questions: NDArray[np.int32], noise: Noise | None, random: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Return the questions, flipped where the answer is no; and which have two distances that are equal."""
        near, far = self._seen(questions, random) if self.jitter else self.squared_distances(questions)
        rows = np.where((near > far)[:, None], flip_rows(questions), questions)
        if noise is not None and len(rows):
            wrong = random.random(len(rows)) < noise(np.minimum(near, far), np.maximum(near, far))
            rows = np.where(wrong[:, None], flip_rows(rows), rows)
        return rows, near == far

    def _seen(
        self, questions: NDArray[np.int32], random: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return squared distances of points with noise, the same for both pairs of a triplet's anchor."""
        seen = self.table[questions]
        seen = seen + random.normal(scale=self.jitter, size=seen.shape)
        second = 0 if questions.shape[1] == 3 else 2
        near, far = seen[:, 0] - seen[:, 1], seen[:, second] - seen[:, -1]
        return np.einsum("nd,nd->n", near, near), np.einsum("nd,nd->n", far, far)


def all_triplets(X: ArrayLike, *, metric: str = "euclidean") -> Comparisons:
    """Answer every question "is a nearer to b or to c?" about points once.

    n points have n(n-1)(n-2)/2 rows, fewer if distances are equal.

    Parameters
    ----------
    X, metric
        As for `comparisons_from_points`.

    Examples
    --------
    >>> all_triplets([[0.0], [1.0], [3.0]]).rows.tolist()
    [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    """
    space = _Space(X, metric)
    pairs = np.array(list(combinations(range(space.n_objects - 1), 2)), dtype=np.int32)
    random, parts = as_generator(0), []
    for anchor in range(space.n_objects):
        others = pairs + (pairs >= anchor)  # skip the anchor
        rows = np.column_stack([np.full(len(pairs), anchor), others]).astype(np.int32)
        parts += [space.answer(space.without_ties(rows[block]), None, random)[0] for block in blocks(len(rows))]
    return Comparisons(np.concatenate(parts), n_objects=space.n_objects)
