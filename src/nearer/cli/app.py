"""What all commands share: the application that they register with, its errors, and how they print.

What the library raises about its input becomes one line on the error stream and exit code 2. NEARER_DEBUG=1 shows
the traceback instead. Facts are printed in two columns on the output, notes about the work on the error stream.
"""

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Any

import typer

import nearer

EXPECTED = (ValueError, OSError, ImportError)
INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended
COLUMN, WIDTH = 16, 79  # characters of the first column of facts, and of a line
Facts = list[tuple[str, str]]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text, in a pipe and in a terminal
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"nearer {nearer.__version__}")
        raise typer.Exit


@app.callback(
    epilog="The help of each command has examples: nearer fit --help. Start with nearer demo. "
    "Exit codes: 0 done, 2 something is wrong with the input, 130 interrupted, 143 terminated. "
    "NEARER_DEBUG=1 shows the traceback of an error; NEARER_CACHE=folder moves compiled loops and data."
)
def nearer_command(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Learn what is like what from answers to "is A nearer to B or to C?"."""


def command(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a command; its docstring and the examples, command lines, are its help."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        lines = "\n".join(f"  {example}" for example in examples)
        # \b keeps click from joining the lines of a paragraph.
        help = f"{inspect.getdoc(function)}\n\n\b\nFor example:\n{lines}"
        # A command that needs arguments shows its help if there are none.
        parameters = inspect.signature(function).parameters.values()
        needs_input = any(getattr(parameter.default, "default", None) is ... for parameter in parameters)
        register = app.command(function.__name__.rstrip("_"), help=help, no_args_is_help=needs_input)
        register(_handle_errors(function))
        return function

    return decorate


def _handle_errors(function: Callable[..., None]) -> Callable[..., None]:
    """Turn what the library raises about its input into a line on the error stream and an exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                function(*args, **kwargs)
                sys.stdout.flush()  # here a full disk can still be reported
        except BrokenPipeError:
            raise  # nobody reads our output any more: click handles it
        except KeyboardInterrupt:
            print("\nnearer: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except EXPECTED as error:
            if os.environ.get("NEARER_DEBUG", "0") not in ("", "0"):
                raise
            print(f"nearer: error: {_message(error)}", file=sys.stderr)
            raise typer.Exit(2) from None

    return run


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"nearer: warning: {message}", file=sys.stderr)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print a word and a text per fact, wrapped to fit 80 columns."""
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


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make the error of a failed write name the user's file, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(f"cannot write {path}: {error.strerror}") from error
