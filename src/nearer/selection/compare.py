"""Learners beside simple baselines: each is fitted to the same parts of the data and judged by the rest."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Split(NamedTuple):
    """Rows to learn from with their labels, rows to judge by with theirs, and how much each of these counts."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    sample_weight: np.ndarray | None = None


def name_models(models: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return models by their names, or by that of their class."""
    if hasattr(models, "fit"):
        raise ValueError(
            "models must be a dict or a sequence of estimators; got one estimator: put it into a list"
        )
    named = dict(models) if isinstance(models, Mapping) else {type(model).__name__: model for model in models}
    if len(named) < len(models):
        raise ValueError("two models are of one kind: give a dict with a name for each")
    return named


def compare_on(
    splits: Sequence[Split],
    models: Mapping[str, Any],
    fit: Callable[[Any, Split], Any],
    baseline_scores: Callable[..., Mapping[str, float]],
) -> list[dict[str, Any]]:
    """Return one record per model and baseline, the best first.

    Parameters
    ----------
    splits : sequence of Split
        What to learn from and what to judge by.
    models : mapping
        Estimators by name.
    fit : callable
        ``fit(model, split)`` returns a fitted copy.
    baseline_scores : callable
        Takes the fields of a split, and returns scores by name.
    """
    scores: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for split in splits:
        for name, model in models.items():
            begun = time.perf_counter()
            fitted = fit(model, split)
            seconds.setdefault(name, []).append(time.perf_counter() - begun)
            score = fitted.score(split.X_test, split.y_test, sample_weight=split.sample_weight)
            scores.setdefault(name, []).append(float(score))
        for name, score in baseline_scores(*split).items():
            scores.setdefault(name, []).append(score)
    rows = [
        {
            "name": name,
            "score": float(np.mean(values)),
            "standard_error": float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan,
            "seconds": float(np.mean(seconds[name])) if name in seconds else 0.0,
        }
        for name, values in scores.items()
    ]
    return sorted(rows, key=lambda row: -row["score"])
