"""scikit-learn's own checks of ComparisonKernel, through the adapter of `lawful_tables`: their X is any table."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from lawful_tables import Tables
from nearer import ComparisonKernel


class OnTables(Tables, ComparisonKernel):
    def __init__(self, loss="ste", regularization=0.1, max_iter=50, tol=1e-7, random_state=None):
        super().__init__(
            loss, regularization=regularization, max_iter=max_iter, tol=tol, random_state=random_state
        )


def name_of(part):
    return part.loss if isinstance(part, OnTables) else getattr(part, "func", part).__name__


def checks():
    """All of them for a smooth loss. The hinge's optimum is reached to `tol`, not to the last digit."""
    yield from estimator_checks_generator(OnTables("ste"), legacy=True)
    for estimator, check in estimator_checks_generator(OnTables("gnmds"), legacy=True):
        if name_of(check) != "check_sample_weight_equivalence_on_dense_data":
            yield estimator, check


@pytest.mark.parametrize(("estimator", "check"), list(checks()), ids=name_of)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)
