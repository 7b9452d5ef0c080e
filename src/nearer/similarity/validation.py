"""Held-out data that similarities of features are judged by: objects of known classes, new classes, or answers.

With labels, a fold holds out some objects of each class, and each of them is a query among the others; or all objects
of some classes, which are queries among these and some objects of the other classes. With comparisons, it holds out
some answers.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from nearer.comparisons import Comparisons
from nearer.metrics import average_precisions
from nearer.parameters import Constraint, one_of
from nearer.selection import FEW_CLASSES, answer_folds, class_folds, unseen_class_folds
from nearer.similarity.inputs import MIN_TRIPLETS, default_n_triplets
from nearer.similarity.neighbors import METRICS
from nearer.similarity.triplets import row_products
from nearer.simulate import comparisons_from_labels

SMALL_CLASSES = 5  # objects per class on average below which new objects will be of new classes as a rule
VALIDATION: Constraint = one_of("auto", "objects", "classes")


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, with their classes or triplets of them; and rows to judge by, with the same."""

    table: Any
    labels: np.ndarray | None
    triplets: Comparisons
    held_out: Any
    held_out_labels: np.ndarray | None
    held_out_triplets: Comparisons | None = None
    is_query: np.ndarray | None = None  # which of the held-out objects are queries; None: all
    weights: np.ndarray | None = None  # of the rows to learn from
    held_out_weights: np.ndarray | None = None

    @property
    def classes(self) -> np.ndarray:
        """The classes of the rows to learn from, numbered from 0."""
        assert self.labels is not None
        return np.unique(self.labels, return_inverse=True)[1]

    @property
    def query_classes(self) -> np.ndarray:
        """The classes of the held-out objects that have a loss."""
        assert self.held_out_labels is not None
        _, which, sizes = np.unique(self.held_out_labels, return_inverse=True, return_counts=True)
        has_loss = sizes[which] > 1
        return self.held_out_labels[has_loss if self.is_query is None else has_loss & self.is_query]

    @property
    def judges_new_classes(self) -> bool:
        """Whether the queries are of classes that are not learned from."""
        if self.held_out_labels is None or self.labels is None:
            return False
        queries = self.held_out_labels if self.is_query is None else self.held_out_labels[self.is_query]
        return not np.isin(queries, self.labels).any()

    @property
    def n_classes(self) -> int:
        """The number of classes, learned from or held out."""
        if self.labels is None or self.held_out_labels is None:
            return 0
        return len(np.union1d(self.labels, self.held_out_labels))

    def losses_of(self, points: Any, metric: str = "inner product") -> np.ndarray:
        """Return the losses of the vectors of the held-out rows, compared by a metric.

        These are one minus the average precision of each held-out object, or 1 for each answer not satisfied (which
        inner products alone judge).
        """
        if self.held_out_labels is not None:
            return retrieval_losses(points, self.held_out_labels, self.is_query, self.held_out_weights, metric)
        assert self.held_out_triplets is not None
        rows, weights = self.held_out_triplets.rows, self.held_out_triplets.weights
        a, b, c, d = rows.T if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]].T
        shares = np.ones(len(rows)) if weights is None else weights / weights.mean()
        return shares * ~(row_products(points[a], points[b]) > row_products(points[c], points[d]))


def retrieval_losses(
    points: Any,
    labels: np.ndarray,
    is_query: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    metric: str = "inner product",
) -> np.ndarray:
    """Return one minus the average precision of each row as a query among the others.

    With weights each is multiplied by that of its row, in units of their mean.
    """
    precisions = query_precisions(points, labels, metric)
    counted = ~np.isnan(precisions) if is_query is None else ~np.isnan(precisions) & is_query
    losses = 1.0 - precisions[counted]
    return losses if weights is None else losses * (weights[counted] / weights[counted].mean())


def query_precisions(points: Any, labels: np.ndarray, metric: str = "inner product") -> np.ndarray:
    """Return the average precision of each row as a query among the others, by a metric; NaN where alone."""
    queries, items = METRICS[metric].ranking(points, points)
    products = queries @ items.T
    return average_precisions(products.toarray() if issparse(products) else np.asarray(products), labels)


def make_folds(
    table: Any,
    labels: np.ndarray | None,
    triplets: Comparisons | None,
    random: np.random.Generator,
    *,
    validation: str = "auto",
    n_triplets: int | None = None,
    sampling: str = "instances",
    weights: np.ndarray | None = None,
) -> list[Fold]:
    """Return folds of objects, of classes or of answers; none where nothing can be judged."""
    if labels is None:
        assert triplets is not None
        parts = answer_folds(triplets, random)
        return [Fold(table, None, train, table, None, held_out) for train, held_out in parts]
    by_classes = judges_classes(labels, validation)
    folds = []
    for inside, held_out in unseen_class_folds(labels, random) if by_classes else class_folds(labels, random):
        known, new = labels[inside], labels[held_out]
        is_query = ~np.isin(new, known) if by_classes else np.ones(len(new), dtype=bool)
        sizes = np.unique(known, return_counts=True)[1]
        has_query = len(np.unique(new[is_query])) < is_query.sum()  # with another object of its class
        if not has_query or len(np.unique(new)) < 2 or len(sizes) < 2 or sizes.max() < 2:
            continue
        n = n_triplets or default_n_triplets(len(known), at_least=MIN_TRIPLETS)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* classes have one member only")  # the fit warns of the whole
            of = (None, None) if weights is None else (weights[inside], weights[held_out])
            drawn = comparisons_from_labels(known, n, random, sampling=sampling, sample_weight=of[0])
        judged = table[held_out]
        folds.append(Fold(table[inside], known, drawn, judged, new, None, is_query, *of))
    return folds


def clearly_better(losses: np.ndarray, others: np.ndarray, classes: np.ndarray | None) -> bool:
    """Whether losses are smaller than others by more than a standard error, over queries or over new ``classes``.

    Of fewer than six classes, each is looked for among objects of the others, which are known: two standard errors.
    """
    gains, least = others - losses, 1.0
    if classes is not None:
        gains = np.array([gains[classes == label].mean() for label in np.unique(classes)])
        least = 1.0 if len(gains) >= FEW_CLASSES else 2.0
    return len(gains) > 1 and bool(gains.mean() > least * gains.std(ddof=1) / np.sqrt(len(gains)))


def judges_classes(labels: np.ndarray, validation: str) -> bool:
    """Whether whole classes are held out: where asked for, or where most have few objects.

    Of two classes nothing can be held out and learned from: there are no folds then.
    """
    n_classes = len(np.unique(labels))
    few = validation == "auto" and n_classes >= 3 and len(labels) < SMALL_CLASSES * n_classes
    return few or validation == "classes"
