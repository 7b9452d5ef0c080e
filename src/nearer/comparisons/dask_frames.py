"""A Dask DataFrame of answers as a source of comparisons, whose parts are its partitions.

Partitions are computed where Dask computes them, on the cluster of the current client or else on this machine. What
only all of them together can tell, the names of the objects and how responses are read, is found first.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np

from nearer.comparisons.chunks import ComparisonSource
from nearer.comparisons.container import Comparisons
from nearer.comparisons.fields import fields_of_columns, object_texts, response_misfits, with_reading
from nearer.comparisons.layouts import Layout, understand, understood_headers
from nearer.comparisons.objects import Names, names_of_texts
from nearer.comparisons.rows import BadRowError


@dataclass(frozen=True)
class FrameContext:
    """What all partitions have in common: their layout, and the objects; ``n_objects`` is None until it is known."""

    layout: Layout
    names: Names
    n_objects: int | None = None


@dataclass(frozen=True)
class FramePartition:
    """A partition: `lazy`, a `dask.delayed.Delayed`, computes its comparisons; called, it yields them."""

    lazy: Any

    def __call__(self) -> Iterator[Comparisons]:
        """Compute the partition."""
        yield self.lazy.compute()


def source_of_frame(frame: Any) -> ComparisonSource:
    """Return the answers in a Dask DataFrame, by its headers, which `Comparisons` of a pandas DataFrame also take.

    Columns of numbers number the objects; of columns of text the distinct cells of all partitions name them.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Computed three times at least; ``frame.persist()`` keeps it on the workers.

    Returns
    -------
    ComparisonSource

    Examples
    --------
    >>> import dask.dataframe, pandas
    >>> table = pandas.DataFrame([["Rome", "Bonn", "Oslo"], ["Oslo", "Bonn", "Rome"]], columns=["anchor", "near", "far"])
    >>> source_of_frame(dask.dataframe.from_pandas(table, npartitions=2))
    ComparisonSource(2 triplets, 3 objects)
    """
    headers = [str(header) for header in frame.columns]
    layout = understand(headers)
    if layout is None:
        listed = ", ".join(map(repr, headers))
        raise ValueError(
            f"the columns {listed} of the Dask DataFrame are not understood as answers; understood are\n"
            f"{understood_headers()}"
        )
    named = any(frame[name].dtype.kind not in "iuf" for name in layout.objects)
    tables = frame.to_delayed()
    scanned = dask.compute(*(dask.delayed(scan_table)(table, layout, named) for table in tables))
    names = names_of_texts(set().union(*(texts for texts, _ in scanned)), numbered=True) if named else None
    if layout.response is not None:
        layout = with_reading(layout, {}, sum((misfits for _, misfits in scanned), Counter()))
    context = FrameContext(layout, names)
    sizes = dask.compute(*(dask.delayed(size)(part) for part in _lazy(tables, context, frame)))
    n_rows, n_columns, n_objects = zip(*sizes, strict=True)
    if not sum(n_rows):
        raise ValueError("the Dask DataFrame is empty: it has no rows")
    context = replace(context, n_objects=max(n_objects) if names is None else len(names))
    return ComparisonSource(
        tuple(FramePartition(part) for part in _lazy(tables, context, frame)),
        n_rows=sum(n_rows),
        n_columns=max(n_columns),
        n_objects=max(n_objects) if names is None else len(names),
        names=names,
    )


def _lazy(tables: list[Any], context: FrameContext, frame: Any) -> list[Any]:
    """Return the comparisons of each partition as a delayed computation, named for the dashboard."""
    common = dask.delayed(context, traverse=False)
    token = dask.base.tokenize(frame, context)
    convert = dask.delayed(comparisons_of_table)
    return [
        convert(table, common, number, dask_key_name=f"nearer-partition-{number}-{token}")
        for number, table in enumerate(tables)
    ]


def scan_table(table: Any, layout: Layout, named: bool) -> tuple[set[str], Counter[str]]:
    """Return the distinct names of objects, and for each reading how many responses it makes no sense of."""
    columns = columns_of(table)
    texts = {text.strip() for text in object_texts(layout, columns)} if named else set()
    return texts, Counter() if layout.response is None else Counter(response_misfits(layout, columns))


def comparisons_of_table(table: Any, context: FrameContext, number: int) -> Comparisons:
    """Return the comparisons of a partition in the numbers of all."""
    n_objects = context.n_objects if context.names is None else None
    if not len(table):
        return Comparisons(np.empty((0, 3), np.int32), n_objects=n_objects, names=context.names)
    try:
        fields, _ = fields_of_columns(context.layout, columns_of(table), context.names)
        return Comparisons(n_objects=n_objects, **fields)
    except BadRowError as error:
        error.add_note(f"in partition {number} of the Dask DataFrame, whose rows are counted from 0")
        raise


def columns_of(table: Any) -> dict[str, Any]:
    """Return the columns of a pandas DataFrame by their headers."""
    return {str(header): table[header].to_numpy() for header in table.columns}


def size(part: Comparisons) -> tuple[int, int, int]:
    """Return the number of rows, columns and objects."""
    return len(part), part.shape[1] if len(part) else 3, part.n_objects
