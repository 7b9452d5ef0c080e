"""Average precision of rankings of labels: the true labels of a row should come first.

Each row is a query and the labels are its objects; :mod:`~nearer.metrics.ranks` describes how ties are counted.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from nearer.metrics.ranks import Floats, as_scores, average_precision, evaluate, mean_over_queries


def label_ranking_map(scores: ArrayLike, Y: Any) -> float:
    """Return the mean average precision of each row's ranking of labels; rows without labels are left out.

    Parameters
    ----------
    scores : array-like, shape (n_rows, n_labels)
        Larger is more likely.
    Y : array-like or sparse matrix, shape (n_rows, n_labels)
        True labels are not zero.

    Returns
    -------
    float
        1 if all true labels come first.

    Notes
    -----
    The average precision is the mean, over the true labels of a row, of the precision at their rank, as in
    scikit-learn's ``average_precision_score``. Labels of equal score have the precision at the end of their group.

    Examples
    --------
    >>> label_ranking_map([[0.9, 0.7, 0.4], [0.9, 0.7, 0.6]], [[1, 0, 1], [0, 1, 0]]).__round__(4)
    0.6667
    """
    return mean_over_queries(label_average_precisions(scores, Y), "none of the {n} rows of Y has a label")


def label_average_precisions(scores: ArrayLike, Y: Any) -> Floats:
    """Return the average precision of each row's ranking of labels, NaN for rows without labels."""
    table = as_scores(scores)
    true: Any = csr_array(Y) if issparse(Y) else np.asarray(Y)
    if table.ndim != 2 or true.shape != table.shape:
        raise ValueError(
            "scores and Y must be tables of rows by labels of one shape: "
            f"scores have shape {table.shape}, Y has shape {true.shape}"
        )

    def relevant(block: slice) -> NDArray[np.bool_]:
        return np.asarray(true[block].toarray() if issparse(true) else true[block]) != 0

    return evaluate(table, relevant, average_precision, table.shape[1], axes=("row", "label"))
