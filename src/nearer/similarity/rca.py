"""Relevant components analysis (Bar-Hillel, Hertz, Shental & Weinshall, JMLR 2005).

A chunk is some rows that are known to belong together. Variation within chunks does not matter, so the distance is
measured in units of it: LᵀL = C⁻¹, C being the covariance of rows around the means of their chunks.

Of many columns, C⁻¹ is mostly noise. So C is shrunken, as in linear discriminant analysis, towards a multiple of the
identity (of columns in units of their standard deviation), by a share that held-out rows choose: (1 - s) C + s c I, c
being the mean variance within chunks. At a share of 1 that is the Euclidean distance of standardized columns. Held-out
rows also say whether directions are compared only.
"""

import warnings
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize

from nearer.blas import blas_threads_for
from nearer.comparisons.random_state import child_generator
from nearer.features.validation import check_rows_differ, positive_weights, validate_features
from nearer.models import SavedModel
from nearer.parameters import (
    AUTO,
    BOOL,
    COUNT,
    NONE,
    SHARE,
    Constraint,
    check_parameters,
    either,
    is_auto,
    is_count,
    parametrized,
    unchanged_on_failure,
)
from nearer.psd import fix_signs
from nearer.selection import Selection, Trial, best
from nearer.similarity.comparer import FeatureComparer
from nearer.similarity.inputs import check_n_components, needs_labels, validate_labelled, weights_of_labelled
from nearer.similarity.row_space import center_groups, second_moments, varying_directions
from nearer.similarity.triplets import WIDE
from nearer.similarity.validation import VALIDATION, Fold, clearly_better, make_folds

SINGULAR = 1e-10  # share of its variance that a direction has within chunks, below which it has none
LEAST_TOTAL = 1e-3  # share of the total covariance that is then added
SHRINKAGES = (1.0, 0.9, 0.6, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0)
DEFAULT_SHRINKAGE = 0.1  # where nothing can be judged
WIDE_FOLDS = 2  # folds of wide tables, where whitening takes long


