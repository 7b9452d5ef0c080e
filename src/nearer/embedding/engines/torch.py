"""The engine of GPUs: comparisons, points and their gradient stay on the device, through PyTorch.

With Triton, which comes with PyTorch for NVIDIA's and AMD's GPUs, the gradient is one kernel
(:mod:`nearer.embedding.engines.triton`). Without it, it is made of PyTorch's own operations, which every device has and
which equal the kernel up to rounding.
"""

import os
from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import drop_zero_weights
from nearer.comparisons.rows import blocks
from nearer.embedding.engines.expressions import write_source
from nearer.embedding.problem import Problem

try:
    import torch
except ImportError:
    raise ImportError('a GPU needs PyTorch: pip install "nearer[gpu]"') from None

FUNCTIONS = {
    "maximum": "maximum",
    **{n: f"torch.{n}" for n in ("exp", "log", "log1p", "sqrt", "where", "absolute")},
}
BLOCK_ENTRIES = 1 << 26  # of the arrays that PyTorch's own operations make at once
SEGMENT = 512  # rows of one anchor that one program works through
ROWS_AT_ONCE = 16  # of a program, if they are short: of one with 16 to 32 rows the speed hardly depends on it
TILE = 512  # entries of the points that a program works with at once, for longer rows
STEPS = 32  # stochastic steps per pass, unless the solver gives a batch size
ALIGNED = 16  # bytes, which a GPU loads at once


def find_device(name: str) -> Any:
    """Return the device of PyTorch that a name stands for; None for "auto" where there is no GPU."""
    if name == "auto":
        return torch.device("cuda") if torch.cuda.is_available() else None
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).cpu()  # a device that keeps no numbers, "meta", fails at the way back
    except (RuntimeError, AssertionError, ImportError) as error:
        first_sentence = str(error).splitlines()[0].partition(". ")[0]
        raise ValueError(
            f"device={name!r} cannot be used: PyTorch {torch.__version__} says {first_sentence!r}. "
            "device='auto' takes a GPU where there is one, device='cpu' the processor"
        ) from None
    return device


