"""What a learner has learned, as attributes of the estimator, and a learner again from these."""

from typing import Any

import numpy as np

from nearer.ranking.learners import LEARNERS, Learner
from nearer.ranking.parameters import FACTORED

LEARNED = ("label_factors_", "feature_factors_", "intercept_factors_", "intercept_", "coef_", "theta_")


def keep(model: Any, learner: Any, rate: float) -> None:
    """Set what was learned, the constant feature apart from the others."""
    d = model.n_features_in_
    if model.solver in FACTORED:
        A, B = learner.parts()
        model.label_factors_, model.feature_factors_ = A, np.ascontiguousarray(B[:d])
        model.intercept_factors_ = B[d].copy() if len(B) > d else np.zeros(A.shape[1])
        model.intercept_ = A @ model.intercept_factors_
    else:
        W = learner.coefficients
        model.coef_, model.intercept_ = W[:d].T, W[d].copy() if len(W) > d else np.zeros(W.shape[1])
        if model.solver == "group-perceptron":
            model.theta_ = learner.W
    model.learning_rate_ = rate


def resumed(model: Any, seed: int) -> Learner:
    """Return a learner that goes on from what was learned; ValueError where that was another's."""
    d, constant = model.n_features_in_, bool(model.fit_intercept)
    mine = {"perceptron": "coef_", "group-perceptron": "theta_"}.get(model.solver, "label_factors_")
    if not hasattr(model, mine) or (mine == "coef_" and hasattr(model, "theta_")):
        raise ValueError(
            f"solver={model.solver!r} goes on only from what it has learned itself, and another has learned this "
            "model: fit learns it anew"
        )
    if not constant and model.intercept_.any():
        raise ValueError("fit_intercept=False cannot go on from a model with an intercept: fit learns it anew")
    if model.solver in FACTORED and model.rank != model.label_factors_.shape[1]:
        raise ValueError(
            f"rank={model.rank} cannot go on from a model of rank {model.label_factors_.shape[1]}: fit learns it "
            "anew"
        )
    if model.solver in FACTORED:
        parts = [model.label_factors_, _with_row(model.feature_factors_, model.intercept_factors_, constant)]
    elif model.solver == "perceptron":
        parts = [_with_row(model.coef_.T, model.intercept_, constant)]
    else:
        last = model.theta_[d] if len(model.theta_) > d else np.zeros(model.theta_.shape[1])
        parts = [_with_row(model.theta_[:d], last, constant)]
    return LEARNERS[model.solver](*parts, warp=model.sampling == "warp", seed=seed)


def _with_row(table: np.ndarray, row: np.ndarray, wanted: bool) -> np.ndarray:
    """Return the table with one more row, where that is wanted."""
    return np.vstack([table, row]) if wanted else table


def check_shapes(model: Any) -> None:
    """Raise a ValueError where arrays that were read from a file do not fit together."""
    n, d = len(model.classes_), model.n_features_in_
    rank = model.label_factors_.shape[-1] if hasattr(model, "label_factors_") else 0
    wanted: dict[str, list[tuple[int, ...]]] = {
        "label_counts_": [(n,)],
        "intercept_": [(n,)],
        "label_factors_": [(n, rank)],
        "feature_factors_": [(d, rank)],
        "intercept_factors_": [(rank,)],
        "coef_": [(n, d)],
        "theta_": [(d, n), (d + 1, n)],
    }
    for name, shapes in wanted.items():
        if hasattr(model, name) and getattr(model, name).shape not in shapes:
            shape = getattr(model, name).shape
            raise ValueError(f"{name} of shape {shape} does not fit {n} labels and {d} features")
