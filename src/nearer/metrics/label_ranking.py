"""How well labels are ranked: those that are true of a row should come first.

Each row is a query, and the labels are its objects; how equal scores count is told in
:mod:`~nearer.metrics.ranks`.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from nearer.comparisons.rows import blocks
from nearer.metrics.ranks import BLOCK, Floats, as_scores, averaged, standings


def label_ranking_map(scores: ArrayLike, Y: Any) -> float:
    """Mean over rows of the average precision of their ranking of labels; rows without labels are left out.

    Parameters
    ----------
    scores : array-like, shape (n_rows, n_labels)
        Larger is more likely.
    Y : array-like or sparse matrix, shape (n_rows, n_labels)
        Which labels are true: what is not zero.

    Returns
    -------
    float
        1 where all true labels come first.

    Notes
    -----
    It is the mean, over the true labels of a row, of the precision at their place: scikit-learn's
    ``average_precision_score``, row by row. Labels of equal score enter the ranking at once, each with the
    precision at the end of its group.

    Examples
    --------
    >>> label_ranking_map([[0.9, 0.7, 0.4], [0.9, 0.7, 0.6]], [[1, 0, 1], [0, 1, 0]]).__round__(4)
    0.6667
    """
    found = label_average_precisions(scores, Y)
    counted = found[~np.isnan(found)]
    if len(counted) == 0:
        raise ValueError(f"none of the {len(found)} rows of Y has a label: there is nothing to rank")
    return float(counted.mean())


def label_average_precisions(scores: ArrayLike, Y: Any) -> Floats:
    """Return the average precision of each row's ranking of labels, NaN where a row has none.

    Parameters
    ----------
    scores, Y
        As for :func:`label_ranking_map`.

    Examples
    --------
    >>> label_average_precisions([[0.9, 0.7, 0.4], [0.9, 0.7, 0.6]], [[1, 0, 1], [0, 0, 0]])
    array([0.83333333,        nan])
    """
    table = as_scores(scores)
    true: Any = csr_array(Y) if issparse(Y) else np.asarray(Y)
    if table.ndim != 2 or true.shape != table.shape:
        raise ValueError(
            "scores and Y must be tables of rows by labels of one shape: "
            f"scores have shape {table.shape}, Y has shape {true.shape}"
        )
    n_rows, n_labels = table.shape
    found = np.empty(n_rows)
    for block in blocks(n_rows, max(1, BLOCK // max(1, n_labels))):
        part, relevant = table[block], true[block]
        if part.dtype.kind == "f" and np.isnan(part).any():
            row, label = np.argwhere(np.isnan(part))[0]
            raise ValueError(f"the score of row {block.start + row} and label {label} is NaN")
        relevant = np.asarray(relevant.toarray() if issparse(true) else relevant) != 0
        with np.errstate(invalid="ignore"):  # 0 / 0 where a row has no label
            found[block] = averaged(standings(part, relevant), n_labels)
    return found
