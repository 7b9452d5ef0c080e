"""The container that every learner takes.

A row says which of two things is nearer. A person gives *answers*: an odd-one-out answer is two rows, a ranking
many. Rows of one answer depend on each other, so whatever selects from `Comparisons` (slices, masks,
scikit-learn's splitters, `split`) takes whole answers; splitting by rows would understate held-out errors.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons.answers import FromAnswers
from nearer.comparisons.chunks import ComparisonSource, concatenate, is_dask_frame, source_of
from nearer.comparisons.columns import clean_answers, clean_columns, clean_extra, clean_names, freeze, is_missing
from nearer.comparisons.display import TableDisplay
from nearer.comparisons.fields import fields_of_frame
from nearer.comparisons.objects import number_names
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import Rows, clean_rows, drop_rows, flip_rows, question_codes, select_rows

if TYPE_CHECKING:
    from nearer.comparisons.report import Report


class Comparisons(FromAnswers, TableDisplay):
    """Comparisons of distances between objects; frozen.

    Parameters
    ----------
    rows : array-like of int or str, shape (n, 3) or (n, 4), or DataFrame, or Comparisons
        Three columns (a, b, c) say that a is nearer to b than to c; four columns (i, j, l, k) say that i
        and j are nearer to each other than l and k. Objects are given by number, from 0, or by name. A DataFrame
        is read by its headers where these are understood (see `nearer.comparisons.layouts`), by position
        otherwise. Comparisons keep their columns, except those passed again.
    n_objects : int, optional
        Number of objects; by default the number of `names`, or one more than the largest index in the rows.
    names : sequence of str, optional
        One name per object; by default, of rows of names, all of these in alphabetical order.
    weights : array-like of float, shape (n,), optional
        Weight of each row; finite and at least 0.
    subjects : array-like, shape (n,), optional
        Who gave the answer.
    answers : array-like, shape (n,), optional
        The id of the answer that each row belongs to; rows with the same id stay together. By default every row
        is an answer of its own. The ids are renumbered 0, 1, … in order of first appearance.
    extra : mapping of str to array-like, optional
        Further columns with one value per row, such as a response time.
    bad_rows : {"raise", "drop"}
        What to do with invalid rows: an object or a pair compared with itself, an index that no object has, an
        invalid weight, an empty answer id. "drop" leaves them out and counts them in `n_dropped`.

    Attributes
    ----------
    rows : int32 array, C-contiguous, read-only
    n_objects, n_answers, n_dropped : int
    names : tuple of str, or None
    weights : float64 array, or None
    subjects : array, or None
    extra : mapping of str to array

    Notes
    -----
    Indexing by a slice, a mask or an index array returns `Comparisons` over the same objects. An answer of
    several rows is selected as a whole if its first row is selected, so any partition of the rows is a partition
    of the answers. A repeated index repeats the rows, which remain one answer.

    Examples
    --------
    >>> cities = Comparisons([[0, 1, 2], [1, 0, 2]], names=["Vienna", "Prague", "Rome"])
    >>> cities
    Comparisons(2 triplets, 3 objects)
    >>> Comparisons([["Vienna", "Prague", "Rome"]]).names
    ('Prague', 'Rome', 'Vienna')
    >>> Comparisons([[0, 1, 2], [4, 4, 2]])
    Traceback (most recent call last):
    nearer.comparisons.rows.BadRowError: row 1 compares object 4 with itself
    """

    rows: Rows
    n_objects: int
    n_answers: int
    n_dropped: int
    names: tuple[str, ...] | None
    weights: NDArray[np.float64] | None
    subjects: NDArray[Any] | None
    extra: Mapping[str, NDArray[Any]]
    _answers: NDArray[np.int32] | None

    def __init__(
        self,
        rows: Any,
        *,
        n_objects: int | None = None,
        names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        subjects: ArrayLike | None = None,
        answers: ArrayLike | None = None,
        extra: Mapping[str, Any] | None = None,
        bad_rows: Literal["raise", "drop"] = "raise",
    ) -> None:
        if bad_rows not in ("raise", "drop"):
            raise ValueError(f"bad_rows must be 'raise' or 'drop'; got {bad_rows!r}")
        drop = bad_rows == "drop"
        fields: dict[str, Any] = {
            "names": names, "weights": weights, "subjects": subjects, "answers": answers, "extra": extra,
        }  # fmt: skip
        known: dict[str, Any] = {}
        if isinstance(rows, Comparisons):
            known = {name: getattr(rows, name) for name in ("rows", "names", "weights", "subjects", "extra")}
            known |= {"answers": rows._answers}
            n_objects = rows.n_objects if n_objects is None and names is None else n_objects
        elif hasattr(rows, "columns") and hasattr(rows, "to_numpy"):
            known = fields_of_frame(rows)
        rows = known.pop("rows", rows)
        fields |= {key: value for key, value in known.items() if fields.get(key) is None}
        rows, fields["names"] = number_names(rows, fields["names"], drop, n_objects)
        names, n_known = clean_names(fields["names"], n_objects)
        rows, n_objects, keep = clean_rows(rows, n_objects=n_known, names=names, drop=drop)
        n_rows = len(rows) if keep is None else len(keep)
        columns = clean_columns(fields, n_rows, drop)
        more = clean_extra(fields["extra"], n_rows)
        if drop:
            for name in columns.keys() & {"weights", "answers"}:
                rows, keep = drop_rows(rows, keep, is_missing(columns[name]))
            n_objects = int(rows.max(initial=-1)) + 1 if n_known is None else n_objects
        if keep is not None:
            columns = {name: freeze(column[keep]) for name, column in columns.items()}
            more = {name: freeze(column[keep]) for name, column in more.items()}
        ids, n_answers = (
            clean_answers(columns["answers"], len(rows)) if "answers" in columns else (None, len(rows))
        )
        self._fill(
            rows=rows,
            n_objects=n_objects,
            names=names,
            n_answers=n_answers,
            _answers=ids,
            n_dropped=n_rows - len(rows),
            weights=columns.get("weights"),
            subjects=columns.get("subjects"),
            extra=MappingProxyType(more),
        )

    def _fill(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _replace(self, rows: Rows, take: Any, answers: NDArray[Any] | None, n_answers: int) -> "Comparisons":
        """Return a copy with these valid rows and with each column indexed by `take`."""
        other = object.__new__(type(self))
        other._fill(
            rows=freeze(np.ascontiguousarray(rows)),
            n_objects=self.n_objects,
            names=self.names,
            n_dropped=0,
            n_answers=n_answers,
            _answers=answers,
            weights=None if self.weights is None else freeze(self.weights[take]),
            subjects=None if self.subjects is None else freeze(self.subjects[take]),
            extra=MappingProxyType({name: freeze(column[take]) for name, column in self.extra.items()}),
        )
        return other

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Comparisons are frozen: create new ones instead of setting {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "extra": dict(self.extra)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {key: freeze(value) if isinstance(value, np.ndarray) else value for key, value in state.items()}
        columns = {name: freeze(column) for name, column in state["extra"].items()}
        self._fill(**(state | {"extra": MappingProxyType(columns)}))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns: 3 or 4."""
        return len(self.rows), self.rows.shape[1]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.rows, dtype=dtype) if copy else np.asarray(self.rows, dtype=dtype)

    def __repr__(self) -> str:
        kind = "triplets" if self.shape[1] == 3 else "quadruplets"
        answers = "" if self._answers is None else f", {self.n_answers} answers"
        return f"Comparisons({len(self)} {kind}, {self.n_objects} objects{answers})"

    @property
    def answers(self) -> NDArray[np.integer[Any]]:
        """The answer id of each row: 0, 1, … in order of first appearance."""
        return np.arange(len(self)) if self._answers is None else self._answers

    @classmethod
    def of(cls, comparisons: Any) -> "Comparisons":
        """Return anything that learners accept as Comparisons; Comparisons are returned unchanged.

        Examples
        --------
        >>> Comparisons.of([[0, 1, 2]])
        Comparisons(1 triplets, 3 objects)
        """
        if isinstance(comparisons, Comparisons):
            return comparisons
        if is_dask_frame(comparisons):
            comparisons = source_of(comparisons)
        if isinstance(comparisons, ComparisonSource):
            return cls.concat(comparisons.chunks())
        return cls(comparisons)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or not (isinstance(key[1], EllipsisType) or key[1] == slice(None)):
                raise IndexError("Comparisons are indexed by rows only; use .rows for columns")
            key = key[0]
        if isinstance(key, int | np.integer):
            return self.rows[key]
        if isinstance(key, slice) and self._answers is None:
            rows = self.rows[key]
            return self._replace(rows, key, None, len(rows))
        index, repeated = select_rows(key, len(self), self._answers, self.n_answers)
        if self._answers is None and not repeated:
            return self._replace(self.rows[index], index, None, len(index))
        return self._take_rows(index)

    def _take_rows(self, index: NDArray[np.intp]) -> "Comparisons":
        """Return the rows with these numbers, even if other rows of the same answers are left out."""
        return self._replace(self.rows[index], index, *clean_answers(self.answers[index], len(index)))

    def group(self, groups: Any) -> "Comparisons":
        """Return the comparisons with the rows of each group as one answer, which every selection takes whole.

        Parameters
        ----------
        groups : "subjects" or array-like of shape (n,)
            The group of each row; "subjects": who gave the answer.

        Returns
        -------
        Comparisons

        Examples
        --------
        >>> answers = Comparisons([[0, 1, 2], [1, 0, 2], [2, 0, 1]], subjects=["ann", "bob", "ann"])
        >>> answers.group("subjects").n_answers
        2
        """
        if isinstance(groups, str):
            if groups != "subjects":
                raise ValueError(f"groups must be 'subjects' or one value per row; got {groups!r}")
            if self.subjects is None:
                raise ValueError(
                    "groups='subjects' needs comparisons with subjects: these do not say who answered"
                )
            groups = self.subjects
        groups = np.asarray(groups)
        if groups.shape != (len(self),):
            raise ValueError(f"groups must have one value per row, {len(self)} in all; got shape {groups.shape}")
        return Comparisons(self, answers=groups)

    def split(
        self, test_size: float | int = 0.2, random_state: RandomState = None, groups: Any = None
    ) -> tuple["Comparisons", "Comparisons"]:
        """Split at random into training and test comparisons, by whole answers.

        Parameters
        ----------
        test_size : float or int
            Fraction (below 1) or number of the answers to test on; each part has at least one.
        random_state : int, Generator, RandomState or None
        groups : "subjects" or array-like of shape (n,), optional
            Split by groups instead, such as people: no group is in both parts, and the test is about new groups.

        Examples
        --------
        >>> train, test = Comparisons([[0, 1, 2]] * 10).split(0.3, random_state=0)
        >>> len(train), len(test)
        (7, 3)
        """
        units, what = (self, "answers") if groups is None else (self.group(groups), "groups")
        n = units.n_answers
        is_fraction = isinstance(test_size, float | np.floating)
        if n < 2 or not 0 < test_size < (1 if is_fraction else n):
            raise ValueError(
                f"cannot split {n} {what} with test_size={test_size!r}: it must be a fraction between 0 and 1 "
                f"or a number of {what}, and both parts need at least one"
            )
        n_test = min(max(round(test_size * n), 1), n - 1) if is_fraction else int(test_size)
        test = units._sample_answers(n_test, random_state)
        return self[~test], self[test]

    def _sample_answers(self, n: int, random_state: RandomState) -> NDArray[np.bool_]:
        """Return a mask over the rows that selects n answers at random."""
        mask = np.zeros(self.n_answers, dtype=bool)
        mask[as_generator(random_state).choice(self.n_answers, n, replace=False)] = True
        return mask if self._answers is None else mask[self._answers]

    def flip(self, fraction: float, random_state: RandomState = None) -> "Comparisons":
        """Flip that fraction of the answers, chosen at random: each of their rows says the opposite.

        A flipped odd-one-out answer names no other odd one: both its rows are flipped.

        Examples
        --------
        >>> Comparisons([[0, 1, 2]] * 4).flip(0.5, random_state=0).rows[:, 1].tolist().count(2)
        2
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must lie between 0 and 1; got {fraction!r}")
        wrong = self._sample_answers(round(fraction * self.n_answers), random_state)
        rows = self.rows.copy()
        rows[wrong] = flip_rows(rows[wrong])
        return self._replace(rows, slice(None), self._answers, self.n_answers)

    def merge(self) -> "Comparisons":
        """Merge identical rows into one row whose weight is the sum of their weights.

        Subjects, answers and extra columns are dropped: a merged row belongs to several answers. The rows are in
        order of first appearance. Quadruplets that differ only in the order within a pair are identical.

        Examples
        --------
        >>> merged = Comparisons([[0, 1, 2], [0, 2, 1], [0, 1, 2]]).merge()
        >>> merged.rows.tolist(), merged.weights.tolist()
        ([[0, 1, 2], [0, 2, 1]], [2.0, 1.0])
        """
        questions, side = question_codes(self.rows, self.n_objects)
        _, first, inverse = np.unique(2 * questions + side, return_index=True, return_inverse=True)
        totals = np.bincount(inverse.reshape(-1), weights=self.weights, minlength=len(first)).astype(np.float64)
        order = np.argsort(first)
        rows = self.rows[first[order]]
        return Comparisons(rows, n_objects=self.n_objects, names=self.names, weights=totals[order])

    def as_quadruplets(self) -> "Comparisons":
        """Write triplets (a, b, c) as quadruplets (a, b, a, c); quadruplets are returned unchanged.

        Examples
        --------
        >>> Comparisons([[0, 1, 2]]).as_quadruplets().rows
        array([[0, 1, 0, 2]], dtype=int32)
        """
        if self.shape[1] == 4:
            return self
        return self._replace(self.rows[:, [0, 1, 0, 2]], slice(None), self._answers, self.n_answers)

    @classmethod
    def concat(cls, parts: Iterable["Comparisons"]) -> "Comparisons":
        """Concatenate several; answers of different parts stay different.

        Objects are matched by name if all parts have names, by index if none has; where the names are numbers, an
        index is as good as a name. Triplets become quadruplets
        where both occur. A part without weights has weights of 1; subjects and extra columns are kept if every
        part has them.

        Examples
        --------
        >>> one = Comparisons([[0, 1, 2]], names=["Rome", "Oslo", "Bonn"])
        >>> two = Comparisons([[0, 1, 2]], names=["Rome", "Bonn", "Bern"])
        >>> both = Comparisons.concat([one, two])
        >>> both.names, both.rows.tolist()
        (('Rome', 'Oslo', 'Bonn', 'Bern'), [[0, 1, 2], [0, 2, 3]])
        """
        return cls(**concatenate(list(parts)))

    def report(self) -> "Report":
        """Describe the data: repeats, contradictions, objects never asked about, groups, agreement.

        Examples
        --------
        >>> Comparisons([[0, 1, 2], [0, 2, 1]], n_objects=4).report().contradictions
        1
        """
        from nearer.comparisons.report import report

        return report(self)
