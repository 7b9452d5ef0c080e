"""``nearer stream``: learn from answers as they arrive, and report how well they are predicted."""

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import typer

from nearer.cli.app import command, count, percent, print_facts, print_note
from nearer.cli.models import check_options, save
from nearer.cli.options import flag, given_options, number_or, option, output
from nearer.cli.prequential import PrequentialModel
from nearer.files import check_writable

if TYPE_CHECKING:
    from nearer import OnlineKernel, OrdinalEmbedding

WHERE = "standard input"
OF_KERNEL = ("learning_rate", "margin", "aggressiveness", "steps_per_answer", "shrinkage")
SHARED = {"loss": "loss", "seed": "random_state"}
PARAMETERS = {
    "map": SHARED | {"dims": "n_components"},
    "kernel": SHARED | {name.replace("_", "-"): name for name in OF_KERNEL} | {"objects": "n_objects"},
}
OPTIONS = list(dict.fromkeys(name for parameters in PARAMETERS.values() for name in parameters))
LEARNING_RATES = ("passive-aggressive", "1/t", "1/sqrt(t)")


class BadLineError(ValueError):
    """A line that cannot be learned from."""


@command(
    "nearer stream -o live.nearer < answers.jsonl",
    "nearer stream -o live.nearer --resume < more.jsonl",
    "nearer stream --model kernel -o kernel.nearer < answers.jsonl",
    "tail -n +1 -f answers.jsonl | nearer stream -o tail.nearer --skip-bad",
)
def stream(
    out: Path = output("The model file to write."),
    resume: bool = flag("--resume", "Continue with the existing model file and its options."),
    model: str | None = option(
        "What to learn: a map, which keeps all answers and stays about as good as one of nearer fit; or a kernel, "
        "by ERKLE, which does not keep them.",
        "map",
        metavar="map|kernel",
    ),
    dims: int | None = option("Dimensions of the map.", "2", min=1),
    loss: str | None = option(
        "The loss of an answer: gnmds, ste, ckl, tste or soe; of a map also auto.", "auto, of a kernel gnmds"
    ),
    learning_rate: str | None = option(
        "For kernels: how far an answer moves the kernel: as far as it takes to satisfy it by the margin; or a "
        "number, or one that falls with the count t of answers, times the slope of the loss.",
        "passive-aggressive",
        metavar="|".join((*LEARNING_RATES, "NUMBER")),
    ),
    margin: float | None = option(
        "For kernels: the margin by which a passive-aggressive step satisfies its answer.", "1"
    ),
    aggressiveness: float | None = option(
        "For kernels: longest step of one answer, in margins; smaller if there are more errors.", "0.7"
    ),
    steps_per_answer: int | None = option(
        "For kernels: steps per answer: one for itself, the others for earlier answers.", "1", min=1
    ),
    shrinkage: float | None = option(
        "For kernels: how much all eigenvalues shrink over as many answers as there are objects: leads to few "
        "dimensions. 0.05 works well with --steps-per-answer 5 --aggressiveness 0.1.",
        "0",
        min=0.0,
    ),
    objects: int | None = typer.Option(
        None, min=3, help="Number of objects; an answer about any other is a bad line."
    ),
    seed: int | None = option(
        "Draws starts and folds of a map, the earlier answers of --steps-per-answer.", "0", min=0
    ),
    every: int = typer.Option(100, min=0, help="Answers between two reports; 0: no reports."),
    save_every: int = typer.Option(1000, min=0, help="Answers between two saves; 0: only at the end."),
    skip_bad: bool = flag("--skip-bad", "Report a bad line and continue, instead of stopping."),
) -> None:
    """Learn a map or a kernel from answers as they arrive.

    An answer is one line of JSON on standard input, in any layout of a .jsonl file, each line in its own:
    {"anchor": "Vienna", "near": "Prague", "far": "Rome"}, or ["Vienna", "Prague", "Rome"], or
    {"i": 0, "j": 1, "l": 2, "k": 3}, or {"first": "Rome", "second": "Naples", "odd": "Oslo"}, or
    {"anchor": "Rome", "ranking": ["Naples", "Oslo"]}. A weight is optional; other fields are ignored. The
    model grows with new objects. All lines name their objects, or all number them.

    Every answer is predicted before it is learned. Reports on the error stream, and the facts at the end, give
    the share that was predicted right: of comparisons, by weight. A tie is wrong, and so is every prediction about
    an object that the model did not have yet. A line with the "answer" id of the line before is part of that
    answer: it is learned, and not counted.

    The model is saved at the end of the input, at a bad line (exit code 2), at Ctrl-C (130) and on termination
    (143). Use the model file with nearer score, neighbors and map. That of a map holds the answers too, so that
    --resume continues with all of them.
    """
    arguments = locals()
    check_writable(out)
    options = given_options({name: arguments[name.replace("-", "_")] for name in OPTIONS})
    learner = PrequentialModel(
        _load(out, model, options) if resume else _new(out, model or "map", options), objects
    )
    before = getattr(learner.model, "n_samples_seen_", 0)
    if sys.stdin is not None and sys.stdin.isatty():
        print_note("reading answers from the keyboard, one JSON value per line; Ctrl-D ends")
    n_bad, error = 0, None
    with InputLines() as lines:
        try:
            n_bad = _learn(learner, lines, out, every, save_every, skip_bad)
        except BadLineError as bad:
            error = bad
        if learner.n_answers:
            save(learner.model, out)
            _print_summary(learner, out, before, n_bad)
    if error is not None:
        raise error
    if lines.stopped_by is not None:
        word = "interrupted" if lines.stopped_by == signal.SIGINT else "terminated"
        print_note(word + ("" if learner.n_answers else " before the first answer; nothing is saved"))
        raise typer.Exit(128 + lines.stopped_by)
    if not learner.n_answers:
        raise ValueError(f"{WHERE} has no answers" + (f", only {count(n_bad, 'bad line')}" if n_bad else ""))


