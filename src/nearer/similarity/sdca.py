"""SDCA for a relative similarity: Algorithm 1 of the paper, its three outputs, and the duality gap that ends it.

Minimises P(M) = Σ pᵢ (1 - sᵢ)₊² + λ/2 ‖M‖² with scores sᵢ = ⟨M, Xᵢ⟩ and shares pᵢ (1/n each without weights). The
dual is D(α) = Σ pᵢ (αᵢ - αᵢ²/4) - λ/2 ‖M(α)‖² over α ≥ 0, M(α) = Σ pᵢ αᵢ Xᵢ / λ. As λ‖M(α)‖² = Σ pᵢ αᵢ sᵢ, the gap
is a sum of terms that are never negative, without cancellation::

    P(M(α)) - D(α) = Σ pᵢ [(1 - sᵢ - αᵢ/2)²  where sᵢ ≤ 1,  αᵢ(sᵢ - 1) + αᵢ²/4  where sᵢ > 1]

It bounds how far P(M(α)) is above its minimum, and ‖M(α) - M*‖² by 2 gap / λ.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from nearer.similarity.steps import Ascent
from nearer.similarity.triplets import Triplets


@dataclass
class Watch:
    """Sees every epoch of a fit: keeps the history, moves the bar, and says when it is over.

    Attributes
    ----------
    max_epochs : int
        Epochs at most.
    tol : float
        The fit has converged when the gap is no more than this.
    callback : callable, optional
        Called with every record; True stops the fit.
    bar : object, optional
        A progress bar.
    history : list of dict
        A record an epoch; SDCA has one of the start as well.
    converged, stopped : bool
        Whether the gap, or the callback, ended the fit.
    """

    max_epochs: int
    tol: float
    callback: Callable[[dict[str, Any]], bool | None] | None = None
    bar: Any = None
    history: list[dict[str, Any]] = field(default_factory=list)
    converged: bool = False
    stopped: bool = False
    _begun: float = field(default_factory=perf_counter)

    def over(self, epoch: int, loss: float, gap: float | None = None, **more: Any) -> bool:
        """Take note of where the fit stands after so many epochs; whether that was the last."""
        record = {"epoch": epoch, "loss": loss, "gap": gap, **more}
        self.history.append({**record, "seconds": perf_counter() - self._begun})
        self.converged = gap is not None and gap <= self.tol
        if self.callback is not None and self.callback(dict(self.history[-1])):
            self.stopped = True
        if self.bar is not None and epoch:
            self.bar.update(1)
            self.bar.set_postfix_str(f"loss {loss:.4f}" if gap is None else f"gap {gap:.2g}", refresh=False)
        return self.converged or self.stopped or epoch >= self.max_epochs


@dataclass(frozen=True)
class Found:
    """What a solver found.

    Attributes
    ----------
    matrix : array of shape (d, d)
        M(α).
    alpha : array of shape (n,)
        The dual variables, a proof of how good the matrix is.
    gap : float
        The duality gap of the two.
    """

    matrix: np.ndarray
    alpha: np.ndarray
    gap: float


def duality_gap(shares: np.ndarray, alpha: np.ndarray, scores: np.ndarray) -> float:
    """Return P(M(α)) - D(α) from the scores under M(α).

    Examples
    --------
    >>> duality_gap(np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.array([0.0, 0.5]))
    0.5
    """
    short = np.where(
        scores <= 1.0, np.square(1.0 - scores - 0.5 * alpha), alpha * (scores - 1.0) + 0.25 * alpha**2
    )
    return float(shares @ short)


def primal(shares: np.ndarray, scores: np.ndarray, matrix: np.ndarray, regularization: float) -> float:
    """Return P(M), the objective, from the scores under M."""
    loss = shares @ np.square(np.maximum(0.0, 1.0 - scores))
    return float(loss + 0.5 * regularization * np.vdot(matrix, matrix))


def sdca(
    triplets: Triplets,
    regularization: float,
    output: str,
    watch: Watch,
    random: np.random.Generator,
    start: np.ndarray | None = None,
) -> Found:
    """Run Algorithm 1 until the gap is small or the epochs are over.

    Parameters
    ----------
    triplets : Triplets
        The data.
    regularization : float
        λ.
    output : {"average", "random", "last"}
        Which matrix to return: the mean over the second half of the steps, one of these, or the last. Where the
        gap ends the fit, the last in any case: it is the one with that gap.
    watch : Watch
        Sees every epoch, n steps each.
    random : numpy.random.Generator
        Draws triplets, uniformly as printed.
    start : array of shape (n,), optional
        Dual variables to start from.

    Returns
    -------
    Found
    """
    n, shares = len(triplets), triplets.shares
    ascent = Ascent(triplets, regularization, start)
    last = watch.max_epochs * n
    half = last // 2
    chosen = half + 1 + int(random.integers(last - half))  # the step whose iterate "random" returns
    kept = None

    def over() -> bool:
        scores = triplets.scores(ascent.matrix)
        value = primal(shares, scores, ascent.matrix, regularization)
        gap = duality_gap(shares, ascent.alpha, scores)
        return watch.over(ascent.steps // n, value, gap, dual=value - gap)

    while not over():
        end = ascent.steps + n
        for stop in sorted({half, chosen, end}):
            if not ascent.steps < stop <= end:
                continue
            ascent.ascend(random.integers(n, size=stop - ascent.steps, dtype=np.int32))
            if stop == half:
                ascent.begin_average()
            if stop == chosen:
                kept = ascent.alpha.copy()
    if output == "average" and not watch.converged and ascent.steps > half:
        alpha = ascent.average()
    elif output == "random" and not watch.converged and kept is not None:
        alpha = kept
    else:
        return Found(ascent.matrix, ascent.alpha, watch.history[-1]["gap"])
    matrix = ascent.matrix_of(alpha)
    return Found(matrix, alpha, duality_gap(shares, alpha, triplets.scores(matrix)))
