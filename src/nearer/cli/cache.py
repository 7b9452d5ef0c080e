"""``nearer cache``: where the compiled loops are stored."""

from nearer.cli.app import command, count, print_facts
from nearer.cli.options import flag


@command("nearer cache", "nearer cache --clear")
def cache(clear: bool = flag("--clear", "Remove them; they are compiled again when needed.")) -> None:
    """Show where compiled loops are stored, and how large they are.

    The inner loops are compiled for this machine on first use, which takes a few seconds, and stored. The
    environment variable NEARER_CACHE moves the folder, and that of downloaded data, which stay. Removing loops is
    always safe.
    """
    from nearer.jit import cache_folder, cache_size, clear_cache

    loops, n_bytes = cache_size()
    if clear:
        clear_cache()
        left, _ = cache_size()
        if left:
            raise OSError(f"cannot clear {cache_folder()}: {count(left, 'loop')} could not be removed")
        print(f"removed {count(loops, 'loop')} ({_size(n_bytes)}) from {cache_folder()}")
    else:
        print_facts([("folder", str(cache_folder())), ("loops", f"{loops:,}"), ("size", _size(n_bytes))])


def _size(n_bytes: int) -> str:
    if n_bytes < 1000:
        return count(n_bytes, "byte")
    return f"{n_bytes / 1000:.0f} kB" if n_bytes < 1_000_000 else f"{n_bytes / 1e6:.1f} MB"
