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
    """Return the loss object of a name or an object, with parameters set for that many dimensions.

    Parameters
    ----------
    loss : str or object
        A name in `LOSSES`, or an object with ``value``, ``slopes`` and ``probability``.
    n_components : int
        Number of dimensions of the map.

    Returns
    -------
    object
        The loss.

    Examples
    --------
    >>> from nearer.losses import as_loss
    >>> as_loss("tste", n_components=3)
    TSTE(alpha=2.0)
    """
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
    """Return the names of the losses that have a trait; see `Loss`.

    Examples
    --------
    >>> from nearer.losses import losses_with
    >>> "gnmds" in losses_with("convex"), "tste" in losses_with("convex")
    (True, False)
    """
    return [name for name, loss in LOSSES.items() if getattr(loss, trait)]


def baseline_loss(loss: LossLike) -> float:
    """Return the loss if all objects are at the same point: the scale of a loss.

    Examples
    --------
    >>> from nearer.losses import GNMDS, baseline_loss
    >>> baseline_loss(GNMDS(margin=2.0))
    2.0
    """
    with np.errstate(all="ignore"):
        value = float(loss.value(np.float64(0.0), np.float64(0.0)))
    return value if 0.0 < value < float("inf") else 1.0
