"""Generalised non-metric multidimensional scaling (Agarwal et al. 2007): the hinge of the margin.

Zero once the far pair is farther by the margin; no slope beyond, so it is not smooth at the hinge.
"""

from typing import Any

from nearer.losses import ops
from nearer.losses.base import Loss


class GNMDS(Loss):
    """Hinge loss ``max(0, margin + near - far)``.

    It has no probability of its own: ``probability`` is the logistic function of ``far - near``.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the far squared distance has to exceed the near one.

    Examples
    --------
    >>> from nearer.losses import GNMDS
    >>> float(GNMDS().value(near=1.0, far=1.5))
    0.5
    """

    convex = True

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = margin

    def value(self, near: Any, far: Any) -> Any:
        """Return the hinge."""
        return ops.maximum(0.0, self.margin + near - far)

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far."""
        inside = ops.where(self.margin + near - far > 0.0, 1.0, 0.0)
        return inside, -inside

    def probability(self, near: Any, far: Any) -> Any:
        """Return the logistic function of the difference, for want of a model of the hinge's own."""
        return 1.0 / (1.0 + ops.exp(near - far))
