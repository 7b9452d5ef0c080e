"""BLAS threads: one for small matrices, which several threads only slow down, and very much on busy cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

SMALL = 400  # rows up to which the decompositions of a square matrix are no faster with several threads


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_threads_for(n: int) -> Iterator[None]:
    """Use one BLAS thread while matrices of n rows are worked on, unless n is large."""
    if n > SMALL:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield
