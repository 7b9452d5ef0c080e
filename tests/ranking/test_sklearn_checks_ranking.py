"""scikit-learn's own checks of label rankers, as they are: no adapter, no patch.

Those that are expected to fail are listed with the reason.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from nearer import LabelRanker

# One as it comes; the others with fewer steps, to be quick.
ESTIMATORS = [
    LabelRanker(),
    LabelRanker(2),
    LabelRanker(2, negatives="all", n_steps=2000),
    LabelRanker(2, "pa", n_steps=2000),
    LabelRanker(2, "perceptron", n_steps=2000),
    LabelRanker(2, "group-perceptron", negatives="all", n_steps=2000),
    LabelRanker(None, "popularity"),
    LabelRanker(2, early_stopping=True, n_steps=2000),
]

DRAWN = "steps draw rows at random, so that an integer weight is as many rows on average only"


def expected_failures(estimator):
    """Return the checks that an estimator need not pass, with the reason."""
    # From the closed form no row of these small tables needs a step, unless some are held out.
    draws = estimator.early_stopping or "perceptron" in estimator.solver
    kinds = ("dense", "sparse") if draws else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in kinds}


def name_of(part):
    return getattr(part, "func", part).__name__ if callable(part) else str(part)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for estimator in ESTIMATORS
        for pair in estimator_checks_generator(
            estimator, legacy=True, expected_failed_checks=expected_failures(estimator), mark="xfail"
        )
    ],
    ids=name_of,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
