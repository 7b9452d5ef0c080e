"""Lines of standard input as they arrive, until the end of input or a signal that asks to stop.

A signal that comes while a line is waited for ends the wait. One that comes while a line is worked on is noted,
and the work on that line goes to its end.
"""

import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _StopWaiting(Exception):
    pass


class Arriving:
    """The lines: a context that takes the signals, and inside it an iterable.

    Attributes
    ----------
    stopped_by : int or None
        The signal that ended the lines. A second Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.stopped_by: int | None = None
        self._waiting = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stopped_by is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stopped_by = self.stopped_by or number
        if self._waiting:
            self._waiting = False
            raise _StopWaiting

    def __iter__(self) -> Iterator[bytes]:
        if sys.stdin is None:
            return
        lines = sys.stdin.buffer
        try:
            while True:
                self._waiting = True  # first, so that a signal either is seen in the next line or ends the wait
                if self.stopped_by is not None:
                    return
                line = lines.readline()  # returns with the line, however little is in the pipe
                self._waiting = False
                if not line:
                    return
                yield line
        except _StopWaiting:
            return
