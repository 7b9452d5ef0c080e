"""``nearer fit``: from answers to a model file, with an honest word about how good it is."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli.app import INTERRUPTED, command
from nearer.cli.fitting import Watch, fitted, say_if_compiling
from nearer.cli.learners import Learner, learner
from nearer.cli.saying import aside, count, facts, percent, writing
from nearer.files import check_writable

if TYPE_CHECKING:
    from nearer import Comparisons

FEWEST = 10  # answers; of fewer none are held out


@command(
    "nearer fit answers.csv -o europe.nearer",
    "nearer fit monday.csv tuesday.csv --dims 3 --loss ste --seed 1 -o week.nearer",
    "nearer fit answers.csv --model kernel -o kernel.nearer",
)
def fit(
    answers: Annotated[
        list[Path],
        typer.Argument(
            metavar="ANSWERS",
            help="Files of answers: .csv, .tsv, .jsonl, .npy, .npz, .parquet. Several are put together.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.", show_default=False)],
    model: Annotated[
        str,
        typer.Option(
            metavar="map|kernel",
            help="What is learned: a map of few dimensions, or a kernel of as many as it takes.",
        ),
    ] = "map",
    dims: Annotated[int | None, typer.Option(help="Dimensions of the map.", show_default="2")] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="How badly an answer is met: tste, ste, ckl, gnmds or soe; for a kernel gnmds, ste or ckl.",
            show_default="tste; kernel: gnmds",
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(help="How the map is found: svrg-sbb, svrg, sgd, batch or lbfgs.", show_default="svrg-sbb"),
    ] = None,
    regularization: Annotated[
        str,
        typer.Option(
            metavar="auto|NUMBER",
            help="Pull of all points to the middle, which keeps few answers from being learned by heart. "
            "auto tries several on held-out answers; 0 is right for answers without errors.",
        ),
    ] = "auto",
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the answers at most.", show_default="300")
    ] = None,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop when answers kept back for this are met no better.")
    ] = False,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of the answers that a first fit does not see, to print how well it predicts them. "
            "0: only the one fit on all answers.",
        ),
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 for all cores.", show_default="1")] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar, no asides; results and errors only.")
    ] = False,
) -> None:
    """Learn a map, or a kernel, from answers and save it as a model file.

    A table of answers has a header that says what its columns are. Most often it is anchor,near,far: the
    anchor is nearer to the second object than to the third. Also understood are head,winner,loser; i,j,l,k
    for "i and j are nearer to each other than l and k"; odd-one-out answers (first,second,odd); and rankings
    (anchor,rank1,rank2,...). Columns weight, subject and answer are optional. Objects are names or numbers.

    Accuracy is the share of comparisons that the model satisfies, by weight. The held-out accuracy is that of
    a first fit on answers that it was not shown. The model that is saved is then fitted on all answers.

    A kernel is a table of how alike any two objects are. It suits up to some thousand objects, and for the
    losses gnmds and ste the fit says how far from the best kernel it can be at most.

    --early-stopping, --dims, --solver, --epochs and --jobs are for maps.

    Ctrl-C stops after the current epoch (of a kernel: iteration) and keeps the model so far in a file beside the
    model file, which is left as it was.
    """
    begun = time.perf_counter()
    check_writable(out, answers)
    kind = learner(model)
    options = {
        "dims": dims,
        "solver": solver,
        "epochs": epochs,
        "early-stopping": early_stopping or None,
        "jobs": jobs,
    }
    blank = kind.model(loss, options, regularization=_number_or_auto(regularization), random_state=seed)
    _check_solver(solver)
    given = _together(answers)
    if kind.compiles and not quiet:
        say_if_compiling()
    # What is known of the answers is printed before the long work.
    about = given.report()
    facts(
        [
            ("objects", f"{about.objects:,}"),
            ("answers", f"{about.answers:,}"),
            ("rows", f"{about.rows:,}"),
            ("contradictions", f"{about.contradictions:,}"),
        ]
    )
    if held_out and given.n_answers >= FEWEST:
        train, test = given.split(held_out, random_state=seed)
        trial, watch = fitted(blank, train, "trial fit", quiet, kind.step)
        _stop_if_interrupted(trial, kind, watch, out)
        facts(
            [
                _accuracy("training", trial, train),
                _accuracy("held out", trial, test, " that this fit was not shown"),
            ]
        )
        learned, watch = fitted(blank, given, "fit on all", quiet, kind.step)
        _stop_if_interrupted(learned, kind, watch, out)
        note = f"fitted anew on all {count(given.n_answers, 'answer')}"
    else:
        learned, watch = fitted(blank, given, "fit", quiet, kind.step)
        _stop_if_interrupted(learned, kind, watch, out)
        why = f"none: {count(given.n_answers, 'answer')} are too few" if held_out else "none, as asked"
        facts([_accuracy("training", learned, given), ("held out", why)])
        note = f"fitted on all {count(given.n_answers, 'answer')}"
    facts(kind.more(learned))
    with writing(out):
        learned.save(out)
    facts([("saved", f"{out}, {note}"), ("seconds", f"{time.perf_counter() - begun:.1f}")])


def _together(paths: list[Path]) -> "Comparisons":
    from nearer import Comparisons, read

    parts = [read(path) for path in paths]
    return parts[0] if len(parts) == 1 else Comparisons.concat(parts)


def _number_or_auto(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--regularization must be auto or a number; got {text!r}") from None


def _check_solver(name: str | None) -> None:
    if name is not None:
        from nearer.embedding.solvers import as_solver

        as_solver(name)  # an unknown name is told before a large file is read


def _accuracy(word: str, model: Any, answers: "Comparisons", note: str = "") -> tuple[str, str]:
    if answers.weights is not None and not answers.weights.any():
        return word, f"none: the weights of all {count(answers.n_answers, 'answer')} are 0"
    return word, f"{percent(model.score(answers))} of {count(answers.n_answers, 'answer')}{note}"


def _stop_if_interrupted(model: Any, kind: Learner, watch: Watch, out: Path) -> None:
    if not watch.interrupted:
        return
    partial = out.with_name(f"{out.stem}.partial{out.suffix}")
    with writing(partial):
        model.save(partial)
    aside(f"interrupted; the {kind.what} after {count(watch.records - 1, kind.step)} is in {partial}")
    raise typer.Exit(INTERRUPTED)
