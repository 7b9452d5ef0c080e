"""``nearer papers``: the experiments of the papers, rerun."""

from pathlib import Path
from textwrap import fill
from typing import Any

import typer

from nearer.cli.app import WIDTH, command, print_note
from nearer.cli.options import flag
from nearer.threads import usable_cores

ACTIONS = ("list", "run", "report")
FOLDER = Path("papers")
MISSING = "not on this machine"


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
    again: bool = flag("--again", "run: start anew; earlier records are kept as .old."),
    quiet: bool = flag("--quiet", "No progress bar."),
) -> None:
    """Rerun the tables and figures of the four papers.

    They are those whose methods are in the library. The list shows every experiment, about how long it takes on two
    cores, and the processor time of the runs that are recorded in the folder. A run writes a record with all numbers
    (.json), a table with the paper's numbers beside ours (.md) and the figure (.png, .svg). It can be interrupted; the
    same command resumes it. Where there is a record of the same trials, they are not run again: its table, verdicts
    and figure are made from it. The report is one HTML page of all records in the folder.
    """
    from nearer.papers import SCALES

    if action not in ACTIONS:
        raise ValueError(f"unknown action {action!r}; use {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}")
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
        _run(names or [], scale, out, jobs or usable_cores(), download, again, quiet)


def _list(folder: Path) -> None:
    """Print what each experiment costs, the data it needs, and the records of it with the time they took."""
    from nearer.papers import PAPERS, experiments

    for paper, (_, reference) in PAPERS.items():
        print("\n" + fill(f"{paper}: {reference}", WIDTH))
        for name, experiment in experiments(paper).items():
            cost = ", ".join(f"{scale} {_minutes(experiment.minutes[scale])}" for scale in ("quick", "full"))
            print(f"\n  {name}\n{_indented(experiment.title)}")
            cost += f"; data: {', '.join(experiment.data)}" if experiment.data else ""
            notes = [cost, *([f"stand-in: {experiment.stand_in}"] if experiment.stand_in else [])]
            recorded = _recorded(folder, paper, experiment)
            notes += [f"recorded: {', '.join(recorded)}"] if recorded else []
            for note in notes:
                print(_indented(note))
    print("\nnearer papers run PAPER EXPERIMENT reruns one; nearer papers run all reruns all of them.")


def _recorded(folder: Path, paper: str, experiment: Any) -> list[str]:
    """Return the scales at which there are records, with the time that was measured."""
    from nearer.papers.records import duration_of, read_record, record_path

    recorded = []
    for scale in ("quick", "full"):
        path = record_path(folder, paper, experiment, scale)
        try:
            recorded += [f"{scale} ({duration_of(read_record(path))})"] if path.exists() else []
        except ValueError:
            recorded.append(f"{scale} (damaged: remove {path.name})")
    return recorded


def _indented(text: str) -> str:
    return fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _minutes(minutes: float) -> str:
    if minutes < 1:
        return f"{60 * minutes:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.0f} h"


def _selected(names: list[str]) -> list[tuple[str, Any]]:
    """Return the experiments with these names, each with its paper; raise a ValueError for unknown names."""
    from nearer.papers import PAPERS, experiments

    if names[:1] == ["all"] and len(names) > 1:
        raise ValueError(f"nearer papers run all takes no further names; got {names[1]!r}")
    if not names:
        raise ValueError(f"nearer papers run needs a paper, one of {', '.join(PAPERS)}, or all")
    if names == ["all"]:
        return [(paper, experiment) for paper in PAPERS for experiment in experiments(paper).values()]
    paper, *some = names
    known = experiments(paper)
    unknown = [name for name in some if name not in known]
    if unknown:
        raise ValueError(f"{paper} has no experiment {unknown[0]!r}; it has {', '.join(known)}")
    return [(paper, known[name]) for name in some or known]


