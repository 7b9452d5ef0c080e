"""Losses as expressions, from which source code for PyTorch and Triton is written.

A loss consists of arithmetic, comparisons and the functions of :mod:`nearer.losses.ops`. Called with symbols instead of
numbers, it records what it computes. So a loss that was typed into a notebook, with helpers and parameters, runs on any
engine, and what value and slopes have in common is computed once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

UFUNCS: dict[Any, str] = {
    np.exp: "exp", np.log: "log", np.log1p: "log1p", np.sqrt: "sqrt", np.maximum: "maximum", np.add: "+",
    np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.power: "**", np.negative: "negative",
    np.absolute: "absolute", np.square: "square", np.less: "<", np.less_equal: "<=", np.greater: ">",
    np.greater_equal: ">=",
}  # fmt: skip
INFIX = ("+", "-", "*", "/", "<", "<=", ">", ">=")
ALLOWED = "arithmetic, comparisons and the functions of nearer.losses.ops"


@dataclass(frozen=True, eq=False)
class Expression:
    """A number that is computed later: an operation with expressions and constants, or a named variable."""

    operation: str
    arguments: tuple[Any, ...]

    def __array_ufunc__(self, ufunc: Any, method: str, *arguments: Any, **named: Any) -> "Expression":
        """Record a function of numpy."""
        if method != "__call__" or named or ufunc not in UFUNCS:
            raise TypeError(f"numpy's {ufunc.__name__} cannot be used on every engine: a loss may use {ALLOWED}")
        return Expression(UFUNCS[ufunc], arguments)

    def __array_function__(self, function: Any, types: Any, arguments: tuple, named: dict) -> "Expression":
        """Record numpy's where."""
        if function is not np.where or named or len(arguments) != 3:
            raise TypeError(
                f"numpy's {function.__name__} cannot be used on every engine: a loss may use {ALLOWED}"
            )
        return Expression("where", arguments)

    def __bool__(self) -> bool:
        """Refuse to decide: the value is not known yet."""
        raise TypeError("a loss cannot use if, and, or, min or max on distances: use ops.where and ops.maximum")

    def __float__(self) -> float:
        """Refuse to become a number: the value is not known yet."""
        raise TypeError(f"a loss cannot use math functions on distances: it may use {ALLOWED}")

    def __getitem__(self, key: Any) -> "Expression":
        """Return itself: numpy's where of numbers is indexed with ``()``."""
        return self

    def __neg__(self) -> "Expression":
        return Expression("negative", (self,))

    def __pos__(self) -> "Expression":
        return self

    def __abs__(self) -> "Expression":
        return Expression("absolute", (self,))


def _method(operation: str, reflected: bool) -> Callable[[Expression, Any], Expression]:
    def method(self: Expression, other: Any) -> Expression:
        return Expression(operation, (other, self) if reflected else (self, other))

    return method


for _operation, _name in {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "**": "pow"}.items():
    setattr(Expression, f"__{_name}__", _method(_operation, reflected=False))
    setattr(Expression, f"__r{_name}__", _method(_operation, reflected=True))
for _operation, _name in {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}.items():
    setattr(Expression, f"__{_name}__", _method(_operation, reflected=False))


def write_source(
    loss: Any,
    functions: dict[str, str],
    power: Callable[[str, Any], str],
    constant: Callable[[float], str] = repr,
) -> str:
    """Return the body of a function of near and far that ends with ``value, near_slope, far_slope``.

    Parameters
    ----------
    loss : object
        With the methods ``value`` and ``slopes``.
    functions : dict
        How functions such as "exp" and "maximum" are called.
    power : callable
        ``power(x, y)`` returns the source of x to the power y, of which y is a number or source.
    constant : callable
        ``constant(x)`` returns the source of a number that is an argument of a function or a result.
    """
    near, far = Expression("near", ()), Expression("far", ())
    try:
        results = [loss.value(near, far), *loss.slopes(near, far)]
    except (TypeError, ValueError) as error:
        raise ValueError(f"the loss {loss!r} cannot be used on this engine: {error}") from error
    names: dict[Any, str] = {("near",): "near", ("far",): "far"}
    lines: list[str] = []

    def source(value: Any, number: Callable[[float], str] = constant) -> str:
        if not isinstance(value, Expression):
            return number(float(value))
        is_infix = value.operation in (*INFIX, "**")
        arguments = [source(argument, repr if is_infix else constant) for argument in value.arguments]
        key = (value.operation, *arguments)
        if key not in names:
            names[key] = f"t{len(lines)}"
            lines.append(f"{names[key]} = {_call(value, arguments, functions, power)}")
        return names[key]

    ends = ", ".join(source(result) for result in results)
    return "\n".join([*lines, f"return {ends}"])


def _call(value: Expression, arguments: list[str], functions: dict[str, str], power: Callable[..., str]) -> str:
    """Return the source of one operation."""
    if value.operation in INFIX:
        return f"{arguments[0]} {value.operation} {arguments[1]}"
    if value.operation == "negative":
        return f"-{arguments[0]}"
    if value.operation == "square":
        return f"{arguments[0]} * {arguments[0]}"
    if value.operation == "**":
        exponent = value.arguments[1]
        return power(arguments[0], arguments[1] if isinstance(exponent, Expression) else float(exponent))
    return f"{functions[value.operation]}({', '.join(arguments)})"
