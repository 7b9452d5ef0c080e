"""Fitting under the eyes of a person at a terminal: a progress bar, and Ctrl-C that keeps the work so far.

`fit` and `demo` share this. The estimator's callback carries both: it moves the bar, and it tells the fit to
stop after the epoch (of a map) or iteration (of a kernel) in which Ctrl-C came, so that what was learned up to
then is a model like any other. An estimator without a callback is fitted too: of that, Ctrl-C keeps nothing.
"""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from nearer.cli.console import aside


class Watch:
    """Watches fits: as a context it shows a bar and takes Ctrl-C; as a callback it sees every step of a fit.

    Parameters
    ----------
    task : str
        Stands before the bar.
    quiet : bool
        Show no bar; there is none either where the error stream is no terminal.
    step : str
        What the fit is made of: "epoch" or "iteration".

    Attributes
    ----------
    records : int
        Calls so far: one at the start of the fit and one a step.
    interrupted : bool
        Whether Ctrl-C ended the fit. Before the first call there is nothing to keep, and KeyboardInterrupt
        is raised as ever; so it is at the second Ctrl-C.
    """

    def __init__(self, task: str, quiet: bool, step: str = "epoch") -> None:
        from tqdm import tqdm

        # None: no bar where the error stream is not a terminal.
        self._bar = tqdm(desc=task, unit=f" {step}s", leave=False, disable=True if quiet else None)
        self.records = 0
        self.interrupted = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
        self._bar.close()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted or not self.records:
            raise KeyboardInterrupt
        self.interrupted = True

    def __call__(self, record: dict[str, Any]) -> bool:
        """Move the bar; True after Ctrl-C, which stops the fit."""
        self.records += 1
        self._bar.set_postfix_str(f"loss {record['loss']:.4f}", refresh=False)
        self._bar.update(1)
        return self.interrupted


def fitted(
    model: Any, learn: Callable[[Any], object], task: str, quiet: bool, step: str = "epoch"
) -> tuple[Any, Watch]:
    """Fit a copy of a model by ``learn(copy)``; returned with the watch, which knows whether it ran to its end."""
    params = model.get_params(deep=False)
    with Watch(task, quiet, step) as watch:
        copy = type(model)(**(params | {"callback": watch} if "callback" in params else params))
        learn(copy)
    return (copy.set_params(callback=None) if "callback" in params else copy), watch


def say_if_compiling() -> None:
    """Say why the first fit on a machine is slow, once: when no compiled loop lies on disk yet."""
    from nearer.jit import cache_size

    if cache_size()[0] == 0:
        aside("compiling loops for first use, a few seconds…")