def _run(names: list[str], scale: str, out: Path, n_jobs: int, download: bool, again: bool, quiet: bool) -> None:
    from nearer.papers.records import partial_path, record_path
    from nearer.papers.report import require_matplotlib
    from nearer.papers.run import naming, run_experiment, set_aside

    selected = _selected(names)
    if any(experiment.has_figure for _, experiment in selected):
        require_matplotlib()
    problems = _problems_of_data(selected, download, verbose=not quiet)
    if problems:
        text = _what_to_do(problems, download)
        if names != ["all"]:
            raise FileNotFoundError(text)
        print_note(text)
    failed, runnable = [], []
    for paper, experiment in selected:
        if unavailable := [data for data in experiment.data if data in problems]:
            failed.append(f"skipped {paper} {experiment.name}: it needs {', '.join(unavailable)}")
        else:
            runnable.append((paper, experiment))
    if again:  # all of them first, so that the command without --again resumes
        for paper, experiment in runnable:
            set_aside(paper, experiment, scale, out)
    for paper, experiment in runnable:
        path = record_path(out, paper, experiment, scale)
        try:
            record, fresh = run_experiment(paper, experiment, scale, out, n_jobs=n_jobs, verbose=not quiet)
            with naming(f"{paper} {experiment.name}, its figure or its table as text"):
                _write_outputs(experiment, record, path)
        except KeyboardInterrupt:
            command = "this command without --again" if again else "the same command"
            kept = partial_path(path) if partial_path(path).exists() else path
            print_note(f"the results so far are kept in {kept}; {command} resumes")
            raise
        except (ValueError, OSError) as error:
            if names != ["all"]:
                raise
            failed.append(f"failed: {error}")
            continue
        _print_outcome(paper, experiment, record, path, fresh)
    for text in failed:
        print_note(text)
    if failed:
        raise typer.Exit(2)


def _write_outputs(experiment: Any, record: dict[str, Any], path: Path) -> None:
    """Write the table of a record, and the figure where there is one, beside it."""
    from nearer.files import replacing
    from nearer.papers.report import markdown, write_figure

    with replacing(path.with_suffix(".md")) as temporary:
        temporary.write_text(markdown(record), encoding="utf-8")
    if experiment.has_figure:
        write_figure(experiment, record, path)


def _print_outcome(paper: str, experiment: Any, record: dict[str, Any], path: Path, fresh: bool) -> None:
    """Print where the record is, its notes and its verdicts."""
    from nearer.papers.report import claim_text, notes_of, verdict_text

    print(f"\n{paper} {experiment.name}: {path.with_suffix('')}.*" + ("" if fresh else " (recorded before)"))
    for note in notes_of(record):
        print(fill(f"note: {note}.", WIDTH, initial_indent="  ", subsequent_indent="  "))
    for verdict in record["verdicts"]:
        text = f"{verdict_text(verdict['holds'], record['scale'])}: {claim_text(verdict)}"
        print(fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))
        print(fill(verdict["measured"], WIDTH, initial_indent="      ", subsequent_indent="      "))


def _problems_of_data(selected: list[tuple[str, Any]], download: bool, verbose: bool) -> dict[str, str]:
    """Return why data sets of the experiments cannot be had, by name; all are tried, before anything runs."""
    from nearer.datasets import source_of

    problems = {}
    for name in dict.fromkeys(name for _, experiment in selected for name in experiment.data):
        source = source_of(name)
        try:
            source.load(download, verbose)
        except FileNotFoundError:
            problems[name] = MISSING if source.can_download else f"{MISSING}; it cannot be downloaded"
        except (OSError, ValueError, ImportError) as error:
            problems[name] = str(error)
    return problems


def _what_to_do(problems: dict[str, str], download: bool) -> str:
    """Return one line per data set that is missing or damaged, and what helps."""
    from nearer.datasets import source_of

    lines = ["these data sets are needed:", *(f"  {name}: {problem}" for name, problem in problems.items())]
    lines.append("nearer data NAME says where a data set comes from and where to put it.")
    missing = [name for name, problem in problems.items() if problem == MISSING and source_of(name).can_download]
    if missing and not download:
        lines.append(f"--download at the end of this command downloads {', '.join(missing)}.")
    return "\n".join(lines)
