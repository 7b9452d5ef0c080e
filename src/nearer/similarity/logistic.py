"""Multinomial logistic regression, what of its classes is compared, and the search for the settings of both."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from scipy.special import logsumexp, softmax
from sklearn.preprocessing import normalize

from nearer.lbfgs import minimize
from nearer.monitor import Monitor
from nearer.selection import Trial, best
from nearer.similarity.prior import column_moments, fitted_map
from nearer.similarity.validation import Fold

REGULARIZATIONS = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5)
WEIGHTS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0)
OUTPUTS = ("probabilities", "roots", "scores")
DEFAULT_WEIGHT = 0.7  # where nothing is judged
TRIAL_ITER, MEMORY = 40, 10


class Logistic:
    """Multinomial logistic regression on scaled features: mean log loss + λ/2 ‖W‖², the biases not penalized."""

    def __init__(self, table: Any, labels: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.shares = np.full(len(labels), 1.0 / len(labels)) if weights is None else weights / weights.sum()
        self.mean: np.ndarray | None = None
        if issparse(table):
            scale = np.sqrt(table.power(2).T @ self.shares)
        else:
            self.mean, scale = column_moments(table, weights)
        # Rare terms of sparse tables are not scaled up: one scale for all columns.
        self.scale = np.full_like(scale, np.sqrt(np.square(scale).sum())) if issparse(table) else scale
        mean = 0.0 if self.mean is None else np.abs(self.mean)
        self.scale[self.scale <= 1e-12 * mean] = np.inf  # a constant column has no weight
        self.rows = self._scaled(table)
        self.labels, self.n_classes = labels, int(labels.max()) + 1

    def _scaled(self, table: Any) -> Any:
        if self.mean is not None:
            return np.column_stack([(table - self.mean) / self.scale, np.ones(len(table))])
        ones = csr_array(np.ones((table.shape[0], 1)))
        return hstack([table / self.scale[0], ones], format="csr")

    def value_and_gradient(self, weights: np.ndarray, regularization: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient; the last row of the weights are the biases."""
        n = len(self.labels)
        scores = np.asarray(self.rows @ weights)
        value = float(self.shares @ (logsumexp(scores, axis=1) - scores[np.arange(n), self.labels]))
        errors = softmax(scores, axis=1)
        errors[np.arange(n), self.labels] -= 1.0
        gradient = np.asarray(self.rows.T @ (self.shares[:, None] * errors))
        gradient[:-1] += regularization * weights[:-1]
        return value + 0.5 * regularization * float(np.vdot(weights[:-1], weights[:-1])), gradient

    def fit(self, regularization: float, start: np.ndarray | None, monitor: Monitor) -> np.ndarray:
        """Return the weights of the scaled features."""
        if start is None:
            start = np.zeros((self.rows.shape[1], self.n_classes))
        return minimize(lambda weights: self.value_and_gradient(weights, regularization), start, MEMORY, monitor)

    def coefficients(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts for features as they are."""
        coefficients = weights[:-1] / self.scale[:, None]
        shift = 0.0 if self.mean is None else self.mean @ coefficients
        return coefficients.T, weights[-1] - shift


def class_vectors(scores: np.ndarray, output: str) -> np.ndarray:
    """Return what is compared of the class scores, as rows of unit length."""
    if output == "scores":
        return normalize(scores - scores.mean(axis=1, keepdims=True))
    probabilities = softmax(scores, axis=1)
    return normalize(np.sqrt(probabilities) if output == "roots" else probabilities)


def mixed(classes: np.ndarray, features: Any, weight: float) -> Any:
    """Return vectors whose inner products are ``weight`` times those of classes plus the rest of those of features."""
    if weight == 1.0:
        return classes
    if weight == 0.0:
        return features
    if issparse(features):
        return hstack([np.sqrt(weight) * csr_array(classes), np.sqrt(1.0 - weight) * features], format="csr")
    return np.hstack([np.sqrt(weight) * classes, np.sqrt(1.0 - weight) * features])


class Search:
    """The search for what of the classes is compared and how much it counts, the map of the features being known."""

    def __init__(
        self,
        folds: list[Fold],
        shrinkage: float | None,
        discriminant: bool,
        monitor: Monitor,
        report: Callable,
    ) -> None:
        self.folds, self.monitor, self.report = folds, monitor, report
        self.prepared = {"shrinkage": shrinkage, "discriminant": discriminant}
        self.scores: list[np.ndarray] = []  # of the best λ, per fold
        self.fitted: np.ndarray  # the weights of the best λ in the first fold
        self.features = [
            fitted_map(fold.table, fold.labels, fold.weights, shrinkage, discriminant).apply(fold.held_out)
            for fold in folds
        ]

    def classes(self, regularizations: tuple[float, ...], outputs: tuple[str, ...]) -> list[Trial]:
        """Try λ, each from the weights of the last, and what is compared."""
        problems = [Logistic(f.table, f.classes, f.weights) for f in self.folds]
        weights: list[Any] = [None] * len(problems)
        trials: list[Trial] = []
        found: list[tuple[list[np.ndarray], np.ndarray]] = []
        for number, regularization in enumerate(regularizations):
            if self.monitor.stopped and trials:
                break
            weights = [
                problem.fit(regularization, start, self.monitor.child(TRIAL_ITER, 1e-4))
                for problem, start in zip(problems, weights, strict=True)
            ]
            scores = [
                held_out_scores(problem, fitted, fold)
                for problem, fitted, fold in zip(problems, weights, self.folds, strict=True)
            ]
            for output in outputs:
                settings = {**self.prepared, "regularization": regularization, "output": output}
                trials.append(self._trial({**settings, "weight": 1.0}, scores))
                found.append((scores, weights[0]))
                done = 0.2 + 0.7 * (number + 1) / len(regularizations)
                if not self.report(done, error=trials[-1].error, **settings):
                    break
        self.chosen = best(trials)
        self.scores, self.fitted = found[trials.index(self.chosen)]
        return trials

    def start(self, n_classes: int) -> np.ndarray:
        """Return the weights of all classes, those of classes that the first fold does not have as zeros."""
        start = np.zeros((len(self.fitted), n_classes))
        known = self.folds[0].labels
        assert known is not None
        start[:, np.unique(known)] = self.fitted
        return start

    def weights(self, weights: tuple[float, ...]) -> list[Trial]:
        """Try weights of the classes; where the search has to end, take one for which both parts count."""
        if self.monitor.stopped and len(weights) > 1:
            weights = (DEFAULT_WEIGHT,)
        tried = self.chosen
        trials = [self._trial({**tried.settings, "weight": w}, self.scores) for w in weights if w != 1.0]
        self.chosen = best([tried, *trials] if 1.0 in weights else trials)
        self.report(1.0, error=self.chosen.error, weight=self.chosen.settings["weight"])
        return trials

    def _trial(self, settings: dict[str, Any], scores: list[np.ndarray]) -> Trial:
        losses = []
        for fold, of_classes, features in zip(self.folds, scores, self.features, strict=True):
            vectors = mixed(class_vectors(of_classes, settings["output"]), features, settings["weight"])
            losses.append(fold.losses_of(vectors))
        return Trial(settings, np.concatenate(losses), [None] * len(self.folds))


def held_out_scores(problem: Logistic, weights: np.ndarray, fold: Fold) -> np.ndarray:
    """Return the class scores of the held-out objects of a fold."""
    coefficients, intercepts = problem.coefficients(weights)
    return np.asarray(fold.held_out @ coefficients.T) + intercepts
