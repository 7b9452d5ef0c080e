"""Kernels of the compiled steps: sparse vectors, and vectors of k numbers.

A sparse vector is given by two arrays, its columns in rising order and its values. Kernels are compiled once, not
copied into every caller: that halves the time of a first fit.
"""

from typing import Any

from nearer.jit import noinline


def row(X: Any, i: int) -> tuple[Any, Any]:
    """Return columns and values of row i of `Rows`."""
    first, stop, place = X.starts[i], X.starts[i + 1], X.places[i]
    return X.columns[place : place + stop - first], X.values[first:stop]


@noinline
def project_table(factor: Any, columns: Any, values: Any, scratch: Any, out: Any) -> None:
    """Put Ãᵀg into ``out``: `project` of a factor whose R is the identity."""
    table = factor.table
    for j in range(out.size):
        out[j] = 0.0
    for e in range(columns.size):
        place, value = columns[e], values[e]
        for j in range(out.size):
            out[j] += value * table[place, j]


@noinline
def project(factor: Any, columns: Any, values: Any, scratch: Any, out: Any) -> None:
    """Put Aᵀg = Rᵀ(Ãᵀg) of a sparse vector g into ``out``."""
    table, R = factor.table, factor.R
    for j in range(out.size):
        scratch[j] = out[j] = 0.0
    for e in range(columns.size):
        place, value = columns[e], values[e]
        for j in range(out.size):
            scratch[j] += value * table[place, j]
    for i in range(out.size):
        value = scratch[i]
        for j in range(out.size):
            out[j] += R[i, j] * value


@noinline
def add_outer(table: Any, columns: Any, values: Any, scale: float, vector: Any) -> None:
    """Add scale · g vectorᵀ of a sparse vector g to a table."""
    for e in range(columns.size):
        place, value = columns[e], scale * values[e]
        for j in range(vector.size):
            table[place, j] += value * vector[j]


@noinline
def subtract_rows(X: Any, b: int, c: int, to_columns: Any, to_values: Any) -> int:
    """Put X[b] - X[c] into columns and values; return how many entries it has."""
    columns, values = row(X, b)
    others, other_values = row(X, c)
    n, m, i, j, size = columns.size, others.size, 0, 0, 0
    if X.places[b] == X.places[c] and n == m:  # rows of a dense table
        for e in range(n):
            to_columns[e], to_values[e] = columns[e], values[e] - other_values[e]
        return n
    while i < n and j < m:
        left, right = columns[i], others[j]
        if left == right:
            value = values[i] - other_values[j]
            i, j = i + 1, j + 1
        elif left < right:
            value = values[i]
            i += 1
        else:
            value = -other_values[j]
            j += 1
        to_columns[size], to_values[size] = min(left, right), value
        size += 1
    for e in range(i, n):
        to_columns[size], to_values[size] = columns[e], values[e]
        size += 1
    for e in range(j, m):
        to_columns[size], to_values[size] = others[e], -other_values[e]
        size += 1
    return size


@noinline
def sparse_dot(columns: Any, values: Any, others: Any, other_values: Any) -> float:
    """Return the inner product of two sparse vectors."""
    i, j, total = 0, 0, 0.0
    while i < columns.size and j < others.size:
        left, right = columns[i], others[j]
        if left == right:
            total += values[i] * other_values[j]
        i, j = i + (left <= right), j + (right <= left)
    return total


@noinline
def dot(left: Any, right: Any) -> float:
    """Return the inner product of two vectors."""
    total = 0.0
    for j in range(left.size):
        total += left[j] * right[j]
    return total


@noinline
def times(matrix: Any, vector: Any, out: Any) -> None:
    """Put a matrix times a vector into ``out``."""
    for i in range(vector.size):
        total = 0.0
        for j in range(vector.size):
            total += matrix[i, j] * vector[j]
        out[i] = total
