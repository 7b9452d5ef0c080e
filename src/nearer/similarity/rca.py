"""Relevant components analysis (Bar-Hillel, Hertz, Shental & Weinshall, JMLR 2005).

A chunk is some rows that are known to belong together. Variation within chunks does not matter, so the distance is
measured in units of it: LᵀL = C⁻¹, C being the covariance of rows around the means of their chunks.
"""

import warnings
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator

from nearer.comparisons.random_state import child_generator
from nearer.features.validation import positive_weights, validate_features
from nearer.models import SavedModel
from nearer.parameters import (
    COUNT,
    NONE,
    Constraint,
    check_parameters,
    either,
    is_count,
    parametrized,
    unchanged_on_failure,
)
from nearer.psd import fix_signs
from nearer.similarity.comparer import FeatureComparer
from nearer.similarity.inputs import check_n_components, needs_labels, validate_labelled, weights_of_labelled
from nearer.similarity.row_space import center_groups, second_moments, varying_directions

SINGULAR = 1e-10  # share of its variance that a direction has within chunks, below which it has none
SHRINKAGE = 1e-3  # share of the total covariance that is then added


@parametrized
class RCA(FeatureComparer, SavedModel, BaseEstimator):
    """Relevant components analysis: a distance in units of the variation among rows that belong together.

    Whitens with the covariance of rows around the means of their chunks. It takes no iterations, and no negative
    examples: only which rows belong together.

    Parameters
    ----------
    n_components : int, optional
        Rows of the projection, at most d; by default d. Fewer keep the directions in which rows vary most relative
        to their chunks (Fisher's criterion).
    n_chunks : int, optional
        With labels: draw this many chunks, each of members of one class. By default every class is a chunk.
    chunk_size : int, default=2
        Members of a drawn chunk.
    random_state : int, Generator, RandomState or None
        Draws chunks.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        L. A column that is constant has weight 0.
    n_features_in_ : int
        Number of columns.

    References
    ----------
    Bar-Hillel, Hertz, Shental and Weinshall, "Learning a Mahalanobis metric from equivalence constraints", 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from nearer.similarity import RCA
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = KNeighborsClassifier(3).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    >>> model = RCA().fit(X[::2], y[::2])
    >>> learned = KNeighborsClassifier(3).fit(model.transform(X[::2]), y[::2])
    >>> learned.score(model.transform(X[1::2]), y[1::2]) > plain + 0.2
    True
    """

    _learned_values = ("n_features_in_", "threshold_")
    _constraints: ClassVar = {
        "n_components": either(NONE, COUNT),
        "n_chunks": either(NONE, COUNT),
        "chunk_size": Constraint(lambda value: is_count(value) and value > 1, "an integer > 1"),
    }

    n_components: int | None = None
    _: KW_ONLY
    n_chunks: int | None = None
    chunk_size: int = 2
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, chunks: Any = None, sample_weight: Any = None) -> Self:
        """Learn the distance.

        Parameters
        ----------
        X : array of shape (n, d)
            Features, dense.
        y : array of shape (n,), optional
            Class labels. Rows with a negative label are unlabeled and left out.
        chunks : array of int of shape (n,), optional
            The number of each row's chunk, -1 for none. Then y is ignored.
        sample_weight : array of shape (n,), optional
            How much each row counts in means and covariances: an integer is as many rows, 0 none.

        Returns
        -------
        self
        """
        check_parameters(self)
        with unchanged_on_failure(self):
            if needs_labels(self, y, chunks=chunks):
                table, labels = validate_labelled(self, X, y)
                counted, weights = positive_weights(weights_of_labelled(sample_weight, y), len(table))
                table, labels = table[counted], labels[counted]
                classes, numbers = np.unique(labels, return_inverse=True)
                if len(classes) == 1:
                    warnings.warn(
                        "y has a single class: nothing is learned from it, and the distance is that of features "
                        "whitened by their covariance",
                        stacklevel=2,
                    )
                if self.n_chunks is not None:
                    random = child_generator(self.random_state)
                    numbers = draw_chunks(numbers, self.n_chunks, self.chunk_size, random)
            else:
                table = validate_features(self, X, reset=True)
                numbers = _check_chunks(chunks, len(table))
                counted, weights = positive_weights(sample_weight, len(table))
                table, numbers = table[counted], numbers[counted]
            check_n_components(self, table)
            self.components_ = fix_signs(whitening(table, numbers, self.n_components or table.shape[1], weights))
        return self


