"""What ``nearer fit`` was given to learn from: answers, features with class labels, or features with answers.

All three can keep a part back, teach a model, and judge it by what it was not shown, so the command is one and the
same for every model. Answers alone are here; those with features are in :mod:`nearer.cli.features`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from nearer.cli.console import count, percent

if TYPE_CHECKING:
    from nearer import Comparisons

Facts = list[tuple[str, str]]
FEWEST = 10  # answers; of fewer none are held out


class TooFewError(ValueError):
    """Says why nothing can be kept back."""


class Given(Protocol):
    """What models learn from."""

    def about(self) -> Facts:
        """Say what there is."""

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Return a part to learn from and a part that is kept back; TooFewError where there is too little."""

    def teach(self, model: Any) -> None:
        """Fit a model on it."""

    def judge(self, model: Any, held_out: Self | None) -> Facts:
        """Say how good a model is that was fitted on this, and was not shown what is held out."""

    def size(self) -> str:
        """Say how much it is."""

    def save(self, model: Any, path: Path) -> None:
        """Write a model that was fitted on it."""


@dataclass(frozen=True)
class Answers:
    """Answers alone, for a map or a kernel."""

    answers: "Comparisons"

    @classmethod
    def read(cls, paths: list[Path]) -> Self:
        """Put the answers of several files together."""
        from nearer import Comparisons, read

        parts = [read(path) for path in paths]
        return cls(parts[0] if len(parts) == 1 else Comparisons.concat(parts))

    def about(self) -> Facts:
        """Say what there is."""
        about = self.answers.report()
        return [
            ("objects", f"{about.objects:,}"),
            ("answers", f"{about.answers:,}"),
            ("rows", f"{about.rows:,}"),
            ("contradictions", f"{about.contradictions:,}"),
        ]

    def split(self, share: float, seed: int) -> tuple[Self, Self]:
        """Keep back a share of the answers."""
        train, test = split_answers(self.answers, share, seed)
        return type(self)(train), type(self)(test)

    def teach(self, model: Any) -> None:
        """Fit a model on it."""
        model.fit(self.answers)

    def judge(self, model: Any, held_out: Self | None) -> Facts:
        """Say which share of the answers a model satisfies."""
        return satisfied(model.score, self.answers, None if held_out is None else held_out.answers)

    def size(self) -> str:
        """Say how much it is."""
        return count(self.answers.n_answers, "answer")

    def save(self, model: Any, path: Path) -> None:
        """Write a model that was fitted on it."""
        model.save(path)


def split_answers(answers: "Comparisons", share: float, seed: int) -> tuple["Comparisons", "Comparisons"]:
    """Keep back a share of the answers, each of them whole."""
    if answers.n_answers < FEWEST:
        raise TooFewError(f"{count(answers.n_answers, 'answer')} are too few")
    return answers.split(share, random_state=seed)


def satisfied(score: Callable[["Comparisons"], float], train: "Comparisons", test: "Comparisons | None") -> Facts:
    """Say which share was satisfied of the answers that a model was fitted on, and of those held out."""
    said = [("training", share_of(train, score))]
    return said if test is None else [*said, ("held out", f"{share_of(test, score)} that this fit was not shown")]


def share_of(answers: "Comparisons", score: Callable[["Comparisons"], float]) -> str:
    """Say which share of answers is satisfied."""
    if answers.weights is not None and not answers.weights.any():
        return f"none: the weights of all {count(answers.n_answers, 'answer')} are 0"
    return f"{percent(score(answers))} of {count(answers.n_answers, 'answer')}"
