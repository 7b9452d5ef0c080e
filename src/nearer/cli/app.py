"""The application that the commands register with, and its handling of errors.

What the library raises about its input becomes one line on the error stream and exit code 2. NEARER_DEBUG=1 shows
the traceback instead.
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
INTERRUPTED = 130  # the exit code of a program that Ctrl-C ended

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
    "NEARER_DEBUG=1 shows the traceback of an error; NEARER_CACHE=folder moves the compiled loops."
)
def nearer_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Learn what is like what from answers to "is A nearer to B or to C?"."""


def command(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a command; its docstring and the examples are its help.

    Parameters
    ----------
    *examples : str
        Command lines, shown after the text as they are.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        lines = "\n".join(f"  {example}" for example in examples)
        # \b keeps click from joining the lines of a paragraph.
        help = f"{inspect.getdoc(function)}\n\n\b\nFor example:\n{lines}"
        # A command that needs arguments shows its help if there are none.
        parameters = inspect.signature(function).parameters.values()
        needs_input = any(parameter.default is inspect.Parameter.empty for parameter in parameters)
        app.command(function.__name__.rstrip("_"), help=help, no_args_is_help=needs_input)(
            _handle_errors(function)
        )
        return function

    return register


def given_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given, by their names on the command line."""
    given = {name: value for name, value in arguments.items() if value is not None and value is not False}
    return {name.replace("_", "-"): value for name, value in given.items() if value != []}


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
