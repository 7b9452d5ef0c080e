"""``nearer fit``: from answers, or features, to a model file, with a held-out score that says how good it is."""

import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import typer

from nearer.cli.answer_files import AnswerFiles
from nearer.cli.app import INTERRUPTED, command, count, print_facts, print_note
from nearer.cli.cluster import SCHEDULER, connected
from nearer.cli.models import WITHOUT_LOOPS, describe_model, fit_copy, last_step, make_model, save, take_settings
from nearer.cli.options import column, flag, given_options, number_or, option, output
from nearer.cli.reading import (
    COLUMNS,
    DROP_BAD_ROWS,
    ENCODING,
    SKIP_BAD_FILES,
    are_scanned,
    check_for_workers,
    expand,
    is_pattern,
    read_answers,
    scan_answers,
)
from nearer.cli.training_data import Answers, TooFewError, read_data
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
    "columns",
    "encoding",
    "drop_bad_rows",
    "skip_bad_files",
    "scheduler",
}  # arguments that are no options of a model


@command(
    "nearer fit answers.csv -o europe.nearer",
    "nearer fit monday.csv tuesday.csv --dims 3 --loss ste --seed 1 -o week.nearer",
    "nearer fit answers/ --checkpoint fit.checkpoint -o answers.nearer",
    "nearer fit answers/ --scheduler tcp://127.0.0.1:8786 -o answers.nearer",
    "nearer fit answers.csv --model kernel -o kernel.nearer",
    "nearer fit shoes.csv --model bilinear --labels kind -o shoes.nearer",
    "nearer fit shoes.csv --model softmax --labels kind -o shoes.nearer",
    "nearer fit shoes.csv --model itml --comparisons answers.csv -o shoes.nearer",
    "nearer fit docs.parquet --text text --labels group --model low-rank --rank 30",
    "nearer fit photos.csv --model label-ranker --labels tags -o photos.nearer",
)
def fit(
    files: list[Path] = typer.Argument(
        ...,
        metavar="FILE",
        help="For a map or kernel, files of answers: .csv, .tsv, .txt, .jsonl, .npy, .npz, .parquet, .xlsx; several "
        "are concatenated; a folder or a pattern such as 'answers/*.parquet' stands for its files; - is standard input. "
        "For the other models one table of features: .csv, .tsv, .txt, "
        ".parquet, .xlsx, .npz, .npy; of texts: .csv, .tsv, .txt, .jsonl, .parquet, .xlsx.",
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
        "From features: a bilinear similarity, one of low rank, that of class probabilities (softmax: best for "
        "objects of known classes), a distance by LEGO, ITML, RCA or LMNN, or a ranking of labels.",
    ),
    labels: str | None = column(
        "Features: the column that holds class labels; for label-ranker any number of labels per object, separated "
        "by semicolons."
    ),
    comparisons: Path | None = option(
        "Features: a file of answers about the objects, instead of labels; by name, or by row number from 0. "
        "Not for softmax, rca and lmnn.",
        metavar="ANSWERS",
    ),
    columns: str | None = COLUMNS,
    encoding: str | None = ENCODING,
    drop_bad_rows: bool = DROP_BAD_ROWS,
    skip_bad_files: bool = SKIP_BAD_FILES,
    text: str | None = column(
        "Bilinear, softmax and low-rank: the column that holds texts, whose terms are the features."
    ),
    terms: int | None = option(
        "Texts: how many terms to keep, the most informative ones.", "2,000; softmax, low-rank: 20,000", min=1
    ),
    names: str | None = column("Features: the column that holds the objects' names.", "name"),
    ignore: list[str] | None = column("Features: a column that is not a feature; may be given several times."),
    dims: str | None = option(
        "Dimensions of a map, or of rca and lmnn. auto (map): the fewest that predict held-out answers as well as more.",
        "2; others: all",
        metavar="auto|NUMBER",
    ),
    rank: int | None = option(
        "Low-rank and label-ranker: the rank.", "30, or all features; label-ranker: auto", min=1
    ),
    loss: str | None = option(
        "The loss of an answer: auto, tste, ste, ckl, gnmds or soe; of a kernel gnmds, ste or ckl. With a loss, "
        "low-rank learns a distance.",
        "auto; kernel: gnmds; low-rank: none",
    ),
    solver: str | None = option(
        "The solver of a map: lbfgs, svrg-sbb, svrg, sgd or batch; of a bilinear similarity: lbfgs, sdca or oasis; "
        "of one of low rank: loreta, gd, pa or loreta-identify; of a label-ranker: loreta, pa, perceptron, "
        "group-perceptron or popularity.",
        "lbfgs; low-rank, label-ranker: loreta",
    ),
    regularization: str | None = option(
        "Strength of the pull of all points to the center, of a bilinear similarity to the plain one, or of the "
        "weights of softmax to 0, which prevents overfitting. auto tries several values on held-out data. 0 suits "
        "answers without errors. For lmnn the share of the pull, between 0 and 1.",
        "auto; lmnn: 0.5",
        metavar="auto|NUMBER",
    ),
    epochs: int | None = option(
        "Maximum number of iterations: passes over the data; of a kernel rounds, of bilinear, softmax and lmnn "
        "iterations.",
        "300; kernel, itml: 1000; bilinear, softmax, lmnn: 200; lego: 1",
    ),
    steps: int | None = option("Low-rank and label-ranker: number of steps.", "depends on the data", min=1),
    learning_rate: str | None = option(
        "Low-rank, label-ranker and lego: the size of a step.", "auto; lego: 0.125", metavar="auto|NUMBER"
    ),
    triplets: int | None = option(
        "Bilinear: how many triplets to draw from labels.", "about 20 per object", min=1
    ),
    psd: bool = flag("--psd", "Keep the similarity positive semidefinite, a kernel, as low-rank does."),
    validation: str | None = option(
        "Bilinear, softmax and low-rank: what auto is judged by, held-out objects or held-out classes. Take classes "
        "where the model is for classes that are not in the labels.",
        "auto",
        metavar="auto|objects|classes",
    ),
    early_stopping: bool = flag(
        "--early-stopping/--no-early-stopping",
        "Map, low-rank and label-ranker: stop when what is held out for this gets no better, as low-rank does by "
        "default where there are enough objects.",
    ),
    held_out: str = typer.Option(
        "auto",
        metavar="auto|SHARE",
        help="What the accuracy is measured on. auto: all answers are held out in turn, in 25 parts, if there are at "
        "most 20,000 for a map or 1,000 for a kernel. A share of the answers, or of the objects of each class, is "
        "held out once from a first fit: 0.1 in other cases, and with --seconds. 0: fit only once, on everything.",
    ),
    seed: int = typer.Option(0, min=0, help="The same seed gives the same model."),
    by_subject: bool = flag(
        "--by-subject",
        "Hold out all answers of some people, instead of some answers of all: the held-out accuracy is then about "
        "new people. Answers need a column subject.",
    ),
    seconds: float | None = option("Time limit: the best model that this many seconds allow."),
    checkpoint: Path | None = option(
        "Map: a file for the points so far, written once a minute and on Ctrl-C. The same command goes on from there.",
        metavar="FILE",
    ),
    scheduler: str | None = SCHEDULER,
    device: str | None = option(
        "Map: cpu; a GPU by its name in PyTorch, such as cuda; or auto, a GPU where there is one.", "cpu"
    ),
    jobs: int | None = option("Map: number of threads; -1 for all cores.", "-1"),
    explain: bool = flag("--explain", "Show what auto tried, and how well it did on held-out data."),
    quiet: bool = flag("--quiet", "No progress bar and no notes; results and errors only.", "-q"),
) -> None:
    """Learn a map, a kernel or a similarity of features, and save it.

    A table of answers has a header that says what its columns are. Most often it is anchor,near,far: the
    anchor is nearer to the second object than to the third. Also understood are head,winner,loser; i,j,l,k
    for "i and j are nearer to each other than l and k"; odd-one-out answers (first,second,odd); and rankings
    (anchor,rank1,rank2,...); and anchor,choice1,choice2,response. Columns weight, subject and answer are optional;
    --columns says which is which where the headers are others. Objects are names. Numbers are names too, unless all
    of 0, 1, ... occur. Objects that were never asked about are left out of the model.

    Accuracy is the share of comparisons that the model satisfies, by weight. The model that is saved is fitted on
    all answers. The held-out accuracy is that of fits which were not shown the answers that they are judged by, nor
    others to the same question; a guess is right in 50 %. In about 95 of 100 studies the interval contains the
    accuracy of the saved model on new answers; if it does not exclude 50 %, the model is no better than guessing.
    Where answers say whose they are, a second interval takes people as the units. Where questions were asked more
    than once, the ceiling says what the best model could reach.

    What is auto (loss, dimensions, regularization, learning rate, and other settings of bilinear, softmax and rca)
    every fit chooses by itself. Where a share is held out once, the second fit takes over what the first one chose
    (the regularization of a map or kernel in proportion to the number of answers). --explain shows the choice.

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

    A label-ranker ranks labels, of which an object may have several, by the features: cells of --labels hold them
    separated by semicolons. Mean average precision is 1 if the true labels of each held-out object always come first.

    An option that is not for the model is refused, with the models that it is for.

    Answers of more than ten million rows stay in their files, and each pass of a fit reads them from a temporary file
    (in TMPDIR). Then a sample of at most 20,000 rows is held out, and the model that is saved has not seen it.

    With --scheduler the answers are read, and the map is fitted, by the workers of a Dask cluster: full gradients are
    sums over the workers, and svrg-sbb takes its steps on each of them and averages. This process reads the files
    too, to number the objects and to hold a sample out. A worker that dies is replaced; if the scheduler is gone, the
    fit ends, and with --checkpoint the same command goes on from the last map.

    Ctrl-C stops after the current epoch (of a kernel: round; of lego and itml: pass; of bilinear, softmax and
    lmnn: iteration; of low-rank and label-ranker: chunk of steps) and saves the model so far in a file beside the
    model file, which stays as it was. Of rca nothing is saved.
    """
    arguments = locals()
    begun = time.perf_counter()
    paths, files = files, expand(files)
    if out is None:
        if is_pattern(paths[0]):
            raise ValueError("a pattern is no name: name the model file to write with -o")
        if str(files[0]) == "-":
            raise ValueError("answers on standard input have no name: name the model file to write with -o")
        packed = paths[0].suffix.lower() == ".gz"
        out = Path(f"{Path(paths[0].stem).stem if packed else paths[0].resolve().stem}.nearer")
        if out.exists():
            raise ValueError(f"{out} exists already: name the model file to write, that one or another, with -o")
    check_writable(out, files if comparisons is None else [*files, comparisons])
    options = given_options({name: arguments[name] for name in arguments if name not in NOT_OF_MODELS})
    share = number_or(held_out, ("auto",), "held-out")
    if share != "auto" and not 0.0 <= float(share) <= 0.9:
        raise ValueError(f"--held-out must be auto or a share from 0 to 0.9; got {held_out}")
    for name in {"dims", "regularization", "learning-rate"} & set(options):
        options[name] = number_or(options[name], ("auto",), name)
    if isinstance(options.get("dims"), float) and options["dims"].is_integer():
        options["dims"] = int(options["dims"])
    if scheduler is not None and model != "map":
        raise ValueError(f"--scheduler is for map; {model} is fitted by this process")
    if scheduler is not None:
        check_for_workers(files)
    estimator = make_model(model, options, seed)
    data: Any
    with connected(scheduler):
        if not {"labels", "comparisons"} & set(options) and (
            skip_bad_files or scheduler is not None or are_scanned(paths, files)
        ):
            answers: Any = scan_answers(files, columns, encoding, drop_bad_rows, skip_bad_files)
            data = AnswerFiles(answers) if hasattr(answers, "parts") else Answers.of(answers)
        else:
            data = read_data(
                files, options, estimator, lambda path: read_answers(path, columns, encoding, drop_bad_rows, quiet)
            )
        if by_subject:
            data = data.by_subject()
        if not quiet and model not in WITHOUT_LOOPS:
            note_if_compiling()
        scales = getattr(last_step(estimator)[1], "_scales_features", False)
        print_facts(data.describe(is_scaled=scales))  # before the long work
        learned, how = _fit(estimator, data, share, seed, quiet, out)
    save(learned, out)
    if explain:
        _print_selection(last_step(learned)[1])
    print_facts([("saved", f"{out}, {how} {data.size}"), ("seconds", f"{time.perf_counter() - begun:.1f}")])


