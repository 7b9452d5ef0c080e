"""The agreement of two sets of answers: of two people, of two surveys, or of predictions and answers."""

from typing import Any

import numpy as np

from nearer.comparisons import Comparisons
from nearer.comparisons.rows import question_codes


def agreement(first: Any, second: Any) -> tuple[float, int]:
    """Return how often two sets of answers agree on the questions that both answer, and the number of these.

    A question counts once, however often it was answered: by the probability that an answer of the one set, drawn at
    random by weight, is the same as one of the other. So a set need not agree with itself, if it contradicts itself.

    Parameters
    ----------
    first, second : Comparisons, array-like of shape (n, 3) or (n, 4), or DataFrame
        Answers, in any order; objects are matched by name if both sets have names, by number otherwise.

    Returns
    -------
    share : float
        The mean agreement, 1.0 where all answers are the same.
    n_questions : int
        Questions that both sets answer.

    Examples
    --------
    >>> ann = [["Vienna", "Prague", "Rome"], ["Rome", "Vienna", "Oslo"], ["Oslo", "Prague", "Rome"]]
    >>> bob = [["Rome", "Vienna", "Oslo"], ["Vienna", "Rome", "Prague"]]
    >>> agreement(ann, bob)
    (0.5, 2)
    """
    parts = [Comparisons.of(answers) for answers in (first, second)]
    both = Comparisons.concat(parts)
    questions, side = question_codes(both.rows, both.n_objects)
    weights = np.ones(len(both)) if both.weights is None else both.weights
    is_first = np.arange(len(both)) < len(parts[0])
    n = int(questions.max(initial=-1)) + 1
    total, yes = np.empty((2, n)), np.empty((2, n))
    for number, own in enumerate((is_first, ~is_first)):
        total[number] = np.bincount(questions[own], weights[own], minlength=n)
        yes[number] = np.bincount(questions[own & side], weights[own & side], minlength=n)
    common = (total > 0).all(axis=0)
    if not common.any():
        raise ValueError("no question is answered in both sets: there is no agreement to measure")
    one, other = yes[:, common] / total[:, common]
    return float(np.mean(one * other + (1.0 - one) * (1.0 - other))), int(common.sum())
