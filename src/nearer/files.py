"""Writing files so that a failure leaves the old file in place: a temporary file, then one rename.

The cache folder, for compiled loops and data sets, is here too.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def cache_folder(part: str) -> Path:
    """Return a folder under ``NEARER_CACHE`` or in the user's cache folder.

    Examples
    --------
    >>> from nearer.files import cache_folder
    >>> cache_folder("data").name
    'data'
    """
    if folder := os.environ.get("NEARER_CACHE"):
        return Path(folder).expanduser() / part
    try:
        home = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home: a folder that cannot be, so that nothing is kept
        home = Path(os.devnull)
    return Path(home) / "nearer" / part


def check_writable(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]] = ()) -> Path:
    """Return the file that writing to `path` would replace; OSError or ValueError if it must not be replaced.

    It is a regular file, or a new one in an existing folder that files can be created in; links are followed.
    `inputs` are still to be read.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if target.exists() and not target.is_file():  # a rename over /dev/null would take it from the whole machine
        raise OSError(f"cannot write {path}: it is not a regular file")
    if not target.parent.is_dir():
        parent = target.parent if os.path.islink(path) else Path(path).parent
        raise FileNotFoundError(f"cannot write {path}: there is no folder {parent}")
    for source in inputs:
        # samefile, for hard links and file systems that ignore case
        same = target.exists() and os.path.exists(source) and os.path.samefile(target, source)
        if same or target == Path(os.path.realpath(source)):
            raise ValueError(f"cannot write {path}: it is an input, which would be lost; name another file")
    try:
        _create_beside(target).unlink()  # permissions alone do not tell: the disk may be mounted read-only
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror}") from None
    return target


def _create_beside(target: Path) -> Path:
    """Return a new empty file in the folder of `target`, with its suffix."""
    temporary = target.with_name(f".new-{secrets.token_hex(8)}{target.suffix}")
    temporary.touch(exist_ok=False)
    return temporary


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file beside `path`, with its suffix, that replaces `path` if the block raises nothing.

    The new file has the permissions of the old one. Of a symbolic link the target is replaced, not the link.
    """
    target = check_writable(path)
    temporary = _create_beside(target)
    try:
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
