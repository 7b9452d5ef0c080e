"""The ranker's parameters, checked before any work."""

from typing import Any

import numpy as np

from nearer.parameters import check, is_count, is_number
from nearer.ranking.learners import LEARNERS

FACTORED = ("loreta", "pa")  # solvers of a matrix of low rank
SOLVERS = (*LEARNERS, "popularity")
STARTS = ("zero", "identity", "gaussian")


def check_parameters(model: Any) -> None:
    """Raise a ValueError that names the first parameter that cannot be, what it may be, and what it is."""
    check(model, "solver", model.solver in SOLVERS, "one of " + ", ".join(map(repr, SOLVERS)))
    if model.solver in FACTORED:
        check(model, "rank", is_count(model.rank), f"a positive integer for solver={model.solver!r}")
    check(model, "rank", model.rank is None or is_count(model.rank), "a positive integer or None")
    init = model.init
    good = init in STARTS if isinstance(init, str) else isinstance(init, tuple | list) and len(init) == 2
    check(model, "init", good, "'zero', 'identity', 'gaussian' or a pair of arrays")
    check(model, "sampling", model.sampling in ("all", "warp"), "'all' or 'warp'")
    rate = model.learning_rate
    good = rate == "auto" if isinstance(rate, str) else is_number(rate) and rate > 0
    check(model, "learning_rate", good, "'auto' or a number > 0")
    check(model, "n_steps", model.n_steps is None or is_count(model.n_steps), "None or a positive integer")
    for name in ("fit_intercept", "early_stopping"):
        check(model, name, isinstance(getattr(model, name), bool | np.bool_), "True or False")
    share = model.validation_fraction
    check(model, "validation_fraction", is_number(share) and 0 < share < 1, "a number between 0 and 1")
    check(model, "callback", model.callback is None or callable(model.callback), "None or a function of a record")


def check_factors(model: Any, n_labels: int, d: int) -> None:
    """Raise a ValueError where the rank is too large, or factors to start from have another shape than the model.

    Parameters
    ----------
    model : estimator
        Of a solver of low rank.
    n_labels, d : int
        Labels, and features with the constant one.
    """
    most = min(n_labels, d)
    if model.rank > most:
        counted = ", the constant feature counted" if model.fit_intercept else ""
        raise ValueError(
            f"rank={model.rank} is more than a matrix of {n_labels} labels by {d} features can have{counted}: "
            f"give a rank of {most} at most, or solver='perceptron'"
        )
    if isinstance(model.init, str):
        return
    wanted = (n_labels, model.rank), (d, model.rank)
    shapes = tuple(np.shape(factor) for factor in model.init)
    if shapes != wanted:
        last = ", the constant one last" if model.fit_intercept else ""
        raise ValueError(
            f"init must be two arrays of shapes {wanted[0]}, labels by rank, and {wanted[1]}, features by rank"
            f"{last}; got {shapes[0]} and {shapes[1]}"
        )
