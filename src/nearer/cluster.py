"""The Dask cluster of the active client: named tasks, their results, and a clear error if it fails.

Only tasks are submitted, and nothing is scattered: what only a worker has is lost with it, but a task can be repeated.
If a worker dies, the scheduler makes its results again from the tasks before them, so a fit goes on; it ends with a
ConnectionError if the scheduler is gone. Dask is imported when it is used.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import numpy as np

WAIT_FOR_WORKERS = 30.0  # seconds
LOOK_FOR_WORKERS = 5.0  # seconds after which workers that have joined are found
LOOK_AFTER = 5.0  # seconds of waiting for results, after which scheduler and workers are looked for
ATTEMPTS = 3  # to fetch results, if a connection breaks


def is_dask_collection(*values: Any) -> bool:
    """Whether any of the values is an array, DataFrame or other collection of Dask, which numpy would load."""
    return any(callable(getattr(type(value), "__dask_graph__", None)) for value in values)


def connect() -> Any:
    """Return the active client; raise an ImportError without Dask, and a ValueError without a client."""
    try:
        from distributed import get_client
    except ImportError:
        raise ImportError('training on a cluster needs Dask: pip install "nearer[cluster]"') from None
    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "training on a cluster needs a dask.distributed.Client, and none is active: create one before fit, "
            'Client() for this machine or Client("tcp://…") for a cluster'
        ) from None


class Cluster:
    """The cluster of the active client, for one purpose: the names of its tasks end alike.

    Parameters
    ----------
    advice : str
        What to do if the cluster fails; part of the error.

    Attributes
    ----------
    scheduler : str
        Its address.
    """

    def __init__(self, advice: str = "start the fit again on a cluster that runs") -> None:
        self.client, self.token, self.advice = connect(), uuid4().hex[:12], advice
        self.scheduler = self.client.scheduler_info()["address"]
        self._looked = -np.inf
        self._threads: dict[str, int] = {}
        self.threads()

    def threads(self) -> dict[str, int]:
        """Return the number of threads of each worker, as of some seconds ago; ConnectionError without any worker."""
        if time.monotonic() > self._looked + LOOK_FOR_WORKERS:
            with self._explained():
                try:
                    self.client.wait_for_workers(1, timeout=WAIT_FOR_WORKERS)
                except TimeoutError:
                    raise ConnectionError(f"the cluster at {self.scheduler} has no workers") from None
                self._threads, self._looked = dict(sorted(self.client.nthreads().items())), time.monotonic()
        return self._threads

    def submit(self, name: str, function: Callable, *arguments: Any, worker: str | None = None) -> Any:
        """Return the future of a task whose name on the dashboard says what it does.

        Arguments may be large. The task runs elsewhere if its worker is gone.
        """
        import dask

        where = {} if worker is None else {"workers": worker, "allow_other_workers": True}
        with self._explained(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, key=f"nearer-{name}-{self.token}", **where)

    def send(self, name: str, value: Any) -> Any:
        """Return the future of a value, for several tasks; as a task it can be repeated where its worker dies."""
        return self.submit(name, as_is, value)

    def compute(self, lazy: Iterable[Any], function: Callable | None = None) -> list[Any]:
        """Return futures of lazy parts of a Dask collection, or of what a function makes of each."""
        from dask import delayed

        parts = list(lazy) if function is None else [delayed(function)(part) for part in lazy]
        with self._explained():
            return list(self.client.compute(parts))

    def collect(self, value: Any) -> Any:
        """Return a Dask collection as the object in memory that it stands for, and anything else as it is."""
        return self.results(self.compute([value]))[0] if is_dask_collection(value) else value

    def results(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks; ConnectionError if the cluster has none to give."""
        from distributed.comm import CommClosedError

        with self._explained():
            for _ in range(ATTEMPTS - 1):
                try:
                    return self._gather(futures)
                except CommClosedError:
                    continue
            return self._gather(futures)

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        """Return results, looking from time to time whether there still are a scheduler and workers.

        Without either a client would wait forever.
        """
        from distributed import wait

        lost = None  # since when there are no workers
        while not self._is_closed:
            try:
                wait(list(futures), timeout=LOOK_AFTER)
            except TimeoutError:
                lost = None if self._has_workers() else lost or time.monotonic()
                if lost is not None and time.monotonic() > lost + WAIT_FOR_WORKERS:
                    raise ConnectionError(
                        f"the cluster at {self.scheduler} has lost all its workers; {self.advice}"
                    ) from None
                continue
            return list(self.client.gather(list(futures)))
        raise CancelledError

    def _has_workers(self) -> bool:
        """Whether there are workers; ConnectionError if the scheduler does not answer."""
        try:
            return bool(self.client.sync(self.client.scheduler.ncores, callback_timeout=WAIT_FOR_WORKERS))
        except TimeoutError:
            raise ConnectionError(f"the scheduler at {self.scheduler} does not answer; {self.advice}") from None

    @property
    def _is_closed(self) -> bool:
        """Whether the client has given up its scheduler."""
        return self.client.status in ("closing", "closed") or self.client.scheduler is None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise the error of a task as it is, and others as a ConnectionError that says what became of the cluster."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except Exception as error:
            first_line = str(error).partition("\n")[0] or type(error).__name__
            if isinstance(error, KilledWorker):
                raise ConnectionError(
                    f"the cluster at {self.scheduler} lost one worker after the other at the same task, most likely "
                    f"because its memory was not enough: {first_line}"
                ) from error
            if isinstance(error, CancelledError | CommClosedError) or self.client.status != "running":
                raise ConnectionError(
                    f"the scheduler at {self.scheduler} no longer answers, or has dropped the tasks of this fit; "
                    f"{self.advice} ({first_line})"
                ) from error
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(
                    f"{first_line} (a worker did not find it: workers must find files under the same paths)"
                ) from error
            raise


def as_is(value: Any) -> Any:
    """Return a value that comes with its task."""
    return value
