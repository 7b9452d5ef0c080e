"""Parameters and state of the learners: what may be given, a sentence when it is not, and nothing half learned."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that an ``n_jobs`` asks for."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None, a positive number of threads or -1 for all cores; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def is_number(value: Any) -> bool:
    """Whether a parameter is a finite number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_count(value: Any) -> bool:
    """Whether a parameter is a positive whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) > 0


def check(model: Any, name: str, good: bool, wanted: str) -> None:
    """Raise a ValueError that names a parameter of a model that cannot be, what it may be, and what it is."""
    if not good:
        raise ValueError(f"{name} must be {wanted}; got {getattr(model, name)!r}")


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[None]:
    """Leave a model as it was when learning is refused or interrupted: what it had learned before, or nothing."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise
