"""Files of text as lines: their encoding, compression, and standard input.

Excel writes UTF-8 with a byte order mark, UTF-16 or, as plain "CSV", the code page of the machine, which in the
Western world is Windows-1252. What is not UTF-8 and has no mark is read as Windows-1252, with a warning.
"""

import codecs
import gzip
import io
import re
import sys
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

STDIN = Path("standard input")
BLOCK = 1 << 20
LARGE = 5_000_000  # bytes, from which a bar is worth it
# How files begin that are no text, and what to do with them.
BINARY = {
    b"PK\x03\x04": "a zip archive or an Excel workbook, not text: if it is a workbook, rename it to end in .xlsx",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of before 2007, not text: save it as .xlsx or .csv",
    b"\x1f\x8b": "compressed: append .gz to its name",
    b"PAR1": "a parquet file, not text: rename it to end in .parquet",
    b"\x93NUMPY": "an array of numpy, not text: rename it to end in .npy",
    b"%PDF": "a PDF document, not text",
}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
CONTROL = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")  # characters that no table has
_read_stdin: tuple[Any, bytes] = (None, b"")  # a stream can be read only once, a file is read several times


def suffix_of(path: Path) -> str:
    """Return the suffix of a file in lower case, of a compressed one that before .gz."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def open_binary(path: Path) -> IO[bytes]:
    """Open a file, unpacked if its name ends in .gz, or what came on standard input."""
    global _read_stdin
    if path == STDIN:
        if _read_stdin[0] is not sys.stdin:
            _read_stdin = (sys.stdin, b"" if sys.stdin is None else sys.stdin.buffer.read())
        return io.BytesIO(_read_stdin[1])
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def find_encoding(path: Path, encoding: str | None = None) -> str:
    """Return the encoding of a file after a check of all of it; ValueError if it is not text."""
    with _damaged(path), open_binary(path) as file:
        start = file.read(BLOCK)
    for mark, problem in BINARY.items():
        if start.startswith(mark):
            raise ValueError(f"{path} is {problem}")
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise ValueError(f"there is no encoding {encoding!r}; common ones are utf-8, cp1252, utf-16") from None
        return _checked(path, encoding)
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return _checked(path, name)
    if b"\0" in start[:1000]:
        # Every second byte of the Latin letters of UTF-16 is 0.
        return _checked(path, "utf-16-le" if start[1:1000:2].count(0) > start[:1000:2].count(0) else "utf-16-be")
    try:
        return _checked(path, "utf-8")
    except ValueError as error:
        try:
            name = _checked(path, "cp1252", is_guess=True)
        except ValueError:
            raise error from None
        warnings.warn(
            f"{error}; it was read as Windows-1252 (cp1252). If letters are wrong, give its encoding", stacklevel=2
        )
        return name


def _checked(path: Path, encoding: str, is_guess: bool = False) -> str:
    """Return the encoding if all of a file is text in it; of a guess no control characters, as random bytes have."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_lines = 1
    with _damaged(path), open_binary(path) as file:
        while True:
            block = file.read(BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line = n_lines + error.object[: error.start].count(b"\n")
                problem = f"{path}, line {line} is not text in {encoding.upper().removesuffix('-SIG')}"
                raise ValueError(problem) from None
            except UnicodeError as error:  # such as UTF-16 without a mark
                raise ValueError(f"{path} is not text in {encoding}: {error}") from None
            wrong = CONTROL.search(text) if is_guess or "\0" in text else None
            if wrong is not None:
                line = n_lines + text.count("\n", 0, wrong.start())
                raise ValueError(f"{path}, line {line} has control characters: it is no text, or damaged")
            n_lines += text.count("\n")
            if not block:
                return encoding


def read_lines(path: Path, encoding: str, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of a file, with their ends; with `verbose` a bar shows how much of it is read."""
    with _damaged(path), open_binary(path) as file:
        lines = io.TextIOWrapper(file, encoding=encoding, newline="")
        if not verbose or path == STDIN or path.stat().st_size < LARGE:
            yield from lines
            return
        from tqdm import tqdm

        # What is read of the file itself, not of what is unpacked from it.
        position = file.fileobj.tell if isinstance(file, gzip.GzipFile) else file.tell
        with tqdm(total=path.stat().st_size, desc=f"read {path.name}", unit="B", unit_scale=True) as bar:
            for number, line in enumerate(lines):
                if number % 10_000 == 0:
                    bar.update(position() - bar.n)
                yield line
            bar.update(bar.total - bar.n)


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged and cannot be unpacked: {error}") from None
