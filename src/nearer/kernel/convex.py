"""The convex programs over kernels: mean loss of the comparisons plus regularization · trace(K) / n, K ⪰ 0.

Squared distances are linear in K, so the objective is convex where the loss is, and the gradient is a matrix: the
sum over rows of w [s_near (e_i - e_j)(e_i - e_j)ᵀ + s_far (e_l - e_k)(e_l - e_k)ᵀ], a graph Laplacian.

A solver wants a smooth function. The hinge of GNMDS, max over a in [0, 1] of a (margin + near - far), becomes
smooth by a pull of a towards multipliers c: max over a of a t - width (a - c)² / 2. With c moved to the a it
found, again and again, this is the method of multipliers: it ends at the hinge's own optimum, with a width that
need not shrink to nothing, and the multipliers prove it.
"""

from typing import Any

import numpy as np

from nearer.certificate import Lines, hinge_lines, shares, tangents
from nearer.comparisons import Comparisons
from nearer.kernel.predict import kernel_distances
from nearer.losses import loss_trait

FIRMER = 2.0  # factor by which the width of the hinge follows what holds the proof up


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
        """Return lines below the loss, as steep as the smooth function is here."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return tangents(self.loss, near, far)

    def recentre(self, near: np.ndarray, far: np.ndarray, slack: float, gap: float | None) -> None:
        """Nothing to do: it has no centre."""


class SmoothHinge:
    """The hinge of GNMDS, its multipliers pulled towards those of the last round.

    Parameters
    ----------
    loss : object
        A loss with a ``hinge_margin``.
    multipliers : array
        Where they are pulled: one for each row, from 0 to 1.
    """

    def __init__(self, loss: Any, multipliers: np.ndarray) -> None:
        self.margin = loss.hinge_margin
        self.width = abs(self.margin) or 1.0
        self.multipliers = multipliers

    def _active(self, short: np.ndarray) -> np.ndarray:
        return np.clip(self.multipliers + short / self.width, 0.0, 1.0)

    def value_and_slopes(self, near: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the values of the rows and their slopes."""
        short = self.margin + near - far
        active = self._active(short)
        return active * short - 0.5 * self.width * np.square(active - self.multipliers), active, -active

    def lines(self, near: np.ndarray, far: np.ndarray) -> Lines:
        """Return lines below the hinge, as steep as the smooth function is here."""
        return hinge_lines(self._active(self.margin + near - far), self.margin)

    def recentre(self, near: np.ndarray, far: np.ndarray, slack: float, gap: float | None) -> None:
        """Take the multipliers found as the new centre, and balance the two things that hold the proof up.

        ``slack`` is how far the lines are below the hinge. Where it is most of the gap, the width is too large;
        where it is little, the rounds are not solved well, and a larger width makes them easier.
        """
        self.multipliers = self._active(self.margin + near - far)
        if gap is not None:
            self.width *= 1.0 / FIRMER if slack > gap - slack else FIRMER


class KernelProblem:
    """Comparisons, loss and ridge as a function of a kernel.

    Parameters
    ----------
    comparisons : Comparisons
        What the kernel should satisfy.
    loss : object
        A loss; it sees two arrays of squared distances.
    regularization : float
        Weight of trace(K) / n beside the mean loss.
    multipliers : array, optional
        Multipliers of the hinge to start from.
    """

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

    def losses(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return the losses of the rows themselves, hinge and all."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return self.loss.value(near, far)

    def objective(self, kernel: np.ndarray) -> float:
        """Return the objective itself, hinge and all."""
        losses = self.losses(*kernel_distances(kernel, self.rows))
        return float(self.share @ losses) + self.ridge * float(np.trace(kernel))

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
        pulls = np.concatenate([self.share * near, self.share * far])
        half = np.bincount(self._pairs, pulls, n * n).reshape(n, n)
        gradient = -(half + half.T)
        gradient[np.diag_indices(n)] -= gradient.sum(axis=1)  # no row compares an object with itself
        return gradient
