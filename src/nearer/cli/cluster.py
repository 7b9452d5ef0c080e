"""The option --scheduler: a Dask cluster that a command is connected to while it fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nearer.cli.options import option

WAIT = 10.0  # seconds for the scheduler to answer

SCHEDULER: Any = option(
    "Map: the address of the scheduler of a Dask cluster, whose workers read the answers and fit. They must find "
    "the files under the same paths.",
    metavar="tcp://HOST:PORT",
)


@contextmanager
def connected(scheduler: str | None) -> Iterator[None]:
    """Be connected to a cluster; without an address do nothing."""
    if scheduler is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError('--scheduler needs Dask: pip install "nearer[cluster]"') from None
    try:
        client = Client(scheduler, timeout=WAIT)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no scheduler of Dask answers at {scheduler}: {error}") from None
    with client:
        yield
