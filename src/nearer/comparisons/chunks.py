"""Comparisons in chunks: a source of parts that are read chunk by chunk, and the concatenation of chunks."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons.objects import Names, numbers_of_names

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons

MEMORY_ROWS = 10_000_000  # up to which a source is read into memory: a few hundred megabytes

Part = Callable[[], "Iterator[Comparisons]"]


@dataclass(frozen=True, repr=False)
class ComparisonSource:
    """Comparisons that are read chunk by chunk, anew for each iteration; none of them are held in memory.

    Calling a part returns an iterator over its `Comparisons`, a chunk at a time, all about the objects of the source.
    Parts can be read independently of each other, also by other processes: those of `nearer.scan` can be pickled, and
    what they know in common of the objects is pickled once for all parts that are pickled together.

    Parameters
    ----------
    parts : tuple of callables
        The parts, in order.
    n_rows : int
        Number of comparisons in all parts.
    n_columns : int
        3 for triplets, 4 for quadruplets.
    n_objects : int
        Number of objects.
    names : tuple of str, optional
        Their names.
    """

    parts: tuple[Part, ...]
    _: KW_ONLY
    n_rows: int
    n_columns: int
    n_objects: int
    names: Names = None

    def chunks(self) -> "Iterator[Comparisons]":
        """Yield the comparisons of all parts, chunk by chunk; ValueError if these have another number of rows."""
        n_rows = 0
        for part in self.parts:
            for chunk in part():
                n_rows += len(chunk)
                if n_rows > self.n_rows:
                    raise ValueError(f"the parts of a source of {self.n_rows:,} rows have more rows than that")
                yield chunk
        if n_rows < self.n_rows:
            raise ValueError(f"the parts of a source of {self.n_rows:,} rows have only {n_rows:,}")

    @property
    def is_large(self) -> bool:
        """Whether there are so many rows that they are left where they are."""
        return self.n_rows > MEMORY_ROWS

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns: 3 or 4."""
        return self.n_rows, self.n_columns

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        kind = "triplets" if self.n_columns == 3 else "quadruplets"
        return f"ComparisonSource({len(self)} {kind}, {self.n_objects} objects)"


def has_cluster() -> bool:
    """Whether there is a current ``dask.distributed.Client``, whose workers then read sources; imports nothing."""
    distributed = sys.modules.get("distributed")  # where there is a client, someone has imported it
    try:
        return distributed is not None and distributed.Client.current() is not None
    except ValueError:
        return False


def is_dask_frame(table: Any) -> bool:
    """Whether a table is a Dask DataFrame."""
    return hasattr(table, "columns") and hasattr(table, "to_delayed")


def source_of(table: Any) -> ComparisonSource:
    """Return the answers in a Dask DataFrame as a source; see :mod:`nearer.comparisons.dask_frames`."""
    from nearer.comparisons.dask_frames import source_of_frame

    return source_of_frame(table)


def concatenate(parts: "list[Comparisons]") -> dict[str, Any]:
    """Return the arguments of the `Comparisons` that hold all parts; see `Comparisons.concat`."""
    if not parts:
        raise ValueError("there is nothing to concatenate: no parts were given")
    if len({part.shape[1] for part in parts}) == 2:
        parts = [part.as_quadruplets() for part in parts]
    names, indices = _common_names(_names_alike(parts))
    rows = [part.rows if new is None else new[part.rows] for part, new in zip(parts, indices, strict=True)]
    fields: dict[str, Any] = {
        "rows": np.concatenate(rows),
        "names": names,
        "n_objects": max(part.n_objects for part in parts) if names is None else len(names),
        "extra": {
            name: np.concatenate([part.extra[name] for part in parts])
            for name in parts[0].extra
            if all(name in part.extra for part in parts)
        },
    }
    if any(part.weights is not None for part in parts):
        weights = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
        fields["weights"] = np.concatenate(weights)
    if all(part.subjects is not None for part in parts):
        fields["subjects"] = np.concatenate([part.subjects for part in parts if part.subjects is not None])
    if any(part.n_answers < len(part) for part in parts):
        starts = np.cumsum([0] + [part.n_answers for part in parts[:-1]])
        answers = [part.answers + start for part, start in zip(parts, starts, strict=True)]
        fields["answers"] = np.concatenate(answers)
    return fields


def _names_alike(parts: "list[Comparisons]") -> list[Names]:
    """Return the names of each part; numbers are names too if all names of the other parts are numbers."""
    all_names = [part.names for part in parts]
    named = [names for names in all_names if names is not None]
    if len(named) in (0, len(parts)) or any(numbers_of_names(names) is None for names in named):
        return all_names
    return [tuple(map(str, range(part.n_objects))) if part.names is None else part.names for part in parts]


def _common_names(all_names: list[Names]) -> tuple[Names, list[NDArray[np.int32] | None]]:
    """Return the names of all parts in order of first appearance, and the new indices of each part's objects."""
    first = all_names[0]
    if all(names is first or names == first for names in all_names):
        return first, [None] * len(all_names)
    if any(names is None for names in all_names):
        raise ValueError("some parts have names and others have none: their objects cannot be matched")
    index: dict[str, int] = {}
    for names in all_names:
        for name in names or ():
            index.setdefault(name, len(index))
    return tuple(index), [np.array([index[name] for name in names or ()], dtype=np.int32) for names in all_names]
