"""Writing a file so that a failure leaves the old one in place: aside first, then one rename."""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_writable(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Find what would be replaced by writing to `path`, links followed; OSError or ValueError if it must not be.

    Parameters
    ----------
    path : path
        A regular file, or none yet, in a folder that is there.
    inputs : paths
        Files that are still to be read, and so must not be replaced.

    Examples
    --------
    >>> check_writable("no such folder/answers.csv")
    Traceback (most recent call last):
    FileNotFoundError: cannot write no such folder/answers.csv: there is no folder no such folder
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if target.exists() and not target.is_file():  # a rename over /dev/null would take it from the whole machine
        raise OSError(f"cannot write {path}: it is not a regular file")
    if not target.parent.is_dir():
        parent = target.parent if os.path.islink(path) else Path(path).parent
        raise FileNotFoundError(f"cannot write {path}: there is no folder {parent}")
    for given in inputs:
        if target == Path(os.path.realpath(given)) or (target.exists() and _same(target, given)):
            raise ValueError(f"cannot write {path}: it is an input, which would be lost; name another file")
    return target


def _same(target: Path, given: str | os.PathLike[str]) -> bool:
    """Whether both are one file, as hard links and file systems blind to case make them."""
    return os.path.exists(given) and os.path.samefile(target, given)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new file beside `path` to write to; it takes the place of `path` when the block ends well.

    When the block raises, `path` is as it was and the new file is gone. The new file ends like `path` does,
    has the permissions of the file it replaces (or those of any new file), and replaces what a symbolic
    link points to, not the link.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "answers.txt") as aside:
    ...         _ = aside.write_text("new")
    ...     (Path(folder) / "answers.txt").read_text()
    'new'
    """
    target = check_writable(path)
    aside = target.with_name(f".new-{secrets.token_hex(8)}{target.suffix}")
    aside.touch(exist_ok=False)
    try:
        yield aside
        if target.exists():
            shutil.copymode(target, aside)
        os.replace(aside, target)
    except BaseException:
        with suppress(FileNotFoundError):
            aside.unlink()
        raise
