"""What a learner has learned, as attributes of the estimator, and a learner again from these."""

from typing import Any

import numpy as np

from nearer.parameters import is_count, is_number
from nearer.ranking.learners import LEARNERS, Learner
from nearer.ranking.parameters import FACTORED

LEARNED = ("label_factors_", "feature_factors_", "intercept_factors_", "intercept_", "coef_", "theta_")
KINDS = {  # which array the model of a solver is kept in
    "loreta": "label_factors_",
    "pa": "label_factors_",
    "perceptron": "coef_",
    "group-perceptron": "theta_",
    "popularity": "",
}


def keep(model: Any, learner: Any, rate: float) -> None:
    """Set what was learned, the constant feature apart from the others."""
    d = model.n_features_in_
    if model.solver in FACTORED:
        A, B = learner.parts()
        model.label_factors_, model.feature_factors_ = A, np.ascontiguousarray(B[:d])
        model.intercept_factors_ = B[d].copy() if len(B) > d else np.zeros(A.shape[1])
        model.intercept_ = A @ (model.constant_ * model.intercept_factors_)
    else:
        W = learner.coefficients
        model.coef_, model.intercept_ = W[:d].T, model.constant_ * W[d] if len(W) > d else np.zeros(W.shape[1])
        if model.solver == "group-perceptron":
            model.theta_ = learner.W
    model.learning_rate_ = rate


def resumed(model: Any, seed: int) -> Learner:
    """Return a learner that goes on from what was learned."""
    d, constant = model.n_features_in_, bool(model.fit_intercept)
    if model.solver in FACTORED:
        parts = [model.label_factors_, _with_row(model.feature_factors_, model.intercept_factors_, constant)]
    elif model.solver == "perceptron":
        parts = [_with_row(model.coef_.T, model.intercept_ / model.constant_, constant)]
    else:
        last = model.theta_[d] if len(model.theta_) > d else np.zeros(model.theta_.shape[1])
        parts = [_with_row(model.theta_[:d], last, constant)]
    return LEARNERS[model.solver](*parts, warp=model.sampling == "warp", seed=seed)


def check_goes_on(model: Any) -> None:
    """Raise a ValueError where a model cannot go on from what was learned, as that was another's."""
    if kind_of(model) != KINDS[model.solver]:
        raise ValueError(
            f"solver={model.solver!r} goes on only from what it has learned itself, and another has learned this "
            "model: fit learns it anew"
        )
    if model.solver == "popularity":
        return
    if not model.fit_intercept and model.intercept_.any():
        raise ValueError("fit_intercept=False cannot go on from a model with an intercept: fit learns it anew")
    if model.solver in FACTORED and model.rank != model.label_factors_.shape[1]:
        raise ValueError(
            f"rank={model.rank} cannot go on from a model of rank {model.label_factors_.shape[1]}: fit learns it "
            "anew"
        )


def _with_row(table: np.ndarray, row: np.ndarray, wanted: bool) -> np.ndarray:
    """Return the table with one more row, where that is wanted."""
    return np.vstack([table, row]) if wanted else table


def kind_of(model: Any) -> str:
    """Return which array the model is kept in; for counts alone none."""
    return next((name for name in ("label_factors_", "theta_", "coef_") if hasattr(model, name)), "")


def check_kept(model: Any) -> None:
    """Raise a ValueError where what was read from a file is not all there, or does not fit together.

    It need not be what the solver that the model has now would have learned: that may have been set afterwards.
    """
    kind = kind_of(model)
    wanted = {"intercept_", "coef_", kind} if kind in ("coef_", "theta_") else {"intercept_"}
    if kind == "label_factors_":
        wanted = {"intercept_", "intercept_factors_", "feature_factors_", kind}
    there = [name for name in LEARNED if hasattr(model, name)]
    _check(set(there) == wanted, f"of what was learned there is {', '.join(there) or 'nothing'}")
    _check_values(model)
    n, d = len(model.classes_), model.n_features_in_
    rank = max(1, model.label_factors_.size // n) if kind == "label_factors_" else 0
    shapes: dict[str, list[tuple[int, ...]]] = {
        "intercept_": [(n,)],
        "label_factors_": [(n, rank)],
        "feature_factors_": [(d, rank)],
        "intercept_factors_": [(rank,)],
        "coef_": [(n, d)],
        "theta_": [(d, n), (d + 1, n)],
    }
    for name in there:
        array = getattr(model, name)
        fits = array.shape in shapes[name] and array.dtype == np.float64
        _check(fits, f"{name} of shape {array.shape} and {array.dtype} does not fit {n} labels and {d} features")


def _check_values(model: Any) -> None:
    """Raise a ValueError where a number or a word of a model that was read is none that is ever written."""
    counts, n = model.label_counts_, len(model.classes_)
    _check(is_count(model.n_features_in_), f"n_features_in_ is {model.n_features_in_!r}")
    columns = getattr(model, "feature_names_in_", None)
    fits = columns is None or columns.shape == (model.n_features_in_,)
    _check(fits, f"feature_names_in_ are not the names of {model.n_features_in_} features")
    named = n >= 2 and model.classes_.ndim == 1 and len(np.unique(model.classes_)) == n
    _check(named, f"classes_ of shape {model.classes_.shape} are not the names of two labels or more")
    counted = counts.shape == (n,) and counts.dtype.kind == "i" and counts.min() >= 0
    _check(counted, f"label_counts_ are not counts of {n} labels")
    for name in ("n_steps_", "n_rows_", "n_skipped_"):
        value = getattr(model, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        _check(whole and value >= 0, f"{name} is {value!r}")
    _check(is_count(model.n_labels_) and model.n_labels_ <= n, f"n_labels_ is {model.n_labels_!r} of {n}")
    _check(is_number(model.constant_) and model.constant_ > 0, f"constant_ is {model.constant_!r}")
    rate = model.learning_rate_
    good = is_number(rate) and rate > 0 if kind_of(model) else rate is None
    _check(good, f"learning_rate_ is {rate!r}, and what was learned is in {kind_of(model) or 'counts'}")
    history = isinstance(model.history_, list) and all(isinstance(record, dict) for record in model.history_)
    _check(history, "history_ is no list of records")
    form, dtype = model.target_form_, model.target_dtype_
    _check(form in ("classes", "dense", "sparse"), f"target_form_ is {form!r}")
    good = dtype == "" if form == "classes" else bool(dtype) and np.dtype(dtype).kind in "biuf"
    _check(good, f"target_dtype_ is {dtype!r}")


def _check(good: bool, otherwise: str) -> None:
    if not good:
        raise ValueError(otherwise)
