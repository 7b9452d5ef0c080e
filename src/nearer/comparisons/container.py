"""The one container that every learner takes, and the same in chunks.

A row says which of two things is nearer. A person, though, gives *answers*: an odd-one-out answer is two
rows and a ranking many. Rows of one answer belong together, so whatever selects from a `Comparisons`
(slices, masks, scikit-learn's splitters, `split`) takes whole answers; splitting by rows would flatter
every held-out error.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer.comparisons.answers import FromAnswers, turned
from nearer.comparisons.columns import (
    clean_answers,
    clean_column,
    clean_extra,
    clean_names,
    clean_weights,
    frozen,
    missing,
)
from nearer.comparisons.concat import fields_of_parts
from nearer.comparisons.indexing import repeats, row_numbers, whole_answers
from nearer.comparisons.layouts import fields_of_frame
from nearer.comparisons.random_state import RandomState, as_generator
from nearer.comparisons.rows import Rows, clean_rows, leave_out, question_codes
from nearer.comparisons.sources import ComparisonSource

if TYPE_CHECKING:
    from nearer.comparisons.report import Report

__all__ = ["ComparisonSource", "Comparisons", "as_generator"]


class Comparisons(FromAnswers):
    """Comparisons of distances between objects; frozen.

    Parameters
    ----------
    rows : array-like of int, shape (n, 3) or (n, 4), or DataFrame, or Comparisons
        Three columns (a, b, c) say that a is nearer to b than to c; four columns (i, j, l, k) say that i
        and j are nearer to each other than l and k. A DataFrame is read by its headers where these are
        understood (see `nearer.comparisons.layouts`), by position otherwise. Comparisons
        bring their columns along, except those given anew.
    n_objects : int, optional
        Number of objects; by default as many as `names`, or one more than the largest that occurs.
    names : sequence of str, optional
        One name an object.
    weights : array-like of float, shape (n,), optional
        How much each row counts; finite and at least 0.
    subjects : array-like, shape (n,), optional
        Who said it.
    answers : array-like, shape (n,), optional
        One id for each thing that a person said; rows with the same id stay together. By default every row
        is an answer of its own. The ids are match_objects 0, 1, … in order of first appearance.
    extra : mapping of str to array-like, optional
        Further columns with one value a row, such as a response time.
    bad_rows : {"raise", "drop"}
        What to do with rows that say nothing: an object or a pair compared with itself, a number that is no
        object's, a weight that is none, an empty answer id. "drop" leaves them out and counts them in `n_dropped`.

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
    Indexing by a slice, a mask or an index array gives `Comparisons` over the same objects. An
    answer of several rows is taken, whole, when its first row is selected: any partition of the rows
    becomes a partition of the answers. A repeated index repeats the rows, which stay one answer.

    Examples
    --------
    >>> cities = Comparisons([[0, 1, 2], [1, 0, 2]], names=["Vienna", "Prague", "Rome"])
    >>> cities
    Comparisons(2 triplets, 3 objects)
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
        drop = bad_rows == "drop"
        clean, known_n = clean_names(fields["names"], n_objects)
        rows, n, keep = clean_rows(rows, n_objects=known_n, names=clean, drop=drop)
        given = len(rows) if keep is None else len(keep)
        if fields["weights"] is not None:
            fields["weights"] = clean_weights(fields["weights"], given, drop)
        if fields["answers"] is not None:
            fields["answers"] = clean_column(fields["answers"], "answers", given)
        if drop:
            for what in ("weights", "answers"):
                if fields[what] is not None:
                    rows, keep = leave_out(rows, keep, missing(fields[what]))
            n = int(rows.max(initial=-1)) + 1 if known_n is None else n

        def kept(column: NDArray[Any]) -> NDArray[Any]:
            return column if keep is None else frozen(column[keep])

        ids, n_answers = None, len(rows)
        if fields["answers"] is not None:
            ids, n_answers = clean_answers(kept(fields["answers"]), len(rows))
        columns = clean_extra(fields["extra"], given)
        self._fill(
            rows=rows,
            n_objects=n,
            names=clean,
            n_answers=n_answers,
            _answers=ids,
            n_dropped=given - len(rows),
            weights=None if fields["weights"] is None else kept(fields["weights"]),
            subjects=None
            if fields["subjects"] is None
            else kept(clean_column(fields["subjects"], "subjects", given)),
            extra=MappingProxyType({name: kept(column) for name, column in columns.items()}),
        )

    def _fill(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _with(self, rows: Rows, take: Any, answers: NDArray[Any] | None, n_answers: int) -> "Comparisons":
        """Rows known to be good, with each column of this one indexed by `take`."""
        other = object.__new__(type(self))
        rows = np.ascontiguousarray(rows)
        other._fill(
            rows=frozen(rows),
            n_objects=self.n_objects,
            names=self.names,
            n_dropped=0,
            n_answers=n_answers,
            _answers=answers,
            weights=None if self.weights is None else frozen(self.weights[take]),
            subjects=None if self.subjects is None else frozen(self.subjects[take]),
            extra=MappingProxyType({name: frozen(column[take]) for name, column in self.extra.items()}),
        )
        return other

    # What it is --------------------

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Comparisons are frozen: make a new one instead of setting {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "extra": dict(self.extra)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {key: frozen(value) if isinstance(value, np.ndarray) else value for key, value in state.items()}
        columns = {name: frozen(column) for name, column in state["extra"].items()}
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
        """One id a row: 0, 1, … in order of first appearance; made on demand where each row has its own."""
        return np.arange(len(self)) if self._answers is None else self._answers

    @classmethod
    def of(cls, given: Any) -> "Comparisons":
        """Take whatever a learner is given; Comparisons are returned as they are.

        Examples
        --------
        >>> Comparisons.of([[0, 1, 2]])
        Comparisons(1 triplets, 3 objects)
        """
        if isinstance(given, Comparisons):
            return given
        if isinstance(given, ComparisonSource):
            return cls.concat(given.chunks())
        return cls(given)

    # Taking parts --------------------

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            if len(key) != 2 or not (isinstance(key[1], EllipsisType) or key[1] == slice(None)):
                raise IndexError("Comparisons are indexed by rows alone; take columns from .rows")
            key = key[0]
        if isinstance(key, int | np.integer):
            return self.rows[key]
        if isinstance(key, slice) and self._answers is None:
            rows = self.rows[key]
            return self._with(rows, key, None, len(rows))
        index = row_numbers(key, len(self))
        if self._answers is not None:
            index = whole_answers(self._answers, self.n_answers, index)
        once = isinstance(key, slice) or not repeats(index, len(self))
        if self._answers is None and once:
            return self._with(self.rows[index], index, None, len(index))
        ids, n_answers = clean_answers(self.answers[index], len(index))
        return self._with(self.rows[index], index, ids, n_answers)

    def split(
        self, test_size: float | int = 0.2, random_state: RandomState = None
    ) -> tuple["Comparisons", "Comparisons"]:
        """Split at random into a training and a test part, by whole answers.

        Parameters
        ----------
        test_size : float or int
            Share (below 1) or number of the answers that go into the test part; each part gets at least one.
        random_state : int, Generator, RandomState or None

        Examples
        --------
        >>> train, test = Comparisons([[0, 1, 2]] * 10).split(0.3, random_state=0)
        >>> len(train), len(test)
        (7, 3)
        """
        n = self.n_answers
        share = isinstance(test_size, float | np.floating)
        if n < 2 or not 0 < test_size < (1 if share else n):
            raise ValueError(
                f"cannot split {n} answers with test_size={test_size!r}: it must be a share between 0 and 1 "
                "or a number of answers, and both parts need at least one answer"
            )
        n_test = min(max(round(test_size * n), 1), n - 1) if share else int(test_size)
        chosen = np.zeros(n, dtype=bool)
        chosen[as_generator(random_state).choice(n, n_test, replace=False)] = True
        test = chosen if self._answers is None else chosen[self._answers]
        return self[~test], self[test]

    # Making others --------------------

    def flip(self, fraction: float, random_state: RandomState = None) -> "Comparisons":
        """Turn round that share of the answers, chosen at random: each row of them says the opposite.

        For an odd-one-out answer this is not another odd one out (no object would be): both its rows are
        turned.

        Examples
        --------
        >>> Comparisons([[0, 1, 2]] * 4).flip(0.5, random_state=0).rows[:, 1].tolist().count(2)
        2
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must lie between 0 and 1; got {fraction!r}")
        wrong = np.zeros(self.n_answers, dtype=bool)
        wrong[
            as_generator(random_state).choice(self.n_answers, round(fraction * self.n_answers), replace=False)
        ] = True
        wrong_rows = wrong if self._answers is None else wrong[self._answers]
        rows = self.rows.copy()
        rows[wrong_rows] = turned(rows[wrong_rows])
        return self._with(rows, slice(None), self._answers, self.n_answers)

    def merge(self) -> "Comparisons":
        """Make identical rows one row whose weight is the sum of theirs.

        Subjects, answers and extra columns are left behind: a merged row belongs to no one answer. The rows
        stand in order of first appearance. Quadruplets that differ only in the order within a pair are
        identical.

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
        return Comparisons(
            self.rows[first[order]], n_objects=self.n_objects, names=self.names, weights=totals[order]
        )

    def as_quadruplets(self) -> "Comparisons":
        """Write triplets (a, b, c) as quadruplets (a, b, a, c); quadruplets are returned as they are.

        Examples
        --------
        >>> Comparisons([[0, 1, 2]]).as_quadruplets().rows
        array([[0, 1, 0, 2]], dtype=int32)
        """
        if self.shape[1] == 4:
            return self
        return self._with(self.rows[:, [0, 1, 0, 2]], slice(None), self._answers, self.n_answers)

    @classmethod
    def concat(cls, parts: Iterable["Comparisons"]) -> "Comparisons":
        """Put several one after the other; answers of different parts stay different.

        Either all parts have names, and objects are matched by name, or none has and they are matched by
        number. Triplets become quadruplets where both occur. A part without weights counts as ones;
        subjects and extra columns are kept where every part has them.

        Examples
        --------
        >>> one = Comparisons([[0, 1, 2]], names=["Rome", "Oslo", "Bonn"])
        >>> two = Comparisons([[0, 1, 2]], names=["Rome", "Bonn", "Bern"])
        >>> both = Comparisons.concat([one, two])
        >>> both.names, both.rows.tolist()
        (('Rome', 'Oslo', 'Bonn', 'Bern'), [[0, 1, 2], [0, 2, 3]])
        """
        return cls(**fields_of_parts(list(parts)))

    def report(self) -> "Report":
        """Look at the data: repeats, contradictions, objects never asked about, groups, agreement.

        Examples
        --------
        >>> Comparisons([[0, 1, 2], [0, 2, 1]], n_objects=4).report().contradictions
        1
        """
        from nearer.comparisons.report import report

        return report(self)
