"""What ``nearer fit`` learns from where the answers are in files larger than memory: it holds out a sample of them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from nearer.cli.app import Facts, count
from nearer.cli.models import last_step
from nearer.cli.training_data import Answers, TooFewError

if TYPE_CHECKING:
    from nearer.comparisons import ComparisonSource

HELD_OUT = 20_000  # rows at most: enough for an interval of half a percent


@dataclass(frozen=True)
class AnswerFiles:
    """Answers in files, which are not read into memory."""

    source: "ComparisonSource"
    table: None = None
    fits_again = False  # the model that was evaluated is saved: what it was not shown is a tiny part

    def describe(self, is_scaled: bool = False) -> Facts:
        """Return what there is."""
        parts = count(len(self.source.parts), "part")
        why = "larger than memory: they stay in the files" if self.source.is_large else "read by the workers"
        return [
            ("objects", f"{self.source.n_objects:,}"),
            ("rows", f"{len(self.source):,} in {parts}, {why}"),
        ]

    def by_subject(self) -> NoReturn:
        """Refuse: people are spread over the files."""
        raise ValueError(
            f"--by-subject is for answers in memory, and these are {self.size} that are read in parts: leave out the "
            "files of some people, and evaluate on these with nearer score"
        )

    @property
    def size(self) -> str:
        """How many rows there are."""
        return count(len(self.source), "row")

    def split(self, share: float, seed: int) -> tuple[Self, Answers]:
        """Hold out a sample of the answers."""
        from nearer.selection.files import hold_out_sample

        try:
            train, held_out = hold_out_sample(self.source, min(round(share * len(self.source)), HELD_OUT), seed)
        except ValueError as error:
            raise TooFewError(str(error)) from None
        return replace(self, source=train), Answers(held_out)

    def can_cross_validate(self, model: Any) -> bool:
        """Answers are held out once."""
        return False

    def fit(self, model: Any) -> None:
        """Fit a model."""
        model.fit(self.source)

    def evaluate(self, model: Any, test: Answers | None) -> Facts:
        """Return the share of held-out answers that a model satisfies."""
        from nearer.selection.estimate import summarize
        from nearer.selection.folds import question_groups
        from nearer.selection.intervals import are_correct

        if test is None:
            return []
        answers, estimator = test.answers, last_step(model)[1]
        held_out = summarize(
            are_correct(estimator.predict, answers), answers, question_groups(answers, test._questions[0]),
            n_given=len(self.source) + len(answers), n_objects=self.source.n_objects,
        )  # fmt: skip
        return held_out.facts()
