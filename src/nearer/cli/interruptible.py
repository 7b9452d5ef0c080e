"""Fitting with a progress bar, and with Ctrl-C that ends a fit with the model so far.

To be deleted when every estimator does both by itself (`nearer.monitor`): then `fit_copy` is ``deepcopy``, a
``verbose`` and ``stop_reason_ == "interrupted"``.
"""

import signal
from collections.abc import Callable
from copy import deepcopy
from types import FrameType
from typing import Any, Self

from nearer.cli.estimators import last_step


class Watch:
    """A callback that sees every step of a fit; as a context it shows a bar and catches Ctrl-C."""

    def __init__(self, task: str, quiet: bool) -> None:
        from tqdm import tqdm

        # None: no bar if the error stream is not a terminal.
        self._bar = tqdm(desc=task, unit=" steps", leave=False, disable=True if quiet else None)
        self.records = 0
        self.interrupted = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        self._bar.close()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted or not self.records:  # a second Ctrl-C, or nothing learned yet
            raise KeyboardInterrupt
        self.interrupted = True

    def __call__(self, record: dict[str, Any]) -> bool:
        """Move the bar; True stops the fit."""
        self.records += 1
        self._bar.set_postfix_str(f"loss {record['loss']:.4f}", refresh=False)
        self._bar.update(1)
        return self.interrupted


def fit_copy(model: Any, fit: Callable[[Any], object], task: str, quiet: bool) -> tuple[Any, bool]:
    """Fit a copy of a model by ``fit(copy)``; return it, and whether Ctrl-C ended the fit."""
    copy = deepcopy(model)
    estimator = last_step(copy)[1]
    watched = "callback" in estimator.get_params(deep=False)
    with Watch(task, quiet) as watch:
        if watched:
            estimator.set_params(callback=watch)
        fit(copy)
    if watched:
        estimator.set_params(callback=None)
    return copy, watch.interrupted
