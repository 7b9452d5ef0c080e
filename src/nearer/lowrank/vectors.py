"""Vectors by their entries, and short ones of k numbers: what compiled steps do with them.

A vector of many places has ``size`` entries: its columns from ``columns[c]`` on, which rise, and its values from
``values[v]`` on.
"""

from typing import Any

from nearer.jit import noinline


def collect(table: Any, columns: Any, c: int, values: Any, v: int, size: int, found: Any) -> None:
    """Put tableᵀg into ``found``; g has ``size`` entries, from ``columns[c]`` and ``values[v]`` on."""
    k = table.shape[1]
    for j in range(k):
        found[j] = 0.0
    for e in range(size):
        row, value = columns[c + e], values[v + e]
        for j in range(k):
            found[j] += value * table[row, j]


@noinline
def gather(factor: Any, columns: Any, c: int, values: Any, v: int, size: int, room: Any, found: Any) -> None:
    """Put Aᵀg into ``found``, as `collect` does for the table alone."""
    collect(factor.table, columns, c, values, v, size, room)
    for j in range(found.size):
        found[j] = 0.0
    for i in range(found.size):
        value = room[i]
        for j in range(found.size):
            found[j] += factor.turn[i, j] * value


@noinline
def spread(table: Any, columns: Any, c: int, values: Any, v: int, size: int, scale: float, change: Any) -> None:
    """Add scale · g · changeᵀ to the table."""
    k = table.shape[1]
    for e in range(size):
        row, value = columns[c + e], scale * values[v + e]
        for j in range(k):
            table[row, j] += value * change[j]


@noinline
def difference(
    columns: Any, values: Any, c: int, v: int, n: int, d: int, w: int, m: int, to_columns: Any, to_values: Any
) -> int:
    """Merge row (c, v, n) minus row (d, w, m), columns rising, into the room given; return how many entries."""
    i, j, size = 0, 0, 0
    if c == d and n == m:  # rows of a dense table
        for e in range(n):
            to_columns[e], to_values[e] = columns[c + e], values[v + e] - values[w + e]
        return n
    while i < n and j < m:
        left, right = columns[c + i], columns[d + j]
        if left == right:
            value = values[v + i] - values[w + j]
            i, j = i + 1, j + 1
        elif left < right:
            value = values[v + i]
            i += 1
        else:
            value = -values[w + j]
            j += 1
        to_columns[size], to_values[size] = min(left, right), value
        size += 1
    for e in range(i, n):
        to_columns[size], to_values[size] = columns[c + e], values[v + e]
        size += 1
    for e in range(j, m):
        to_columns[size], to_values[size] = columns[d + e], -values[w + e]
        size += 1
    return size


@noinline
def product(
    columns: Any, values: Any, c: int, v: int, n: int, others: Any, other_values: Any, d: int, w: int, m: int
) -> float:
    """Return the inner product of two vectors with rising columns."""
    i, j, total = 0, 0, 0.0
    while i < n and j < m:
        left, right = columns[c + i], others[d + j]
        if left == right:
            total += values[v + i] * other_values[w + j]
        i, j = i + (left <= right), j + (right <= left)
    return total


def square(values: Any, v: int, n: int) -> float:
    """Return the squared length of a vector."""
    total = 0.0
    for e in range(n):
        total += values[v + e] * values[v + e]
    return total


def dot(left: Any, right: Any) -> float:
    """Return the inner product of two short vectors."""
    total = 0.0
    for j in range(left.size):
        total += left[j] * right[j]
    return total


def times(matrix: Any, vector: Any, found: Any) -> None:
    """Put a symmetric matrix times a vector into ``found``."""
    k = vector.size
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += matrix[i, j] * vector[j]
        found[i] = total
