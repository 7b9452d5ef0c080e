"""Files of answers as one source of comparisons, which is read in parts and chunks and never held as a whole.

`scan` first learns what only all files together can tell: the objects, how responses are read, the number of rows.
Columns of integers are surveyed and checked in one pass of numpy, other files in two.
"""

import glob
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.objects import Names, numbers_of_names
from nearer.formats.io import FORMATS, AnyPath, BadRows, Columns, find_format
from nearer.formats.survey import FileSurvey, Size, check_implied_objects, numbers_as_objects, objects_of, survey
from nearer.formats.tables import TEXT_FORMATS, BadLineError, Options, Table, UnreadableLineError
from nearer.formats.text import suffix_of

PART_ROWS = 4_000_000  # about, of a part of a large file
WILD = "*?["
SHOWN_FILES = 5  # of those that are left out

BadFiles = Literal["raise", "skip"]


@dataclass(frozen=True)
class Numbering:
    """What all parts of a source know of its objects: one object, however many parts there are."""

    names: Names
    n_objects: int
    n_columns: int

    @cached_property
    def numbers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """Names that are numbers, sorted, and the objects that have them; None where names are others."""
        values = None if self.names is None else numbers_of_names(self.names)
        if values is None:
            return None
        order = np.argsort(values)
        return values[order], order


@dataclass(frozen=True)
class File:
    """A file that exists, the module that reads it, by name so that it can be pickled, and how."""

    path: Path
    format: str
    options: Options
    chunk_rows: int
    bad_rows: BadRows

    def __reduce__(self) -> tuple:
        """Pickle the path from the root on: another process may be in another folder."""
        return File, (self.path.absolute(), self.format, self.options, self.chunk_rows, self.bad_rows)

    @property
    def module(self) -> ModuleType:
        """The module of the format."""
        return import_module(f"nearer.formats.{self.format}")

    def tables(self, bounds: tuple[int, int] | None = None) -> Iterator[Table]:
        """Yield the file, or a range of it, as tables that cut no answer in two."""
        more = () if bounds is None else (bounds,)
        yield from whole_answers(self.module.tables(self.path, self.chunk_rows, self.options, *more))


@dataclass(frozen=True)
class FilePart:
    """A file, or a range of a large one, as chunks of `Comparisons`."""

    file: File
    bounds: tuple[int, int] | None
    reading: str | None  # how responses are read
    numbering: Numbering
    n_rows: int = 0  # comparisons, as they were scanned

    def __call__(self) -> Iterator[Comparisons]:
        """Read the part; ValueError if it no longer has the comparisons that were scanned."""
        n_rows = 0
        for chunk in self.chunks():
            n_rows += len(chunk)
            if len(chunk) and n_rows <= self.n_rows:
                yield chunk.as_quadruplets() if self.numbering.n_columns == 4 else chunk
        if n_rows != self.n_rows:
            where = "" if self.bounds in (None, (0, None)) else " in a part of it"
            raise ValueError(
                f"{self.file.path} has changed since it was scanned: {self.n_rows:,} rows{where} then, {n_rows:,} now"
            )

    def chunks(self) -> Iterator[Comparisons]:
        """Read the part, whatever it has."""
        for table in self.file.tables(self.bounds):
            yield self.comparisons(replace(table, reading=self.reading))

    def comparisons(self, table: Table) -> Comparisons:
        """Return the comparisons of a table in the numbers of the source."""
        names, n_objects, bad_rows = self.numbering.names, self.numbering.n_objects, self.file.bad_rows
        numbers = self.numbering.numbers
        if numbers is None or (renumbered := numbers_as_objects(table, *numbers)) is None:
            made = table.comparisons(bad_rows, names, n_objects, names is None)
        else:
            try:
                made = renumbered.comparisons(bad_rows, None, n_objects, True)
            except BadLineError:  # whose message should have names
                made = table.comparisons(bad_rows, names, n_objects)
        made._fill(names=names)  # one tuple for all chunks
        return made


