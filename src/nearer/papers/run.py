"""Running an experiment: trials on all cores, results kept as they come, and the record at the end.

Every result is appended to a file beside the record and flushed, so that the same command resumes a run that was
killed. The first line of that file records the code, the sizes and the machine. If they are not the present ones, the
file is set aside, which means that it is renamed to end in .old, and the run starts anew.

The trials of a record are not run again, even if the code has changed; `set_aside` makes room for a new run. If the
experiment has further trials now, such as more seeds, only those are run; the record then says how many of its trials
are from an earlier run.
"""

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from nearer.datasets import source_of
from nearer.files import replacing
from nearer.papers.experiment import Experiment, Row, Trial
from nearer.papers.lock import exclusive_lock
from nearer.papers.provenance import code_hash, describe_machine, describe_state
from nearer.papers.records import (
    has_trials,
    json_round_trip,
    limits_of,
    outcome_of,
    partial_path,
    read_record,
    recomputed,
    record_path,
    write_record,
)
from nearer.progress import Progress

__all__ = ["TrialError", "naming", "run_experiment", "set_aside"]


class TrialError(ValueError):
    """A trial of an experiment, or what is made of all, raised an error, which is the cause of this one."""


def run_experiment(
    paper: str,
    experiment: Experiment,
    scale: str,
    folder: Path,
    *,
    n_jobs: int = 1,
    verbose: bool = False,
) -> tuple[Row, bool]:
    """Run an experiment, or what is left of it, and write its record.

    Parameters
    ----------
    paper : str
        The name of the paper.
    experiment : Experiment
        What to run.
    scale : {"tiny", "quick", "full"}
        How large.
    folder : Path
        Where the record, and what is kept until then, is written.
    n_jobs : int
        Trials at a time; those that are timed run alone.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    record : dict
        What the file holds.
    fresh : bool
        False if there was a record of the same trials.

    Raises
    ------
    TrialError
        If a trial raises an error, or what is made of all; the results so far are kept.
    ValueError
        If there is a record of the same trials that cannot be evaluated.
    OSError
        If another process runs the same experiment, or a worker process ended.

    Warns
    -----
    UserWarning
        If a file is set aside, or if the record or a part of it is of other code.
    """
    sizes = experiment.sizes[scale]
    path = record_path(folder, paper, experiment, scale)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; records need a folder")
    folder.mkdir(parents=True, exist_ok=True)
    trials = experiment.trials(**sizes)
    header = json_round_trip(
        {
            "paper": paper,
            "experiment": experiment.name,
            "scale": scale,
            "sizes": sizes,
            "code": code_hash(experiment),
        }
    )
    with exclusive_lock(partial_path(path)):
        stored = _find_record(experiment, trials, path, header["code"])
        if stored is not None and has_trials(trials, stored):
            return stored, False
        known = {_key(line["trial"]): line for line in stored["trials"]} if stored else {}
        state = describe_state(1 if experiment.timed else n_jobs)
        left = [trial for trial in trials if _key(trial) not in known]
        done = _run_trials(
            f"{paper} {experiment.name}", experiment, left, partial_path(path), header, n_jobs, verbose
        )
        results = [(trial, {**known, **done}[_key(trial)]["result"]) for trial in trials]
        with naming(f"{paper} {experiment.name}, the table or a verdict"):
            outcome = outcome_of(experiment, results)
        record = {
            **header,
            "title": experiment.title,
            "protocol": experiment.protocol(),
            **limits_of(experiment, scale, header["sizes"]),
            "data": {name: source_of(name).sha256 for name in experiment.data},
            "machine": describe_machine(),
            **state,
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            **_time_of(done.values(), stored),
            **({"earlier runs": _runs_of(stored)} if stored else {}),
            **outcome,
            "trials": [{"trial": trial, "result": result} for trial, result in results],
        }
        write_record(record, path)
        partial_path(path).unlink(missing_ok=True)
    return record, True


def set_aside(paper: str, experiment: Experiment, scale: str, folder: Path) -> None:
    """Rename the record of an experiment, and the results of a run that has not ended, so that all trials run again.

    Warns
    -----
    UserWarning
        For each file, with its new name.
    """
    path = record_path(folder, paper, experiment, scale)
    if not folder.is_dir():
        return
    with exclusive_lock(partial_path(path)):
        for each in (path, partial_path(path)):
            if each.exists():
                _set_aside(each, "is set aside")


def _time_of(lines: Iterable[Row], stored: Row | None) -> Row:
    """Return how long the trials took, with those of the record that they were added to."""
    stored = stored or {}
    found = {
        "processor seconds": sum(line["processor seconds"] for line in lines)
        + stored.get("processor seconds", 0.0)
    }
    return found | ({"seconds": stored["seconds"]} if "seconds" in stored else {})


def _runs_of(stored: Row) -> list[Row]:
    """Return what each run before this one measured: the code, the date, the machine and the number of trials."""
    earlier = stored.get("earlier runs", [])
    n_trials = len(stored["trials"]) - sum(run["trials"] for run in earlier)
    return [*earlier, {key: stored.get(key) for key in ("code", "date", "machine")} | {"trials": n_trials}]


