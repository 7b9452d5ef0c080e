"""Running an experiment: trials on all cores, results kept as they come, and the record at the end.

Every result is appended to a file beside the record and flushed, so that the same command resumes a run that was
killed. The first line of that file says of which code, sizes and machine it is; results of others are set aside: they
are renamed to end in .old.

In a record, the trials are what was measured. Its table and verdicts are computed from them anew whenever it is read,
if the experiment still has the same trials. Then they are not run again either, even if the code has changed, unless
that is asked for.
"""

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearer.files import replacing
from nearer.papers.experiment import Experiment, Row, Trial
from nearer.papers.provenance import code_hash, describe_machine, describe_state
from nearer.progress import Progress

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "duration_of",
    "partial_path",
    "read_record",
    "recomputed",
    "record_path",
    "run_experiment",
    "write_record",
]

NEEDED = (
    "paper",
    "experiment",
    "scale",
    "sizes",
    "title",
    "stand-in",
    "reduced",
    "machine",
    "date",
    "table",
    "verdicts",
)


def record_path(folder: Path, paper: str, experiment: Experiment, scale: str) -> Path:
    """Return where the record of an experiment is."""
    return folder / f"{paper}-{experiment.name}-{scale}.json"


def partial_path(record: Path) -> Path:
    """Return where the results are kept until the record is written."""
    return record.with_suffix(".jsonl")


def read_record(path: Path) -> Row:
    """Return a record as it is stored.

    Raises
    ------
    ValueError
        If the file does not hold a record.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        for key in (*NEEDED, "processor seconds" if "processor seconds" in record else "seconds"):
            record[key]
        for line in record["trials"]:
            line["trial"], line["result"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} is damaged or not the record of an experiment: remove it") from error
    return dict(record)


def recomputed(experiment: Experiment, record: Row) -> Row:
    """Return a record with its table and verdicts computed from its trials, and what now is said of its data.

    One of an earlier protocol, whose trials or results are not those of the experiment, is returned as it is stored,
    with the reason under the key ``"earlier protocol"``.
    """
    try:
        if not _same_trials(experiment.trials(**record["sizes"]), record):
            return record | {"earlier protocol": "its trials are others"}
        outcome = _outcome(experiment, [(line["trial"], line["result"]) for line in record["trials"]])
        return record | outcome | {"stand-in": experiment.stand_in}
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return record | {"earlier protocol": f"its trials cannot be evaluated: {type(error).__name__}: {error}"}


def _same_trials(trials: list[Trial], record: Row) -> bool:
    return bool(_as_json(trials) == [line["trial"] for line in record["trials"]])


def _outcome(experiment: Experiment, results: list[tuple[Trial, Any]]) -> Row:
    """Return what the results say: the table and the verdicts."""
    table = experiment.table(results)
    verdicts = [asdict(verdict) for verdict in experiment.verdicts(table, results)]
    return dict(_as_json({"table": table, "verdicts": verdicts}))


def _as_json(value: Any) -> Any:
    """Return what is read after a value was written as JSON."""
    return json.loads(json.dumps(value, allow_nan=False))


def duration_of(record: Row) -> str:
    """Return how long the trials of a record took; old records have their wall time."""
    if "processor seconds" in record:
        return f"{record['processor seconds'] / 60:.1f} minutes of processor time"
    return f"{record['seconds'] / 60:.1f} minutes of trials"


def run_experiment(
    paper: str,
    experiment: Experiment,
    scale: str,
    folder: Path,
    *,
    n_jobs: int = 1,
    verbose: bool = False,
    again: bool = False,
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
    again : bool
        Run all trials where there is a record, too; that record is set aside.

    Returns
    -------
    record : dict
        What the file holds.
    fresh : bool
        False if there was a record of the same trials.

    Warns
    -----
    UserWarning
        If a file is set aside, or if the record is of other code.
    """
    sizes = experiment.sizes[scale]
    path = record_path(folder, paper, experiment, scale)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; records need a folder")
    folder.mkdir(parents=True, exist_ok=True)
    trials = experiment.trials(**sizes)
    mark = _as_json(
        {
            "paper": paper,
            "experiment": experiment.name,
            "scale": scale,
            "sizes": sizes,
            "code": code_hash(experiment),
        }
    )
    with _alone(partial_path(path)):
        found = _find_record(experiment, trials, path, mark["code"], again)
        if found is not None:
            return found, False
        state = describe_state(1 if experiment.timed else n_jobs)
        done = _run_trials(
            f"{paper} {experiment.name}", experiment, trials, partial_path(path), mark, n_jobs, verbose
        )
        results = [(trial, done[_key(trial)]["result"]) for trial in trials]
        record = {
            **mark,
            "title": experiment.title,
            "protocol": experiment.protocol(),
            "stand-in": experiment.stand_in,
            "reduced": experiment.reduced if scale == "full" else f"run at the scale {scale!r}",
            "machine": describe_machine(),
            **state,
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "processor seconds": sum(line["processor seconds"] for line in done.values()),
            **_outcome(experiment, results),
            "trials": [{"trial": trial, "result": result} for trial, result in results],
        }
        write_record(record, path)
        partial_path(path).unlink(missing_ok=True)
    return record, True


