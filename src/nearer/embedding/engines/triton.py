"""Gradients of many comparisons on a GPU, as Triton kernels.

A comparison reads three rows of the points and adds to three rows of the gradient, which is all that it costs: the
arithmetic is hidden behind the memory. Triplets are sorted by their anchor, so that a program reads its anchor's row
once and adds to it once, and two rows are left. Rows are padded to a multiple of 16 bytes, which are loaded and added
at once. Additions are atomic, in no fixed order: results differ between runs by rounding.
"""

# ruff: noqa: F821
# mypy: disable-error-code="no-untyped-def"
import hashlib
import linecache
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import triton
import triton.language as tl

from nearer.embedding.engines.expressions import write_source

FUNCTIONS = {
    "exp": "tl.exp", "log": "tl.log", "sqrt": "tl.sqrt", "maximum": "tl.maximum", "where": "tl.where",
    "absolute": "tl.abs", "log1p": "log1p",
}  # fmt: skip
MAX_FACTORS = 8  # of a power that is written as a product
loss_of: Callable  # bound to the loss


@triton.jit
def log1p(x):
    """Return log(1 + x), also of small x, by the correction that Kahan found."""
    y = 1.0 + x
    return tl.where(y == 1.0, x, tl.log(y) * (x / tl.where(y == 1.0, 1.0, y - 1.0)))


