"""``nearer stream``: learn from answers as they arrive, and report how well they are predicted."""

import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli.app import command, count, percent, print_facts, print_note
from nearer.cli.models import check_options, save
from nearer.cli.options import flag, given_options, number_or, option, output
from nearer.cli.streaming import AnswerStream, InputLines
from nearer.files import check_writable

if TYPE_CHECKING:
    from nearer import OnlineKernel

WHERE = "standard input"
OF_KERNELS = ("loss", "step", "margin", "aggressiveness", "passes", "shrinkage", "objects", "seed")
STEPS = ("passive-aggressive", "1/t", "1/sqrt(t)")


class BadLineError(ValueError):
    """A line that cannot be learned from."""


@command(
    "nearer stream -o live.nearer < answers.jsonl",
    "nearer stream -o live.nearer --resume < more.jsonl",
    "tail -n +1 -f answers.jsonl | nearer stream -o tail.nearer --skip-bad",
)
def stream(
    out: Annotated[Path, output("The model file to write.")],
    resume: Annotated[bool, flag("--resume", "Continue with the existing model file and its options.")] = False,
    loss: Annotated[str | None, option("The loss of an answer: gnmds, ste, ckl, tste or soe.", "gnmds")] = None,
    step: Annotated[
        str | None,
        option(
            "How far an answer moves the kernel: as far as it takes to satisfy it by the margin; or a number, or "
            "one that falls with the count t of answers, times the slope of the loss.",
            "passive-aggressive",
            metavar="|".join((*STEPS, "NUMBER")),
        ),
    ] = None,
    margin: Annotated[
        float | None, option("The margin by which a passive-aggressive step satisfies its answer.", "1")
    ] = None,
    aggressiveness: Annotated[
        float | None,
        option("Longest step of one answer, in margins; smaller if there are more errors.", "0.7"),
    ] = None,
    passes: Annotated[
        int | None, option("Steps per answer: one for itself, the others for earlier answers.", "1", min=1)
    ] = None,
    shrinkage: Annotated[
        float | None,
        option(
            "How much all eigenvalues shrink over as many answers as there are objects: leads to few dimensions. "
            "0.05 works well with --passes 5 --aggressiveness 0.1.",
            "0",
            min=0.0,
        ),
    ] = None,
    objects: Annotated[
        int | None, typer.Option(min=3, help="Number of objects; an answer about any other is a bad line.")
    ] = None,
    seed: Annotated[int | None, option("Draws the earlier answers of --passes.", "0", min=0)] = None,
    every: Annotated[int, typer.Option(min=0, help="Answers between two reports; 0: no reports.")] = 100,
    save_every: Annotated[int, typer.Option(min=0, help="Answers between two saves; 0: only at the end.")] = 1000,
    skip_bad: Annotated[bool, flag("--skip-bad", "Report a bad line and continue, instead of stopping.")] = False,
) -> None:
    """Learn a kernel from answers on standard input, each as it arrives.

    An answer is one line of JSON, in any layout of a .jsonl file, each line in its own:
    {"anchor": "Vienna", "near": "Prague", "far": "Rome"}, or ["Vienna", "Prague", "Rome"], or
    {"i": 0, "j": 1, "l": 2, "k": 3}, or {"first": "Rome", "second": "Naples", "odd": "Oslo"}, or
    {"anchor": "Rome", "ranking": ["Naples", "Oslo"]}. A weight is optional; other fields are ignored. The
    kernel grows with new objects. All lines name their objects, or all number them.

    Every answer is predicted before it is learned. Reports on the error stream, and the facts at the end, give
    the share that was predicted right: of comparisons, by weight. A tie is wrong, and so is every prediction about
    an object that the kernel did not have yet. A line with the "answer" id of the line before is part of that
    answer: it is learned, and not counted.

    The kernel is saved at the end of the input, at a bad line (exit code 2), at Ctrl-C (130) and on termination
    (143). Use the model file with nearer score, neighbors and map.
    """
    arguments = locals()
    check_writable(out)
    options = given_options({name: arguments[name] for name in OF_KERNELS})
    answers = AnswerStream((_load_kernel if resume else _new_kernel)(out, options))
    before = getattr(answers.model, "n_samples_seen_", 0)
    if sys.stdin is not None and sys.stdin.isatty():
        print_note("reading answers from the keyboard, one JSON value per line; Ctrl-D ends")
    n_bad, error = 0, None
    with InputLines() as lines:
        try:
            n_bad = _learn(answers, lines, out, every, save_every, skip_bad)
        except BadLineError as bad:
            error = bad
        if answers.n_answers:
            save(answers.model, out)
            _print_summary(answers, out, before, n_bad)
    if error is not None:
        raise error
    if lines.stopped_by is not None:
        word = "interrupted" if lines.stopped_by == signal.SIGINT else "terminated"
        print_note(word + ("" if answers.n_answers else " before the first answer; nothing is saved"))
        raise typer.Exit(128 + lines.stopped_by)
    if not answers.n_answers:
        raise ValueError(f"{WHERE} has no answers" + (f", only {count(n_bad, 'bad line')}" if n_bad else ""))


