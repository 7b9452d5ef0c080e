"""Losses of a comparison: one small file each, and one line of the table `LOSSES`.

Use one by its name, create one with parameters, or write your own object with ``value``, ``slopes`` and
``probability`` in terms of :mod:`nearer.losses.ops`.
"""

from typing import Any

import numpy as np

from nearer.losses import ops
from nearer.losses.base import Loss, LossLike, loss_trait
from nearer.losses.ckl import CKL
from nearer.losses.gnmds import GNMDS
from nearer.losses.soe import SOE
from nearer.losses.ste import STE
from nearer.losses.tste import TSTE

LOSSES: dict[str, type[Loss]] = {
    "gnmds": GNMDS,
    "ste": STE,
    "ckl": CKL,
    "tste": TSTE,
    "soe": SOE,
}

__all__ = ["LOSSES", "Loss", "LossLike", "as_loss", "baseline_loss", "loss_trait", "losses_with", "ops"]
__all__ += [kind.__name__ for kind in LOSSES.values()]


def as_loss(loss: str | LossLike, n_components: int) -> Any:
    """Return the loss object of a name or an object, with parameters set for that many dimensions."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"unknown loss {loss!r}; the known ones are {', '.join(map(repr, sorted(LOSSES)))}")
        loss = LOSSES[loss]()
    missing = [name for name in ("value", "slopes", "probability") if not callable(getattr(loss, name, None))]
    if missing or isinstance(loss, type):
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, sorted(LOSSES)))} or an object with the methods value, "
            f"slopes and probability; got {loss!r}" + (f" without {', '.join(missing)}" if missing else "")
        )
    for_dimensions = getattr(loss, "for_dimensions", None)
    return for_dimensions(n_components) if callable(for_dimensions) else loss


def losses_with(trait: str) -> list[str]:
    """Return the names of the losses that have a trait; see `Loss`."""
    return [name for name, loss in LOSSES.items() if getattr(loss, trait)]


def baseline_loss(loss: LossLike) -> float:
    """Return the loss if all objects are at the same point, which is the scale of a loss."""
    with np.errstate(all="ignore"):
        value = float(loss.value(np.float64(0.0), np.float64(0.0)))
    return value if 0.0 < value < float("inf") else 1.0
