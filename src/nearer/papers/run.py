"""Running an experiment: trials on all cores, results kept as they come, and the record at the end.

Every result is appended to a file beside the record and flushed, so that the same command resumes a run that was
killed. The first line of that file says of which code, sizes and machine it is; results of others are set aside.
"""

import hashlib
import json
import os
import platform
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from nearer.files import replacing
from nearer.papers.experiment import Experiment, Row, Trial
from nearer.progress import Progress

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["partial_path", "read_record", "record_path", "run_experiment"]

PACKAGES = ("nearer", "numpy", "scipy", "numba", "scikit-learn")


def record_path(folder: Path, paper: str, experiment: Experiment, scale: str) -> Path:
    """Return where the record of an experiment is."""
    return folder / f"{paper}-{experiment.name}-{scale}.json"


def partial_path(record: Path) -> Path:
    """Return where the results are kept until the record is written."""
    return record.with_suffix(".jsonl")


def read_record(path: Path) -> Row:
    """Return a record; ValueError if the file is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        record["paper"], record["trials"], record["table"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not the record of an experiment: remove it, or run with --again") from error
    return dict(record)


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
        Run all trials anew where there is a record, which is set aside.

    Returns
    -------
    record : dict
        What the file holds.
    fresh : bool
        False if the record was there already, of the same code and sizes.
    """
    sizes = experiment.sizes[scale]
    path = record_path(folder, paper, experiment, scale)
    mark = {"paper": paper, "experiment": experiment.name, "scale": scale, "sizes": sizes, "code": code_hash()}
    mark = json.loads(json.dumps(mark))
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; records need a folder")
    if path.exists() and again:
        path.replace(path.with_suffix(".json.old"))
        partial_path(path).unlink(missing_ok=True)
    elif path.exists():
        record = read_record(path)
        if all(record.get(key) == value for key, value in mark.items()):
            return record, False
    folder.mkdir(parents=True, exist_ok=True)
    trials = experiment.trials(**sizes)
    with _alone(partial_path(path)):
        done = _run_trials(
            f"{paper} {experiment.name}", experiment, trials, partial_path(path), mark, n_jobs, verbose
        )
    results = [(trial, done[key]["result"]) for trial in trials if (key := _key(trial))]
    table = experiment.table(results)
    record = {
        **mark,
        "title": experiment.title,
        "protocol": experiment.protocol(),
        "stand-in": experiment.stand_in,
        "reduced": experiment.reduced if scale == "full" else f"run at the scale {scale!r}",
        "machine": describe_machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seconds": sum(line["seconds"] for line in done.values()),
        "table": table,
        "verdicts": [asdict(verdict) for verdict in experiment.verdicts(table, results)],
        "trials": [{"trial": trial, "result": result} for trial, result in results],
    }
    with replacing(path) as temporary:
        temporary.write_text(
            json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    partial_path(path).unlink(missing_ok=True)
    return record, True


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Raise an OSError if another process is at the same record: both would append to its results.

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
            raise OSError(f"another process is at {path}: wait for it, or choose another folder") from None
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
    progress = Progress(verbose)
    with path.open("a", encoding="utf-8") as file, _interruptible():
        if not done:
            file.truncate(0)
            print(json.dumps(mark), file=file, flush=True)
        progress.show(len(done) / max(1, len(trials)), title, f"{len(done)} of {len(trials)}")
        try:
            for trial, result, seconds in _results(experiment, left, 1 if experiment.timed else n_jobs):
                line = {"trial": trial, "result": result, "seconds": seconds}
                print(json.dumps(line, allow_nan=False), file=file, flush=True)
                done[_key(trial)] = json.loads(json.dumps(line))
                progress.show(len(done) / len(trials), title, f"{len(done)} of {len(trials)}")
        finally:
            progress.close(complete=len(done) == len(trials))
    return done


def _results_so_far(path: Path, mark: Row) -> dict[str, Row]:
    """Return the results that an earlier run of the same code and sizes has left; a torn last line is dropped."""
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
            aside = path.with_suffix(".jsonl.old")
            path.replace(aside)
            warnings.warn(
                f"results of other code, sizes or another machine are set aside in {aside}", stacklevel=2
            )
        return {}
    # The file is written anew, without what was torn, so that appending goes on from a whole line.
    with replacing(path) as temporary:
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return {_key(line["trial"]): line for line in lines[1:]}


def _results(experiment: Experiment, trials: list[Trial], n_jobs: int) -> Iterator[tuple[Trial, Any, float]]:
    """Run trials and give their results as they come."""
    if n_jobs == 1 or len(trials) < 2:
        for trial in trials:
            yield trial, *_timed(experiment.run, trial)
        return
    with ProcessPoolExecutor(min(n_jobs, len(trials)), initializer=_prepare_worker) as pool:
        futures = {pool.submit(_timed, experiment.run, trial): trial for trial in trials}
        try:
            for future in as_completed(futures):
                yield futures[future], *future.result()
        except BrokenProcessPool as error:
            raise OSError(
                "a worker process ended abruptly, perhaps for want of memory. The results so far are kept: run the "
                "same command with --jobs 1"
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise


def _timed(run: Callable[[Trial], Any], trial: Trial) -> tuple[Any, float]:
    start = time.perf_counter()
    return run(trial), time.perf_counter() - start


def _prepare_worker() -> None:
    """Leave Ctrl-C to the main process, end with it, and use one BLAS thread: the trials fill the cores."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    threadpool_limits(1)


def _end_with(main: int) -> None:
    """End this worker when the main process is gone: of one that was killed, workers would wait forever."""
    while os.getppid() == main:
        time.sleep(1.0)
    os._exit(1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the run and not one fit in it, whose result would then be taken for a whole one."""

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


@cache
def code_hash() -> str:
    """Return a hash of the library's source: results of other code are not mixed with those of this one."""
    return hash_source(Path(__file__).resolve().parents[1])


def hash_source(folder: Path) -> str:
    """Return a hash of all Python files of a folder, and of their names."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def describe_machine() -> Row:
    """Return what the figures depend on: processor, Python and the packages that do the work."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())
