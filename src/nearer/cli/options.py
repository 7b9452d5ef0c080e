"""Arguments and options that several commands have, and the values that were given for them."""

from collections.abc import Sequence
from typing import Any

import typer


def option(help: str, default: str | bool = False, *names: str, **settings: Any) -> Any:
    """Return an option; `default` is the text that its help shows as the default, False for none."""
    return typer.Option(None, *names, help=help, show_default=default, **settings)


def column(help: str, default: str | bool = False) -> Any:
    """Return the option for a column of a table."""
    return option(help, default, metavar="COLUMN")


def flag(name: str, help: str, *short: str) -> Any:
    """Return an option that is on, or off where it is not given; "--on/--off" as its name can also turn it off."""
    return typer.Option(None, name, *short, help=help, show_default=False)


def output(help: str, default: str | bool = False) -> Any:
    """Return the option for the file that a command writes, which is required if it has no default."""
    return typer.Option(None if default else ..., "-o", "--output", help=help, show_default=default)


ANSWERS: Any = typer.Argument(..., metavar="ANSWERS", help="A file of answers; - is standard input.")
MODEL: Any = typer.Argument(..., metavar="MODEL", help="A model file of nearer fit or stream.")
FEATURES = option("For a model of features: the table of the objects' features.")
NAMES = column("The column of --features that holds names.", "name")


def number_or(value: str, words: Sequence[str], option: str) -> float | str:
    """Return one of some words unchanged, and any other text as a number."""
    if value in words:
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--{option} must be {', '.join(words)} or a number; got {value!r}") from None


def given_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are on the command line, by their names there."""
    given = {name: value for name, value in arguments.items() if value is not None}
    return {name.replace("_", "-"): value for name, value in given.items() if value != []}