def _new(path: Path, name: str, options: dict[str, Any]) -> "OrdinalEmbedding | OnlineKernel":
    """Return the model of a new stream; wrong options are reported before the first answer."""
    from nearer import OnlineKernel, OrdinalEmbedding

    if name not in PARAMETERS:
        raise ValueError(f"--model must be {' or '.join(PARAMETERS)}; got {name!r}")
    if path.exists():
        raise ValueError(f"{path} exists already: continue it with --resume, or name another file")
    parameters = PARAMETERS[name]
    for other in options:
        if other not in parameters and other != "objects":
            owner = next(model for model in PARAMETERS if other in PARAMETERS[model])
            raise ValueError(f"--{other} is for --model {owner}: --model {name} has no such option")
    if "learning-rate" in options:
        options["learning-rate"] = number_or(options["learning-rate"], LEARNING_RATES, "learning-rate")
    given = {parameters[key]: value for key, value in options.items() if key in parameters}
    model = {"map": OrdinalEmbedding, "kernel": OnlineKernel}[name](**{"random_state": 0, **given})
    check_options(model, parameters)
    return model


def _load(path: Path, name: str | None, options: dict[str, Any]) -> "OrdinalEmbedding | OnlineKernel":
    """Return the model of an earlier stream, which has its options; --objects of a map is of one run."""
    from nearer import OnlineKernel, OrdinalEmbedding, load_model

    if not path.exists():
        raise ValueError(f"there is no {path} to continue: leave --resume out to begin")
    model = load_model(path)
    is_map = isinstance(model, OrdinalEmbedding)
    in_file = [key for key in options if not (is_map and key == "objects")]
    if name is not None or in_file:
        raise ValueError(f"--{'model' if name else in_file[0]} is in the model file: leave it out with --resume")
    if isinstance(model, OnlineKernel) or (is_map and hasattr(model, "stream_")):
        return model
    kind = "map without its answers" if is_map else type(model).__name__
    raise ValueError(f"{path} is a {kind}: only a model of nearer stream can be continued")


