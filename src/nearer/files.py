"""Writing a file so that a failure leaves the old one in place: aside first, then one rename."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {path}: it is there and is not a regular file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {target.parent}")
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