def _fit(model: Any, data: Any, held_out: float | str, seed: int, quiet: bool, out: Path) -> tuple[Any, str]:
    """Fit all of the data and cross-validate, or fit a part, evaluate it on the rest, and then fit all."""

    def interrupt(fitted: Any, when: str) -> NoReturn:
        partial = out.with_name(f"{out.stem}.partial{out.suffix}")
        save(fitted, partial)
        print_note(f"interrupted{when}; the model so far is in {partial}")
        raise typer.Exit(INTERRUPTED)

    estimator, begun = last_step(model)[1], time.perf_counter()
    checkpoint = getattr(estimator, "checkpoint", None)
    if checkpoint is not None:
        estimator.set_params(checkpoint=None)  # but for the fit that is saved

    def fit_on(part: Any, is_saved: bool = True) -> Any:
        keeps = is_saved and checkpoint is not None
        if keeps:
            estimator.set_params(checkpoint=checkpoint)
        fitted, interrupted = fit_copy(model, part.fit, quiet)
        if keeps:
            for each in (model, fitted):
                last_step(each)[1].set_params(checkpoint=None)
        if interrupted:
            n_iter = getattr(last_step(fitted)[1], "n_iter_", None)
            interrupt(fitted, "" if n_iter is None else f" after {count(n_iter, 'iteration')}")
        return fitted

    seconds = getattr(estimator, "max_seconds", None)
    if held_out == "auto" and seconds is None and data.can_cross_validate(model):
        learned = fit_on(data)
        print_facts(data.evaluate(learned, None))
        try:
            print_facts(data.cross_validate(model, seed, not quiet and sys.stderr.isatty()).facts())
        except ValueError as error:
            print_facts([("held out", f"none: {error}")])
        except KeyboardInterrupt:
            interrupt(learned, " during cross-validation")
        print_facts(describe_model(learned, data.table, []))
        return learned, "fitted on all"
    share = 0.1 if held_out == "auto" else float(held_out)
    try:
        train, test = data.split(share, seed) if share else (data, None)
        reason = "none, as asked"
    except TooFewError as error:
        train, test, reason = data, None, f"none: {error}"
    if seconds is not None and test is not None and data.fits_again:
        estimator.set_params(max_seconds=0.6 * seconds)
    ridge_share = len(train.answers) / len(data.answers) if data.table is None and data.fits_again else 1.0
    before = _chosen_before(estimator, checkpoint) if test is not None and data.fits_again else {}
    if before:
        in_proportion = (
            {"regularization": before["regularization"] / ridge_share} if "regularization" in before else {}
        )
        estimator.set_params(**before | in_proportion)
    trial = fit_on(train, is_saved=test is None or not data.fits_again)
    print_facts(train.evaluate(trial, test))
    if test is not None and not data.fits_again:
        print_facts(describe_model(trial, data.table, []))
        return trial, f"fitted on all but the {test.size} held out of"
    if test is None:
        print_facts([("held out", reason), *describe_model(trial, data.table, [])])
        return trial, "fitted on all"
    chosen = [*before, *take_settings(model, trial, ridge_share)]
    estimator.set_params(**before)
    if checkpoint is not None:
        estimator._chosen_on_trial = chosen
    if seconds is not None:
        estimator.set_params(max_seconds=max(seconds - (time.perf_counter() - begun), 0.1 * seconds))
    learned = fit_on(data)
    if seconds is not None:
        last_step(learned)[1].set_params(max_seconds=seconds)
    if chosen:
        from nearer.selection import without_averaged

        records = last_step(trial)[1].selection_
        last_step(learned)[1].selection_ = records and without_averaged(records)
    print_facts(describe_model(learned, data.table, chosen))
    return learned, "fitted anew on all"


def _chosen_before(estimator: Any, checkpoint: Any) -> dict[str, Any]:
    """Return the parameters that are "auto" with what the trial of a command that was cut short chose for them."""
    if checkpoint is None:
        return {}
    from nearer.embedding.checkpoint import chosen_on_trial
    from nearer.parameters import is_auto

    chosen = chosen_on_trial(checkpoint)
    return {name: value for name, value in chosen.items() if is_auto(getattr(estimator, name))}


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
