"""From answers of people to rows.

"k is the odd one of i, j, k" says d(i,j) < d(i,k) and d(j,i) < d(j,k); "c is the most central of c, x, y" says
d(x,c) < d(x,y) and d(y,c) < d(y,x); a ranking of objects by their distance to an anchor has one row per pair, a
selection of those most like an anchor one per selected and not selected object. The functions here return the rows
and the index of the answer that each row belongs to.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons.rows import BadRowError, flip_rows

RowsAndAnswers = tuple[NDArray[Any], NDArray[np.intp]]


# The word for the picked one of several objects, and the rows that two others, x and y, then have with it.
PICKED = {"odd one out": "odd", "most central": "central"}


def expand_picked(objects: ArrayLike, kind: str) -> RowsAndAnswers:
    """Return the rows of answers whose last object was picked from all: two for each pair of the others."""
    table = np.asarray(objects)
    x, y = np.triu_indices(table.shape[1] - 1, k=1)
    last = np.full(len(x), table.shape[1] - 1)
    first, second = ((x, y, last), (y, x, last)) if kind == "odd one out" else ((x, last, y), (y, last, x))
    order = np.stack([np.column_stack(first), np.column_stack(second)], axis=1).ravel()
    return table[:, order].reshape(-1, 3), np.repeat(np.arange(len(table)), 2 * len(x))


def picked_last(objects: ArrayLike, picked: Any, index: ArrayLike | None, kind: str) -> NDArray[Any]:
    """Return objects in the order in which the picked one, given by itself, by its place or column, is the last."""
    word, table = PICKED[kind], np.asarray(objects)
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"objects must be a table of at least 3 columns; got an array of shape {table.shape}")
    n, width = table.shape
    if (picked is None) == (index is None):
        raise ValueError(
            f"say which object was picked: {word}= takes the picked objects, or 'first' or 'last' if they are "
            f"always in that column; {word}_index= takes the column of each, from 0"
        )
    if index is not None:
        where = np.asarray(index)
        if where.shape != (n,) or where.dtype.kind not in "iu" or (where < 0).any() or (where >= width).any():
            got = where.tolist() if where.ndim == 0 else f"{where.dtype} of shape {where.shape}"
            raise ValueError(f"{word}_index must be {n} column numbers from 0 to {width - 1}; got {got}")
    elif isinstance(picked, str) and picked in ("first", "last"):
        where = np.full(n, 0 if picked == "first" else width - 1)
    else:
        values = np.asarray(picked)
        if values.shape != (n,):
            raise ValueError(f"{word} must name one object for each of {n} rows; got shape {values.shape}")
        hit = table == values[:, None]
        if not hit.any(axis=1).all():
            row = int(np.argmin(hit.any(axis=1)))
            problem = f"has {word} object {values[row]}, which is none of {table[row].tolist()}"
            raise BadRowError(row, f"{problem}; numbers of columns are passed as {word}_index")
        where = hit.argmax(axis=1)
    others = np.arange(width - 1) + (np.arange(width - 1) >= where[:, None])
    return np.take_along_axis(table, np.column_stack([others, where]), axis=1)


def expand_multiselect(
    anchors: ArrayLike, shown: Sequence[ArrayLike], selected: Sequence[ArrayLike]
) -> RowsAndAnswers:
    """Return one row for each selected object of an answer and each other object that was shown."""
    anchors = np.asarray(anchors)
    if anchors.shape != (len(shown),) or len(selected) != len(shown):
        n_rows = f"{len(shown)} shown and {len(selected)} selected"
        raise ValueError(f"anchors, shown and selected must be as many; got shape {anchors.shape}, {n_rows}")
    parts: list[NDArray[Any]] = []
    for number, (anchor, choices, near) in enumerate(zip(anchors, shown, selected, strict=True)):
        choices, near = np.asarray(choices), np.atleast_1d(near)
        other = ~np.isin(near, choices)
        if other.any():
            raise BadRowError(number, f"has {near[other][0]} selected, which is none of {choices.tolist()}")
        far = choices[~np.isin(choices, near)]
        if len(near) == 0 or len(far) == 0:
            problem = f"has {len(near)} of {len(choices)} objects selected; some must be, and some must not"
            raise BadRowError(number, problem)
        pairs = np.repeat(near, len(far)), np.tile(far, len(near))
        parts.append(np.column_stack([np.full(len(pairs[0]), anchor), *pairs]))
    rows = np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int32)
    return rows, np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def expand_rankings(anchors: ArrayLike, rankings: Sequence[ArrayLike]) -> RowsAndAnswers:
    """Return one row for each pair of each ranking, which goes from the nearest to the farthest object."""
    anchors = np.asarray(anchors)
    if anchors.shape != (len(rankings),):
        raise ValueError(f"{len(rankings)} rankings need as many anchors; got shape {anchors.shape}")
    parts: list[NDArray[Any]] = []
    for number, (anchor, ranking) in enumerate(zip(anchors, rankings, strict=True)):
        order = np.asarray(ranking)
        if order.ndim != 1 or len(order) < 2:
            raise BadRowError(number, f"ranks {order.size} objects; a ranking needs at least two")
        near, far = np.triu_indices(len(order), k=1)
        parts.append(np.column_stack([np.full(len(near), anchor), order[near], order[far]]))
    rows = np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int32)
    return rows, np.repeat(np.arange(len(parts)), [len(part) for part in parts])


def apply_responses(
    queries: ArrayLike, responses: ArrayLike, *, drop: bool = False
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return queries (a, b, c), "is b nearer than c?", flipped if the response is no, and weights (None: all are 1).

    Responses are booleans, 0 and 1, or signed counts such as ±1, whose size is the weight. Any other response is a
    BadRowError; with `drop` it leaves an impossible row. 1 and 2 only may be positions: a warning says so.
    """
    queries, values = np.asarray(queries), np.asarray(responses)
    if queries.ndim != 2 or queries.shape[1] not in (3, 4):
        raise ValueError(f"queries must be a table of 3 or 4 columns; got an array of shape {queries.shape}")
    if values.shape != (len(queries),):
        raise ValueError(f"{len(queries)} queries need as many responses; got shape {values.shape}")
    if values.dtype.kind not in "biuf":
        values = np.array(
            [_number(cell) for cell in np.asarray(responses, dtype=object).tolist()], dtype=np.float64
        )
    if values.dtype.kind == "b" or np.isin(values, (0, 1)).all():
        values = np.where(values, 1, -1)
    elif np.isin(values, (1, 2)).all():
        warnings.warn(
            "all responses are 1 or 2: both are yes, and 2 counts twice. If 2 is the second choice, pass y == 1",
            stacklevel=4,
        )
    bad = ~np.isfinite(values) | (values == 0) | (values != np.round(values))
    if bad.any() and not drop:
        row = int(np.argmax(bad))
        response = np.asarray(responses, dtype=object)[row]
        raise BadRowError(row, f"has response {response!r}; responses are True or False, 1 or 0, or signed counts")
    rows = np.where(values[:, None] > 0, queries, flip_rows(queries))
    weights = np.abs(values).astype(np.float64)
    if bad.any():
        rows, weights = rows.astype(np.float64), np.where(bad, 1.0, weights)
        rows[bad] = -1
    return rows, None if (weights == 1).all() else weights


