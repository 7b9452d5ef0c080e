"""Files of the statistics system R (.rda), as far as tables of data need them: no code in them is ever run.

The format is R's serialization in XDR, big-endian, described in "R Internals", section 1.8: each item has flags, whose
lowest byte is its type, then its content; names, row names and levels follow as attributes. Functions, environments and
other items that tables do not have are refused.
"""

import bz2
import gzip
import lzma
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RVector", "read_rda"]

DECOMPRESS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
MAGIC = b"RDX2\nX\n", b"RDX3\nX\n"

# Types of items.
SYMBOL, PAIRLIST, CALL = 1, 2, 6
CHARACTERS, LOGICAL, INTEGER, REAL, STRINGS, LIST = 9, 10, 13, 14, 16, 19
ALTERNATIVE, REFERENCE = 238, 255
NULLS = {254, 242, 253, 251}  # NULL, and the empty, the global and the missing place
ARRAYS = {LOGICAL: ">i4", INTEGER: ">i4", REAL: ">f8"}
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10
LATIN_1 = 1 << 14  # of a string

# What a damaged file leads to, in the decompression or in the reader.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, OSError, RecursionError,
          MemoryError, struct.error, zlib.error, lzma.LZMAError)  # fmt: skip


@dataclass
class RVector:
    """A vector or list of R: its values, and attributes such as ``names``, ``row.names`` and ``levels``."""

    values: Any
    attributes: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """Return the value with a name."""
        names = self.attributes["names"].values
        if name not in names:
            raise ValueError(f"there is no {name!r}; there are {', '.join(map(str, names))}")
        return self.values[names.index(name)]


def read_rda(path: Path) -> dict[str, Any]:
    """Return the variables of an R data file by name: vectors, lists and tables as `RVector`, NULL as None.

    Raises
    ------
    ValueError
        If it is damaged, or has other things than vectors and lists.
    """
    data = path.read_bytes()
    try:
        for start, decompress in DECOMPRESS.items():
            if data.startswith(start):
                data = decompress(data)
        if not data.startswith(MAGIC):
            raise ValueError("it does not begin as one")
        return _Reader(data).read_file()
    except DAMAGE as error:
        raise ValueError(f"{path} is not an R data file that can be read here: {error}") from error


class _Reader:
    """A place in the bytes of a file, and the symbols met so far, which later items refer to."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, len(MAGIC[0])
        self.symbols: list[str] = []

    def read_file(self) -> dict[str, Any]:
        version, *_ = self.integers(3)  # and the versions of R that wrote it and that can read it
        if version == 3:
            self.take(self.integer())  # the name of the encoding
        elif version != 2:
            raise ValueError(f"its format has version {version}; 2 and 3 are known")
        variables = self.item()
        return dict(variables) if variables else {}

    def take(self, size: int) -> bytes:
        taken = self.data[self.place : self.place + size]
        if size < 0 or len(taken) < size:
            raise ValueError("it ends too early")
        self.place += size
        return taken

    def integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f">{count}i", self.take(4 * count))

    def integer(self) -> int:
        return self.integers(1)[0]

    def item(self) -> Any:
        return self.item_of(self.integer())

    def item_of(self, flags: int) -> Any:
        kind = flags & 0xFF
        if kind in NULLS:
            return None
        if kind == REFERENCE:
            return self.symbols[(flags >> 8 or self.integer()) - 1]
        if kind == SYMBOL:
            symbol = self.item()
            self.symbols.append(symbol)
            return symbol
        if kind == CHARACTERS:
            return self.text(flags)
        if kind in (PAIRLIST, CALL):
            return self.pairs(flags)
        if kind == ALTERNATIVE:
            return self.alternative()
        vector = RVector(self.content(kind))
        if flags & HAS_ATTRIBUTES:
            vector.attributes = dict(self.item())
        return vector

    def text(self, flags: int) -> str | None:
        size = self.integer()
        if size == -1:
            return None  # NA
        encoded = self.take(size)
        if flags & LATIN_1:
            return encoded.decode("latin-1")
        try:
            return encoded.decode()
        except UnicodeDecodeError:  # the encoding of whoever wrote the file
            return encoded.decode("latin-1")

    def content(self, kind: int) -> Any:
        size = self.integer()
        if kind in ARRAYS:
            data = np.frombuffer(self.take(size * np.dtype(ARRAYS[kind]).itemsize), ARRAYS[kind])
            return data.astype(data.dtype.newbyteorder("="))
        if kind in (STRINGS, LIST):
            return [self.item() for _ in range(size)]
        raise ValueError(f"it has an item of type {kind}, which tables do not have")

    def pairs(self, flags: int) -> list[tuple[Any, Any]]:
        """Return a linked list as pairs of a tag and a value; what it ends with, if not NULL, is the last value."""
        found = []
        while flags & 0xFF in (PAIRLIST, CALL):
            if flags & HAS_ATTRIBUTES:
                self.item()
            tag = self.item() if flags & HAS_TAG else None
            found.append((tag, self.item()))
            flags = self.integer()
        if flags & 0xFF not in NULLS:
            found.append((None, self.item_of(flags)))
        return found

    def alternative(self) -> Any:
        """Return a vector that was stored in a short form, such as 1:n."""
        (_, name), *_ = self.item()
        state, attributes = self.item(), self.item()
        original = state[0][1] if isinstance(state, list) else None  # what the short form is made from
        if name in ("compact_intseq", "compact_realseq"):
            size, first, step = (int(number) for number in state.values)
            values = first + step * np.arange(size)
            vector = RVector(values.astype(np.int32 if name == "compact_intseq" else np.float64))
        elif name == "deferred_string" and original is not None:
            vector = RVector([f"{number:.15g}" for number in original.values.tolist()])
        elif name.startswith("wrap_"):
            vector = RVector((state.values[0] if original is None else original).values)
        else:
            raise ValueError(f"it has an item in the short form {name!r}")
        vector.attributes = dict(attributes or [])
        return vector
