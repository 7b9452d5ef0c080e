"""Where the comparisons of a fit are and what computes with them: one file per engine, found by name.

An engine is a :class:`~nearer.embedding.problem.Problem`. Solvers, monitors and the choice of settings do not know which
one they work with.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from nearer.comparisons import Comparisons, ComparisonSource
from nearer.comparisons.chunks import has_cluster
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.problem import Problem
from nearer.selection import sample_of

ENGINES = {"cpu": "CPUProblem", "files": "FilesProblem", "torch": "TorchProblem", "dask": "DaskProblem"}

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
    try:
        torch_problem: Any = engine_by_name("torch")
    except ImportError:
        if device == "auto":
            return CPUProblem
        raise
    found = torch_problem.find_device(device)
    return CPUProblem if found is None else partial(torch_problem, device=found)


def engine_of(data: Comparisons | ComparisonSource, device: str) -> Engine:
    """Return the engine for all comparisons of a fit."""
    if isinstance(data, ComparisonSource) and has_cluster():
        if device not in ("cpu", "auto"):
            raise ValueError(
                f"device={device!r} is for this machine, and a Dask client is active, whose workers compute on their "
                "processors: leave device out, or close the client"
            )
        return engine_by_name("dask")
    engine = memory_engine(device)
    return engine_by_name("files") if isinstance(data, ComparisonSource) and engine is CPUProblem else engine


def sample_for(data: Comparisons | ComparisonSource, max_rows: int, random: np.random.Generator) -> Comparisons:
    """Return comparisons in memory, as :func:`~nearer.selection.sample_of` does; read by the workers of a cluster."""
    if isinstance(data, ComparisonSource) and has_cluster():
        return import_module("nearer.embedding.engines.cluster").sample_on_workers(data, max_rows, random)
    return sample_of(data, max_rows, random)
