"""Generalised non-metric multidimensional scaling (Agarwal et al. 2007): the hinge loss.

Zero if the far pair is farther by the margin; not differentiable at the kink.
"""

from typing import Any

from nearer.losses import ops
from nearer.losses.base import Loss


class GNMDS(Loss):
    """Hinge loss ``max(0, margin + near - far)``.

    It has no probability model: ``probability`` is the logistic function of ``far - near``.

    Parameters
    ----------
    margin : float, default=1.0
        The far squared distance should exceed the near one by this.

    Examples
    --------
    >>> from nearer.losses import GNMDS
    >>> float(GNMDS().value(near=1.0, far=1.5))
    0.5
    """

    convex = True
    logistic = True

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = margin

    @property
    def hinge_margin(self) -> float | None:
        """The margin; None for a subclass with another value."""
        return self.margin if type(self).value is GNMDS.value else None

    def value(self, near: Any, far: Any) -> Any:
        """Return the hinge."""
        return ops.maximum(0.0, self.margin + near - far)

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far."""
        inside = ops.where(self.margin + near - far > 0.0, 1.0, 0.0)
        return inside, -inside

    def probability(self, near: Any, far: Any) -> Any:
        """Return the logistic function of ``far - near``."""
        return 1.0 / (1.0 + ops.exp(near - far))
