"""Comparisons in chunks, for data that do not fit into memory.

A source knows how many rows and objects there are and can iterate over the rows any number of times; it holds none
of them. `nearer.scan` creates one from files.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons


class ComparisonSource:
    """Comparisons that are read chunk by chunk, anew for each iteration.

    Parameters
    ----------
    read : callable
        Returns an iterator over `Comparisons`, all about the same objects.
    n_rows, n_columns, n_objects : int
    names : tuple of str, optional

    Examples
    --------
    >>> from nearer import Comparisons
    >>> part = Comparisons([[0, 1, 2]])
    >>> source = ComparisonSource(lambda: iter([part, part]), n_rows=2, n_columns=3, n_objects=3)
    >>> len(source), [len(chunk) for chunk in source.chunks()]
    (2, [1, 1])
    >>> Comparisons.of(source)
    Comparisons(2 triplets, 3 objects)
    """

    def __init__(
        self,
        read: "Callable[[], Iterator[Comparisons]]",
        *,
        n_rows: int,
        n_columns: int,
        n_objects: int,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self._read = read
        self._n_rows = n_rows
        self.shape = (n_rows, n_columns)
        self.n_objects = n_objects
        self.names = names

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        kind = "triplets" if self.shape[1] == 3 else "quadruplets"
        return f"ComparisonSource({len(self)} {kind}, {self.n_objects} objects)"

    def chunks(self) -> "Iterator[Comparisons]":
        """Iterate over the rows once, one chunk at a time."""
        return self._read()
