"""``nearer fit``: from answers, or features, to a model file, with an honest word about how good it is."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from nearer.cli.app import INTERRUPTED, command
from nearer.cli.console import aside, count, facts, writing
from nearer.cli.features import read_given
from nearer.cli.interruptible import fitted, say_if_compiling
from nearer.cli.registry import LEARNERS, Learner, learner
from nearer.cli.tasks import Answers, Given, TooFewError
from nearer.files import check_writable


@command(
    "nearer fit answers.csv -o europe.nearer",
    "nearer fit monday.csv tuesday.csv --dims 3 --loss ste --seed 1 -o week.nearer",
    "nearer fit answers.csv --model kernel -o kernel.nearer",
    "nearer fit shoes.csv --model bilinear --labels kind -o shoes.nearer",
    "nearer fit shoes.csv --model itml --comparisons answers.csv -o shoes.nearer",
    "nearer fit docs.parquet --text text --labels group --model low-rank --rank 30",
)
def fit(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="For a map or kernel, files of answers: .csv, .tsv, .jsonl, .npy, .npz, .parquet; several are "
            "put together. For the other models one table of features: .csv, .tsv, .parquet, .npz, .npy; of "
            "texts: .csv, .tsv, .jsonl, .parquet.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The model file to write. By default it is called as the first FILE, in this folder, where it "
            "must not be yet.",
            show_default="FILE.nearer",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="|".join(LEARNERS),
            help="What is learned. From answers: a map of few dimensions, or a kernel of as many as it takes. "
            "From features: a bilinear similarity, one of low rank, or a distance by LEGO, ITML, RCA or LMNN.",
        ),
    ] = "map",
    labels: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Features: the column that holds class labels.", show_default=False),
    ] = None,
    comparisons: Annotated[
        Path | None,
        typer.Option(
            metavar="ANSWERS",
            help="Features: a file of answers about the objects, instead of labels; by name, or by row number "
            "from 0. Not for rca and lmnn.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Bilinear and low-rank: the column that holds texts, whose terms are the features.",
            show_default=False,
        ),
    ] = None,
    terms: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Texts: how many terms to keep, those that tell most about the class.",
            show_default="2,000; low-rank: 20,000",
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Features: the column that holds the objects' names.", show_default="name"
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Features: a column that is none; may be given several times.",
            show_default=False,
        ),
    ] = None,
    dims: Annotated[
        int | None, typer.Option(help="Dimensions of a map, or of rca and lmnn.", show_default="2; others: all")
    ] = None,
    rank: Annotated[
        int | None, typer.Option(min=1, help="Low-rank: the rank of the similarity.", show_default="30")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="How badly an answer is met: tste, ste, ckl, gnmds or soe; for a kernel gnmds, ste or ckl. With "
            "one of them, low-rank learns a distance.",
            show_default="tste; kernel: gnmds; low-rank: none",
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="How a map is found: svrg-sbb, svrg, sgd, batch or lbfgs; a bilinear similarity: sdca or oasis; "
            "one of low rank: loreta, gd, pa or loreta-identify.",
            show_default="svrg-sbb; bilinear: sdca; low-rank: loreta",
        ),
    ] = None,
    regularization: Annotated[
        str | None,
        typer.Option(
            metavar="auto|NUMBER",
            help="Pull of all points to the middle, which keeps few answers from being learned by heart; of a "
            "bilinear similarity, to 0. auto tries several on held-out data; 0 is right for a map or kernel of "
            "answers without errors.",
            show_default="auto",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the answers at most.", show_default="300 for a map")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Low-rank: how many steps to take.", show_default="by the data")
    ] = None,
    learning_rate: Annotated[
        str | None,
        typer.Option(metavar="auto|NUMBER", help="Low-rank: the size of a step.", show_default="auto"),
    ] = None,
    triplets: Annotated[
        int | None,
        typer.Option(
            min=1, help="Bilinear: how many triplets to draw from labels.", show_default="twenty an object, or so"
        ),
    ] = None,
    psd: Annotated[
        bool,
        typer.Option(
            "--psd", help="Bilinear: keep the similarity positive semidefinite, a true kernel, as low-rank does."
        ),
    ] = False,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop when answers kept back for this are met no better.")
    ] = False,
    held_out: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            help="Share of the answers, or of the objects of each class, that a first fit does not see, to print "
            "how well it does on them. 0: only the one fit on all.",
        ),
    ] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads; -1 for all cores.", show_default="1")] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar, no asides; results and errors only.")
    ] = False,
) -> None:
    """Learn a map, a kernel or a similarity of features, and save it as a model file.

    A table of answers has a header that says what its columns are. Most often it is anchor,near,far: the
    anchor is nearer to the second object than to the third. Also understood are head,winner,loser; i,j,l,k
    for "i and j are nearer to each other than l and k"; odd-one-out answers (first,second,odd); and rankings
    (anchor,rank1,rank2,...). Columns weight, subject and answer are optional. Objects are names or numbers.

    Accuracy is the share of comparisons that the model satisfies, by weight. The held-out accuracy is that of
    a first fit on answers that it was not shown. The model that is saved is then fitted on all answers.

    A kernel is a table of how alike any two objects are. It suits up to some thousand objects, and for the
    losses gnmds and ste the fit says how far from the best kernel it can be at most.

    A table of features has one row an object and one column a feature. All columns are numbers but those of
    --labels, --names and --ignore; none may be empty. An .npz holds an array X or the parts of a CSR matrix,
    labels under any name, and names. The model learns from class labels (--labels) or from answers
    (--comparisons), and compares any objects with these features, also such as it has never seen. With labels,
    the held-out objects look for others of their class: mean average precision is 1 when these always come first.

    A table of texts has one row an object and its text in the column --text. The features are the terms that tell
    most about the class, or with --comparisons those that are in most texts, weighted by how rare they are
    (tf-idf); held-out objects have no part in the choice. Columns other than those of --labels and --names are
    left out.

    --jobs is for maps, --early-stopping for maps and low-rank, --loss for these and kernels, --triplets for
    bilinear.

    Ctrl-C stops after the current epoch (of a kernel or lmnn: iteration; of low-rank: round of steps) and keeps
    the model so far in a file beside the model file, which is left as it was. Of lego, itml and rca nothing is
    kept.
    """
    begun = time.perf_counter()
    out = _named_after(files[0]) if out is None else out
    check_writable(out, files if comparisons is None else [*files, comparisons])
    kind = learner(model)
    options = {
        "labels": labels,
        "comparisons": comparisons,
        "names": names,
        "ignore": ignore or None,
        "text": text,
        "terms": terms,
        "dims": dims,
        "rank": rank,
        "loss": loss,
        "solver": solver,
        "regularization": _number_or_auto("regularization", regularization),
        "epochs": epochs,
        "steps": steps,
        "learning-rate": _number_or_auto("learning-rate", learning_rate),
        "early-stopping": early_stopping or None,
        "triplets": triplets,
        "psd": psd or None,
        "jobs": jobs,
    }
    blank = kind.model(options, seed)
    if kind.taught_by:
        blank._check_parameters()  # before a large file is read
        given: Given = read_given(files, options, blank, terms or kind.terms)
    else:
        given = Answers.read(files)
    if kind.compiles and not quiet:
        say_if_compiling()
    facts(given.about())  # before the long work
    learned, note = _learned(kind, blank, given, held_out, seed, quiet, out)
    facts(kind.more(learned))
    with writing(out):
        given.save(learned, out)
    facts([("saved", f"{out}, {note}"), ("seconds", f"{time.perf_counter() - begun:.1f}")])


def _named_after(file: Path) -> Path:
    """Return where to write a model that was given no name; ValueError where there is a file already."""
    out = Path(f"{file.stem}.nearer")
    if out.exists():
        raise ValueError(f"{out} is there already: name the model file to write, that one or another, with -o")
    return out


def _learned(
    kind: Learner, blank: Any, given: Given, held_out: float, seed: int, quiet: bool, out: Path
) -> tuple[Any, str]:
    """Fit a part and judge it by the rest, where there is enough; then fit all, and say so."""

    def fit_on(part: Given, task: str) -> Any:
        model, watch = fitted(blank, part.teach, task, quiet, kind.step)
        if watch.interrupted:
            _keep_partial(model, part, kind, watch.records - 1, out)
        return model

    parts = _parts(given, held_out, seed)
    if isinstance(parts, str):
        model = fit_on(given, "fit")
        facts([*given.judge(model, None), ("held out", parts)])
        return model, f"fitted on all {given.size()}"
    train, test = parts
    facts(train.judge(fit_on(train, "trial fit"), test))
    return fit_on(given, "fit on all"), f"fitted anew on all {given.size()}"


def _parts(given: Given, held_out: float, seed: int) -> tuple[Given, Given] | str:
    """Return a part to learn from and one to judge by, or why there are none."""
    if not held_out:
        return "none, as asked"
    try:
        return given.split(held_out, seed)
    except TooFewError as error:
        return f"none: {error}"


def _number_or_auto(option: str, text: str | None) -> float | str | None:
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--{option} must be auto or a number; got {text!r}") from None


def _keep_partial(model: Any, given: Given, kind: Learner, steps: int, out: Path) -> None:
    """Save what was learned up to Ctrl-C beside the model file, and end."""
    partial = out.with_name(f"{out.stem}.partial{out.suffix}")
    with writing(partial):
        given.save(model, partial)
    aside(f"interrupted; the {kind.what} after {count(steps, kind.step)} is in {partial}")
    raise typer.Exit(INTERRUPTED)