def _learn(
    learner: PrequentialModel, lines: Iterable[bytes], out: Path, every: int, save_every: int, skip_bad: bool
) -> int:
    """Learn line by line, with reports and saves on the way; return how many bad lines were left out."""
    from nearer.comparisons.rows import BadRowError
    from nearer.formats.jsonl import parse_lines

    n_bad, reported, busy = 0, 0, 0.0
    for number, value in parse_lines(lines):
        begun = time.perf_counter()
        try:
            is_new = learner.learn(value)
        except ValueError as error:
            problem = f" {error.problem}" if isinstance(error, BadRowError) else f": {error}"
            if number == 1 and "is not JSON" in problem:
                problem += "; make such lines of a table by: nearer convert answers.csv answers.jsonl"
            if not skip_bad:
                raise BadLineError(f"{WHERE}, line {number}{problem}") from None
            n_bad += 1
            print_note(f"left out {WHERE}, line {number}{problem}".partition("; understood are\n")[0])
            continue
        busy += time.perf_counter() - begun
        if is_new and every and learner.n_answers % every == 0:
            right = f"{percent(learner.recent_accuracy):>7} of the last {len(learner.recent)} predicted"
            each = f"{1000 * busy / (learner.n_answers - reported):.1f} ms each"
            learned, known = count(learner.n_answers, "answer"), count(learner.n_objects, "object")
            print(f"{learned:>19}  {right}  {known}, {each}", file=sys.stderr, flush=True)
            reported, busy = learner.n_answers, 0.0
        if is_new and save_every and learner.n_answers % save_every == 0:
            save(learner.model, out)
    return n_bad


def _print_summary(learner: PrequentialModel, out: Path, before: int, n_bad: int) -> None:
    model = learner.model
    right = f"{percent(learner.accuracy)} of all answers before they were learned"
    recent = f"{percent(learner.recent_accuracy)} of the last {len(learner.recent)}"
    earlier = f", after {count(before, 'comparison')} learned before" if before else ""
    facts = [
        ("answers", f"{learner.n_answers:,}{earlier}"),
        ("objects", _count_objects(model)),
        ("predicted", f"{right}, {recent}"),
        _describe(model),
    ]
    if n_bad:
        facts.append(("bad lines", f"{n_bad:,} left out"))
    print_facts([*facts, ("saved", str(out))])


def _count_objects(model: Any) -> str:
    """Return how many objects a model has learned about; numbers with gaps leave a place for others."""
    asked = model._asked()
    never = len(asked) - int(asked.sum())
    return f"{asked.sum():,}" + (f" ({never:,} more never asked about)" if never else "")


def _describe(model: Any) -> tuple[str, str]:
    """Return a fact about how a model learned."""
    if hasattr(model, "embedding_"):
        loss, dims = type(model.loss_).__name__, count(model.embedding_.shape[1], "dimension")
        return "map", f"{dims}, loss {loss}, regularization {model.regularization_:.3g}"
    solved = count(model.n_projections_, "eigenproblem")
    return "updates", f"{model.n_updates_:,}, with {solved} solved and {model.n_skipped_:,} skipped"


class _StopWaiting(Exception):
    pass


class InputLines:
    """The lines of standard input as they arrive: a context that handles signals, and inside it an iterable.

    A signal, kept in `stopped_by`, ends the lines: at once while waiting for a line, otherwise after the current
    line. A second Ctrl-C raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.stopped_by: int | None = None
        self._waiting = False

    def __enter__(self) -> Self:
        signals = (signal.SIGINT, signal.SIGTERM)
        self._before = {number: signal.signal(number, self._on_signal) for number in signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stopped_by is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stopped_by = self.stopped_by or number
        if self._waiting:
            self._waiting = False
            raise _StopWaiting

    def __iter__(self) -> Iterator[bytes]:
        if sys.stdin is None:
            return
        try:
            while True:
                self._waiting = True  # first, so that a signal is seen in the next line or ends the wait
                if self.stopped_by is not None:
                    return
                line = sys.stdin.buffer.readline()  # returns as soon as there is a line
                self._waiting = False
                if not line:
                    return
                yield line
        except _StopWaiting:
            return
