"""The compiled loop of label ranking, one row after another, and what each solver puts into it.

A row x of `Rows` has its true labels in `Labels`. A step has three parts: a solver prepares what labels are scored
with; a vector v of few labels, along which the loss falls, is found (:mod:`nearer.ranking.violations`); and the
solver steps along v xᵀ. A model is a tuple: both factors; W; or θ, ‖θ_j‖², the sum of ‖θ_j‖ˢ, and s. Matrices are of
features by labels.
"""

from typing import TYPE_CHECKING, Any

from nearer.lowrank.loops import loreta_step, passive_aggressive_step
from nearer.lowrank.vectors import project, project_table, row, times

if TYPE_CHECKING:  # bound by `bind`
    prepare: Any = None
    find_violation: Any = None
    take_step: Any = None


def take_steps(problem: Any, steps: Any, span: Any, limits: Any, model: Any, work: Any, losses: Any) -> int:
    """Take a step along each row of a problem (X, Y, order, draws); see `nearer.lowrank.factors.run_steps`."""
    X, Y, order, draws = problem
    for t in range(span[0], span[1]):
        i = order[t]
        columns, values = row(X, i)
        table, weights = prepare(model, columns, values, work)
        size, losses[t] = find_violation(table, columns, weights, Y, i, t, draws, work)
        if size > 0:
            gradient = work.columns[:size], work.values[:size], columns, values  # v, and x
            if take_step(model, gradient, losses[t], steps[t], span[2] + t, limits, work):
                return -(t + 1)
    return int(span[1])


def prepare_loreta(model: Any, columns: Any, values: Any, work: Any) -> tuple[Any, Any]:
    """Return Ã and R Bᵀx of W = ABᵀ."""
    project(model[1], columns, values, work.vectors[0], work.E[1])
    times(model[0].R, work.E[1], work.vectors[3])
    return model[0].table, work.vectors[3]


def step_loreta(model: Any, gradient: Any, loss: float, step: float, number: int, limits: Any, work: Any) -> bool:
    """Step on the manifold (Algorithm 4)."""
    project(model[0], gradient[0], gradient[1], work.vectors[0], work.E[0])
    return loreta_step(model, gradient, loss, step, number, limits, work)


def prepare_pa(model: Any, columns: Any, values: Any, work: Any) -> tuple[Any, Any]:
    """Return A and Bᵀx of W = ABᵀ."""
    project_table(model[1], columns, values, work.vectors[0], work.E[1])
    return model[0].table, work.E[1]


def step_pa(model: Any, gradient: Any, loss: float, cap: float, number: int, limits: Any, work: Any) -> bool:
    """Take a passive-aggressive step on A and B in turn."""
    project_table(model[0], gradient[0], gradient[1], work.vectors[0], work.E[0])
    return passive_aggressive_step(model, gradient, loss, cap, number, limits, work)


def prepare_perceptron(model: Any, columns: Any, values: Any, work: Any) -> tuple[Any, Any]:
    """Return W, features by labels, and the row itself."""
    return model[0], values


def step_perceptron(
    model: Any, gradient: Any, loss: float, step: float, number: int, limits: Any, work: Any
) -> bool:
    """Take a subgradient step of the matrix."""
    W = model[0]
    labels, v, columns, values = gradient
    for e in range(columns.size):
        feature, scaled = columns[e], step * values[e]
        for c in range(labels.size):
            W[feature, labels[c]] += scaled * v[c]
    return False


def prepare_group(model: Any, columns: Any, values: Any, work: Any) -> tuple[Any, Any]:
    """Return θ, features by labels, and x_j (‖θ_j‖ / ‖θ‖₂ₛ)ˢ⁻².

    The matrix W_j = (‖θ_j‖ / ‖θ‖₂ₛ)ˢ⁻² θ_j itself is never made.
    """
    theta, squares, total, power = model
    weights = work.weights[: columns.size]
    shrink = total[0] ** (-2.0 / power) if total[0] > 0.0 else 0.0
    for e in range(columns.size):
        share = squares[columns[e]] * shrink
        weights[e] = values[e] * share ** (0.5 * power - 1.0)
    return theta, weights


def step_group(model: Any, gradient: Any, loss: float, step: float, number: int, limits: Any, work: Any) -> bool:
    """Step along v xᵀ in θ, and keep ‖θ_j‖² and the sum of ‖θ_j‖ˢ."""
    theta, squares, total, power = model
    labels, v, columns, values = gradient
    for e in range(columns.size):
        feature, scaled = columns[e], step * values[e]
        before = after = squares[feature]
        for c in range(labels.size):
            old = theta[feature, labels[c]]
            new = old + scaled * v[c]
            theta[feature, labels[c]] = new
            after += (new - old) * (new + old)
        after = max(0.0, after)
        squares[feature] = after
        total[0] += after ** (0.5 * power) - before ** (0.5 * power)
    return False
