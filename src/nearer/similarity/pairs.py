"""Pairs of similar and dissimilar objects: what ITML and LEGO learn from.

All input becomes pairs of row numbers with a sign: triplets are drawn from labels, and a triplet (a, b, c) is the
similar pair (a, b) and the dissimilar pair (a, c).
"""

from typing import Any, NamedTuple

import numpy as np

from nearer.comparisons.random_state import RandomState, as_generator
from nearer.features.validation import validate_features
from nearer.similarity.inputs import MAX_TRIPLETS, validate_input
from nearer.simulate import comparisons_from_labels

N_SAMPLED = 100_000  # pairs that distances are estimated from


class Pairs(NamedTuple):
    """Pairs of rows of a table, and 1 for similar or -1 for dissimilar."""

    rows: np.ndarray
    signs: np.ndarray


def validate_pairs(
    model: Any,
    X: Any,
    y: Any,
    comparisons: Any,
    random: np.random.Generator,
    *,
    pairs: Any = None,
    reset: bool = True,
) -> tuple[np.ndarray, Pairs]:
    """Return the dense table and the pairs that labels, comparisons or signed pairs amount to."""
    if pairs is not None:
        if comparisons is not None:
            raise ValueError(
                "pass labels y, comparisons, or pairs with their signs as y; got comparisons and pairs"
            )
        table = validate_features(model, X, reset=reset)
        return table, _signed_pairs(pairs, y, len(table))
    table, labels, triplets = validate_input(model, X, y, comparisons, reset=reset)
    if triplets is None:
        n = model.n_constraints or min(20 * len(np.unique(labels)) ** 2, MAX_TRIPLETS)
        triplets = comparisons_from_labels(labels, n, random)
    elif triplets.weights is not None and np.ptp(triplets.weights) > 0:
        raise ValueError(f"{type(model).__name__} takes comparisons of equal weight; these differ in weight")
    rows = triplets.rows
    both = np.stack([rows[:, [0, 1]], rows[:, [0, 2]]], axis=1).reshape(-1, 2)
    return table, Pairs(np.ascontiguousarray(both), np.tile([1.0, -1.0], len(rows)))


def _signed_pairs(pairs: Any, y: Any, n: int) -> Pairs:
    rows, signs = np.asarray(pairs), np.asarray(y)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"pairs must be integers, two per row; got shape {rows.shape} of {rows.dtype}")
    if signs.shape != (len(rows),) or not np.isin(signs, (-1, 1)).all():
        got = f"{signs.size} values, among them {signs.ravel()[0]!r}" if signs.size else "none"
        raise ValueError(f"y must be 1 or -1 for each of the {len(rows)} pairs; got {got}")
    if len(rows) == 0:
        raise ValueError("there is nothing to learn from: no pairs")
    if rows.min() < 0 or rows.max() >= n:
        bad = int(np.flatnonzero(((rows < 0) | (rows >= n)).any(axis=1))[0])
        raise ValueError(f"pair {bad} is {rows[bad].tolist()}, but X has {n} rows, numbered from 0")
    return Pairs(np.ascontiguousarray(rows, dtype=np.int32), signs.astype(np.float64))


def squared_distance_sample(points: np.ndarray, random_state: RandomState) -> np.ndarray:
    """Return the squared distances above 0 of many pairs of rows drawn at random."""
    random = as_generator(random_state)
    a, b = random.integers(len(points), size=(2, min(N_SAMPLED, len(points) ** 2)))
    squares = np.square(points[a] - points[b]).sum(axis=1)
    squares = squares[squares > 0]
    if len(squares) == 0:
        raise ValueError("all rows of X are the same: there are no distances to learn from")
    return squares
