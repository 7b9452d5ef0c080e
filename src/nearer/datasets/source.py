"""Where a data set comes from: its public address, checksums, license and citation, and how it is found on disk.

A data set lies in one file, made from the originals by a function of the data set's module. The file is looked for
under ``NEARER_DATA``, then in the cache folder; originals that lie there are used as well. Nothing is downloaded
unless asked for. The checksum of a made file is that of the contents of its arrays: a zip archive has times in it.
"""

import hashlib
import importlib.util
import os
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from nearer.files import cache_folder, replacing
from nearer.progress import Progress

__all__ = ["Original", "Source", "contents_checksum"]

CHUNK = 1 << 16  # bytes
SECONDS = 60  # without a byte from the server
CHECKED = "what is made of the originals, not each original itself"
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Original:
    """A file at a public address.

    Attributes
    ----------
    address : str
        Where it is, at a commit that does not change where there is one.
    sha256 : str or None
        Its checksum; None if the data were not made from this copy of it. The arrays that are made from it are
        checked in any case.
    file : str
        The name of the file, if it is not the end of the address.
    """

    address: str
    sha256: str | None = None
    file: str = ""

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.file or self.address.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Source:
    """All that is known of a data set before it is loaded.

    Attributes
    ----------
    name : str
        Its name for ``nearer data`` and, after ``load_``, in Python.
    kind : {"answers", "features", "labels", "texts"}
        What its loader returns.
    content : str
        What is in it.
    size : str
        The numbers of answers and objects, or of rows and columns.
    license, citation : str
        The terms, as far as they are stated, and the publication to cite.
    path : str
        The folder and the file that it is kept in.
    arrays : tuple of str
        The arrays of that file that are needed.
    sha256 : str
        The checksum of these arrays.
    originals : tuple of Original
        The files that the arrays are made from.
    make : callable or None
        Makes the arrays from the files of the originals, in their order.
    by_hand : str
        How the file was made, if it cannot be made from originals; empty otherwise.
    stand_in : str
        How it differs from what a paper used; empty if it does not.
    """

    name: str
    kind: str
    content: str
    size: str
    license: str
    citation: str
    path: str
    arrays: tuple[str, ...]
    sha256: str
    originals: tuple[Original, ...] = ()
    make: Callable[[Sequence[Path]], Mapping[str, Any]] | None = None
    by_hand: str = ""
    stand_in: str = ""

    @property
    def can_download(self) -> bool:
        """Whether it can be made from originals at public addresses."""
        return self.make is not None

    def find(self) -> Path | None:
        """Return the file if it is on this machine."""
        return next((folder / self.path for folder in _folders() if (folder / self.path).is_file()), None)

    def is_intact(self) -> bool:
        """Whether the file is on this machine and its arrays have the expected checksum.

        A parquet file counts as intact where pyarrow, which reads it, is not installed.
        """
        path = self.find()
        try:
            if path is not None:
                self._check(_read(path), f"{path}")
        except ImportError:
            return True
        except (ValueError, OSError):
            return False
        return path is not None

    def load(self, download: bool = False, verbose: bool = True) -> Arrays:
        """Return the arrays; they are made first if they must be, and checked in any case.

        Parameters
        ----------
        download : bool, default=False
            Whether originals that are not on this machine may be downloaded.
        verbose : bool, default=True
            Show a progress bar of a download.

        Returns
        -------
        dict of str to array
        """
        path = self.find()
        if path is not None:
            arrays = _read(path)
            try:
                self._check(arrays, f"{path}")
            except ValueError as error:
                raise ValueError(f"{error}: remove it") from None
            return arrays
        originals = self._find_originals()
        if originals:
            return self._make(originals)
        if not download or not self.can_download:
            raise FileNotFoundError(self._what_to_do())
        if self.path.endswith(".parquet") and importlib.util.find_spec("pyarrow") is None:
            raise ImportError(f'the data set {self.name!r} needs pyarrow: pip install "nearer[parquet]"')
        with tempfile.TemporaryDirectory(prefix="nearer-") as temporary:
            return self._make(_download(self.originals, Path(temporary), verbose))

    def facts(self) -> list[tuple[str, str]]:
        """Return what is known of the data set, as pairs of a word and a text."""
        facts = [
            ("data set", f"{self.name}: {self.content}"),
            ("size", self.size),
            ("stand-in", self.stand_in),
            ("license", self.license),
            ("cite", self.citation),
            *(("original", original.address) for original in self.originals),
            ("checked", "" if all(original.sha256 for original in self.originals) else CHECKED),
            ("by hand", self.by_hand),
            ("contents", f"sha256 {self.sha256}"),
            ("found", self._where()),
        ]
        return [(word, text) for word, text in facts if text]

    def _where(self) -> str:
        path = self.find()
        if path is None:
            return "not on this machine"
        return f"{path}" if self.is_intact() else f"{path}, which is damaged: remove it"

    def _find_originals(self) -> list[Path]:
        """Return the originals if all of them lie in one folder of this machine."""
        for folder in _folders():
            paths = [(folder / self.path).with_name(original.name) for original in self.originals]
            if self.can_download and all(path.is_file() for path in paths):
                for original, path in zip(self.originals, paths, strict=True):
                    try:
                        _check_original(original, path)
                    except ValueError as error:
                        raise ValueError(f"{error}: remove {path}") from None
                return paths
        return []

    def _make(self, originals: Sequence[Path]) -> Arrays:
        """Make the arrays, check them, and keep them in the cache folder."""
        assert self.make is not None
        try:
            made = self.make(originals)
        except (OSError, ImportError, MemoryError):
            raise
        except Exception as error:  # whatever readers raise for a damaged file
            files = ", ".join(str(path) for path in originals)
            raise ValueError(f"the data set {self.name!r} cannot be made from {files}: remove them") from error
        arrays = {name: np.asarray(array) for name, array in made.items()}
        self._check(arrays, f"what was made of {', '.join(original.address for original in self.originals)}")
        target = cache_folder("data") / self.path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as temporary:
                _write(temporary, arrays)
        except OSError as error:
            warnings.warn(
                f"the data set {self.name!r} cannot be kept in {target.parent} ({error}); NEARER_CACHE names another "
                "folder",
                stacklevel=4,
            )
        return arrays

    def _check(self, arrays: Arrays, origin: str) -> None:
        missing = [name for name in self.arrays if name not in arrays]
        if missing:
            raise ValueError(f"{origin} is not the data set {self.name!r}: it has no {', '.join(missing)}")
        try:
            found = contents_checksum({name: arrays[name] for name in self.arrays})
        except TypeError:  # texts are expected, and there are numbers or nothing among them
            raise ValueError(
                f"{origin} is not the data set {self.name!r}: its values are of other types"
            ) from None
        if found != self.sha256:
            raise ValueError(
                f"{origin} is not the data set {self.name!r}: its contents have the sha256 {found}, "
                f"but {self.sha256} is expected"
            )

    def _what_to_do(self) -> str:
        """Return how to get a data set that is not on this machine."""
        file = Path(self.path)
        where = (
            f"into {cache_folder('data') / file.parent}, or set NEARER_DATA to a folder in which {self.path} lies"
        )
        if (folder := os.environ.get("NEARER_DATA")) and not Path(folder).expanduser().is_dir():
            where += f"; now it is {folder}, which is not there"
        if not self.can_download:
            return (
                f"the data set {self.name!r} is not on this machine and cannot be downloaded: {self.by_hand} "
                f"License: {self.license} Put {file.name} {where}."
            )
        addresses = ", ".join(original.address for original in self.originals)
        return (
            f"the data set {self.name!r} is not on this machine. {loader(self.name)}(download=True), or "
            f"`nearer data {self.name} --download`, gets it from {addresses} License: {self.license} "
            f"Or put {file.name}, or these originals, {where}."
        )


