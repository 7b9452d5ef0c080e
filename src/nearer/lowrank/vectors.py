"""Kernels of the compiled steps: sparse vectors, vectors of k numbers, and small matrices.

A sparse vector is given by two arrays, its columns in rising order and its values. Small matrices hold one vector
per row. Kernels that are longer than a loop are compiled once, not copied into every caller: that halves the time
of a first fit.
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


@noinline
def multiply(A: Any, B: Any, out: Any) -> None:
    """Put A B into ``out``."""
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            out[i, j] = 0.0
        for a in range(A.shape[1]):
            value = A[i, a]
            for j in range(B.shape[1]):
                out[i, j] += value * B[a, j]


@noinline
def products(A: Any, B: Any, out: Any) -> None:
    """Put A Bᵀ, the inner products of their rows, into ``out``."""
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = 0.0
            for a in range(A.shape[1]):
                total += A[i, a] * B[j, a]
            out[i, j] = total


@noinline
def add_product(A: Any, B: Any, scale: float, out: Any) -> None:
    """Add scale · AᵀB to ``out``."""
    for i in range(A.shape[1]):
        for a in range(A.shape[0]):
            value = scale * A[a, i]
            for j in range(B.shape[1]):
                out[i, j] += value * B[a, j]


@noinline
def solve(matrix: Any, right: Any) -> bool:
    """Put the solution X of matrix · X = right into ``right``, overwriting ``matrix``; False if it is singular."""
    n, m = right.shape
    largest = 0.0
    for p in range(n):
        pivot = p
        for i in range(p + 1, n):
            if abs(matrix[i, p]) > abs(matrix[pivot, p]):
                pivot = i
        size = abs(matrix[pivot, p])
        largest = max(largest, size)
        if not size > 1e-10 * max(1.0, largest):
            return False
        if pivot != p:
            for j in range(n):
                matrix[p, j], matrix[pivot, j] = matrix[pivot, j], matrix[p, j]
            for j in range(m):
                right[p, j], right[pivot, j] = right[pivot, j], right[p, j]
        for i in range(p + 1, n):
            factor = matrix[i, p] / matrix[p, p]
            for j in range(p + 1, n):
                matrix[i, j] -= factor * matrix[p, j]
            for j in range(m):
                right[i, j] -= factor * right[p, j]
    for p in range(n - 1, -1, -1):
        for j in range(m):
            total = right[p, j]
            for i in range(p + 1, n):
                total -= matrix[p, i] * right[i, j]
            right[p, j] = total / matrix[p, p]
    return True
