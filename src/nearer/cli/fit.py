"""``nearer fit``: from answers to a model file, with an honest word about how good it is."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli.app import INTERRUPTED, command
from nearer.cli.fitting import Watch, fitted, say_if_compiling
from nearer.cli.saying import aside, count, facts, percent, writing
from nearer.files import check_writable

if TYPE_CHECKING:
    from nearer import Comparisons, OrdinalEmbedding

FEWEST = 10  # answers; of fewer none are held out


@command(
    "nearer fit answers.csv -o europe.nearer",
    "nearer fit monday.csv tuesday.csv --dims 3 --loss ste --seed 1 -o week.nearer",
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
    dims: Annotated[int, typer.Option(help="Dimensions of the map.")] = 2,
    loss: Annotated[str, typer.Option(help="How badly an answer is met: tste, ste, ckl, gnmds or soe.")] = "tste",
    solver: Annotated[
        str, typer.Option(help="How the map is found: svrg-sbb, svrg, sgd, batch or lbfgs.")
    ] = "svrg-sbb",
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
    jobs: Annotated[int, typer.Option(help="Threads; -1 for all cores.")] = 1,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar, no asides; results and errors only.")
    ] = False,
) -> None:
    """Learn a map from answers and save it as a model file.

    A table of answers has a header that says what its columns are. Most often it is anchor,near,far: the
    anchor is nearer to the second object than to the third. Also understood are head,winner,loser; i,j,l,k
    for "i and j are nearer to each other than l and k"; odd-one-out answers (first,second,odd); and rankings
    (anchor,rank1,rank2,...). Columns weight, subject and answer are optional. Objects are names or numbers.

    Accuracy is the share of comparisons that the map satisfies, by weight. The held-out accuracy is that of a
    first fit on answers that it was not shown. The model that is saved is then fitted on all answers.

    Ctrl-C stops after the current epoch and keeps the map so far in a file beside the model file, which is
    left as it was.
    """
    begun = time.perf_counter()
    check_writable(out, answers)
    model = _model(dims, loss, solver, _number_or_auto(regularization), epochs, early_stopping, seed, jobs)
    given = _together(answers)
    if not quiet:
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
        trial, watch = fitted(model, train, "trial fit", quiet)
        _stop_if_interrupted(trial, watch, out)
        facts(
            [
                _accuracy("training", trial, train),
                _accuracy("held out", trial, test, " that this fit was not shown"),
            ]
        )
        learned, watch = fitted(model, given, "fit on all", quiet)
        _stop_if_interrupted(learned, watch, out)
        note = f"fitted anew on all {count(given.n_answers, 'answer')}"
    else:
        learned, watch = fitted(model, given, "fit", quiet)
        _stop_if_interrupted(learned, watch, out)
        why = f"none: {count(given.n_answers, 'answer')} are too few" if held_out else "none, as asked"
        facts([_accuracy("training", learned, given), ("held out", why)])
        note = f"fitted on all {count(given.n_answers, 'answer')}"
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


def _model(
    dims: int, loss: str, solver: str, ridge: float | str, epochs: int | None, early: bool, seed: int, jobs: int
) -> "OrdinalEmbedding":
    from nearer import OrdinalEmbedding
    from nearer.embedding.solvers import as_solver
    from nearer.losses import as_loss

    as_loss(loss, dims), as_solver(solver)  # an unknown name is told before a large file is read
    limit: dict[str, Any] = {} if epochs is None else {"max_epochs": epochs}  # the default is the library's
    return OrdinalEmbedding(
        dims,
        loss,
        solver,
        regularization=ridge,
        early_stopping=early,
        random_state=seed,
        n_jobs=jobs,
        **limit,
    )


def _accuracy(word: str, model: Any, answers: "Comparisons", note: str = "") -> tuple[str, str]:
    if answers.weights is not None and not answers.weights.any():
        return word, f"none: the weights of all {count(answers.n_answers, 'answer')} are 0"
    return word, f"{percent(model.score(answers))} of {count(answers.n_answers, 'answer')}{note}"


def _stop_if_interrupted(model: Any, watch: Watch, out: Path) -> None:
    if not watch.interrupted:
        return
    partial = out.with_name(f"{out.stem}.partial{out.suffix}")
    with writing(partial):
        model.save(partial)
    aside(f"interrupted; the map after {count(watch.epochs - 1, 'epoch')} is in {partial}")
    raise typer.Exit(INTERRUPTED)
