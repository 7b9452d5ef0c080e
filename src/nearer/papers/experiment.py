"""What an experiment of a paper is: trials that can be run apart, and what is made of their results.

One class per table or figure. It says at which sizes it runs, lists its trials, runs one of them, and turns the results
into a table, a figure and verdicts on what the paper claims. Nothing here knows files: `nearer.papers.run` does.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SCALES", "Experiment", "Verdict"]

SCALES = ("tiny", "quick", "full")  # tiny is for the tests: a few seconds, and no meaning

Row = dict[str, Any]
Trial = dict[str, Any]
Results = Sequence[tuple[Trial, Any]]  # trials with what each of them measured


@dataclass(frozen=True)
class Verdict:
    """Whether a claim, of the paper or ours, holds in what was measured.

    Attributes
    ----------
    claim : str
        What the paper says, in our words, or what else is worth knowing.
    holds : bool or None
        None if the claim cannot be decided: at this size, with a stand-in for the data, or within the noise.
    measured : str
        The figures on which this rests.
    ours : bool
        Whether the claim is not the paper's: such as a comparison with a method that it does not have.
    """

    claim: str
    holds: bool | None
    measured: str
    ours: bool = False


class Experiment(ABC):
    """One table or figure of a paper.

    A subclass sets the attributes below and writes `trials`, `run` and `table`; `draw` where the paper has a figure,
    and `verdicts` where it makes claims. The docstring of the subclass is the protocol, which reports show.

    Attributes
    ----------
    name : str
        Such as ``"table2"``: what is typed after the name of the paper.
    title : str
        One line for lists and headings.
    data : tuple of str
        The data sets that it needs, by the names of `nearer.datasets`.
    stand_in : str
        What replaces data of the paper that cannot be had; empty if nothing is replaced.
    timed : bool
        Whether seconds are among the results: such trials run alone, one after the other.
    sizes : dict
        Per scale, what `trials` is called with.
    minutes : dict
        Per scale, about how long it takes on two cores.
    reduced : str
        How the full scale is smaller than the paper's; empty if it is not.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    data: ClassVar[tuple[str, ...]] = ()
    stand_in: ClassVar[str] = ""
    timed: ClassVar[bool] = False
    sizes: ClassVar[dict[str, dict[str, Any]]]
    minutes: ClassVar[dict[str, float]]
    reduced: ClassVar[str] = ""

    @abstractmethod
    def trials(self, *_: Any, **sizes: Any) -> list[Trial]:
        """Return the trials: settings of which JSON keeps every value, each different from the others."""

    @abstractmethod
    def run(self, trial: Trial) -> Row | list[Row]:
        """Run one trial, from its settings alone, and return numbers and texts that JSON keeps."""

    @abstractmethod
    def table(self, results: Sequence[tuple[Trial, Any]]) -> list[Row]:
        """Return the rows of the table, the paper's number beside ours, from the trials and their results."""

    def draw(self, figure: "Figure", results: Sequence[tuple[Trial, Any]]) -> None:  # noqa: B027
        """Draw the figure of the paper; where a subclass does not, there is none."""

    def verdicts(self, table: list[Row], results: Sequence[tuple[Trial, Any]]) -> list[Verdict]:
        """Return what the results say about the claims of the paper."""
        return []

    def protocol(self) -> str:
        """Return the docstring, with each paragraph on one line."""
        paragraphs = " \n".join(line.strip() for line in (type(self).__doc__ or "").splitlines()).split(" \n \n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    @property
    def has_figure(self) -> bool:
        """Whether `draw` draws."""
        return type(self).draw is not Experiment.draw
