"""The engine of comparisons in files that are larger than memory: the processor's, over blocks that are read from disk.

The rows are written once to a temporary file, as int32, and each pass reads them from there: that takes a fraction of
the time that decoding the files again would take. While a block is computed with, a thread reads the next one. Nothing
is mapped into memory: pages of mapped files count as memory of the process.
"""

import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.coerce import drop_zero_weights
from nearer.comparisons.rows import blocks
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.problem import Problem

BLOCK_ROWS = 1 << 21  # in memory at once, twice: one block is read while the other is computed with
PIECE_ROWS = 1 << 15  # consecutive rows that stochastic steps read at once; a block of them holds many pieces
RESERVE = 100_000_000  # bytes that stay free on the disk
LARGE = 100_000_000  # bytes of a temporary file that should not be in memory
MOUNTS = Path("/proc/mounts")  # of Linux
IN_MEMORY = ("tmpfs", "ramfs")

Piece = tuple[int, int]
Block = tuple[np.ndarray, np.ndarray]


class FilesProblem(CPUProblem):
    """Comparisons that are read block by block, and compiled loops over each block, in threads.

    Values and gradients are those of comparisons in memory up to rounding. Stochastic steps pick their rows from a
    block of pieces that are drawn at random from the whole file, and then from the next such block.
    """

    def __init__(
        self, source: ComparisonSource, loss: Any, regularization: float, n_jobs: int, random: np.random.Generator
    ) -> None:
        Problem.__init__(self, loss, regularization, source.n_objects, random)
        self.n_jobs = self.n_parallel = n_jobs
        self._states, self._map, self._stack = {}, map, ExitStack()
        try:
            self.spool = self._stack.enter_context(Spool(source))
            self._reader = self._stack.enter_context(ThreadPoolExecutor(n_jobs))
        except BaseException:
            self._stack.close()
            raise
        self.n_rows, self.weighted = len(self.spool), int(self.spool.is_weighted)

    def blocks(self, absolute: bool = False) -> Iterator[Block]:
        """Yield rows and their weights, of mean one or as given, until all were there."""
        bounds = [[(block.start, block.stop)] for block in blocks(self.n_rows, BLOCK_ROWS)]
        scale = 1.0 if absolute else self.spool.scale
        return self._read_ahead(iter(bounds), min(BLOCK_ROWS, self.n_rows), scale)

    def mentioned(self) -> np.ndarray:
        """Return for each object whether a comparison mentions it."""
        return self.spool.mentioned

    def adagrad_run(self, points: np.ndarray, energy: np.ndarray, step_size: float, passes: int) -> np.ndarray:
        """Refuse: these steps are for further answers, which are in memory."""
        raise TypeError(f"{type(self).__name__} takes no steps of AdaGrad")

    def _picked(
        self, random: np.random.Generator, first: int, last: int, batch_size: int = 1
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the rows of the steps from first to last, picked from blocks of random pieces."""
        size = max(BLOCK_ROWS // self.n_jobs, PIECE_ROWS)
        size = min(size, -(-self.n_rows // PIECE_ROWS) * PIECE_ROWS)
        step = first
        for rows, weights in self._read_ahead(self._random_blocks(random, size), size, self.spool.scale):
            stop = min(step + max(1, len(rows) // batch_size), last)
            yield from self._pick_rows(rows, weights, random, step, stop, batch_size)
            step = stop
            if step >= last:
                return

    def _random_blocks(self, random: np.random.Generator, block_rows: int) -> Iterator[list[Piece]]:
        """Yield blocks of pieces without end: all pieces in random order, again and again."""
        pieces = [(piece.start, piece.stop) for piece in blocks(self.n_rows, PIECE_ROWS)]
        while True:
            order = random.spawn(1)[0].permutation(
                len(pieces)
            )  # the picks of a block do not depend on reading ahead
            for block in blocks(len(order), block_rows // PIECE_ROWS):
                yield [pieces[number] for number in order[block]]

    def _read_ahead(self, wanted: Iterator[Sequence[Piece]], block_rows: int, scale: float) -> Iterator[Block]:
        """Yield a block for each list of pieces, valid until the next one; a thread reads that meanwhile."""
        n_columns = self.spool.n_columns
        spaces = [
            (np.empty((block_rows, n_columns), np.int32), np.empty(block_rows if self.weighted else 1))
            for _ in range(2)
        ]
        reading = None
        for number, pieces in enumerate(wanted):
            following = self._reader.submit(self.spool.read, pieces, *spaces[number % 2], scale)
            if reading is not None:
                yield reading.result()
            reading = following
        if reading is not None:
            yield reading.result()


class Spool:
    """The rows of a source with weights above 0 in a temporary file, and their weights, if there are any, in another.

    The files have no name, so that they are gone when the process ends, however it ends.
    """

    def __init__(self, source: ComparisonSource) -> None:
        self.n_columns, self.n_rows, self.n_given, self.total = source.n_columns, 0, len(source), 0.0
        self.mentioned = np.zeros(source.n_objects, dtype=bool)
        self.is_weighted = False
        self._lock, self._files = threading.Lock(), ExitStack()
        self.folder = tempfile.gettempdir()
        try:
            self._rows = self._files.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
            self._weights = self._files.enter_context(tempfile.TemporaryFile(buffering=0))  # noqa: SIM115
            self._check_space(len(source) * 4 * self.n_columns)
            self._check_place(len(source) * 4 * self.n_columns)
            for chunk in source.chunks():
                self._append(drop_zero_weights(chunk))
        except BaseException:
            self._files.close()
            raise
        if self.n_rows == 0:
            self._files.close()
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")

    def __len__(self) -> int:
        return self.n_rows

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: Any) -> None:
        self._files.close()

    @property
    def scale(self) -> float:
        """What weights are multiplied by for a mean of one."""
        return self.n_rows / self.total if self.is_weighted else 1.0

    def _append(self, chunk: Comparisons) -> None:
        """Write a chunk, and weights if there were any so far."""
        if not len(chunk):
            return
        if chunk.weights is not None and not self.is_weighted:
            self._check_space(8 * self.n_given)
            for block in blocks(self.n_rows, BLOCK_ROWS):  # earlier chunks without weights
                self._write(self._weights, np.ones(block.stop - block.start))
            self.is_weighted, self.total = True, float(self.n_rows)
        for block in blocks(len(chunk), BLOCK_ROWS):
            self._write(self._rows, chunk.rows[block])
            self.mentioned[chunk.rows[block]] = True
        if self.is_weighted:
            weights = np.ones(len(chunk)) if chunk.weights is None else chunk.weights
            self._write(self._weights, weights)
            self.total += float(weights.sum())
            if not np.isfinite(self.total):
                raise ValueError("the sum of the weights overflows: divide them by the largest")
        self.n_rows += len(chunk)

    def _check_space(self, size: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < size + RESERVE:
            raise OSError(
                f"the comparisons take {size / 1e9:.1f} GB in a temporary file, and {self.folder} has "
                f"{free / 1e9:.1f} GB free: set TMPDIR to a folder of a larger disk"
            )

    def _check_place(self, size: int) -> None:
        """Warn if the files are large, and in memory: on many systems /tmp is."""
        if size >= LARGE and file_system_of(self.folder) in IN_MEMORY:
            warnings.warn(
                f"the comparisons take {size / 1e9:.1f} GB in a temporary file, and {self.folder} is in memory "
                f"({file_system_of(self.folder)}): set TMPDIR to a folder of a disk",
                stacklevel=2,
            )

    def _write(self, file: Any, array: np.ndarray) -> None:
        left = np.ascontiguousarray(array).data.cast("B")
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as error:
            raise OSError(
                f"cannot write a temporary file to {self.folder}: {error.strerror}; set TMPDIR to another folder"
            ) from None

    def read(self, pieces: Sequence[Piece], rows: np.ndarray, weights: np.ndarray, scale: float) -> Block:
        """Read pieces into arrays, of which the parts that were filled are returned; weights are scaled."""
        size = 0
        for first, stop in pieces:
            part = slice(size, size + stop - first)
            self._read(self._rows, rows[part], first * 4 * self.n_columns)
            if self.is_weighted:
                self._read(self._weights, weights[part], first * 8)
            size = part.stop
        if not self.is_weighted:
            weights[:] = 1.0
            return rows[:size], weights
        weights[:size] *= scale
        return rows[:size], weights[:size]

    def _read(self, file: Any, array: np.ndarray, offset: int) -> None:
        left = array.data.cast("B")
        with self._lock:  # threads share the place in the file
            file.seek(offset)
            while left:
                n_read = file.readinto(left)
                if not n_read:
                    raise OSError(f"a temporary file in {self.folder} was cut off by another program")
                left = left[n_read:]


def file_system_of(folder: str) -> str | None:
    """Return the kind of file system that a folder is on, such as "ext4" or "tmpfs"; None where it is not known."""
    try:
        mounts = [line.split() for line in MOUNTS.read_text().splitlines()]
    except (OSError, UnicodeDecodeError):
        return None
    path = Path(folder).resolve()
    above = [each for each in mounts if len(each) > 2 and path.is_relative_to(each[1].replace("\\040", " "))]
    return (
        max(reversed(above), key=lambda each: len(each[1]))[2] if above else None
    )  # the last of equal ones counts