def _new_kernel(path: Path, options: dict[str, Any]) -> "OnlineKernel":
    """Return the kernel of a new stream; wrong options are reported before the first answer."""
    from nearer import OnlineKernel

    if path.exists():
        raise ValueError(f"{path} exists already: continue it with --resume, or name another file")
    if "step" in options:
        options["step"] = number_or(options["step"], STEPS, "step")
    parameters = {
        "objects": "n_objects", "seed": "random_state", "step": "learning_rate", "passes": "steps_per_answer",
    }  # fmt: skip
    options = {"seed": 0, **options}
    model = OnlineKernel(**{parameters.get(name, name): value for name, value in options.items()})
    check_options(model, {name: name for name in options} | parameters)
    return model


def _load_kernel(path: Path, options: dict[str, Any]) -> "OnlineKernel":
    """Return the kernel of an earlier stream, which has its options."""
    from nearer import OnlineKernel, load_model

    if options:
        raise ValueError(f"--{next(iter(options))} is in the model file: leave it out with --resume")
    if not path.exists():
        raise ValueError(f"there is no {path} to continue: leave --resume out to begin")
    model = load_model(path)
    if not isinstance(model, OnlineKernel):
        kind = type(model).__name__
        raise ValueError(f"{path} is a {kind}: only a model of nearer stream can be continued")
    return model


def _learn(
    answers: AnswerStream, lines: Iterable[bytes], out: Path, every: int, save_every: int, skip_bad: bool
) -> int:
    """Learn line by line, with reports and saves on the way; return how many bad lines were left out."""
    from nearer.comparisons.rows import BadRowError
    from nearer.formats.jsonl import parse_lines

    n_bad, reported, busy = 0, 0, 0.0
    for number, value in parse_lines(lines):
        begun = time.perf_counter()
        try:
            is_new = answers.learn(value)
        except ValueError as error:
            problem = f" {error.problem}" if isinstance(error, BadRowError) else f": {error}"
            if not skip_bad:
                raise BadLineError(f"{WHERE}, line {number}{problem}") from None
            n_bad += 1
            print_note(f"left out {WHERE}, line {number}{problem}".partition("; understood are\n")[0])
            continue
        busy += time.perf_counter() - begun
        if is_new and every and answers.n_answers % every == 0:
            right = f"{percent(answers.recent_accuracy):>7} of the last {len(answers.recent)} predicted"
            each = f"{1000 * busy / (answers.n_answers - reported):.1f} ms each"
            learned, known = count(answers.n_answers, "answer"), count(answers.n_objects, "object")
            print(f"{learned:>19}  {right}  {known}, {each}", file=sys.stderr, flush=True)
            reported, busy = answers.n_answers, 0.0
        if is_new and save_every and answers.n_answers % save_every == 0:
            save(answers.model, out)
    return n_bad


def _print_summary(answers: AnswerStream, out: Path, before: int, n_bad: int) -> None:
    model = answers.model
    right = f"{percent(answers.accuracy)} of all answers before they were learned"
    recent = f"{percent(answers.recent_accuracy)} of the last {len(answers.recent)}"
    earlier = f", after {count(before, 'comparison')} learned before" if before else ""
    solved = count(model.n_projections_, "eigenproblem")
    facts = [
        ("answers", f"{answers.n_answers:,}{earlier}"),
        ("objects", f"{answers.n_objects:,}"),
        ("predicted", f"{right}, {recent}"),
        ("updates", f"{model.n_updates_:,}, with {solved} solved and {model.n_skipped_:,} skipped"),
    ]
    if n_bad:
        facts.append(("bad lines", f"{n_bad:,} left out"))
    print_facts([*facts, ("saved", str(out))])
