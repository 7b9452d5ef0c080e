"""What a record was measured with: the code, the machine, and how busy that was.

Code is compared by a hash of the syntax trees, without comments and docstrings, of the file of the experiment and of
all modules of the library that trials can depend on: all but those of `UNRELATED`. What an experiment makes of its
trials, by its methods `OUTCOME`, does not count. The syntax trees of two versions of Python may differ, and so may
then the hashes.
"""

import ast
import hashlib
import inspect
import json
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nearer import __version__
from nearer.papers.experiment import Experiment, Row

__all__ = ["code_hash", "describe_machine", "describe_state", "hash_code"]

PACKAGES = ("nearer", "numpy", "scipy", "numba", "scikit-learn")
OUTCOME = ("table", "draw", "verdicts")
LIBRARY = Path(__file__).resolve().parents[1]
# Files and folders of the library that no result of a trial depends on. Of `papers`, the file of the experiment counts,
# the search for settings, and how numbers are rounded and summarized. What `datasets/source.py` reads is checked against
# a checksum.
UNRELATED = ("cli", "maps", "formats", "papers", "datasets/source.py", "progress.py", "files.py", "__main__.py")


def code_hash(experiment: Experiment) -> str:
    """Return a hash of the code that the trials of an experiment depend on."""
    return _hash_with(Path(inspect.getfile(type(experiment))).resolve())


@cache
def _hash_with(file: Path) -> str:
    shared = [LIBRARY / "papers" / name for name in ("grid.py", "statistics.py")]
    return hash_code([file, *shared, *_related(LIBRARY)], LIBRARY)


def _related(library: Path) -> list[Path]:
    """Return the Python files of the library that trials can depend on, without those of the papers."""
    unrelated = [library / name for name in UNRELATED]
    return [path for path in library.rglob("*.py") if not any(path.is_relative_to(other) for other in unrelated)]


def hash_code(files: Iterable[Path], folder: Path) -> str:
    """Return a hash of Python files and their names in a folder; comments, docstrings and layout do not matter."""
    trees = {}
    for path in files:
        name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name
        trees[name] = ast.dump(_what_trials_run(ast.parse(path.read_bytes())))
    return hashlib.sha256(json.dumps(trees, sort_keys=True).encode()).hexdigest()[:16]


def _what_trials_run(tree: ast.Module) -> ast.Module:
    """Remove docstrings, and the methods that make table, figure and verdicts of trials."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            if "Experiment" in bases:
                node.body = [part for part in node.body if getattr(part, "name", None) not in OUTCOME]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                del node.body[0]
    return tree


def describe_state(n_jobs: int) -> Row:
    """Return what ties a run to the code and to how busy the machine was."""
    try:
        load = round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):  # on Windows
        load = None
    return {"version": __version__, "commit": _commit(), "n_jobs": n_jobs, "load at the start": load}


@cache
def _commit() -> str | None:
    """Return what git says of the checkout that this file is in; None where there is none."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(LIBRARY), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "papers/provenance.py")  # not the checkout of another project around it
        return git("describe", "--always", "--dirty") or None
    except (OSError, subprocess.SubprocessError):
        return None


def describe_machine() -> Row:
    """Return what the numbers depend on: processor, Python and the packages that do the work."""
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
        return _apple_processor() or platform.processor()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())


def _apple_processor() -> str:
    """Return what macOS calls the processor: `platform` knows no more than "arm"; empty elsewhere."""
    command = ["sysctl", "-n", "machdep.cpu.brand_string"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
