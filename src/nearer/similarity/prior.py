"""A similarity of features that is no worse than the cosine: learned from there, and pulled back to it.

A table of features is centered, its columns are brought to one scale, and it is whitened by its covariance within
classes (with comparisons: by its covariance), shrunken towards a multiple of the identity. At a shrinkage of 1 that is
the cosine of standardized features, without any that of RCA. Whitened features may be projected onto the span of the
class means, as in linear discriminant analysis. In that space M is learned from triplets of unit rows,

    minimize  Σ pᵢ (1 - ⟨I + M, Xᵢ⟩)₊² + λ/2 ‖M‖²   over symmetric M,

and the positive part of I + M is kept. Shrinkage, projection and λ are chosen by held-out data; candidates are also
M = 0 and the cosine of the features as they are. Wide and sparse tables are projected onto their leading axes first.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd
from scipy.sparse import issparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_range_finder

from nearer.comparisons import Comparisons
from nearer.lbfgs import LimitedMemory, minimize
from nearer.monitor import Monitor
from nearer.psd import psd_factor
from nearer.selection import FEW_CLASSES, Selection, Trial, best, no_better_twice
from nearer.similarity.row_space import center_groups, group_means, second_moments
from nearer.similarity.triplets import AXES, WIDE, Quadruplets, Triplets
from nearer.similarity.validation import Fold

SHRINKAGES = (None, 1.0, 0.9, 0.6, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
REGULARIZATIONS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00003)
DEFAULT_SHRINKAGE, DEFAULT_REGULARIZATION = 0.1, 0.01  # where nothing can be judged
TRIAL_ITER = 8  # of L-BFGS, from the solution of a larger λ: ranks settle long before the objective
MEMORY = 10
WIDE_FOLDS = 2  # folds of wide tables, where a fit takes long


class Map(NamedTuple):
    """A linear map of features: x -> (x - mean) weights; None: no mean is subtracted, the features as they are."""

    mean: np.ndarray | None
    weights: np.ndarray | None

    def apply(self, table: Any) -> Any:
        """Return the rows of a table, mapped and of unit length."""
        centered = table if self.mean is None else table - self.mean
        return normalize(centered if self.weights is None else np.asarray(centered @ self.weights))


class Whitening:
    """The covariance of a table within classes, or as a whole, and the maps that whiten it."""

    def __init__(self, table: Any, labels: np.ndarray | None, weights: np.ndarray | None = None) -> None:
        n, d = table.shape
        self.mean: np.ndarray | None = None
        scale, axes, rows = np.ones(d), np.eye(d) if d < WIDE else None, table
        if not issparse(table):
            self.mean, scale = column_moments(table, weights)
            scale[scale <= 1e-12 * np.abs(self.mean)] = np.inf  # a constant column has no weight
            rows = (table - self.mean) / scale
        if axes is None or issparse(table):
            size = min(AXES, d, max(1, n - 1))
            loud = rows if weights is None else rows * np.sqrt(weights)[:, None]
            axes = randomized_range_finder(loud.T, size=size, n_iter=2, random_state=0)
        rows = np.asarray(rows @ axes)
        groups = None if labels is None else np.unique(labels, return_inverse=True)[1]
        off = rows if groups is None else center_groups(rows, groups, weights)
        self.variances, directions = eigh(second_moments(off, weights))
        self.basis = (axes @ directions) / scale[:, None]
        self.means: np.ndarray | None = None  # of classes, from the mean of all, in these directions
        if groups is not None:
            off_center = group_means(rows, groups, weights) - np.average(rows, axis=0, weights=weights)
            self.means = off_center @ directions
        varying = min(len(self.variances), max(1, int(np.isfinite(scale).sum())))
        self.level = float(self.variances.sum()) / varying  # the mean variance
        if self.level <= 1e-20 * float(np.vdot(rows, rows)) / (n * varying):
            self.level = 0.0  # all rows of each class are equal, to rounding

    @property
    def has_discriminants(self) -> bool:
        """Whether class means span a smaller space than the features."""
        return self.means is not None and len(self.means) - 1 < len(self.variances)

    def map(self, shrinkage: float, discriminant: bool = False) -> Map:
        """Return the map that whitens the covariance, shrunken by a share towards its mean variance.

        With ``discriminant``, it goes on to the span of the class means.
        """
        if self.level == 0.0:
            return Map(self.mean, self.basis)
        variances = (1.0 - shrinkage) * np.maximum(self.variances, 0.0) + shrinkage * self.level
        scale = np.sqrt(np.maximum(variances, 1e-10 * self.level))
        weights = self.basis / scale
        if discriminant and self.has_discriminants:
            assert self.means is not None
            weights = weights @ svd(self.means / scale, full_matrices=False)[2][: len(self.means) - 1].T
        return Map(self.mean, weights)


def column_moments(table: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of columns, by weight."""
    if weights is None:
        return table.mean(axis=0), table.std(axis=0)
    mean = np.average(table, axis=0, weights=weights)
    return mean, np.sqrt(np.average(np.square(table - mean), axis=0, weights=weights))


