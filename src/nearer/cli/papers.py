"""``nearer papers``: the experiments of the papers, rerun."""

import os
from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from nearer.cli.app import WIDTH, command, print_note
from nearer.cli.options import flag

ACTIONS = ("list", "run", "report")
FOLDER = Path("papers")
RULE = {True: "holds", False: "does not hold", None: "cannot be decided"}


@command(
    "nearer papers",
    "nearer papers run sdca table2",
    "nearer papers run svrg-sbb --scale full -o records",
    "nearer papers run all",
    "nearer papers report",
)
def papers(
    action: str = typer.Argument("list", metavar="[list|run|report]", help="What to do.", show_default=False),
    names: list[str] | None = typer.Argument(
        None,
        metavar="[PAPER [EXPERIMENT]...]",
        help="run: a paper and some of its experiments, or all.",
        show_default=False,
    ),
    scale: str = typer.Option("quick", metavar="quick|full", help="run: minutes, or the paper's own size."),
    out: Path = typer.Option(FOLDER, "-o", "--out", help="The folder of the records, figures and tables."),
    jobs: int = typer.Option(0, min=0, help="run: trials at a time; 0 is one per core.", show_default=False),
    download: bool = flag("--download", "run: download data sets that are not there."),
    again: bool = flag("--again", "run: run what is recorded already, too."),
    quiet: bool = flag("--quiet", "No progress bar."),
) -> None:
    """Rerun the tables and figures of the four papers.

    They are those whose methods are in the library. The list shows every experiment and about how long it takes on two
    cores. A run writes a record with all numbers (.json), a table with the paper's numbers beside ours (.md) and the
    figure (.png, .svg). It can be interrupted; the same command resumes it. The report is one HTML page
    of all records in the folder.
    """
    from nearer.papers import SCALES

    if action not in ACTIONS:
        raise ValueError(f"nearer papers {' | '.join(ACTIONS)}; got {action!r}")
    if scale not in SCALES:
        raise ValueError(f"--scale is quick or full; got {scale!r}")
    if names and action != "run":
        raise ValueError(f"nearer papers {action} takes no names; got {names[0]!r}")
    if action == "list":
        _list(out)
    elif action == "report":
        from nearer.papers.report import write_report

        n = write_report(out, out / "report.html")
        print(f"wrote {out / 'report.html'}: {n} experiments")
    else:
        _run(names or [], scale, out, jobs or os.cpu_count() or 1, download, again, quiet)


def _list(folder: Path) -> None:
    """Print what each experiment costs, the data it needs, and at which scales there are records of it."""
    from nearer.papers import PAPERS, experiments
    from nearer.papers.run import record_path

    for paper, (_, reference) in PAPERS.items():
        print("\n" + fill(f"{paper}: {reference}", WIDTH))
        for name, experiment in experiments(paper).items():
            cost = ", ".join(f"{scale} {_minutes(experiment.minutes[scale])}" for scale in ("quick", "full"))
            there = [
                scale for scale in ("quick", "full") if record_path(folder, paper, experiment, scale).exists()
            ]
            print(f"\n  {name}\n{_indented(experiment.title)}")
            cost += f"; data: {', '.join(experiment.data)}" if experiment.data else ""
            notes = [cost, *([f"stand-in: {experiment.stand_in}"] if experiment.stand_in else [])]
            notes += [f"recorded: {', '.join(there)}"] if there else []
            for note in notes:
                print(_indented(note))
    print("\nnearer papers run PAPER EXPERIMENT reruns one; nearer papers run all reruns all of them.")


def _indented(text: str) -> str:
    return fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _minutes(minutes: float) -> str:
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"


def _selected(names: list[str]) -> list[tuple[str, Any]]:
    """Return the experiments that are asked for, with their papers; ValueError for names that there are not."""
    from nearer.papers import PAPERS, experiments

    if names[:1] == ["all"] and len(names) > 1:
        raise ValueError(f"nearer papers run all takes no further names; got {names[1]!r}")
    if not names:
        raise ValueError(f"nearer papers run needs a paper, one of {', '.join(PAPERS)}, or all")
    if names == ["all"]:
        return [(paper, experiment) for paper in PAPERS for experiment in experiments(paper).values()]
    paper, *some = names
    there = experiments(paper)
    unknown = [name for name in some if name not in there]
    if unknown:
        raise ValueError(f"{paper} has no experiment {unknown[0]!r}; it has {', '.join(there)}")
    return [(paper, there[name]) for name in some or there]


def _run(names: list[str], scale: str, out: Path, n_jobs: int, download: bool, again: bool, quiet: bool) -> None:
    from nearer.files import replacing
    from nearer.papers.report import HOLDS, markdown, require_matplotlib, write_figure
    from nearer.papers.run import partial_path, record_path, run_experiment

    selected = _selected(names)
    if any(experiment.has_figure for _, experiment in selected):
        require_matplotlib()
    skipped = _without_data(selected, download, raises=names != ["all"])
    for paper, experiment in selected:
        if (paper, experiment.name) in skipped:
            continue
        path = record_path(out, paper, experiment, scale)
        try:
            record, fresh = run_experiment(
                paper, experiment, scale, out, n_jobs=n_jobs, verbose=not quiet, again=again
            )
        except KeyboardInterrupt:
            print_note(f"the results so far are kept in {partial_path(path)}; the same command resumes")
            raise
        if fresh or not path.with_suffix(".md").exists():
            with replacing(path.with_suffix(".md")) as temporary:
                temporary.write_text(markdown(record), encoding="utf-8")
        if experiment.has_figure and (fresh or not path.with_suffix(".svg").exists()):
            write_figure(experiment, record, path)
        print(f"\n{paper} {experiment.name}: {path.with_suffix('')}.*" + ("" if fresh else " (recorded before)"))
        for verdict in record["verdicts"]:
            print(f"  {HOLDS[verdict['holds']]}: {verdict['claim']}. {verdict['measured']}")
    for (paper, name), reason in skipped.items():
        print_note(f"skipped {paper} {name}: {reason}")
    if skipped:
        raise typer.Exit(2)


def _without_data(selected: list[tuple[str, Any]], download: bool, raises: bool) -> dict[tuple[str, str], str]:
    """Return why experiments cannot run for want of data, or raise the first error; before anything runs."""
    from nearer.datasets import source_of

    reasons = {}
    for paper, experiment in selected:
        try:
            for data in experiment.data:
                source_of(data).load(download)
        except OSError as error:
            if raises:
                raise
            reasons[paper, experiment.name] = str(error).splitlines()[0]
    return reasons
