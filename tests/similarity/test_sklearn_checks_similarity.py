"""scikit-learn's own checks of every similarity of features, as they are: no adapter, no patch."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from nearer.similarity import ITML, LEGO, LMNN, RCA, BilinearSimilarity, Euclidean, LowRankSimilarity

# One of each kind chooses its own settings; for its variants they are fixed, to be quick.
ESTIMATORS = [
    BilinearSimilarity(n_triplets=500),
    BilinearSimilarity(n_triplets=500, psd=True, regularization=0.01),
    BilinearSimilarity("oasis", n_triplets=500),
    BilinearSimilarity("oasis", n_triplets=500, psd=True),
    ITML(),
    LEGO(),
    LMNN(),
    RCA(),
    Euclidean(),
    LowRankSimilarity(rank=1, n_steps=500),
    LowRankSimilarity(rank=1, n_steps=500, loss="ste"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, psd=False),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, init="gaussian"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, init="zero", negatives="random"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, solver="gd"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=0.1, solver="pa", init="identity"),
    LowRankSimilarity(rank=1, n_steps=500, learning_rate=1e-3, solver="loreta-identify"),
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
