"""Stochastic triplet embedding (van der Maaten and Weinberger 2012): the logistic loss.

Equation (5) of the SVRG-SBB paper, with the sign that makes it a loss.
"""

from typing import Any

from nearer.losses import ops
from nearer.losses.base import Loss


class STE(Loss):
    """Logistic loss ``log(1 + exp(near - far))``.

    Examples
    --------
    >>> from nearer.losses import STE
    >>> float(STE().probability(near=2.0, far=2.0))
    0.5
    """

    convex = logistic = True

    def value(self, near: Any, far: Any) -> Any:
        """Return the negative logarithm of the probability, without overflow."""
        short = near - far
        return ops.maximum(short, 0.0) + ops.log(1.0 + ops.exp(-ops.maximum(short, -short)))

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far.

        With the same exponential as the value, which the compiler then computes once.
        """
        short = near - far
        small = ops.exp(-ops.maximum(short, -short))
        wrong = ops.where(short > 0.0, 1.0, small) / (1.0 + small)
        return wrong, -wrong

    def probability(self, near: Any, far: Any) -> Any:
        """Return the logistic function of ``far - near``."""
        return 1.0 / (1.0 + ops.exp(near - far))
