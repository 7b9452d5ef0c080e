"""How trials are summarized and compared: means with errors, and one rule for "better" in all verdicts.

Trials of two methods are paired by their split or seed. One is better if the mean of the differences is beyond what
they vary by, at the 5 % level of Student's t; with fewer than three trials nothing can be decided. Only whether means
are those that were printed, to within some distance, is decided without a test.

Random splits of the same rows overlap, so their differences vary by less than those of new data would. Nadeau and Bengio
(Inference for the generalization error, Machine Learning 52, 2003) add the ratio of test to training rows to 1/n in the
variance of the mean: `overlap`. It is 0 where each trial draws its own data.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import t as student

FEWEST = 3  # trials of which the differences are compared
LEVEL = 0.975


def rounded(values: Iterable[float], digits: int = 5) -> list[float]:
    """Return numbers with that many significant digits, as records keep them."""
    return [float(f"{value:.{digits}g}") for value in values]


def mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error, None for a single value."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return float(np.mean(values)), error


def is_higher(values: Sequence[float], others: Sequence[float], overlap: float = 0.0) -> bool | None:
    """Whether values are higher than others of the same trials; None if that is within the noise."""
    n = len(values)
    difference, error = mean_and_error(np.subtract(values, others).tolist())
    if error is None or n < FEWEST:
        return None
    if abs(difference) <= student.ppf(LEVEL, n - 1) * error * np.sqrt(1.0 + n * overlap):
        return None
    return difference > 0.0


def is_lower(values: Sequence[float], others: Sequence[float], overlap: float = 0.0) -> bool | None:
    """Whether values are lower than others of the same trials; None if that is within the noise."""
    return is_higher(others, values, overlap)


def unless_open_ended(is_better: bool | None, ours: bool, theirs: bool) -> bool | None:
    """Return whether we are better; None if the losing method's best value is at the end of its grid.

    A value beyond the end might win. ``ours`` and ``theirs`` say whose best value is at the end.
    """
    return None if (theirs if is_better else ours) else is_better


def any_holds(decided: Iterable[bool | None]) -> bool | None:
    """Whether at least one part of a claim holds; None if none does but some are undecided."""
    parts = list(decided)
    if True in parts:
        return True
    return None if None in parts or not parts else False


def all_hold(decided: Iterable[bool | None]) -> bool | None:
    """Whether all parts of a claim hold: not if one does not, and None if none fails but some are undecided."""
    parts = list(decided)
    if False in parts:
        return False
    return None if None in parts or not parts else True


def counted(values: Sequence[float | str | None]) -> str:
    """Return how often each value was chosen.

    Examples
    --------
    >>> from nearer.papers.statistics import counted
    >>> counted([0.1, 1.0, 0.1, None])
    '0.1 (2), 1 (1)'
    """
    known = sorted(value for value in values if value is not None)
    texts = [
        f"{float(f'{value:.2g}'):g}"
        if isinstance(value, float)
        else format(value, "," if isinstance(value, int) else "")
        for value in known
    ]
    return ", ".join(f"{text} ({texts.count(text)})" for text in dict.fromkeys(texts))
