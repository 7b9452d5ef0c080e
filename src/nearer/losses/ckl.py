"""Crowd kernel learning (Tamuz et al. 2011): a loss of the ratio of the two squared distances.

Scaling the map changes only the weight of ``delta``, so a ridge must determine its scale.
"""

from typing import Any

from nearer.losses import ops
from nearer.losses.base import Loss


class CKL(Loss):
    """Scale-invariant loss ``-log((far + delta) / (near + far + 2 delta))``.

    Parameters
    ----------
    delta : float, default=0.05
        Keeps the ratio finite for objects at the same point.

    Examples
    --------
    >>> from nearer.losses import CKL
    >>> round(float(CKL().probability(near=1.0, far=3.0)), 3)
    0.744
    """

    def __init__(self, delta: float = 0.05) -> None:
        self.delta = delta

    def value(self, near: Any, far: Any) -> Any:
        """Return the negative logarithm of the probability."""
        return ops.log((near + far + 2.0 * self.delta) / (far + self.delta))

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far."""
        both = 1.0 / (near + far + 2.0 * self.delta)
        return both, -both * (near + self.delta) / (far + self.delta)

    def probability(self, near: Any, far: Any) -> Any:
        """Return the far pair's fraction of the two squared distances."""
        return (far + self.delta) / (near + far + 2.0 * self.delta)
