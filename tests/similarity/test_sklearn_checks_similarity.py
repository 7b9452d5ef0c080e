"""scikit-learn's own checks of every similarity of features, as they are: no adapter, no patch.

Those that are expected to fail are listed with the reason.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from nearer.similarity import (
    ITML,
    LEGO,
    LMNN,
    RCA,
    BilinearSimilarity,
    Euclidean,
    LowRankSimilarity,
    SoftmaxSimilarity,
)

# One of each kind chooses its own settings; for its variants they are fixed, to be quick.
ESTIMATORS = [
    BilinearSimilarity(),
    BilinearSimilarity("sdca", n_triplets=500),
    BilinearSimilarity("sdca", n_triplets=500, psd=True, regularization=0.01),
    BilinearSimilarity("oasis", n_triplets=500),
    BilinearSimilarity("oasis", n_triplets=500, psd=True),
    ITML(),
    LEGO(),
    LMNN(),
    RCA(),
    RCA(shrinkage=0),
    Euclidean(),
    SoftmaxSimilarity(),
    SoftmaxSimilarity(regularization=0.01, output="scores", weight=0.5, shrinkage=None),
    LowRankSimilarity(),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, loss="ste"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, psd=False),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, init="zero", negatives="random"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, solver="gd"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=0.1, solver="pa", init="identity"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, solver="loreta-identify"),
]

RESAMPLED = "rows are held out at random, so that an integer weight is as many rows on average only"
DRAWN = "triplets are drawn at random, so that an integer weight is as many rows on average only"


def expected_failures(estimator):
    """Return the checks that an estimator need not pass, with the reason."""
    draws = isinstance(estimator, BilinearSimilarity) and hasattr(estimator, "transform")
    kinds = ("dense", "sparse") if draws else ()
    if isinstance(estimator, RCA) and estimator.shrinkage == "auto":
        return {"check_sample_weight_equivalence_on_dense_data": RESAMPLED}
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
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)