def _find_record(experiment: Experiment, trials: list[Trial], path: Path, code: str, again: bool) -> Row | None:
    """Return the record of these trials with its table and verdicts up to date; set aside any other."""
    if not path.exists():
        return None
    try:
        stored = read_record(path)
    except ValueError:
        _set_aside(path, "is not the record of an experiment")
        return None
    if again:
        _set_aside(path, "is replaced")
        if partial_path(path).exists():
            _set_aside(partial_path(path), "is older than this run")
        return None
    record = recomputed(experiment, stored)
    if "earlier protocol" in record or not _same_trials(trials, record):
        _set_aside(path, "has other trials or results than the experiment has now")
        return None
    if record.get("code") != code:
        warnings.warn(
            f"{path} was measured with other code ({record.get('code')}, now {code}); --again runs its trials again",
            stacklevel=3,
        )
    if record != stored:
        write_record(record, path)
    return record


def write_record(record: Row, path: Path) -> None:
    """Write a record as JSON."""
    with replacing(path) as temporary:
        temporary.write_text(
            json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def _set_aside(path: Path, reason: str) -> None:
    """Rename a file to end in .old, or .old2 and so on where there is one already, and say so."""
    number, aside = 1, path.with_name(f"{path.name}.old")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.old{number}")
    path.replace(aside)
    warnings.warn(f"{path} {reason}: it is kept as {aside.name}", stacklevel=4)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Raise an OSError if another process runs the same experiment: both would append to its results.

    The system releases the lock of a process that was killed. Windows, which has no such locks, does without.
    """
    if fcntl is None:
        yield
        return
    lock = path.with_suffix(".lock")
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(
                f"{path} is in use by another process that runs this experiment: wait for it, or choose another folder"
            ) from None
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _run_trials(
    title: str, experiment: Experiment, trials: list[Trial], path: Path, mark: Row, n_jobs: int, verbose: bool
) -> dict[str, Row]:
    """Run the trials that have no result yet; return all results by the key of their trial."""
    mark = mark | {"machine": describe_machine()}
    done = _results_so_far(path, mark)
    left = [trial for trial in trials if _key(trial) not in done]
    progress = Progress(verbose, title)
    with path.open("a", encoding="utf-8") as file, _interruptible():
        if not done:
            file.truncate(0)
            print(json.dumps(mark), file=file, flush=True)
        progress.show(len(done) / max(1, len(trials)), title, f"{len(done)} of {len(trials)}")
        try:
            for trial, result, seconds in _results(experiment, left, 1 if experiment.timed else n_jobs):
                line = {"trial": trial, "result": result, "processor seconds": seconds}
                print(json.dumps(line, allow_nan=False), file=file, flush=True)
                done[_key(trial)] = _as_json(line)
                progress.show(len(done) / len(trials), title, f"{len(done)} of {len(trials)}")
        finally:
            progress.close(complete=len(done) == len(trials))
    return done


def _results_so_far(path: Path, mark: Row) -> dict[str, Row]:
    """Return the results of an earlier run of the same code and sizes; an incomplete last line is dropped."""
    if not path.exists():
        return {}
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            break
    if not lines or lines[0] != mark:
        if len(lines) > 1:
            _set_aside(path, "has results of other code, sizes or another machine")
        return {}
    # Written again without an incomplete line, so that the next result starts on a line of its own.
    with replacing(path) as temporary:
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return {_key(line["trial"]): line for line in lines[1:]}


def _results(experiment: Experiment, trials: list[Trial], n_jobs: int) -> Iterator[tuple[Trial, Any, float]]:
    """Run trials and yield each with its result and its processor seconds, as they come."""
    if n_jobs == 1 or len(trials) < 2:
        for trial in trials:
            yield trial, *_run_trial(experiment, trial)
        return
    with ProcessPoolExecutor(min(n_jobs, len(trials)), initializer=_prepare_worker) as pool:
        futures = {pool.submit(_run_trial, experiment, trial): trial for trial in trials}
        try:
            for future in as_completed(futures):
                yield futures[future], *future.result()
        except BrokenProcessPool as error:
            raise OSError(
                "a worker process ended abruptly; it may have run out of memory. The results so far are kept: run "
                "the same command with --jobs 1"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise


def _run_trial(experiment: Experiment, trial: Trial) -> tuple[Any, float]:
    """Return the result of a trial and the processor time of this process, which pauses and other runs do not change."""
    start = time.process_time()
    return experiment.run(trial), time.process_time() - start


def _prepare_worker() -> None:
    """Leave Ctrl-C to the main process, exit when it does, and use one BLAS thread: the trials fill the cores."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    threadpool_limits(1)


def _end_with(main: int) -> None:
    """Exit when the main process is gone; the workers of a killed process would wait forever."""
    while os.getppid() == main:
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
