"""How far one answer pushes the kernel: the step lengths γ of section 4.3 of the ERKLE paper.

A fixed rule gives γ = δ(t) f, where f is the slope of the loss: 1 - p for STE, 0 or 1 for GNMDS, and for any loss
the mean of its two slopes, ½(∂/∂near - ∂/∂far). A passive-aggressive step is as long as it takes: a step of length
γ lowers near - far by ``slope * γ``, so γ = (near - far + margin) / slope meets the margin exactly (4.18), and the
margin log P - log(1 - P) stands for a wanted probability P (4.20). A cap on it, as PA-I has one, is what the paper
leaves to future work.
"""

import math
from collections.abc import Callable
from typing import Any

from nearer.losses import loss_trait, losses_with
from nearer.parameters import check, is_number

PASSIVE_AGGRESSIVE = "passive-aggressive"
FALLING: dict[str, Callable[[int], float]] = {"1/t": lambda t: 1.0 / t, "1/sqrt(t)": lambda t: 1.0 / math.sqrt(t)}

Length = Callable[[float, float, float, float, int], float]


def check_steps(model: Any) -> None:
    """Raise a ValueError that names the first parameter of the steps that cannot be."""
    names = ", ".join(map(repr, (PASSIVE_AGGRESSIVE, *FALLING)))
    by_name = isinstance(model.step, str) and model.step in (PASSIVE_AGGRESSIVE, *FALLING)
    check(model, "step", by_name or (is_number(model.step) and model.step > 0), f"{names} or a number above 0")
    check(model, "margin", is_number(model.margin) and model.margin >= 0, "a number >= 0")
    wanted, longest = model.probability, model.aggressiveness
    good = wanted is None or (is_number(wanted) and 0.5 < wanted < 1)
    check(model, "probability", good, "None or a number between 0.5 and 1")
    good = longest is None or (is_number(longest) and longest > 0)
    check(model, "aggressiveness", good, "None or a number above 0")
    if model.step != PASSIVE_AGGRESSIVE and (wanted is not None or model.margin != 1.0):
        raise ValueError(f"margin and probability are for passive-aggressive steps; got step={model.step!r}")


def length_of_step(model: Any, loss: Any) -> Length:
    """Return the rule: the length of a step from near, far, what a step does to them, weight and count t.

    A weight multiplies a step of fixed length. A passive-aggressive one is shortened by a weight below one and
    never lengthened: it would overshoot.
    """
    if model.step != PASSIVE_AGGRESSIVE:
        rate = FALLING.get(model.step, lambda t: float(model.step))

        def fixed(near: float, far: float, slope: float, weight: float, t: int) -> float:
            near_slope, far_slope = loss.slopes(near, far)
            length = 0.5 * weight * rate(t) * float(near_slope - far_slope)
            if not math.isfinite(length):
                raise ValueError(f"the loss {loss!r} has no finite slope at near={near:.4g}, far={far:.4g}")
            return length

        return fixed
    margin = model.margin
    if model.probability is not None:
        if not loss_trait(loss, "logistic"):
            names = " and ".join(map(repr, losses_with("logistic")))
            raise ValueError(
                f"a wanted probability is for the losses {names}, whose probability is the logistic "
                f"function of far - near; got loss={loss!r}: give a margin instead"
            )
        margin = math.log(model.probability) - math.log1p(-model.probability)
    most = math.inf if model.aggressiveness is None else model.aggressiveness * (margin or 1.0)

    def passive_aggressive(near: float, far: float, slope: float, weight: float, t: int) -> float:
        return min(min(weight, 1.0) * (near - far + margin), most) / slope

    return passive_aggressive
