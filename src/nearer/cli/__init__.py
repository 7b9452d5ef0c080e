"""The command line: each command parses, calls the library and prints; one file per command.

Only the parser is imported before a command runs, so that ``nearer --help`` is quick. A new command is a new file
with a function decorated by :func:`nearer.cli.app.command`, and its name in the list below.
"""

import sys
from importlib import import_module

from nearer.cli.app import app

__all__ = ["main"]

COMMANDS = (
    "demo",
    "questions",
    "fit",
    "stream",
    "score",
    "map",
    "export",
    "neighbors",
    "check",
    "convert",
    "simulate",
    "papers",
    "data",
    "cache",
)

for _name in COMMANDS:  # in the order of --help
    import_module(f"nearer.cli.{_name}")


def main() -> None:
    """Run the command line; the entry point of ``nearer``."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show is replaced, instead of ending the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="nearer")
