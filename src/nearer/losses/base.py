"""What a loss is: value, slopes and probability of two squared distances, and a few traits.

A loss sees ``near`` = d²(i, j) and ``far`` = d²(l, k) and nothing else. Its parameters are numbers stored on
``self``; the compiler turns them into constants. Solvers never ask for the type of a loss, only for its traits, so
a new loss is one file and one line of the table `LOSSES`.
"""

from typing import Any, Protocol, Self

from sklearn.base import BaseEstimator


class LossLike(Protocol):
    """The methods of a loss, for those who write their own."""

    def value(self, near: Any, far: Any) -> Any:
        """Return the loss of a comparison."""

    def slopes(self, near: Any, far: Any) -> tuple[Any, Any]:
        """Return the derivatives of the value with respect to near and far."""

    def probability(self, near: Any, far: Any) -> Any:
        """Return the probability that a person calls the near pair the nearer one."""


class Loss(BaseEstimator):
    """Base class of the losses: parameters by name, as in scikit-learn, and default traits.

    A loss need not inherit from it. A trait that an object of your own does not have is the default.

    Attributes
    ----------
    convex : bool, default=False
        Whether the value is convex in (near, far), and so in a kernel, whose squared distances are linear. Only
        then can an optimum over kernels be certified.
    kernel_form : bool, default=True
        Whether the loss is useful over kernels of any rank, as in `ComparisonKernel`.
    logistic : bool, default=False
        Whether ``probability`` is the logistic function of ``far - near``.
    hinge_margin : float or None, default=None
        The margin m if the value is the hinge max(0, m + near - far), which has many tangents at its kink.
    """

    convex = False
    kernel_form = True
    logistic = False

    @property
    def hinge_margin(self) -> float | None:
        """The margin m if the value is max(0, m + near - far)."""
        return None

    def for_dimensions(self, n_components: int) -> Self:
        """Return the loss with parameters set for that many dimensions."""
        return self


def loss_trait(loss: Any, name: str) -> Any:
    """Return a trait of a loss, or the default for an object that does not have it."""
    return getattr(loss, name, getattr(Loss(), name))
