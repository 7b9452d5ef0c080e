"""What estimators that iterate share: their monitor, and the learned attributes that it leads to."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from nearer.monitor import Monitor, Result


class DivergedError(ValueError):
    """The numbers of a fit are no longer finite: its steps are too large."""


class IterativeEstimator:
    """Make the monitor of a fit from the parameters of an estimator, and set the attributes it leads to."""

    n_iter_: int
    converged_: bool
    stop_reason_: str
    history_: list[dict[str, Any]]
    selection_: list[dict[str, Any]] | None

    def _monitor(self, tol: float | None = None, **parameters: Any) -> Monitor:
        """Return a monitor with the parameters of the estimator; a new fit begins, so what was chosen is gone."""
        own: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("max_iter", "callback", "verbose", "max_seconds")
            if hasattr(self, name)
        }
        self.selection_ = None
        return Monitor(**{**own, "tol": tol, **parameters})

    def _set_result(
        self,
        result: Result,
        hint: str = "raise max_iter or tol",
        stacklevel: int = 3,
        warn: bool = True,
        unit: float = 1.0,
    ) -> None:
        """Set the learned attributes of a result, and warn where it was to converge and did not; tol is in units."""
        self.history_, self.n_iter_ = result.history, result.n_iter
        self.converged_, self.stop_reason_ = result.converged, result.reason
        tol = getattr(self, "tol", None) if warn else None
        problem = None
        if result.reason == "not finite":
            problem = (
                f"the objective was no longer finite after {self.n_iter_} iterations; the last finite solution is "
                "kept: take a smaller step size"
            )
        elif result.reason == "max_iter" and tol is not None:
            last = result.history[-1]
            left = f"a loss of {last['loss']:.6g}, which had not settled"
            for name in {"gap", "residual"} & set(last):
                left = f"a {name} of {last[name]:.2g}"
            limit = f"tol={tol}" if unit == 1.0 else f"tol={tol} asks for {tol * unit:.2g}"
            problem = f"the fit ended after {self.n_iter_} iterations with {left} ({limit}): {hint}"
        if problem is not None:
            warnings.warn(problem, ConvergenceWarning, stacklevel=stacklevel)
