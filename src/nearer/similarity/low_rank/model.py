"""Factors of W that learn from triplets, by the loop of a solver."""

from copy import deepcopy
from typing import Any

import numpy as np

from nearer.jit import bind
from nearer.lowrank import Factor, FixedRank, FixedRankPSD, Rows, Workspace, run_steps
from nearer.lowrank.loops import loreta_psd_step, loreta_step, passive_aggressive_step
from nearer.lowrank.vectors import project, project_table
from nearer.similarity.low_rank import loops

# Singular values of W below this are raised to it when factors are renewed: a tenth of the length of a step, or what
# changes the scores, which should be about one, by a hundredth.
LEAST, FAINT, TINY = 0.1, 0.01, np.finfo(float).tiny
SMALLEST_SHARE = 1e-3  # of the largest singular value of the inner matrix of Algorithm 6


class FactorModel:
    """Y of W = YYᵀ, or A and B of W = ABᵀ, that learn from triplets of rows of a table.

    ``step`` is "loreta", "gd" or "pa"; with ``identify`` LORETA takes the inner steps of Algorithm 6. ``loss`` is a
    loss of two squared distances, or None for the hinge of the bilinear score.
    """

    def __init__(
        self, step: str, loss: Any, start: tuple[np.ndarray, ...], rows: Rows, identify: bool = False
    ) -> None:
        self.rows = rows
        self.n_taken = 0
        self._length = float(rows.values @ rows.values) / max(1, len(rows.places))  # of a gradient, about
        self._least = 0.0
        k = start[0].shape[1]
        psd = len(start) == 1
        gradient = loops.hinge_gradient if loss is None else loops.distance_gradient
        manifold = step == "loreta"
        steps: dict[str, Any] = {
            "loreta": loreta_psd_step if psd else loreta_step,
            "gd": loops.gradient_step,
            "pa": passive_aggressive_step,
        }
        how = project if manifold else project_table
        parts = {"find_gradient": gradient, "take_step": steps[step], "project": how}
        self._loop = bind(loops.take_steps, loss, **parts)
        self._inner_loop = bind(loops.inner_steps, project=project)
        self._work = Workspace.of(k, (2 if loss is None else 4) * rows.longest)
        self.inner_steps = k if identify else 0
        self.inner_cap: float | None = None  # of these steps; None: the same as that of the others
        self._model = None
        if manifold:
            self._model = FixedRankPSD(*start) if psd else FixedRank(*start)
            self._tables = self._model.factors
        else:  # steps change the tables alone
            self._tables = tuple(Factor.plain(table) for table in start)

    @property
    def on_manifold(self) -> bool:
        """Whether steps are those of W along the manifold, and not those of the factors."""
        return self._model is not None

    @property
    def factors(self) -> tuple[np.ndarray, ...]:
        """Y, or A and B, as they are now."""
        return tuple(factor.matrix for factor in self._tables)

    def copy(self) -> "FactorModel":
        """Return a copy that learns from the same table."""
        return deepcopy(self, {id(shared): shared for shared in (self.rows, self._loop, self._inner_loop)})

    def take(self, triplets: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Learn from triplets in order; return the losses before each step. FloatingPointError if it diverges."""
        losses = np.zeros(len(triplets))
        if not self.inner_steps:  # whose inner steps depend on the factors themselves, and not on W alone
            self._least = min(LEAST * float(steps.mean()) * self._length, FAINT / max(self._length, TINY))
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                if self.inner_steps:
                    self._identify(triplets, steps, losses)
                else:
                    self._run(triplets, steps, losses)
            except ValueError as error:  # a factor lost its rank
                raise FloatingPointError(str(error)) from error
            self.n_taken += len(triplets)
            sizes = [float(part.sum()) for factor in self._tables for part in factor]
            sizes.append(float(losses.sum()))
        if not np.isfinite(sizes).all():
            raise FloatingPointError("numbers are no longer finite")
        return losses

    def settle(self) -> None:
        """Renew the factors; FloatingPointError if they have lost their rank."""
        if self._model is not None:
            try:
                self._model.settle(self._least)
            except ValueError as error:
                raise FloatingPointError(str(error)) from error

    def _run(self, triplets: np.ndarray, steps: np.ndarray, losses: np.ndarray) -> None:
        problem, learned = (self.rows, triplets), (self._tables, self._work, losses)
        run_steps(self._loop, problem, steps, self.n_taken, *learned, self._model, self._least)

    def _identify(self, triplets: np.ndarray, steps: np.ndarray, losses: np.ndarray) -> None:
        """Algorithm 6: after each step of LORETA, steps of a matrix between the factors."""
        caps = steps if self.inner_cap is None else np.full(len(steps), self.inner_cap)
        for start in range(0, len(triplets), 1 + self.inner_steps):
            first, others = slice(start, start + 1), slice(start + 1, start + 1 + self.inner_steps)
            self._run(triplets[first], steps[first], losses[first])
            between = np.eye(self._tables[0].R.shape[0])
            inner = self._inner_loop
            inner(self.rows, triplets[others], caps[others], self._tables, between, self._work, losses[others])
            if not np.isfinite(between).all():
                raise FloatingPointError("numbers are no longer finite")
            left, values, right = np.linalg.svd(between)
            roots = np.sqrt(np.maximum(values, SMALLEST_SHARE * values[0]))
            for factor, basis in zip(self._tables, (left, right.T), strict=True):
                factor.R[:] = factor.R @ (basis * roots)
                back = (basis / roots).T
                factor.R_inv[:] = back @ factor.R_inv
                factor.C[:] = back @ factor.C @ back.T
            if self._model is not None and self._model.has_changed():
                self._model.reorthogonalize(self._least)
