"""Soft ordinal embedding (Terada and von Luxburg 2014): the squared hinge of distances, not of their squares.

At one place the slope of a distance is infinite; a guard keeps it finite.
"""

from typing import Any

from nearer.losses import ops
from nearer.losses.base import Loss


class SOE(Loss):
    """Squared hinge ``max(0, margin + sqrt(near) - sqrt(far))²``.

    It has no probability of its own: ``probability`` is the logistic function of ``sqrt(far) - sqrt(near)``.

    Parameters
    ----------
    margin : float, default=1.0
        By how much the far distance has to exceed the near one.

    Examples
    --------
    >>> from nearer.losses import SOE
    >>> float(SOE().value(near=4.0, far=4.0))
    1.0
    """

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = margin

    def value(self, near: Any, far: Any) -> Any:
        """Return the squared hinge."""
        short = ops.maximum(0.0, self.margin + ops.sqrt(near) - ops.sqrt(far))
        return short * short

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far.

        The root has an infinite slope at zero; the guard keeps it finite, and the gradient of two objects at
        one place is zero all the same because it is a multiple of their difference.
        """
        near_root = ops.maximum(ops.sqrt(near), 1e-8)
        far_root = ops.maximum(ops.sqrt(far), 1e-8)
        short = ops.maximum(0.0, self.margin + near_root - far_root)
        return short / near_root, -short / far_root

    def probability(self, near: Any, far: Any) -> Any:
        """Return the logistic function of the difference of the distances."""
        return 1.0 / (1.0 + ops.exp(ops.sqrt(near) - ops.sqrt(far)))
