"""The application that the commands register with, and what all of them share when things go wrong.

A mistake in the input is not a crash: what the library raises about it becomes one line on the error
stream and exit code 2. The traceback is there for those who ask with NEARER_DEBUG=1.
"""

import functools
import inspect
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

import nearer

EXPECTED = (ValueError, OSError, ImportError)
INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain text, in a pipe as in a terminal
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _version(given: bool) -> None:
    if given:
        print(f"nearer {nearer.__version__}")
        raise typer.Exit


@app.callback(
    epilog="Each command explains itself with examples: nearer fit --help. Start with nearer demo. "
    "Exit codes: 0 done, 2 something is wrong with the input, 130 interrupted, 143 terminated. "
    "NEARER_DEBUG=1 shows the traceback of an error; NEARER_CACHE=folder moves the compiled loops."
)
def nearer_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn what is like what from answers to "is A nearer to B or to C?"."""


def command(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command; its docstring and the examples are its manual.

    Parameters
    ----------
    *examples : str
        Command lines that work, shown as they are under the text.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        shown = "\n".join(f"  {example}" for example in examples)
        # \b keeps click from joining the lines of a paragraph.
        manual = f"{inspect.getdoc(function)}\n\n\b\nFor example:\n{shown}"
        app.command(function.__name__.rstrip("_"), help=manual, no_args_is_help=_needs_input(function))(
            _guarded(function)
        )
        return function

    return register


def _needs_input(function: Callable[..., None]) -> bool:
    """Whether the command can do nothing without arguments, and so shows its help instead."""
    return any(p.default is inspect.Parameter.empty for p in inspect.signature(function).parameters.values())


def _guarded(function: Callable[..., None]) -> Callable[..., None]:
    """Turn what the library raises about its input into a line for the reader and an exit code."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                function(*args, **kwargs)
                sys.stdout.flush()  # here a full disk is still an error that can be told
        except BrokenPipeError:
            raise  # the reader of our output went away; the parser knows what to do
        except KeyboardInterrupt:
            print("\nnearer: interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except EXPECTED as error:
            if os.environ.get("NEARER_DEBUG", "0") not in ("", "0"):
                raise
            print(f"nearer: error: {_told(error)}", file=sys.stderr)
            raise typer.Exit(2) from None

    return guarded


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"nearer: warning: {message}", file=sys.stderr)
