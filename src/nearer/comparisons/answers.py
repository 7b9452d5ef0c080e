"""From answers of people to rows.

"k is the odd one of i, j, k" says d(i,j) < d(i,k) and d(j,i) < d(j,k); "c is the most central of c, x, y" says
d(x,c) < d(x,y) and d(y,c) < d(y,x); a ranking of objects by their distance to an anchor has one row per pair. The
functions here return the rows and the index of the answer that each row belongs to.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons.rows import BadRowError, flip_rows

RowsAndAnswers = tuple[NDArray[Any], NDArray[np.intp]]


# The word for the picked one of three objects, and the order of the objects in the two rows if the last is picked.
PICKED = {"odd one out": ("odd", [0, 1, 2, 1, 0, 2]), "most central": ("central", [0, 2, 1, 1, 2, 0])}


def expand_picked(triples: ArrayLike, picked: ArrayLike | None, kind: str) -> RowsAndAnswers:
    """Return two rows for each triple; `picked` names its odd or most central object, by default the last."""
    word, order = PICKED[kind]
    triples = np.asarray(triples)
    if triples.ndim != 2 or triples.shape[1] != 3:
        raise ValueError(f"triples must be a table of 3 columns; got an array of shape {triples.shape}")
    if picked is not None:
        picked = np.asarray(picked)
        if picked.shape != (len(triples),):
            raise ValueError(f"{word} must name one object for each of {len(triples)} triples; got {picked.shape}")
        hit = triples == picked[:, None]
        if not hit.any(axis=1).all():
            first = int(np.argmin(hit.any(axis=1)))
            problem = f"has {word} object {picked[first]}, which is none of {triples[first].tolist()}"
            raise BadRowError(first, problem)
        where = hit.argmax(axis=1)
        others = np.array([[1, 2], [0, 2], [0, 1]])[where]
        triples = np.take_along_axis(triples, np.column_stack([others, where]), axis=1)
    return triples[:, order].reshape(-1, 3), np.repeat(np.arange(len(triples)), 2)


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
    queries: ArrayLike, responses: ArrayLike, *, counts: bool = False, drop: bool = False
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Return queries (a, b, c), "is b nearer than c?", flipped if the response is False or negative, and weights.

    A response is a boolean or ±1, with `counts` also a signed count, whose size is the weight (None: all are 1). Any
    other response is a BadRowError; with `drop` it leaves an impossible row.
    """
    queries, values = np.asarray(queries), np.asarray(responses)
    if queries.ndim != 2 or queries.shape[1] not in (3, 4):
        raise ValueError(f"queries must be a table of 3 or 4 columns; got an array of shape {queries.shape}")
    if values.shape != (len(queries),):
        raise ValueError(f"{len(queries)} queries need as many responses; got shape {values.shape}")
    if values.dtype.kind == "b":
        values = np.where(values, 1, -1)
    elif values.dtype.kind not in "iuf":
        if counts:
            raise ValueError(f"responses must be True or False, ±1 or signed counts; got {values.dtype}")
        cells = np.asarray(responses, dtype=object).tolist()
        values = np.array([cell if cell in (1, -1) else 0 for cell in cells], dtype=np.float64)
    bad = ~np.isfinite(values) | ((values == 0) if counts else (values != 1) & (values != -1))
    if bad.any() and not drop:
        first = int(np.argmax(bad))
        response = np.asarray(responses, dtype=object)[first]
        says = ", which says neither yes nor no" if counts else "; a response is True or False, or +1 or -1"
        raise BadRowError(first, f"has response {response!r}{says}")
    rows = np.where(values[:, None] > 0, queries, flip_rows(queries))
    weights = np.abs(values).astype(np.float64)
    if bad.any():
        rows, weights = rows.astype(np.float64), np.where(bad, 1.0, weights)
        rows[bad] = -1
    return rows, None if (weights == 1).all() else weights


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
    def from_odd_one_out(cls, triples: ArrayLike, odd: ArrayLike | None = None, **columns: Any) -> Self:
        """Create from answers to "which of the three is the odd one out?": two rows each.

        Parameters
        ----------
        triples : array-like of int, shape (n, 3)
            The three objects of each question.
        odd : array-like of int, shape (n,), optional
            The object that was picked; by default the last of each triple.
        **columns
            As for `Comparisons`; `weights`, `subjects`, `answers` and `extra` with one value per answer.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> answers = Comparisons.from_odd_one_out([[4, 1, 2]], odd=[4])
        >>> answers.rows.tolist(), answers.answers.tolist()
        ([[1, 2, 4], [2, 1, 4]], [0, 0])
        """
        return cls._from_rows(*expand_picked(triples, odd, "odd one out"), columns)

    @classmethod
    def from_most_central(cls, triples: ArrayLike, central: ArrayLike | None = None, **columns: Any) -> Self:
        """Create from answers to "which of the three is the most central?": two rows each.

        Parameters
        ----------
        triples : array-like of int, shape (n, 3)
        central : array-like of int, shape (n,), optional
            The object that was picked; by default the last of each triple.
        **columns
            As for `from_odd_one_out`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> Comparisons.from_most_central([[4, 1, 2]], central=[4]).rows.tolist()
        [[1, 4, 2], [2, 4, 1]]
        """
        return cls._from_rows(*expand_picked(triples, central, "most central"), columns)

    @classmethod
    def from_rankings(cls, anchors: ArrayLike, rankings: Sequence[ArrayLike], **columns: Any) -> Self:
        """Create from rankings of objects by their distance to an anchor, nearest first: one row per pair.

        Parameters
        ----------
        anchors : array-like of int, shape (n,)
        rankings : sequence of n sequences of int
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
        queries : array-like of int, shape (n, 3) or (n, 4)
            (a, b, c) asks "is a nearer to b than to c?", (i, j, l, k) "are i and j nearer than l and k?".
        responses : array-like, shape (n,)
            True or +1: yes; False or -1: no.
        **columns
            As for `Comparisons`.

        Examples
        --------
        >>> from nearer import Comparisons
        >>> Comparisons.from_answers([[0, 1, 2], [0, 1, 2]], [True, False]).rows.tolist()
        [[0, 1, 2], [0, 2, 1]]
        """
        return cls(apply_responses(queries, responses)[0], **columns)
