"""Files of answers as commands read them: the options about columns, encoding and bad rows, and a progress bar."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli.options import flag, option

if TYPE_CHECKING:
    from nearer import Comparisons

COLUMNS: Any = option(
    "Which column of the answers is which, such as anchor=probe,near=picked,far=other or response=key, where headers "
    "are not understood. In a file without a header, columns are counted from 1.",
    metavar="MEANING=COLUMN,…",
)
ENCODING: Any = option(
    "Encoding of the answers, such as cp1252, utf-16 or mac-roman.", "UTF-8, or what the file seems to be"
)
DROP_BAD_ROWS: Any = flag("--drop-bad-rows", "Leave impossible rows of the answers out instead of stopping.")


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


def parse_columns(text: str | None) -> dict[str, str] | None:
    """Return the columns that an option names, by their meaning."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    for meaning, _, name in pairs:
        if not meaning.strip() or not name.strip():
            raise ValueError(f"--columns must be like anchor=target,near=picked,far=other; got {text!r}")
    return {meaning.strip(): name.strip() for meaning, _, name in pairs}
