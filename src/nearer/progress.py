"""One progress bar for a whole fit: the search for settings, the start and the fit itself.

The bar shows the fraction of the work that is done, with the time that is left at the same pace. Stages say how far
they will take it; a fit that ends when it has converged estimates from its rate of convergence how far it is.
"""

import math
from typing import Any

FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


class Progress:
    """The bar of a fit or of a download, or nothing where it is not to be shown."""

    def __init__(self, shown: bool, name: str = "fit") -> None:
        self.begin, self.end = 0.0, 1.0  # the part of the bar that the current stage fills
        self._bar: Any = None
        if shown:
            # As text in notebooks too: a widget that is opened without its kernel stands at 0 %.
            from tqdm import tqdm

            self._bar = tqdm(total=1.0, bar_format=FORMAT, desc=name)

    @property
    def is_shown(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def next_stage(self, end: float) -> None:
        """Begin a stage that takes the bar from where it is to ``end``."""
        self.begin = self.end if self.end < 1.0 else self.begin
        self.end = max(end, self.begin)

    def show(self, fraction: float, name: str, text: str) -> None:
        """Show that this fraction of the current stage is done; the bar never goes back."""
        if self._bar is None:
            return
        self._bar.set_description_str(name, refresh=False)
        self._bar.set_postfix_str(text, refresh=False)
        done = self.begin + (self.end - self.begin) * min(fraction, 1.0)
        self._bar.update(max(0.0, done - self._bar.n))

    def close(self, complete: bool) -> None:
        """Close the bar, full if the fit is complete."""
        if self._bar is None:
            return
        if complete:
            self._bar.n = 1.0  # exactly, not up to rounding
        self._bar.refresh()
        self._bar.close()
        self._bar = None


def convergence(first: float, now: float, tol: float) -> float:
    """Return how far a quantity that shrinks geometrically has come from its first value to the tolerance."""
    if not (0.0 < now < first and tol < first):
        return 0.0
    return 1.0 if now <= tol else math.log(first / now) / math.log(first / max(tol, 1e-300))
