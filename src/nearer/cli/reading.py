"""Files of answers as commands read them: the options about columns, encoding and bad rows, and a progress bar."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.options import flag, option

if TYPE_CHECKING:
    from nearer import Comparisons
    from nearer.comparisons import ComparisonSource

COLUMNS: Any = option(
    "Which column of the answers is which, such as anchor=probe,near=picked,far=other or response=key, where headers "
    "are not understood. In a file without a header, columns are counted from 1.",
    metavar="MEANING=COLUMN,…",
)
ENCODING: Any = option(
    "Encoding of the answers, such as cp1252, utf-16 or mac-roman.", "UTF-8, or what the file seems to be"
)
LARGE = 200_000_000  # bytes from which files of answers are scanned, not read

DROP_BAD_ROWS: Any = flag("--drop-bad-rows", "Leave impossible rows of the answers out instead of stopping.")
SKIP_BAD_FILES: Any = flag(
    "--skip-bad-files", "Leave files of answers that are damaged, or hold none, out instead of stopping."
)


def read_answers(
    path: Path, columns: str | None, encoding: str | None, drop_bad_rows: bool, quiet: bool = False
) -> "Comparisons":
    """Read a file of answers; the error of a bad row says how to leave it out."""
    from nearer import read
    from nearer.formats.tables import BadLineError

    options: dict[str, Any] = {"columns": parse_columns(columns), "encoding": encoding}
    options["verbose"] = not quiet and sys.stderr.isatty()
    try:
        return read(path, bad_rows="drop" if drop_bad_rows else "raise", **options)
    except BadLineError as error:
        raise BadLineError(f"{error}; --drop-bad-rows leaves such rows out") from None


def expand(paths: list[Path]) -> list[Path]:
    """Return files with those of folders and patterns in place of these."""
    from nearer.formats.source import find_files

    return [Path(path) for path in find_files(paths)]


def is_pattern(path: Path) -> bool:
    """Whether a path is no file but a pattern such as ``answers/*.csv``."""
    from nearer.formats.source import is_pattern

    return is_pattern(path)


def are_scanned(paths: list[Path], files: list[Path]) -> bool:
    """Whether files are opened as one source, which may be larger than memory: those of folders, and large ones."""
    if any(file.suffix.lower() == ".npz" or str(file) == "-" for file in files):
        return False
    return paths != files or sum(file.stat().st_size for file in files if file.is_file()) >= LARGE


def check_for_workers(files: list[Path]) -> None:
    """Raise a ValueError for files that the workers of a cluster cannot read in parts."""
    for file in files:
        if str(file) == "-" or file.suffix.lower() == ".npz":
            what = "standard input" if str(file) == "-" else str(file)
            raise ValueError(
                f"--scheduler needs files that the workers can open and read in parts, and {what} is none: convert it "
                f"first, with nearer convert {file} answers.parquet"
            )


def scan_answers(
    files: list[Path], columns: str | None, encoding: str | None, drop_bad_rows: bool, skip_bad_files: bool
) -> "Comparisons | ComparisonSource":
    """Open files of answers, and read them if they fit into memory and no cluster reads them."""
    from nearer import Comparisons, scan
    from nearer.comparisons.chunks import has_cluster
    from nearer.formats.tables import BadLineError, UnreadableLineError

    try:
        source = scan(
            files,
            bad_rows="drop" if drop_bad_rows else "raise",
            columns=parse_columns(columns),
            encoding=encoding,
            bad_files="skip" if skip_bad_files else "raise",
        )
    except BadLineError as error:
        can_skip = isinstance(error, UnreadableLineError) and not skip_bad_files and len(files) > 1
        skip = ", --skip-bad-files the whole file" if can_skip else ""
        raise BadLineError(f"{error}; --drop-bad-rows leaves such rows out{skip}") from None
    except ValueError as error:
        if skip_bad_files or len(files) < 2:
            raise
        raise ValueError(f"{error}; --skip-bad-files leaves such files out") from None
    if source.is_large or has_cluster():
        return source
    chunks = list(source.chunks())
    answers = Comparisons.concat(chunks)
    answers._fill(n_dropped=sum(chunk.n_dropped for chunk in chunks))
    return answers


def parse_columns(text: str | None) -> dict[str, str] | None:
    """Return the columns that an option names, by their meaning."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    for meaning, _, name in pairs:
        if not meaning.strip() or not name.strip():
            raise ValueError(f"--columns must be like anchor=target,near=picked,far=other; got {text!r}")
    return {meaning.strip(): name.strip() for meaning, _, name in pairs}
