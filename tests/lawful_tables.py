"""Any table of floats as lawful triplets, for scikit-learn's checks of estimators whose X is comparisons.

Each row of floats becomes a triplet of twelve objects, always the same for the same row.
"""

import numpy as np
from sklearn.utils.validation import validate_data

from nearer import Comparisons

N_OBJECTS = 12


def lawful(X):
    """Rows of floats to triplets (a, b, c): a from the row's sum, b and c from weighted sums, all different."""
    columns = np.arange(1, X.shape[1] + 1)
    a, b, c = (np.floor(np.abs(X * columns**power).sum(axis=1) * 97).astype(np.int64) for power in (0, 1, 2))
    a, b, c = a % N_OBJECTS, b % (N_OBJECTS - 1), c % (N_OBJECTS - 2)
    b = (a + 1 + b) % N_OBJECTS
    low, high = np.minimum(a, b), np.maximum(a, b)
    c += c >= low
    c += c >= high
    return np.column_stack([a, b, c])


class Tables:
    """Put before an estimator: its fit, predict, predict_proba and score then take any table."""

    def _rows(self, X, reset=False):
        return Comparisons(lawful(validate_data(self, X, reset=reset, dtype="numeric")), n_objects=N_OBJECTS)

    def fit(self, X, y=None, sample_weight=None):
        rows = self._rows(X, reset=True)
        width = self.n_features_in_
        super().fit(rows, sample_weight=sample_weight)
        self.n_features_in_ = width  # of the table, not of the triplets
        return self

    def predict(self, X):
        return super().predict(X if isinstance(X, Comparisons) else self._rows(X))

    def predict_proba(self, X):
        return super().predict_proba(self._rows(X))

    def score(self, X, y=None, sample_weight=None):
        return super().score(self._rows(X), sample_weight=sample_weight)

    def transform(self, X):
        return super().transform(self._rows(X).rows[:, 0])

    def fit_transform(self, X, y=None, sample_weight=None):
        return self.fit(X, y, sample_weight).transform(X)
