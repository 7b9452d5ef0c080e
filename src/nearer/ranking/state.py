"""The learned attributes of a ranker: a model as attributes, a model from attributes, and checks of a file."""

from typing import Any

import numpy as np

from nearer.parameters import is_count, is_number
from nearer.ranking.models import RankingModel

LEARNED = ("label_factors_", "feature_factors_", "intercept_factors_", "intercept_", "coef_", "theta_")


def store(ranker: Any, solver: Any, model: Any, rate: float) -> None:
    """Set the learned attributes, the constant feature apart from the others."""
    d = ranker.n_features_in_
    if solver.factored:
        A, B = model.parts()
        ranker.label_factors_, ranker.feature_factors_ = A, np.ascontiguousarray(B[:d])
        ranker.intercept_factors_ = B[d].copy() if len(B) > d else np.zeros(A.shape[1])
        ranker.intercept_ = A @ (ranker.constant_ * ranker.intercept_factors_)
    else:
        W = model.coefficients
        ranker.coef_, ranker.intercept_ = W[:d].T, ranker.constant_ * W[d] if len(W) > d else np.zeros(W.shape[1])
        if solver.stored_in == "theta_":
            ranker.theta_ = model.W
    ranker.learning_rate_ = rate


def resume(ranker: Any, solver: Any, seed: int) -> RankingModel:
    """Return the model that was learned, to continue from."""
    d, constant = ranker.n_features_in_, bool(ranker.fit_intercept)
    if solver.factored:
        parts = [ranker.label_factors_, _with_row(ranker.feature_factors_, ranker.intercept_factors_, constant)]
    elif solver.stored_in == "coef_":
        parts = [_with_row(ranker.coef_.T, ranker.intercept_ / ranker.constant_, constant)]
    else:
        last = ranker.theta_[d] if len(ranker.theta_) > d else np.zeros(ranker.theta_.shape[1])
        parts = [_with_row(ranker.theta_[:d], last, constant)]
    return solver.model(*parts, warp=ranker.negatives == "warp", seed=seed)


def check_resumable(ranker: Any, solver: Any) -> None:
    """Raise a ValueError if a ranker cannot continue from its attributes, as another solver learned them."""
    if stored_in(ranker) != solver.stored_in:
        raise ValueError(
            f"solver={ranker.solver!r} continues only from what it has learned itself, and another solver has "
            "learned this model: call fit"
        )
    if not solver.stored_in:
        return
    if not ranker.fit_intercept and ranker.intercept_.any():
        raise ValueError("fit_intercept=False cannot continue from a model with an intercept: call fit")
    if solver.factored and ranker.rank not in ("auto", ranker.label_factors_.shape[1]):
        raise ValueError(
            f"rank={ranker.rank} cannot continue from a model of rank {ranker.label_factors_.shape[1]}: call fit"
        )


def _with_row(table: np.ndarray, row: np.ndarray, add: bool) -> np.ndarray:
    return np.vstack([table, row]) if add else table


def stored_in(model: Any) -> str:
    """Return the attribute that holds the model; empty for counts alone."""
    return next((name for name in ("label_factors_", "theta_", "coef_") if hasattr(model, name)), "")


def check_attributes(model: Any) -> None:
    """Raise a ValueError if the attributes read from a file are incomplete or do not fit together."""
    kind = stored_in(model)  # not that of the solver that the model has now, which may have been set after the fit
    expected = {"intercept_", "coef_", kind} if kind in ("coef_", "theta_") else {"intercept_"}
    if kind == "label_factors_":
        expected = {"intercept_", "intercept_factors_", "feature_factors_", kind}
    there = [name for name in LEARNED if hasattr(model, name)]
    _check(set(there) == expected, f"its learned attributes are {', '.join(there) or 'none'}")
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
    """Raise a ValueError if a value read from a file is one that is never written."""
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
    _check(
        is_count(model.n_predicted_) and model.n_predicted_ <= n, f"n_predicted_ is {model.n_predicted_!r} of {n}"
    )
    _check(is_number(model.constant_) and model.constant_ > 0, f"constant_ is {model.constant_!r}")
    rate = model.learning_rate_
    good = is_number(rate) and rate > 0 if stored_in(model) else rate is None
    _check(good, f"learning_rate_ is {rate!r}, and the model is in {stored_in(model) or 'counts'}")
    history = isinstance(model.history_, list) and all(isinstance(record, dict) for record in model.history_)
    _check(history, "history_ is not a list of records")
    form, dtype = model.target_form_, model.target_dtype_
    _check(form in ("classes", "dense", "sparse"), f"target_form_ is {form!r}")
    good = dtype == "" if form == "classes" else bool(dtype) and np.dtype(dtype).kind in "biuf"
    _check(good, f"target_dtype_ is {dtype!r}")


def _check(good: bool, otherwise: str) -> None:
    if not good:
        raise ValueError(otherwise)
