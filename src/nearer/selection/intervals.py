"""Intervals of shares whose parts depend on each other, and the ceiling that repeated questions set.

The interval is Wilson's for the effective number of independent values. Rows that depend on each other (of one answer,
of one question, of one person) are the units of the variance, and where folds share what they learn from, it is
multiplied by a factor (see :mod:`nearer.selection.cross_validation`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from nearer.comparisons import Comparisons
from nearer.comparisons.rows import flip_rows, question_codes

CONFIDENCE = 0.95
WIDEST = 0.2  # interval of a ceiling that says something

Interval = tuple[float, float]


class Ceiling(NamedTuple):
    """The accuracy of the best possible map, from questions that were asked more than once.

    Attributes
    ----------
    accuracy : float
        An upper bound on the share of new answers that any map can predict.
    interval : tuple of float
        95 % interval of that bound.
    agreement : float
        How often two answers to the same question are the same.
    n_questions : int
        Number of questions that were asked more than once.
    """

    accuracy: float
    interval: Interval
    agreement: float
    n_questions: int


def are_correct(predict: Callable[[Comparisons], Any], comparisons: Comparisons) -> NDArray[np.float64]:
    """Return 1 for each row that is predicted, 0 for each that is not, and 0.5 where two distances are equal.

    Objects that a model has not seen are all at one place, so a tie is a guess.

    Parameters
    ----------
    predict : callable
        Returns 1 for each row that is predicted as it is, else -1.
    comparisons : Comparisons
        The answers.
    """
    opposite = comparisons._replace(flip_rows(comparisons.rows), slice(None), None, len(comparisons))
    yes, no = (np.asarray(predict(rows)) == 1 for rows in (comparisons, opposite))
    return 0.5 * (1.0 + yes - no)


def share_and_interval(
    correct: NDArray[np.float64], weights: NDArray[np.float64] | None, units: NDArray[Any], factor: float = 1.0
) -> tuple[float, Interval]:
    """Return the mean of values between 0 and 1 by weight, and its 95 % interval.

    Parameters
    ----------
    correct : array of shape (n,)
        The values.
    weights : array of shape (n,) or None
        Their weights.
    units : array of int of shape (n,)
        Values with the same number depend on each other.
    factor : float, default=1
        Multiplies the variance.
    """
    weights = np.ones(len(correct)) if weights is None else weights / weights.max()
    share = float(np.average(correct, weights=weights))
    n_units = len(np.unique(units))
    if n_units < 2:
        return share, (0.0, 1.0)
    n = _effective_number(correct, weights, units, share, n_units) / factor
    return share, _wilson(share, n, float(stdtrit(n_units - 1, 0.5 + CONFIDENCE / 2)))


def _effective_number(
    correct: NDArray[np.float64], weights: NDArray[np.float64], units: NDArray[Any], share: float, n_units: int
) -> float:
    """Return how many independent values would have a mean of the same variance."""
    variance = standard_error(correct - share, weights, units) ** 2
    if not variance > 0.0:  # all right, or all wrong
        return n_units
    return share * (1.0 - share) / variance


def standard_error(residuals: NDArray[np.float64], weights: NDArray[np.float64], units: NDArray[Any]) -> float:
    """Return the standard error of a weighted mean whose residuals depend on each other within units."""
    _, number = np.unique(units, return_inverse=True)
    sums = np.bincount(number.reshape(-1), weights * residuals)
    n = len(sums)
    return float(np.sqrt(n / max(n - 1, 1) * np.sum(np.square(sums))) / np.sum(weights))


def _wilson(share: float, n: float, z: float) -> Interval:
    """Return Wilson's interval for a share of n independent values."""
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return float(max(center - half, 0.0)), float(min(center + half, 1.0))


def noise_ceiling(comparisons: Comparisons) -> Ceiling | None:
    """Return what repeated questions say about the accuracy of the best possible map.

    If a question gets one of its answers with probability p, two answers agree with probability p² + (1 - p)², and
    no prediction is right more often than max(p, 1 - p). The agreement A of all repeated questions therefore bounds
    the accuracy by (1 + √(2A - 1)) / 2, which is reached if all questions are equally hard. A question is the same with
    its two choices swapped.

    Parameters
    ----------
    comparisons : Comparisons
        The answers.

    Returns
    -------
    Ceiling or None
        None if so few questions were asked more than once that the interval is wider than 0.2.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.selection import noise_ceiling
    >>> from nearer.simulate import comparisons_from_points, flip
    >>> points = np.random.default_rng(0).normal(size=(6, 2))
    >>> ceiling = noise_ceiling(comparisons_from_points(points, 2000, noise=flip(0.2), random_state=0))
    >>> ceiling.n_questions, bool(abs(ceiling.accuracy - 0.8) < 0.03)
    (60, True)
    """
    questions, side = question_codes(comparisons.rows, comparisons.n_objects)
    asked = np.bincount(questions).astype(np.float64)
    one = np.bincount(questions, side)
    repeated = asked > 1
    if not repeated.any():
        return None
    asked, one = asked[repeated], one[repeated]
    same = (one * (one - 1) + (asked - one) * (asked - one - 1)) / (asked * (asked - 1))
    agreement, interval = share_and_interval(same, asked, np.arange(len(same)))
    low, high = (_best_accuracy(share) for share in interval)
    if high - low > WIDEST:
        return None
    return Ceiling(_best_accuracy(agreement), (low, high), agreement, len(same))


def _best_accuracy(agreement: float) -> float:
    return 0.5 * (1.0 + float(np.sqrt(max(2.0 * agreement - 1.0, 0.0))))
