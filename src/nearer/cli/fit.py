"""``nearer fit``: from answers, or features, to a model file, with a held-out score that says how good it is."""

import time
from pathlib import Path
from typing import Any

import typer

from nearer.cli.app import INTERRUPTED, command, count, print_facts, print_note
from nearer.cli.models import WITHOUT_LOOPS, describe_model, fit_copy, last_step, make_model, save, take_settings
from nearer.cli.options import column, flag, given_options, number_or, option, output
from nearer.cli.training_data import TooFewError, read_data
from nearer.files import check_writable
from nearer.registry import commands

NOT_OF_MODELS = {
    "files",
    "out",
    "model",
    "held_out",
    "by_subject",
    "seed",
    "explain",
    "quiet",
}  # arguments that are no options of a model


@command(
    "nearer fit answers.csv -o europe.nearer",
    "nearer fit monday.csv tuesday.csv --dims 3 --loss ste --seed 1 -o week.nearer",
    "nearer fit answers.csv --model kernel -o kernel.nearer",
    "nearer fit shoes.csv --model bilinear --labels kind -o shoes.nearer",
    "nearer fit shoes.csv --model itml --comparisons answers.csv -o shoes.nearer",
    "nearer fit docs.parquet --text text --labels group --model low-rank --rank 30",
)
def fit(
    files: list[Path] = typer.Argument(
        ...,
        metavar="FILE",
        help="For a map or kernel, files of answers: .csv, .tsv, .jsonl, .npy, .npz, .parquet; several are "
        "concatenated. For the other models one table of features: .csv, .tsv, .parquet, .npz, .npy; of "
        "texts: .csv, .tsv, .jsonl, .parquet.",
        show_default=False,
    ),
    out: Path | None = output(
        "The model file to write. By default it has the name of the first FILE, is in this folder, and must not "
        "exist yet.",
        "FILE.nearer",
    ),
    model: str = typer.Option(
        "map",
        metavar="|".join(commands()),
        help="What to learn. From answers: a map of few dimensions, or a kernel of as many as it takes. "
        "From features: a bilinear similarity, one of low rank, or a distance by LEGO, ITML, RCA or LMNN.",
    ),
    labels: str | None = column("Features: the column that holds class labels."),
    comparisons: Path | None = option(
        "Features: a file of answers about the objects, instead of labels; by name, or by row number from 0. "
        "Not for rca and lmnn.",
        metavar="ANSWERS",
    ),
    text: str | None = column("Bilinear and low-rank: the column that holds texts, whose terms are the features."),
    terms: int | None = option(
        "Texts: how many terms to keep, the most informative ones.", "2,000; low-rank: 20,000", min=1
    ),
    names: str | None = column("Features: the column that holds the objects' names.", "name"),
    ignore: list[str] | None = column("Features: a column that is not a feature; may be given several times."),
    dims: str | None = option(
        "Dimensions of a map, or of rca and lmnn. auto (map): the fewest that predict held-out answers as well as more.",
        "2; others: all",
        metavar="auto|NUMBER",
    ),
    rank: int | None = option("Low-rank: the rank of the similarity.", "30", min=1),
    loss: str | None = option(
        "The loss of an answer: auto, tste, ste, ckl, gnmds or soe; of a kernel gnmds, ste or ckl. With a loss, "
        "low-rank learns a distance.",
        "auto; kernel: gnmds; low-rank: none",
    ),
    solver: str | None = option(
        "The solver of a map: lbfgs, svrg-sbb, svrg, sgd or batch; of a bilinear similarity: sdca or oasis; "
        "of one of low rank: loreta, gd, pa or loreta-identify.",
        "lbfgs; bilinear: sdca; low-rank: loreta",
    ),
    regularization: str | None = option(
        "Strength of the pull of all points to the center, or of a bilinear similarity to 0, which prevents "
        "overfitting. auto tries several values on held-out data. 0 suits answers without errors. For "
        "lmnn the share of the pull, between 0 and 1.",
        "auto; lmnn: 0.5",
        metavar="auto|NUMBER",
    ),
    epochs: int | None = option(
        "Maximum number of iterations: passes over the data; of a kernel rounds, of lmnn iterations.",
        "300; kernel, itml: 1000; lmnn: 200; lego: 1",
    ),
    steps: int | None = option("Low-rank: number of steps.", "depends on the data", min=1),
    learning_rate: str | None = option(
        "Low-rank and lego: the size of a step.", "auto; lego: 0.125", metavar="auto|NUMBER"
    ),
    triplets: int | None = option(
        "Bilinear: how many triplets to draw from labels.", "about 20 per object", min=1
    ),
    psd: bool = flag("--psd", "Keep the similarity positive semidefinite, a kernel, as low-rank does."),
    early_stopping: bool = flag(
        "--early-stopping", "Map and low-rank: stop when what is held out for this gets no better."
    ),
    held_out: float = typer.Option(
        0.1,
        min=0.0,
        max=0.9,
        help="Share of the answers, or of the objects of each class, that a first fit does not see and is "
        "evaluated on. 0: fit only once, on everything.",
    ),
    seed: int = typer.Option(0, min=0, help="The same seed gives the same model."),
    by_subject: bool = flag(
        "--by-subject",
        "Hold out all answers of some people, instead of some answers of all: the held-out accuracy is then about "
        "new people. Answers need a column subject.",
    ),
    seconds: float | None = option("Time limit: the best model that this many seconds allow."),
    jobs: int | None = option("Map: number of threads; -1 for all cores.", "-1"),
    explain: bool = flag("--explain", "Show what auto tried, and how well it did on held-out data."),
    quiet: bool = flag("--quiet", "No progress bar and no notes; results and errors only.", "-q"),
) -> None:
    """Learn a map, a kernel or a similarity of features, and save it as a model file.

    A table of answers has a header that says what its columns are. Most often it is anchor,near,far: the
    anchor is nearer to the second object than to the third. Also understood are head,winner,loser; i,j,l,k
    for "i and j are nearer to each other than l and k"; odd-one-out answers (first,second,odd); and rankings
    (anchor,rank1,rank2,...). Columns weight, subject and answer are optional. Objects are names or numbers.

    Accuracy is the share of comparisons that the model satisfies, by weight. The held-out accuracy is that of
    a first fit on answers that it was not shown. The model that is saved is then fitted on all answers. What
    is auto (loss, dimensions, regularization, learning rate) the first fit chooses and the second one takes over
    (the regularization of a map or kernel in proportion to the number of answers); --explain shows the choice.

    A kernel is a table of how similar any two objects are. It suits up to some thousand objects, and for the
    losses gnmds and ste the fit reports how far from the best kernel it can be at most.

    A table of features has one row per object and one column per feature. All columns are numbers except those
    of --labels, --names and --ignore; none may be empty. An .npz holds an array X or the parts of a CSR matrix,
    labels under any name, and names. The model learns from class labels (--labels) or from answers
    (--comparisons), and compares any objects with these features, also unseen ones. With labels, the held-out
    objects retrieve others of their class: mean average precision is 1 if these always come first.

    A table of texts has one row per object and its text in the column --text. The features are the terms that
    are most informative about the class, or with --comparisons those that are in most texts, weighted by tf-idf;
    held-out objects do not influence the choice. Columns other than those of --labels and --names are ignored.

    An option that is not for the model is refused, with the models that it is for.

    Ctrl-C stops after the current epoch (of a kernel: round; of lego and itml: pass; of lmnn: iteration; of
    low-rank: chunk of steps) and saves the model so far in a file beside the model file, which stays as it was. Of
    rca nothing is saved.
    """
    arguments = locals()
    begun = time.perf_counter()
    if out is None:
        out = Path(f"{files[0].stem}.nearer")
        if out.exists():
            raise ValueError(f"{out} exists already: name the model file to write, that one or another, with -o")
    check_writable(out, files if comparisons is None else [*files, comparisons])
    options = given_options({name: arguments[name] for name in arguments if name not in NOT_OF_MODELS})
    for name in {"dims", "regularization", "learning-rate"} & set(options):
        options[name] = number_or(options[name], ("auto",), name)
    if isinstance(options.get("dims"), float) and options["dims"].is_integer():
        options["dims"] = int(options["dims"])
    estimator = make_model(model, options, seed)
    data = read_data(files, options, estimator)
    if by_subject:
        data = data.by_subject()
    if not quiet and model not in WITHOUT_LOOPS:
        note_if_compiling()
    print_facts(data.describe())  # before the long work
    learned, how = _fit(estimator, data, held_out, seed, quiet, out)
    save(learned, out)
    if explain:
        _print_selection(last_step(learned)[1])
    print_facts([("saved", f"{out}, {how} {data.size}"), ("seconds", f"{time.perf_counter() - begun:.1f}")])


