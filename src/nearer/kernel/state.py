"""The state of ERKLE between two answers, and how a model file holds it."""

from array import array
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh

from nearer.comparisons import Comparisons
from nearer.kernel.large import LargeKernel
from nearer.kernel.psd_kernel import EigenvalueBound, SmallKernel
from nearer.kernel.steps import StepRule, direction_of
from nearer.kernel.symmetric import mirror_lower

SMALL = 150  # objects up to which LAPACK solves the eigenproblem of a step faster


class ReplayBuffer:
    """Earlier answers for experience replay, lines 5 to 11 of Algorithm 2: rows (i, j, l, k), weights and draws.

    Drawn uniformly, the first answers are drawn most often in the end. Fair replay, which the paper suggests, takes
    of two answers drawn uniformly the one with fewer draws.
    """

    def __init__(self, rows: Sequence[int] = (), weights: Sequence[float] = (), draws: Sequence[int] = ()) -> None:
        self.rows, self.weights, self.draws = array("i", rows), array("d", weights), array("q", draws)

    def add(self, row: Sequence[int], weight: float) -> None:
        """Store an answer."""
        self.rows.extend(row)
        self.weights.append(weight)
        self.draws.append(0)

    def draw(self, random: np.random.Generator, fair: bool) -> tuple[list[int], float]:
        """Return an answer and its weight, and count the draw."""
        index = int(random.integers(len(self.weights)))
        if fair:
            other = int(random.integers(len(self.weights)))
            if self.draws[other] < self.draws[index]:
                index = other
        self.draws[index] += 1
        return self.rows[4 * index : 4 * index + 4].tolist(), self.weights[index]


@dataclass(eq=False)
class ErkleState:
    """The state of the algorithm between two answers; it owns the positive semidefinite matrix that it starts from."""

    matrix: InitVar[np.ndarray]
    bound: EigenvalueBound
    random: np.random.Generator
    buffer: ReplayBuffer = field(default_factory=ReplayBuffer)
    n_seen: int = 0
    n_updates: int = 0  # steps of positive size
    n_unshrunk: int = 0  # answers since the eigenvalues last shrank
    shift: float = 0.0  # of the inverse of a large kernel
    cached: np.ndarray | None = field(default=None, init=False, repr=False)

    def __post_init__(self, matrix: np.ndarray) -> None:
        self._replace(matrix)

    def _replace(self, matrix: np.ndarray) -> None:
        self.cached = None
        self.n_objects = len(matrix)
        if self.n_objects <= SMALL:
            self.kernel: SmallKernel | LargeKernel = SmallKernel(matrix, self.bound)
        else:
            self.kernel = LargeKernel(matrix, self.bound, self.shift)

    @property
    def array(self) -> np.ndarray:
        """The current kernel: a read-only copy, made once after an answer."""
        if self.cached is None:
            self.cached = self.kernel.to_array()
            self.cached.flags.writeable = False
        return self.cached

    def grow(self, n_objects: int) -> None:
        """Add objects of which nothing is known: rows of the identity, at the same distance from all."""
        if n_objects > self.n_objects:
            self.cached = None
            self.kernel.grow(n_objects)
            self.bound.value = min(self.bound.value, 1.0)
            if self.n_objects <= SMALL < n_objects:
                self._replace(self.kernel.to_array())
            self.n_objects = n_objects

    def to_record(self) -> dict[str, Any]:
        """Return what the next answer depends on beside kernel and counts, for a model file; drop what is derived."""
        self.cached = None
        self.kernel.reset()
        return {
            "rows": np.array(self.buffer.rows, dtype=np.int32).reshape(-1, 4),
            "weights": np.array(self.buffer.weights),
            "draws": np.array(self.buffer.draws),
            "bound": self.bound.value,
            "shift": self.kernel.shift,
            "n_unshrunk": self.n_unshrunk,
            "random": self.random.bit_generator.state,
        }

    @classmethod
    def from_record(
        cls, record: dict[str, Any], kernel: np.ndarray, smallest: float, counts: Sequence[int]
    ) -> "ErkleState":
        """Return the state of a kernel with this smallest eigenvalue; ValueError for a record that is invalid."""
        bound, shift = float(record["bound"]), float(record["shift"])
        if not (np.isfinite(bound) and np.isfinite(shift) and shift >= 0):
            raise ValueError(f"bound and shift are numbers; got {bound} and {shift}")
        n_seen, n_updates, n_projections, n_skipped = counts
        return cls(
            np.array(kernel, order="F"),
            EigenvalueBound(min(bound, smallest), n_projections, n_skipped),
            restore_generator(record["random"]),
            restore_buffer(record, len(kernel)),
            n_seen,
            n_updates,
            int(record["n_unshrunk"] if "n_unshrunk" in record else record["unpaid"]),  # the latter in old files
            shift,
        )

    def step(self, row: Any, weight: float, rule: StepRule, t: int) -> tuple[float, float]:
        """Take the step of one comparison (i, j, l, k); return its squared distances before."""
        self.cached = None
        objects, direction = direction_of(*row)
        small = self.kernel.submatrix(objects)
        (i, j), (l, k) = direction.near, direction.far  # noqa: E741
        near = max(0.0, float(small[i, i] + small[j, j] - 2.0 * small[i, j]))
        far = max(0.0, float(small[l, l] + small[k, k] - 2.0 * small[l, k]))
        gamma = rule.size(near, far, direction.descent, weight, t)
        if gamma > 0.0:
            self.kernel.step(objects, direction, gamma)
            self.n_updates += 1
        return near, far

    def shrink(self, amount: float) -> None:
        """Lower all eigenvalues, to zero at most: the proximal step of the trace, n³ per n answers."""
        values, vectors = eigh(self.kernel.to_array(), overwrite_a=True, check_finite=False)
        values = np.maximum(values - amount, 0.0)
        positive = values > 0.0
        self.bound.value = float(values[0])
        self.shift = self.kernel.shift
        self.n_unshrunk = 0
        product = (vectors[:, positive] * values[positive]) @ vectors[:, positive].T
        self._replace(mirror_lower(np.asfortranarray(product)))


def restore_buffer(record: dict[str, Any], n_objects: int) -> ReplayBuffer:
    """Return the replay buffer of a file; ValueError for answers that are invalid."""
    rows, weights, draws = record["rows"], np.asarray(record["weights"], float), np.asarray(record["draws"])
    if rows.shape != (len(weights), 4) or rows.dtype.kind not in "iu" or draws.shape != weights.shape:
        raise ValueError(f"answers to replay of shape {rows.shape} with {len(weights)} weights")
    if not (weights >= 0).all():
        raise ValueError("answers to replay need weights >= 0")
    checked = Comparisons(rows, n_objects=n_objects).rows if len(rows) else rows
    return ReplayBuffer(checked.ravel().tolist(), weights.tolist(), draws.tolist())


def restore_generator(state: dict[str, Any]) -> np.random.Generator:
    """Return a generator that continues from a stored state."""
    known = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
    if state.get("bit_generator") not in known:
        raise ValueError(f"the generator must be one of {', '.join(known)}; got {state.get('bit_generator')!r}")
    bits = getattr(np.random, state["bit_generator"])(0)
    bits.state = state
    return np.random.Generator(bits)