def whitening(
    X: np.ndarray, chunks: np.ndarray, n_components: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return L, in whose points the covariance within chunks is the identity; with fewer rows, the best by Fisher."""
    spread = np.ptp(X, axis=0)
    spread[spread == 0.0] = 1.0
    rows = (X - np.average(X, axis=0, weights=weights)) / spread  # columns in equal units, for precision
    varying = varying_directions(rows)
    rows = rows @ varying
    within = covariance_within(rows, chunks, weights)
    total = second_moments(rows, weights)
    shares, directions = eigh(within, total)
    if shares[0] < SINGULAR:
        warnings.warn(
            f"rows of one chunk do not differ in {int((shares < SINGULAR).sum())} of {len(shares)} directions in "
            f"which X varies; {SHRINKAGE:g} of the covariance of all rows is added, so that no distance is "
            "infinite. More or larger chunks, or fewer features, would settle it",
            stacklevel=3,
        )
        within = (1.0 - SHRINKAGE) * within + SHRINKAGE * total
        shares = (1.0 - SHRINKAGE) * shares + SHRINKAGE
    if n_components == X.shape[1]:
        values, vectors = eigh(within)
        axes = varying @ vectors
        return (axes / np.sqrt(values)) @ axes.T / spread
    inside = chunks >= 0
    own = None if weights is None else weights[inside]
    among = second_moments(rows[inside] - np.average(rows[inside], axis=0, weights=own), own)
    if eigh(among, total, eigvals_only=True)[0] > SINGULAR:  # Fisher's criterion is about the rows of chunks
        shares, directions = eigh(within, among)
    # eigh made the total covariance of the directions the identity, and their share of it within chunks diagonal.
    components = (directions / np.sqrt(shares)).T[:n_components] @ varying.T / spread
    return np.vstack(
        [components, np.zeros((n_components - len(components), X.shape[1]))]
    )  # X does not vary further


def covariance_within(rows: np.ndarray, chunks: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the covariance of rows around the means of their chunks; rows without a chunk are left out."""
    inside = chunks >= 0
    n_chunks, largest = chunks.max(initial=-1) + 1, np.bincount(chunks[inside]).max(initial=0)
    if largest < 2:
        raise ValueError(f"of {n_chunks} chunks none has two members: no two rows belong together")
    weights = None if weights is None else weights[inside]
    return second_moments(center_groups(rows[inside], chunks[inside], weights), weights)


def draw_chunks(labels: np.ndarray, n_chunks: int, size: int, random: np.random.Generator) -> np.ndarray:
    """Draw chunks from labels: divide the members of each class into chunks and select some of these."""
    order = random.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    classes = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    full = np.concatenate([rows[: len(rows) // size * size].reshape(-1, size) for rows in classes])
    if n_chunks > len(full):
        raise ValueError(f"these labels make at most {len(full)} chunks of {size} members; n_chunks={n_chunks}")
    chunks = np.full(len(labels), -1, dtype=np.intp)
    chunks[full[random.choice(len(full), n_chunks, replace=False)]] = np.arange(n_chunks)[:, None]
    return chunks


def _check_chunks(chunks: Any, n: int) -> np.ndarray:
    numbers = np.asarray(chunks)
    if numbers.shape != (n,) or numbers.dtype.kind not in "iu":
        got = f"{numbers.dtype} of shape {numbers.shape}"
        raise ValueError(f"chunks must be {n} integers, one per row of X, -1 for none; got {got}")
    if numbers.min() < -1:
        row = int(np.argmin(numbers))
        raise ValueError(f"a chunk's number is at least 0, or -1 for none; row {row} has {numbers[row]}")
    unique, places = np.unique(numbers, return_inverse=True)
    return places - int(unique[0] == -1)  # 0, 1, … without gaps, and -1 as it was
