"""Bind losses and other functions into a loop, compile it once, and keep the machine code on disk.

A loop is a plain Python function that calls names it does not define, such as ``slopes``. :func:`bind` copies it
with those names bound to compiled functions, and with the parameters of a loss as constants. The compiler's own
disk cache knows only the loop's bytecode, so the copy's name carries a hash of everything the machine code depends
on: the loop, what is bound, parameters, every helper and global they reach, compiler flags and versions. The same
hash is the key of the only cache in memory.
"""

import hashlib
import shutil
import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.cgutils import unpack_tuple
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from nearer import __version__, elementary, files
from nearer.losses import ops

# Everything of fast mathematics but "nnan" and "ninf": a NaN or an infinity must stay visible.
FLAGS = frozenset({"reassoc", "nsz", "arcp", "contract", "afn"})
OPTIONS: dict[str, Any] = {"fastmath": set(FLAGS), "error_model": "numpy", "no_cfunc_wrapper": True}
# Helpers are called by loops alone: what would make them callable from Python takes as long to compile as they do.
HELPER = {**OPTIONS, "no_cpython_wrapper": True}
METHOD = {**HELPER, "forceinline": True}  # of a loss: a loop that calls functions has no vector instructions
_ELEMENTARY = hashlib.sha256(Path(elementary.__file__).read_bytes()).hexdigest()[:16]
COMPILER = (
    f"nearer {__version__}, numba {numba.__version__}, python {sys.version}, {sorted(FLAGS)}, numpy errors, "
    f"elementary functions {_ELEMENTARY}"
)

OVERLOADED = (ops.exp, ops.log, ops.where)  # compiled by nearer.elementary

_compiled: dict[str, Any] = {}  # by hash: bound loops, and helpers that are not inlined
_lock = threading.Lock()


@intrinsic
def prefetch(typing_context, array, row):  # type: ignore[no-untyped-def]  # numba's calling convention
    """Ask the processor to fetch ``array[row]``, all its cache lines, without waiting for it."""

    def build(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        layout = context.make_array(signature.args[0])(context, builder, arguments[0])
        strides = unpack_tuple(builder, layout.strides, signature.args[0].ndim)
        byte, word, whole = ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(64)
        offset = builder.mul(strides[0], context.cast(builder, arguments[1], signature.args[1], types.intp))
        first = builder.gep(builder.bitcast(layout.data, byte), [offset])
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        how = [word(1), word(3), word(1)]  # to be written, to be kept, data
        with cgutils.for_range_slice(builder, whole(0), strides[0], whole(64)) as (line, _):
            builder.call(fetch, [builder.gep(first, [line]), *how])
        return context.get_dummy_value()

    return types.none(array, row), build


def bind(loop: Callable, loss: Any = None, **names: Any) -> Any:
    """Return the loop compiled for a loss and for whatever else its names are bound to.

    Parameters
    ----------
    loop : function
        Plain Python over arrays. It may call ``value``, ``slopes`` and ``probability`` of two squared distances,
        and use the names given.
    loss : object, optional
        A loss of the library or any object with the same methods.
    **names : function or number
        Further names that the loop and its helpers use: functions are compiled into it, numbers are constants.

    Returns
    -------
    callable
        The compiled loop, which runs without the interpreter's lock. The same arguments give the same object.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer.jit import bind
    >>> from nearer.losses import STE
    >>> def total(near, far):
    ...     s = 0.0
    ...     for p in range(near.size):
    ...         s += value(near[p], far[p])
    ...     return s
    >>> round(bind(total, STE())(np.zeros(2), np.zeros(2)), 4)
    1.3863
    >>> def difference(near, far):
    ...     return far - near
    >>> bind(total, value=difference)(np.zeros(2), np.ones(2))
    2.0
    """
    parts = _parts_of(loss) if loss is not None else {}
    bound: dict[str, Any] = {**parts, **names}
    key = f"{loop.__name__}_{_hash(loop, bound)}"
    with _lock:
        if key not in _compiled:
            copy = _Copier(bound).copy(loop, key)
            compiled = numba.njit(nogil=True, **OPTIONS)(copy)
            compiled._cache = _LoopCache(copy)
            _compiled[key] = _explain_errors(compiled, loss)
        return _compiled[key]


def noinline(helper: Callable) -> Callable:
    """Mark a long helper of loops as one to be called: a copy of it in every loop would take long to compile.

    It is compiled once for all loops that bind the same to the names it uses.
    """
    helper._noinline = True  # type: ignore[attr-defined]
    return helper


def _explain_errors(compiled: Any, loss: Any) -> Callable:
    """Return the compiled loop with the compiler's complaints about a loss made readable."""
    if loss is None:
        return compiled

    def run(*arguments: Any) -> Any:
        try:
            return compiled(*arguments)
        except NumbaError as error:
            raise ValueError(
                f"the loss {loss!r} cannot be compiled. A loss may use numbers stored on self, arithmetic, "
                f"comparisons, the functions of nearer.losses.ops and plain functions of these. The compiler:\n"
                f"{error}"
            ) from error

    return run


class _Method(NamedTuple):
    """A method of a loss as a plain function, with the numbers that stand for its ``self`` (None: no self)."""

    function: Callable
    parameters: dict[str, float] | None


def _parts_of(loss: Any) -> dict[str, _Method]:
    """Return each method of the loss as a plain function with the numbers that stand for its ``self``."""
    methods = {word: getattr(loss, word) for word in ("value", "slopes", "probability")}
    plain = [_plain(method.__func__) for method in methods.values() if hasattr(method, "__func__")]
    names = sorted({name for function in plain for name in _names_in(function.__code__)})
    values = {name: getattr(loss, name, None) for name in names}
    numbers = {name: float(v) for name, v in values.items() if isinstance(v, int | float | np.number)}
    if hidden := [name for name in numbers if name.startswith("_")]:
        raise ValueError(f"{loss!r}: a parameter's name cannot begin with an underscore: {hidden[0]}")
    return {
        word: _Method(m.__func__, numbers) if hasattr(m, "__func__") else _Method(m, None)
        for word, m in methods.items()
    }


class _Copier:
    """Copy functions with names bound to ``bound`` and every plain helper they call compiled, once each."""

    def __init__(self, bound: dict[str, Any]) -> None:
        self.bound = bound
        self.helpers: dict[Callable, Any] = {}
        self.words = {n: self._method(v) if isinstance(v, _Method) else v for n, v in bound.items()}

    def copy(self, function: Callable, name: str, callers: tuple = ()) -> FunctionType:
        """Copy a function under a name."""
        plain = _plain(function)
        if plain in callers:
            raise ValueError(f"{plain.__name__} calls itself, which cannot be compiled into a loop")
        callers = (*callers, plain)
        used = set(_names_in(plain.__code__))
        scope = dict(plain.__globals__)
        scope.update((word, self._helper(self.words[word], callers)) for word in used & self.words.keys())
        reached = _reached(plain).items()
        scope.update((n, self._helper(v, callers)) for n, v in reached if n not in self.words and n in scope)
        cells = tuple(CellType(self._helper(c.cell_contents, callers)) for c in plain.__closure__ or ()) or None
        code = plain.__code__.replace(co_name=name, co_qualname=name)
        copy = FunctionType(code, scope, name, plain.__defaults__, cells)
        copy.__kwdefaults__ = plain.__kwdefaults__
        copy.__annotations__ = dict(plain.__annotations__)
        return copy

    def _helper(self, value: Any, callers: tuple) -> Any:
        """Return what a name of a copied function stands for: plain functions compiled, all else as it is."""
        if not isinstance(value, FunctionType) or value in OVERLOADED:
            return value
        if hasattr(value, "_noinline"):
            key = f"{value.__name__}_{_hash(value, self.bound)}"
            if key not in _compiled:
                _compiled[key] = numba.njit(**HELPER)(self.copy(value, value.__name__, callers))
            return _compiled[key]
        if value not in self.helpers:
            copy = self.copy(value, value.__name__, callers)
            self.helpers[value] = numba.njit(inline="always", **OPTIONS)(copy)
        return self.helpers[value]

    def _method(self, method: _Method) -> Any:
        """Compile a method of a loss with its parameters as constants."""
        function, parameters = method
        compiled = numba.njit(**METHOD)(_Copier({}).copy(function, function.__name__))
        if parameters is None:
            return compiled
        if not parameters:
            return numba.njit(**METHOD)(lambda near, far: compiled(None, near, far))
        numbers = namedtuple("Parameters", parameters)(**parameters)
        return numba.njit(**METHOD)(lambda near, far: compiled(numbers, near, far))


def _plain(function: Callable) -> FunctionType:
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType):
        raise ValueError(f"{function!r} is not a plain Python function, so it cannot be compiled into a loop")
    return function


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _reached(function: FunctionType) -> dict[str, Any]:
    """Return the globals and closed-over values that a function can see, by name."""
    found = {n: function.__globals__[n] for n in _names_in(function.__code__) if n in function.__globals__}
    cells = function.__closure__ or ()
    found.update(zip(function.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    return found


def _hash(function: Callable, bound: dict[str, Any]) -> str:
    """Return a hash of all that the machine code of a function depends on."""
    text = f"{COMPILER}\n{_describe(function, bound)}"
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _describe(
    thing: Any, bound: dict[str, Any], seen: frozenset[int] = frozenset(), names: frozenset[str] = frozenset()
) -> str:
    """Describe all that the machine code of a thing depends on; of a module only attributes in ``names`` matter."""
    thing = getattr(thing, "py_func", thing)
    if id(thing) in seen:
        return "again"
    inner = seen | {id(thing)}
    if isinstance(thing, CodeType):
        constants = [_describe(c, bound, seen) if isinstance(c, CodeType) else repr(c) for c in thing.co_consts]
        return f"{thing.co_code.hex()} {constants} {thing.co_names} {thing.co_varnames}"
    if isinstance(thing, _Method):
        return f"method {thing.parameters!r} {_describe(thing.function, {}, inner)}"
    if isinstance(thing, FunctionType):
        used = frozenset(_names_in(thing.__code__))
        values = {**_reached(thing), **{name: bound[name] for name in used if name in bound}}
        reached = [f"{name}={_describe(value, bound, inner, used)}" for name, value in sorted(values.items())]
        code, marked = _describe(thing.__code__, bound, inner), hasattr(thing, "_noinline")
        return f"{code} {marked} {thing.__defaults__!r} {thing.__kwdefaults__!r} {reached}"
    if isinstance(thing, ModuleType):
        if thing.__name__.partition(".")[0] in ("numpy", "math", "nearer"):  # known by their versions
            return f"module {thing.__name__} {getattr(thing, '__version__', '')}"
        used = frozenset(name for name in names if hasattr(thing, name))
        attributes = {name: _describe(getattr(thing, name), {}, inner, names) for name in sorted(used)}
        return f"module {thing.__name__} {attributes}"
    if isinstance(thing, np.ndarray):
        return f"array {thing.dtype.str} {thing.shape} {hashlib.sha256(thing.tobytes()).hexdigest()}"
    if isinstance(thing, tuple | list):
        return f"{type(thing).__name__} {[_describe(item, bound, inner, names) for item in thing]}"
    return f"{type(thing).__name__} {thing!r}"


def cache_folder() -> Path:
    """Return the folder of the compiled loops: ``NEARER_CACHE`` or the user's cache folder.

    Examples
    --------
    >>> from nearer.jit import cache_folder
    >>> cache_folder().name
    'loops'
    """
    return files.cache_folder("loops")


def cache_size() -> tuple[int, int]:
    """Return how many compiled loops lie on disk, and their bytes.

    Examples
    --------
    >>> from nearer.jit import cache_size
    >>> loops, size = cache_size()
    """
    parts = [f for f in cache_folder().glob("*.nb[ic]") if f.is_file()]
    return sum(f.suffix == ".nbc" for f in parts), sum(f.stat().st_size for f in parts)


def clear_cache() -> None:
    """Remove all compiled loops from disk; they are compiled again when needed."""
    shutil.rmtree(cache_folder(), ignore_errors=True)


class _LoopFiles(CompileResultCacheImpl):
    """Where numba's cache machinery is told to keep a loop: our folder, never stale, since names carry hashes."""

    _py_file = __file__

    def __init__(self, function: FunctionType) -> None:
        self._lineno, self._locator, self._filename_base = 0, self, function.__name__

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def ensure_cache_path(self) -> None:
        cache_folder().mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return COMPILER


class _LoopIndex(IndexDataCacheFile):
    """Numba's index, but data files are named by their types and written first."""

    def save(self, key: Any, data: Any) -> None:
        # Numba numbers them: of two processes that save a loop for different types at once, both may take the same
        # number, and the index then leads to the code of the other types.
        stem = self._index_name.removesuffix(".nbi")
        name = f"{stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


class _LoopCache(FunctionCache):
    """Numba's cache, but a folder that cannot be read or written is a reason to compile, not to fail."""

    _impl_class = _LoopFiles

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file = _LoopIndex(self._cache_path, self._impl.filename_base, COMPILER)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a torn file: unpickling may raise anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)
