"""The functions that a loss may use beside plain arithmetic and comparisons.

A loss is written once, with these functions, for numpy (arrays), the compiler (scalars) and any other engine that
rebinds the name ``ops``. Use :func:`where` instead of ``if``.
"""

from typing import Any

import numpy as np
from numpy import log1p, maximum, sqrt

__all__ = ["exp", "log", "log1p", "maximum", "sqrt", "where"]


def exp(x: Any) -> Any:
    """Return the exponential function of x.

    Examples
    --------
    >>> from nearer.losses import ops
    >>> float(ops.exp(0.0))
    1.0
    """
    return np.exp(x)


def log(x: Any) -> Any:
    """Return the natural logarithm of x.

    Examples
    --------
    >>> from nearer.losses import ops
    >>> float(ops.log(1.0))
    0.0
    """
    return np.log(x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return x where the condition holds and y elsewhere.

    Examples
    --------
    >>> from nearer.losses import ops
    >>> float(ops.where(2.0 > 1.0, 5.0, 7.0))
    5.0
    """
    return np.where(condition, x, y)[()]