def _number(response: Any) -> float:
    """Return a response among others of several types as a number; text is none."""
    return float(response) if isinstance(response, bool | int | float | np.number | np.bool_) else np.nan


class FromAnswers:
    """Constructors of `Comparisons` from answers of people; inherited by `Comparisons`."""

    if TYPE_CHECKING:  # the constructor of the class that inherits

        def __init__(self, rows: Any, **columns: Any) -> None: ...

    @classmethod
    def _from_rows(cls, rows: NDArray[Any], answer: NDArray[np.intp], columns: dict[str, Any]) -> Self:
        """Repeat the columns of each answer for each of its rows; name the answer if a row is invalid."""
        n = int(answer[-1]) + 1 if len(answer) else 0

        def repeat(column: Any, name: str) -> NDArray[Any]:
            column = np.asarray(column)
            if column.shape != (n,):
                raise ValueError(f"{name} must have one value for each of the {n} answers; got {column.shape}")
            return column[answer]

        extra = {name: repeat(column, name) for name, column in (columns.pop("extra", None) or {}).items()}
        names = [name for name in ("weights", "subjects", "answers") if columns.get(name) is not None]
        per_answer = {name: repeat(columns[name], name) for name in names}
        try:
            return cls(rows, **(columns | {"answers": answer} | per_answer), extra=extra)
        except BadRowError as error:
            raise BadRowError(int(answer[error.row]), error.problem) from None

    @classmethod
    def from_odd_one_out(
        cls, objects: ArrayLike, odd: Any = None, *, odd_index: ArrayLike | None = None, **columns: Any
    ) -> Self:
        """Create from answers to "which of these is the odd one out?": two rows for each pair of the others.

        Each of the others is nearer to each further one of them than to the odd one.

        Parameters
        ----------
        objects : array-like of int or str, shape (n, 3) or more columns
            The objects of each question, three or more.
        odd : array-like of int or str, shape (n,), or {"first", "last"}
            The object that was picked; or the column in which it always stands.
        odd_index : array-like of int, shape (n,), optional
            Instead of `odd`: the column, from 0, of the object that was picked, as in cblearn.
        **columns
            As for `Comparisons`; `weights`, `subjects`, `answers` and `extra` with one value per answer.

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from nearer import Comparisons
        >>> answers = Comparisons.from_odd_one_out([[4, 1, 2]], odd=[4])
        >>> answers.rows.tolist(), answers.answers.tolist()
        ([[1, 2, 4], [2, 1, 4]], [0, 0])
        >>> Comparisons.from_odd_one_out([["cat", "dog", "cow", "car"]], odd="last")
        Comparisons(6 triplets, 4 objects, 1 answers)
        """
        ordered = picked_last(objects, odd, odd_index, "odd one out")
        return cls._from_rows(*expand_picked(ordered, "odd one out"), columns)

    @classmethod
    def from_most_central(
        cls, objects: ArrayLike, central: Any = None, *, central_index: ArrayLike | None = None, **columns: Any
    ) -> Self:
        """Create from answers to "which of these is the most central?": two rows for each pair of the others.

        Each of the others is nearer to the central one than to each further one of them.

        Parameters
        ----------
        objects : array-like of int or str, shape (n, 3) or more columns
            The objects of each question, three or more.
        central : array-like of int or str, shape (n,), or {"first", "last"}
            The object that was picked; or the column in which it always stands.
        central_index : array-like of int, shape (n,), optional
            Instead of `central`: the column, from 0, of the object that was picked.
        **columns
            As for `from_odd_one_out`.

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from nearer import Comparisons
        >>> Comparisons.from_most_central([[4, 1, 2]], central=[4]).rows.tolist()
        [[1, 4, 2], [2, 4, 1]]
        """
        ordered = picked_last(objects, central, central_index, "most central")
        return cls._from_rows(*expand_picked(ordered, "most central"), columns)

    @classmethod
    def from_multiselect(
        cls, anchors: ArrayLike, shown: Sequence[ArrayLike], selected: Sequence[ArrayLike], **columns: Any
    ) -> Self:
        """Create from answers to "which of these are most like the anchor?": a row for each one selected and not.

        Parameters
        ----------
        anchors : array-like of int or str, shape (n,)
            The object that the others are compared with.
        shown : sequence of n sequences of int or str
            The objects to select from.
        selected : sequence of n sequences of int or str
            Those that were selected: each is nearer to the anchor than each of the others.
        **columns
            As for `from_odd_one_out`.

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> from nearer import Comparisons
        >>> answers = Comparisons.from_multiselect([0], shown=[[1, 2, 3, 4]], selected=[[2, 3]])
        >>> answers.rows.tolist()
        [[0, 2, 1], [0, 2, 4], [0, 3, 1], [0, 3, 4]]
        """
        return cls._from_rows(*expand_multiselect(anchors, shown, selected), columns)

    @classmethod
    def from_rankings(cls, anchors: ArrayLike, rankings: Sequence[ArrayLike], **columns: Any) -> Self:
        """Create from rankings of objects by their distance to an anchor, nearest first: one row per pair.

        Parameters
        ----------
        anchors : array-like of int or str, shape (n,)
        rankings : sequence of n sequences of int or str
            They may differ in length.
        **columns
            As for `from_odd_one_out`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> Comparisons.from_rankings([0], [[3, 1, 2]])
        Comparisons(3 triplets, 4 objects, 1 answers)
        """
        return cls._from_rows(*expand_rankings(anchors, rankings), columns)

    @classmethod
    def from_answers(cls, queries: ArrayLike, responses: ArrayLike, **columns: Any) -> Self:
        """Create from questions and yes-or-no answers.

        Parameters
        ----------
        queries : array-like of int or str, shape (n, 3) or (n, 4)
            (a, b, c) asks "is a nearer to b than to c?", (i, j, l, k) "are i and j nearer than l and k?".
        responses : array-like, shape (n,)
            Yes or no: True or False, 1 or 0, or 1 or -1. Larger signed counts are so many equal answers: weights.
        **columns
            As for `Comparisons`; `weights` multiply those of counts.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> Comparisons.from_answers([[0, 1, 2], [0, 1, 2]], [True, False]).rows.tolist()
        [[0, 1, 2], [0, 2, 1]]
        >>> Comparisons.from_answers([[0, 1, 2]], [-3]).weights
        array([3.])
        """
        rows, counts = apply_responses(queries, responses)
        if counts is not None:
            weights = columns.get("weights")
            columns["weights"] = counts if weights is None else counts * np.asarray(weights, dtype=np.float64)
        return cls(rows, **columns)