def scan(
    paths: AnyPath | Sequence[AnyPath],
    chunk_rows: int = 1_000_000,
    bad_rows: BadRows = "raise",
    columns: Columns | None = None,
    encoding: str | None = None,
    n_objects: int | None = None,
    bad_files: BadFiles = "raise",
) -> ComparisonSource:
    r"""Open files as one source of comparisons that is read in chunks and never held in memory as a whole.

    The files are read first: to number the objects, to count the rows and to find bad ones, once where all objects
    are integers and twice otherwise. Rows of one answer are never separated if they are consecutive; an id that
    occurs again later is another answer.

    Parameters
    ----------
    paths : path or sequence of paths
        Files that `read` understands, all with the same kind of rows; folders, of which all such files are taken;
        patterns such as ``"answers/*.parquet"``. An .npz file cannot be read in parts.
    chunk_rows : int
        About how many lines of a file a chunk holds.
    bad_rows, columns, encoding, n_objects
        As for `read`.
    bad_files : {"raise", "skip"}
        What to do with a file that is damaged, such as one with a line that cannot be read at all, or that holds no
        answers: raise a ValueError that names it, or leave it out with a warning. A file with an impossible row, such
        as one that compares an object with itself, is no bad file: `bad_rows` is about these, and with "drop" lines
        that cannot be read are left out too, not their file.

    Returns
    -------
    ComparisonSource
        Its ``parts`` are files, or ranges of rows of large .parquet and .npy files; ``chunks()`` reads all of them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from nearer import scan, write
    >>> with TemporaryDirectory() as folder:
    ...     write([[0, 1, 2], [1, 0, 2], [2, 1, 0]], f"{folder}/monday.csv")
    ...     write([[1, 2, 0]], f"{folder}/tuesday.csv")
    ...     source = scan(folder, chunk_rows=2)
    ...     source, [len(chunk) for chunk in source.chunks()]
    (ComparisonSource(4 triplets, 3 objects), [2, 1, 1])
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1; got {chunk_rows}")
    if bad_files not in ("raise", "skip"):
        raise ValueError(f"bad_files must be 'raise' or 'skip'; got {bad_files!r}")
    found = find_files([paths] if isinstance(paths, str | os.PathLike) else paths)
    if not found:
        raise ValueError("no files to scan were given")
    files = []
    for path in found:
        existing, module, options = find_format(path, bad_rows, columns, encoding, n_objects)
        if existing.suffix.lower() == ".npz":
            raise ValueError(".npz files cannot be read in chunks; save the rows as .npy, or read the file whole")
        files.append(File(existing, module.__name__.rpartition(".")[2], options, chunk_rows, bad_rows))

    surveys, skipped = _survey_all(files, skip=bad_files == "skip")
    names = objects_of([found for _, found in surveys])
    parts: list[FilePart] = []
    sizes: list[Size] = []
    implied: list[tuple[int, Path]] = []  # numbers of objects, by no more than the largest number
    numbering = Numbering(names, n_objects or 0, n_columns=3)  # until the numbers are known
    for file, found_in in surveys:
        each = _parts(file, found_in, numbering)
        sizes += [size for _, size in each]
        parts += [replace(part, n_rows=size[0]) for part, size in each]
        if names is None and not found_in.is_counted:
            implied.append((max(size[2] for _, size in each), file.path))
    n_rows = sum(n for n, _, _ in sizes)
    if skipped:
        listed = "; ".join(map(str, skipped[:SHOWN_FILES])) + "; …" * (len(skipped) > SHOWN_FILES)
        left_out = f"{len(skipped)} of {len(files)} files are left out: {listed}"
        warnings.warn(f"{left_out}. {n_rows:,} rows of the others are used", stacklevel=2)
    if n_rows == 0:
        raise ValueError(f"{', '.join(str(file.path) for file in files)} is empty: there are no rows")
    width, n_found = max(width for _, width, _ in sizes), max(n for _, _, n in sizes)
    if names is not None:
        n_found = len(names)
    if implied:
        n_implied, path = max(implied)
        check_implied_objects(path, n_implied, n_rows, width)
    numbering = Numbering(names, n_found, width)
    return ComparisonSource(
        tuple(replace(part, numbering=numbering) for part in parts),
        n_rows=n_rows,
        n_columns=width,
        n_objects=n_found,
        names=names,
    )


def is_pattern(path: AnyPath) -> bool:
    """Whether a path that no file has is a pattern such as ``*.csv``."""
    return any(letter in str(path) for letter in WILD) and not os.path.exists(path)


def find_files(paths: Sequence[AnyPath]) -> list[AnyPath]:
    """Return the files that paths stand for: those of folders and patterns sorted, those of readable formats only."""
    found: list[AnyPath] = []
    for path in paths:
        if is_pattern(path):
            inside = [Path(name) for name in glob.glob(str(path), recursive=True)]
        elif Path(path).is_dir():
            inside = list(Path(path).iterdir())
        else:
            found.append(path)
            continue
        readable = sorted(file for file in inside if _is_readable(file) and file.is_file())
        if not readable:
            where = f"no file matches {path}" if is_pattern(path) else f"the folder {path} has no file"
            raise ValueError(f"{where} whose name ends in {', '.join(FORMATS)}")
        found += readable
    return found


def _is_readable(path: Path) -> bool:
    """Whether a name is that of a file of answers, and not hidden: some programs put ``_metadata`` beside files."""
    formats = TEXT_FORMATS if path.suffix.lower() == ".gz" else FORMATS
    return suffix_of(path) in formats and not path.name.startswith((".", "_"))


def _survey_all(files: list[File], skip: bool) -> tuple[list[tuple[File, FileSurvey]], list[Exception]]:
    """Return what is in each file, and with `skip` the errors of those that cannot be read."""
    surveys: list[tuple[File, FileSurvey]] = []
    skipped: list[Exception] = []
    for file in files:
        try:
            surveys.append((file, survey(file.tables(), file.bad_rows)))
        except (ValueError, OSError) as error:
            is_bad_row = isinstance(error, BadLineError) and not isinstance(error, UnreadableLineError)
            if not skip or is_bad_row:
                raise
            skipped.append(error)
    if not surveys:
        raise ValueError(f"none of {len(files)} files can be read; the first: {skipped[0]}")
    return surveys, skipped


def _parts(file: File, found: FileSurvey, numbering: Numbering) -> list[tuple[FilePart, Size]]:
    """Return the parts of a file, one where answers have several rows, and what is in each; a bad row raises."""
    ranges: list[Any] = [(None, found.n_lines)]
    if hasattr(file.module, "split") and not found.has_answers:
        ranges = file.module.split(file.path, PART_ROWS)
    parts = [FilePart(file, bounds, found.reading, numbering) for bounds, _ in ranges]
    if found.size is None:
        return [(part, _size(part)) for part in parts]
    n_rows, width, n_objects = found.size
    if len(parts) == 1:
        return [(parts[0], found.size)]
    if n_rows == found.n_lines:  # none was dropped
        return [(part, (n, width, n_objects)) for part, (_, n) in zip(parts, ranges, strict=True)]
    return [(part, (_size(part)[0], width, n_objects)) for part in parts]


def _size(part: FilePart) -> Size:
    """Return the rows, columns and objects of a part; a bad row raises."""
    sizes = [(len(chunk), chunk.shape[1], chunk.n_objects) for chunk in part.chunks()]
    n_rows, width, n_objects = zip(*sizes, strict=True) if sizes else ((), (), ())
    return sum(n_rows), max(width, default=0), max(n_objects, default=0)


def whole_answers(tables: Iterator[Table]) -> Iterator[Table]:
    """Move the rows of an answer that the end of a chunk would cut in two into the next chunk."""
    rest: Table | None = None
    for table in tables:
        joined = table if rest is None else rest.followed_by(table)
        rest = None
        column = joined.layout().optional.get("answers")
        if column is None or not len(joined):
            yield joined
            continue
        ids = joined.columns[column]
        cut = len(ids) - 1
        while cut > 0 and ids[cut - 1] == ids[-1]:
            cut -= 1
        if cut:
            yield joined.part(0, cut)
        rest = joined.part(cut, len(joined))
    if rest is not None:
        yield rest
