"""BLAS threads: one for small matrices, which several threads only slow down, and very much on busy cores."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

SMALL = 400  # rows up to which the decompositions of a square matrix are no faster with several threads


@cache
def _libraries() -> list[Any]:
    from threadpoolctl import ThreadpoolController

    # Set by hand: the controller's own context manager takes longer than a small decomposition.
    return ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def blas_threads_for(n: int) -> Iterator[None]:
    """Use one BLAS thread while matrices of n rows are worked on, unless n is large."""
    if n > SMALL:
        yield
        return
    libraries = [(library, library.get_num_threads()) for library in _libraries()]
    try:
        for library, n_threads in libraries:
            if n_threads > 1:
                library.set_num_threads(1)
        yield
    finally:
        for library, n_threads in libraries:
            if n_threads > 1:
                library.set_num_threads(n_threads)
