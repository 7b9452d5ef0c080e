"""The compiled loops of LMNN: who is within reach of a row, and what pushes and pulls it.

Rows are sorted by class, so those of other classes than row r's are before ``lows[r]`` and from ``highs[r]`` on.
"""

from typing import Any


def count_within(products: Any, floors: Any, lows: Any, highs: Any, counts: Any) -> None:
    """Count, for each row of the products, those of other classes above its floor."""
    for r in range(products.shape[0]):
        floor = floors[r]
        count = 0
        for other in range(lows[r]):
            count += products[r, other] > floor
        for other in range(highs[r], products.shape[1]):
            count += products[r, other] > floor
        counts[r] = count


def list_within(products: Any, floors: Any, lows: Any, highs: Any, starts: Any, others: Any) -> None:
    """Fill ``others`` with what :func:`count_within` counted, the first of row r at ``starts[r]``."""
    for r in range(products.shape[0]):
        floor = floors[r]
        place = starts[r]
        for other in range(lows[r]):
            if products[r, other] > floor:
                others[place] = other
                place += 1
        for other in range(highs[r], products.shape[1]):
            if products[r, other] > floor:
                others[place] = other
                place += 1


def reaches(points: Any, targets: Any, reach: Any) -> float:
    """Fill ``reach`` with 1 + the squared distance to each target, 0 for none (-1); return their sum."""
    total = 0.0
    for i in range(targets.shape[0]):
        for j in range(targets.shape[1]):
            target = targets[i, j]
            if target < 0:
                reach[i, j] = 0.0
                continue
            distance = 0.0
            for c in range(points.shape[1]):
                step = points[i, c] - points[target, c]
                distance += step * step
            reach[i, j] = 1.0 + distance
            total += distance
    return total


def push(
    points: Any, reach: Any, furthest: Any, first: int, starts: Any, others: Any, slopes: Any, counts: Any
) -> float:
    """Add up the hinges of the rows from ``first`` on, each with the others listed for it.

    To ``slopes`` goes half the gradient of the minus-distances to impostors, to ``counts`` how many are within
    reach of each target, which is how often that target is pulled. A pair out of reach costs its distance only.
    """
    value = 0.0
    for r in range(starts.size - 1):
        i = first + r
        limit = furthest[i]
        for p in range(starts[r], starts[r + 1]):
            other = others[p]
            distance = 0.0
            for c in range(points.shape[1]):
                step = points[i, c] - points[other, c]
                distance += step * step
            if distance >= limit:
                continue
            hinges = 0.0
            for j in range(reach.shape[1]):
                short = reach[i, j] - distance
                if short > 0.0:
                    value += short
                    hinges += 1.0
                    counts[i, j] += 1.0
            for c in range(points.shape[1]):
                step = hinges * (points[i, c] - points[other, c])
                slopes[i, c] -= step
                slopes[other, c] += step
    return value


def pull(points: Any, targets: Any, weights: Any, slopes: Any) -> None:
    """Add half the gradient of the weighted distances to targets."""
    for i in range(targets.shape[0]):
        for j in range(targets.shape[1]):
            target = targets[i, j]
            weight = weights[i, j]
            if target < 0:
                continue
            for c in range(points.shape[1]):
                step = weight * (points[i, c] - points[target, c])
                slopes[i, c] += step
                slopes[target, c] -= step
