"""t-distributed stochastic triplet embedding (van der Maaten and Weinberger 2012).

Equation (6) of the SVRG-SBB paper. With r = (alpha + near) / (alpha + far) and c = (alpha + 1) / 2 it is
log(1 + r^c): heavy tails, so that one wrong answer about distant objects has little influence.
"""

from typing import Any, Self

from nearer.losses import ops
from nearer.losses.base import Loss


class TSTE(Loss):
    """Logistic loss of Student-t similarities with ``alpha`` degrees of freedom.

    Parameters
    ----------
    alpha : float or None, default=None
        Degrees of freedom; by default ``max(1, n_components - 1)``, set for the map that it is used for.

    Examples
    --------
    >>> from nearer.losses import TSTE
    >>> round(float(TSTE(alpha=1.0).probability(near=1.0, far=3.0)), 3)
    0.667
    >>> TSTE().for_dimensions(5)
    TSTE(alpha=4.0)
    """

    kernel_form = False

    def __init__(self, alpha: float | None = None) -> None:
        self.alpha: Any = alpha

    def for_dimensions(self, n_components: int) -> Self:
        """Return the loss with ``alpha`` set."""
        return self if self.alpha is not None else type(self)(alpha=float(max(1, n_components - 1)))

    def value(self, near: Any, far: Any) -> Any:
        """Return the negative logarithm of the probability."""
        return ops.log(1.0 + ((self.alpha + near) / (self.alpha + far)) ** (0.5 * (self.alpha + 1.0)))

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far.

        With the same power as the value, which the compiler then computes once.
        """
        half = 0.5 * (self.alpha + 1.0)
        wrong = half - half / (1.0 + ((self.alpha + near) / (self.alpha + far)) ** half)
        return wrong / (self.alpha + near), -wrong / (self.alpha + far)

    def probability(self, near: Any, far: Any) -> Any:
        """Return the near pair's fraction of the two Student-t similarities."""
        return 1.0 / (1.0 + ((self.alpha + near) / (self.alpha + far)) ** (0.5 * (self.alpha + 1.0)))