def loader(name: str) -> str:
    """Return the name of the function that loads a data set."""
    return "load_" + name.replace("-", "_")


def contents_checksum(arrays: Mapping[str, Any]) -> str:
    """Return the sha256 of arrays by name, in this order: their types, shapes and values; of texts the UTF-8.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.datasets.source import contents_checksum
    >>> contents_checksum({"X": np.eye(2), "classes": np.array(["a", "b"])})[:8]
    '8cdb9c93'
    """
    digest = hashlib.sha256()
    for name, values in arrays.items():
        array = np.asarray(values)
        text = array.dtype.kind in "UO"
        kind = "text" if text else array.dtype.newbyteorder("<").str
        digest.update(f"{name} {kind} {array.shape}\n".encode())
        if text:
            digest.update("\0".join(array.ravel().tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def _folders() -> Iterator[Path]:
    """Yield the folders that data are looked for in."""
    if folder := os.environ.get("NEARER_DATA"):
        yield Path(folder).expanduser()
    yield cache_folder("data")


def _read(path: Path) -> Arrays:
    """Return the arrays of a file, or the columns of a parquet file."""
    damage: Exception
    try:
        if path.suffix == ".parquet":
            from nearer.formats.parquet import read_columns

            return {name: np.array(column, dtype=object) for name, column in read_columns(path).items()}
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (ValueError, TypeError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        damage = error
    except OSError as error:
        if error.errno is not None:  # the file cannot be opened; readers raise it for what is in a file, too
            raise
        damage = error
    raise ValueError(f"{path} is damaged or not a file of arrays: remove it") from damage


def _write(path: Path, arrays: Arrays) -> None:
    if path.suffix == ".parquet":
        from nearer.formats.parquet import write_columns

        write_columns(path, arrays)
    else:
        np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def _download(originals: Sequence[Original], folder: Path, verbose: bool) -> list[Path]:
    """Download files into a folder and check them."""
    progress = Progress(verbose, "download")
    complete = False
    try:
        paths = []
        for number, original in enumerate(originals):
            path = folder / original.name
            for share in _fetch(original.address, path):
                progress.show((number + share) / len(originals), "download", original.name)
            _check_original(original, path)
            paths.append(path)
        complete = True
        return paths
    finally:
        progress.close(complete)


def _fetch(address: str, path: Path) -> Iterator[float]:
    """Download a file; yield which share of it has arrived."""
    request = Request(address, headers={"User-Agent": "nearer"})
    try:
        with urlopen(request, timeout=SECONDS) as response, path.open("wb") as file:
            length = int(response.headers.get("Content-Length") or 0)
            while chunk := response.read(CHUNK):
                file.write(chunk)
                yield file.tell() / max(length, file.tell()) if length else 0.0
            if file.tell() < length:
                raise ConnectionError(f"it ended after {file.tell():,} of {length:,} bytes")
    except (URLError, HTTPException, ConnectionError, TimeoutError) as error:
        raise ConnectionError(f"cannot download {address}: {getattr(error, 'reason', None) or error}") from None


def _check_original(original: Original, path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if original.sha256 is not None and found != original.sha256:
        raise ValueError(
            f"{path.name} is not the original of {original.address}: it has the sha256 {found}, "
            f"but {original.sha256} is expected"
        )
