"""A pytest plugin under which metric-learn's own tests learn with nearer's estimators.

metric-learn itself builds the data of its tests. Its ITML, LMNN and RCA are replaced by nearer's, with the names of
metric-learn's parameters, and its learners from triplets and quadruplets by nearer's `LEGO`; learners that nearer does
not have are taken off the lists of learners to test.
"""

import warnings

import metric_learn
import numpy as np
import pytest
import sklearn.utils.validation

import nearer
from nearer.similarity import Euclidean


class WithIndices:
    """metric-learn's preprocessor: a table of which rows of numbers are row numbers."""

    def _look_up(self, data):
        if isinstance(data, tuple) and hasattr(data[0], "shape"):  # two tables
            return data
        if self.preprocessor is None or np.asarray(data).dtype.kind not in "iu":
            return data
        return np.asarray(self.preprocessor)[np.asarray(data)]

    def transform(self, X):
        return super().transform(self._look_up(X))

    def pair_score(self, pairs):
        return super().pair_score(self._look_up(pairs))

    def pair_distance(self, pairs):
        return super().pair_distance(self._look_up(pairs))

    score_pairs = pair_distance

    def score(self, X, y=None):
        return super().score(self._look_up(X), y)


class PairsClassifierMixin:
    """The mark of learners from pairs; their methods are nearer's."""


class FromComparisons(WithIndices, nearer.LEGO):
    """A learner from the features of the objects of comparisons, which metric-learn has instead of row numbers."""

    def __init__(self, preprocessor=None, random_state=None):
        super().__init__(random_state=random_state)
        self.preprocessor = preprocessor

    def _split(self, features):
        """The table of all objects, and the row numbers of the comparisons."""
        features = np.asarray(self._look_up(features))
        rows = np.arange(features.shape[0] * features.shape[1]).reshape(features.shape[:2])
        return features.reshape(rows.size, -1), rows

    def fit(self, comparisons):
        X, rows = self._split(comparisons)
        return super().fit(X, comparisons=rows)

    def decision_function(self, comparisons):
        near, far = self._sides(np.asarray(self._look_up(comparisons)))
        return self.pair_distance(far) - self.pair_distance(near)

    def predict(self, comparisons):
        sklearn.utils.validation.check_is_fitted(self)
        return self.predict_comparisons(*self._split(comparisons))

    def score(self, comparisons):
        return self.score_comparisons(*self._split(comparisons))


class SCML(FromComparisons):
    def __init__(self, n_basis=None, preprocessor=None, random_state=None):
        super().__init__(preprocessor, random_state)
        self.n_basis = n_basis

    def _sides(self, features):
        return features[:, [0, 1]], features[:, [0, 2]]


class LSML(FromComparisons):
    def _sides(self, features):
        return features[:, [0, 1]], features[:, [2, 3]]


class MahalanobisMixin(WithIndices, Euclidean):
    """The base of learners that the tests define: they take the check of the input from it."""

    preprocessor = None

    def pair_score(self, pairs):  # tests define decision_function
        return self.decision_function(pairs)

    def decision_function(self, pairs):
        return super().pair_score(pairs)

    def _prepare_inputs(self, X, y=None, type_of_inputs="classic"):
        X = np.asarray(self._look_up(X), dtype=float)
        self.n_features_in_ = X.shape[-1]
        return X if y is None else (X, np.asarray(y))


class ITML(WithIndices, nearer.ITML, PairsClassifierMixin):
    def __init__(
        self,
        gamma=1.0,
        max_iter=1000,
        tol=1e-3,
        prior="identity",
        verbose=False,
        preprocessor=None,
        random_state=None,
    ):
        super().__init__(
            gamma, max_iter=max_iter, tol=tol, prior=prior, verbose=verbose, random_state=random_state
        )
        self.preprocessor = preprocessor

    def fit(self, pairs, y, bounds=None, calibration_params=None):
        self.bounds = bounds
        super().fit(self._look_up(pairs), y)
        if calibration_params:
            self.calibrate_threshold(pairs, y, **calibration_params)
        return self

    def predict(self, pairs):
        return super().predict(self._look_up(pairs))

    def decision_function(self, pairs):
        return self.pair_score(pairs)


class ITML_Supervised(WithIndices, nearer.ITML):
    def __init__(
        self, gamma=1.0, max_iter=1000, tol=1e-3, n_constraints=None, prior="identity", verbose=False,
        preprocessor=None, random_state=None,
    ):  # fmt: skip
        super().__init__(
            gamma, max_iter=max_iter, tol=tol, n_constraints=n_constraints, prior=prior, verbose=verbose,
            random_state=random_state,
        )  # fmt: skip
        self.preprocessor = preprocessor

    def fit(self, X, y):
        return super().fit(self._look_up(X), y)


class LMNN(WithIndices, nearer.LMNN):
    def __init__(
        self, n_neighbors=3, max_iter=200, learn_rate=None, n_components=None, verbose=False, preprocessor=None
    ):
        super().__init__(n_neighbors, max_iter=max_iter, n_components=n_components, verbose=verbose)
        self.learn_rate, self.preprocessor = learn_rate, preprocessor

    def fit(self, X, y):
        return super().fit(self._look_up(X), y)


class RCA(WithIndices, nearer.RCA):
    def __init__(self, n_components=None, preprocessor=None):
        super().__init__(n_components, shrinkage=0)
        self.preprocessor = preprocessor

    def fit(self, X, chunks):
        return super().fit(self._look_up(X), chunks=chunks)


class RCA_Supervised(WithIndices, nearer.RCA):
    def __init__(self, n_components=None, n_chunks=100, chunk_size=2, preprocessor=None, random_state=None):
        super().__init__(
            n_components, n_chunks=n_chunks, chunk_size=chunk_size, shrinkage=0, random_state=random_state
        )
        self.preprocessor = preprocessor

    def fit(self, X, y):
        return super().fit(self._look_up(X), y)


def warns(expected=Warning, **settings):
    """What pytest.warns(None) was, before pytest 8: record all warnings."""
    return warnings.catch_warnings(record=True) if expected is None else PYTEST_WARNS(expected, **settings)


PYTEST_WARNS, pytest.warns = pytest.warns, warns
OURS = (ITML, ITML_Supervised, LMNN, LSML, RCA, RCA_Supervised, SCML)
for learner in OURS:
    setattr(metric_learn, learner.__name__, learner)

metric_learn.base_metric.MahalanobisMixin = MahalanobisMixin
metric_learn.base_metric._PairsClassifierMixin = PairsClassifierMixin

from test import test_utils  # noqa: E402  (metric-learn's, which reads the names above)

for name in [name for name in vars(test_utils) if name.startswith("ids_")]:
    learners = getattr(test_utils, name.removeprefix("ids_"))
    learners[:] = [pair for pair in learners if isinstance(pair[0], OURS)]
    getattr(test_utils, name)[:] = [type(learner).__name__ for learner, _ in learners]
