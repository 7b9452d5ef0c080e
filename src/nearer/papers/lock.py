"""A lock, so that two processes do not run the same experiment at once."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["exclusive_lock"]

# What a file system without locks answers.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Raise an OSError if another process runs the same experiment: both would append to its results.

    The system releases the lock of a process that was killed. Where there are no locks, as on Windows and on some
    network file systems, nothing is checked.
    """
    if fcntl is None:
        yield
        return
    lock = path.with_suffix(".lock")
    while True:
        with lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError(
                    f"{path} is in use by another process that runs this experiment: wait for it, or choose another "
                    "folder"
                ) from None
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
            if not _is_still(lock, file.fileno()):  # whoever held it removed it in between
                continue
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
