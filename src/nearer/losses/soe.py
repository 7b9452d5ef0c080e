"""Soft ordinal embedding (Terada and von Luxburg 2014): the squared hinge of distances, not of their squares.

The slope of a distance is infinite at 0; a lower limit keeps it finite.
"""

from typing import Any

from nearer.losses import ops
from nearer.losses.base import Loss


class SOE(Loss):
    """Squared hinge ``max(0, margin + sqrt(near) - sqrt(far))²``.

    It has no probability model: ``probability`` is the logistic function of ``sqrt(far) - sqrt(near)``.

    Parameters
    ----------
    margin : float, default=1.0
        The far distance should exceed the near one by this.

    Examples
    --------
    >>> from nearer.losses import SOE
    >>> float(SOE().value(near=4.0, far=4.0)), float(SOE().value(near=4.0, far=9.0))
    (1.0, 0.0)
    """

    kernel_form = False

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = margin

    def value(self, near: Any, far: Any) -> Any:
        """Return the squared hinge."""
        short = ops.maximum(0.0, self.margin + ops.sqrt(near) - ops.sqrt(far))
        return short * short

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far.

        The lower limit keeps the slope of the root finite. The gradient of two objects at the same point is zero
        anyway, because it is a multiple of their difference.
        """
        near_root = ops.maximum(ops.sqrt(near), 1e-8)
        far_root = ops.maximum(ops.sqrt(far), 1e-8)
        short = ops.maximum(0.0, self.margin + near_root - far_root)
        return short / near_root, -short / far_root

    def probability(self, near: Any, far: Any) -> Any:
        """Return the logistic function of the difference of the distances."""
        return 1.0 / (1.0 + ops.exp(ops.sqrt(near) - ops.sqrt(far)))
