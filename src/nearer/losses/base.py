"""What a loss is: value, slopes and probability of two squared distances.

A loss sees ``near`` = d²(i, j) and ``far`` = d²(l, k) and nothing else. Its parameters are numbers stored on
``self``; the compiler turns them into constants. Any object of this shape works where a loss is asked for.
"""

from typing import Any, Protocol, Self

from sklearn.base import BaseEstimator


class LossLike(Protocol):
    """The shape of a loss, for those who write their own."""

    def value(self, near: Any, far: Any) -> Any:
        """Return how badly a comparison is met."""

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far."""

    def probability(self, near: Any, far: Any) -> Any:
        """Return the probability that a person calls the near pair the nearer one."""


class Loss(BaseEstimator):
    """Base of the losses of the house: parameters by name, as in scikit-learn.

    Attributes
    ----------
    convex : bool
        Whether the value is convex in (near, far), and so in a kernel, whose squared distances are
        linear. Only then can an optimum over kernels be proved to be one. A loss of your own says so likewise.
    """

    convex = False

    def for_dimensions(self, n_components: int) -> Self:
        """Return the loss as it is used in that many dimensions."""
        return self