def _fit(model: Any, data: Any, held_out: float, seed: int, quiet: bool, out: Path) -> tuple[Any, str]:
    """Fit a part of the data and evaluate it on the rest, if there is enough; then fit all of it."""

    def fit_on(part: Any) -> Any:
        fitted, interrupted = fit_copy(model, part.fit, quiet)
        if interrupted:
            partial = out.with_name(f"{out.stem}.partial{out.suffix}")
            save(fitted, partial)
            n_iter = getattr(last_step(fitted)[1], "n_iter_", None)
            after = "" if n_iter is None else f" after {count(n_iter, 'iteration')}"
            print_note(f"interrupted{after}; the model so far is in {partial}")
            raise typer.Exit(INTERRUPTED)
        return fitted

    try:
        train, test = data.split(held_out, seed) if held_out else (data, None)
        reason = "none, as asked"
    except TooFewError as error:
        train, test, reason = data, None, f"none: {error}"
    estimator, begun = last_step(model)[1], time.perf_counter()
    seconds = getattr(estimator, "max_seconds", None)
    if seconds is not None and test is not None:
        estimator.set_params(max_seconds=0.6 * seconds)
    trial = fit_on(train)
    print_facts(train.evaluate(trial, test))
    if test is None:
        print_facts([("held out", reason), *describe_model(trial, data.table, [])])
        return trial, "fitted on all"
    share = len(train.answers) / len(data.answers) if data.table is None else 1.0
    chosen = take_settings(model, trial, share)
    if seconds is not None:
        estimator.set_params(max_seconds=max(seconds - (time.perf_counter() - begun), 0.1 * seconds))
    learned = fit_on(data)
    if seconds is not None:
        last_step(learned)[1].set_params(max_seconds=seconds)
    if chosen:
        last_step(learned)[1].selection_ = last_step(trial)[1].selection_
    print_facts(describe_model(learned, data.table, chosen))
    return learned, "fitted anew on all"


def _print_selection(estimator: Any) -> None:
    """Print what a search tried, where there was one."""
    if getattr(estimator, "selection_", None):
        from nearer.selection import table

        typer.echo("\n" + table(estimator) + "\n")
        used = getattr(estimator, "regularization_", None)
        if used is not None and used not in [record.get("regularization") for record in estimator.selection_]:
            print_note(
                f"the regularization of the saved model, {used:.3g}, is the chosen one scaled to all answers"
            )
    else:
        print_note("nothing was chosen by held-out data: all settings were given, or there were too few answers")


def note_if_compiling() -> None:
    """Note why the first fit on a machine is slow: no compiled loop is on disk yet."""
    from nearer.jit import cache_size

    if cache_size()[0] == 0:
        print_note("compiling loops for first use, a few seconds…")
