"""Questions for a survey, balanced: all objects occur equally often, up to one, as the anchor and as a choice.

Two decks of cards, one of anchors and one of choices, hold every object equally often. They are shuffled and dealt.
Questions that compare an object with itself, or that were dealt before, exchange choices with others.
"""

from collections import Counter
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.rows import flip_rows

MAX_TRIES = 1000  # partners that a bad question is offered before all questions are drawn again


def balanced_questions(n_objects: int, n: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Draw `n` different questions (a, b, c), in random order of b and c; so many there must be."""
    n_all = n_objects * (n_objects - 1) * (n_objects - 2) // 2
    if 2 * n > n_all:
        # All questions together are balanced, and so is what is left when balanced ones are taken away.
        rows = _all_questions(n_objects)
        taken = _codes(balanced_questions(n_objects, n_all - n, random), n_objects)
        rows = random.permutation(rows[~np.isin(_codes(rows, n_objects), taken)])
        return np.where(random.random((n, 1)) < 0.5, flip_rows(rows), rows)
    while True:
        rounds = np.tile(np.arange(n_objects, dtype=np.int32), (-(-2 * n // n_objects), 1))
        anchors = random.permuted(rounds, axis=1).ravel()[:n]  # also the first questions alone are balanced
        choices = random.permutation(random.permuted(rounds, axis=1).ravel()[: 2 * n])
        rows = np.column_stack([anchors, choices.reshape(n, 2)])
        if _swap_until_valid(rows, n_objects, random):
            return rows


def _swap_until_valid(rows: NDArray[np.int32], n_objects: int, random: np.random.Generator) -> bool:
    """Swap choices of impossible or repeated questions with those of random others; False if one has no partner."""

    def code(row: list[int]) -> int:
        """Return a number that only this question has, in either order, or -1 for an impossible one."""
        a, b, c = row
        return -1 if a in (b, c) or b == c else (a * n_objects + min(b, c)) * n_objects + max(b, c)

    questions = rows.tolist()
    times = Counter(map(code, questions))
    for question in questions:
        tries = 0
        while (old := code(question)) == -1 or times[old] > 1:
            tries += 1
            if tries > MAX_TRIES:
                return False
            other = questions[random.integers(len(questions))]
            i, j = random.integers(1, 3, size=2)
            other_old = code(other)
            question[i], other[j] = other[j], question[i]
            new, other_new = code(question), code(other)
            times.subtract((old, other_old))
            # The other question must be a good one then; this one may need both of its choices replaced.
            good = other_new != -1 and new != other_new and not times[other_new]
            if good and (not times[new] if new != -1 else old == -1):
                times.update((new, other_new))
            else:
                question[i], other[j] = other[j], question[i]
                times.update((old, other_old))
    rows[:] = np.reshape(questions, rows.shape)  # also of none
    return True


def _all_questions(n_objects: int) -> NDArray[np.int32]:
    """Return every question (a, b, c) about objects once, with b below c."""
    pairs = np.array(list(combinations(range(n_objects - 1), 2)), dtype=np.int32)
    anchors = np.arange(n_objects, dtype=np.int32)[:, None, None]
    others = pairs + (pairs >= anchors)  # skip the anchor
    return np.concatenate([np.broadcast_to(anchors, (*others.shape[:2], 1)), others], axis=2).reshape(-1, 3)


def _codes(rows: NDArray[np.int32], n_objects: int) -> NDArray[np.int64]:
    """Return a number for each question, the same in either order of its choices."""
    a, low, high = rows[:, 0].astype(np.int64), rows[:, 1:].min(axis=1), rows[:, 1:].max(axis=1)
    return (a * n_objects + low) * n_objects + high
