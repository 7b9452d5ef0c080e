"""scikit-learn's own checks of label rankers, as they are: no adapter, no patch."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from nearer import LabelRanker

# One as it comes; the others with fewer steps, to be quick.
ESTIMATORS = [
    LabelRanker(2),
    LabelRanker(2, negatives="all", n_steps=2000),
    LabelRanker(2, "pa", n_steps=2000),
    LabelRanker(2, "perceptron", n_steps=2000),
    LabelRanker(2, "group-perceptron", negatives="all", n_steps=2000),
    LabelRanker(None, "popularity"),
    LabelRanker(2, early_stopping=True, n_steps=2000),
]


def name_of(part):
    return getattr(part, "func", part).__name__ if callable(part) else str(part)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator, legacy=True)],
    ids=name_of,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
