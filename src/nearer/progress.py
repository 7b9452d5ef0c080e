"""The progress bar of a fit, where one is wanted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress(total: int, unit: str, verbose: bool) -> Iterator[Any]:
    """Yield a bar that counts up to a total, or None where none is wanted.

    Examples
    --------
    >>> with progress(10, "epoch", verbose=False) as bar:
    ...     print(bar)
    None
    """
    if not verbose:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}") as bar:
        yield bar
