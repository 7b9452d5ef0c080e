"""``nearer stream``: learn from answers as they arrive, and say at any time how well they are predicted."""

import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.console import aside, count, facts, percent, writing
from nearer.cli.stdin import Arriving
from nearer.cli.streaming import STEPS, Learning, new_kernel, old_kernel
from nearer.files import check_writable

WHERE = "standard input"


class BadLineError(ValueError):
    """A line that cannot be learned from."""


@command(
    "nearer stream -o live.nearer < answers.jsonl",
    "nearer stream -o live.nearer --resume < more.jsonl",
    "tail -n +1 -f answers.jsonl | nearer stream -o tail.nearer --skip-bad",
)
def stream(
    out: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.", show_default=False)],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the model file that is there, with its options.")
    ] = False,
    loss: Annotated[
        str | None,
        typer.Option(help="How badly an answer is met: gnmds, ste, ckl, tste or soe.", show_default="gnmds"),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="|".join((*STEPS, "NUMBER")),
            help="How far an answer moves the kernel: as far as it takes to be met by the margin; or a number, or "
            "one that falls with the count t of answers, times the slope of the loss.",
            show_default="passive-aggressive",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(help="By how much a passive-aggressive step meets its answer.", show_default="1"),
    ] = None,
    aggressiveness: Annotated[
        float | None,
        typer.Option(
            help="By how much of the margin one answer may move the kernel at most; less, the more errors "
            "there are.",
            show_default="0.7",
        ),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Steps an answer: one for itself, the others for earlier answers.", show_default="1"
        ),
    ] = None,
    shrinkage: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="By how much all eigenvalues fall for as many answers as there are objects: leads to few "
            "dimensions. 0.05 goes well with --passes 5 --aggressiveness 0.1.",
            show_default="0",
        ),
    ] = None,
    objects: Annotated[
        int | None,
        typer.Option(min=3, help="How many objects there are; an answer about any other is a bad line."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draws the earlier answers of --passes.", show_default="0")
    ] = None,
    every: Annotated[int, typer.Option(min=0, help="Answers between two reports; 0: no reports.")] = 100,
    save_every: Annotated[int, typer.Option(min=0, help="Answers between two saves; 0: at the end only.")] = 1000,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Complain about a bad line and go on, instead of stopping.")
    ] = False,
) -> None:
    """Learn a kernel from answers on standard input, each as it arrives.

    An answer is one line of JSON, in any layout of a .jsonl file, each line in its own:
    {"anchor": "Vienna", "near": "Prague", "far": "Rome"}, or ["Vienna", "Prague", "Rome"], or
    {"i": 0, "j": 1, "l": 2, "k": 3}, or {"first": "Rome", "second": "Naples", "odd": "Oslo"}, or
    {"anchor": "Rome", "ranking": ["Naples", "Oslo"]}. A weight is optional; other fields are ignored. The
    kernel grows with new objects. All lines name their objects, or all number them.

    Every answer is predicted before it is learned. Reports on the error stream, and the facts at the end, say
    which share was predicted right: of comparisons, by weight. A tie is not right, nor is anything about an
    object that the kernel did not have yet. A line with the "answer" id of the line before is part of that
    answer: it is learned, and not counted.

    At the end of the input, at a bad line (exit code 2), at Ctrl-C (130) and when terminated (143) the kernel
    is saved. Use the model file with nearer score, neighbors and map.
    """
    check_writable(out)
    options = {
        "loss": loss,
        "step": step,
        "margin": margin,
        "aggressiveness": aggressiveness,
        "passes": passes,
        "shrinkage": shrinkage,
        "objects": objects,
        "seed": seed,
    }
    given = {name: value for name, value in options.items() if value is not None}
    learning = Learning((old_kernel if resume else new_kernel)(out, given))
    before = getattr(learning.model, "n_samples_seen_", 0)
    if sys.stdin is not None and sys.stdin.isatty():
        aside("answers come from the keyboard, one JSON value a line; Ctrl-D ends")
    n_bad, error = 0, None
    with Arriving() as lines:
        try:
            n_bad = _learn(learning, lines, out, every, save_every, skip_bad)
        except BadLineError as bad:
            error = bad
        if learning.n_answers:
            _save(learning, out)
            _say(learning, out, before, n_bad)
    if error is not None:
        raise error
    if lines.stopped_by is not None:
        word = "interrupted" if lines.stopped_by == signal.SIGINT else "terminated"
        aside(word + ("" if learning.n_answers else " before the first answer; nothing is saved"))
        raise typer.Exit(128 + lines.stopped_by)
    if not learning.n_answers:
        raise ValueError(f"{WHERE} has no answers" + (f", only {count(n_bad, 'bad line')}" if n_bad else ""))


def _learn(
    learning: Learning, lines: Iterable[bytes], out: Path, every: int, save_every: int, skip_bad: bool
) -> int:
    """Learn line by line, with reports and saves on the way; how many bad lines were left out."""
    from nearer.comparisons.rows import BadRowError
    from nearer.formats.jsonl import values

    n_bad, reported, busy = 0, 0, 0.0
    for number, value in values(lines):
        begun = time.perf_counter()
        try:
            is_new = learning.take(value)
        except ValueError as error:
            problem = f" {error.problem}" if isinstance(error, BadRowError) else f": {error}"
            if not skip_bad:
                raise BadLineError(f"{WHERE}, line {number}{problem}") from None
            n_bad += 1
            aside(f"left out {WHERE}, line {number}{problem}".partition("; understood are\n")[0])
            continue
        busy += time.perf_counter() - begun
        if is_new and every and learning.n_answers % every == 0:
            _report(learning, 1000 * busy / (learning.n_answers - reported))
            reported, busy = learning.n_answers, 0.0
        if is_new and save_every and learning.n_answers % save_every == 0:
            _save(learning, out)
    return n_bad


def _report(learning: Learning, milliseconds: float) -> None:
    right = f"{percent(learning.recent_accuracy()):>7} of the last {len(learning.recent)} predicted"
    size = f"{count(learning.n_objects, 'object')}, {milliseconds:.1f} ms each"
    print(f"{count(learning.n_answers, 'answer'):>19}  {right}  {size}", file=sys.stderr, flush=True)


def _save(learning: Learning, out: Path) -> None:
    with writing(out):
        learning.model.save(out)


def _say(learning: Learning, out: Path, before: int, n_bad: int) -> None:
    model = learning.model
    right = f"{percent(learning.accuracy())} of all answers before they were learned"
    recent = f"{percent(learning.recent_accuracy())} of the last {len(learning.recent)}"
    earlier = f", after {count(before, 'comparison')} learned before" if before else ""
    solved = count(model.n_projections_, "eigenproblem")
    said = [
        ("answers", f"{learning.n_answers:,}{earlier}"),
        ("objects", f"{learning.n_objects:,}"),
        ("predicted", f"{right}, {recent}"),
        ("updates", f"{model.n_updates_:,}, with {solved} solved and {model.n_skipped_:,} skipped"),
    ]
    if n_bad:
        said.append(("bad lines", f"{n_bad:,} left out"))
    facts([*said, ("saved", str(out))])
