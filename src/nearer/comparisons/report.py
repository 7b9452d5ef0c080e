"""Statistics of a set of comparisons, before anything is learned from it.

Contradictions bound the accuracy of any map; objects in different groups were never compared, even indirectly, so
their distance is arbitrary; a person who disagrees with everyone else may not have paid attention.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from nearer.comparisons.coerce import mentioned_objects
from nearer.comparisons.display import html_table
from nearer.comparisons.rows import Rows, count_repeats, question_codes

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons


class Agreement(NamedTuple):
    """How often a person agrees with the others: a fraction, and the number of rows it is based on."""

    share: float
    rows: int


@dataclass(frozen=True, repr=False)
class Report:
    """The report on a set of comparisons; printing it gives the text for the terminal, and a notebook shows a table.

    Attributes
    ----------
    objects, rows, answers : int
        Objects that were never asked about do not count.
    repeats : int
        Rows that are identical to an earlier one.
    contradictions : int
        Pairs of a distinct row and its opposite.
    never_asked : list
        Objects that occur in no row: their names, or their numbers if there are no names.
    groups : list of lists
        Objects that are connected by comparisons, the largest group first; there should be one group. Objects
        never asked about are in no group.
    similar_names : list of lists
        Names that differ only in case, blanks or leading zeros, and may be meant for one object.
    agreement : dict of subject to Agreement
        The fraction of a subject's rows that agree with the majority of the other subjects' rows, among rows
        whose question other subjects answered too, without a tie. Subjects without such rows are left out.
    dropped : int
        Invalid rows that were left out.
    """

    objects: int
    rows: int
    answers: int
    repeats: int
    contradictions: int
    never_asked: list[Any] = field(default_factory=list)
    groups: list[list[Any]] = field(default_factory=list)
    similar_names: list[list[str]] = field(default_factory=list)
    agreement: dict[Any, Agreement] = field(default_factory=dict)
    dropped: int = 0

    def __repr__(self) -> str:
        return "\n".join(f"{what:<16}{value}" for what, value in self._lines())

    def _repr_html_(self) -> str:
        return html_table(self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        never = self.never_asked
        unasked = f" ({len(never):,} more never asked about: {_some(never)})" if never else ""
        sizes = [len(group) for group in self.groups]
        apart = f" not linked by any comparison, of {_some(sizes)} objects" if len(sizes) > 1 else ""
        lines = [
            ("objects", f"{self.objects:,}{unasked}"),
            ("rows", f"{self.rows:,}"),
            ("answers", f"{self.answers:,}"),
            ("repeats", f"{self.repeats:,}"),
            ("contradictions", f"{self.contradictions:,}"),
            ("groups", f"{len(sizes):,}{apart}"),
        ]
        if self.similar_names:
            groups = " · ".join(", ".join(map(repr, group)) for group in self.similar_names[:5])
            lines.append(("similar names", groups + " · …" * (len(self.similar_names) > 5)))
        if self.agreement:
            shares = [agreement.share for agreement in self.agreement.values()]
            who, least = min(self.agreement.items(), key=lambda item: item[1].share)
            median, lowest = f"median {np.median(shares):.2f} over {len(shares)} subjects", f"{least.share:.2f}"
            lines.append(("agreement", f"{median}; lowest {lowest} ({who}, {least.rows} rows)"))
        if self.dropped:
            lines.append(("dropped", f"{self.dropped:,} impossible row" + "s" * (self.dropped != 1)))
        return lines


def _some(things: list[Any], most: int = 8) -> str:
    return ", ".join(str(thing) for thing in things[:most]) + (", …" if len(things) > most else "")


def report(comparisons: "Comparisons") -> Report:
    """Return the report on `comparisons`."""
    rows, n = comparisons.rows, comparisons.n_objects
    questions, side = question_codes(rows, n)
    repeats, contradictions = count_repeats(questions, side)
    asked, names = mentioned_objects(comparisons), comparisons.names

    def label(objects: NDArray[Any]) -> list[Any]:
        return [names[index] for index in objects] if names is not None else objects.tolist()

    return Report(
        objects=int(asked.sum()),
        rows=len(rows),
        answers=comparisons.n_answers,
        repeats=repeats,
        contradictions=contradictions,
        never_asked=label(np.flatnonzero(~asked)),
        groups=[label(group) for group in _groups(rows, n, asked)],
        similar_names=_similar(names or ()),
        agreement={} if comparisons.subjects is None else _agreement(questions, side, comparisons.subjects),
        dropped=comparisons.n_dropped,
    )


def _similar(names: Sequence[str]) -> list[list[str]]:
    alike: dict[str, list[str]] = {}
    for name in names:
        plain = "".join(unicodedata.normalize("NFKC", name).casefold().split())
        alike.setdefault(plain.lstrip("0") or plain, []).append(name)
    return [group for group in alike.values() if len(group) > 1]


def _groups(rows: Rows, n: int, asked: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    if len(rows) == 0:
        return []
    start = np.concatenate([rows[:, 0]] * (rows.shape[1] - 1))
    end = rows[:, 1:].T.reshape(-1)
    links = csr_matrix((np.ones(len(start), dtype=np.int8), (start, end)), shape=(n, n))
    _, label = connected_components(links, directed=False)
    objects = np.flatnonzero(asked)
    objects = objects[np.argsort(label[objects], kind="stable")]
    groups = np.split(objects, np.flatnonzero(np.diff(label[objects])) + 1)
    return sorted(groups, key=len, reverse=True)


def _agreement(questions: NDArray[Any], side: NDArray[Any], subjects: NDArray[Any]) -> dict[Any, Agreement]:
    people, person = np.unique(subjects, return_inverse=True)
    person = person.reshape(-1)
    vote = np.where(side, 1, -1)
    _, mine = np.unique(questions * len(people) + person, return_inverse=True)
    mine = mine.reshape(-1)
    others = np.bincount(questions, weights=vote)[questions] - np.bincount(mine, weights=vote)[mine]
    counted = others != 0
    rows = np.bincount(person[counted], minlength=len(people))
    agreeing = np.bincount(person[counted & (others * vote > 0)], minlength=len(people))
    return {
        who: Agreement(float(yes / all_), int(all_))
        for who, yes, all_ in zip(people.tolist(), agreeing, rows, strict=True)
        if all_
    }
