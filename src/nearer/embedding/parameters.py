"""The estimator's parameters, checked before any work."""

from typing import Any

import numpy as np

from nearer.parameters import check, is_count, is_number, n_threads


def check_parameters(model: Any, n_objects: int) -> None:
    """Raise a ValueError that names the first parameter that cannot be, what it may be, and what it is."""
    check(model, "n_components", is_count(model.n_components), "a positive integer")
    if model.n_components >= n_objects:
        raise ValueError(
            f"n_components={model.n_components} dimensions are too many for {n_objects} objects: "
            f"at most {n_objects - 1} make sense"
        )
    ridge = model.regularization
    good = ridge == "auto" if isinstance(ridge, str) else is_number(ridge) and ridge >= 0
    check(model, "regularization", good, "'auto' or a number >= 0")
    check(model, "max_epochs", is_count(model.max_epochs), "a positive integer")
    check(model, "tol", is_number(model.tol) and model.tol >= 0, "a number >= 0")
    fraction = model.validation_fraction
    check(model, "validation_fraction", is_number(fraction) and 0 < fraction < 1, "a number between 0 and 1")
    check(model, "n_init", is_count(model.n_init), "a positive integer")
    check(model, "escape", isinstance(model.escape, bool | np.bool_), "True or False")
    check(model, "dtype", model.dtype in ("float32", "float64", np.float32, np.float64), "'float32' or 'float64'")
    check(model, "callback", model.callback is None or callable(model.callback), "None or a function of a record")
    n_threads(model.n_jobs)
    if model.init is not None:
        start = np.asarray(model.init)
        if start.shape != (n_objects, model.n_components) or start.dtype.kind not in "fiu":
            raise ValueError(
                f"init must be numbers of shape ({n_objects}, {model.n_components}), a row for each object; "
                f"got shape {start.shape} of {start.dtype}"
            )
        if not np.isfinite(start).all():
            raise ValueError("init must be finite; it holds NaN or infinity")
