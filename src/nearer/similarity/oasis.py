"""OASIS: a bilinear similarity learned online by passive-aggressive steps (Chechik et al. 2010).

Each triplet is met once, in order: W ← W + τ Xᵢ with τ = min(C, (1 - ⟨W, Xᵢ⟩)₊ / ‖Xᵢ‖²), the smallest change that
meets it with a margin of one, capped. Among symmetric matrices the step goes along the symmetric part of Xᵢ. A
positive semidefinite matrix is kept by projecting every so many steps; what is learned is projected at the end.
"""

import numpy as np

from nearer.similarity.cone import projected
from nearer.similarity.sdca import Watch
from nearer.similarity.steps import oasis_steps
from nearer.similarity.triplets import Triplets

FEWEST_BETWEEN = 64  # steps from one projection to the next, or as many as there are columns


def oasis(
    triplets: Triplets,
    matrix: np.ndarray,
    aggressiveness: float,
    watch: Watch,
    *,
    symmetric: bool,
    psd: bool,
    taken: int,
) -> int:
    """Pass over the triplets in order, changing the matrix in place, until the watch has seen enough.

    Parameters
    ----------
    triplets : Triplets
        The data.
    matrix : array of shape (d, d)
        Where to start; changed in place.
    aggressiveness : float
        The cap C on a step; a triplet's weight multiplies it.
    watch : Watch
        Sees every pass.
    symmetric, psd : bool
        What the matrix is kept as; positive semidefinite to within what the steps since the last projection did.
    taken : int
        Steps that led to the matrix: projections come every so many steps, in one fit or several.

    Returns
    -------
    int
        Steps taken.
    """
    n = len(triplets)
    caps = aggressiveness * triplets.weights
    between = max(FEWEST_BETWEEN, len(matrix)) if psd else n
    first, over = taken, False
    while not over:
        met, done = 0.0, 0
        while done < n:
            stop = min(n, done + between - taken % between)
            met += oasis_steps(triplets, matrix, np.arange(done, stop), caps, symmetric)
            taken, done = taken + stop - done, stop
            if psd and taken % between == 0:
                matrix[:] = projected(matrix)
        over = watch.over(len(watch.history) + 1, met / n)
    return taken - first
