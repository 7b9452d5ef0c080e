"""The base of the estimators that learn from a stream, step by step: parameters, attributes and their documentation."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, field, fields
from inspect import cleandoc, signature
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from nearer.iterative import IterativeEstimator
from nearer.models import SavedModel
from nearer.parameters import check_parameters, parametrized, unchanged_on_failure
from nearer.selection import Selection
from nearer.solver import as_solver

LEARNED_VALUES = (
    "learning_rate_", "selection_", "history_", "n_iter_", "converged_", "stop_reason_", "n_steps_", "n_features_in_",
)  # fmt: skip

# What is inserted into the documentation of an estimator, before the section named.
DOCUMENTATION = {
    "Attributes": """
max_seconds : float, optional
    End the fit after this time with the model so far.
callback : callable, optional
    Called with each record of ``history_``, and before that with one per step size that is tried; ``stage``
    says which. Returning True ends the fit.
verbose : bool, default=False
    Show progress bars.""",
    "Notes": """
n_iter_ : int
    Records of the last fit.
converged_ : bool
    Whether held-out data ended the fit: early stopping, or a number of steps that they chose, which may be none.
stop_reason_ : str
    Why the last fit ended: "max_iter" (all steps were taken), "converged" (as above), "time", "callback" or
    "interrupted" (Ctrl-C, which keeps the model so far).
n_steps_ : int
    Steps taken so far.
n_features_in_ : int
    Number of columns.""",
}


@parametrized
class StreamEstimator(IterativeEstimator, SavedModel, BaseEstimator):
    """Base of estimators whose solvers learn from a stream; those document all parameters but the last three."""

    _solvers: ClassVar[Mapping[str, Any]]
    learning_rate_: Any = field(init=False)
    n_steps_: int = field(init=False)
    n_features_in_: int = field(init=False)

    rank: Any = None
    solver: Any = "loreta"
    _: KW_ONLY
    learning_rate: float | str = "auto"
    n_steps: int | None = None
    early_stopping: Any = False
    validation_fraction: float = 0.1
    random_state: Any = None
    max_seconds: float | None = None
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    verbose: bool = False

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Check the parameters, and leave the model as it was when learning fails."""
        check_parameters(self)
        if isinstance(self._solver, BaseEstimator):  # one of the library: also where it may take no step
            check_parameters(self._solver)
        with unchanged_on_failure(self):
            yield

    @property
    def _solver(self) -> Any:
        return as_solver(self.solver, self._solvers)

    def _select_rate(self, select: Callable[[], tuple[float, Selection]]) -> float:
        """Return the step size, selected if it is "auto"."""
        if not isinstance(self.learning_rate, str):
            return float(self.learning_rate)
        rate, selection = select()
        self.selection_ = selection.records()
        return rate

    def _resumed_rate(self) -> float:
        return float(self.learning_rate_ if isinstance(self.learning_rate, str) else self.learning_rate)


def documented(kind: Any) -> Any:
    """Insert the shared documentation into that of an estimator, and put its own parameters before the shared ones."""
    text = cleandoc(kind.__doc__ or "")
    for section, shared in DOCUMENTATION.items():
        text = text.replace(f"\n\n{section}\n---", f"{shared}\n\n{section}\n---")
    kind.__doc__ = text
    names = [parameter.name for parameter in fields(StreamEstimator) if parameter.kw_only]
    init = signature(kind.__init__)
    order = sorted(init.parameters.values(), key=lambda parameter: parameter.name in names)
    kind.__init__.__signature__ = init.replace(parameters=order)
    return kind