def add_by_anchor(
    points, gradient, losses, anchors, bounds, near_objects, far_objects, weights,
    STRIDE: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Add the gradient of the triplets of one anchor: those between two bounds."""
    segment = tl.program_id(0)
    first, last = tl.load(bounds + segment), tl.load(bounds + segment + 1)
    anchor = tl.load(anchors + segment).to(tl.int64) * STRIDE
    columns = tl.arange(0, WIDTH)
    inside = columns < STRIDE
    x = tl.load(points + anchor + columns, mask=inside, other=0.0)
    pull = tl.zeros_like(x)
    total = tl.zeros([ROWS], x.dtype)
    for start in range(first, last, ROWS):
        p = start + tl.arange(0, ROWS)
        valid = p < last
        mask = valid[:, None] & inside[None, :]
        j = tl.load(near_objects + p, mask=valid, other=0).to(tl.int64)[:, None] * STRIDE + columns[None, :]
        k = tl.load(far_objects + p, mask=valid, other=0).to(tl.int64)[:, None] * STRIDE + columns[None, :]
        near_side = x[None, :] - tl.load(points + j, mask=mask, other=0.0)
        far_side = x[None, :] - tl.load(points + k, mask=mask, other=0.0)
        value, near_slope, far_slope = loss_of(
            tl.sum(near_side * near_side, axis=1), tl.sum(far_side * far_side, axis=1)
        )
        if WEIGHTED:
            weight = tl.load(weights + p, mask=valid, other=0.0)
            value, near_slope, far_slope = weight * value, weight * near_slope, weight * far_slope
        total += tl.where(valid, value, 0.0)
        near_side = tl.where(valid, 2.0 * near_slope, 0.0)[:, None] * near_side
        far_side = tl.where(valid, 2.0 * far_slope, 0.0)[:, None] * far_side
        tl.atomic_add(gradient + j, -near_side, mask=mask, sem="relaxed")
        tl.atomic_add(gradient + k, -far_side, mask=mask, sem="relaxed")
        pull += tl.sum(near_side + far_side, axis=0)
    tl.atomic_add(gradient + anchor + columns, pull, mask=inside, sem="relaxed")
    tl.store(losses + segment, tl.sum(total, axis=0))


def add_by_row(
    points, gradient, losses, i_objects, j_objects, l_objects, k_objects, weights, n_rows, scale,
    STRIDE: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WEIGHTED: tl.constexpr, TRIPLETS: tl.constexpr,
):  # fmt: skip
    """Add ``scale`` times the gradient of rows in any order: quadruplets, or triplets, whose l is i."""
    p = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    valid = p < n_rows
    columns = tl.arange(0, WIDTH)
    mask = valid[:, None] & (columns < STRIDE)[None, :]
    i = tl.load(i_objects + p, mask=valid, other=0).to(tl.int64)[:, None] * STRIDE + columns[None, :]
    j = tl.load(j_objects + p, mask=valid, other=0).to(tl.int64)[:, None] * STRIDE + columns[None, :]
    k = tl.load(k_objects + p, mask=valid, other=0).to(tl.int64)[:, None] * STRIDE + columns[None, :]
    x = tl.load(points + i, mask=mask, other=0.0)
    near_side = x - tl.load(points + j, mask=mask, other=0.0)
    if TRIPLETS:
        far_side = x - tl.load(points + k, mask=mask, other=0.0)
    else:
        l = tl.load(l_objects + p, mask=valid, other=0).to(tl.int64)[:, None] * STRIDE + columns[None, :]  # noqa: E741
        far_side = tl.load(points + l, mask=mask, other=0.0) - tl.load(points + k, mask=mask, other=0.0)
    value, near_slope, far_slope = loss_of(
        tl.sum(near_side * near_side, axis=1), tl.sum(far_side * far_side, axis=1)
    )
    if WEIGHTED:
        weight = tl.load(weights + p, mask=valid, other=0.0)
        value, near_slope, far_slope = weight * value, weight * near_slope, weight * far_slope
    tl.store(losses + tl.program_id(0), tl.sum(tl.where(valid, value, 0.0), axis=0))
    near_side = (scale * tl.where(valid, 2.0 * near_slope, 0.0))[:, None] * near_side
    far_side = (scale * tl.where(valid, 2.0 * far_slope, 0.0))[:, None] * far_side
    tl.atomic_add(gradient + j, -near_side, mask=mask, sem="relaxed")
    tl.atomic_add(gradient + k, -far_side, mask=mask, sem="relaxed")
    if TRIPLETS:
        tl.atomic_add(gradient + i, near_side + far_side, mask=mask, sem="relaxed")
    else:
        tl.atomic_add(gradient + i, near_side, mask=mask, sem="relaxed")
        tl.atomic_add(gradient + l, far_side, mask=mask, sem="relaxed")


def kernels_of(loss: Any) -> tuple[Any, Any]:
    """Return the kernels by anchor and by row, compiled for a loss when they are first called."""
    return _kernels(write_source(loss, FUNCTIONS, _power, _constant))


@cache
def _kernels(body: str) -> tuple[Any, Any]:
    lines = "\n".join("    " + line for line in body.splitlines())
    source = f"def loss_of(near, far):\n{lines}\n"
    # The compiler reads the source of a function from its file, which for this one is in linecache only.
    filename = f"<loss {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"tl": tl, "log1p": log1p, "__name__": __name__}
    exec(compile(source, filename, "exec"), scope)
    loss_function = triton.jit(scope["loss_of"])

    def bound(kernel: Any) -> Any:
        copy = FunctionType(kernel.__code__, {**globals(), "loss_of": loss_function}, kernel.__name__)
        copy.__annotations__ = dict(kernel.__annotations__)
        return triton.jit(copy)

    return bound(add_by_anchor), bound(add_by_row)


def _constant(number: float) -> str:
    """Return the source of a number in the precision of the points: a literal would be of float32."""
    return f"tl.full(near.shape, {number!r}, near.dtype)"


def _power(x: str, y: Any) -> str:
    """Return the source of a power: a product for small whole and half numbers, which t-STE has."""
    if isinstance(y, float) and 0.0 < y <= MAX_FACTORS and (2.0 * y).is_integer():
        factors = [x] * int(y) + [f"tl.sqrt({x})"] * (y % 1.0 != 0.0)
        return " * ".join(factors)
    return f"tl.exp({y} * tl.log({x}))"