@parametrized
class RCA(FeatureComparer, SavedModel, BaseEstimator):
    """Relevant components analysis: a distance in units of the variation among rows that belong together.

    Whitens with the covariance of rows around the means of their chunks. It takes no iterations, and no negative
    examples: only which rows belong together. ``RCA(shrinkage=0)`` is that of the paper.

    Parameters
    ----------
    n_components : int, optional
        Rows of the projection, at most d; by default d. Fewer keep the directions in which rows vary most relative
        to their chunks (Fisher's criterion).
    n_chunks : int, optional
        With labels: draw this many chunks, each of members of one class. By default every class is a chunk.
    chunk_size : int, default=2
        Members of a drawn chunk.
    shrinkage : "auto" or float, default="auto"
        How far the covariance is shrunken towards a multiple of the identity, from 0 (as in the paper) to 1
        (standardized columns). "auto" chooses by how well held-out rows are retrieved.
    normalize : "auto" or bool, default="auto"
        Whether points are centered and have unit length, so that the distance is √(2 - 2 cos). "auto" chooses together
        with the shrinkage; where that is given, no.
    validation : {"auto", "objects", "classes"}, default="auto"
        What "auto" settings are judged by: held-out rows of the same chunks, or held-out chunks, where the distance is
        for classes that are not in y. "auto": rows, unless chunks have fewer than five rows on average.
    random_state : int, Generator, RandomState or None
        Draws chunks, and the rows that are held out.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        L. A column that is constant has weight 0.
    mean_ : array of shape (d,) or None
        What is subtracted from the features before, where points are normalized.
    shrinkage_, normalize_ : float, bool
        The settings as used.
    selection_ : list of dict or None
        One record per candidate that was tried.
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
    >>> model = RCA(random_state=0).fit(X[::2], y[::2])
    >>> learned = KNeighborsClassifier(3).fit(model.transform(X[::2]), y[::2])
    >>> learned.score(model.transform(X[1::2]), y[1::2]) > plain + 0.2
    True
    """

    _scales_features = True
    _learned_arrays = ("components_", "mean_", "feature_names_in_")
    _learned_values = ("shrinkage_", "normalize_", "selection_", "n_features_in_", "threshold_")
    _constraints: ClassVar = {
        "n_components": either(NONE, COUNT),
        "n_chunks": either(NONE, COUNT),
        "chunk_size": Constraint(lambda value: is_count(value) and value > 1, "an integer > 1"),
        "shrinkage": either(AUTO, SHARE),
        "normalize": either(AUTO, BOOL),
        "validation": VALIDATION,
    }

    n_components: int | None = None
    _: KW_ONLY
    n_chunks: int | None = None
    chunk_size: int = 2
    shrinkage: float | str = "auto"
    normalize: bool | str = "auto"
    validation: str = "auto"
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
            random = child_generator(self.random_state)
            table, numbers, weights = self._inputs(X, y, chunks, sample_weight, random)
            check_n_components(self, table)
            check_rows_differ(table)
            with blas_threads_for(table.shape[1]):
                self.shrinkage_, self.normalize_ = self._select(table, numbers, weights, random)
                whitening = Whitening(table, numbers, weights)
                with warnings.catch_warnings():
                    if is_auto(self.shrinkage):  # then held-out rows say that 0 is good
                        warnings.filterwarnings("ignore", "rows of one chunk do not differ")
                    components = whitening.components(self.shrinkage_, self.n_components)
            self.components_ = fix_signs(components)
            self.mean_ = whitening.mean if self.normalize_ else None
        return self

    def _inputs(
        self, X: Any, y: Any, chunks: Any, sample_weight: Any, random: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rows that count, the numbers of their chunks, and their weights."""
        if not needs_labels(self, y, chunks=chunks):
            table = validate_features(self, X, reset=True)
            numbers = _check_chunks(chunks, len(table))
            counted, weights = positive_weights(sample_weight, len(table))
            return table[counted], numbers[counted], weights
        table, labels = validate_labelled(self, X, y)
        counted, weights = positive_weights(weights_of_labelled(sample_weight, y), len(table))
        table, labels = table[counted], labels[counted]
        classes, numbers = np.unique(labels, return_inverse=True)
        if len(classes) == 1:
            warnings.warn(
                "y has a single class: nothing is learned from it, and the distance is that of features whitened by "
                "their covariance",
                stacklevel=3,
            )
        if self.n_chunks is not None:
            numbers = draw_chunks(numbers, self.n_chunks, self.chunk_size, random)
        return table, numbers, weights

    def _select(
        self, table: np.ndarray, numbers: np.ndarray, weights: np.ndarray | None, random: np.random.Generator
    ) -> tuple[float, bool]:
        """Return the shrinkage and whether to normalize, chosen where they are "auto"."""
        self.selection_: list[dict[str, Any]] | None = None
        shrinkages: tuple[float, ...] = SHRINKAGES
        if not is_auto(self.shrinkage):
            shrinkages = (float(self.shrinkage),)
        kinds = (False, True) if is_auto(self.normalize) else (bool(self.normalize),)
        if len(shrinkages) == 1:
            return shrinkages[0], kinds[0]
        inside = numbers >= 0
        folds = make_folds(
            table[inside],
            numbers[inside],
            None,
            random,
            validation=self.validation,
            weights=None if weights is None else weights[inside],
        )
        if not folds:
            return DEFAULT_SHRINKAGE, kinds[0]
        selection = select_settings(folds, shrinkages, kinds, self.n_components)
        assert selection.chosen is not None
        self.selection_ = selection.records()
        return selection.chosen.settings["shrinkage"], selection.chosen.settings["normalize"]

    def _loaded(self) -> None:
        mean, self.mean_ = getattr(self, "mean_", None), None
        super()._loaded()
        self.mean_ = mean
        if mean is not None and mean.shape != (self.n_features_in_,):
            raise ValueError(f"mean_ of {self.n_features_in_} features has shape {mean.shape}")


class Whitening:
    """The covariance of a table within chunks, and the maps that whiten it, shrunken or not."""

    def __init__(self, X: np.ndarray, chunks: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.mean = np.average(X, axis=0, weights=weights)
        spread = np.ptp(X, axis=0)
        spread[spread == 0.0] = np.inf  # a constant column
        deviations = np.sqrt(np.average(np.square((X - self.mean) / spread), axis=0, weights=weights))
        self.scale = np.where(deviations > 0.0, spread, 1.0) * np.where(deviations > 0.0, deviations, 1.0)
        rows = (X - self.mean) / self.scale
        self.varying = varying_directions(rows)
        rows = rows @ self.varying
        inside = chunks >= 0
        own = None if weights is None else weights[inside]
        self.within = covariance_within(rows, chunks, weights)
        self.total = second_moments(rows, weights)
        self.among = second_moments(rows[inside] - np.average(rows[inside], axis=0, weights=own), own)
        self.variances, self.directions = eigh(self.within)
        self.level = max(0.0, float(self.variances.mean()))

    def axes(self, shrinkage: float) -> tuple[np.ndarray, np.ndarray]:
        """Return directions of columns in units of their standard deviations, and their variances as shrunken."""
        variances, directions = self.variances, self.directions
        if shrinkage == 0.0 or self.level == 0.0:
            shares = eigh(self.within, self.total, eigvals_only=True)
            if shares[0] < SINGULAR:
                warnings.warn(
                    f"rows of one chunk do not differ in {int((shares < SINGULAR).sum())} of {len(shares)} "
                    f"directions in which X varies; {LEAST_TOTAL:g} of the covariance of all rows is added, so that no "
                    "distance is infinite. Shrinkage, more or larger chunks, or fewer features would settle it",
                    stacklevel=5,
                )
                variances, directions = eigh((1.0 - LEAST_TOTAL) * self.within + LEAST_TOTAL * self.total)
            return self.varying @ directions, variances
        return self.varying @ directions, (1.0 - shrinkage) * variances + shrinkage * self.level

    def weights(self, shrinkage: float, n_components: int | None = None) -> np.ndarray:
        """Return the columns of a map in whose points the covariance within chunks, as shrunken, is the identity.

        Of n_components, those are the directions in which chunks vary most (Fisher's criterion).
        """
        axes, variances = self.axes(shrinkage)
        axes = axes / np.sqrt(variances)
        if n_components is not None:
            inner = self.varying.T @ axes
            axes = axes @ eigh(inner.T @ self.among @ inner)[1][:, ::-1][:, :n_components]
        return axes / self.scale[:, None]

    def components(self, shrinkage: float, n_components: int | None = None) -> np.ndarray:
        """Return L, of n_components rows; of all, the symmetric one of standardized columns."""
        d = len(self.scale)
        if n_components is None or n_components == d:
            axes, variances = self.axes(shrinkage)
            return (axes / np.sqrt(variances)) @ axes.T / self.scale
        components = self.weights(shrinkage, n_components).T
        return np.vstack([components, np.zeros((n_components - len(components), d))])  # X does not vary further


def select_settings(
    folds: list[Fold], shrinkages: tuple[float, ...], kinds: tuple[bool, ...], n_components: int | None
) -> Selection:
    """Return what was tried of shrinkages and whether to normalize, and the best of it.

    Points are normalized only where that is clearly better.
    """
    if folds[0].table.shape[1] >= WIDE and not folds[0].judges_new_classes:
        folds = folds[:WIDE_FOLDS]  # but of new classes, which are few, all
    whitenings = [Whitening(fold.table, fold.classes, fold.weights) for fold in folds]
    trials = []
    for shrinkage in shrinkages:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "rows of one chunk do not differ")
            points = [
                (fold.held_out - whitening.mean) @ whitening.weights(shrinkage, n_components)
                for fold, whitening in zip(folds, whitenings, strict=True)
            ]
        for kind in kinds:
            losses = [
                fold.losses_of(normalize(vectors)) if kind else fold.losses_of(vectors, "euclidean")
                for fold, vectors in zip(folds, points, strict=True)
            ]
            settings = {"shrinkage": shrinkage, "normalize": kind}
            trials.append(Trial(settings, np.concatenate(losses), [None] * len(folds)))
    least = best(trials)
    unnormalized = [trial for trial in trials if not trial.settings["normalize"]]
    if least.settings["normalize"] and unnormalized:
        classes = np.concatenate([fold.query_classes for fold in folds]) if folds[0].judges_new_classes else None
        other = best(unnormalized)
        if not clearly_better(least.losses, other.losses, classes):
            least = other
    return Selection(trials, least)


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
