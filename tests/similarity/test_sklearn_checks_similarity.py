"""scikit-learn's own checks of every similarity of features, as they are: no adapter, no patch."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from nearer.similarity import ITML, LEGO, LMNN, RCA, BilinearSimilarity, Euclidean, LowRankSimilarity

ESTIMATORS = [
    BilinearSimilarity(n_triplets=500),
    BilinearSimilarity(n_triplets=500, psd=True),
    BilinearSimilarity("oasis", n_triplets=500),
    BilinearSimilarity("oasis", n_triplets=500, psd=True),
    ITML(),
    LEGO(),
    LMNN(),
    RCA(),
    Euclidean(),
    LowRankSimilarity(rank=1, n_steps=500),
    LowRankSimilarity(rank=1, n_steps=500, psd=False),
    LowRankSimilarity(rank=1, n_steps=500, loss="ste"),
    LowRankSimilarity(rank=1, n_steps=500, init="gaussian"),
    LowRankSimilarity(rank=1, n_steps=500, init="zero", sampling="random"),
    LowRankSimilarity(rank=1, solver="gd", n_steps=500),
    LowRankSimilarity(rank=1, solver="pa", n_steps=500, init="identity"),
    LowRankSimilarity(rank=1, solver="loreta-identify", n_steps=500),
]


def name_of(part):
    return getattr(part, "func", part).__name__ if callable(part) else str(part)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator, legacy=True)],
    ids=name_of,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)
