"""How trials are compared: means with their errors, and one rule for "better", which all verdicts use.

Trials of two methods are paired by their split or seed. One is better if the mean of the differences is beyond what
they vary by, at the 5 % level of Student's t; with fewer than three trials nothing can be decided.
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


def is_higher(values: Sequence[float], others: Sequence[float]) -> bool | None:
    """Whether values are higher than others of the same trials; None if that is within the noise."""
    difference, error = mean_and_error(np.subtract(values, others).tolist())
    if error is None or len(values) < FEWEST:
        return None
    if abs(difference) <= student.ppf(LEVEL, len(values) - 1) * error:
        return None
    return difference > 0.0


def is_lower(values: Sequence[float], others: Sequence[float]) -> bool | None:
    """Whether values are lower than others of the same trials; None if that is within the noise."""
    return is_higher(others, values)


def all_hold(decided: Iterable[bool | None]) -> bool | None:
    """Whether all parts of a claim hold: not if one does not, and None if none fails but some are undecided."""
    parts = list(decided)
    if False in parts:
        return False
    return None if None in parts or not parts else True
