"""An accuracy on held-out answers as people should read it: with an interval, chance, a ceiling and what would help."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.comparisons.display import html_table
from nearer.selection.intervals import Ceiling, Interval, share_and_interval

CHANCE = 0.5  # of two answers, a guess is right half of the time
FARTHEST = 4.0  # times as many answers: as far as a learning curve is continued
CLEAR = 2.0  # standard errors by which a learning curve must rise
FEW = 0.5  # of the usual number of answers, n d log2(n) for n objects in d dimensions (Jamieson and Nowak, 2011)
STEP = 0.05  # what is aimed at is a multiple of this


class LearningCurve(NamedTuple):
    """The accuracy on the same held-out answers after fits to few and to most of the other answers.

    Attributes
    ----------
    n_answers : tuple of int
        Answers that were learned from, few and most.
    accuracy : tuple of float
        The accuracies.
    standard_error : float
        Of the difference of the two accuracies.
    """

    n_answers: tuple[int, int]
    accuracy: tuple[float, float]
    standard_error: float

    @property
    def is_rising(self) -> bool:
        """Whether more answers helped, beyond doubt."""
        return self.accuracy[1] - self.accuracy[0] > CLEAR * self.standard_error

    def power(self, highest: float = 1.0) -> float:
        """Return g if ``highest`` less the accuracy falls with the number n of answers as 1/n^g; 0 if it does not fall.

        Parameters
        ----------
        highest : float, default=1
            The accuracy that no number of answers leads beyond.
        """
        (few, many), (low, high) = self.n_answers, self.accuracy
        if not low < high < highest:
            return 0.0
        return float(np.log((highest - low) / (highest - high)) / np.log(many / few))

    def gain(self, n_answers: int) -> float:
        """Return how much higher the accuracy would be after this many answers than after the most.

        Parameters
        ----------
        n_answers : int
            Number of answers.
        """
        return (1.0 - self.accuracy[1]) * (1.0 - (n_answers / self.n_answers[1]) ** -self.power())


@dataclass(frozen=True)
class HeldOut:
    """Accuracy on held-out answers; printing it gives the text for the terminal.

    Attributes
    ----------
    accuracy : float
        Share of the held-out rows, by weight, that were predicted; a tie counts as half.
    interval : tuple of float
        95 % interval of the accuracy on new answers.
    interval_by_subject : tuple of float or None
        The same with people as clusters; None if it is not known who answered, or groups were held out.
    correct : array of shape (n_rows,)
        1 where a row was predicted when it was held out, 0 where it was not, 0.5 for a tie.
    n_answers, n_given, n_objects, n_subjects : int
        Held-out answers, all answers, objects that these mention (0 for models of features, which need no answers about
        every object), and people (0 if it is not known who answered).
    groups : "answers", "people" or "groups"
        What was held out.
    ceiling : Ceiling or None
        None if hardly any question was asked twice.
    learning_curve : LearningCurve or None
        None if there was only one fit.
    """

    accuracy: float
    interval: Interval
    interval_by_subject: Interval | None
    correct: NDArray[np.float64]
    n_answers: int
    n_given: int
    n_objects: int
    n_subjects: int = 0
    groups: str = "answers"
    ceiling: Ceiling | None = None
    learning_curve: LearningCurve | None = None

    @property
    def better_than_chance(self) -> bool:
        """Whether the interval lies above 50 %, the accuracy of guesses."""
        return self.interval[0] > CHANCE

    def answers_needed(self, accuracy: float) -> int | None:
        """Return about how many more answers would raise the accuracy to this.

        The learning curve is continued: the errors, less those that the ceiling makes unavoidable, fall as a power of
        the number of answers.

        Parameters
        ----------
        accuracy : float
            The accuracy to reach.

        Returns
        -------
        int or None
            None if the curve does not clearly rise, or would have to be continued to more than four times the answers.
        """
        curve, highest = self.learning_curve, 1.0 if self.ceiling is None else self.ceiling.accuracy
        if curve is None or not self.better_than_chance or not self.accuracy < accuracy < highest:
            return None
        if not curve.is_rising:
            return None
        factor = ((highest - self.accuracy) / (highest - accuracy)) ** (1.0 / curve.power(highest))
        return round_to_two_digits(self.n_given * (factor - 1.0)) if factor <= FARTHEST else None

    def facts(self) -> list[tuple[str, str]]:
        """Return what there is to say, as pairs of a heading and a text."""
        verdict = "" if self.better_than_chance else ": the model is no better than guessing"
        of = f"of {self.n_answers:,} answers" + ("" if self.groups == "answers" else f" of new {self.groups}")
        facts = [
            ("held out", f"{_percent(self.accuracy)} {of}, 95 % interval {_percent(*self.interval)}"),
            ("chance", f"50 %{verdict}"),
        ]
        if self.interval_by_subject is not None:
            interval = f"95 % interval {_percent(*self.interval_by_subject)}"
            facts.append(("by person", f"{interval}, clustered by {self.n_subjects:,} people"))
        if self.ceiling is not None:
            at_most, interval = _percent(self.ceiling.accuracy), _percent(*self.ceiling.interval)
            same = f"two answers to the same question agree in {_percent(self.ceiling.agreement)} of cases"
            facts.append(
                ("ceiling", f"{at_most} ({interval}): {same}, {self.ceiling.n_questions:,} repeated questions")
            )
        return facts + self._advice()

    def _advice(self) -> list[tuple[str, str]]:
        usual = round_to_two_digits(2 * self.n_objects * np.log2(self.n_objects or 1))
        objects = f" about {self.n_objects:,} objects" if self.n_objects else ""
        if self.n_given < (FEW if self.better_than_chance else 1.0) * usual:
            need = f"a map of two dimensions needs some {usual:,}"
            return [("caution", f"{self.n_given:,} answers{objects} are too few: {need}")]
        if not self.better_than_chance:
            why = f"these answers{objects} show no pattern that the model can learn"
            if self.groups != "answers":
                why = f"too few {self.groups}, or they differ too much, to tell whether it is better"
            return [("caution", why)]
        needed = self.answers_needed(self.goal)
        if needed is None:
            return []
        return [("more answers", f"about {needed:,} more for an accuracy of {100 * self.goal:.0f} %")]

    @property
    def goal(self) -> float:
        """The next accuracy to aim at, a multiple of 5 %."""
        return float(STEP * np.ceil((self.accuracy + STEP / 2) / STEP))

    def __repr__(self) -> str:
        return "\n".join(f"{heading:<16}{text}" for heading, text in self.facts())

    def _repr_html_(self) -> str:
        return html_table(self.facts())


def _percent(*shares: float) -> str:
    return " to ".join(f"{100 * share:.1f}" for share in shares) + " %"


def round_to_two_digits(number: float) -> int:
    """Return a number of which no more than two digits mean anything.

    Examples
    --------
    >>> round_to_two_digits(1749.3)
    1700
    """
    return int(float(f"{number:.1e}"))


def summarize(
    correct: NDArray[np.float64],
    held_out: Comparisons,
    units: NDArray[Any],
    *,
    n_given: int,
    n_objects: int,
    groups: Any = None,
    factor: float = 1.0,
    ceiling: Ceiling | None = None,
    learning_curve: LearningCurve | None = None,
) -> HeldOut:
    """Return the accuracy on held-out answers with its intervals.

    Parameters
    ----------
    correct : array, one value per row
        As :func:`are_correct` returns it.
    held_out : Comparisons
        The rows, with weights and subjects.
    units : array of int, one per row
        Rows with the same number depend on each other.
    n_given : int
        Number of all answers: those learned from are included.
    n_objects : int
        Number of objects that all answers mention; 0 for models of features.
    groups : optional
        What was held out as a whole: "subjects", or other groups.
    factor : float, default=1
        Multiplies the variance.
    ceiling : Ceiling, optional
        Of all answers.
    learning_curve : LearningCurve, optional
        The upper end of an interval is raised by what it gains from the training parts to all answers.
    """
    gain = 0.0 if learning_curve is None else learning_curve.gain(n_given)

    def estimate(units: NDArray[Any]) -> tuple[float, Interval]:
        share, (low, high) = share_and_interval(correct, held_out.weights, units, factor)
        return share, (low, min(high + gain, 1.0))

    accuracy, interval = estimate(units)
    subjects = held_out.subjects
    n_subjects, by_subject = 0 if subjects is None else len(np.unique(subjects)), None
    if subjects is not None and n_subjects > 1 and groups is None:
        by_subject = estimate(subjects)[1] if np.ptp(correct) > 0 else interval  # all right: people do not differ
    kind = "answers" if groups is None else "people" if isinstance(groups, str) else "groups"
    return HeldOut(
        accuracy=accuracy, interval=interval, interval_by_subject=by_subject, correct=correct,
        n_answers=held_out.n_answers, n_given=n_given, n_objects=n_objects,
        n_subjects=n_subjects, groups=kind,
        ceiling=ceiling, learning_curve=learning_curve,
    )  # fmt: skip
