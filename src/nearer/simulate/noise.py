"""The errors of a simulated person: the probability of a *wrong* answer, a function of two squared distances."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Noise = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def flip(fraction: float) -> Noise:
    """Return noise that makes an answer wrong with the same probability, `fraction`, for every question.

    Examples
    --------
    >>> flip(0.05)(np.array([1.0]), np.array([4.0]))
    array([0.05])
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction must lie between 0 and 1; got {fraction!r}")
    return lambda near, far: np.full(near.shape, float(fraction))


def logistic(scale: float = 1.0) -> Noise:
    """Return noise with probability 1/(1 + exp((far - near)/scale)) of an error.

    With ``scale=1`` the answers follow the model of STE.

    Examples
    --------
    >>> logistic(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.047])
    """
    _check_positive(scale, "scale")
    return lambda near, far: 1 / (1 + np.exp(np.minimum((far - near) / scale, 700)))


def student(alpha: float = 1.0) -> Noise:
    """Return the noise of the model of t-STE: errors where the ratio of the distances is close to one.

    Examples
    --------
    >>> student(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.286])
    """
    _check_positive(alpha, "alpha")
    return lambda near, far: 1 / (1 + ((alpha + far) / (alpha + near)) ** ((alpha + 1) / 2))


def gaussian(scale: float = 1.0) -> Noise:
    """Return Gaussian noise on the difference of the two distances: a probability Φ((√near - √far)/scale) of an error.

    Examples
    --------
    >>> gaussian(1.0)(np.array([1.0]), np.array([4.0])).round(3)
    array([0.159])
    """
    _check_positive(scale, "scale")
    return lambda near, far: ndtr((np.sqrt(near) - np.sqrt(far)) / scale)


def _check_positive(value: float, name: str) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be above 0; got {value!r}")
