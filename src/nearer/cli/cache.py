"""``nearer cache``: where the compiled loops lie."""

from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.console import count, facts, size


@command("nearer cache", "nearer cache --clear")
def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove them; they are compiled again when needed.")
    ] = False,
) -> None:
    """Show where compiled loops are kept, and how large they are.

    The inner loops are compiled for this machine when they are first used, which takes a few seconds, and
    kept. The environment variable NEARER_CACHE moves the folder. Removing it is always safe.
    """
    from nearer.jit import cache_folder, cache_size, clear_cache

    loops, n_bytes = cache_size()
    if clear:
        clear_cache()
        left, _ = cache_size()
        if left:
            raise OSError(f"cannot clear {cache_folder()}: {count(left, 'loop')} could not be removed")
        print(f"removed {count(loops, 'loop')} ({size(n_bytes)}) from {cache_folder()}")
    else:
        facts([("folder", str(cache_folder())), ("loops", f"{loops:,}"), ("size", size(n_bytes))])