def _find_record(experiment: Experiment, trials: list[Trial], path: Path, code: str) -> Row | None:
    """Return the record of these trials, or of some of them, with its table and verdicts up to date.

    Any other is set aside.
    """
    if not path.exists():
        return None
    try:
        stored = read_record(path)
    except ValueError:
        _set_aside(path, "is not the record of an experiment")
        return None
    record = recomputed(experiment, stored)
    reason = record.get("earlier protocol")
    if reason and has_trials(trials, stored):
        raise ValueError(f"{path}: {reason}; --again sets the record aside and runs them again")
    wanted = {_key(trial) for trial in json_round_trip(trials)}
    if reason or not {_key(line["trial"]) for line in record["trials"]} <= wanted:
        _set_aside(path, f"has other trials than the experiment has now{f' ({reason})' if reason else ''}")
        return None
    if (
        experiment.timed
        and len(record["trials"]) < len(trials)
        and record["machine"] != json_round_trip(describe_machine())
    ):
        _set_aside(path, "has times of another machine, and fewer trials than the experiment has now")
        return None
    if record.get("code") != code:
        warnings.warn(
            f"{path} was measured with other code, or another Python ({record.get('code')}, now {code}); "
            "--again runs its trials again",
            stacklevel=3,
        )
    if record != stored:
        write_record(record, path)
    return record


def _set_aside(path: Path, reason: str) -> None:
    """Rename a file to end in .old, or .old2 and so on where there is one already, and say so."""
    number, aside = 1, path.with_name(f"{path.name}.old")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.old{number}")
    path.replace(aside)
    warnings.warn(f"{path} {reason}: it was renamed to {aside.name}", stacklevel=4)


def _run_trials(
    title: str, experiment: Experiment, trials: list[Trial], path: Path, header: Row, n_jobs: int, verbose: bool
) -> dict[str, Row]:
    """Run the trials that have no result yet; return all results by the key of their trial."""
    header = header | {"machine": describe_machine()}
    done = _results_so_far(path, header)
    left = [trial for trial in trials if _key(trial) not in done]
    progress = Progress(verbose, title)
    with path.open("a", encoding="utf-8") as file, _interruptible():
        if not done:
            file.truncate(0)
            print(json.dumps(header), file=file, flush=True)
        progress.show(len(done) / max(1, len(trials)), title, f"{len(done)} of {len(trials)}")
        try:
            for trial, result, seconds in _results(title, experiment, left, 1 if experiment.timed else n_jobs):
                line = {"trial": trial, "result": result, "processor seconds": seconds}
                with naming(f"{title}, trial {json.dumps(trial)}"):
                    text = json.dumps(line, allow_nan=False)
                print(text, file=file, flush=True)
                done[_key(trial)] = json_round_trip(line)
                progress.show(len(done) / len(trials), title, f"{len(done)} of {len(trials)}")
        finally:
            progress.close(complete=len(done) == len(trials))
    return done


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Raise a TrialError that says where it was if the block raises an error."""
    try:
        yield
    except Exception as error:
        raise TrialError(f"{what}: {type(error).__name__}: {error}") from error


def _results_so_far(path: Path, header: Row) -> dict[str, Row]:
    """Return the results of an earlier run of the same code, sizes and machine; damaged lines are dropped."""
    if not path.exists():
        return {}
    texts = path.read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [line for text in texts if isinstance(line := _parsed(text), dict)]
    if not lines or lines[0] != header:
        if len(texts) > 1:
            _set_aside(path, "has results of other code, sizes or another machine")
        return {}
    results = [line for line in lines[1:] if {"trial", "result", "processor seconds"} <= line.keys()]
    # Written again without an incomplete line, so that the next result starts on a line of its own.
    with replacing(path) as temporary:
        temporary.write_text("".join(json.dumps(line) + "\n" for line in [header, *results]), encoding="utf-8")
    return {_key(line["trial"]): line for line in results}


def _parsed(text: str) -> Any:
    """Return the value that a text is in JSON, None for a text that is not."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _results(
    title: str, experiment: Experiment, trials: list[Trial], n_jobs: int
) -> Iterator[tuple[Trial, Any, float]]:
    """Run trials and yield each with its result and its processor seconds, as they come."""
    if n_jobs == 1 or len(trials) < 2:
        for trial in trials:
            with naming(f"{title}, trial {json.dumps(trial)}"):
                result, seconds = _run_trial(experiment, trial)
            yield trial, result, seconds
        return
    with ProcessPoolExecutor(min(n_jobs, len(trials)), initializer=_prepare_worker) as pool:
        futures = {pool.submit(_run_trial, experiment, trial): trial for trial in trials}
        workers = list((pool._processes or {}).values())  # which the pool forgets when it is shut down
        try:
            for future in as_completed(futures):
                if isinstance(future.exception(), BrokenProcessPool):
                    raise OSError(
                        "a worker process ended abruptly; it may have run out of memory. The results so far are kept: "
                        "run the same command with --jobs 1"
                    )
                with naming(f"{title}, trial {json.dumps(futures[future])}"):
                    result, seconds = future.result()
                yield futures[future], result, seconds
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in workers:
                process.terminate()
            raise


def _run_trial(experiment: Experiment, trial: Trial) -> tuple[Any, float]:
    """Return the result of a trial and the processor time of this process, which pauses and other runs do not change.

    BLAS has one thread: the trials fill the cores, and the processor time of those that run alone is that of one core.
    """
    with threadpool_limits(1):
        start = time.process_time()
        return experiment.run(trial), time.process_time() - start


def _prepare_worker() -> None:
    """Leave Ctrl-C to the main process, and exit when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """Exit when the parent is gone; the workers of a killed process would wait forever."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the run and not a single fit in it, whose unfinished result would then be recorded."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, interrupt)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _key(trial: Trial) -> str:
    return json.dumps(trial, sort_keys=True)
