"""``nearer data``: the public data sets, where they are, and their download."""

from textwrap import fill
from typing import Any

import typer

from nearer.cli.app import WIDTH, command, print_facts
from nearer.cli.options import flag

INDENT = 19 * " "
WHOLE_WORDS: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@command("nearer data", "nearer data music", "nearer data music --download")
def data(
    name: str = typer.Argument(None, metavar="NAME", help="A data set; without one, all are listed."),
    download: bool = flag("--download", "Download it if it is not on this machine."),
) -> None:
    """List the public data sets, or describe one and download it.

    A data set is looked for in the folder NEARER_DATA, then in the cache folder, which NEARER_CACHE moves. What is
    downloaded is checked and put into the cache folder. nearer.datasets has a function for each, such as
    load_music(). Some cannot be downloaded: their description says how they were made and where to put the file.
    """
    from nearer.datasets import SOURCES, source_of

    if name is None:
        if download:
            raise ValueError("--download needs the name of a data set, such as nearer data music --download")
        for source in SOURCES.values():
            path = source.find()
            where = "not here; " + ("--download" if source.can_download else "by hand")
            if path is not None:
                where = f"found: {path}" if source.is_intact() else f"damaged, remove it: {path}"
            print(f"{source.name:<18} {source.kind:<9} {source.size}")
            for text in (f"license: {source.license}", where):
                print(fill(text, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT, **WHOLE_WORDS))
        return
    source = source_of(name)
    if download:
        source.load(download=True)
    print_facts(source.facts())
