"""Constructor parameters: declared as fields, one table of what they may be, and one sentence for those that are not.

Parameters that several estimators share mean the same everywhere, so their constraints are defined once, here. A class
adds its own, or narrows a shared one, in ``_constraints``.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, dataclass_transform

import numpy as np

from nearer.threads import usable_cores

# Tuples, since a union of types is created on each evaluation: partial_fit checks once per answer.
NUMBERS, INTEGERS = (int, float, np.integer, np.floating), (int, np.integer)


class Constraint(NamedTuple):
    """What a parameter may be: a test, and its description for the error."""

    test: Callable[[Any], bool]
    wanted: str


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, NUMBERS) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: Any) -> bool:
    """Whether a value is a positive integer."""
    return isinstance(value, INTEGERS) and not isinstance(value, bool) and int(value) > 0


def is_auto(value: Any) -> bool:
    """Whether a value asks for a choice by held-out data."""
    return isinstance(value, str) and value == "auto"


def join_or(words: Iterable[str]) -> str:
    """Format alternatives, such as "a, b or c"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def check_count(name: str, value: Any, most: int, what: str = "") -> None:
    """Raise a ValueError if a value is not an integer from 1 to ``most``."""
    if not is_count(value) or value > most:
        raise ValueError(f"{name} must be a whole number from 1 to {most}{what}; got {value!r}")


def one_of(*choices: str) -> Constraint:
    """Allow some strings."""
    return Constraint(lambda value: isinstance(value, str) and value in choices, join_or(map(repr, choices)))


def either(*constraints: Constraint) -> Constraint:
    """Allow what any of several constraints allows."""
    tests = [constraint.test for constraint in constraints]

    def test(value: Any) -> bool:
        for test in tests:  # noqa: SIM110  (any() of a generator takes three times as long)
            if test(value):
                return True
        return False

    wanted = " or ".join(constraint.wanted for constraint in constraints)
    return Constraint(test, join_or(wanted.split(" or ")))


NONE = Constraint(lambda value: value is None, "None")
AUTO = Constraint(is_auto, "'auto'")
BOOL = Constraint(lambda value: isinstance(value, bool | np.bool_), "True or False")
COUNT = Constraint(is_count, "a positive integer")
POSITIVE = Constraint(lambda value: is_number(value) and value > 0, "a number > 0")
NON_NEGATIVE = Constraint(lambda value: is_number(value) and value >= 0, "a number >= 0")
INFINITE = Constraint(lambda value: isinstance(value, float | np.floating) and value == math.inf, "infinity")
SHARE = Constraint(lambda value: is_number(value) and 0 <= value <= 1, "a number from 0 to 1")
FRACTION = Constraint(lambda value: is_number(value) and 0 < value < 1, "a number between 0 and 1")
CALLBACK = Constraint(lambda value: value is None or callable(value), "None or a function of a record")
ANYTHING = Constraint(lambda value: True, "anything")

SHARED: Mapping[str, Constraint] = {
    "n_components": COUNT,
    "rank": COUNT,
    "regularization": either(AUTO, NON_NEGATIVE),
    "learning_rate": either(AUTO, POSITIVE),
    "max_iter": COUNT,
    "n_steps": either(NONE, COUNT),
    "n_triplets": either(NONE, COUNT),
    "n_constraints": either(NONE, COUNT),
    "sampling": one_of("instances", "classes"),
    "tol": NON_NEGATIVE,
    "early_stopping": BOOL,
    "validation_fraction": FRACTION,
    "n_init": COUNT,
    "max_seconds": either(NONE, POSITIVE),
    "callback": CALLBACK,
}


@dataclass_transform(eq_default=False)
def parametrized(kind: Any) -> Any:
    """Make the annotated fields of a class the parameters of its constructor, which only stores them."""
    return dataclass(kind, repr=False, eq=False)  # scikit-learn's repr; compared by identity as all estimators are


def check_parameters(model: Any) -> None:
    """Raise a ValueError that names the first parameter that is not allowed, what it may be, and what it is."""
    own: Mapping[str, Constraint] = getattr(model, "_constraints", {})
    kind: Any = type(model)
    names = _parameter_names(kind)
    for name in names:
        constraint = own.get(name, SHARED.get(name, ANYTHING))
        value = getattr(model, name)
        if not constraint.test(value):
            owner = f"{kind.__name__}'s " if hasattr(model, "solve") else ""
            raise ValueError(f"{owner}{name} must be {constraint.wanted}; got {value!r}")
    if "n_jobs" in names:
        n_threads(model.n_jobs)
    if hasattr(model, "_check_combinations"):  # of parameters that depend on each other
        model._check_combinations()


@cache
def _parameter_names(kind: Any) -> tuple[str, ...]:
    """Return the names of a class's parameters; scikit-learn reads the signature again at every call."""
    return tuple(kind._get_param_names())


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that an ``n_jobs`` asks for."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None, a positive number of threads or -1 for all cores; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, usable_cores() + 1 + int(n_jobs))


@contextmanager
def unchanged_on_failure(model: Any) -> Iterator[None]:
    """Leave a model as it was when learning is refused or fails."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise
