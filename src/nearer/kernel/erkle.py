"""Algorithm 2 of the ERKLE paper: a stream of answers, each a step of the kernel, some taken again later.

Each answer pushes the kernel (:mod:`~nearer.kernel.directions`) as far as a rule says
(:mod:`~nearer.kernel.step_size`), and the kernel is put back among the positive semidefinite ones
(:mod:`~nearer.kernel.psd_kernel`).
"""

from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh

from nearer.kernel.directions import objects_of
from nearer.kernel.large import LargeKernel
from nearer.kernel.psd_kernel import Skipping, SmallKernel, Stepped
from nearer.kernel.replay_buffer import Remembered
from nearer.kernel.step_size import Length
from nearer.kernel.symmetric import mirrored

SMALL = 150  # objects up to which LAPACK solves the eigenproblem of a step faster


@dataclass
class Rules:
    """What the estimator's parameters ask for.

    Attributes
    ----------
    length : callable
        The length of a step.
    passes : int
        Steps for each new answer.
    fair : bool
        Whether answers drawn less often are favoured.
    shrinkage : float
        By how much all eigenvalues fall for as many answers as there are objects.
    """

    length: Length
    passes: int
    fair: bool
    shrinkage: float


@dataclass(eq=False)
class Erkle:
    """The state of the algorithm between two answers.

    Attributes
    ----------
    kernel : array of shape (n, n)
        A positive semidefinite matrix, which becomes the algorithm's own.
    skipping : Skipping
        The bound that skips projections.
    random : numpy.random.Generator
        Draws answers to go over again.
    remembered : Remembered
        The answers that can be drawn.
    n_seen, n_updates : int
        Answers seen, and steps of a positive length.
    unpaid : int
        Answers since the eigenvalues last shrank.
    shift : float
        That of the inverse of a large kernel.
    """

    kernel: InitVar[np.ndarray]
    skipping: Skipping
    random: np.random.Generator
    remembered: Remembered = field(default_factory=Remembered.none)
    n_seen: int = 0
    n_updates: int = 0
    unpaid: int = 0
    shift: float = 0.0
    _copy: np.ndarray | None = field(default=None, init=False, repr=False)

    def __post_init__(self, kernel: np.ndarray) -> None:
        self._take_in(kernel)

    @property
    def now(self) -> np.ndarray:
        """The kernel as it is now: a read-only copy, made once after an answer."""
        if self._copy is None:
            copy = self.stepped.full()
            copy.flags.writeable = False
            self._copy = copy
        return self._copy

    @property
    def is_copied(self) -> bool:
        """Whether there is a copy of the kernel as it is now."""
        return self._copy is not None

    def _take_in(self, kernel: np.ndarray) -> None:
        self._copy = None
        self.n_objects = len(kernel)
        if self.n_objects <= SMALL:
            self.stepped: Stepped = SmallKernel(kernel, self.skipping)
        else:
            self.stepped = LargeKernel(kernel, self.skipping, self.shift)

    def settle(self) -> None:
        """Come to the state of one that was just read from a file."""
        self._copy = None
        self.stepped.settle()

    def grow(self, n_objects: int) -> None:
        """Add objects of which nothing is known: each its own, at the same distance from all."""
        if n_objects > self.n_objects:
            self._copy = None
            self.stepped.grow(n_objects)
            self.skipping.bound = min(self.skipping.bound, 1.0)
            if self.n_objects <= SMALL < n_objects:
                self._take_in(self.stepped.full())
            self.n_objects = n_objects

    def see(self, row: Any, weight: float, rules: Rules) -> None:
        """Learn from one comparison (i, j, l, k), and once more from some seen before."""
        self._copy = None
        self.n_seen += 1
        self._take(row, weight, rules.length, self.n_seen)
        if rules.passes > 1:
            self.remembered.add(row, weight)
            if self.n_seen > 2 * rules.passes:
                for k in range(1, rules.passes):
                    again, its_weight = self.remembered.draw(self.random, rules.fair)
                    self._take(again, its_weight, rules.length, self.n_seen + k)
        if rules.shrinkage > 0.0:
            self.unpaid += 1
            if self.unpaid >= self.n_objects:
                self._shrink(rules.shrinkage)

    def _take(self, row: Any, weight: float, length: Length, t: int) -> None:
        objects, direction = objects_of(*row)
        small = self.stepped.at(objects)
        (i, j), (l, k) = direction.near, direction.far  # noqa: E741
        near = max(0.0, float(small[i, i] + small[j, j] - 2.0 * small[i, j]))
        far = max(0.0, float(small[l, l] + small[k, k] - 2.0 * small[l, k]))
        gamma = length(near, far, direction.slope, weight, t)
        if gamma > 0.0:
            self.stepped.step(objects, direction, gamma)
            self.n_updates += 1

    def _shrink(self, amount: float) -> None:
        """Lower all eigenvalues, to zero at most: the proximal step of the trace, n³ for n answers."""
        values, vectors = eigh(self.stepped.full(), overwrite_a=True, check_finite=False)
        values = np.maximum(values - amount, 0.0)
        kept = values > 0.0
        self.skipping.bound = float(values[0])
        self.shift = getattr(self.stepped, "shift", 0.0)
        self.unpaid = 0
        self._take_in(mirrored(np.asfortranarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)))
