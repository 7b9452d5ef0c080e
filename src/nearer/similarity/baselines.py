"""What a learned similarity has to beat: the plain cosine, the Euclidean distance, and the cosine after LDA.

`compare` fits learners to parts of labeled features and judges them and the baselines by the objects held out, of the
same classes or of new ones.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from nearer.comparisons.random_state import as_generator
from nearer.metrics import retrieval_map_scorer
from nearer.selection import Split, compare_on, name_models
from nearer.similarity.validation import VALIDATION, make_folds, query_precisions

LDA_AXES = 200  # leading axes of a sparse table that LDA is given


def baseline_scores(X: Any, y: Any, X_test: Any, y_test: Any, sample_weight: Any = None) -> dict[str, float]:
    """Return the mean average precision of simple similarities, with each test row as a query among the others.

    Parameters
    ----------
    X, y : table of shape (n, d) and array of shape (n,)
        Features and class labels that LDA learns from.
    X_test, y_test : table of shape (m, d) and array of shape (m,)
        Features and class labels to judge by.
    sample_weight : array of shape (m,), optional
        Weights of the test rows as queries.

    Returns
    -------
    dict
        By name: "Euclidean", "cosine" and "LDA" (the cosine of the discriminant components; of sparse features, of
        those of 200 leading axes).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from nearer.similarity import baseline_scores
    >>> X, y = load_wine(return_X_y=True)
    >>> scores = baseline_scores(X[::2], y[::2], X[1::2], y[1::2])
    >>> max(scores, key=scores.get)
    'LDA'
    """
    scores = {"Euclidean": float(retrieval_map_scorer("passthrough", X_test, y_test, sample_weight))}
    scores["cosine"] = _cosine_score(X_test, y_test, sample_weight)
    table, test = X, X_test
    if issparse(X):
        axes = TruncatedSVD(max(1, min(LDA_AXES, min(X.shape) - 1)), random_state=0).fit(X)
        table, test = axes.transform(X), axes.transform(X_test)
    if 1 < len(np.unique(y)) < len(y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of collinear columns
            points = LinearDiscriminantAnalysis().fit(table, y).transform(test)
        scores["LDA"] = _cosine_score(points, y_test, sample_weight)
    return scores


def _cosine_score(table: Any, labels: Any, sample_weight: Any) -> float:
    weights = None if sample_weight is None else np.asarray(sample_weight)
    precisions = query_precisions(normalize(table), np.asarray(labels))
    known = ~np.isnan(precisions)
    return float(np.average(precisions[known], weights=None if weights is None else weights[known]))


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    validation: str = "objects",
    random_state: Any = None,
) -> list[dict[str, Any]]:
    """Return how well learners and simple baselines retrieve held-out objects of the same class.

    Parameters
    ----------
    models : dict or sequence of estimators
        Similarities or distances that learn from labels, by a name of your own or as they are. They are not changed.
    X : table of shape (n, d)
        Features.
    y : array of shape (n,)
        Class labels.
    validation : {"objects", "classes"}, default="objects"
        Whether some objects of each class are held out, or all objects of some classes. The latter says how well
        classes are retrieved that were not in y.
    random_state : int, Generator, RandomState or None
        Draws the folds: five of up to 2,000 objects, one of more; of classes three, or one per class of fewer than
        six.

    Returns
    -------
    list of dict
        One per model and baseline, the best first: name, score (mean average precision), standard_error (of the mean
        over folds; NaN of one), seconds of a fit (0 for baselines, which take next to none).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from nearer import BilinearSimilarity
    >>> from nearer.similarity import compare
    >>> X, y = load_wine(return_X_y=True)
    >>> rows = compare([BilinearSimilarity(random_state=0)], X, y, random_state=0)
    >>> rows[0]["name"]
    'BilinearSimilarity'
    >>> sorted(row["name"] for row in rows[1:])
    ['Euclidean', 'LDA', 'cosine']
    """
    if not VALIDATION.test(validation):
        raise ValueError(f"validation must be {VALIDATION.wanted}; got {validation!r}")
    table, labels = check_array(X, accept_sparse="csr", dtype=np.float64), column_or_1d(y)
    check_consistent_length(table, labels)
    named = name_models(models)
    folds = make_folds(table, labels, None, as_generator(random_state), validation=validation)
    if not folds:
        needed = "; three classes are needed to hold one out" if validation == "classes" else ""
        raise ValueError(
            f"{len(labels)} objects of {len(np.unique(labels))} classes are too few to hold some out{needed}"
        )
    splits = [Split(f.table, f.labels, f.held_out, f.held_out_labels, f.is_query) for f in folds]
    return compare_on(splits, named, lambda model, split: clone(model).fit(split.X, split.y), baseline_scores)
