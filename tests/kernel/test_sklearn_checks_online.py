"""scikit-learn's own checks of OnlineKernel, through the adapter of `lawful_tables`: their X is any table."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from lawful_tables import N_OBJECTS, Tables
from nearer import OnlineKernel

NOT_FOR_STREAMS = {
    "check_sample_weight_equivalence_on_dense_data": "a stream with a row repeated is another stream",
}


class OnTables(Tables, OnlineKernel):
    def __init__(self, loss="gnmds", learning_rate="passive-aggressive", steps_per_answer=1, random_state=None):
        super().__init__(
            loss,
            learning_rate=learning_rate,
            steps_per_answer=steps_per_answer,
            n_objects=N_OBJECTS,
            random_state=random_state,
        )

    def partial_fit(self, X, y=None, sample_weight=None):
        first = not hasattr(self, "n_samples_seen_")
        rows = self._rows(X, reset=first)
        width = self.n_features_in_
        super().partial_fit(rows, sample_weight=sample_weight)
        self.n_features_in_ = width
        return self


def name_of(part):
    if isinstance(part, OnTables):
        return f"{part.loss}-{part.steps_per_answer}"
    return getattr(part, "func", part).__name__


def checks():
    for model in (OnTables(), OnTables("ste", learning_rate=0.1, steps_per_answer=2)):
        for estimator, check in estimator_checks_generator(model, legacy=True):
            reason = NOT_FOR_STREAMS.get(name_of(check))
            marks = [pytest.mark.xfail(reason=reason)] if reason else []
            yield pytest.param(estimator, check, marks=marks, id=f"{name_of(model)}-{name_of(check)}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_checks(estimator, check):
    check(estimator)
