"""Comparisons as tables: columns for files, a DataFrame, and what a notebook shows."""

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer.comparisons import layouts

if TYPE_CHECKING:
    import pandas

    from nearer.comparisons import Comparisons

OBJECTS = {3: ("anchor", "near", "far"), 4: ("i", "j", "l", "k")}
SHOWN_ROWS = 8
CELL = "text-align: left; vertical-align: top"


def optional_columns(comparisons: "Comparisons") -> dict[str, Any]:
    """Return those of weights, subjects and answers that comparisons have."""
    columns = {"weights": comparisons.weights, "subjects": comparisons.subjects}
    if comparisons.n_answers < len(comparisons):
        columns["answers"] = comparisons.answers
    return {name: column for name, column in columns.items() if column is not None}


def columns_of(comparisons: "Comparisons", named: bool) -> dict[str, Any]:
    """Return the columns to write: the objects (by name if `named`), then weights, subjects, answers and extras."""
    headers = OBJECTS[comparisons.shape[1]]
    columns: dict[str, Any] = {}
    for header, numbers in zip(headers, comparisons.rows.T, strict=True):
        columns[header] = np.array(comparisons.names)[numbers] if named and comparisons.names else numbers
    for name, column in optional_columns(comparisons).items():
        columns[layouts.OPTIONAL[name].headers[0]] = column
    for name, column in comparisons.extra.items():
        layout = layouts.understand([*columns, name])
        extras = () if layout is None else (*layout.others, *(layouts.OPTIONAL.keys() - layouts.ARGUMENTS))
        if name in columns or layout is None or layout.objects != headers or name not in extras:
            raise ValueError(f"an extra column of a table cannot be called {name!r}, which means something else")
        columns[name] = column
    return columns


def html_table(rows: Iterable[Sequence[object]], header: Sequence[object] = (), caption: str = "") -> str:
    """Return a table for notebooks; whatever the cells hold stays text."""

    def line(cells: Sequence[object], tag: str) -> str:
        inner = "".join(f'<{tag} style="{CELL}">{html.escape(str(cell))}</{tag}>' for cell in cells)
        return f"<tr>{inner}</tr>"

    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    title = f'<caption style="text-align: left">{html.escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{head}<tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


class TableDisplay:
    """The methods of `Comparisons` that show them as a table."""

    def to_frame(self: "Comparisons") -> "pandas.DataFrame":  # type: ignore[misc]
        """Return the comparisons as a DataFrame of pandas, one line per row.

        The columns are those of a .csv file: the objects by name, or by number where there are no names, then
        weights, subjects, answers and extra columns where there are any. ``Comparisons(frame)`` reads it back.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from nearer import Comparisons
        >>> answers = Comparisons([[0, 1, 2], [1, 0, 2]], names=["Vienna", "Prague", "Rome"])
        >>> answers.to_frame()
           anchor    near   far
        0  Vienna  Prague  Rome
        1  Prague  Vienna  Rome
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(columns_of(self, named=True))

    def _repr_html_(self: "Comparisons") -> str:  # type: ignore[misc]
        kind = "triplets" if self.shape[1] == 3 else "quadruplets"
        counts = [f"{len(self):,} {kind}", f"{self.n_objects:,} objects"]
        counts += [f"{self.n_answers:,} answers"] if self.n_answers < len(self) else []
        first = self._take_rows(np.arange(min(len(self), SHOWN_ROWS)))
        columns = columns_of(first, named=True)
        rows: list[Sequence[object]] = [*zip(*(column.tolist() for column in columns.values()), strict=True)]
        rows += [["…"] * len(columns)] if len(self) > len(rows) else []
        return html_table(rows, list(columns), " · ".join(counts))
