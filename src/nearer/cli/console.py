"""How the commands print: facts in two columns on the output, notes about the work on the error stream."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap

COLUMN, WIDTH = 16, 79
Facts = list[tuple[str, str]]


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print a word and a text per fact, wrapped to fit 80 columns.

    Examples
    --------
    >>> print_facts([("objects", "67"), ("answers", "8,000")])
    objects         67
    answers         8,000
    """
    for word, text in facts:
        lines = wrap(text, WIDTH - COLUMN, break_long_words=False, break_on_hyphens=False) or [""]
        print(f"{word:<{COLUMN}}" + f"\n{'':{COLUMN}}".join(lines), flush=True)


def print_note(text: str) -> None:
    """Print a note about the work on the error stream, apart from the results."""
    print(f"nearer: {text}", file=sys.stderr, flush=True)


def percent(share: float, digits: int = 1) -> str:
    """Format a share, such as 0.9462 as "94.6 %"."""
    return f"{100 * share:.{digits}f} %"


def count(n: int, thing: str) -> str:
    """Format a number of things, such as "1 answer" and "8,000 answers"."""
    return f"{n:,} {thing}" + "s" * (n != 1)


def some(things: Iterable[object], most: int = 5) -> str:
    """Format the first few of many things, such as "a, b, c, d, e, …"."""
    listed = [str(thing) for thing in things]
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")


def join_or(words: Iterable[str]) -> str:
    """Format alternatives, such as "a, b or c"."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the error of a failed write name the user's file, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(f"cannot write {path}: {error.strerror}") from error
