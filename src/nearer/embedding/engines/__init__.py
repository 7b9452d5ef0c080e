"""Where the comparisons of a fit are and what computes with them: one file per engine, found by name.

An engine is a :class:`~nearer.embedding.problem.Problem`. Solvers, monitors and the choice of settings do not know which
one they work with.
"""

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.problem import Problem

ENGINES = {"cpu": "CPUProblem", "torch": "TorchProblem", "dask": "DaskProblem"}
MEMORY_ROWS = 10_000_000  # comparisons in files up to which they are read into memory: a few hundred megabytes

# Called with the comparisons, the loss, the regularization, the number of threads and a random generator.
Engine = Callable[..., Problem]


def engine_by_name(name: str) -> type[Problem]:
    """Return the class of an engine; its file is imported only now, since it may need an optional package."""
    module = import_module(f"nearer.embedding.engines.{name}")
    return getattr(module, ENGINES[name])


def memory_engine(device: str) -> Engine:
    """Return the engine of comparisons in memory for a device: "cpu", "auto", or a device of torch such as "cuda"."""
    if device == "cpu":
        return CPUProblem
    torch_problem: Any = engine_by_name("torch")
    found = torch_problem.find_device(device)
    return CPUProblem if found is None else partial(torch_problem, device=found)


def has_cluster() -> bool:
    """Whether a ``dask.distributed.Client`` is current; imports nothing."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed is not None and distributed.Client.current() is not None
    except ValueError:
        return False


def engine_of(data: Comparisons | ComparisonSource, device: str) -> Engine:
    """Return the engine for all comparisons of a fit."""
    if isinstance(data, ComparisonSource) and has_cluster():
        return engine_by_name("dask")
    return memory_engine(device)