class Refinement:
    """The matrix M that is added to the identity in a space of unit rows: its objective, and its fit."""

    def __init__(self, rows: np.ndarray, comparisons: Comparisons) -> None:
        kind: Any = Triplets if comparisons.shape[1] == 3 else Quadruplets
        self.triplets = kind(rows, comparisons.rows, comparisons.weights)
        self.offsets = self.triplets.scores(np.eye(rows.shape[1]))

    def value_and_gradient(self, matrix: np.ndarray, regularization: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient over symmetric matrices."""
        missing = np.maximum(0.0, 1.0 - self.offsets - self.triplets.scores(matrix))
        value = float(self.triplets.shares @ np.square(missing))
        gradient = self.triplets.matrix(-2.0 * self.triplets.shares * missing)
        gradient = 0.5 * (gradient + gradient.T) + regularization * matrix
        return value + 0.5 * regularization * float(np.vdot(matrix, matrix)), gradient

    def fit(self, regularization: float, start: np.ndarray | None, monitor: Monitor) -> np.ndarray:
        """Return the matrix that minimizes the objective, from a start or from 0."""
        d = self.triplets.n_features
        start = np.zeros((d, d)) if start is None else start

        def gap(state: LimitedMemory) -> dict[str, float]:
            # λ makes the objective strongly convex, so its gradient bounds how far it is above its minimum.
            return {"gap": float(np.vdot(state.gradient, state.gradient)) / (2.0 * regularization)}

        return minimize(
            lambda matrix: self.value_and_gradient(matrix, regularization), start, MEMORY, monitor, gap
        )


def positive_factor(matrix: np.ndarray) -> np.ndarray:
    """Return P with P Pᵀ the positive part of I + M."""
    return psd_factor(np.eye(len(matrix)) + matrix).T


def select_shrinkage(
    folds: list[Fold],
    candidates: Sequence[float | None],
    report: Callable,
    whitenings: list[Whitening] | None = None,
    discriminants: Sequence[bool] = (False,),
) -> list[Trial]:
    """Try maps without learning from triplets, at least one of them.

    A shrinkage of None leaves the features as they are; others are tried with and without ``discriminants``.
    """
    whitenings = whitenings or [Whitening(fold.table, fold.labels, fold.weights) for fold in folds]
    trials: list[Trial] = []
    for number, (shrinkage, discriminant) in enumerate(
        pairs := candidate_maps(folds, whitenings, candidates, discriminants)
    ):
        settings = {"shrinkage": shrinkage, "discriminant": discriminant, "regularization": np.inf}
        maps = [
            Map(None, None) if shrinkage is None else whitening.map(shrinkage, discriminant)
            for whitening in whitenings
        ]
        trials.append(try_maps(folds, settings, [(found, None) for found in maps]))
        if not report(0.1 * (number + 1) / len(pairs), error=trials[-1].error, **settings):
            break
    return trials


def candidate_maps(
    folds: list[Fold],
    whitenings: list[Whitening],
    shrinkages: Sequence[float | None],
    discriminants: Sequence[bool],
) -> list[tuple[float | None, bool]]:
    """Return pairs of a shrinkage and whether to project onto discriminants, which differ from each other.

    What distinguishes a few classes says little about new ones: where these are judged, only what is asked for is tried.
    """
    few = len(discriminants) > 1 and folds[0].judges_new_classes and folds[0].n_classes < FEW_CLASSES
    project = not few and all(whitening.has_discriminants for whitening in whitenings)
    kinds = [kind for kind in discriminants if project or not kind] or [False]
    return [(shrinkage, kind) for shrinkage in shrinkages for kind in ([False] if shrinkage is None else kinds)]


def fitted_map(
    table: Any,
    labels: np.ndarray | None,
    weights: np.ndarray | None,
    shrinkage: float | None,
    discriminant: bool,
) -> Map:
    """Return the map of these settings for a table; a shrinkage of None leaves the features as they are."""
    if shrinkage is None:
        return Map(None, None)
    return Whitening(table, labels, weights).map(shrinkage, discriminant)


def try_maps(folds: list[Fold], settings: dict[str, Any], pairs: list[tuple[Map, np.ndarray | None]]) -> Trial:
    """Return the losses of a map, and of the factor of its refinement, in every fold."""
    losses = [fold.losses_of(vectors(fold.held_out, *pair)) for fold, pair in zip(folds, pairs, strict=True)]
    return Trial(settings, np.concatenate(losses), [None] * len(folds))


def select_settings(
    folds: list[Fold],
    shrinkage: float | None,
    discriminant: bool | None,
    regularization: float | None,
    monitor: Monitor,
) -> Selection:
    """Return what was tried of shrinkages, projections and λ, where they are None, and the best of it.

    A trial has the settings ``shrinkage`` (None: the features as they are), ``discriminant`` and ``regularization``
    (infinite: M = 0). From the best shrinkage with a projection, and from that without one, λ falls along a path.
    """
    whitenings = [Whitening(fold.table, fold.labels, fold.weights) for fold in folds]
    wide = folds[0].table.shape[1] >= AXES
    n_folds = WIDE_FOLDS if wide and not folds[0].judges_new_classes else len(folds)  # of new classes, few, all
    given = regularization is not None and np.isfinite(regularization)
    shrinkages: tuple[float | None, ...] = SHRINKAGES if shrinkage is None else (shrinkage,)
    if given:  # then something is learned, from whitened features
        shrinkages = tuple(candidate for candidate in shrinkages if candidate is not None)
    kinds = (False, True) if discriminant is None else (discriminant,)
    regularizations = REGULARIZATIONS if regularization is None else (regularization,)
    learned: list[Trial] = []
    with monitor.stage("choosing shrinkage and regularization", until=0.7) as report:
        trials = select_shrinkage(folds, shrinkages, report, whitenings, kinds)
        for number, kind in enumerate(kinds):
            of_kind = [trial for trial in trials if is_whitened(trial, kind)]
            if not of_kind or monitor.stopped or regularization == np.inf:
                continue
            path = Path(folds[:n_folds], whitenings, best(of_kind).settings)
            for step, trial in enumerate(path.trials(regularizations, monitor), start=1):
                learned.append(trial)
                done = (number + step / len(regularizations)) / len(kinds)
                report(0.1 + 0.9 * done, error=trial.error, **trial.settings)
    allowed = learned if given else [*trials, *learned]
    if monitor.reason in ("callback", "interrupted"):  # no time to learn M once more, from all the data
        allowed = trials
    return Selection([*trials, *learned], best(allowed or trials))


def is_whitened(trial: Trial, discriminant: bool) -> bool:
    """Whether a trial whitens, and projects onto discriminants or does not."""
    return trial.settings["shrinkage"] is not None and trial.settings["discriminant"] is discriminant


class Path:
    """The refinements of all folds along a path of falling λ, each from the solution of the one before."""

    def __init__(self, folds: list[Fold], whitenings: list[Whitening], settings: dict[str, Any]) -> None:
        self.folds, self.settings = folds, settings
        self.maps = [
            whitening.map(settings["shrinkage"], settings["discriminant"])
            for whitening in whitenings[: len(folds)]
        ]
        self.problems = [
            Refinement(found.apply(fold.table), fold.triplets)
            for fold, found in zip(folds, self.maps, strict=True)
        ]
        self.matrices: list[np.ndarray | None] = [None] * len(folds)

    def trials(self, regularizations: Sequence[float], monitor: Monitor) -> Iterator[Trial]:
        """Yield the trials of these λ, up to where two in a row are no better than the best before."""
        done = [try_maps(self.folds, self.settings, [(found, None) for found in self.maps])]
        for regularization in regularizations:
            if monitor.stopped or no_better_twice(done):
                break
            factors = self.step(regularization, monitor)
            done.append(try_maps(self.folds, {**self.settings, "regularization": regularization}, factors))
            yield done[-1]

    def step(self, regularization: float, monitor: Monitor) -> list[tuple[Map, np.ndarray | None]]:
        """Return the map and the factor of every fold at the next λ."""
        self.matrices = [
            problem.fit(regularization, start, monitor.child(TRIAL_ITER))
            for problem, start in zip(self.problems, self.matrices, strict=True)
        ]
        return [
            (found, positive_factor(matrix))
            for found, matrix in zip(self.maps, self.matrices, strict=True)
            if matrix is not None
        ]


def vectors(table: Any, found: Map, factor: np.ndarray | None) -> Any:
    """Return the rows of a table as vectors of unit length in the learned space."""
    rows = found.apply(table)
    return rows if factor is None else normalize(rows @ factor)
