"""scikit-learn's own checks of label rankers, as they are: no adapter, no patch."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from nearer import LabelRanker

ESTIMATORS = [
    LabelRanker(2, solver, sampling=sampling)
    for solver in ("loreta", "pa", "perceptron", "group-perceptron")
    for sampling in ("warp", "all")
]
ESTIMATORS += [LabelRanker(None, "popularity"), LabelRanker(2, early_stopping=True)]


def name_of(part):
    return getattr(part, "func", part).__name__ if callable(part) else str(part)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator, legacy=True)],
    ids=name_of,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
