"""The convex programs over kernels: mean loss of the comparisons plus regularization · trace(K) / n, K ⪰ 0.

Squared distances are linear in K, so the objective is convex if the loss is, and the gradient is a matrix: the
sum over rows of w [s_near (e_i - e_j)(e_i - e_j)ᵀ + s_far (e_l - e_k)(e_l - e_k)ᵀ], a graph Laplacian.

The solver needs a smooth function. The hinge of GNMDS, max over a in [0, 1] of a (margin + near - far), is
smoothed by a proximal term around multipliers c: max over a of a t - width (a - c)² / 2. Moving c to that a after
every round is the method of multipliers: it converges to the optimum of the hinge itself, with a width that need
not go to zero, and the multipliers certify it.
"""

from typing import Any, NamedTuple

import numpy as np

from nearer.certificate import Lines, hinge_lines, lower_bound, shares, smallest_eigenpair, tangents
from nearer.comparisons import Comparisons
from nearer.kernel.predict import kernel_distances
from nearer.losses import loss_trait

WIDTH_FACTOR = 2.0  # by which the width of the smooth hinge changes per round


class Smooth:
    """A loss that is smooth as it is."""

    multipliers: np.ndarray | None = None

    def __init__(self, loss: Any) -> None:
        self.loss = loss

    def value_and_slopes(self, near: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values of the rows and their slopes."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self.loss.value(near, far), *self.loss.slopes(near, far)

    def lines(self, near: np.ndarray, far: np.ndarray) -> Lines:
        """Return lines below the loss with the slopes of the smooth function."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return tangents(self.loss, near, far)

    def recenter(self, near: np.ndarray, far: np.ndarray, slack: float, gap: float | None) -> None:
        """Do nothing: there is no center."""


class SmoothHinge:
    """The hinge of GNMDS with a proximal term around multipliers, one per row, from 0 to 1."""

    def __init__(self, loss: Any, multipliers: np.ndarray) -> None:
        self.margin = loss.hinge_margin
        self.width = abs(self.margin) or 1.0
        self.multipliers = multipliers

    def _maximizer(self, violation: np.ndarray) -> np.ndarray:
        return np.clip(self.multipliers + violation / self.width, 0.0, 1.0)

    def value_and_slopes(self, near: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values of the rows and their slopes."""
        violation = self.margin + near - far
        a = self._maximizer(violation)
        return a * violation - 0.5 * self.width * np.square(a - self.multipliers), a, -a

    def lines(self, near: np.ndarray, far: np.ndarray) -> Lines:
        """Return lines below the hinge with the slopes of the smooth function."""
        return hinge_lines(self._maximizer(self.margin + near - far), self.margin)

    def recenter(self, near: np.ndarray, far: np.ndarray, slack: float, gap: float | None) -> None:
        """Move the center to the multipliers at these distances, and adapt the width."""
        self.multipliers = self._maximizer(self.margin + near - far)
        # The slack is the distance of the lines below the hinge. If it is most of the gap, the width is too large;
        # otherwise the rounds are not solved well enough, and a larger width makes them easier.
        if gap is not None:
            self.width *= 1.0 / WIDTH_FACTOR if slack > gap - slack else WIDTH_FACTOR


class Bounds(NamedTuple):
    """The objective of a kernel, a lower bound of the optimum, and the mean slack of the lines that certify it."""

    objective: float
    lower: float | None
    slack: float


class KernelProblem:
    """Comparisons, loss and ridge as a function of a kernel; the multipliers of the hinge are a warm start."""

    def __init__(
        self, comparisons: Comparisons, loss: Any, regularization: float, multipliers: np.ndarray | None = None
    ) -> None:
        rows = comparisons.rows.astype(np.intp)
        self.rows, self.n_objects, self.loss = rows, comparisons.n_objects, loss
        self.regularization = regularization
        self.ridge = regularization / self.n_objects
        self.share = shares(comparisons)
        self.certifiable = bool(loss_trait(loss, "convex")) and regularization > 0
        second = 0 if rows.shape[1] == 3 else 2
        self._pairs = np.concatenate(
            [rows[:, 0] * self.n_objects + rows[:, 1], rows[:, second] * self.n_objects + rows[:, -1]]
        )
        self.smooth: Smooth | SmoothHinge = Smooth(loss)
        if loss_trait(loss, "hinge_margin") is not None:
            self.smooth = SmoothHinge(loss, np.zeros(len(rows)) if multipliers is None else multipliers)

    def objective(self, kernel: np.ndarray) -> float:
        """Return the objective, with the hinge itself."""
        return self._objective(self._losses(*kernel_distances(kernel, self.rows)), kernel)

    def certify(self, kernel: np.ndarray) -> Bounds:
        """Return the objective and a lower bound of the optimum; then recenter the smooth hinge."""
        near, far = kernel_distances(kernel, self.rows)
        losses, lines = self._losses(near, far), self.smooth.lines(near, far)
        objective = self._objective(losses, kernel)
        if not np.isfinite(objective) or not np.isfinite(lines.near_slope + lines.far_slope).all():
            raise ValueError(f"the loss {self.loss!r} or its slope is not finite at some distances of the fit")
        slack = float(self.share @ (losses - (lines.height + lines.near_slope * near + lines.far_slope * far)))
        self.certifiable &= bool((losses >= 0.0).all())  # the lower bound needs losses >= 0
        lower: float | None = None
        if self.certifiable:
            smallest, _ = smallest_eigenpair(self.gradient(lines.near_slope, lines.far_slope))
            height = float(self.share @ lines.height)
            lower = lower_bound(height, smallest, self.regularization, self.n_objects)
        self.smooth.recenter(near, far, slack, None if lower is None else objective - lower)
        return Bounds(objective, lower, slack)

    def value(self, kernel: np.ndarray) -> float:
        """Return the mean of the smooth losses."""
        return float(self.share @ self.smooth.value_and_slopes(*kernel_distances(kernel, self.rows))[0])

    def value_and_gradient(self, kernel: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean of the smooth losses and its gradient, without the ridge."""
        values, near, far = self.smooth.value_and_slopes(*kernel_distances(kernel, self.rows))
        return float(self.share @ values), self.gradient(near, far)

    def gradient(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return the mean slope as a symmetric matrix, from the slopes of the rows."""
        n = self.n_objects
        weights = np.concatenate([self.share * near, self.share * far])
        half = np.bincount(self._pairs, weights, n * n).reshape(n, n)
        gradient = -(half + half.T)
        gradient[np.diag_indices(n)] -= gradient.sum(axis=1)  # no row compares an object with itself
        return gradient

    def _losses(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self.loss.value(near, far)

    def _objective(self, losses: np.ndarray, kernel: np.ndarray) -> float:
        return float(self.share @ losses) + self.ridge * float(np.trace(kernel))
