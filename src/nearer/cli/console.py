"""How the commands talk: facts in two columns on the output, asides on the error stream."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap

COLUMN, WIDTH = 16, 79


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Print what is so: a word, then what there is to say, folded to fit 80 columns.

    Examples
    --------
    >>> facts([("objects", "67"), ("answers", "8,000")])
    objects         67
    answers         8,000
    """
    for word, text in pairs:
        lines = wrap(text, WIDTH - COLUMN, break_long_words=False, break_on_hyphens=False) or [""]
        print(f"{word:<{COLUMN}}" + f"\n{'':{COLUMN}}".join(lines), flush=True)


def aside(text: str) -> None:
    """Say something about the work, out of the way of the results."""
    print(f"nearer: {text}", file=sys.stderr, flush=True)


def percent(share: float, digits: int = 1) -> str:
    """Write a share for people.

    Examples
    --------
    >>> percent(0.9462), percent(0.05, digits=0)
    ('94.6 %', '5 %')
    """
    return f"{100 * share:.{digits}f} %"


def count(n: int, thing: str, things: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "answer"), count(8000, "answer")
    ('1 answer', '8,000 answers')
    """
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def some(things: Iterable[object], most: int = 5) -> str:
    """Write the first few of many things.

    Examples
    --------
    >>> some("abcdefg")
    'a, b, c, d, e, …'
    """
    listed = [str(thing) for thing in things]
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


def size(n_bytes: int) -> str:
    """Write a size of files.

    Examples
    --------
    >>> size(900), size(2_340_000)
    ('900 bytes', '2.3 MB')
    """
    if n_bytes < 1000:
        return count(n_bytes, "byte")
    return f"{n_bytes / 1000:.0f} kB" if n_bytes < 1_000_000 else f"{n_bytes / 1e6:.1f} MB"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Tell of a failed write by the name that the user gave, not by that of the file written aside."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(f"cannot write {path}: {error.strerror}") from error
