"""The checkpoint of a long fit: points and settings so far in a file, from which a later fit goes on.

The file is an npz without pickles: the points, and JSON that says what data and parameters they belong to. It is written
at the first iteration, then at most once a minute and when a fit is cut short or fails, and removed when a fit ends by
itself.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.embedding.settings import SETTINGS
from nearer.files import check_writable, replacing
from nearer.monitor import Monitor, Result
from nearer.parameters import is_auto

SECONDS = 60.0  # between two writes
HASHED_ROWS = 4_000_000  # about, of answers in memory: some tens of milliseconds
BLOCK_ROWS = 4_000
PARTS, ROWS_OF_PART = 4, 1_000  # of a source, whose chunks may take a second to read
# Parameters that say what the points of a fit are; others, such as max_iter or n_jobs, may change between two fits.
PARAMETERS = (
    *SETTINGS, "solver", "early_stopping", "validation_fraction", "escape", "init", "dtype", "random_state",
)  # fmt: skip


class Checkpoint:
    """The file of one fit, and what has to be the same for a later fit to go on from it.

    Parameters
    ----------
    path : path
        The file.
    about : mapping of str to object
        What the points belong to, as JSON can hold it: sizes of the data and parameters, by name.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path, self.about = path, dict(about)
        self.settings: dict[str, Any] = {}
        self.chosen_on_trial: list[str] = []  # parameters that an earlier fit to a part of the answers chose
        self._points: np.ndarray | None = None
        self._written = -np.inf

    @classmethod
    def of(cls, model: Any, data: Comparisons | ComparisonSource) -> Self | None:
        """Return the checkpoint of a fit of a model to these comparisons, None without the parameter."""
        if model.checkpoint is None:
            return None
        check_writable(model.checkpoint)
        names = None if data.names is None else hashlib.sha256("\0".join(data.names).encode()).hexdigest()
        about = {"rows": len(data), "columns": data.shape[1], "objects": data.n_objects, "names": names}
        about |= fingerprint(data)
        made = cls(Path(model.checkpoint), about | {name: described(getattr(model, name)) for name in PARAMETERS})
        made.chosen_on_trial = getattr(model, "_chosen_on_trial", [])
        return made

    def load(self, model: Any) -> tuple[dict[str, Any], np.ndarray] | None:
        """Return the settings and the points of an earlier fit, None if there was none that was cut short."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                points, record = file["points"], json.loads(str(file["about"]))
            about, chosen = record["about"], record["settings"]
            n_components = int(chosen["n_components"])
            if points.shape != (about["objects"], n_components) or not np.isfinite(points).all():
                raise ValueError(f"points of shape {points.shape}")
        except Exception as error:  # of a damaged file anything
            raise ValueError(
                f"{self.path} cannot be read as a checkpoint of a fit; remove it to start anew ({error})"
            ) from None
        differing = [name for name in self.about if name in about and about[name] != self.about[name]]
        if differing:
            what = "; ".join(f"{name}: {about[name]} there, {self.about[name]} here" for name in differing)
            raise ValueError(
                f"{self.path} is the checkpoint of a fit to other data or with other parameters ({what}); remove it to "
                "start anew, or name another file"
            )
        settings = {name: getattr(model, name) for name in SETTINGS}
        settings |= {name: chosen[name] for name in SETTINGS if is_auto(settings[name])}
        return settings, points

    @contextmanager
    def keeping(self, settings: Mapping[str, Any], monitor: Monitor) -> Iterator[None]:
        """Write the points of a fit while the block goes on, and when it raises."""
        self.settings = {
            name: value if isinstance(value, str | int | float) else None for name, value in settings.items()
        }
        inner = monitor.callback

        def watch(record: dict[str, Any]) -> bool | None:
            if "points" in record and np.isfinite(record["loss"]):
                self._points = record["points"]
                if time.monotonic() - self._written >= SECONDS:
                    self.save(self._points)
            return None if inner is None else inner(record)

        monitor.callback = watch
        try:
            yield
        except BaseException:
            if self._points is not None:
                self.save(self._points)
            raise

    def close(self, result: Result) -> None:
        """Write the points of a fit that was cut short; remove the file of one that ended by itself."""
        if result.cut_short:
            self.save(result.solution)
        else:
            self.path.unlink(missing_ok=True)

    def save(self, points: np.ndarray) -> None:
        """Write points; a disk that is full is no reason to end a fit."""
        settings = {**self.settings, "n_components": points.shape[1]}
        record = {"about": self.about, "settings": settings, "chosen_on_trial": self.chosen_on_trial}
        try:
            with replacing(self.path) as aside, aside.open("wb") as file:
                np.savez(file, points=points, about=np.array(json.dumps(record)))
        except OSError as error:
            warnings.warn(f"the checkpoint {self.path} cannot be written: {error}", stacklevel=2)
        self._written = time.monotonic()


def chosen_on_trial(path: Path) -> dict[str, Any]:
    """Return the parameters that ``nearer fit`` had chosen by a first fit, with held-out answers, for that of a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            record = json.loads(str(file["about"]))
        return {name: record["about"][name] for name in record["chosen_on_trial"]}
    except Exception:  # no file, or a damaged one, which `Checkpoint.load` refuses
        return {}


def fingerprint(data: Comparisons | ComparisonSource) -> dict[str, str]:
    """Return a hash of rows and weights: of some of them where there are many, which does not depend on chunks.

    Its name tells answers in memory from those in parts, whose hashes cannot be compared.
    """
    digest = hashlib.sha256()
    if isinstance(data, Comparisons):
        n_blocks = -(-len(data) // BLOCK_ROWS)
        for number in evenly(n_blocks, HASHED_ROWS // BLOCK_ROWS):
            _add(digest, data, slice(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS))
        return {"answers": digest.hexdigest()[:16]}
    for number in evenly(len(data.parts), PARTS):
        n_left = ROWS_OF_PART
        for chunk in data.parts[number]():
            n_left -= _add(digest, chunk, slice(n_left))
            if n_left <= 0:
                break
    return {"answers in parts": digest.hexdigest()[:16]}


def evenly(n: int, most: int) -> list[int]:
    """Return the numbers below n, or so many of them, evenly spaced with the first and the last."""
    return list(range(n)) if n <= most else np.linspace(0, n - 1, most).astype(int).tolist()


def _add(digest: Any, comparisons: Comparisons, rows: slice) -> int:
    """Add some rows and their weights to a hash; return how many there are."""
    block = comparisons.rows[rows]
    digest.update(block.astype(np.int32).tobytes())
    if comparisons.weights is not None:
        digest.update(comparisons.weights[rows].astype(np.float64).tobytes())
    return len(block)


def described(value: Any) -> Any:
    """Return a parameter as JSON holds it: of an array the hash, of an object its type and its parameters."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, type):
        return np.dtype(value).name
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if hasattr(value, "get_params") or type(value).__module__.startswith("nearer.losses"):
        inside = {name: described(part) for name, part in sorted(vars(value).items())}
        return f"{type(value).__name__}({', '.join(f'{name}={part}' for name, part in inside.items())})"
    try:
        array = np.ascontiguousarray(value)
    except ValueError:
        return type(value).__name__
    return type(value).__name__ if array.dtype.hasobject else hashlib.sha256(array.tobytes()).hexdigest()