class TorchProblem(Problem):
    """Comparisons on a device of PyTorch.

    The rows of triplets are sorted by their anchor and kept in two columns, the near and the far objects. A segment
    is a number of rows with a common anchor; ``bounds`` are the first rows of the segments and the end of the last.
    Quadruplets are kept in four columns.
    """

    find_device = staticmethod(find_device)

    def __init__(
        self,
        comparisons: Comparisons | ComparisonSource,
        loss: Any,
        regularization: float,
        n_jobs: int,
        random: np.random.Generator,
        *,
        device: Any,
    ) -> None:
        super().__init__(loss, regularization, comparisons.n_objects, random)
        self.device = torch.device(device)
        self.uses_triton = find_spec("triton") is not None and (
            self.device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
        )
        columns, weights = self._load(comparisons)
        self.n_rows = columns.shape[1]
        self.batch_size = -(-self.n_rows // STEPS)
        self.is_triplets = len(columns) == 3
        self.anchors: Any = None
        self.bounds: Any = None
        if self.is_triplets:
            anchors, order = torch.sort(columns[0])
            self.anchors, self.bounds = segments_of(anchors)
            self.columns = [column[order] for column in columns[1:]]
            weights = None if weights is None else weights[order]
        else:
            self.columns = list(columns)
        self.weights = weights
        self._random: Any = None

    def _load(self, comparisons: Comparisons | ComparisonSource) -> tuple[Any, Any]:
        """Return the columns of the comparisons with weights above 0 on the device, and their weights or None."""
        chunks = [comparisons] if isinstance(comparisons, Comparisons) else comparisons.chunks()
        columns = torch.empty(comparisons.shape[::-1], dtype=torch.int32, device=self.device)
        weights: Any = None
        first = 0
        for chunk in map(drop_zero_weights, chunks):
            last = first + len(chunk)
            columns[:, first:last] = torch.tensor(chunk.rows.T).to(self.device)
            if chunk.weights is not None and weights is None:
                weights = torch.ones(columns.shape[1], dtype=torch.float64, device=self.device)
            if chunk.weights is not None:
                weights[first:last] = torch.tensor(chunk.weights).to(self.device)
            first = last
        if first == 0:
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        return columns[:, :first], None if weights is None else weights[:first]

    def from_numpy(self, points: np.ndarray) -> Any:
        """Return points as a tensor on the device."""
        if self.device.type == "mps" and points.dtype == np.float64:
            raise ValueError(f"device={str(self.device)!r} knows no float64: give dtype='float32'")
        return torch.tensor(points).to(self.device)

    def to_numpy(self, points: Any) -> np.ndarray:
        """Return a tensor as a numpy array."""
        return points if isinstance(points, np.ndarray) else points.cpu().numpy()

    def inner(self, x: Any, y: Any) -> float:
        """Return the inner product of two tensors."""
        return float(torch.dot(x.ravel(), y.ravel()))

    def changes(self, points: Any, memory: int) -> "TorchChanges":
        """Return a memory of changes on the device."""
        return TorchChanges(memory)

    def value_and_gradient(self, points: Any) -> tuple[float, Any]:
        """Return F and its gradient, ridge included."""
        total, gradient = self._sum_all(points)
        gradient = gradient / self.n_rows + self.ridge * points
        return total / self.n_rows + 0.5 * self.ridge * self.inner(points, points), gradient

    def svrg_run(
        self,
        snapshot: Any,
        gradient: Any,
        step_size: float,
        steps: int,
        batch_size: int = 1,
        stop_at: int | None = None,
    ) -> tuple[Any, Any]:
        """Return the points after ``steps`` inner steps of SVRG, and those after ``stop_at``."""
        points = middle = snapshot
        for step in range(steps):
            rows = self._random_rows(batch_size)
            pull = torch.zeros_like(snapshot)
            self._add_rows(points, pull, *rows, scale=1.0)
            self._add_rows(snapshot, pull, *rows, scale=-1.0)
            direction = pull / batch_size + gradient + self.ridge * (points - snapshot)
            points = points - step_size * direction
            middle = points if step + 1 == stop_at else middle
        return points, middle

    def sgd_run(self, points: Any, step_size: float, steps: int) -> Any:
        """Refuse: a GPU would take one comparison at a time."""
        raise ValueError(
            "solver='sgd' takes steps of single comparisons, for which a GPU is no use: give solver='lbfgs' or "
            "'svrg-sbb', or device='cpu'"
        )

    def energies(self, points: np.ndarray) -> np.ndarray:
        """Return for each object the sum of the squared pulls of all comparisons on it."""
        energy = torch.zeros(self.n_objects, dtype=self._double, device=self.device)
        places = torch.tensor(points).to(self.device, self._double)
        for block in blocks(self.n_rows, self._block_rows(points.shape[1])):
            i, j, l, k = self._columns(block)  # noqa: E741
            near, far = ((places[x] - places[y]).square().sum(1) for x, y in ((i, j), (l, k)))
            _, *slopes = self._loss_and_slopes(near, far)
            weight = 1.0 if self.weights is None else self.weights[block].to(self._double)
            for squared, slope, ends in zip((near, far), slopes, ((i, j), (l, k)), strict=True):
                pull = torch.nan_to_num((2.0 * weight * slope).square() * squared, nan=0.0)
                for end in ends:
                    energy.index_add_(0, end, pull)
        return np.minimum(energy.cpu().numpy().astype(np.float64), np.finfo(np.float64).max)

    def mentioned(self) -> np.ndarray:
        """Return for each object whether a comparison mentions it."""
        mentioned = torch.zeros(self.n_objects, dtype=torch.bool, device=self.device)
        for objects in (*self.columns, *([] if self.anchors is None else [self.anchors])):
            for block in blocks(len(objects), BLOCK_ENTRIES):
                mentioned[objects[block].long()] = True
        return mentioned.cpu().numpy()

    def _columns(self, picks: Any) -> tuple[Any, Any, Any, Any]:
        """Return the objects i, j, l and k of some rows, which a slice or a tensor of numbers selects."""
        if not self.is_triplets:
            i, j, l, k = (column[picks].long() for column in self.columns)  # noqa: E741
            return i, j, l, k
        is_block = isinstance(picks, slice)
        numbers = torch.arange(picks.start, picks.stop, device=self.device) if is_block else picks
        anchors = self.anchors[torch.searchsorted(self.bounds, numbers, right=True) - 1].long()
        near, far = (column[picks].long() for column in self.columns)
        return anchors, near, anchors, far

    def _random_rows(self, n: int) -> tuple[tuple[Any, ...], Any]:
        """Return the objects of rows drawn uniformly, and their weights or None."""
        if self._random is None:
            seed = int(self.random.integers(2**63 - 1))
            self._random = torch.Generator(self.device).manual_seed(seed)
        picks = torch.randint(self.n_rows, (n,), generator=self._random, device=self.device)
        return self._columns(picks), None if self.weights is None else self._normalized[picks]

    def _sum_all(self, points: Any) -> tuple[float, Any]:
        """Return the sum of all losses, and its gradient."""
        if self.uses_triton and self.is_triplets:
            padded, gradient = self._padded(points)
            losses = torch.empty(len(self.anchors), dtype=points.dtype, device=self.device)
            kernel, _ = self._kernels
            kernel[(len(self.anchors),)](
                padded, gradient, losses, self.anchors, self.bounds, *self.columns, self._weights_as(points.dtype),
                WEIGHTED=self.weights is not None, **self._sizes(padded),
            )  # fmt: skip
            return float(losses.sum(dtype=self._double)), gradient[:, : points.shape[1]]
        gradient, total = torch.zeros_like(points), 0.0
        size = self.n_rows if self.uses_triton else self._block_rows(points.shape[1])
        for block in blocks(self.n_rows, size):
            weights = None if self.weights is None else self._normalized[block]
            total += self._add_rows(points, gradient, self._columns(block), weights, scale=1.0)
        return total, gradient

    def _add_rows(self, points: Any, gradient: Any, rows: tuple[Any, ...], weights: Any, scale: float) -> float:
        """Add ``scale`` times the gradient of rows in any order, and return their loss."""
        i, j, l, k = rows  # noqa: E741
        if self.uses_triton:
            padded, added = self._padded(points)
            sizes = self._sizes(padded)
            n_programs = -(-len(i) // sizes["ROWS"])
            losses = torch.empty(n_programs, dtype=points.dtype, device=self.device)
            _, kernel = self._kernels
            kernel[(n_programs,)](
                padded, added, losses, i, j, l, k, points if weights is None else weights.to(points.dtype), len(i),
                scale, WEIGHTED=weights is not None, TRIPLETS=self.is_triplets, **sizes,
            )  # fmt: skip
            gradient += added[:, : points.shape[1]]
            return float(losses.sum(dtype=self._double))
        near_side, far_side = points[i] - points[j], points[l] - points[k]
        value, near_slope, far_slope = self._loss_and_slopes(near_side.square().sum(1), far_side.square().sum(1))
        if weights is not None:
            value, near_slope, far_slope = (weights.to(points.dtype) * x for x in (value, near_slope, far_slope))
        near_side *= (2.0 * scale * near_slope)[:, None]
        far_side *= (2.0 * scale * far_slope)[:, None]
        gradient.index_add_(0, i, near_side).index_add_(0, j, near_side, alpha=-1)
        gradient.index_add_(0, l, far_side).index_add_(0, k, far_side, alpha=-1)
        return float(value.sum(dtype=self._double))

    def _padded(self, points: Any) -> tuple[Any, Any]:
        """Return the points with rows of whole 16 bytes, and zeros of that shape."""
        per_load = ALIGNED // points.element_size()
        missing = -points.shape[1] % per_load
        padded = torch.nn.functional.pad(points, (0, missing)) if missing else points.contiguous()
        return padded, torch.zeros_like(padded)

    def _sizes(self, padded: Any) -> dict[str, int]:
        """Return the constants of a kernel: the entries of a row, the next power of two, and rows at a time."""
        width = 1 << (padded.shape[1] - 1).bit_length()
        rows = min(ROWS_AT_ONCE, max(1, TILE // width))
        return {"STRIDE": padded.shape[1], "WIDTH": width, "ROWS": rows, "num_warps": 1 if width <= TILE else 4}

    def _block_rows(self, n_components: int) -> int:
        return max(1, BLOCK_ENTRIES // n_components)

    def _weights_as(self, dtype: Any) -> Any:
        """Return the weights in a precision; any tensor where there are none, which the kernel does not read."""
        return self.anchors if self.weights is None else self._normalized.to(dtype)

    @cached_property
    def _normalized(self) -> Any:
        """The weights, with a mean of one."""
        weights = self.weights / self.weights.max()  # the sum of huge ones would overflow
        return weights * (len(weights) / weights.sum())

    @property
    def _double(self) -> Any:
        return torch.float32 if self.device.type == "mps" else torch.float64

    @cached_property
    def _kernels(self) -> tuple[Any, Any]:
        from nearer.embedding.engines.triton import kernels_of

        return kernels_of(self.loss)

    @cached_property
    def _loss_and_slopes(self) -> Callable[[Any, Any], tuple[Any, Any, Any]]:
        """The loss as operations of PyTorch: value and slopes of near and far."""
        lines = write_source(self.loss, FUNCTIONS, lambda x, y: f"{x} ** {y}").replace("\n", "\n    ")
        scope: dict[str, Any] = {"torch": torch, "maximum": maximum}
        exec(f"def loss_and_slopes(near, far):\n    {lines}\n", scope)

        def evaluate(near: Any, far: Any) -> tuple[Any, Any, Any]:
            results = scope["loss_and_slopes"](near, far)
            value, near_slope, far_slope = (x if torch.is_tensor(x) else torch.full_like(near, x) for x in results)
            return value, near_slope, far_slope

        return evaluate


class TorchChanges:
    """The last changes of points and gradients on a device, and the direction that they lead to.

    As :class:`nearer.lbfgs.Changes`; no number leaves the device before the slope.

    Parameters
    ----------
    memory : int
        Pairs of changes that are kept.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._pairs: list[tuple[Any, Any, Any]] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all changes."""
        self._pairs.clear()

    def direction(self, gradient: Any) -> tuple[Any, float]:
        """Return the direction of the next step and the slope along it."""
        direction, weights = -gradient.ravel(), []
        for moved, turned, bend in reversed(self._pairs):
            weights.append(torch.dot(moved, direction) / bend)
            direction = direction - weights[-1] * turned
        if self._pairs:
            moved, turned, bend = self._pairs[-1]
            direction = direction * (bend / torch.dot(turned, turned))
        for moved, turned, bend in self._pairs:
            weight = weights.pop() - torch.dot(turned, direction) / bend
            direction = direction + weight * moved
        return direction.reshape(gradient.shape), float(torch.dot(direction, gradient.ravel()))

    def remember(self, points: Any, gradient: Any, end: Any, end_gradient: Any) -> None:
        """Add the changes of a step, if the objective curves up along it."""
        moved, turned = (end - points).ravel(), (end_gradient - gradient).ravel()
        bend = torch.dot(moved, turned)
        if bool(bend > 1e-10 * torch.linalg.vector_norm(moved) * torch.linalg.vector_norm(turned)):
            self._pairs = [*self._pairs, (moved, turned, bend)][-self.memory :]

    def inner(self, x: Any, y: Any) -> float:
        """Return the inner product."""
        return float(torch.dot(x.ravel(), y.ravel()))


def segments_of(anchors: Any) -> tuple[Any, Any]:
    """Return the anchor of each segment of sorted anchors, and the bounds of the segments."""
    n, device = len(anchors), anchors.device
    starts = torch.cat([
        torch.zeros(1, dtype=torch.int64, device=device),
        torch.nonzero(anchors[1:] != anchors[:-1]).ravel() + 1,
    ])  # fmt: skip
    ends = torch.cat([starts[1:], torch.tensor([n], device=device)])
    parts = (ends - starts + SEGMENT - 1) // SEGMENT
    firsts = torch.repeat_interleave(starts, parts)
    before = torch.repeat_interleave(torch.cumsum(parts, 0) - parts, parts)
    bounds = firsts + SEGMENT * (torch.arange(len(firsts), device=device) - before)
    return anchors[bounds], torch.cat([bounds, torch.tensor([n], device=device)])


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two tensors, or of a tensor and a number."""
    if not torch.is_tensor(x):
        x, y = y, x
    return torch.maximum(x, y) if torch.is_tensor(y) else x.clamp(min=y)
