"""What a label ranker has to beat: popularity, which ignores the features, and ridge regression on label columns."""

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.utils import check_array

from nearer.comparisons.random_state import as_generator
from nearer.metrics import label_ranking_map
from nearer.ranking.estimator import LabelRanker
from nearer.ranking.targets import read_target
from nearer.selection import Split, class_folds, compare_on, name_models

# Penalties, in units of the mean variance of a column times the number of rows: the units of the features do not matter.
PENALTIES = (1e-3, 0.01, 0.1, 1.0, 10.0)
DEFAULT_PENALTY = 0.1  # where nothing is judged
MAX_ENTRIES = 1 << 25  # of the dense tables of a ridge regression: features, labels, weights
MIN_ROWS = 10  # of fewer none are held out
UNSEEN = ".*labels are true of no row"  # a warning


def baseline_scores(
    X: Any, Y: Any, X_test: Any, Y_test: Any, sample_weight: Any = None, *, classes: Any = None
) -> dict[str, float]:
    """Return how well popularity and ridge regression rank the labels of test rows, by the score of `LabelRanker`.

    Parameters
    ----------
    X, Y : table of shape (n, d), and indicator matrix of shape (n, n_labels) or array of shape (n,)
        Features and labels to learn from, as for :meth:`nearer.LabelRanker.fit`.
    X_test, Y_test : table of shape (m, d), and labels of its rows
        Features and labels to judge by.
    sample_weight : array of shape (m,), optional
        Weights of the test rows.
    classes : array-like of shape (n_labels,), optional
        As for :meth:`nearer.LabelRanker.fit`.

    Returns
    -------
    dict
        By name: "popularity", and "ridge" where its dense tables of features, labels and weights have at most 33
        million entries each. A fifth of the rows chooses its penalty.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from nearer.ranking import baseline_scores
    >>> X, Y = make_multilabel_classification(300, n_features=30, n_classes=12, random_state=0)
    >>> scores = baseline_scores(X[::2], Y[::2], X[1::2], Y[1::2])
    >>> scores["ridge"] > scores["popularity"] + 0.1
    True
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", UNSEEN)
        popular = LabelRanker(solver="popularity").fit(X, Y, classes)
    scores = {"popularity": popular.score(X_test, Y_test, sample_weight)}
    table = check_array(X, accept_sparse="csr", dtype=np.float64)
    n, d = table.shape
    n_labels = len(popular.classes_)
    if max(n * d, n * n_labels, d * n_labels) <= MAX_ENTRIES:
        target = read_target(popular, Y, classes, n).indicator.toarray()
        model = _fit_ridge(table.toarray() if issparse(table) else table, target)
        ranker = copy(popular)  # scored as every ranker is, with other coefficients
        ranker.coef_, ranker.intercept_ = model.coef_, model.intercept_
        scores["ridge"] = ranker.score(X_test, Y_test, sample_weight)
    return scores


def _fit_ridge(table: np.ndarray, target: np.ndarray) -> Ridge:
    """Return a ridge regression on label columns, its penalty chosen by the rankings of a fifth of the rows."""
    inside, held_out = class_folds(np.zeros(len(table)), np.random.default_rng(0))[0]
    unit = float(table.var(axis=0).mean()) or 1.0

    def fit(penalty: float, rows: Any) -> Ridge:
        return Ridge(penalty * unit * len(target[rows])).fit(table[rows], target[rows])

    def judge(penalty: float) -> float:
        return label_ranking_map(fit(penalty, inside).predict(table[held_out]), target[held_out])

    can_judge = len(table) >= MIN_ROWS and target[held_out].any()
    return fit(max(PENALTIES, key=judge) if can_judge else DEFAULT_PENALTY, slice(None))


def compare(
    models: Mapping[str, Any] | Sequence[Any], X: Any, Y: Any, *, classes: Any = None, random_state: Any = None
) -> list[dict[str, Any]]:
    """Return how well label rankers and simple baselines rank the labels of held-out rows.

    Parameters
    ----------
    models : dict or sequence of estimators
        Label rankers, by a name of your own or as they are. They are not changed.
    X : table of shape (n, d)
        Features.
    Y : indicator matrix of shape (n, n_labels), or array of shape (n,)
        Labels, as for :meth:`nearer.LabelRanker.fit`.
    classes : array-like of shape (n_labels,), optional
        As for :meth:`nearer.LabelRanker.fit`.
    random_state : int, Generator, RandomState or None
        Draws the folds: five of up to 2,000 rows, one of more.

    Returns
    -------
    list of dict
        One per model and baseline (see :func:`baseline_scores`), the best first: name, score (mean average precision; of
        one class per row the accuracy), standard_error (of the mean over folds; NaN of one), seconds of a fit (0 for
        baselines).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from nearer import LabelRanker
    >>> from nearer.ranking import compare
    >>> X, Y = make_multilabel_classification(300, n_features=30, n_classes=12, random_state=0)
    >>> rows = compare([LabelRanker(random_state=0)], X, Y, random_state=0)
    >>> sorted(row["name"] for row in rows)
    ['LabelRanker', 'popularity', 'ridge']
    >>> rows[-1]["name"]
    'popularity'
    """
    named = name_models(models)
    table = check_array(X, accept_sparse="csr", dtype=np.float64)
    target = read_target(LabelRanker(), Y, classes, table.shape[0])
    one_each = target.form == "classes"
    if table.shape[0] < MIN_ROWS:
        raise ValueError(f"{table.shape[0]} rows are too few to hold some out; at least {MIN_ROWS} are wanted")
    labels = target.classes[target.indicator.indices] if one_each else target.indicator
    strata = labels if one_each else np.zeros(table.shape[0])
    splits = [
        Split(table[inside], labels[inside], table[held_out], labels[held_out])
        for inside, held_out in class_folds(strata, as_generator(random_state))
    ]

    def fit(model: Any, split: Split) -> Any:
        return clone(model).fit(split.X, split.y, classes=target.classes)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", UNSEEN)  # of a fold; a label may be rare
        return compare_on(splits, named, fit, partial(baseline_scores, classes=target.classes))
